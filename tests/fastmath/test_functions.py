"""Types, calls from Python, messages, the disk cache."""

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from jitgrad import fastmath


def test_calls_from_python():
    assert fastmath.exp(0.0) == 1.0
    assert fastmath.log(1) == 0.0
    assert fastmath.pow(2.0, 10) == 1024.0
    assert fastmath.sin(np.float64(1e300)) == pytest.approx(-0.8178819121159085, rel=1e-15)


def test_types():
    @njit
    def results(x, y, k):
        return fastmath.tanh(x), fastmath.tanh(y), fastmath.tanh(k), fastmath.pow(y, y), fastmath.pow(y, x)

    results(1.0, np.float32(1.0), 1)
    (signature,) = results.nopython_signatures
    assert [str(t) for t in signature.return_type] == ["float64", "float32", "float64", "float32", "float64"]


def test_an_array_is_refused_with_the_way_out():
    with pytest.raises(TypingError, match="jitgrad.fastmath.exp takes numbers, not an array; call it in a loop"):
        fastmath.exp(np.ones(3))
    with pytest.raises(TypingError, match="jitgrad.fastmath.pow takes float64 or float32 numbers, not complex128"):
        fastmath.pow(2.0, 1j)


def test_the_callers_fastmath_leaves_the_kernels_alone():
    @njit(error_model="numpy", fastmath=True)
    def fill(x, out):
        for i in range(x.size):
            out[i] = fastmath.log1p(x[i])

    @njit(error_model="numpy")
    def strict(x, out):
        for i in range(x.size):
            out[i] = fastmath.log1p(x[i])

    x = np.random.default_rng(0).uniform(-1, 1, 1003) ** 9  # adding one loses digits, which fast math does not get back
    fast, exact = np.empty_like(x), np.empty_like(x)
    fill(x, fast)
    strict(x, exact)
    assert np.array_equal(fast, exact)


def test_cached_code_runs_in_another_process(tmp_path):
    """Also the code of the branch for huge arguments, which loops call through vector variants."""
    module = tmp_path / "cached.py"
    module.write_text(
        "import math\nimport numpy as np\nfrom numba import njit\nfrom jitgrad import fastmath\n\n"
        "@njit(cache=True)\ndef fill(x):\n    out = np.empty_like(x)\n    for i in range(x.size):\n"
        "        out[i] = fastmath.sin(x[i])\n    return out\n\n"
        "x = np.linspace(0.0, 1.0, 100)\nx[17] = 1e300\n"
        "assert fill(x)[17] == math.sin(1e300)\nprint(sum(fill.stats.cache_hits.values()))\n"
    )
    hits = []
    for _ in range(2):
        command = [sys.executable, str(module)]
        hits.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert hits == [0, 1]
