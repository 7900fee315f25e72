"""`batched`: a function run for every item along the leading axis of its arguments."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jitgrad.api.python_only import python_only
from jitgrad.api.ruled import RuledFunction, build, parameters_of
from jitgrad.backend.dispatcher import Transform, derivative, dispatcher_of, once
from jitgrad.errors import ArgumentError
from jitgrad.rules import RewriteRule


@python_only
def batched(fun: Any, in_axes: Any = 0, *, parallel: bool = False) -> RuledFunction:
    """Run a function for every item along the leading axis of its arguments, and stack the results.

    Parameters
    ----------
    fun : njit function or function
        What `grad`, `jacobian`, `hessian` and their like return, or any nopython function with named parameters.
    in_axes : 0, None, or a tuple of these
        0 for an argument whose items along its leading axis are passed one by one (an array, or a tuple of arrays of
        equal length), None for one that is passed whole each time. A tuple has one entry for each parameter; a single 0
        stands for all of them.
    parallel : bool
        Run the items in parallel threads (``numba.prange``; `numba.set_num_threads` says how many). The results are the
        same bits as without. Worth it from some microseconds per item.

    Returns
    -------
    njit function
        With the parameters of `fun`. Its result has the structure of that of `fun`; a number there becomes an array
        with one element for each item, an array gets a leading axis, None stays. Can be called from Python and from
        nopython code, and differentiated: its derivative is that of the serial loop.

    Raises
    ------
    ArgumentError
        An argument to be batched is no array; or, with `parallel`, `fun` writes into an argument that all items share.
    ValueError
        The leading axes differ in length, or the shapes of the results do.
    Exception
        What `fun` raises, for the first item that it raises for; the items after that may have run.

    Notes
    -----
    For an empty batch `fun` does not run: arrays in the result then have length zero along every axis.

    Examples
    --------
    >>> slope = batched(grad(lambda x, a: a * x ** 3), in_axes=(0, None))
    >>> slope(np.array([1.0, 2.0]), 10.0)
    array([ 30., 120.])
    >>> matrices = batched(hessian(lambda x: x[0] ** 2 * x[1]))
    >>> matrices(np.array([[1.0, 3.0], [1.0, 0.0]]))
    array([[[6., 2.],
            [2., 0.]],
    <BLANKLINE>
           [[0., 2.],
            [2., 0.]]])
    """
    primal = dispatcher_of(fun)
    names = list(parameters_of(primal, "batched:"))
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(names)
    if len(axes) != len(names):
        raise ArgumentError(
            f"in_axes has {len(axes)} entries, but {primal.__name__} has {len(names)} parameters ({', '.join(names)})"
        )
    for axis in axes:
        if axis is not None and (isinstance(axis, bool) or not _is_zero(axis)):
            raise ArgumentError(
                f"in_axes must be 0 or None for each argument, not {axis!r}; move the axis to the front with "
                "np.moveaxis"
            )
    picked = tuple(k for k, axis in enumerate(axes) if axis is not None)
    if not picked:
        raise ArgumentError("in_axes is None for every argument, so there is nothing to run over; give one of them 0")
    return once(primal, ("batched", picked, bool(parallel)), lambda: _batched(primal, picked, bool(parallel)))


def _is_zero(axis: Any) -> bool:
    try:
        return operator.index(axis) == 0
    except TypeError:
        return False


def _batched(primal: Any, picked: tuple[int, ...], parallel: bool) -> RuledFunction:
    params = parameters_of(primal, "batched:")
    names = ", ".join(params)
    transform = Batched(picked, parallel)
    defaults = primal.py_func.__defaults__
    lines, namespace = [f"return batched_({names})"], {"batched_": derivative(primal, transform)}
    run = build(f"batched_{primal.__name__}", names, lines, namespace, defaults)

    def rule(fn: Any) -> RewriteRule:
        text = ", ".join(n if p.default is p.empty else f"{n}={p.default!r}" for n, p in params.items())
        serial = derivative(primal, replace(transform, parallel=False))
        return RewriteRule(functions=(fn,), params=text, implementation=serial)

    return RuledFunction(run, rule, (_again, primal, picked, parallel))


def _again(primal: Any, picked: tuple[int, ...], parallel: bool) -> RuledFunction:
    axes = tuple(0 if k in picked else None for k in range(len(parameters_of(primal, "batched:"))))
    return batched(primal, axes, parallel=parallel)


@dataclass(frozen=True)
class Batched(Transform):
    """The loop over the items of the arguments at the positions `picked`."""

    picked: tuple[int, ...]
    parallel: bool

    prefix: ClassVar[str] = "batched"

    def generate(self, primal, argtypes):
        from jitgrad.api.batches import batch

        return batch(self, primal, argtypes)
