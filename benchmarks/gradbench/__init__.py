"""The twelve problems of GradBench (github.com/gradbench/gradbench) as ordinary njit code, differentiated by jitgrad.

==============  ===============================================================================
`problems`      a module for each: the function in plain loops, its derivative, JSON to arrays
`descent`       the gradient descent that two of them share
`problem`       what the protocol needs to know of a function
`protocol`      the suite's protocol on standard input and output
`data`          the inputs and right answers, and the suite's comparison
`ratios`        derivatives against their functions, the project's bars, and JAX
`peers`         the same problems in JAX, run in a process of their own
==============  ===============================================================================
"""
