"""`repeat`: a loop of many steps that goes backwards with few states kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from jitgrad.api.customrules import zero
from jitgrad.api.python_only import python_only
from jitgrad.api.ruled import FunctionRule, RuledFunction, build, jitted, parameters_of, rule_of_parameters
from jitgrad.api.shape import Node, rebuild, tree
from jitgrad.backend.dispatcher import Transform, derivative, dispatcher_of, once
from jitgrad.backend.engine import Forward, calling
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError
from jitgrad.transforms.request import JvpRequest

SCHEDULES = ("sqrt", "log", "all")


@python_only
def repeat(step: Any, *, snapshots: int | str = "sqrt") -> RuledFunction:
    """A function that repeats a step, and whose reverse mode keeps few of the states in between.

    Parameters
    ----------
    step : njit function or function
        ``step(state, i, *params) -> state``, with named parameters, for ``i = 0, 1, ...``. The state is a number, an
        array of constant shape, or a tuple of these, and keeps its type. `step` may write into the state it is given,
        not into `params`.
    snapshots : {"sqrt", "log", "all"} or int
        How many states reverse mode holds at once. The time is counted in steps, for n of them, each of which also
        goes backwards once:

        ========= ======================== ===========================================
        snapshots states held              steps run in the backward sweep
        ========= ======================== ===========================================
        "all"     n                        less than n
        "sqrt"    about ``sqrt(2 n)``      less than 2 n
        "log"     about ``log2(n)``        of the order ``n log(n)``
        s         s                        ``r n - C(s + r, r - 1)`` or fewer, where r is the least with
                                           ``n <= C(s + r, s)``
        ========= ======================== ===========================================

    Returns
    -------
    njit function
        ``run(state, n, *params) -> state``, the state after n steps. Can be called from Python and from nopython code,
        and differentiated with respect to the state and the parameters, in any mode and order. Forward mode keeps no
        states; reverse mode over it tapes all steps.

    Raises
    ------
    ArgumentError
        When reverse mode meets a state whose type `step` changes, or that is not of the kinds above.
    UnsupportedError
        When it meets a `step` that writes into a parameter.
    ValueError
        From the derivative, where the state changes its shape.

    Notes
    -----
    The binomial schedule of Griewank and Walther, "Algorithm 799: revolve" (ACM TOMS 26, 2000), which needs the least
    number of steps for a number of states. Reverse mode over reverse mode goes backwards through a loop of the step and
    its tangent, by the same schedule. `step` must be a function of its arguments: it runs again.

    Examples
    --------
    >>> def step(x, i, rate):
    ...     return x - rate * x * x
    >>> decay = repeat(step, snapshots="log")
    >>> round(decay(1.0, 1000, 0.01), 6)
    0.090711
    >>> [round(g, 6) for g in grad(decay, argnums=(0, 2))(1.0, 1000, 0.01)]
    [0.008153, -8.255765]
    """
    primal = dispatcher_of(step)
    known = snapshots in SCHEDULES if isinstance(snapshots, str) else isinstance(snapshots, int) and snapshots >= 1
    if not known or isinstance(snapshots, bool):
        raise ArgumentError(
            f"snapshots must be one of {', '.join(map(repr, SCHEDULES))} or a positive integer, not {snapshots!r}"
        )
    if len(parameters_of(primal, "repeat:")) < 2:
        raise ArgumentError(
            f"repeat takes step(state, i, *params), but {primal.__name__} has "
            f"{len(parameters_of(primal, 'repeat:'))} parameter"
        )
    return once(primal, ("repeat", snapshots), lambda: _repeat(primal, snapshots))


def _repeat(primal: Any, snapshots: int | str) -> RuledFunction:
    params = parameters_of(primal, "repeat:")
    state, _, *others = params
    count = "n"
    while count in (state, *others):
        count += "_"
    names = ", ".join([state, count, *others])
    run = build(
        f"repeat_{primal.__name__}",
        names,
        [f"return repeated({names})"],
        {"repeated": derivative(primal, Repeated())},
        defaults=primal.py_func.__defaults__,
    )

    def rule(fn: Any) -> FunctionRule:
        return rule_of_parameters(RepeatRule, fn, "repeat:")

    return RuledFunction(run, rule, (_again, primal, snapshots))


def _again(primal: Any, snapshots: int | str) -> RuledFunction:
    return repeat(primal, snapshots=snapshots)


# ----- what is generated ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Repeated(Transform):
    """``repeated(state, n, *params)``: the loop."""

    prefix: ClassVar[str] = "repeat"

    def generate(self, primal, argtypes):
        from jitgrad.api.loops import repeated

        return repeated(primal, argtypes)


@dataclass(frozen=True)
class Backwards(Transform):
    """``backwards(cotangent, state, n, *params)``: the cotangents of the arguments in `wrt`, positions of the step."""

    wrt: tuple[int, ...]
    snapshots: int | str

    prefix: ClassVar[str] = "backwards"
    leading: ClassVar[tuple[str, ...]] = ("cotangent",)

    def generate(self, primal, argtypes):
        from jitgrad.api.loops import backwards

        return backwards(self, primal, argtypes)


# ----- rules ---------------------------------------------------------------------------------------
class RepeatRule(FunctionRule):
    """The pullback of a repeated step."""

    reverse_only: ClassVar[bool] = True

    def joint_pullback(self, active, types):
        _, step, snapshots = self.fn.recipe
        return pullback(step, tuple(self.names.index(n) for n in active), snapshots), self.names


def pullback(step: Any, wrt: tuple[int, ...], snapshots: int | str) -> RuledFunction:
    """``pull(cotangent, state, n, *params)``, which can be differentiated as well."""

    def make() -> RuledFunction:
        def rule(fn: Any) -> FunctionRule:
            return rule_of_parameters(PullbackRule, fn, "repeat:")

        inner = derivative(step, Backwards(wrt, snapshots))
        return RuledFunction(calling(inner).py_func, rule, (pullback, step, wrt, snapshots))

    return once(step, ("pullback of repeat", wrt, snapshots), make)


class PullbackRule(FunctionRule):
    """The pullback of a pullback.

    The pullback is ``J(z)^T c``, for z the state and the parameters, c the cotangent. Its product with v is
    ``c . J(z) v``, where ``J(z) v`` is the tangent of the loop along v: what a repeated step of value and tangent
    gives. So the derivative with respect to c is that tangent, the one with respect to z the pullback of the repeated
    tangent step.
    """

    reverse_only: ClassVar[bool] = True

    def joint_pullback(self, active, types):
        _, step, wrt, snapshots = self.fn.recipe
        cotangent, state, count, *params = self.names
        moved = [self.names[k + 1] for k in wrt if k]  # parameters with a tangent
        w = Writer(dict.fromkeys([*self.names, self.ct]))
        both, bars, zeros = w.fresh("both"), w.fresh("bars"), w.fresh("zeros")
        dots = {n: w.fresh(f"{n}_dot") for n in (state, *moved)}
        along = {
            self.names[k + 1]: self.ct if len(wrt) == 1 else f"{self.ct}[{j}]"  # what the cotangent says of each
            for j, k in enumerate(wrt)
        }
        structure = tree(types[state], state, f"the state of {step.__name__}")
        lines = [f"{zeros} = {zero(types[state], state, w)}", *(f"{dots[n]} = {along[n]}" for n in moved)]
        lines.append(f"{dots[state]} = {_floats(structure, along.get(state, zeros), state, w)}")
        arguments = ", ".join([f"({state}, {dots[state]})", count, *params, *(dots[n] for n in moved)])
        tangent_step = self._tangent_step(step, params, moved)
        places = {}
        if cotangent in active:
            lines.append(f"{both} = {w.use(repeat(tangent_step, snapshots=snapshots), 'run')}({arguments})")
            places[cotangent] = f"{both}[1]"
        found = [n for n in params if n in active]
        if found or state in active:
            positions = (0, *(2 + params.index(n) for n in found))
            pull = w.use(pullback(tangent_step, positions, snapshots), "pull")
            seed = f"({_floats(structure, zeros, state, w)}, {_floats(structure, cotangent, state, w)})"
            lines.append(f"{bars} = {pull}({seed}, {arguments})")
            places[state] = f"{bars}[0][0]" if found else f"{bars}[0]"
            places.update((n, f"{bars}[{k}]") for k, n in enumerate(found, start=1))
        results = [places[n] for n in active]
        lines.append(f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}")
        for name in (*self.names, self.ct):
            w.namespace.pop(name, None)
        return jitted(f"pull_{self.fn.__name__}", ", ".join([self.ct, *self.names]), lines, w.namespace), self.names

    @staticmethod
    def _tangent_step(step: Any, params: list[str], moved: list[str]) -> Any:
        """``tangent(both, i, *params, *dots) -> (state, state_dot)``."""

        def make() -> Any:
            w = Writer(dict.fromkeys(params))
            both, i = w.fresh("both"), w.fresh("i")
            dots = [w.fresh(f"{n}_dot") for n in moved]
            wrt = (0, *(params.index(n) + 2 for n in moved))
            push = derivative(step, Forward(JvpRequest(wrt)))
            tangents = ", ".join([f"{both}[1]", *dots])
            lines = [f"return push(({tangents},), {', '.join([f'{both}[0]', i, *params])})"]
            return jitted(f"tangent_{step.__name__}", ", ".join([both, i, *params, *dots]), lines, {"push": push})

        return once(step, ("tangent step", tuple(moved)), make)


def _floats(structure: Node, text: str, like: str, w: Writer) -> str:
    """The float leaves of `text`, which has the structure of the state `like`; zero in place of the others."""

    def leaf(node: Node) -> str:
        return text + node.text[len(like) :] if node.differentiable else "0.0"

    return rebuild(structure, leaf, w.use)
