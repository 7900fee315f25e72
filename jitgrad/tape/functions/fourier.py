"""Discrete Fourier transforms: each is the transpose of another one, up to scale and conjugation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitgrad.tape.functions.registering import operand, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain

_TRANSPOSED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of the inverse transform that is the transpose of a transform with some norm."""


def _fitted(a: Any, n: int | None, axis: int) -> Any:
    """`a` cut or filled up with zeros to length `n` along an axis."""
    if n is None or n == a.shape[axis]:
        return a
    if n < a.shape[axis]:
        return a[(slice(None),) * (axis % a.ndim) + (slice(n),)]
    width = [(0, 0)] * a.ndim
    width[axis] = (0, n - a.shape[axis])
    return np.pad(a, width)


# ----- along one axis -------------------------------------------------------------------------------
def _fft_a(ct, out, a, axis, norm):
    return np.fft.ifft(ct, axis=axis, norm=_TRANSPOSED[norm])


def _ifft_a(ct, out, a, axis, norm):
    return np.fft.fft(ct, axis=axis, norm=_TRANSPOSED[norm])


def _rfft_a(ct, out, a, axis, norm):
    return np.real(np.fft.ifft(_fitted(ct, a.shape[axis], axis), axis=axis, norm=_TRANSPOSED[norm]))


def _irfft_a(ct, out, a, n, axis, norm):
    # all but the mean and the highest frequency stand for two
    weight = np.ones(a.shape[axis])
    weight[1 : (n + 1) // 2] = 2.0
    weight = weight.reshape(-1, *(1,) * (a.ndim - 1 - axis % a.ndim))
    return np.fft.rfft(ct, axis=axis, norm=_TRANSPOSED[norm]) * weight


_FFT = Primitive("FFT", np.fft.fft, (_fft_a,))
_IFFT = Primitive("IFFT", np.fft.ifft, (_ifft_a,))
_RFFT = Primitive("RFFT", np.fft.rfft, (_rfft_a,))
_IRFFT = Primitive("IRFFT", np.fft.irfft, (_irfft_a,))


def _enter(function: Any, made: Primitive) -> None:
    name = f"np.fft.{function.__name__}"

    @handles(function)
    def transform(a, n=None, axis=-1, norm=None, out=None):
        refuse(name, out=out)
        return made(_fitted(operand(a), n, axis), axis=axis, norm=norm)


_enter(np.fft.fft, _FFT)
_enter(np.fft.ifft, _IFFT)
_enter(np.fft.rfft, _RFFT)


@handles(np.fft.irfft)
def irfft(a, n=None, axis=-1, norm=None, out=None):
    refuse("np.fft.irfft", out=out)
    a = operand(a)
    n = 2 * (a.shape[axis] - 1) if n is None else n
    return _IRFFT(_fitted(a, n // 2 + 1, axis), n=n, axis=axis, norm=norm)


@handles(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None, out=None):
    return irfft(np.conjugate(operand(a)), n, axis, _TRANSPOSED[norm], out)


@handles(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    return np.conjugate(np.fft.rfft(operand(a), n, axis, _TRANSPOSED[norm], out))


# ----- along several axes ---------------------------------------------------------------------------
def _lines(a: Any, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    """Length and axis of each one-dimensional transform."""
    if axes is None:
        axes = range(-a.ndim if s is None else -len(s), 0)
    lengths = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return list(zip(lengths, axes, strict=True))


def _each(step: Callable, a: Any, lines: list, norm: Any) -> Any:
    for n, axis in lines:
        a = step(a, n, axis, norm)
    return a


def _complex(step: Any) -> Callable:
    return lambda a, lines, norm: _each(step, a, lines[::-1], norm)


def _from_real(a: Any, lines: list, norm: Any) -> Any:
    n, axis = lines[-1]
    return _each(np.fft.fft, np.fft.rfft(a, n, axis, norm), lines[-2::-1], norm)


def _to_real(a: Any, lines: list, norm: Any) -> Any:
    n, axis = lines[-1]
    return np.fft.irfft(_each(np.fft.ifft, a, lines[:-1], norm), n, axis, norm)


def _several(name: str, default: Any, act: Callable) -> Callable:
    def transform(a, s=None, axes=default, norm=None, out=None):
        refuse(f"np.fft.{name}", out=out)
        a = operand(a)
        return act(a, _lines(a, s, axes), norm)

    return transform


for _name, _act in (
    ("fft", _complex(np.fft.fft)),
    ("ifft", _complex(np.fft.ifft)),
    ("rfft", _from_real),
    ("irfft", _to_real),
):
    HANDLERS[getattr(np.fft, f"{_name}n")] = _several(f"{_name}n", None, _act)
    HANDLERS[getattr(np.fft, f"{_name}2")] = _several(f"{_name}2", (-2, -1), _act)


# ----- the order of frequencies ---------------------------------------------------------------------
def _shifts(x: Any, axes: Any) -> Iterator[tuple[int, int]]:
    for axis in range(x.ndim) if axes is None else np.atleast_1d(axes).tolist():
        yield axis, plain(x).shape[axis] // 2


@handles(np.fft.fftshift)
def fftshift(x, axes=None):
    for axis, half in _shifts(x, axes):
        x = np.roll(x, half, axis)
    return x


@handles(np.fft.ifftshift)
def ifftshift(x, axes=None):
    for axis, half in _shifts(x, axes):
        x = np.roll(x, -half, axis)
    return x
