"""How derivatives are made: `options`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jitgrad.errors import ArgumentError

MATH = ("partials", "libm", "fast")
_math: ContextVar[str] = ContextVar("jitgrad.math", default="partials")


@contextmanager
def options(*, math: str) -> Iterator[None]:
    """How derivatives that are made within ``with jitgrad.options(...)`` compute.

    Parameters
    ----------
    math : {"partials", "libm", "fast"}
        Where elementary functions of floats are computed by the vectorising kernels of `jitgrad.fastmath`, which are
        within 4 ulp, in place of the C library. ``"partials"``, the default: in the partial derivatives of elementwise
        expressions of arrays (in forward mode, of loops too) and what is computed once more for them, so that values
        are those of the function itself bit for bit. ``"libm"``: nowhere.
        ``"fast"``: wherever a loop may vectorise with them, so that values differ from the function's own in the last
        digits, and a branch that depends on these may go the other way.

    Notes
    -----
    A derivative keeps what it was made with, wherever it is called. Threads start with the default.

    Examples
    --------
    >>> import math
    >>> import jitgrad
    >>> def f(x):
    ...     s = 0.0
    ...     for v in x:
    ...         s += math.sin(v)
    ...     return s
    >>> with jitgrad.options(math="libm"):
    ...     g = jitgrad.grad(f)
    >>> print(g(np.array([0.0, 1.0])))
    [1.         0.54030231]
    """
    if math not in MATH:
        raise ArgumentError(f"math must be one of {', '.join(map(repr, MATH))}, not {math!r}")
    token = _math.set(math)
    try:
        yield
    finally:
        _math.reset(token)


def current_math() -> str:
    """The `math` option of what is made now."""
    return _math.get()
