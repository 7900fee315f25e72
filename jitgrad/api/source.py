"""Reading the generated code."""

from __future__ import annotations

from typing import Any

from numba import typeof
from numba.core import types
from numba.core.typing.typeof import Purpose

from jitgrad.backend import linecode
from jitgrad.backend.dispatcher import Derivative
from jitgrad.errors import ArgumentError


def source(derivative: Any, *args: Any, **kwargs: Any) -> str:
    """The generated source of a derivative, for arguments of these types.

    Parameters
    ----------
    derivative : Derivative
        What `grad`, `jacobian`, `hessian` and the like return.
    *args, **kwargs
        Example arguments, or Numba types.

    Returns
    -------
    str
        Python source. Derivatives that it calls follow as sections of their own.

    Examples
    --------
    >>> print(source(grad(lambda x: 3.0 * x), 1.0).splitlines()[0])
    # grad of <lambda>
    """
    if not isinstance(derivative, Derivative):
        raise ArgumentError(f"source needs what grad, jacobian or hessian return, not {type(derivative).__name__}")
    _, folded = derivative._compiler.fold_as_passed(tuple(map(_type, args)), {k: _type(v) for k, v in kwargs.items()})
    sections: list[str] = []
    _collect(derivative, folded, sections, set())
    return "\n\n".join(sections)


def _type(value: Any) -> types.Type:
    return value if isinstance(value, types.Type) else typeof(value, Purpose.argument)


def _collect(derivative: Derivative, argtypes: tuple, sections: list[str], done: set) -> None:
    if (derivative, argtypes) in done:
        return
    done.add((derivative, argtypes))
    fn = derivative.generated(argtypes)
    title = f"# {derivative.transform.prefix} of {derivative.primal.py_func.__qualname__}"
    rules = f"\n# rules: {', '.join(fn.__jitgrad_rules__)}" if fn.__jitgrad_rules__ else ""
    sections.append(f"{title}{rules}\n{linecode.text_of(fn)}")
    called = [v for v in fn.__globals__.values() if isinstance(v, Derivative)]
    if any(not inner.overloads and not inner._generated for inner in called):
        # Types the calls; `Dispatcher.compile` would do without where it finds the code in the disk cache.
        derivative._compiler.compile(argtypes, None)
    for inner in called:
        for types_of_call in [*inner._generated, *inner.overloads]:
            _collect(inner, tuple(types.unliteral(t) for t in types_of_call), sections, done)
