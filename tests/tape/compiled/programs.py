"""Programs whose gradients are compared: each a function of variables, with the arrays to start from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import jitgrad

_random = np.random.default_rng(7)
A, B, C = _random.normal(size=(4, 3)), _random.normal(size=(3, 5)), _random.normal(size=5)
V = _random.normal(size=3)
LABELS = np.eye(5)[[0, 3, 1, 4]]

PROGRAMS: dict[str, tuple[Callable, list[np.ndarray]]] = {
    # elementwise
    "chain": (lambda x: np.sum(np.sin(x) * x + np.exp(-x) * 2.5), [A]),
    "scalars": (lambda x, y: x**2 * np.sin(y) / (1.0 + x * x), [np.array(1.2), np.array(0.3)]),
    "powers": (lambda x: np.sum(x**3 + np.abs(x) ** 0.5 + np.square(x) - 2.0 / x), [A]),
    "vector target": (lambda x: np.tanh(x) * x, [V]),
    "reused": (lambda x: (x * x + x) * (x - x * x), [V]),
    "many alike": (lambda *xs: np.sum(sum(np.sin(x) * k for k, x in enumerate(xs))), [V + k for k in range(9)]),
    # broadcasting
    "broadcast": (lambda x, y: x * y + y, [A, V]),
    "row and column": (lambda x, y: np.sum(x.reshape(-1, 1) * y) ** 2, [V, C]),
    "size one": (lambda x, y: x * y, [A, V.reshape(1, 3)]),
    "scalar and array": (lambda x, y: np.exp(x) * y, [np.array(0.4), A]),
    # products
    "layer": (lambda x, y, z: np.mean(np.maximum(x @ y + z, 0.0)), [A, B, C]),
    "two layers": (lambda x, y, z: np.sum(np.tanh(np.tanh(x @ y) @ z)), [A, B, _random.normal(size=(5, 2))]),
    "matrix and vector": (lambda x, y: np.sum((x @ y) ** 2) + y @ y, [A, V]),
    "stacks": (lambda x, y: np.sum((x @ y) ** 2), [_random.normal(size=(2, 4, 3)), B]),
    "outer": (lambda x, y: np.sum(np.outer(x, y) ** 2), [V, C]),
    "einsum": (lambda x, y: np.sum(np.einsum("ij,jk->ik", x, y) ** 2), [A, B]),
    "tensordot": (lambda x, y: np.sum(np.tensordot(x, y, 1) ** 2), [A, B]),
    # reductions
    "softmax": (lambda x: -np.mean(np.log(np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True))[:, 1]), [A]),
    "sums": (lambda x: np.sum(np.sum(x * x, axis=0) * np.sum(x, axis=0)) + x.sum(axis=1)[2], [A]),
    "extremes": (lambda x: np.max(x, axis=0).sum() * np.min(x), [A]),
    "moments": (lambda x: np.var(x, axis=0).sum() + np.std(x), [A]),
    "products": (lambda x: np.prod(x, axis=1).sum(), [A]),
    "cumulative": (lambda x: np.sum(np.cumsum(x, axis=1) * np.cumprod(x, axis=0)), [A]),
    "norm": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1).sum(), [A]),
    # indices and shapes
    "slices": (lambda x: np.sum(x[1:3] * x[0, ::-1]), [A]),
    "gather": (lambda x: np.sum(x[np.array([0, 1, 1])] ** 2) + x[np.array([0, 2]), np.array([1, 1])].sum(), [A]),
    "transposed": (lambda x, y: np.sum(x.T * 2.0 + y), [A, V.reshape(3, 1)]),
    "reshaped": (lambda x: np.sum(x.reshape(2, 6) @ x.reshape(6, 2)), [A]),
    "joined": (lambda x, y: np.sum(np.stack([x, y], 1) ** 2) + np.sum(np.concatenate([x, y]) ** 3), [V, V + 1]),
    "moved": (lambda x: np.sum(np.roll(x, 1, axis=0) * np.flip(x, 1)) + np.sum(np.tril(x) * x), [A]),
    # branches
    "guarded": (lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), x)), [A]),
    "clipped": (lambda x: np.sum(np.clip(x, -0.5, 0.5) * x), [A]),
    "ties": (lambda x, y: np.sum(np.maximum(x, y) * x), [V, V.copy()]),
    # losses
    "cross entropy": (
        lambda x, y, z: np.mean(jitgrad.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=x @ y + z)),
        [A, B, C],
    ),
    "sigmoid": (lambda x, y: np.mean((jitgrad.nn.sigmoid(x @ y) - 0.5) ** 2), [A, B]),
    # dtypes
    "single precision": (lambda x, y: np.sum(np.tanh(x @ y) * 0.3), [A.astype(np.float32), B.astype(np.float32)]),
    "mixed precision": (lambda x, y: np.sum(x * y), [A.astype(np.float32), A]),
    "many sources": (lambda *xs: np.sum(np.tanh(np.stack(xs)) ** 2), [V + 0.1 * k for k in range(40)]),
    "unconnected": (lambda x, y: np.sum(x * x), [A, B]),
}
