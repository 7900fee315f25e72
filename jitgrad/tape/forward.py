"""`ForwardAccumulator`: directional derivatives of what happens in a context."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.tape.gradient_tape import TapeError, UnconnectedGradients, fitted, unconnected, values_of
from jitgrad.tape.notices import warn
from jitgrad.tape.recording import Recording, only, thread
from jitgrad.tape.structure import flatten, flatten_like, rebuild
from jitgrad.tape.sweep import backward
from jitgrad.tape.tensor import Tensor


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
        self._primals = values_of("the primals of an accumulator", primals)
        given = flatten_like(primals, tangents, ("primals", "tangents"))
        self._tangents = [fitted(t, p, ("a tangent", "primal")) for t, p in zip(given, self._primals, strict=True)]
        self._recording = Recording(watches_variables=False)
        self._outside: tuple[Recording, ...] = ()
        self._is_recording = False
        for value, primal in zip(flatten(primals), self._primals, strict=True):
            if primal.dtype.kind not in "fc":
                warn(f"a primal has dtype {primal.dtype}, but only floating point values carry a derivative")
                continue
            value.watch(self._recording)
            primal.node = value.node
        if len({(p.node or p, p.index) for p in self._primals}) < len(self._primals):
            raise ArgumentError("a primal is given twice; add up its tangents")

    def __enter__(self) -> ForwardAccumulator:
        if self._is_recording:
            raise TapeError("this accumulator is already recording")
        self._outside += tuple(r for r in thread.recordings if r not in self._outside)
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
        found = [self._product(value) for value in values]
        if rule is UnconnectedGradients.ZERO:
            found = [Tensor(np.zeros(v.shape, v.dtype)) if t is None else t for t, v in zip(found, values, strict=True)]
        elif any(t is None for t in found):
            warn(
                "a jvp is None: a value does not depend on the accumulator's primals through operations recorded in "
                "its context; if it should, look for .numpy(), integer conversions, or work done outside. Where it "
                "should not, unconnected_gradients='zero' gives zeros"
            )
        return rebuild(primals, iter(found))

    def _product(self, value: Tensor) -> Tensor | None:
        transposing = Recording(watches_variables=False)
        seed = Tensor(np.zeros(value.shape, value.dtype))
        seed.watch(transposing)
        # As if computed together with the value: heard by what listened around this accumulator, even if it is over.
        known = {r for t in (value, *self._tangents) if t.node is not None for r in t.node.recordings}
        outside = tuple(r for r in self._outside if r.alive and r in known)
        with only(outside):
            return self._transposed(value, seed, transposing)

    def _transposed(self, value: Tensor, seed: Tensor, transposing: Recording) -> Tensor | None:
        with only((*thread.recordings, transposing)):
            gradients = backward([value], [seed], self._primals, self._recording)
        pairs = [(g, t) for g, t in zip(gradients, self._tangents, strict=True) if g is not None]
        if not pairs:
            return None
        (product,) = backward([g for g, _ in pairs], [t for _, t in pairs], [seed], transposing)
        transposing.release()
        return Tensor(np.zeros(value.shape, value.dtype)) if product is None else product
