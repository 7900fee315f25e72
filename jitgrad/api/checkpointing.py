"""`checkpoint`: a call keeps its arguments only, and runs again when the backward sweep comes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numba.core import types, utils

from jitgrad.api.mutation import shared_with_result
from jitgrad.api.python_only import python_only
from jitgrad.api.ruled import (
    FunctionRule,
    RuledFunction,
    jitted,
    parameters_of,
    result_type,
    rule_of_parameters,
    written,
)
from jitgrad.api.shape import Node, plain_tree, rebuild
from jitgrad.backend.dispatcher import Transform, derivative, dispatcher_of, once
from jitgrad.backend.engine import Reverse, calling, read
from jitgrad.backend.writer import Writer
from jitgrad.errors import UnsupportedError
from jitgrad.transforms.request import Generated, VjpRequest


@python_only
def checkpoint(fun: Any) -> RuledFunction:
    """The same function, whose calls save memory in reverse mode.

    Of a call in differentiated code, the forward sweep keeps the arguments and nothing of what happens inside. The
    backward sweep runs the call once more, now keeping what it needs, and frees that before it goes on. Time: one more
    run of `fun` for each time a call of it is differentiated. Memory: that of the arguments of every call, and of one
    derivative of `fun`.

    Parameters
    ----------
    fun : njit function or function
        With named parameters. It must not write into its arguments; in forward mode, which tapes nothing and looks into
        the function, it may.

    Returns
    -------
    njit function
        Can be called from Python and from nopython code. Checkpoints nest: a checkpointed function may call others. A
        result that may be memory of an argument is returned as a copy.

    Raises
    ------
    UnsupportedError
        When reverse mode meets a call of a function that writes into an argument.

    Notes
    -----
    `fun` must be a function of its arguments: one that draws random numbers would draw others when it runs again.
    For a loop of many steps see `repeat`.

    Examples
    --------
    >>> @checkpoint
    ... def settle(x):
    ...     for _ in range(100):
    ...         x = x - 0.01 * np.sin(x)
    ...     return x
    >>> round(grad(lambda x: settle(settle(x)))(1.0), 6)
    0.173653
    """
    primal = dispatcher_of(fun)
    return once(primal, "checkpoint", lambda: _checkpoint(primal))


def _checkpoint(primal: Any) -> RuledFunction:
    parameters_of(primal, "checkpoint:")

    def rule(fn: Any) -> FunctionRule:
        return rule_of_parameters(CheckpointRule, fn, "checkpoint:")

    return RuledFunction(calling(derivative(primal, Checkpointed())).py_func, rule, (checkpoint, primal))


@dataclass(frozen=True)
class Checkpointed(Transform):
    """The call, with a copy of its result where that may be memory of an argument."""

    prefix: ClassVar[str] = "checkpoint"

    def generate(self, primal, argtypes):
        writer = Writer({})
        names = ", ".join(writer.fresh(name) for name in utils.pysignature(primal.py_func).parameters)
        name, out = writer.fresh(f"checkpoint_{primal.__name__}"), writer.fresh("out")
        call = f"{writer.use(primal, primal.__name__)}({names})"
        lines = [f"return {call}"]
        if shared_with_result(read(primal, argtypes)):

            def copied(leaf: Node) -> str:
                return f"{leaf.text}.copy()" if leaf.is_array else leaf.text

            structure = plain_tree(result_type(primal, argtypes), out)
            lines = [f"{out} = {call}", f"return {rebuild(structure, copied, writer.use)}"]
        source = f"def {name}({names}):\n" + "".join(f"    {line}\n" for line in lines)
        return Generated(source, writer.namespace, name)


class CheckpointRule(FunctionRule):
    """The pullback is the vjp of the function, which runs it again; itself a checkpoint, for derivatives of it."""

    reverse_only: ClassVar[bool] = True

    @property
    def inner(self) -> Any:
        return self.fn.recipe[1]

    def applies(self, types: dict[str, Any]) -> bool:
        key = "checked", tuple(types[n] for n in self.names)
        if key not in self.made:
            self.made[key] = True
            self._check(key[1])
        return True

    def _check(self, argtypes: tuple[types.Type, ...]) -> None:
        argtypes = tuple(types.unliteral(ty) for ty in argtypes)
        name, names = self.inner.__name__, list(parameters_of(self.inner, "checkpoint:"))
        for k in sorted(written(self.inner, argtypes)):
            raise UnsupportedError(
                f"checkpoint: {name} writes into its argument {names[k]}, so that it cannot run again; write into "
                "a copy and return that"
            )

    def joint_pullback(self, active, types):
        wrt = tuple(self.names.index(n) for n in active)
        names = ", ".join(self.names)
        namespace = {"vjp": derivative(self.inner, Reverse(VjpRequest(wrt, seed="argument")))}
        lines = [f"_, parts = vjp({self.ct}, {names})", f"return parts{'[0]' * (len(wrt) == 1)}"]
        return checkpoint(jitted(f"pull_{self.inner.__name__}", f"{self.ct}, {names}", lines, namespace)), self.names
