"""The optimizers of ``scipy.optimize.minimize``, for variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.optim.parameters import check_parameter, listed
from jitgrad.tape import GradientTape, Variable

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_HESSIAN_PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov"}


class ScipyOptimizer:
    """Minimise a loss to the end, by a method of ``scipy.optimize.minimize``.

    The variables become one vector for SciPy, and gradients come from a tape. Methods that use products with the
    Hessian get exact ones.

    Parameters
    ----------
    method : str
        The name of a method, such as ``"L-BFGS-B"``, ``"BFGS"``, ``"CG"``, ``"SLSQP"``, ``"Newton-CG"`` or
        ``"trust-krylov"``.
    tol : float, optional
        When to stop; its meaning depends on the method.
    options : mapping, optional
        Further options of the method, such as ``{"maxiter": 100}``.
    callback : function, optional
        Called with the vector after each iteration; the variables then hold what was tried last.

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> from jitgrad.optim import ScipyOptimizer
    >>> x, y = jitgrad.Variable(-1.0), jitgrad.Variable([2.0, 3.0])
    >>> result = ScipyOptimizer("L-BFGS-B").minimize(lambda: (1 - x) ** 2 + np.sum((y - x) ** 2), [x, y])
    >>> result.success, x.numpy().round(4), y.numpy().round(4)
    (True, np.float64(1.0), array([1., 1.]))
    """

    def __init__(
        self,
        method: str = "L-BFGS-B",
        tol: float | None = None,
        options: Mapping[str, Any] | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(method, str):
            raise ArgumentError(f"method must be the name of a method of scipy.optimize.minimize, not {method!r}")
        self.method = method
        self.tol = tol
        self.options = dict(options or {})
        self.callback = callback

    def minimize(
        self, loss: Callable[[], Any], var_list: Sequence[Variable], bounds: Sequence[Any] | None = None
    ) -> Any:
        """Set variables to where `loss` is smallest.

        Parameters
        ----------
        loss : function without arguments
            Returns a scalar Tensor.
        var_list : sequence of Variable
        bounds : sequence, optional
            For each variable None, or a pair of a lower and an upper bound: numbers or arrays that broadcast to the
            variable, or None for no bound on that side.

        Returns
        -------
        scipy.optimize.OptimizeResult
            SciPy's; ``x`` is the vector of all variables.

        Notes
        -----
        If the loss raises an error, the variables are set back to where they started.
        """
        if not callable(loss):
            raise ArgumentError(f"loss must be callable (a function without arguments), not {type(loss).__name__}")
        import scipy.optimize  # twice the time of importing jitgrad, for this only

        problem = _Problem(loss, listed(var_list))
        kind = self.method.lower()
        start = problem.read()
        try:
            result = scipy.optimize.minimize(
                problem.value if kind in WITHOUT_GRADIENT else problem.value_and_gradient,
                start,
                method=self.method,
                jac=kind not in WITHOUT_GRADIENT,
                hessp=problem.hessian_product if kind in WITH_HESSIAN_PRODUCT else None,
                bounds=None if bounds is None else scipy.optimize.Bounds(*problem.bounds(bounds)),
                tol=self.tol,
                options=self.options,
                callback=self.callback,
            )
        except BaseException:
            problem.write(start)
            raise
        problem.write(result.x)
        return result


class _Problem:
    """A loss of variables as a function of one float64 vector."""

    def __init__(self, loss: Callable[[], Any], variables: list[Variable]) -> None:
        for k, variable in enumerate(variables):
            check_parameter(variable, f"variable {k}")
            if not isinstance(variable, Variable):
                raise ArgumentError(f"variable {k} must be a Variable, not an array; wrap it in jitgrad.Variable")
        if not variables:
            raise ArgumentError("var_list is empty; pass the variables to change")
        self.loss = loss
        self.variables = variables

    def read(self) -> np.ndarray:
        return _joined([variable.array for variable in self.variables])

    def write(self, x: np.ndarray) -> None:
        start = 0
        for variable in self.variables:
            part = x[start : start + variable.size]
            variable.assign(part.reshape(variable.shape))
            start += variable.size

    def value(self, x: np.ndarray) -> float:
        self.write(x)
        return self._scalar(self.loss())

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.write(x)
        with GradientTape() as tape:
            tape.watch(self.variables)
            loss = self.loss()
        grads = tape.gradient(loss, self.variables, unconnected_gradients="zero")
        return self._scalar(loss), _joined(grads)

    def hessian_product(self, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
        self.write(x)
        with GradientTape() as outer:
            outer.watch(self.variables)
            with GradientTape() as inner:
                inner.watch(self.variables)
                loss = self.loss()
            grads = inner.gradient(loss, self.variables, unconnected_gradients="zero")
            parts = np.split(direction, np.cumsum([variable.size for variable in self.variables])[:-1])
            slope = sum(
                np.sum(grad * part.reshape(grad.shape).astype(grad.dtype))
                for grad, part in zip(grads, parts, strict=True)
            )
        return _joined(outer.gradient(slope, self.variables, unconnected_gradients="zero"))

    def bounds(self, given: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the variables as bounds of the vector."""
        if len(given) != len(self.variables):
            raise ArgumentError(
                f"bounds has {len(given)} entries for {len(self.variables)} variables; use None for none"
            )
        sides = []
        for side, free in enumerate((-np.inf, np.inf)):
            values = [free if pair is None or pair[side] is None else pair[side] for pair in given]
            sides.append(_joined([np.broadcast_to(b, v.shape) for b, v in zip(values, self.variables, strict=True)]))
        return sides[0], sides[1]

    @staticmethod
    def _scalar(loss: Any) -> float:
        value = np.asarray(loss)
        if value.shape != ():
            raise ArgumentError(f"loss must return a scalar, not an array of shape {value.shape}; sum it")
        return float(value)


def _joined(arrays: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(array, np.float64)) for array in arrays])
