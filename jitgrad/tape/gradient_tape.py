"""`GradientTape`: records what happens to the values it watches, and differentiates it."""

from __future__ import annotations

import contextlib
import enum
import functools
import math
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, JitgradError, ShapeError
from jitgrad.tape.compiled import again, backward, follow, rows
from jitgrad.tape.handlers import HANDLERS
from jitgrad.tape.notices import warn
from jitgrad.tape.recording import Recording, thread
from jitgrad.tape.structure import flatten, flatten_like, rebuild
from jitgrad.tape.tensor import Tensor, Value, Variable, constant


class UnconnectedGradients(enum.Enum):
    """What the gradient is where a target does not depend on a source: ``"none"`` or ``"zero"``."""

    NONE = "none"
    ZERO = "zero"


class TapeError(JitgradError, RuntimeError):
    """A tape is used in a state in which it cannot be."""


class RecordingError(TapeError, ValueError):
    """A tape is recording where it must not, or is not where it must."""


_NONE = UnconnectedGradients.NONE


def unconnected(word: Any) -> UnconnectedGradients:
    """The member for a member or its value.

    Raises
    ------
    ValueError
        For anything else.
    """
    if word is UnconnectedGradients.NONE:
        return word
    try:
        return UnconnectedGradients(word)
    except ValueError:
        raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {word!r}") from None


