"""Compare a program's derivatives, reverse and forward, with differences of the program itself."""

from __future__ import annotations

import copy
import linecache
import warnings
from dataclasses import dataclass, field
from types import ModuleType

import numba
import numpy as np

import jitgrad
from jitgrad.errors import JitgradError
from tests.fuzz.generator import Sample

PASS, WRONG, LOUD, ERROR = "pass", "wrong", "loud", "error"
INVALID, NOT_SMOOTH = "invalid", "not smooth"
FAILURES = (WRONG, ERROR)

# The first that finds the function smooth counts: small steps are nearer to the point but noisier.
STEPS = (1e-3, 1e-4, 1e-5)
TOLERANCE, TOLERANCE32 = 1e-6, 3e-3
ROUNDING = 1e-9  # between two modes


@dataclass
class Outcome:
    """What became of one program.

    kind : pass, wrong (a silently wrong number), loud (jitgrad refused), error (anything else was raised),
    invalid (the program itself does not run), not smooth (differences cannot tell).
    """

    kind: str
    detail: str = ""
    checked: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)


def load(source: str, name: str, interpreted: bool = False):
    """The function `f` of the source, as a dispatcher or as plain Python."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict = {"__name__": name}
    if interpreted:
        source = source.replace("from numba import njit", "njit = lambda function: function")
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]


class Flat:
    """The differentiated arguments as one vector, and back."""

    def __init__(self, sample: Sample):
        self.sample = sample
        args = sample.args()
        self.point = np.concatenate([np.ravel(args[i]) for i in sample.wrt])

    def args(self, point: np.ndarray, float32: bool = False) -> list:
        args, start = self.sample.args(), 0
        for i in self.sample.wrt:
            size = np.size(args[i])
            part = point[start : start + size]
            args[i] = part.reshape(np.shape(args[i])).copy() if np.ndim(args[i]) else float(part[0])
            start += size
            if float32:
                args[i] = args[i].astype(np.float32) if np.ndim(args[i]) else np.float32(args[i])
        return args

    def split(self, vector: np.ndarray, float32: bool = False) -> tuple:
        args = self.args(vector, float32)
        return tuple(args[i] for i in self.sample.wrt)


@dataclass
class Differences:
    """The gradient by extrapolated central differences, and where it can be trusted."""

    gradient: np.ndarray
    error: np.ndarray
    smooth: np.ndarray


def differences(function, flat: Flat) -> Differences:
    n = flat.point.size
    out = Differences(np.zeros(n), np.zeros(n), np.zeros(n, bool))
    middle = function(*flat.args(flat.point))
    for k in range(n):
        for step in STEPS:
            slope, error, kink = _slope(function, flat, k, step, middle)
            scale = max(1.0, abs(slope)) if np.isfinite(slope) else 0.0
            noise = 1e-15 * max(1.0, abs(middle)) / step
            if error <= 1e-7 * scale + 100 * noise and kink <= 1e-5 * scale + 1000 * noise:
                out.gradient[k], out.error[k], out.smooth[k] = slope, error + noise, True
                break
    return out


def _slope(function, flat: Flat, k: int, step: float, middle: float) -> tuple[float, float, float]:
    """Slope, its error, and the jump of the slope at the point (a kink), for one input."""
    levels, central, bends = 3, [], []
    for level in range(levels):
        h = step / 2**level
        above, below = flat.point.copy(), flat.point.copy()
        above[k] += h
        below[k] -= h
        right, left = function(*flat.args(above)), function(*flat.args(below))
        central.append((right - left) / (2 * h))
        bends.append((right - 2 * middle + left) / h)
    once = [b + (b - a) / 3 for a, b in zip(central[:-1], central[1:], strict=True)]
    slope = once[1] + (once[1] - once[0]) / 15
    # Without a kink a bend is h times the curvature and this vanishes, with one it stays.
    kink = abs(2 * bends[-1] - bends[-2])
    return slope, abs(slope - once[1]), kink


def examine(sample: Sample, library: ModuleType = jitgrad, chunk: int = 0) -> Outcome:
    """Run one program through primal, reverse and forward; with `chunk` through so many directions at once too, for the
    first and the second derivative."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _examine(sample, library, chunk)


