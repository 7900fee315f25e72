"""`np.linalg`: systems, inverses, determinants and norms of stacks of matrices. Decompositions are in `decompositions`.

Formulas after M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008), and G. Golub and V. Pereyra (1973) for pseudo-inverses. They are those of `jitgrad.rules.linalg`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.products import adjoint, as_array, conj, transposed
from jitgrad.tape.functions.registering import primitive, without_derivative
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive, plain
from jitgrad.tape.tensor import Tensor, Value


def column(x: Any) -> Any:
    """Vectors as matrices of one column."""
    return np.expand_dims(x, -1)


def of_diagonal(x: Any) -> Any:
    """Diagonal matrices with these diagonals."""
    return column(x) * np.eye(x.shape[-1], dtype=x.dtype)


# ----- inv, solve ----------------------------------------------------------------------------------
def _inv(ct, out, a):
    h = adjoint(out)
    return -(h @ ct @ h)


primitive(np.linalg.inv, _inv, name="MatrixInverse")


class _Solve(Primitive):
    """Both pullbacks need the same solution, so they are one."""

    __slots__ = ()
    traceable = True

    def __init__(self):
        super().__init__("MatrixSolve", np.linalg.solve, ())

    def cotangents(self, wanted, ct, out, args, kwargs):
        a, b = args
        if b.ndim == 1:
            ct, out = column(ct), column(out)
        found_b = np.linalg.solve(adjoint(a), ct)
        found_a = -(found_b @ adjoint(out)) if 0 in wanted else None
        return [(found_a, np.squeeze(found_b, -1) if b.ndim == 1 else found_b)[k] for k in wanted]


_SOLVE = _Solve()


@handles(np.linalg.solve)
def solve(a, b):
    return _SOLVE(as_array(a), as_array(b))


@handles(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = as_array(a), as_array(b)
    if axes is not None:
        last = [k % a.ndim for k in axes]
        a = np.transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    x = solve(np.reshape(a, (b.size, b.size)), np.ravel(b))
    return np.reshape(x, a.shape[b.ndim :])


@handles(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    shape = a.shape[ind:] + a.shape[:ind]
    return np.reshape(np.linalg.inv(np.reshape(a, (int(np.prod(a.shape[:ind])), -1))), shape)


# ----- pinv, lstsq ---------------------------------------------------------------------------------
def _pinv(ct, out, a, rcond=None, *, rtol=None):
    h, c = adjoint(out), adjoint(ct)
    rows, columns = np.eye(a.shape[-2], dtype=a.dtype), np.eye(a.shape[-1], dtype=a.dtype)
    return -(h @ ct @ h) + (rows - a @ out) @ c @ (out @ h) + (h @ out) @ c @ (columns - out @ a)


_PINV = Primitive("PseudoInverse", np.linalg.pinv, (_pinv,))


@handles(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, **kwargs):
    if hermitian:
        raise UnsupportedError("np.linalg.pinv of tape values does not take hermitian=True; leave it out")
    return _PINV(a, **({} if rcond is None else {"rcond": plain(rcond)}), **kwargs)


@handles(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """By the pseudo-inverse of the rank that `np.linalg.lstsq` finds; right where the rank is constant."""
    a, b = as_array(a), as_array(b)
    _, residuals, rank, s = np.linalg.lstsq(plain(a), plain(b), plain(rcond))
    cut = 0.0 if rank == len(s) else float(s[rank] + (s[rank - 1] if rank else 2 * s[0])) / (2 * float(s[0]) or 1.0)
    x = pinv(a, cut) @ b
    if residuals.size:
        rest = b - a @ x
        residuals = np.reshape(np.sum(np.real(rest * conj(rest)), axis=0), residuals.shape)
    else:
        residuals = Tensor(residuals)
    return x, residuals, rank, np.linalg.svd(a, compute_uv=False) if isinstance(a, Value) else Tensor(s)


# ----- det, slogdet --------------------------------------------------------------------------------
def _products_of_others(s: np.ndarray, count: int) -> np.ndarray:
    """Products of the numbers `s` but one (`count` 1) or but two, those at the position; zero on the diagonal then."""
    n = s.shape[-1]
    if count == 1:
        return np.prod(np.where(np.eye(n, dtype=bool), 1, s[..., None, :]), axis=-1)
    left = np.eye(n, dtype=bool)[:, None, :] | np.eye(n, dtype=bool)
    return np.prod(np.where(left, 1, s[..., None, None, :]), axis=-1) * (1 - np.eye(n, dtype=s.dtype))


def _rotated(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Singular value decomposition, and the determinant of the two rotations."""
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _cofactors(a):
    """Derivatives of the determinant in each element, exact for singular matrices too.

    Cofactors are multiplicative; those of a unitary matrix are its determinant times its conjugate.
    """
    u, s, vh, phase = _rotated(a)
    return phase * ((np.conj(u) * _products_of_others(s, 1)[..., None, :]) @ np.conj(vh))


def _cofactors_of_cofactors(ct, out, a):
    """The pullback: second derivatives of the determinant.

    Of a diagonal matrix they are the products of the other diagonal elements, so on arrays they come from the singular
    values, for any matrix. On tensors, for derivatives of third order, the matrix must be regular.
    """
    if isinstance(ct, Value) or isinstance(a, Value):
        w, b = conj(ct), transposed(np.linalg.inv(a))
        inner = np.expand_dims(np.sum(w * b, axis=(-2, -1)), (-2, -1))
        return conj(np.expand_dims(np.linalg.det(a), (-2, -1)) * (inner * b - b @ transposed(w) @ b))
    u, s, vh, phase = _rotated(a)
    w = adjoint(u) @ np.conj(ct) @ adjoint(vh)
    pairs = _products_of_others(s, 2)
    middle = -pairs * np.swapaxes(w, -1, -2)
    on = np.einsum("...ii->...i", middle)
    on[...] = np.sum(pairs * np.einsum("...jj->...j", w)[..., None, :], axis=-1)
    return np.conj(phase * (np.conj(u) @ middle @ np.conj(vh)))


