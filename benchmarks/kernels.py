"""The kernels of `jitgrad.fastmath` in a loop over 100,000 elements, beside other ways to compute the same.

    python -m benchmarks.kernels [--float32] [names...]

Columns: nanoseconds for an element; the largest error in units in the last place over random arguments (where mpmath is
installed); then how many times as long others take: the same loop with the function of `math`, which calls the C
library (as NumPy's functions do inside a Numba loop), NumPy on the whole array, also without its AVX-512 code where
the processor has that, and PyTorch and JAX where they are installed. All on one thread, into memory that is there
already but for JAX. Exit status 1 when exp or tanh of float64 is less than three times as fast as the loop with the C
library, or another kernel slower than it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.measure import chosen, median_time, print_table, quiet_process

if __name__ == "__main__":
    quiet_process()

import numpy as np
from numba import njit

from jitgrad import fastmath

BARS = {"exp": 3.0, "tanh": 3.0}
SIZE, POWER, CHECKED = 100_000, 2.7, 2_000
NAMES = fastmath.__all__
HEADER = ["function", "ns", "ulp", "C library", "NumPy", "w/o AVX-512", "PyTorch", "JAX"]


@njit(error_model="numpy")
def sigmoid_of_library(x):
    return 1.0 / (1.0 + math.exp(-x))


def arguments(name: str, real: Any) -> np.ndarray:
    x = np.random.default_rng(0).uniform(-5.0, 5.0, SIZE)
    return (np.abs(x) + 0.1 if name in ("log", "log1p", "pow") else x).astype(real)


def loop(function: Any, real: Any, binary: bool) -> Any:
    """An njit loop over an array."""
    power = real(POWER)

    def fill(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    def fill_power(x, out):
        for i in range(x.size):
            out[i] = function(x[i], power)

    return njit(fill_power if binary else fill, error_model="numpy")


def time_of(call: Callable[[], object]) -> float:
    return median_time(call, least=0.15)


def kernel_and_library(name: str, real: Any) -> tuple[float, float, np.ndarray]:
    """Seconds of the kernel and of the C library's function, and the kernel's results."""
    x = arguments(name, real)
    out = np.empty_like(x)
    library = sigmoid_of_library if name == "sigmoid" else getattr(math, name)
    seconds = []
    for function in (library, getattr(fastmath, name)):
        fill = loop(function, real, name == "pow")
        seconds.append(time_of(lambda fill=fill: fill(x, out)))  # type: ignore[misc]
    return seconds[1], seconds[0], out


def units(name: str, x: np.ndarray, got: np.ndarray) -> float | None:
    """The largest error over some of the arguments, in units in the last place."""
    try:
        import mpmath  # type: ignore[import-untyped]
    except ImportError:
        return None
    exact = {"sigmoid": lambda v: 1 / (1 + mpmath.exp(-v)), "pow": lambda v: v ** float(x.dtype.type(POWER))}
    function = exact.get(name) or getattr(mpmath, name)
    most = 0.0
    with mpmath.workprec(120):
        for v, y in zip(x[:CHECKED], got[:CHECKED], strict=True):
            want = function(mpmath.mpf(float(v)))
            most = max(most, float(abs(want - float(y)) / float(np.spacing(np.abs(x.dtype.type(float(want)))))))
    return most


def numpy_seconds(name: str, real: Any) -> float | None:
    if name == "pow":
        x, power = arguments(name, real), real(POWER)
        out = np.empty_like(x)
        return time_of(lambda: np.power(x, power, out=out))
    function = getattr(np, name, None)
    if function is None:
        return None
    x = arguments(name, real)
    out = np.empty_like(x)
    return time_of(lambda: function(x, out=out))


def without_avx512(names: list[str], real: Any) -> dict[str, float | None]:
    """What `numpy_seconds` finds in a process where NumPy leaves its AVX-512 code alone; empty if it has none."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__  # type: ignore[attr-defined]

    wide = [feature for feature in __cpu_dispatch__ if feature.startswith(("AVX512", "X86_V4"))]
    if not any(__cpu_features__.get(feature) for feature in wide):
        return {}
    single = ["--float32"] if real is np.float32 else []
    command = [sys.executable, "-m", "benchmarks.kernels", "--numpy", *single, *names]
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(wide)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def torch_seconds(name: str, real: Any) -> float | None:
    try:
        import torch  # type: ignore[import-not-found]
    except ImportError:
        return None
    torch.set_num_threads(1)
    x = torch.from_numpy(arguments(name, real))
    out = torch.empty_like(x)
    if name == "pow":
        return time_of(lambda: torch.pow(x, POWER, out=out))
    function = getattr(torch, name)
    return time_of(lambda: function(x, out=out))


def jax_seconds(name: str, real: Any) -> float | None:
    try:
        import jax  # type: ignore[import-not-found]
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    special = {"sigmoid": jax.nn.sigmoid, "erf": jax.scipy.special.erf, "pow": lambda v: v ** real(POWER)}
    function = jax.jit(special.get(name) or getattr(jax.numpy, name))
    x = jax.numpy.asarray(arguments(name, real))
    return time_of(lambda: function(x).block_until_ready())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions, all by default")
    parser.add_argument("--float32", action="store_true", help="float32 in place of float64")
    parser.add_argument("--numpy", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = chosen(parser, options.names, NAMES, "functions")
    real = np.float32 if options.float32 else np.float64
    if options.numpy:
        print(json.dumps({name: numpy_seconds(name, real) for name in names}))
        return 0
    narrow = without_avx512(names, real)
    rows, slow = [], []
    for name in names:
        kernel, library, values = kernel_and_library(name, real)
        error = units(name, arguments(name, real), values)
        others = [library, numpy_seconds(name, real), narrow.get(name)]
        others += [torch_seconds(name, real), jax_seconds(name, real)]
        ratios = ["" if seconds is None else f"{seconds / kernel:.1f}x" for seconds in others]
        rows.append([name, f"{kernel / SIZE * 1e9:.2f}", "" if error is None else f"{error:.1f}", *ratios])
        if library / kernel < (BARS.get(name, 1.0) if real is np.float64 else 1.0):
            slow.append(name)
    print_table(f"kernels, {real.__name__}, {SIZE:,} elements, one thread", HEADER, rows)
    if slow:
        print("below the bar:", ", ".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
