"""Content digests: what shaped a piece of generated code, as one hash.

The digest of a function covers its bytecode and constants, defaults, closure cells, the global values its
code names (Numba freezes them into the compiled code), and the functions it calls, in whichever file they
are. Two functions with the same digest generate the same derivative, so the digest may key a cache on disk.
Objects whose content cannot be told raise `Undigestible`: nothing that depends on them is cached.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import pathlib
import sys
import types as python
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad.backend import linecode

LIBRARIES = ("numpy", "numba", "math", "cmath", "scipy", "builtins", "operator", "jitgrad", "llvmlite")


FROZEN_BYTES = 10**6  # Numba reads larger global arrays where they are, and does not cache code that does


class Undigestible(Exception):
    """An object whose content cannot be told."""


@functools.cache
def engine_stamp() -> str:
    """A hash of everything that turns a function into machine code: our own source and the versions below."""
    return _engine_now()


def engine_unchanged() -> bool:
    """Whether our source files are still those of `engine_stamp`: what an edited engine made is not cached."""
    return _engine_now() == engine_stamp()


def _engine_now() -> str:
    root = pathlib.Path(__file__).parents[1]
    state = hashlib.sha256()
    for part in (sys.version, numba.__version__, llvmlite.__version__, np.__version__):
        state.update(part.encode())
    for path in sorted(root.rglob("*.py")):
        state.update(str(path.relative_to(root)).encode())
        state.update(path.read_bytes())
    return state.hexdigest()


def digest(obj: Any) -> str:
    """A hexadecimal digest of the content of `obj`.

    Raises
    ------
    Undigestible
        Where `obj` refers to something without a content that can be told.

    Examples
    --------
    >>> def make(k):
    ...     return lambda x: k * x
    >>> digest(make(1)) == digest(make(1)), digest(make(1)) == digest(make(2))
    (True, False)
    """
    return _hash(_content(obj, {}))


def hexdigest(*parts: str | tuple[str, ...]) -> str:
    """A hash of texts."""
    return _hash(parts)


def _hash(content: Any) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()


def _content(obj: Any, seen: dict[int, int]) -> Any:
    """A nested tuple of strings and numbers whose `repr` is the content of `obj`.

    `seen` numbers the functions, classes and mutable containers on the way, which may refer to each other.
    Other objects go by value: whether equal constants are one object depends on how the code was loaded.
    """
    if obj is None or obj is Ellipsis or isinstance(obj, (bool, int, float, complex, str, bytes)):
        return type(obj).__name__, repr(obj)
    if isinstance(obj, enum.Enum):
        return "enum", type(obj).__qualname__, obj.name, repr(obj.value)
    if isinstance(obj, (python.FunctionType, Dispatcher, list, dict, type)):
        if id(obj) in seen:
            return "seen", seen[id(obj)]
        seen[id(obj)] = len(seen)
    own = getattr(obj, "content_for_digest", None)
    if own is not None and not isinstance(obj, type):
        return type(obj).__qualname__, _content(own(), seen)
    match obj:
        case np.generic():
            return "scalar", str(obj.dtype), obj.tobytes().hex()
        case np.ndarray():
            return _array(obj)
        case np.dtype() | types.Type() | slice() | range():
            return type(obj).__name__, str(obj)
        case tuple() | list():
            return type(obj).__name__, *(_content(x, seen) for x in obj)
        case dict():
            return "dict", *((_content(k, seen), _content(v, seen)) for k, v in obj.items())
        case set() | frozenset():
            return type(obj).__name__, *sorted(repr(_content(x, seen)) for x in obj)
        case Dispatcher():
            options = sorted((k, str(v)) for k, v in obj.targetoptions.items())
            signatures = () if obj._can_compile else tuple(str(s) for s in obj.signatures)
            return "dispatcher", _content(obj.py_func, seen), repr(options), signatures
        case python.FunctionType():
            return _function(obj, seen)
        case python.ModuleType():
            return "module", obj.__name__, str(getattr(obj, "__version__", ""))
        case np.ufunc() | python.BuiltinFunctionType():
            return "builtin", getattr(obj, "__module__", None), obj.__name__
        case type():
            return _class(obj, seen)
    inner = getattr(obj, "py_func", None) or getattr(getattr(obj, "_dispatcher", None), "py_func", None)
    if isinstance(inner, python.FunctionType):  # @vectorize, @guvectorize, @cfunc
        return type(obj).__name__, _content(inner, seen)
    raise Undigestible(f"{type(obj).__name__} {obj!r}")


def _array(obj: np.ndarray) -> Any:
    if obj.dtype.hasobject or obj.nbytes > FROZEN_BYTES:
        raise Undigestible("an array that Numba does not freeze into the code")
    data = hashlib.sha256(np.ascontiguousarray(obj).tobytes()).hexdigest()
    return "array", str(obj.dtype), obj.shape, obj.strides, obj.flags.writeable, data


def _class(obj: type, seen: dict[int, int]) -> Any:
    name = (obj.__module__, obj.__qualname__)
    if obj.__module__.split(".")[0] in LIBRARIES:
        return "class", *name
    members: list[Any] = [getattr(obj, "_fields", ())]
    struct = getattr(obj, "class_type", None)  # a jitclass
    if struct is not None:
        members += [str(struct), *((k, _content(v, seen)) for k, v in sorted(struct.jit_methods.items()))]
        members += [(k, _content(m.py_func, seen)) for k, m in sorted(struct.jit_static_methods.items())]
    elif issubclass(obj, enum.Enum):
        members += [(m.name, repr(m.value)) for m in obj]
    return "class", *name, tuple(members)


def _function(fn: python.FunctionType, seen: dict[int, int]) -> Any:
    module = fn.__module__ or ""
    if module.split(".")[0] in LIBRARIES and fn.__closure__ is None and module != linecode.MODULE:
        return "library", fn.__module__, fn.__qualname__  # its content is in the versions
    cells = tuple(_cell(cell, seen) for cell in fn.__closure__ or ())
    defaults = _content((fn.__defaults__, fn.__kwdefaults__), seen)
    return "function", _code(fn.__code__, fn.__globals__, seen), defaults, cells


def _cell(cell: Any, seen: dict[int, int]) -> Any:
    try:
        return _content(cell.cell_contents, seen)
    except ValueError:  # not assigned yet
        return "empty cell"


def _code(code: python.CodeType, names: dict[str, Any], seen: dict[int, int]) -> Any:
    constants = tuple(
        _code(k, names, seen) if isinstance(k, python.CodeType) else _content(k, seen) for k in code.co_consts
    )
    values = [(n, _global(names[n], code.co_names, seen)) for n in code.co_names if n in names]
    return code.co_code.hex(), code.co_varnames, code.co_names, code.co_freevars, constants, tuple(values)


def _global(value: Any, attributes: tuple[str, ...], seen: dict[int, int]) -> Any:
    """A global that the code names; of a user's module, what the code may reach through it."""
    if not isinstance(value, python.ModuleType) or value.__name__.split(".")[0] in LIBRARIES:
        return _content(value, seen)
    if id(value) in seen:
        return "seen", seen[id(value)]
    seen[id(value)] = len(seen)
    reached = [(n, _global(getattr(value, n), attributes, seen)) for n in attributes if hasattr(value, n)]
    return "module", value.__name__, tuple(reached)
