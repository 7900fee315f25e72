"""Calls of the library's operations on a corpus case, with flat NumPy results.

Each function takes ``(lib, case, args, ...)``; `lib` is the module under test.
"""

from __future__ import annotations

import numpy as np

from tests.corpus.corpuslib import Case, flat, is_float_leaf, is_seq, result, unflat


def _options(case: Case) -> dict:
    options = {"argnums": case.wrt}
    if case.outs:
        options["outs"] = case.outs
    return options


def _named(case: Case) -> dict:
    return {"kwargs": case.kwargs} if case.kwargs else {}


def _differentiated(case: Case, args) -> tuple:
    return tuple(args[i] for i in case.wrt)


def grad(lib, case: Case, args) -> np.ndarray:
    return flat(lib.grad(case.fn, **_options(case))(*args, **case.kwargs))


def vjp(lib, case: Case, args, cotangent) -> np.ndarray:
    _, pullback = lib.vjp(case.fn, *args, **_options(case), **_named(case))
    if case.kind != "error":  # an error case's payload is passed as it is
        cotangent = unflat(result(case, case.args()), cotangent)
    return flat(pullback(cotangent))


def jvp(lib, case: Case, args, tangent) -> np.ndarray:
    tangents = unflat(_differentiated(case, args), tangent) if case.kind != "error" else (tangent,)
    return flat(lib.jvp(case.fn, args, tangents, **_options(case), **_named(case))[1])


def jacobian(lib, case: Case, args) -> np.ndarray:
    like = result(case, case.args())
    jac = lib.jacobian(case.fn, **_options(case))(*args, **case.kwargs)
    rows = _rows(jac, like, _differentiated(case, args))
    return np.concatenate(rows, axis=0).reshape(flat(like).size, -1)


def hessian(lib, case: Case, args) -> np.ndarray:
    blocks = lib.hessian(case.fn, **_options(case))(*args, **case.kwargs)
    sizes = [flat(p).size for p in _differentiated(case, args)]
    count = range(len(sizes))
    return np.block([[np.asarray(blocks[i][j], float).reshape(sizes[i], sizes[j]) for j in count] for i in count])


def _rows(jac, like, primals) -> list[np.ndarray]:
    """One (n_out_leaf, n_in) block per float leaf of the result.

    The layout asked of `jacobian`: the structure of the result, at each float leaf the structure of the
    differentiated arguments (a tuple, as argnums is one), at each of those an array out.shape + in.shape.
    """
    if is_seq(like):
        return [row for j, part in zip(jac, like, strict=True) for row in _rows(j, part, primals)]
    if not is_float_leaf(like):
        return []
    n = flat(like).size
    return [np.concatenate([b.reshape(n, -1) for b in _columns(jac, primals, n)], axis=1)]


def _columns(jac, primals, n: int) -> list[np.ndarray]:
    if is_seq(primals):
        return [col for j, part in zip(jac, primals, strict=True) for col in _columns(j, part, n)]
    return [np.asarray(jac, float).reshape(n, -1)] if is_float_leaf(primals) else []