class GradientTape:
    """Records operations on watched values, for `gradient`, `jacobian` and `batch_jacobian`.

    Parameters
    ----------
    persistent : bool
        Keep what was recorded after it has been differentiated once.
    watch_accessed_variables : bool
        Watch every trainable `Variable` that is read while recording.

    Notes
    -----
    Names, arguments and behaviour are those of TensorFlow's class of this name. Recording costs memory for the values
    that were computed; a tape that is not persistent frees them as soon as it has been used.

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> x = jitgrad.Variable([0.0, 1.0])
    >>> with jitgrad.GradientTape() as tape:
    ...     y = np.sum(np.exp(2.0 * x))
    >>> tape.gradient(y, x).numpy().round(3)
    array([ 2.   , 14.778])
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = bool(persistent)
        self._watch_variables = bool(watch_accessed_variables)
        self._recording: Recording | None = None
        self._variables: dict[Any, Variable] = {}  # that were watched when what was recorded was freed
        self._is_recording = False
        self._used = ""  # the method that has freed what was recorded

    # ----- recording ------------------------------------------------------------------------------
    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._is_recording:
            self._stop()

    def __del__(self):
        recording = getattr(self, "_recording", None)
        if recording is not None:
            if self._is_recording:
                self._stop()
            recording.release()

    def _start(self) -> None:
        if self._is_recording:
            raise RecordingError("this tape is already recording; leave its context before you enter it again")
        if self._recording is None:
            self._recording = Recording(self._watch_variables)
        if not self._persistent and not self._recording.nodes:
            follow(self._recording)
        thread.recordings = (*thread.recordings, self._recording)
        self._is_recording = True

    def _stop(self) -> None:
        if not self._is_recording:
            raise RecordingError("this tape is not recording")
        listening = thread.recordings
        if listening and listening[-1] is self._recording:
            thread.recordings = listening[:-1]
        else:
            thread.recordings = tuple(r for r in listening if r is not self._recording)
        self._is_recording = False

    def watch(self, tensor: Any) -> None:
        """Record what is done with `tensor` from now on.

        Parameters
        ----------
        tensor : Tensor, Variable, or a nested structure of them
            Floating point values; others carry no derivative, and a warning says so.

        Raises
        ------
        ValueError
            For anything that is no tape value.
        """
        for value in (tensor,) if type(tensor) is Tensor else flatten(tensor):
            if not isinstance(value, Value):
                raise ValueError(
                    f"watch() takes tensors and variables, not {type(value).__name__} {value!r}; "
                    f"make it one with jitgrad.constant"
                )
            if value.dtype.kind not in "fc":
                warn(
                    f"a watched value has dtype {value.dtype}, but only floating point values carry a gradient; "
                    f"convert it with .astype(float)"
                )
                continue
            if self._recording is None:
                self._recording = Recording(self._watch_variables)
            elif self._recording.nodes:
                self._recording.kept = self._recording.state = None  # it has recorded, so it is not deferred
            value.watch(self._recording)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables watched so far, in the order in which they were made."""
        watched = self._variables if self._recording is None else self._recording.variables
        return tuple(watched[node] for node in sorted(watched, key=attrgetter("number")))

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context in which this tape does not record.

        Raises
        ------
        RecordingError
            If it is not recording anyway.
        """
        if not self._is_recording:
            raise RecordingError("stop_recording() of a tape that is not recording; use it inside the tape's context")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forget everything recorded, and what is watched, and go on recording.

        Raises
        ------
        RecordingError
            If it is not recording.
        """
        if not self._is_recording:
            raise RecordingError("reset() of a tape that is not recording; make a new tape instead")
        self._stop()
        assert self._recording is not None
        self._recording.release()
        self._recording = None
        self._start()

    # ----- differentiating ------------------------------------------------------------------------
    def _use(self, what: str) -> _Use:
        """A context with the recording, for one derivative; its end releases it unless the tape is persistent."""
        if self._recording is None and self._used:
            raise TapeError(
                f"{what}() of a tape that has been used, by {self._used}(): a tape that is not persistent gives one "
                f"set of gradients; make it with persistent=True to ask for more"
            )
        if self._recording is None:
            raise TapeError(
                f"{what}() of a tape that has recorded nothing; compute the target in its context: "
                f"with jitgrad.GradientTape() as tape: ..."
            )
        if self._is_recording and not self._persistent:
            self._stop()
        return _Use(self, self._recording, what)

    def _finish(self, what: str) -> None:
        """Release what was recorded, which `what` has used, unless the tape is persistent."""
        if not self._persistent:
            assert self._recording is not None
            self._variables, self._recording.variables = self._recording.variables, {}
            self._recording.release()
            self._recording, self._used = None, what

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of all targets.

        Parameters
        ----------
        target : Tensor, Variable, or a nested structure of them
        sources : Tensor, Variable, or a nested structure of them
        output_gradients : structure of array_like, optional
            Cotangents of the targets, by default ones.
        unconnected_gradients : {"none", "zero"} or UnconnectedGradients
            What a source gets on which no target depends. With ``"none"`` a warning says why.

        Returns
        -------
        structure of Tensor or None
            That of `sources`; shapes and dtypes are those of the sources.

        Raises
        ------
        TapeError
            If the tape is not persistent and was used before.
        ArgumentError
            For targets or sources that are no tape values.
        ShapeError
            For an output gradient of another shape than its target.
        """
        rule = unconnected_gradients
        if rule is not _NONE:
            rule = unconnected(rule)
        current = self._recording
        if current is not None and current.state is not None and output_gradients is None and not self._is_recording:
            known = again(current, target, sources)
            if known is not None:
                self._finish("gradient")
                return known if type(sources) is list else known[0]
        targets, wanted = values_of("target", target), values_of("sources", sources)
        seeds = seeds_of(target, targets, output_gradients)
        call = (target, sources) if output_gradients is None else None
        with self._use("gradient") as recording:
            found = backward(targets, seeds, wanted, recording, call)
            found = connected(found, wanted, sources, rule, targets, recording)
        return rebuild(sources, iter(found))

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of every element of `target` with respect to every element of the sources.

        Parameters
        ----------
        target : Tensor or Variable
        sources : Tensor, Variable, or a nested structure of them
        unconnected_gradients : {"none", "zero"} or UnconnectedGradients
        parallel_iterations : int, optional
            In how many threads the sweeps run, once their structure is compiled.
        experimental_use_pfor : bool
            As in TensorFlow, False asks for a persistent tape.

        Returns
        -------
        structure of Tensor or None
            That of `sources`, each of shape ``target.shape + source.shape``.

        Notes
        -----
        One backward sweep per element of the target.
        """
        rule = unconnected(unconnected_gradients)
        self._check_loop("jacobian", parallel_iterations, experimental_use_pfor)
        (goal,), wanted = values_of("target", target, one=True), values_of("sources", sources)
        with self._use("jacobian") as recording:
            hot = functools.partial(one_hot, goal.shape, goal.dtype)
            rows = _rows(goal, wanted, recording, hot, parallel_iterations)
            found = [_stacked(row, goal.shape + s.shape, s, rule) for row, s in zip(rows, wanted, strict=True)]
            found = connected(found, wanted, sources, rule, [goal], recording)
        return rebuild(sources, iter(found))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each row of `target` with respect to the same row of `source`.

        Parameters
        ----------
        target : Tensor or Variable of shape ``(b, ...)``
            Its row `i` must depend on row `i` of the source only.
        source : Tensor or Variable of shape ``(b, ...)``
        unconnected_gradients, parallel_iterations, experimental_use_pfor
            As in `jacobian`.

        Returns
        -------
        Tensor or None
            Of shape ``(b,) + target.shape[1:] + source.shape[1:]``.

        Raises
        ------
        ShapeError
            If the first axes differ or one of them is missing.
        """
        rule = unconnected(unconnected_gradients)
        self._check_loop("batch_jacobian", parallel_iterations, experimental_use_pfor)
        (goal,), (origin,) = values_of("target", target, one=True), values_of("source", source, one=True)
        if goal.ndim < 1 or origin.ndim < 1 or goal.shape[0] != origin.shape[0]:
            raise ShapeError(
                f"batch_jacobian: target and source need the same first dimension, the batch; "
                f"their shapes are {goal.shape} and {origin.shape}"
            )
        inner = goal.shape[1:]
        with self._use("batch_jacobian") as recording:

            def seeds() -> Iterator[np.ndarray]:
                return (np.broadcast_to(hot, goal.shape) for hot in one_hot(inner, goal.dtype))

            (rows,) = _rows(goal, [origin], recording, seeds, parallel_iterations)
            if rows is not None and rows and rows[0] is not None:
                return np.reshape(np.stack(rows, axis=1), goal.shape + origin.shape[1:])
            found = _stacked(rows, goal.shape + origin.shape[1:], origin, rule)
            return connected([found], [origin], source, rule, [goal], recording)[0]

    def _check_loop(self, what: str, threads: Any, pfor: bool) -> None:
        if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
            raise ArgumentError(f"{what}: parallel_iterations must be a positive integer or None, not {threads!r}")
        if not pfor and not self._persistent:
            raise TapeError(f"{what}() with experimental_use_pfor=False needs a tape with persistent=True")


class _Use:
    """See `GradientTape._use`; a class costs half of what a generator does."""

    __slots__ = ("recording", "tape", "what")

    def __init__(self, tape: GradientTape, recording: Recording, what: str):
        self.tape = tape
        self.recording = recording
        self.what = what

    def __enter__(self) -> Recording:
        return self.recording

    def __exit__(self, *exception: Any) -> None:
        self.tape._finish(self.what)


# ----- arguments and results ------------------------------------------------------------------------
def values_of(name: str, tree: Any, one: bool = False) -> list[Tensor]:
    """The leaves of an argument as tensors; a variable counts as its value, and reading it here is not recorded."""
    values = []
    for leaf in [tree] if one else flatten(tree):
        kind = type(leaf)
        if kind is Tensor:
            values.append(leaf)
        elif kind is Variable:
            values.append(Tensor(leaf._array, leaf.node))
        else:
            raise _no_value(name, leaf, one)
    return values


def _no_value(name: str, leaf: Any, one: bool) -> ArgumentError:
    what = f"{name} must be a tensor or variable{'' if one else ' or a nested structure of them'}, not "
    if one and isinstance(leaf, (list, tuple, dict)) and leaf:
        way_out = "differentiate its parts one by one, on a tape with persistent=True"
    elif name in ("source", "sources", "xs", "stop_gradients", "the primals of an accumulator"):
        way_out = "make it one with jitgrad.constant or jitgrad.Variable and use that in the computation"
    elif leaf is None:
        way_out = "does the function that computes it return it?"
    else:
        way_out = (
            "the computation left the tape on its way: look for np.array, np.sum of a list, math functions, "
            "float(), .numpy(), or writing into an array"
        )
    return ArgumentError(f"{what}{type(leaf).__name__} {leaf!r}; {way_out}")


def seeds_of(
    target: Any, targets: list[Tensor], output_gradients: Any, names: tuple[str, str] = ("target", "output_gradients")
) -> list[Any]:
    """A cotangent for each of the `targets`, which are the leaves of `target`."""
    if output_gradients is None:
        return [_ones(t) for t in targets]
    given = flatten_like(target, output_gradients, names)
    return [
        _ones(t) if seed is None else fitted(seed, t, ("an output gradient", "target"))
        for t, seed in zip(targets, given, strict=True)
    ]


def _ones(like: Tensor) -> np.ndarray:
    shape, dtype = like.shape, like.dtype
    return np.ones(shape, dtype) if math.prod(shape) > SMALL else _small_ones(shape, dtype)


@functools.lru_cache(256)
def _small_ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Ones for whoever asks, which nobody may write."""
    ones = np.ones(shape, dtype)
    ones.flags.writeable = False
    return ones


