"""Functions that solve an equation, and whose derivatives come from the equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.api.custom import stop_gradient
from jitgrad.api.python_only import python_only
from jitgrad.api.ruled import RuledFunction, build, jitted, parameters_of, rule_of_parameters
from jitgrad.api.transforms import grad
from jitgrad.backend.dispatcher import dispatcher_of, once
from jitgrad.errors import ArgumentError
from jitgrad.implicit import rules


@python_only
def root(residual: Any, solver: Any, *, tolerance: float | None = None) -> RuledFunction:
    """The root that a solver finds, as a function of the parameters of the equation.

    Parameters
    ----------
    residual : njit function or function
        ``residual(x, *params)``, zero at the root; a float for a float `x`, an array of the shape of `x` for an array.
    solver : njit function or function
        ``solver(start, *params) -> x``, with as many parameters as `residual`. Any njit code, not differentiated; it
        works on copies of its arguments.
    tolerance : float, optional
        Refuse to differentiate where an element of the residual at the root is larger than this: the derivative is
        that of an exact root, and off by about as much as the root is.

    Returns
    -------
    njit function
        ``find(start, *params) -> x``. Can be called from Python and from nopython code, and differentiated with respect
        to `params` in any mode and order; the derivative with respect to `start` is zero.

    Raises
    ------
    ArgumentError
        The parameters of the two functions differ in number, or the unknown is no real float or array of them.
    numpy.linalg.LinAlgError
        From the derivative, where the Jacobian of the residual at a root that is an array is singular. For a number the
        derivative there is inf or nan.
    ValueError
        From the derivative, where the residual is larger than `tolerance`.

    Notes
    -----
    With ``A`` the Jacobian of the residual with respect to the n unknowns at the root, a tangent of the parameters
    gives ``-A^-1 (residual tangent)``, a cotangent of the root ``-A^-T cotangent``, pulled back through the residual:
    the implicit function theorem. `A` is made dense, by `jacfwd`: O(n) sweeps of the residual and an O(n^3) solve for
    each derivative; in forward mode, for each parameter.

    Examples
    --------
    >>> def newton(x, a):
    ...     for _ in range(30):
    ...         x = x - (x * x - a) / (2.0 * x)
    ...     return x
    >>> square_root = root(lambda x, a: x * x - a, newton)
    >>> square_root(1.0, 9.0), round(grad(square_root, argnums=1)(1.0, 9.0), 12)
    (3.0, 0.166666666667)
    """
    return _solution("root", residual, solver, rules.Root, tolerance)


@python_only
def argmin(objective: Any, solver: Any, *, tolerance: float | None = None) -> RuledFunction:
    """The minimiser that a solver finds, as a function of the parameters of the objective.

    Parameters
    ----------
    objective : njit function or function
        ``objective(x, *params) -> float``, smooth at its minimum, which no constraint is active at.
    solver : njit function or function
        ``solver(start, *params) -> x``; see `root`.
    tolerance : float, optional
        See `root`; of the gradient at the minimiser.

    Returns
    -------
    njit function
        ``find(start, *params) -> x``: the `root` of the gradient of `objective`, and all that is said there.

    Examples
    --------
    >>> def descent(x, y):
    ...     for _ in range(200):
    ...         x = x - 0.1 * 2.0 * (x - y)
    ...     return x
    >>> closest = argmin(lambda x, y: np.sum((x - y) ** 2), descent)
    >>> grad(lambda y: closest(np.zeros(2), y) @ np.array([1.0, 3.0]))(np.array([1.0, 2.0])).round(12)
    array([1., 3.])
    """
    _same_parameters("argmin", objective, solver)
    return _solution("argmin", grad(dispatcher_of(objective), 0), solver, rules.Root, tolerance)


@python_only
def fixed_point(
    function: Any,
    solver: Any,
    *,
    adjoint: str = "solve",
    tolerance: float | None = None,
    rtol: float = 1e-13,
    max_iterations: int = 10_000,
) -> RuledFunction:
    """The fixed point that a solver finds, as a function of the parameters of the map.

    Parameters
    ----------
    function : njit function or function
        ``function(x, *params)``, equal to `x` at the fixed point.
    solver : njit function or function
        ``solver(start, *params) -> x``; see `root`.
    adjoint : {"solve", "iterate"}
        How the derivative solves its linear equation: with the dense Jacobian, as `root` does, or by iteration of the
        derivative of the map, which needs no Jacobian and converges as fast as iterating the map does (B. Christianson,
        "Reverse accumulation and attractive fixed points", Optimization Methods and Software 3, 1994).
    tolerance : float, optional
        See `root`; of ``x - function(x)``.
    rtol, max_iterations : float, int
        With "iterate": iterate until the sum of the changes is at most ``rtol * (1 + sum of the magnitudes)``; four
        times the precision of the unknown is the least `rtol`.

    Returns
    -------
    njit function
        ``find(start, *params) -> x``; see `root`.

    Raises
    ------
    ArithmeticError
        From the derivative, where the iteration does not converge in `max_iterations`. Else as `root`.

    Examples
    --------
    >>> def iterate(x, a):
    ...     for _ in range(100):
    ...         x = np.cos(a * x)
    ...     return x
    >>> found = fixed_point(lambda x, a: np.cos(a * x), iterate, adjoint="iterate")
    >>> round(found(1.0, 1.0), 6), round(grad(found, argnums=1)(1.0, 1.0), 6)
    (0.739085, -0.297474)
    """
    if adjoint not in ("solve", "iterate"):
        raise ArgumentError(f"adjoint must be 'solve' or 'iterate', not {adjoint!r}")
    _same_parameters("fixed_point", function, solver)
    primal = dispatcher_of(function)
    if adjoint == "iterate":
        return _solution("fixed_point", primal, solver, rules.Iterated, tolerance, *_limits(rtol, max_iterations))

    def distance() -> Any:
        x, *params = parameters_of(primal, "fixed_point:")
        names = ", ".join([x, *params])
        return jitted(f"distance_{primal.__name__}", names, [f"return {x} - map({names})"], {"map": primal})

    return _solution("fixed_point", once(primal, "distance", distance), solver, rules.Root, tolerance)


@python_only
def linear_solve(matvec: Any, solver: Any, *, transpose_solver: Any = None, symmetric: bool = False) -> RuledFunction:
    """The solution of a linear equation that a solver finds, as a function of the right-hand side and the matrix.

    For a dense matrix, call ``np.linalg.solve``.

    Parameters
    ----------
    matvec : njit function or function
        ``matvec(x, *params)``: the product of a square matrix, which depends on `params`, with the array `x`.
    solver : njit function or function
        ``solver(b, *params) -> x`` with ``matvec(x, *params) == b``. Any njit code, not differentiated; it works on
        copies of its arguments.
    transpose_solver : njit function or function, optional
        The same for the transposed matrix, which reverse mode solves with. Without it and without `symmetric`, reverse
        mode makes the matrix dense: O(n) products and an O(n^3) solve.
    symmetric : bool
        The matrix is symmetric: `solver` is its own transpose.

    Returns
    -------
    njit function
        ``solve(b, *params) -> x``. Can be called from Python and from nopython code, and differentiated with respect to
        `b` and `params` in any mode and order. Each derivative is one more solve.

    Raises
    ------
    ArgumentError
        The parameters of the functions differ in number, or both `transpose_solver` and `symmetric` are given.

    Examples
    --------
    >>> def product(x, d):
    ...     return d * x
    >>> def divide(b, d):
    ...     return b / d
    >>> solve = linear_solve(product, divide, symmetric=True)
    >>> grad(lambda b, d: solve(b, d).sum(), argnums=(0, 1))(np.array([1.0, 4.0]), np.array([2.0, 4.0]))
    (array([0.5 , 0.25]), array([-0.25, -0.25]))
    """
    if symmetric and transpose_solver is not None:
        raise ArgumentError("linear_solve: with symmetric=True, the solver is the transpose_solver; leave that out")
    _same_parameters("linear_solve", matvec, solver)
    if transpose_solver is not None:
        _same_parameters("linear_solve", matvec, transpose_solver)
    transposed = None if transpose_solver is None else dispatcher_of(transpose_solver)
    return _linear(dispatcher_of(matvec), dispatcher_of(solver), transposed, bool(symmetric))


# ----- making them ---------------------------------------------------------------------------------
def _same_parameters(what: str, equation: Any, solver: Any) -> None:
    ours, theirs = (list(parameters_of(f, f"{what}:")) for f in (equation, solver))
    if len(ours) != len(theirs) or not ours:
        raise ArgumentError(
            f"{what}: {dispatcher_of(equation).__name__} takes ({', '.join(ours)}), but "
            f"{dispatcher_of(solver).__name__} takes ({', '.join(theirs)}); both take the unknown (or what stands "
            "in its place) and the parameters"
        )


def _number(what: str, name: str, value: Any) -> float:
    """A bound: a number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value >= 0:
        raise ArgumentError(f"{what}: {name} must be a number that is at least 0, not {value!r}")
    return float(value)


