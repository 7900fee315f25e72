"""A small recurrent network with diagonal weights, predicting the next character of a text."""

import math

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@njit
def sigmoid(v):
    return 1.0 / (1.0 + math.exp(-v))


@njit
def objective(main, extra, start, sequence):
    """main (2 l, 4 b): weights and biases in turn; extra (3, b); start (2 l, b): hidden and cell in turn."""
    layers = main.shape[0] // 2
    b = extra.shape[1]
    state = start.copy()
    y = np.empty(b)
    total = 0.0
    for t in range(sequence.shape[0] - 1):
        for i in range(b):
            y[i] = sequence[t, i] * extra[0, i]
        for k in range(layers):
            for i in range(b):
                hidden = state[2 * k, i]
                forget = sigmoid(y[i] * main[2 * k, i] + main[2 * k + 1, i])
                ingate = sigmoid(hidden * main[2 * k, b + i] + main[2 * k + 1, b + i])
                outgate = sigmoid(y[i] * main[2 * k, 2 * b + i] + main[2 * k + 1, 2 * b + i])
                change = math.tanh(hidden * main[2 * k, 3 * b + i] + main[2 * k + 1, 3 * b + i])
                cell = state[2 * k + 1, i] * forget + ingate * change
                y[i] = outgate * math.tanh(cell)
                state[2 * k, i] = y[i]
                state[2 * k + 1, i] = cell
        s = 2.0
        for i in range(b):
            y[i] = y[i] * extra[1, i] + extra[2, i]
            s += math.exp(y[i])
        norm = math.log(s)
        for i in range(b):
            total += sequence[t + 1, i] * (y[i] - norm)
    return -total / (b * (sequence.shape[0] - 1))


with jitgrad.options(math="fast"):
    gradient = jitgrad.grad(objective, argnums=(0, 1))


def prepare(data):
    return tuple(array(data[name]) for name in ("main_params", "extra_params", "state", "sequence"))


PRIMAL = "objective"
FUNCTIONS = {
    "objective": Function(objective, prepare, float),
    "jacobian": Function(gradient, prepare, lambda parts: np.concatenate([part.ravel() for part in parts]).tolist()),
}
