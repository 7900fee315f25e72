"""`ForwardAccumulator`: directional derivatives of what happens in a context."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.tape.gradient_tape import TapeError, UnconnectedGradients, unconnected, values_of
from jitgrad.tape.recording import Recording, paused, thread
from jitgrad.tape.structure import flatten, rebuild
from jitgrad.tape.sweep import backward
from jitgrad.tape.tensor import Tensor, Variable


class ForwardAccumulator:
    """Computes Jacobian-vector products of what is computed in its context.

    Parameters
    ----------
    primals : Tensor, Variable, or a nested structure of them
        Where to differentiate.
    tangents : structure of array_like
        The direction: for each primal an array of its shape.

    Raises
    ------
    ArgumentError
        If the structures differ.
    ShapeError
        If a tangent has another shape than its primal.

    Notes
    -----
    A product is computed when `jvp` asks for it, as the transpose of a backward sweep: the sweep is linear in its seed,
    and the gradient of its result with respect to the seed, in the direction of the tangents, is the product
    (Christianson, Automatic Hessians by reverse accumulation, IMA J. Numer. Anal. 12, 1992). One table of pullbacks
    thus serves both modes.

    Examples
    --------
    >>> import jitgrad
    >>> x = jitgrad.constant([1.0, 2.0])
    >>> with jitgrad.ForwardAccumulator(x, [1.0, 0.0]) as acc:
    ...     y = x * x
    >>> acc.jvp(y).numpy()
    array([2., 0.])
    """

    def __init__(self, primals: Any, tangents: Any):
        self._primals = values_of("primals", primals)
        given = flatten(tangents)
        if len(given) != len(self._primals):
            raise ArgumentError(
                f"tangents must have the structure of primals; the number of values differs: {len(given)} tangents, "
                f"{len(self._primals)} primals"
            )
        self._tangents = [_tangent(t, p) for t, p in zip(given, self._primals, strict=True)]
        self._recording = Recording(watches_variables=False)
        self._is_recording = False
        for value, primal in zip(flatten(primals), self._primals, strict=True):
            value.watch(self._recording)
            primal.node = value.node

    def __enter__(self) -> ForwardAccumulator:
        if self._is_recording:
            raise TapeError("this accumulator is already recording")
        thread.recordings = (*thread.recordings, self._recording)
        self._is_recording = True
        return self

    def __exit__(self, *exception: Any) -> None:
        thread.recordings = tuple(r for r in thread.recordings if r is not self._recording)
        self._is_recording = False

    def __del__(self):
        recording = getattr(self, "_recording", None)
        if recording is not None:
            recording.release()

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The derivatives of values in the direction of the tangents.

        Parameters
        ----------
        primals : Tensor, Variable, or a nested structure of them
            What was computed in the context.
        unconnected_gradients : {"none", "zero"} or UnconnectedGradients
            What to return for a value that does not depend on the accumulator's primals.

        Returns
        -------
        structure of Tensor or None
            That of `primals`.
        """
        rule = unconnected(unconnected_gradients)
        values = values_of("primals", primals)
        with paused([self._recording]):
            found = [self._product(value) for value in values]
        if rule is UnconnectedGradients.ZERO:
            found = [Tensor(np.zeros(v.shape, v.dtype)) if t is None else t for t, v in zip(found, values, strict=True)]
        return rebuild(primals, iter(found))

    def _product(self, value: Tensor) -> Tensor | None:
        transposing = Recording(watches_variables=False)
        seed = Tensor(np.zeros(value.shape, value.dtype))
        seed.watch(transposing)
        outer = thread.recordings
        thread.recordings = (*outer, transposing)
        try:
            gradients = backward([value], [seed], self._primals, self._recording)
        finally:
            thread.recordings = outer
        pairs = [(g, t) for g, t in zip(gradients, self._tangents, strict=True) if g is not None]
        if not pairs:
            return None
        (product,) = backward([g for g, _ in pairs], [t for _, t in pairs], [seed], transposing)
        transposing.release()
        return Tensor(np.zeros(value.shape, value.dtype)) if product is None else product


def _tangent(tangent: Any, primal: Tensor) -> Tensor:
    if isinstance(tangent, Variable):
        tangent = tangent.read_value()
    if not isinstance(tangent, Tensor):
        tangent = Tensor(np.array(tangent, primal.dtype))
    if tangent.shape != primal.shape:
        raise ShapeError(f"a tangent has shape {tangent.shape}, its primal has {primal.shape}")
    return tangent if tangent.dtype == primal.dtype else tangent.astype(primal.dtype)
