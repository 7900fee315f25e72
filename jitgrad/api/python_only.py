"""Functions that make derivatives are called in Python: nopython code that calls one is told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba.core.errors import TypingError
from numba.extending import overload

F = TypeVar("F", bound=Callable)


def python_only(make: F) -> F:
    """Have Numba refuse calls of `make` in nopython code with a message that says what to write."""

    @overload(make, strict=False)
    def refuse(*args, **kwargs):
        raise TypingError(
            f"{make.__name__} is called in Python, not in nopython code: name what it returns outside of the compiled "
            f"function, as in new = {make.__name__}(...), and call that there"
        )

    return make