_COFACTORS = Primitive("MatrixCofactors", _cofactors, (_cofactors_of_cofactors,))


def _det(ct, out, a):
    return np.expand_dims(ct, (-2, -1)) * conj(_COFACTORS(a))


primitive(np.linalg.det, _det, name="MatrixDeterminant")


def _inverse_or_nan(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        if a.ndim == 2:
            return np.full_like(a, np.nan)
        return np.stack([_inverse_or_nan(m) for m in a])


_INVERSE_OR_NAN = Primitive("MatrixInverse", _inverse_or_nan, (_inv,))


def _slogdet_pull(ct, out, a):
    sign, size = ct
    if a.dtype.kind == "c":
        turned = 0.0 if sign is None else np.real(conj(sign) * 1j * out[0])
        size = 1j * turned + (0.0 if size is None else size)
    if size is None:  # the sign of a real determinant is piecewise constant
        return None
    return np.expand_dims(size, (-2, -1)) * adjoint(_INVERSE_OR_NAN(a))


_SLOGDET = Primitive("LogMatrixDeterminant", lambda a: tuple(np.linalg.slogdet(a)), (_slogdet_pull,))
_SLOGDET_RESULT = type(np.linalg.slogdet(np.eye(1)))


@handles(np.linalg.slogdet)
def slogdet(a):
    return _SLOGDET_RESULT(*_SLOGDET(a))


# ----- norms ---------------------------------------------------------------------------------------
def _ratio(x: Any, y: Any) -> Any:
    """``x / y``, zero where `y` is."""
    zero = y == 0
    return np.where(zero, 0.0, x / np.where(zero, 1.0, y))


def _two_norm_pull(ct, out, x, axis=None):
    return ct * _ratio(x, out)


_TWO_NORM = Primitive(
    "EuclideanNorm",
    lambda x, axis: np.sqrt(np.sum(np.real(x * np.conj(x)), axis=axis, keepdims=True)),
    (_two_norm_pull,),
)


def _power_norm_pull(ct, out, x, axis=None, ord=None):
    size = np.abs(x)
    used = np.logical_and(size != 0, out != 0)
    ratio = np.where(used, size, 1.0) / np.where(used, out, 1.0)
    return np.where(used, ct * _ratio(x, size) * ratio ** (ord - 1.0), 0.0)


_POWER_NORM = Primitive(
    "PowerNorm",
    lambda x, axis, ord: np.sum(np.abs(x) ** ord, axis=axis, keepdims=True) ** (1 / ord),
    (_power_norm_pull,),
)


def _vector_norm(x: Any, axis: Any, ord: Any) -> Any:
    """Over `axis`, which is kept as ones."""
    if ord is None or ord == 2:
        return _TWO_NORM(x, axis=axis)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=True)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=True)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=True)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), axis=axis, keepdims=True)
    return _POWER_NORM(x, axis=axis, ord=float(ord))


def _matrix_norm(x: Any, axis: tuple[int, int], ord: Any) -> Any:
    """Over the two axes, which are kept as ones."""
    rows, columns = axis
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return _TWO_NORM(x, axis=axis)
    if ord in (1, -1, np.inf, -np.inf):
        summed, left = (rows, columns) if ord in (1, -1) else (columns, rows)
        extreme = np.max if ord > 0 else np.min
        return extreme(np.sum(np.abs(x), axis=summed, keepdims=True), axis=left, keepdims=True)
    if ord in ("nuc", 2, -2):
        s = np.linalg.svd(np.moveaxis(x, axis, (-2, -1)), compute_uv=False)
        found = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
        return np.expand_dims(found, axis)
    raise ValueError(f"Invalid norm order {ord!r} for matrices.")


@handles(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    ord = plain(ord)
    if axis is None:
        axes = tuple(range(x.ndim))
        if ord is not None and x.ndim not in (1, 2):
            raise ValueError("Improper number of dimensions to norm.")
    else:
        axes = tuple([operator.index(k) % x.ndim for k in (axis if isinstance(axis, (tuple, list)) else (axis,))])
        if len(axes) not in (1, 2):
            raise ValueError("Improper number of dimensions to norm.")
    if axis is not None and len(axes) == 2 or ord is not None and x.ndim == 2 and axis is None:
        found = _matrix_norm(x, axes, ord)
    else:
        found = _vector_norm(x, axes, ord)
    return found if keepdims else np.squeeze(found, axes)


@handles(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    found = _vector_norm(x, tuple([k % x.ndim for k in axes]), plain(ord))
    return found if keepdims else np.squeeze(found, axes)


@handles(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)


@handles(np.linalg.cond)
def cond(x, p=None):
    if p in (None, 2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(np.linalg.inv(x), p, (-2, -1))


# ----- the same functions under another name ---------------------------------------------------------
@handles(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    return transposed(x)


@handles(np.linalg.trace)
def trace(x, /, *, offset=0, dtype=None):
    found = np.trace(x, offset, -2, -1)
    return found if dtype is None else found.astype(dtype)


@handles(np.linalg.diagonal)
def diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset, -2, -1)


without_derivative((np.linalg.matrix_rank,))