def _examine(sample: Sample, library, chunk: int) -> Outcome:
    flat = Flat(sample)
    try:
        # Plain Python checks indices, which compiled code does not.
        load(sample.source, f"fuzz{sample.seed}python", interpreted=True)(*flat.args(flat.point))
        function = load(sample.source, f"fuzz{sample.seed}")
        after = flat.args(flat.point)
        value = function(*after)
    except Exception as error:
        return Outcome(INVALID, _first_line(error))
    if not isinstance(value, (float, np.floating)):
        return Outcome(INVALID, f"the result is a {type(value).__name__}")
    if not np.isfinite(value):
        return Outcome(NOT_SMOOTH, "the value is not finite")
    want = differences(function, flat)
    tolerance = TOLERANCE
    if sample.float32:
        tolerance = TOLERANCE32
        after = flat.args(flat.point, True)
        try:
            value32 = function(*after)
        except Exception as error:  # a variable that would be float32 on one path and float64 on another
            return Outcome(INVALID, _first_line(error))
        if abs(value32 - value) > 1e-4 * max(1.0, abs(value)):
            return Outcome(NOT_SMOOTH, "another branch in float32")
        value = value32
    if not want.smooth.any():
        return Outcome(NOT_SMOOTH, "no input is smooth")
    scale = max(1.0, float(np.max(np.abs(want.gradient))))
    allowed = tolerance * scale + 20 * want.error
    outcome = Outcome(PASS, checked=int(want.smooth.sum()), skipped=int((~want.smooth).sum()))
    try:
        got = _check_reverse(sample, library, function, flat, value, after, want, allowed, outcome)
        _check_forward(sample, library, function, flat, value, want, allowed, got, outcome)
        if chunk:
            _check_chunks(sample, library, function, flat, chunk, allowed, got, outcome)
    except JitgradError as error:
        return Outcome(LOUD, _first_line(error))
    except Exception as error:
        return Outcome(ERROR, _first_line(error))
    if outcome.notes:
        outcome.kind, outcome.detail = WRONG, "; ".join(outcome.notes)
    return outcome


def _check_reverse(sample, library, function, flat, value, after, want, allowed, outcome) -> np.ndarray:
    args = flat.args(flat.point, sample.float32)
    got_value, gradients = library.value_and_grad(function, argnums=sample.wrt)(*args)
    _same_value("reverse", got_value, value, sample, outcome)
    for k, (mine, theirs) in enumerate(zip(args, after, strict=True)):
        # not bit by bit: two compilations may differ in the last digit
        if not np.allclose(mine, theirs, rtol=1e-5 if sample.float32 else 1e-13, atol=1e-14, equal_nan=True):
            outcome.notes.append(f"reverse left argument {k} as {mine}, the program as {theirs}")
    for k, (got, i) in enumerate(zip(gradients, sample.wrt, strict=True)):
        # Numba hands every real scalar to Python as a float
        same = np.ndim(got) == 0 or np.asarray(got).dtype == np.asarray(args[i]).dtype
        if np.shape(got) != np.shape(args[i]) or not same:
            outcome.notes.append(f"gradient {k} is {np.shape(got)} {np.asarray(got).dtype}")
    got = _flat(gradients)
    if got.size != flat.point.size:
        return np.full(flat.point.size, np.nan)
    bad = want.smooth & ~(np.abs(got - want.gradient) <= allowed)
    if bad.any():
        k = np.flatnonzero(bad)
        outcome.notes.append(f"reverse at {k.tolist()}: {got[k].tolist()}, differences {want.gradient[k].tolist()}")
    return got