SMALL = 256
"""Up to so many elements, the seeds of a sweep are made once."""


def fitted(value: Any, like: Tensor, names: tuple[str, str]) -> Tensor:
    """A cotangent or tangent as a tensor of the shape and dtype of what it belongs to.

    Raises
    ------
    ShapeError
        If the shapes differ; a list of one value may stand for that value.
    """
    try:
        tensor = value.read_value() if isinstance(value, Value) else constant(value)
    except ArgumentError as error:
        raise ArgumentError(f"{names[0]} must be an array of numbers, not {value!r}") from error
    if isinstance(value, (list, tuple)) and tensor.shape == (1, *like.shape):
        tensor = tensor[0]
    if tensor.shape != like.shape:
        raise ShapeError(f"{names[0]} has shape {tensor.shape}, its {names[1]} has {like.shape}")
    return tensor if tensor.dtype == like.dtype else tensor.astype(like.dtype)


def connected(
    found: list[Any],
    wanted: list[Tensor],
    sources: Any,
    rule: UnconnectedGradients,
    targets: list[Tensor],
    recording: Recording | None,
) -> list[Any]:
    """What to return for the `wanted` sources: what was found, where that is None zeros, or None and a warning."""
    for gradient in found:
        if gradient is None:
            break
    else:
        return found
    if rule is UnconnectedGradients.ZERO:
        return [Tensor(np.zeros(s.shape, s.dtype)) if g is None else g for g, s in zip(found, wanted, strict=True)]
    reasons: dict[str, list[str]] = {}
    for k, (gradient, leaf) in enumerate(zip(found, flatten(sources), strict=True)):
        if gradient is None:
            name = leaf.name if isinstance(leaf, Variable) else f"number {k}" if len(found) > 1 else ""
            reasons.setdefault(_reason(wanted[k], targets, recording), []).append(name)
    for reason, names in reasons.items():
        warn(reason.format(source=f"a source ({', '.join(names)})" if names[0] else "a source"))
    return found


