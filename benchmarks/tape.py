"""What the gradient tape costs: each recorded operation, and a training step against the same step written by hand.

    python -m benchmarks.tape [operations] [step]

operations  forward and backward, for each operation on arrays of 3 elements; bar 2 us once the structure is compiled,
            and PyTorch's eager mode (30 us where it is not installed) before
step        softmax regression on a batch of 100 images with float64 numbers against njit code; bar 1.5x

Exit status 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.measure import chosen, human, median_time, pair_times, print_table, quiet_process

if __name__ == "__main__":
    quiet_process()

import numpy as np
from numba import njit

import jitgrad
from jitgrad.tape import compile_after

COMPILED_BAR, EAGER_BAR, STEP_BAR = 2e-6, 30e-6, 1.5
LENGTHS = (10, 50, 200)
BATCH, PIXELS, CLASSES, RATE = 100, 784, 10, 0.1


# ----- operations -----------------------------------------------------------------------------------
def chain(length: int) -> Callable[[], object]:
    """A gradient of so many operations, sines and products in turn."""
    start: Any = jitgrad.constant([0.1, 0.2, 0.3])

    def run() -> object:
        with jitgrad.GradientTape() as tape:
            tape.watch(start)
            y: Any = start
            for _ in range(length // 2):
                y = np.sin(y) * start
        return tape.gradient(y, start)

    return run


def torch_chain(length: int) -> Callable[[], object] | None:
    """The same with PyTorch, if it is installed."""
    try:
        import torch  # type: ignore[import-not-found]
    except ImportError:
        return None
    start = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, requires_grad=True)

    def run() -> object:
        y = start
        for _ in range(length // 2):
            y = torch.sin(y) * start
        return torch.autograd.grad(y, start, torch.ones_like(y))

    return run


def operations() -> bool:
    """Print the cost of an operation; whether it is below the bars."""
    rows, good = [], True
    for length in LENGTHS:
        run, other = chain(length), torch_chain(length)
        with compile_after(None):
            eager = median_time(run) / length
        with compile_after(1):
            compiled = median_time(run) / length
        torch = None if other is None else median_time(other) / length
        met = eager <= (torch or EAGER_BAR) and compiled <= COMPILED_BAR
        good &= met
        rows.append([str(length), human(eager), human(compiled), "not installed" if torch is None else human(torch)])
    header = ["operations", "NumPy sweep", "compiled sweep", "PyTorch"]
    print_table("time per operation on 3 elements, forward and backward", header, rows)
    print(f"bars: {human(COMPILED_BAR)} compiled; PyTorch, or {human(EAGER_BAR)}, before")
    return good


# ----- a training step ------------------------------------------------------------------------------
@njit(error_model="numpy")
def by_hand(weights, bias, images, labels):
    """One step of gradient descent for softmax regression; the loss before it."""
    count = images.shape[0]
    slopes = np.dot(images, weights)
    loss = 0.0
    for i in range(count):
        largest = -np.inf
        for j in range(slopes.shape[1]):
            slopes[i, j] += bias[j]
            largest = max(largest, slopes[i, j])
        mass, target = 0.0, 0.0
        for j in range(slopes.shape[1]):
            slopes[i, j] -= largest
            target += labels[i, j] * slopes[i, j]
            mass += np.exp(slopes[i, j])
        loss += np.log(mass) - target
        for j in range(slopes.shape[1]):
            slopes[i, j] = (np.exp(slopes[i, j]) / mass - labels[i, j]) / count
    weights -= RATE * np.dot(images.T, slopes)
    bias -= RATE * np.sum(slopes, axis=0)
    return loss / count


def step() -> bool:
    """Print the cost of a training step; whether it is below the bar."""
    generator = np.random.default_rng(0)
    images = generator.random((BATCH, PIXELS))
    labels = np.eye(CLASSES)[generator.integers(CLASSES, size=BATCH)]
    weights, bias = np.zeros((PIXELS, CLASSES)), np.zeros(CLASSES)
    w, b = jitgrad.Variable(weights), jitgrad.Variable(bias)
    x, t = jitgrad.constant(images), jitgrad.constant(labels)

    def on_tape() -> object:
        with jitgrad.GradientTape() as tape:
            loss = np.mean(jitgrad.nn.softmax_cross_entropy_with_logits(labels=t, logits=x @ w + b))
        slope_w, slope_b = tape.gradient(loss, [w, b])
        w.assign_sub(RATE * slope_w)
        b.assign_sub(RATE * slope_b)
        return loss

    rows, ratios = [], {}
    for name, after in (("tape, NumPy sweep", None), ("tape, compiled sweep", 1)):
        with compile_after(after):
            pair = pair_times(lambda: by_hand(weights, bias, images, labels), on_tape, least=2.0)
        ratios[after] = pair.ratio
        rows.append([name, human(pair.second), human(pair.first), f"{pair.ratio:.2f}"])
    print_table(
        f"a step of softmax regression, {BATCH} x {PIXELS} x {CLASSES}; bar {STEP_BAR}",
        ["", "time", "by hand", "ratio"],
        rows,
    )
    return ratios[1] <= STEP_BAR


def main() -> int:
    parts = {"operations": operations, "step": step}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tape", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="operations, step; both by default")
    names = chosen(parser, parser.parse_args().parts, parts, "parts")
    good = [parts[part]() for part in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
