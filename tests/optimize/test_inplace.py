"""In-place operators that go element by element, in Numba's order."""

import numpy as np
import pytest

from jitgrad.optimize import expand_inplace
from tests.optimize.passes import after, check_bits

A = np.array([1.5, 2.0, -3.0, 4.0])
M = np.arange(6.0).reshape(2, 3) + 1.0


def update(line):
    namespace: dict = {"np": np}
    exec(f"def f(a, b, m, c):\n    {line}\n    return a[0]", namespace)
    return namespace["f"]


ARGS = (A, A[::-1] + 0.25, M, 0.3)


@pytest.mark.parametrize(
    "line", ["a += b", "a -= b", "a *= b", "a /= b", "a *= c", "a += c", "m *= m[0, 0]", "a += a[::-1]"]
)
def test_what_has_an_adjoint_stays(line):
    assert "for " not in after(expand_inplace, update(line), *ARGS)


EXPANDED = [
    "a **= 2",
    "a %= c",
    "a //= c",
    "a **= b",
    "a *= a",
    "a[1:] *= a[:-1]",
    "a[:-1] /= a[1:]",
    "m *= m[0]",
    "m /= m[:, 0:1]",
    "m *= m[:, ::-1]",
]


@pytest.mark.parametrize("line", EXPANDED)
def test_the_rest_is_expanded(line):
    assert "for " in after(expand_inplace, update(line), *ARGS)


@pytest.mark.parametrize("float32", [False, True])
def test_same_bits(float32):
    """Compiled, one after the other: Numba updates element by element where the sides overlap."""
    text = "\n    ".join(
        ["def f(a, b, m, c):", *EXPANDED, "m[0] **= a[:3]", "m *= m[1:, 1:2]", "m[:, 0] *= m[0, :2]", "return a[0]"]
    )
    namespace: dict = {"np": np}
    exec(text, namespace)
    args = tuple(x.astype(np.float32) for x in ARGS[:3]) + (np.float32(0.3),) if float32 else ARGS
    check_bits(namespace["f"], *args, compiled=True, passes=(expand_inplace,))


def test_integers_are_left_alone():
    def f(k):
        k *= k[::-1]
        k //= 2
        return k[0]

    assert "for " not in after(expand_inplace, f, np.array([1, 2, 3]))


def test_arrays_of_no_element_and_of_one():
    def f(a, b):
        a **= 2
        a[:0] *= a[:0]
        a *= a[:1]
        b **= b
        return 0.0

    check_bits(f, np.array([3.0]), np.zeros(0), compiled=True)