def _reason(source: Tensor, targets: list[Tensor], recording: Recording | None) -> str:
    """Why the gradient for a source is None; with a place for the names of all sources of which that is true."""
    start = "a gradient is None: "
    if source.dtype.kind not in "fc":
        return f"{start}{{source}} has dtype {source.dtype}; only floating point values have gradients"
    if not _recorded(source, recording):
        return (
            f"{start}{{source}} was not watched; use tape.watch(x) before the computation, or a trainable "
            f"jitgrad.Variable, and differentiate with respect to that very object (w = w - step makes a new one: "
            f"write w.assign_sub(step))"
        )
    if not any(_recorded(t, recording) for t in targets):
        return (
            f"{start}no target was recorded; compute it inside the tape's context from watched values, and not through "
            f".numpy(), int() or comparisons"
        )
    return (
        f"{start}no target depends on {{source}} through recorded operations; if it should, look for .numpy(), integer "
        f"conversions, or work done outside the tape's context. Where it should not, unconnected_gradients='zero' "
        f"gives zeros"
    )


def _recorded(tensor: Tensor, recording: Recording | None) -> bool:
    """Whether the recording (by default any) knows a tensor."""
    known = () if tensor.node is None else tensor.node.recordings
    return bool(known) if recording is None else recording in known


def one_hot(shape: tuple[int, ...], dtype: np.dtype) -> Iterator[np.ndarray]:
    size = int(np.prod(shape))
    for k in range(size):
        hot = np.zeros(size, dtype)
        hot[k] = 1
        yield hot.reshape(shape)


def _rows(
    target: Tensor,
    sources: list[Tensor],
    recording: Recording,
    seeds: Callable[[], Iterator[Any]],
    threads: int | None,
) -> list[list[Any]]:
    """For each source the gradients for each seed."""
    sweeps = rows(target, seeds, sources, recording, threads)
    return [[sweep[k] for sweep in sweeps] for k in range(len(sources))]


def _stacked(rows: list[Any], shape: tuple[int, ...], source: Tensor, rule: UnconnectedGradients) -> Tensor | None:
    """The rows of a Jacobian as one tensor; zeros where `rule` asks for them, or there are no rows."""
    if rows and rows[0] is not None:
        return HANDLERS[np.reshape](HANDLERS[np.stack](rows), shape)
    if not rows or rule is UnconnectedGradients.ZERO:
        return Tensor(np.zeros(shape, source.dtype))
    return None
