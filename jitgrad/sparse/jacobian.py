"""Sparse Jacobians and Hessians: a pattern, its colouring, sweeps, and a matrix of scipy.sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import utils
from scipy import sparse

from jitgrad.api import again, values
from jitgrad.backend.dispatcher import derivative, dispatcher_of
from jitgrad.errors import ArgumentError, PatternError, ShapeError
from jitgrad.sparse.colouring import colour
from jitgrad.sparse.detection import Detection
from jitgrad.sparse.patterns import as_pattern, symmetric, union
from jitgrad.sparse.plan import Plan, differing, plan
from jitgrad.sparse.sweeps import Compressed


class SparseJacobian:
    """A function that returns the Jacobian of another as a sparse matrix.

    Made by ``jacobian(fun, sparsity=...)`` and ``hessian(fun, sparsity=...)``. A call returns a
    `scipy.sparse.csr_array` of shape ``(m, n)``. Its rows are the elements of the result of the function, its columns
    those of the arguments in `argnums`, in C order, one result or argument after the other.

    The pattern is coloured once; a call runs the sweeps and scatters what they return. Where the pattern is detected,
    this happens at the first call, and again when a later call takes another path or has other shapes.

    Every call also runs one more sweep, for the product with a random vector, and compares: an entry that is missing
    in the pattern would otherwise make the matrix wrong without notice. `unchecked` leaves that out.

    Attributes
    ----------
    fun : dispatcher
        What is differentiated: for a Hessian the gradient.
    """

    def __init__(
        self,
        fun: Any,
        wrt: tuple[int, ...],
        outs: tuple[int, ...] | None,
        mode: str,
        sparsity: Any,
        chunk: int | None = None,
    ):
        self.fun = dispatcher_of(fun)
        self._wrt, self._outs, self._mode, self._chunk = wrt, outs, mode, chunk
        self._signature = utils.pysignature(self.fun.py_func)
        self._detection: Detection | None = None
        self._plan: Plan | None = None
        if isinstance(sparsity, str):
            if sparsity != "detect":
                raise ArgumentError(f"sparsity must be a matrix or 'detect', not {sparsity!r}")
            self._detection = Detection(self.fun, wrt, outs)
        else:
            self._plan = self._planned(as_pattern(sparsity))

    def _planned(self, pattern: sparse.csr_array) -> Plan:
        if self._mode == "symmetric":
            pattern = symmetric(pattern)
        return plan(pattern, colour(pattern, self._mode), self._chunk)

    @property
    def plan(self) -> Plan:
        """Pattern, colouring, and how the sweeps are read.

        Raises
        ------
        ArgumentError
            Where the pattern is yet to be detected.
        """
        if self._plan is None:
            raise ArgumentError(
                "the sparsity pattern is detected at the first call; call this object, or its method detect, with "
                "arguments first"
            )
        return self._plan

    @property
    def pattern(self) -> sparse.csr_array:
        """The pattern, booleans; of a Hessian with both triangles."""
        return self.plan.pattern

    @property
    def sweeps(self) -> int:
        """How many sweeps a call takes, the one that checks not counted."""
        return self.plan.colouring.sweeps

    @property
    def mode(self) -> str:
        """``"forward"``, ``"reverse"`` or ``"both"``."""
        return self.plan.colouring.mode

    @property
    def colours(self) -> tuple[np.ndarray, np.ndarray]:
        """The sweep that computes each column, and each row; -1 where none has to."""
        return self.plan.colouring.columns, self.plan.colouring.rows

    def detect(self, *args: Any, **kwargs: Any) -> sparse.csr_array:
        """Detect the pattern for these arguments, and use it from now on.

        Returns
        -------
        csr_array of bool
        """
        self._check_call(args, kwargs)
        if self._detection is None:
            self._detection = Detection(self.fun, self._wrt, self._outs)
        self._plan = self._planned(self._detection(args, kwargs))
        return self._plan.pattern

    def __call__(self, *args: Any, **kwargs: Any) -> sparse.csr_array:
        self._check_call(args, kwargs)
        if self._detection is None:
            return self._evaluate(self.plan, args, kwargs, check=True)
        known = self._plan
        if known is not None:
            spare = again.copies(args, kwargs)  # the function may write into its arguments, and may have to run again
            try:
                return self._evaluate(known, args, kwargs, check=True)
            except (PatternError, ShapeError):
                args, kwargs = spare
        pattern = self._detection(args, kwargs)
        if known is not None and known.pattern.shape == pattern.shape:
            pattern = union(pattern, known.pattern)  # so that calls that take two paths in turn settle
        self._plan = made = self._planned(pattern)
        return self._evaluate(made, args, kwargs, check=False)  # the detection has just said what there is to check

    def unchecked(self, *args: Any, **kwargs: Any) -> sparse.csr_array:
        """The same matrix without the sweep that checks its pattern; wrong where an entry is missing in that."""
        if self._plan is None:
            return self(*args, **kwargs)
        self._check_call(args, kwargs)
        return self._evaluate(self._plan, args, kwargs, check=False)

    def _check_call(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Refuse arguments that the function does not take: the code that is called has parameters of its own."""
        for value in (*args, *kwargs.values()):
            values.refuse_tape_value(value)
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.fun.__name__}: {error}") from None

    def _evaluate(self, made: Plan, args: tuple, kwargs: dict[str, Any], check: bool) -> sparse.csr_array:
        m, n = made.pattern.shape
        both = made.colouring.mode == "both"
        spare, keywords = again.copies(args, kwargs) if both else (args, kwargs)
        reverse = made.colouring.mode == "reverse"
        first = self._kernel("reverse" if reverse else "forward", made)
        probe = made.probe if check else made.probe[:0]
        data, product, shape = first(
            made.reverse if reverse else made.forward, (m, n), made.nnz, probe, *args, **kwargs
        )
        self._compare_shapes(shape, made)
        if both:
            second = self._kernel("reverse", made)
            data += second(made.reverse, (m, n), made.nnz, made.probe[:0], *spare, **keywords)[0]
        if check:
            self._compare_products(made, data, product, reverse)
        return sparse.csr_array((data, made.pattern.indices.copy(), made.pattern.indptr.copy()), (m, n))

    def __repr__(self) -> str:
        if self._mode == "symmetric":
            return f"<sparse Hessian by {self.fun!r}>"
        return f"<sparse Jacobian of {self.fun.py_func.__qualname__} at {id(self):#x}>"

    def _kernel(self, mode: str, made: Plan) -> Any:
        return derivative(self.fun, Compressed(self._wrt, self._outs, mode, made.chunk))

    def _compare_shapes(self, found: tuple[int, int], made: Plan) -> None:
        if found == made.pattern.shape:
            return
        rows, columns = found
        name, wanted = self.fun.__name__, made.pattern.shape
        if columns != wanted[1]:
            raise ShapeError(
                f"sparsity has {wanted[1]} columns, but the arguments of {name} that are differentiated have {columns} "
                "elements; there is one column for each"
            )
        raise ShapeError(
            f"sparsity has {wanted[0]} rows, but the result of {name} has {rows} elements; there is one row for each"
        )

    def _compare_products(self, made: Plan, data: np.ndarray, product: np.ndarray, transposed: bool) -> None:
        """Raise where the matrix times the probe is not what the sweep with the probe says."""
        pattern = made.pattern
        k = differing(pattern.indptr, pattern.indices, data, made.probe, product, transposed)
        if k < 0:
            return
        side, one = ("column", "reverse") if transposed else ("row", "forward")
        raise PatternError(
            f"the sparsity pattern for {self.fun.__name__} misses entries, in {side} {k} at least: the product with a "
            f"random vector is not that of a {one} sweep; add them, or pass sparsity='detect'"
        )
