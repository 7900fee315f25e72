"""Products of vectors, matrices and tensors.

`np.matmul`, `np.tensordot` and `np.einsum` are primitives; the other products are written with them. The cotangent of a
complex operand is multiplied by conjugates, so that ``real(conj(ct) * dot)`` is kept.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import string
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.registering import primitive
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive


def conj(x: Any) -> Any:
    """The conjugate; `x` itself where it is real."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def transposed(x: Any) -> Any:
    """The matrices of a stack transposed."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The matrices of a stack transposed and conjugated."""
    return conj(transposed(x))


def as_array(x: Any) -> Any:
    """Operands with a rank: lists and numbers become arrays."""
    return x if hasattr(x, "dtype") else np.asarray(x)


# ----- matmul --------------------------------------------------------------------------------------
def _matmul_a(ct, out, a, b):
    a, b = as_array(a), as_array(b)
    if b.ndim == 1:
        return np.expand_dims(ct, -1) * conj(b)
    if a.ndim == 1:
        return np.squeeze(np.expand_dims(ct, -2) @ adjoint(b), -2)
    return ct @ adjoint(b)


def _matmul_b(ct, out, a, b):
    a, b = as_array(a), as_array(b)
    if a.ndim == 1 and b.ndim == 1:
        return ct * conj(a)
    if a.ndim == 1:
        return np.expand_dims(conj(a), -1) * np.expand_dims(ct, -2)
    if b.ndim == 1:
        rows, ct = np.reshape(a, (-1, b.shape[0])), np.ravel(ct)
        return conj(np.transpose(rows)) @ ct
    if b.ndim == 2 and a.ndim > 2:  # one product, not a stack of them that would be summed
        a, ct = np.reshape(a, (-1, b.shape[0])), np.reshape(ct, (-1, b.shape[1]))
    return adjoint(a) @ ct


MATMUL = primitive(np.matmul, _matmul_a, _matmul_b, name="MatMul")


@handles(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    return MATMUL(x1, x2)


@handles(np.vecdot)
def vecdot(x1, x2, /):
    return np.sum(conj(as_array(x1)) * x2, axis=-1)


@handles(np.linalg.vecdot)
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return vecdot(np.moveaxis(as_array(x1), axis, -1), np.moveaxis(as_array(x2), axis, -1))


@handles(np.matvec)
def matvec(x1, x2, /):
    return np.squeeze(MATMUL(x1, np.expand_dims(as_array(x2), -1)), -1)


@handles(np.vecmat)
def vecmat(x1, x2, /):
    return np.squeeze(MATMUL(np.expand_dims(conj(as_array(x1)), -2), x2), -2)


# ----- tensordot, dot and their relatives -----------------------------------------------------------
def _others(ndim: int, axes: Sequence[int]) -> list[int]:
    return [k for k in range(ndim) if k not in axes]


def _tensordot_a(ct, out, a, b, axes):
    summed_a, summed_b = axes
    free = a.ndim - len(summed_a)
    # the free axes of a, then its summed ones in the order in which b has them
    found = np.tensordot(ct, conj(b), (tuple(range(free, ct.ndim)), tuple(_others(b.ndim, summed_b))))
    order = _others(a.ndim, summed_a) + [summed_a[k] for k in np.argsort(summed_b)]
    return np.transpose(found, np.argsort(order))


def _tensordot_b(ct, out, a, b, axes):
    summed_a, summed_b = axes
    free = a.ndim - len(summed_a)
    found = np.tensordot(conj(a), ct, (tuple(_others(a.ndim, summed_a)), tuple(range(free))))
    order = [summed_b[k] for k in np.argsort(summed_a)] + _others(b.ndim, summed_b)
    return np.transpose(found, np.argsort(order))


_TENSORDOT = Primitive("Tensordot", lambda a, b, axes: np.tensordot(a, b, axes), (_tensordot_a, _tensordot_b))


@handles(np.tensordot)
def tensordot(a, b, axes=2):
    a, b = as_array(a), as_array(b)
    try:
        axes_a, axes_b = axes
    except TypeError:
        count = operator.index(axes)
        axes_a, axes_b = range(a.ndim - count, a.ndim), range(count)
    return _TENSORDOT(a, b, axes=(normalize_axis_tuple(axes_a, a.ndim), normalize_axis_tuple(axes_b, b.ndim)))


@handles(np.linalg.tensordot)
def linalg_tensordot(x1, x2, /, *, axes=2):
    return tensordot(x1, x2, axes)


@handles(np.dot)
def dot(a, b):
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    if b.ndim == 1 or a.ndim == 1 or (a.ndim == 2 and b.ndim == 2):
        return MATMUL(a, b)
    return tensordot(a, b, (-1, -2))


@handles(np.inner)
def inner(a, b):
    a, b = as_array(a), as_array(b)
    return np.multiply(a, b) if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, (-1, -1))


