"""Reverse mode: a program becomes its forward sweep, which tapes, and its backward sweep.

==============  ===============================================================================
`sweep`         the state of one transform, and the order of work
`control`       pullbacks of branches and loops
`order`         which backward loops keep their natural order
`arrays`        pullbacks of loads, stores and views
`maps`          pullbacks of elementwise array expressions
`calls`         pullbacks of operators and calls, from the rules
`recursion`     pullbacks of recursive functions
`adjoints`      adjoint variables
`saved`         what the backward sweep needs of the forward sweep: live, recomputed or taped
`cheap`         what is worth recomputing
`forward`       the forward sweep
`results`       signature, seeds and results of the generated function
==============  ===============================================================================
"""

from jitgrad.transforms.reverse.results import emit

__all__ = ["emit"]
