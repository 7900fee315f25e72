"""Functions of the library that derivatives do not look into: they carry a rule, and are njit functions otherwise.

`checkpoint`, `repeat`, `batched` and those of `jitgrad.implicit` make `RuledFunction` objects. Each is described by the
function that makes it and what that was given, its recipe: by that it is pickled, and enters cache keys.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

import numba
from numba.core import types, utils
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from jitgrad.analysis.callees import written_positions
from jitgrad.backend import byname, digest, linecode
from jitgrad.backend.dispatcher import dispatcher_of, jitgrad_cause, once
from jitgrad.errors import ArgumentError
from jitgrad.rules import ArrayRule


class RuledFunction(CPUDispatcher):
    """An njit function with a derivative rule of its own.

    Parameters
    ----------
    py_func : function
        What is compiled.
    rule : callable
        ``rule(function) -> Rule``, called when a derivative first meets the function.
    recipe : tuple
        ``make, *arguments``: ``make(*arguments)`` is this function.
    """

    def __init__(self, py_func: Any, rule: Callable[[Any], Any], recipe: tuple, **options: Any):
        super().__init__(py_func, targetoptions={"nopython": True, "nogil": True, "boundscheck": None, **options})
        self._make_rule = rule
        self.recipe = recipe

    def __jitgrad_rule__(self) -> Any:
        """The rule, for `jitgrad.rules.lookup`."""
        return once(self, "rule", lambda: self._make_rule(self))

    def _compile_for_args(self, *args, **kws):
        """Errors of ours come out as themselves, as those of a `Derivative` do."""
        try:
            return super()._compile_for_args(*args, **kws)
        except NumbaError as error:
            own = jitgrad_cause(error)
            if own is None:
                raise
        raise own.with_traceback(None) from None

    def content_for_digest(self) -> tuple:
        return self.recipe

    def _reduce_states(self):
        return {"recipe": tuple(byname.Reference(part) if callable(part) else part for part in self.recipe)}

    @classmethod
    def _rebuild(cls, recipe):
        make, *arguments = recipe
        return make(*arguments)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FunctionRule(ArrayRule):
    """The rule of a `RuledFunction`: its pullbacks and tangents are functions written for it.

    A subclass writes `joint_pullback`, for all parameters of a call that are differentiated at once.

    Attributes
    ----------
    fn : RuledFunction
    names : tuple of str
        The parameters.
    """

    fn: Any = None
    names: tuple[str, ...] = ()
    made: dict[Any, Any] = field(default_factory=dict)

    def differentiable(self, param: str) -> bool:
        return True

    def pullback(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
        return self.pullbacks([param], types)[0][1:]

    def pullbacks(self, active: Iterable[str], types: dict[str, Any]) -> list:
        active = tuple(active)
        if not active:
            return []
        key = "pull", active, tuple(types.get(n) for n in (*self.names, "out"))
        if key not in self.made:
            self.made[key] = self.joint_pullback(active, types)
        return [(active, *self.made[key])]

    @property
    def ct(self) -> str:
        """A name for the cotangent that no parameter has."""
        name = "ct"
        while name in self.names:
            name += "_"
        return name

    def pushforward(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]] | None:
        raise NotImplementedError("forward mode looks into a function whose rule is for the backward sweep only")

    def joint_pullback(self, active: tuple[str, ...], types: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
        """``(function, needs)`` as in `ArrayRule.pullbacks`: one cotangent for one parameter, else a tuple."""
        raise NotImplementedError


def rule_of_parameters(cls: type[FunctionRule], fn: Any, what: str) -> FunctionRule:
    """A rule of this class with the parameters that `fn` has."""
    text, names = rule_parameters(parameters_of(fn, what), fn.__name__)
    return cls(functions=(fn,), params=text, fn=fn, names=names)


def rule_parameters(params: Mapping[str, Any], name: str) -> tuple[str, tuple[str, ...]]:
    """Parameters of a function as a rule has them, as text and by name: ``out`` is the result there, so ``out_`` here.

    Raises
    ------
    ArgumentError
        There is a parameter of either name.
    """
    if {"out", "out_"} <= set(params):
        raise ArgumentError(f"{name} has the parameters out and out_, which its rule cannot tell apart; rename one")
    named = {n + "_" * (n == "out"): p.default for n, p in params.items()}
    text = ", ".join(n if default is Parameter.empty else f"{n}={default!r}" for n, default in named.items())
    return text, tuple(named)


def parameters_of(fun: Any, what: str) -> dict[str, Any]:
    """The parameters of a function, which must have names.

    Raises
    ------
    ArgumentError
    """
    params = dict(utils.pysignature(dispatcher_of(fun).py_func).parameters)
    for name, param in params.items():
        if param.kind != param.POSITIONAL_OR_KEYWORD:
            raise ArgumentError(
                f"{what} {dispatcher_of(fun).__name__} has the parameter {param}; give its parameters names "
                f"instead of {'*' if param.kind == param.VAR_POSITIONAL else 'keyword-only'} {name}"
            )
    return params


def build(name: str, header: str, lines: Iterable[str], namespace: dict[str, Any], defaults: Any = None) -> Any:
    """The Python function ``name(header)`` of these lines."""
    name = name if name.isidentifier() else "function"
    source = f"def {name}({header}):\n" + "".join(f"    {line}\n" for line in lines)
    try:
        content = digest.digest(tuple(sorted(namespace.items())))
    except digest.Undigestible:
        content = uuid.uuid4().hex
    tag = digest.hexdigest(source, content)[:16]
    fn = linecode.build(source, namespace, name, tag, f"<jitgrad {name} {tag}>")
    fn.__defaults__ = defaults
    return fn


def jitted(name: str, header: str, lines: Iterable[str], namespace: dict[str, Any]) -> Any:
    """As `build`, compiled like generated code."""
    return numba.njit(build(name, header, lines, namespace), error_model="numpy", nogil=True)


def result_type(fn: Any, argtypes: tuple[types.Type, ...]) -> types.Type:
    """The Numba type that `fn` returns for arguments of these types."""
    template, _, args, kws = fn.get_call_template(argtypes, {})
    return template(fn.typingctx).apply(args, kws).return_type


def written(fn: Any, argtypes: Iterable[types.Type]) -> frozenset[int]:
    """Positions of the arguments that `fn` writes into."""
    return written_positions(fn, tuple(types.unliteral(ty) for ty in argtypes))
