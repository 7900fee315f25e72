"""Backward sweeps compiled by Numba, for structures that are recorded again and again.

A structure is what was recorded and what is asked, but for the numbers: operations, how they depend on each other,
shapes, dtypes. Up to the second time the sweep runs under NumPy. At the third (`compile_after`) these things happen, in
this order:

`structure`
    The key of the structure, made of the signatures of its nodes.
`tracing`
    The sweep runs with values that write down what the pullbacks do to them: the backward program.
`views`, `schedule`, `scalars`, `writer`
    The program is written as loops. What only moves indices is no code.
`cache`
    Numba compiles it; it is kept by its structure, and the function by its text.

If possible the program computes the recorded operations too (a whole program), and recordings that repeat the structure
are deferred to it (`jitgrad.tape.deferred`).

Structures that are too large, have gradients of the user's own, or pullbacks that look at numbers stay with NumPy.
"""

from jitgrad.tape.compiled.cache import again, backward, clear, compile_after, follow, known, rows

__all__ = ["again", "backward", "clear", "compile_after", "follow", "known", "rows"]
