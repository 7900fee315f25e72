"""Functions that run several times: every run gets the arguments as they were.

Arrays and lists are copied. A dictionary, a set, a record or a jitclass instance cannot be, so that a function may
read it, and not write into it.
"""

from __future__ import annotations

from typing import Any

from numba import typeof
from numba.core import types, utils
from numba.core.typing.typeof import Purpose

from jitgrad.api import values
from jitgrad.backend.dispatcher import dispatcher_of
from jitgrad.backend.structure import describe
from jitgrad.errors import UnsupportedError
from jitgrad.program import ir


def copies(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Deep copies of the arguments of a call; what shares memory shares it in the copies too."""
    made = values.copies((*args, *kwargs.values()))
    return made[: len(args)], dict(zip(kwargs, made[len(args) :], strict=True))


def check(fun: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Refuse a call that writes into an argument that `copies` does not copy.

    Raises
    ------
    UnsupportedError
    """
    if not any(map(_holds_uncopied, (*args, *kwargs.values()))):
        return
    from jitgrad.backend.engine import read  # loads the front end, which most calls do without

    primal = dispatcher_of(fun)
    passed = [typeof(a, Purpose.argument) for a in args], {k: typeof(v, Purpose.argument) for k, v in kwargs.items()}
    check_program(read(primal, primal._compiler.fold_argument_types(tuple(passed[0]), passed[1])[1]), primal)


def check_program(program: ir.Program, primal: Any) -> None:
    """The same for every call with arguments of the program's types."""
    from jitgrad.api import mutation  # loads the analyses

    for param, name in zip(program.params, utils.pysignature(primal.py_func).parameters, strict=True):
        if uncopied(param.type) and mutation.depends_on_before(program, param):
            raise UnsupportedError(
                f"{primal.__name__} writes into its argument {name}, {describe(param.type)}, which cannot be copied, "
                "and this derivative runs it several times; keep what is written in arrays, or use grad, "
                "value_and_grad or jvp, which run it once"
            )


def uncopied(ty: types.Type) -> bool:
    """Whether values of a Numba type hold memory that is not copied."""
    match ty:
        case types.BaseTuple():
            return any(map(uncopied, ty))
        case types.Optional():
            return uncopied(ty.type)
        case types.List() | types.ListType():
            return uncopied(ty.dtype)
    return isinstance(ty, UNCOPIED)


UNCOPIED = (types.Record, types.ClassInstanceType, types.StructRef, types.DictType, types.Set)


def _holds_uncopied(value: Any) -> bool:
    found: list[Any] = []
    values.map_leaves(lambda leaf: found.append(leaf) if not _plain(leaf) else None, value)
    return bool(found)


def _plain(leaf: Any) -> bool:
    return leaf is None or values.is_float_leaf(leaf) or isinstance(leaf, (int, str, bytes))