def _limits(rtol: Any, max_iterations: Any) -> tuple[float, int]:
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, (int, np.integer)) or max_iterations < 1:
        raise ArgumentError(f"fixed_point: max_iterations must be a positive int, not {max_iterations!r}")
    return _number("fixed_point", "rtol", rtol), int(max_iterations)


def _solution(
    what: str, equation: Any, solver: Any, rule: type[rules.Solution], tolerance: float | None, *options: Any
) -> RuledFunction:
    _same_parameters(what, equation, solver)
    tolerance = None if tolerance is None else _number(what, "tolerance", tolerance)
    return _made(what, dispatcher_of(equation), dispatcher_of(solver), rule, tolerance, *options)


def _made(what: str, equation: Any, solver: Any, rule: type[rules.Solution], *options: Any) -> RuledFunction:
    def make() -> RuledFunction:
        recipe = (_made, what, equation, solver, rule, *options)
        return RuledFunction(running(what, solver), lambda fn: rule_of_parameters(rule, fn, f"{what}:"), recipe)

    return once(solver, (what, equation, rule, *options), make)


def _linear(matvec: Any, solver: Any, transposed: Any, symmetric: bool) -> RuledFunction:
    def make() -> RuledFunction:
        recipe = (_linear, matvec, solver, transposed, symmetric)
        run = running("linear_solve", solver)
        return RuledFunction(run, lambda fn: rule_of_parameters(rules.Linear, fn, "linear_solve:"), recipe)

    return once(solver, ("linear_solve", matvec, transposed, symmetric), make)


def running(what: str, solver: Any) -> Any:
    """A function that runs the solver on copies of its arguments, and returns a copy of its result.

    So the result shares memory with no argument, and whatever the solver writes into is its own.
    """
    params = parameters_of(solver, f"{what}:")
    result = "out"  # as rules call it
    while result in params:
        result += "_"
    names = [result if n == "out" else n for n in params]
    copies = ", ".join(f"copied({n})" for n in names)
    return build(
        f"{what}_{solver.__name__}",
        ", ".join(names),
        [f"return copied(solver({copies}))"],
        {"solver": solver, "copied": stop_gradient},
        defaults=solver.py_func.__defaults__,
    )
