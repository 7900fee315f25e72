"""Random programs: what they do is drawn from a seed, and so are the numbers in them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import jitgrad

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (3, 3), (2, 3, 2), (1, 1), (4, 1, 3)]
LARGEST = 48


class Maker:
    """Makes a program by running it.

    Parameters
    ----------
    structure : int
        Seed of all decisions.
    numbers : int
        Seed of the constants; with another one the program has the same structure.
    dtype : dtype

    Attributes
    ----------
    pool : list
        What was given and what was made, the latest last.
    stops : bool
        Whether some gradient was stopped.
    """

    def __init__(self, structure: int, numbers: int, dtype: Any = np.float64):
        self.choose = np.random.default_rng(structure)
        self.numbers = np.random.default_rng(numbers)
        self.dtype = dtype
        self.pool: list[Any] = []
        self.stops = False

    def run(self, values: list[Any], length: int) -> None:
        self.pool += values
        for _ in range(length):
            self.step()

    def step(self) -> None:
        """One more operation on values of the pool; what cannot be done with their shapes is left out."""
        families = (unary, unary, binary, binary, reduced, moved, moved, indexed, indexed, joined, product, other)
        family = families[self.choose.integers(len(families))]
        try:
            made = family(self, self.pick())
        except (IndexError, ValueError):  # more indices than axes; the largest of no elements
            return
        for value in made if isinstance(made, (list, tuple)) else [made]:
            if not isinstance(value, jitgrad.Tensor):  # what was made of constants only
                continue
            while value.size > LARGEST:
                value = np.mean(value, axis=-1)
            self.pool.append(value)

    # ----- decisions --------------------------------------------------------------------------------
    def pick(self) -> Any:
        late = self.choose.random() < 0.6
        return self.pool[-1 - self.choose.integers(min(3, len(self.pool)))] if late else self.one(self.pool)

    def one(self, options: Any) -> Any:
        return options[self.choose.integers(len(options))]

    def flip(self) -> bool:
        return bool(self.choose.integers(2))

    def axis(self, x: Any) -> int:
        return int(self.choose.integers(-x.ndim, x.ndim))

    # ----- constants --------------------------------------------------------------------------------
    def number(self) -> float:
        return float(self.numbers.normal())

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """A constant, in memory in one of several ways."""
        layout = self.choose.integers(5)
        if layout == 0 and len(shape) > 1:
            return self.numbers.normal(size=shape[::-1]).astype(self.dtype).T
        if layout == 1 and shape:
            return self.numbers.normal(size=(*shape[:-1], 2 * shape[-1])).astype(self.dtype)[..., ::2]
        if layout == 2 and shape:
            return np.broadcast_to(self.numbers.normal(size=shape[-1:]).astype(self.dtype), shape)
        return np.asarray(self.numbers.normal(size=shape), self.dtype)


# ----- elementwise ----------------------------------------------------------------------------------
UNARY: list[Callable[[Any], Any]] = [
    np.sin, np.cos, np.tanh, np.square, np.abs, np.negative, np.arctan, np.arcsinh, np.sinc, np.positive, np.copy,
    np.real, np.floor, np.sign, np.exp2, np.deg2rad,
    lambda x: np.exp(np.tanh(x)), lambda x: np.sqrt(np.abs(x) + 1), lambda x: np.log1p(x * x),
    lambda x: np.log(2 + x * x),
    lambda x: np.expm1(np.sin(x)), lambda x: 1 / (2.0 + x * x), lambda x: x**2, lambda x: x**3, lambda x: x**2.0,
    lambda x: (x * x + 0.5) ** 0.5, lambda x: (x * x + 1) ** -1, lambda x: (x * x + 1) ** -1.5,
    lambda x: 2.0 ** np.tanh(x),
    lambda x: np.reciprocal(2 + x * x), lambda x: np.cbrt(x + 3.5), lambda x: np.arccosh(2 + x * x),
    lambda x: np.arctanh(np.sin(x) * 0.5), lambda x: np.sinh(np.tanh(x)), lambda x: np.log2(3 + x * x),
    lambda x: np.nan_to_num(x), lambda x: x * True, lambda x: x * 1, lambda x: x**1, lambda x: x**0, lambda x: -x,
    lambda x: x.astype(np.float32), lambda x: x.astype(np.float64), lambda x: x.astype(np.float32).astype(np.float64),
    jitgrad.nn.relu, jitgrad.nn.sigmoid, jitgrad.nn.softplus, jitgrad.nn.elu, jitgrad.nn.gelu, jitgrad.nn.leaky_relu,
    jitgrad.nn.selu, jitgrad.nn.relu6, jitgrad.nn.softsign,
]  # fmt: skip


def unary(m: Maker, x: Any) -> Any:
    return m.one(UNARY)(x)


BINARY: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.mul, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot,
    np.arctan2, np.logaddexp, lambda x, y: x / (1.5 + y * y), lambda x, y: np.power(x * x + 1, y), np.copysign,
    lambda x, y: np.where(x > y, x, y * x), lambda x, y: np.maximum(x, x * 1 + 0 * y), np.float_power,
    lambda x, y: np.clip(x, -0.3, y), lambda x, y: np.where(y > 0, x, 0.5), np.logaddexp2,
    lambda x, y: np.remainder(x, 2 + y * y),
]  # fmt: skip


def binary(m: Maker, x: Any) -> Any:
    kind = m.choose.integers(6)
    function = m.one(BINARY)
    if function is np.float_power:
        x = x * x + 1
    if kind == 0:
        y: Any = m.number()
    elif kind == 1:
        shape = list(x.shape)
        for k in range(x.ndim):
            shape[k] = 1 if m.choose.random() < 0.3 else shape[k]
        y = m.array(tuple(shape[m.choose.integers(x.ndim + 1) :]))
    elif kind == 2:
        y = m.one([2, -1, True, np.float32(0.5), np.float64(1.25), np.int64(3), 0])
    else:
        y = m.pick()
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y = np.sum(y)
    return (
        function(y, x)
        if m.flip() and isinstance(y, np.ndarray) is False and function is not np.float_power
        else function(x, y)
    )


# ----- reductions -----------------------------------------------------------------------------------
REDUCED = [
    np.sum,
    np.mean,
    np.max,
    np.min,
    np.var,
    np.std,
    np.prod,
    np.linalg.norm,
    np.ptp,
    np.median,
    np.nansum,
    np.nanmean,
]


def reduced(m: Maker, x: Any) -> Any:
    function = m.one(REDUCED)
    keepdims = m.flip()
    axis: Any = None
    if x.ndim and m.flip():
        axis = m.axis(x)
        if x.ndim > 1 and m.flip():
            axis = tuple(sorted({axis % x.ndim, m.axis(x) % x.ndim}))
    if function is np.linalg.norm:
        return function(x, axis=axis if x.ndim and isinstance(axis, int) else None) if x.ndim else x
    return function(x, axis=axis) if function is np.ptp and not keepdims else function(x, axis=axis, keepdims=keepdims)


# ----- shapes ---------------------------------------------------------------------------------------
def moved(m: Maker, x: Any) -> Any:
    if x.ndim == 0:
        return m.one([
            lambda: np.reshape(x, (1,)), lambda: np.broadcast_to(x, (2, 3)), lambda: np.expand_dims(x, 0),
            lambda: np.reshape(x, (1, 1)), lambda: np.tile(x, 3), lambda: np.ravel(x),
        ])()  # fmt: skip
    a, b = m.axis(x), m.axis(x)
    return m.one([
        lambda: np.reshape(x, -1), lambda: np.transpose(x), lambda: x.T, lambda: np.swapaxes(x, a, b),
        lambda: np.moveaxis(x, a, b), lambda: np.flip(x), lambda: np.flip(x, a), lambda: np.roll(x, 1, a),
        lambda: np.roll(x, -2), lambda: np.expand_dims(x, a), lambda: np.squeeze(x),
        lambda: np.broadcast_to(x, (2, *x.shape)), lambda: np.reshape(x, (*x.shape[1:], x.shape[0])),
        lambda: np.tile(x, 2), lambda: np.repeat(x, 2, a), lambda: np.pad(x, 1), lambda: np.ravel(x, order="F"),
        lambda: np.tril(x) if x.ndim > 1 else np.diag(x), lambda: np.triu(x, 1) if x.ndim > 1 else x[:, None],
        lambda: np.rot90(x) if x.ndim > 1 else np.flip(x), lambda: np.atleast_3d(x), lambda: np.diff(x, axis=a),
        lambda: np.transpose(x, tuple(m.choose.permutation(x.ndim).tolist())), lambda: np.reshape(x, (-1, 1)),
        lambda: np.diagonal(x) if x.ndim > 1 else x, lambda: np.pad(x, 1, "edge"),
    ])()  # fmt: skip


# ----- indices --------------------------------------------------------------------------------------
def indexed(m: Maker, x: Any) -> Any:
    if x.ndim == 0 or 0 in x.shape:
        return x[None] if m.flip() else x[...]
    n = x.shape[0]
    at, rows = int(m.numbers.integers(-n, n)), m.numbers.integers(-n, n, 4)
    last = m.numbers.integers(0, x.shape[-1], 4)
    static = int(m.choose.integers(-n, n))
    axis = m.axis(x)
    along = m.numbers.integers(0, x.shape[axis], 3)
    mask = np.arange(n) % 2 == 0
    return m.one([
        lambda: x[static], lambda: x[::-1], lambda: x[::2], lambda: x[1:], lambda: x[..., -1],
        lambda: x[None, ..., None],
        lambda: x[-1:, None], lambda: x[:0:-1], lambda: x[rows], lambda: x[rows.astype(np.int32)], lambda: x[..., last],
        lambda: x[rows, ..., last], lambda: x[rows.reshape(2, 2)], lambda: x[mask], lambda: x[np.array(at)],
        lambda: x[[0, static]], lambda: x[list(range(n))], lambda: x[rows, None], lambda: np.take(x, along, axis),
        lambda: np.take(x, rows, 0, mode="wrap"), lambda: np.take(x, [1, 0, 7], axis, mode="clip"),
        lambda: np.sort(x, axis), lambda: np.take_along_axis(x, np.argsort(x.numpy(), axis), axis),
        lambda: x[np.int64(static)], lambda: x[rows.astype(np.uint8) % n], lambda: np.cumsum(x, axis),
        lambda: np.cumsum(x),
        lambda: np.cumprod(np.tanh(x) + 1.5, axis), lambda: np.cumprod(x, axis),
        lambda: x[rows[:, None], last] if x.ndim == 2 else x[rows[:, None]],
        lambda: np.delete(x, 0, axis) if x.shape[axis] > 1 else x,
        lambda: np.partition(x, 0, axis), lambda: x[True], lambda: x[0:n:1, ...], lambda: np.insert(x, 0, 1.5, axis),
        lambda: np.maximum.accumulate(x, axis), lambda: np.array_split(x, 2, axis),
        lambda: np.split(x, [0, 1], axis)[1:],
        lambda: np.unstack(x, axis=axis),
    ])()  # fmt: skip


# ----- several operands -----------------------------------------------------------------------------
def joined(m: Maker, x: Any) -> Any:
    y: Any = next((p for p in reversed(m.pool[:-1]) if p.shape == x.shape), None)
    y = m.array(x.shape) if y is None or m.choose.random() < 0.3 else y
    parts = [x, y, x] if m.flip() else [y, x]
    if x.ndim == 0:
        return np.stack(parts) if m.flip() else np.hstack(parts)
    axis = m.axis(x)
    return m.one([
        lambda: np.concatenate(parts, axis), lambda: np.stack(parts, axis), lambda: np.concatenate(parts, None),
        lambda: np.vstack(parts), lambda: np.hstack(parts), lambda: np.append(x, y), lambda: np.stack(parts, -1),
        lambda: np.select([x.numpy() > 0, x.numpy() < -1], [x, y], 0.5), lambda: np.einsum("...,...->...", x, y),
        lambda: np.meshgrid(np.ravel(x), np.ravel(y)[:2]),
    ])()  # fmt: skip


def product(m: Maker, x: Any) -> Any:
    if x.ndim == 0:
        return np.outer(x, m.array((3,))) if m.flip() else np.dot(x, m.array((2,)))
    n = x.shape[-1]
    fitting = [p for p in m.pool if p.ndim == 2 and p.shape[0] == n] or [m.array((n, 2))]
    y = m.one(fitting) if m.choose.random() < 0.6 else m.array((n, 3))
    a, b = m.array((n,)), np.tanh(x)
    return m.one([
        lambda: x @ y, lambda: np.dot(x, y), lambda: x @ a, lambda: a @ np.swapaxes(x, -1, -2) if x.ndim > 1 else a @ x,
        lambda: np.tensordot(x, y, 1), lambda: np.tensordot(x, x, x.ndim), lambda: np.einsum("...i,ij->...j", x, y),
        lambda: np.einsum("i...,i...->...", x, b), lambda: np.inner(x, a), lambda: np.outer(x, b),
        lambda: x @ np.swapaxes(b, -1, -2) if x.ndim > 1 else x @ b,
        lambda: np.swapaxes(x, -1, -2) @ b if x.ndim > 1 else x,
        lambda: np.einsum("ij,kj->ik", x, b) if x.ndim == 2 else np.vdot(x, b), lambda: np.kron(x, b),
        lambda: np.einsum("ii->i", x @ np.swapaxes(x, -1, -2)) if x.ndim == 2 else x,
        lambda: np.tensordot(x, m.array((2, x.shape[0])), ((0,), (1,))),
        lambda: x[None] @ y[None] if x.ndim > 1 else x @ y,
        lambda: x[..., None] @ x[..., None, :],
    ])()  # fmt: skip


def stopped(m: Maker, x: Any) -> Any:
    m.stops = True
    return jitgrad.stop_gradient(x)


def other(m: Maker, x: Any) -> Any:
    if x.ndim == 0 or 0 in x.shape:
        return stopped(m, x) * x
    labels = np.eye(x.shape[-1], dtype=m.dtype)[m.numbers.integers(0, x.shape[-1], x.shape[:-1])]
    classes = m.numbers.integers(0, x.shape[-1], x.shape[:-1])
    axis = m.axis(x)
    return m.one([
        lambda: jitgrad.nn.softmax(x), lambda: jitgrad.nn.log_softmax(x), lambda: stopped(m, x) * x,
        lambda: jitgrad.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x),
        lambda: jitgrad.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x),
        lambda: np.logaddexp.reduce(x, axis=axis), lambda: np.average(x, axis, m.array(x.shape) ** 2 + 1),
        lambda: np.trapezoid(x, axis=axis), lambda: np.gradient(x, axis=axis) if x.shape[axis] > 1 else x,
        lambda: np.quantile(x, 0.3, axis=axis), lambda: np.cov(x) if x.ndim == 2 and x.shape[1] > 1 else x,
        lambda: np.linspace(x, 1.0, 3), lambda: np.interp(np.ravel(x), [-1.0, 0.0, 2.0], [0.0, 2.0, 1.0]),
    ])()  # fmt: skip
