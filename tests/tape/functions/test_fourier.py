"""Fourier transforms: derivatives by tapes against central differences."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs

(V,) = inputs(5, low=-1.5)
(M,) = inputs((3, 4), low=-1.5)
(X,) = inputs((2, 3, 2), low=-1.5)
NORMS = ("backward", "ortho", "forward")
F = np.fft


def parts(z):
    """Real functions of a complex result."""
    return [np.real(z), np.imag(z)]


def both(f):
    """`f` of a complex array with these parts."""
    return lambda a, b: parts(f(a + 1j * b))


PAIR = inputs((3, 4), (3, 4), low=-1.5, seed=8)


@cases(
    {
        **{f"fft_{n}": (both(lambda z, n=n: F.fft(z, norm=n)), *PAIR) for n in NORMS},
        **{f"ifft_{n}": (both(lambda z, n=n: F.ifft(z, axis=0, norm=n)), *PAIR) for n in NORMS},
        **{f"rfft_{n}": (lambda a, n=n: parts(F.rfft(a, norm=n)), M) for n in NORMS},
        **{f"irfft_{n}": (lambda a, b, n=n: F.irfft(a + 1j * b, norm=n), *PAIR) for n in NORMS},
        "fft_real": (lambda a: parts(F.fft(a)), V),
        "fft_lengths": (lambda a: (*parts(F.fft(a, 3)), *parts(F.fft(a, 7)), *parts(F.fft(a, 4, axis=-1))), V),
        "rfft_odd": (lambda a: (*parts(F.rfft(a)), *parts(F.rfft(a, 4)), *parts(F.rfft(a, 8))), V),
        "rfft_axis": (lambda a: parts(F.rfft(a, axis=1)), X),
        "irfft_odd": (lambda a, b: (F.irfft(a + 1j * b, 7), F.irfft(a + 1j * b, 5), F.irfft(a, 9)), *PAIR),
        "irfft_axis": (lambda a: F.irfft(a + 0.5j * a, axis=1), X),
        "hermitian": (lambda a, b: (F.hfft(a + 1j * b), *parts(F.ihfft(a, norm="ortho"))), *PAIR),
        "fftn": (lambda a: (*parts(F.fftn(a)), *parts(F.fft2(a)), *parts(F.fftn(a, (2, 2), (0, 2)))), X),
        "ifftn": (lambda a: (*parts(F.ifftn(a * (1 + 1j))), *parts(F.ifft2(a, norm="ortho"))), X),
        "rfftn": (lambda a: (*parts(F.rfftn(a)), *parts(F.rfft2(a, s=(4, -1)))), X),
        "irfftn": (lambda a, b: (F.irfftn(a + 1j * b), F.irfft2(a + 1j * b, (3, 5))), *PAIR),
        "shifts": (lambda a: (F.fftshift(a), F.ifftshift(a), F.fftshift(a, axes=1), F.ifftshift(a, (0,))), M),
        "convolution": (lambda a, b: F.irfft(F.rfft(a) * F.rfft(b), 5), *inputs(5, 5)),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


def test_transpose_in_the_sense_of_complex_products():
    rng = np.random.default_rng(2)
    z, dot, ct = (rng.normal(size=6) + 1j * rng.normal(size=6) for _ in range(3))
    x = jg.constant(z)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.fft.fft(x)
    pulled = np.asarray(tape.gradient(y, x, output_gradients=ct))
    assert np.vdot(pulled, dot).real == pytest.approx(np.vdot(ct, np.fft.fft(dot)).real)


def test_single_precision_stays():
    x = jg.constant(V, dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.fft.rfft(x)
        total = np.sum(np.abs(y))
    assert y.dtype == np.complex64
    assert tape.gradient(total, x).dtype == np.float32


def test_refused():
    with pytest.raises(UnsupportedError, match="out"):
        np.fft.fft(jg.constant(V), None, -1, None, np.zeros(5, complex))
    with pytest.raises(ValueError, match="lengths"):
        np.fft.fftn(jg.constant(M), (2,), (0, 1))
