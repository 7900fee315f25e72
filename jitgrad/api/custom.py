"""Derivatives given by the user: custom_jvp, custom_vjp, stop_gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types, utils
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.extending import overload

from jitgrad.backend import byname
from jitgrad.backend.dispatcher import dispatcher_of
from jitgrad.errors import ArgumentError


class CustomFunction(CPUDispatcher):
    """An njit function with a derivative of its own, made by `custom_jvp` or `custom_vjp`.

    The engine does not look into it: it calls the rule, wherever the function is called.
    """

    def __init__(self, fun: Any):
        primal = dispatcher_of(fun)
        super().__init__(primal.py_func, targetoptions=dict(primal.targetoptions))
        self.primal = primal
        self.jvp: Dispatcher | None = None
        self.fwd: Dispatcher | None = None
        self.bwd: Dispatcher | None = None

    def __jitgrad_rule__(self) -> Any:
        """The rule, for `jitgrad.rules.lookup`."""
        from jitgrad.api.customrules import rule_for

        return rule_for(self)

    def content_for_digest(self) -> tuple:
        return self.primal, self.jvp, self.fwd, self.bwd

    def _reduce_states(self):
        parts = {
            k: None if f is None else byname.Reference(f)
            for k, f in (("jvp", self.jvp), ("fwd", self.fwd), ("bwd", self.bwd))
        }
        return {"uuid": str(self._uuid), "primal": byname.Reference(self.primal), **parts}

    @classmethod
    def _rebuild(cls, uuid, primal, jvp, fwd, bwd):
        try:
            return cls._memo[uuid]
        except KeyError:
            pass
        self = cls(primal)
        self.jvp, self.fwd, self.bwd = jvp, fwd, bwd
        self._set_uuid(uuid)
        return self


class CustomJvp(CustomFunction):
    """See `custom_jvp`."""

    def defjvp(self, jvp: Any) -> Any:
        """Set the rule: ``jvp(primals, tangents) -> (out, out_tangent)``, both arguments tuples."""
        _check_parameters(jvp, 2, "defjvp", "(primals, tangents)")
        self.jvp = dispatcher_of(jvp)
        return jvp


class CustomVjp(CustomFunction):
    """See `custom_vjp`."""

    def defvjp(self, fwd: Any, bwd: Any) -> None:
        """Set the rule.

        Parameters
        ----------
        fwd : njit function or function
            ``fwd(*args) -> (out, residuals)``.
        bwd : njit function or function
            ``bwd(residuals, cotangent) -> tuple``, one cotangent for each argument, None for one without.
        """
        _check_parameters(fwd, len(utils.pysignature(self.py_func).parameters), "fwd", "the arguments of the function")
        _check_parameters(bwd, 2, "bwd", "(residuals, cotangent)")
        self.fwd, self.bwd = dispatcher_of(fwd), dispatcher_of(bwd)


def _check_parameters(fun: Any, count: int, name: str, what: str) -> None:
    params = utils.pysignature(dispatcher_of(fun).py_func).parameters
    if len(params) != count and not any(p.kind == p.VAR_POSITIONAL for p in params.values()):
        raise ArgumentError(f"{name} takes {what}, {count} parameters, but this function has {len(params)}")


def custom_jvp(fun: Any) -> CustomJvp:
    """Give a function a tangent rule of its own.

    Parameters
    ----------
    fun : njit function or function

    Returns
    -------
    CustomJvp
        The function, with a method `defjvp` that sets the rule. The rule serves reverse mode too, which
        transposes it: it must be linear in the tangents.

    Examples
    --------
    >>> @custom_jvp
    ... def safe_sqrt(x):
    ...     return np.sqrt(x)
    >>> @safe_sqrt.defjvp
    ... def safe_sqrt_jvp(primals, tangents):
    ...     y = np.sqrt(primals[0])
    ...     return y, 0.5 * tangents[0] / max(y, 1e-3)
    >>> grad(safe_sqrt)(0.0)
    500.0
    """
    return CustomJvp(fun)


def custom_vjp(fun: Any) -> CustomVjp:
    """Give a function a pullback of its own.

    Parameters
    ----------
    fun : njit function or function

    Returns
    -------
    CustomVjp
        The function, with a method ``defvjp(fwd, bwd)`` that sets the rule. The rule serves forward mode
        too: `bwd` must be linear in the cotangent.

    Examples
    --------
    >>> @custom_vjp
    ... def clipped(x):
    ...     return 1.0 * x
    >>> def fwd(x):
    ...     return 1.0 * x, ()
    >>> def bwd(residuals, ct):
    ...     return (min(max(ct, -1.0), 1.0),)
    >>> clipped.defvjp(fwd, bwd)
    >>> grad(lambda x: 10.0 * clipped(x))(3.0)
    1.0
    """
    return CustomVjp(fun)


# ----- stop_gradient -------------------------------------------------------------------------------
def stop_gradient(x: Any) -> Any:
    """The value of `x`, as a constant: its derivative is zero.

    Arrays are copied, so that what is written into the result does not reach `x`. Values of a tape stay on it, as
    constants.

    Examples
    --------
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    if hasattr(x, "detached"):  # a value of `jitgrad.tape`
        return x.detached()
    if isinstance(x, (tuple, list)):
        items = [stop_gradient(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {key: stop_gradient(item) for key, item in x.items()}
    return x.copy() if isinstance(x, np.ndarray) else x


def _stop_rule() -> Any:
    from jitgrad.rules import ZeroRule

    return ZeroRule(functions=(stop_gradient,))


vars(stop_gradient)["__jitgrad_rule__"] = _stop_rule


@overload(stop_gradient)
def _stop_gradient(x):
    if isinstance(x, types.Array):
        return lambda x: x.copy()
    if isinstance(x, types.BaseTuple) and len(x):
        return _stop_items(x)
    return lambda x: x


def _stop_items(ty: types.BaseTuple) -> Callable:
    items = ", ".join(f"stop_gradient(x[{k}])" for k in range(len(ty)))
    namespace = {"stop_gradient": stop_gradient, "cls": getattr(ty, "instance_class", tuple)}
    named = isinstance(ty, (types.NamedTuple, types.NamedUniTuple))
    exec(f"def implementation(x):\n    return {'cls' if named else ''}({items}{'' if named else ','})\n", namespace)
    return namespace["implementation"]
