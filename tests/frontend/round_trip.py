"""Reading a function, printing its Program and compiling the text again."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numba
import numpy as np

from jitgrad.frontend import print_program, read
from jitgrad.program import ir
from jitgrad.program.verify import verify

OPTIONS = ("fastmath", "error_model", "boundscheck")


def only_numpy(fn: Any) -> bool:
    """For `read`: look into every compiled callee, but not into Numba's implementations."""
    return not isinstance(fn, numba.core.dispatcher.Dispatcher)


def program_of(fn: Any, *args: Any, has_rule=only_numpy, **kwargs: Any) -> ir.Program:
    """The verified Program of `fn` for the types of `args`."""
    dispatcher = fn if isinstance(fn, numba.core.dispatcher.Dispatcher) else numba.njit(fn)
    keywords = {name: numba.typeof(value) for name, value in kwargs.items()}
    _, argtypes = dispatcher._compiler.fold_argument_types(tuple(numba.typeof(a) for a in args), keywords)
    program = read(dispatcher, argtypes, has_rule=has_rule)
    verify(program)
    return program


def printed_function(program: ir.Program) -> tuple[Any, str]:
    """The Python function that the printed Program defines, and its source."""
    source, namespace = print_program(program)
    filename = f"<printed {program.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace[program.name], source


def copied(value: Any) -> Any:
    """A copy of an argument that the function may write into."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(copied, value))
    return value


def identical(a: Any, b: Any) -> bool:
    """Whether two results have the same structure, types and bits."""
    if isinstance(a, (tuple, list, numba.typed.List)):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, (np.ndarray, float, int, complex, np.generic)):
        x, y = np.asarray(a), np.asarray(b)
        return (x.dtype, x.shape) == (y.dtype, y.shape) and x.tobytes() == y.tobytes()
    return a == b or type(a) is type(b)


def check_round_trip(fn: Any, *args: Any, again: Any = None, **kwargs: Any) -> str:
    """Assert that the printed function does exactly what `fn` does; returns its source.

    Parameters
    ----------
    again : tuple, optional
        The arguments of the second call, where `copied` cannot copy them.
    """
    options = getattr(fn, "targetoptions", {})
    program = program_of(fn, *args, **kwargs)
    function, source = printed_function(program)
    compiled = numba.njit(**{name: options[name] for name in OPTIONS if name in options})
    # The primal without parallel=True: threads would add up in another order.
    original = compiled(getattr(fn, "py_func", fn))
    ours, theirs = (copied(args) if again is None else again), args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.core.errors.NumbaPerformanceWarning)
        expected, result = original(*theirs, **kwargs), compiled(function)(*ours, **kwargs)
    assert identical(expected, result), f"{result} instead of {expected}\n{source}"
    assert identical(theirs, ours), f"arguments differ afterwards\n{source}"
    return source
