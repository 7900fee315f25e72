"""C prototypes, read as far as functions of numbers and arrays need it.

::

    int gradient(int n, const double x[n], double out[n], void *user_data)

An array parameter carries its extents as in C99: constants, or integer parameters of the same prototype.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

from numba.core import types

from jitgrad.errors import ArgumentError

_SIGNED = {1: types.int8, 2: types.int16, 4: types.int32, 8: types.int64}
_UNSIGNED = {1: types.uint8, 2: types.uint16, 4: types.uint32, 8: types.uint64}


def _integer(kind: type, *, signed: bool = True) -> types.Type:
    return (_SIGNED if signed else _UNSIGNED)[ctypes.sizeof(kind)]


TYPES: dict[str, types.Type] = {
    "double": types.float64, "float": types.float32, "int": _integer(ctypes.c_int), "long": _integer(ctypes.c_long),
    "long long": types.int64, "unsigned": _integer(ctypes.c_uint, signed=False),
    "unsigned int": _integer(ctypes.c_uint, signed=False), "unsigned long": _integer(ctypes.c_ulong, signed=False),
    "size_t": _integer(ctypes.c_size_t, signed=False), "ptrdiff_t": _integer(ctypes.c_ssize_t), "bool": types.uint8,
    "_Bool": types.uint8, "int8_t": types.int8, "int16_t": types.int16, "int32_t": types.int32, "int64_t": types.int64,
    "uint8_t": types.uint8, "uint32_t": types.uint32, "uint64_t": types.uint64, "void": types.void,
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter, or what a ``void *`` points to.

    Attributes
    ----------
    name : str
    type : numba type
        Of the number, or of what the pointer points to; `types.void` for ``void *``.
    pointer : bool
    extents : tuple of (int or str)
        Of an array: constants and names of integer parameters. Empty for a number and for a pointer to one.
    """

    name: str
    type: types.Type
    pointer: bool = False
    extents: tuple[int | str, ...] = ()

    @property
    def opaque(self) -> bool:
        """``void *``."""
        return self.pointer and isinstance(self.type, types.NoneType)

    @property
    def abi(self) -> types.Type:
        """The Numba type of the C argument."""
        if self.opaque:
            return types.voidptr
        return types.CPointer(self.type) if self.pointer else self.type


@dataclass(frozen=True)
class Prototype:
    """A C function without its body."""

    result: types.Type
    name: str
    parameters: tuple[Parameter, ...]
    text: str

    def __getitem__(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)


_HEAD = re.compile(
    r"^\s*(?P<result>[A-Za-z_][\w\s]*?)\s*(?P<name>\b[A-Za-z_]\w*)?\s*\((?P<parameters>.*)\)\s*;?\s*$", re.S
)
_PARAMETER = re.compile(
    r"^(?P<type>[A-Za-z_][\w\s]*?)\s*(?P<star>\*?)\s*(?P<name>\b[A-Za-z_]\w*)\s*(?P<extents>(\[[^\]]*\]\s*)*)$"
)


def parse(text: str) -> Prototype:
    """Read a prototype.

    Parameters
    ----------
    text : str
        The name of the function may be left out; the parameters are named.

    Raises
    ------
    ArgumentError
        Where the text is no prototype, a type is none of `TYPES`, or an extent is no constant and no integer parameter.

    Examples
    --------
    >>> parse("int jac(double t, double y[2], double out[2][2])").parameters[2].extents
    (2, 2)
    """
    if not isinstance(text, str) or (head := _HEAD.match(text)) is None:
        raise ArgumentError(
            f"{text!r} is no C prototype; write it as in 'int gradient(int n, double x[n], double out[n])'"
        )
    result, name = head["result"].strip(), head["name"]
    if name in TYPES:  # as in "unsigned int(double x)"
        result, name = f"{result} {name}", None
    if result not in TYPES and name is not None and f"{result} {name}" in TYPES:
        result, name = f"{result} {name}", None
    parameters = head["parameters"].strip()
    parts = [] if parameters in ("", "void") else parameters.split(",")
    prototype = Prototype(_type(result, text), name or "derivative", tuple(parameter(p) for p in parts), text.strip())
    names = [p.name for p in prototype.parameters]
    for n in names:
        if names.count(n) > 1:
            raise ArgumentError(f"the prototype {text!r} has two parameters named {n}")
    for p in prototype.parameters:
        check_extents(p, prototype)
    return prototype


def parameter(text: str) -> Parameter:
    """Read one parameter, as ``const double x[n]``."""
    found = _PARAMETER.match(" ".join(word for word in text.strip().split() if word != "const"))
    if found is None or found["type"] in ("unsigned", "long") and found["name"] in ("int", "long"):
        raise ArgumentError(
            f"{text.strip()!r} is no parameter of a C prototype; write a type and a name, as in 'double x[n]', "
            "'double *out', 'int n' or 'void *user_data'"
        )
    kind = _type(found["type"].strip(), text)
    extents = tuple(int(e) if e.isdigit() else e for e in re.findall(r"\[\s*(\w*)\s*\]", found["extents"]))
    if "" in extents:
        raise ArgumentError(f"{text.strip()!r} has no extent; write a constant or an integer parameter between [ and ]")
    pointer = bool(found["star"]) or bool(extents)
    if found["star"] and extents:
        raise ArgumentError(f"{text.strip()!r} is an array of pointers; write the extents of the numbers only")
    if isinstance(kind, types.NoneType) and (not pointer or extents):
        raise ArgumentError(f"{text.strip()!r} has type void; write void *{found['name']}")
    return Parameter(found["name"], kind, pointer, extents)


def check_extents(p: Parameter, prototype: Prototype) -> None:
    """Each extent is a constant or an integer parameter.

    Raises
    ------
    ArgumentError
    """
    sizes = {q.name for q in prototype.parameters if not q.pointer and isinstance(q.type, types.Integer)}
    for extent in p.extents:
        if isinstance(extent, str) and extent not in sizes:
            raise ArgumentError(
                f"the extent {extent} of {p.name} is no integer parameter of the prototype {prototype.text!r}; "
                f"add 'int {extent}', or write a constant"
            )


def _type(text: str, where: str) -> types.Type:
    words = " ".join(word for word in text.split() if word != "const")
    if words not in TYPES:
        raise ArgumentError(f"{words!r} in {where.strip()!r} is none of the C types known here: {', '.join(TYPES)}")
    return TYPES[words]