def _check_forward(sample, library, function, flat, value, want, allowed, reverse, outcome) -> None:
    """Along a direction of smooth inputs against differences, along any direction against reverse."""
    random = np.random.default_rng(sample.seed + 1)
    for smooth_only in (True, False):
        direction = random.choice([-1.0, 1.0], flat.point.size) * random.uniform(0.5, 1.5, flat.point.size)
        if smooth_only:
            direction[~want.smooth] = 0.0
            expected, name = float(want.gradient @ direction), "differences"
        else:
            expected, name = float(reverse @ direction), "reverse"
        args = flat.args(flat.point, sample.float32)
        tangents = flat.split(direction, sample.float32)
        kept = copy.deepcopy(tangents)
        got_value, got = library.jvp(function, tuple(args), tangents, argnums=sample.wrt)
        _same_value("forward", got_value, value, sample, outcome)
        if not all(np.array_equal(a, b) for a, b in zip(tangents, kept, strict=True)):
            outcome.notes.append("forward wrote into the tangents it was given")
        limit = float(np.sum(np.where(want.smooth, allowed, np.min(allowed)) * np.abs(direction)))
        if not smooth_only:  # differences say nothing about the size of what has a kink
            limit += ROUNDING * float(np.abs(reverse) @ np.abs(direction))
        if not abs(float(got) - expected) <= limit:
            outcome.notes.append(f"forward: {float(got)}, {name} {expected}")


def _check_chunks(sample, library, function, flat, chunk, allowed, reverse, outcome) -> None:
    """Columns of the Jacobian against reverse; the Hessian's rows, summed, against differences of the gradient."""
    args = flat.args(flat.point, sample.float32)
    got = _flat(library.jacfwd(function, argnums=sample.wrt, chunk=chunk)(*args))
    bad = ~(np.abs(got - reverse) <= np.min(allowed) + ROUNDING * np.abs(reverse)) & np.isfinite(reverse)
    if bad.any():
        k = np.flatnonzero(bad)
        outcome.notes.append(f"chunks at {k.tolist()}: {got[k].tolist()}, reverse {reverse[k].tolist()}")
    if sample.float32:
        return
    gradient = library.grad(function, argnums=sample.wrt)
    direction = np.random.default_rng(sample.seed + 2).choice([-1.0, 1.0], flat.point.size)

    def slope(step: float) -> np.ndarray:
        above, below = (_flat(gradient(*flat.args(flat.point + s * direction))) for s in (step, -step))
        return (above - below) / (2.0 * step)

    coarse, fine = ((4.0 * slope(h / 2.0) - slope(h)) / 3.0 for h in (2e-4, 1e-4))
    scale = max(1.0, float(np.nanmax(np.abs(reverse)))) + np.abs(fine)
    smooth = np.abs(coarse - fine) <= 1e-6 * scale
    blocks = library.hessian(function, argnums=sample.wrt, chunk=chunk)(*flat.args(flat.point))
    parts = flat.split(direction)
    product = np.concatenate(
        [sum(_rows(b, np.size(p), np.size(q)) @ np.ravel(q) for b, q in zip(row, parts, strict=True))
         for row, p in zip(blocks, parts, strict=True)]
    )  # fmt: skip
    bad = smooth & ~(np.abs(product - fine) <= 1e-5 * scale)
    if bad.any():
        k = np.flatnonzero(bad)
        outcome.notes.append(f"hessian at {k.tolist()}: {product[k].tolist()}, differences {fine[k].tolist()}")


def _flat(parts) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in parts])


def _rows(block, rows: int, columns: int) -> np.ndarray:
    return np.reshape(np.asarray(block, float), (rows, columns))


def _same_value(mode: str, got, value, sample: Sample, outcome: Outcome) -> None:
    tolerance = 1e-5 if sample.float32 else 1e-12
    if not abs(got - value) <= tolerance * max(1.0, abs(value)):
        outcome.notes.append(f"{mode}: value {got}, the program's {value}")


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, numba.core.errors.TypingError):
        # Numba's first line is always the same, the reason follows.
        text = " ".join(text.split()[:60])
    return f"{type(error).__name__}: {text.splitlines()[0][:300] if text else ''}"
