"""The rules of functions with custom derivatives, in the form the transforms ask for.

One of the two modes is given, the other follows by transposition: a linear function is differentiated with
respect to its argument by the reverse mode of the engine, which needs no further rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numba.core import types, utils

from jitgrad.api.ruled import rule_parameters
from jitgrad.api.shape import Node, rebuild
from jitgrad.backend import digest, linecode
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.structure import has_float
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError, NoRuleError
from jitgrad.rules import ArrayRule
from jitgrad.transforms.request import VjpRequest


def rule_for(fn: Any) -> CustomRule:
    """The rule of a custom function.

    Raises
    ------
    NoRuleError
        The rule has not been set.
    """
    from jitgrad.api.custom import CustomJvp

    if isinstance(fn, CustomJvp):
        if fn.jvp is None:
            raise NoRuleError(f"{fn.__name__} is a custom_jvp without a rule; set one with {fn.__name__}.defjvp")
        cls: type[CustomRule] = FromJvp
    else:
        if fn.bwd is None:
            raise NoRuleError(
                f"{fn.__name__} is a custom_vjp without a rule; set one with {fn.__name__}.defvjp(fwd, bwd)"
            )
        cls = FromVjp
    params = utils.pysignature(fn.py_func).parameters
    if any(p.kind == p.VAR_POSITIONAL for p in params.values()):
        raise NoRuleError(f"{fn.__name__} has a custom derivative and *{list(params)[-1]}; give its parameters names")
    text, names = rule_parameters(params, fn.__name__)
    return cls(functions=(fn,), params=text, fn=fn, names=names)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CustomRule(ArrayRule):
    """What the two kinds share: every parameter with floats is differentiable."""

    fn: Any = None
    names: tuple[str, ...] = ()
    made: dict[Any, Any] = field(default_factory=dict)

    def differentiable(self, param: str) -> bool:
        return True

    def pushforward(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
        return self._push(param, types), self.names

    def pullback(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
        return self._pull((param,), types, single=True), self.names

    def pullbacks(self, active: Any, types: dict[str, Any]) -> list:
        active = tuple(active)
        if not active:
            return []
        single = len(active) == 1
        return [(active, self._pull(active, types, single=single), self.names)]

    def _push(self, param: str, types: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _pull(self, params: tuple[str, ...], types: dict[str, Any], single: bool) -> Any:
        raise NotImplementedError

    def _fresh(self, name: str) -> str:
        """A name that no parameter has."""
        while name in self.names:
            name += "_"
        return name

    def _function(self, kind: str, first: str, lines: list[str], writer: Writer) -> Any:
        """An njit function ``kind(first, *parameters)`` of these lines."""
        name = f"{kind}_{self.fn.__name__}" if self.fn.__name__.isidentifier() else kind
        source = f"def {name}({', '.join([first, *self.names])}):\n" + "".join(f"    {line}\n" for line in lines)
        tag = digest.hexdigest(source, repr(self.fn))[:16]
        return numba.njit(linecode.build(source, writer.namespace, name, tag, f"<jitgrad {name} {tag}>"))

    def _writer(self, *taken: str) -> Writer:
        return Writer(dict.fromkeys([*self.names, *taken]))

    def _finish(self, writer: Writer) -> Writer:
        for name in self.names:
            writer.namespace.pop(name, None)
        return writer


class FromJvp(CustomRule):
    """Of a `custom_jvp`."""

    def _push(self, param, types):
        key = "push", param, tuple(types[n] for n in self.names)
        if key not in self.made:
            dot = self._fresh("dot")
            w = self._writer(dot)
            tangents = ", ".join(dot if n == param else zero(types[n], n, w) for n in self.names)
            rule = w.use(self.fn.jvp, "jvp_rule")
            lines = [f"_, out_dot = {rule}(({', '.join(self.names)},), ({tangents},))", "return out_dot"]
            self.made[key] = self._function("push", dot, lines, self._finish(w))
        return self.made[key]

    def _pull(self, params, types, single):
        key = "pull", params, single, tuple(types[n] for n in self.names)
        if key not in self.made:
            ct = self._fresh("ct")
            w = self._writer(ct)
            rule = w.use(self.fn.jvp, "jvp_rule")
            dots = {n: w.fresh(f"{n}_dot") for n in params}
            tangents = ", ".join(dots.get(n) or zero(types[n], n, w) for n in self.names)
            # the tangent as a function of the tangents alone
            lines = [f"return {rule}(({', '.join(self.names)},), ({tangents},))[1]"]
            linear = self._function("tangent", ", ".join(dots.values()), lines, self._finish(w))
            w = self._writer(ct)
            transposed = w.use(derivative(linear, VjpRequest(tuple(range(len(params))), seed="argument")), "transposed")
            start = ", ".join(zero(types[n], n, w) for n in params)
            lines = [
                f"_, parts = {transposed}({ct}, {start}, {', '.join(self.names)})",
                f"return parts{'[0]' * single}",
            ]
            self.made[key] = self._function("pull", ct, lines, self._finish(w))
        return self.made[key]


class FromVjp(CustomRule):
    """Of a `custom_vjp`."""

    def _check(self, found: dict[str, Any]) -> None:
        """The rule returns what it should, by its types."""
        name = self.fn.__name__
        made = _result_type(self.fn.fwd, tuple(found[n] for n in self.names))
        if not isinstance(made, types.BaseTuple) or len(made) != 2:
            raise ArgumentError(f"fwd of {name} must return (out, residuals), but it returns {made}")
        parts = _result_type(self.fn.bwd, (made[1], made[0]))
        if not isinstance(parts, types.BaseTuple) or len(parts) != len(self.names):
            raise ArgumentError(
                f"bwd of {name} must return a tuple of {len(self.names)} cotangents, one for each argument, "
                f"but it returns {parts}"
            )

    def _pull(self, params, types, single):
        key = "pull", params, single, tuple(types[n] for n in self.names)
        if key not in self.made:
            self._check(types)
            ct = self._fresh("ct")
            w = self._writer(ct)
            fwd, bwd = w.use(self.fn.fwd, "fwd"), w.use(self.fn.bwd, "bwd")
            parts = [f"parts[{self.names.index(n)}]" for n in params]
            lines = [
                f"out, residuals = {fwd}({', '.join(self.names)})",
                f"parts = {bwd}(residuals, {ct})",
                f"return {parts[0] if single else '(' + ', '.join(parts) + ',)'}",
            ]
            self.made[key] = self._function("pull", ct, lines, self._finish(w))
        return self.made[key]

    def _push(self, param, types):
        key = "push", param, tuple(types[n] for n in self.names)
        if key not in self.made:
            dot = self._fresh("dot")
            w = self._writer(dot, "out")
            transposed = w.use(
                derivative(self._pull((param,), types, single=True), VjpRequest((0,), seed="argument")), "transposed"
            )
            lines = [
                f"out = {w.use(self.fn, self.fn.__name__)}({', '.join(self.names)})",
                f"_, parts = {transposed}({dot}, {zero(types['out'], 'out', w)}, {', '.join(self.names)})",
                "return parts[0]",
            ]
            self.made[key] = self._function("push", dot, lines, self._finish(w))
        return self.made[key]


def _result_type(fn: Any, argtypes: tuple[types.Type, ...]) -> types.Type:
    template, pysig, args, kws = fn.get_call_template(argtypes, {})
    return template(fn.typingctx).apply(args, kws).return_type


def zero(ty: types.Type, text: str, writer: Writer) -> str:
    """An expression for the zero tangent of the value that `text` reads."""

    def tree(ty: types.Type, text: str) -> Node:
        items = [tree(t, f"{text}[{k}]") for k, t in enumerate(ty)] if isinstance(ty, types.BaseTuple) else None
        return Node(ty, text, items)

    def leaf(node: Node) -> str:
        if not has_float(node.type):
            return "0"
        if isinstance(node.type, types.Array):
            return f"{writer.use(np, 'np')}.zeros_like({node.text})"
        return f"{writer.use(np.dtype(str(node.type)).type, str(node.type))}(0)"

    return rebuild(tree(ty, text), leaf, writer.use)