@handles(np.vdot)
def vdot(a, b):
    return MATMUL(conj(np.ravel(as_array(a))), np.ravel(as_array(b)))


@handles(np.outer, np.linalg.outer)
def outer(a, b):
    return np.expand_dims(np.ravel(as_array(a)), 1) * np.ravel(as_array(b))


@handles(np.kron)
def kron(a, b):
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    rows, columns = (1,) * (ndim - a.ndim) + a.shape, (1,) * (ndim - b.ndim) + b.shape
    spread_a = np.reshape(a, [n for pair in zip(rows, (1,) * ndim, strict=True) for n in pair])
    spread_b = np.reshape(b, [n for pair in zip((1,) * ndim, columns, strict=True) for n in pair])
    return np.reshape(spread_a * spread_b, tuple(m * n for m, n in zip(rows, columns, strict=True)))


@handles(np.linalg.multi_dot)
def multi_dot(arrays):
    arrays = [as_array(a) for a in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    # As matrices: a vector is a row in front, a column at the end.
    sizes = [1 if arrays[0].ndim == 1 else arrays[0].shape[0], *(a.shape[0] for a in arrays[1:]), 1]
    sizes[-1] = arrays[-1].shape[1] if arrays[-1].ndim == 2 else 1

    @functools.cache
    def best(first: int, last: int) -> tuple[int, int]:
        """Multiplications for the product of these matrices, and where to split it."""
        if first == last:
            return 0, first
        return min(
            (best(first, k)[0] + best(k + 1, last)[0] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
            for k in range(first, last)
        )

    def product(first: int, last: int) -> Any:
        if first == last:
            return arrays[first]
        split = best(first, last)[1]
        return MATMUL(product(first, split), product(split + 1, last))

    return product(0, len(arrays) - 1)


@handles(np.linalg.matrix_power)
def matrix_power(a, n):
    exponent = operator.index(n)
    if exponent == 0:
        return np.where(False, a, np.eye(a.shape[-1], dtype=a.dtype))  # a constant, whose derivative is zero
    square, result = np.linalg.inv(a) if exponent < 0 else a, None
    exponent = abs(exponent)
    while exponent:
        if exponent & 1:
            result = square if result is None else result @ square
        exponent >>= 1
        if exponent:
            square = square @ square
    return +a if result is a else result


# ----- cross ---------------------------------------------------------------------------------------
_CROSS = Primitive(
    "Cross", np.cross, (lambda ct, out, a, b: np.cross(conj(b), ct), lambda ct, out, a, b: np.cross(ct, conj(a)))
)


@handles(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(as_array(a), axisa, -1), np.moveaxis(as_array(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise UnsupportedError(
            f"np.cross of tape values takes vectors of length 3, not {a.shape[-1]} and {b.shape[-1]}; for vectors in "
            f"the plane write a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]"
        )
    return np.moveaxis(_CROSS(a, b), -1, axisc)


@handles(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    return cross(x1, x2, axis=axis)


# ----- einsum --------------------------------------------------------------------------------------
_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order in which np.einsum sorts them
_BIG = 10_000
"""From so many multiplications on a pullback looks for a good order of contraction."""


def _einsum(*arrays, subscripts, output, optimize):
    return np.einsum(f"{','.join(subscripts)}->{output}", *arrays, optimize=optimize)


def _einsum_pull(k, ct, out, arrays, kwargs):
    """The einsum of the cotangent with the other operands, to the indices of operand `k`.

    An index that operand `k` has twice reads a diagonal: there the cotangent meets a unit matrix. An index that only
    this operand has was summed over: along it the cotangent is repeated.
    """
    subscripts, shape = kwargs["subscripts"], arrays[k].shape
    texts, operands, wanted = [kwargs["output"]], [ct], ""
    for j, (labels, array) in enumerate(zip(subscripts, arrays, strict=True)):
        if j != k:
            texts.append(labels)
            operands.append(conj(array))
    unused = _unused(subscripts)
    for label, size in zip(subscripts[k], shape, strict=True):
        if label in wanted:
            texts.append(label + (second := next(unused)))
            operands.append(np.eye(size, dtype=ct.dtype))
            label = second
        wanted += label
    known = set("".join(texts))
    target = "".join([label for label in wanted if label in known])
    found = _contracted(texts, target, operands)
    if target == wanted:
        return found
    found = np.expand_dims(found, tuple([j for j, label in enumerate(wanted) if label not in known]))
    sizes = [m if label in known else n for label, m, n in zip(wanted, found.shape, shape, strict=True)]
    return np.broadcast_to(found, tuple(sizes))


def _contracted(texts: list[str], target: str, operands: list[Any]) -> Any:
    sizes: dict[str, int] = {}
    for labels, operand in zip(texts, operands, strict=True):
        for label, n in zip(labels, operand.shape, strict=True):
            sizes[label] = max(n, sizes.get(label, 1))
    return np.einsum(f"{','.join(texts)}->{target}", *operands, optimize=math.prod(sizes.values()) > _BIG)


_EINSUM = Primitive("Einsum", _einsum, _einsum_pull)


@handles(np.einsum)
def einsum(*operands, optimize=False, **kwargs):
    if kwargs:
        raise UnsupportedError(f"np.einsum of tape values does not take {', '.join(kwargs)}=; leave it out")
    text, arrays = (operands[0], operands[1:]) if isinstance(operands[0], str) else _from_lists(operands)
    arrays = tuple([as_array(a) for a in arrays])
    subscripts, output = _parsed(text, arrays)
    return _EINSUM(*arrays, subscripts=subscripts, output=output, optimize=optimize)


def _from_lists(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Subscripts and operands of the form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    arrays, lists = operands[0 : len(operands) // 2 * 2 : 2], operands[1::2]
    text = ",".join([_letters(labels) for labels in lists])
    return (f"{text}->{_letters(operands[-1])}" if len(operands) % 2 else text), arrays


def _letters(labels: Sequence[Any]) -> str:
    return "".join(["..." if label is Ellipsis else _LETTERS[operator.index(label)] for label in labels])


def _unused(subscripts: Sequence[str]) -> Iterator[str]:
    return iter(sorted(set(_LETTERS).difference(*subscripts)))


def _parsed(text: str, arrays: Sequence[Any]) -> tuple[tuple[str, ...], str]:
    """Labels of each operand and of the result: one letter per axis, also for the axes of an ellipsis."""
    text, arrow, output = text.replace(" ", "").partition("->")
    parts = text.split(",")
    if len(parts) != len(arrays):
        raise ValueError(f"np.einsum: {text!r} has subscripts for {len(parts)} operands, but {len(arrays)} were given")
    named = "".join(parts).replace(".", "")
    if not arrow:
        output = "..." + "".join(sorted([label for label in set(named) if named.count(label) == 1]))
    counts = [a.ndim - len(part.replace("...", "")) for part, a in zip(parts, arrays, strict=True)]
    hidden = "".join(itertools.islice(_unused(parts), max(0, *counts)))
    for part, count, array in zip(parts, counts, arrays, strict=True):
        if count < 0 or (count > 0 and "..." not in part):
            raise ValueError(f"np.einsum: subscripts {part!r} do not fit an operand of shape {array.shape}")
    if arrow and hidden and "..." not in output:
        raise ValueError("np.einsum: the operands have an ellipsis, so the result needs one: write '->...'")
    subscripts = [part.replace("...", hidden[len(hidden) - count :]) for part, count in zip(parts, counts, strict=True)]
    return tuple(subscripts), output.replace("...", hidden)
