"""Array functions: shapes, reductions, products, indexing."""

import numpy as np

from tests.tape.corpus.tapelib import A, grads, grads_v, grid, program


@program("broadcasting", "broadcast")
def _(T):
    out = {}
    for k, (sa, sb) in enumerate(
        [
            ((3,), ()),
            ((2, 3), (3,)),
            ((2, 3), (2, 1)),
            ((2, 1), (1, 3)),
            ((4, 1, 3), (2, 1)),
            ((1,), (3,)),
            ((1, 1), (2, 3)),
            ((), ()),
        ]
    ):
        a, b = grid(*sa, lo=0.5, hi=2.0), grid(*sb, lo=1.0, hi=3.0)
        out[f"c{k}"] = grads(T, lambda x, y: x * y - x / y + (x + 1.0) * T.np.power(y, x), a, b)["g"]
    return out


@program("broadcast_minmax", "broadcast kink")
def _(T):
    return {
        "max": grads(T, lambda x, y: T.np.maximum(x, y) * y, grid(3, 1), grid(4, lo=-0.9, hi=1.3)),
        "min": grads(T, lambda x, y: T.np.minimum(x, y) * x, grid(2, 3), grid(3, lo=-0.8, hi=0.9)),
        "where": grads(T, lambda x, y: T.np.where(x > 0.1, x * y, y), grid(3, 1), grid(1, 2, lo=1, hi=2)),
        "to": grads(T, lambda x: T.np.broadcast_to(x, (2, 3)) * grid(2, 3), grid(3)),
    }


@program("reductions", "reduce")
def _(T):
    x, out = grid(2, 3, 4, lo=0.5, hi=1.5), {}
    for name in ("sum", "mean", "prod", "max", "min", "var", "std"):
        f = getattr(T.np, name)
        for k, kw in enumerate(({}, {"axis": 1}, {"axis": (0, 2)}, {"axis": -1, "keepdims": True})):
            out[f"{name}{k}"] = grads(T, lambda v: f(v, **kw) ** 2 * 1.5, x)
    return out


@program(
    "reduction_ties",
    "reduce kink",
    prefer={
        "two.g.0": A([[0.5, 0.0], [0.5, 0.0]]),
        "maximum.g.0": A([0.5, 1.0, 0.0]),
        "maximum.g.1": A([0.5, 0.0, 1.0]),
        "minimum.g.0": A([0.5, 0.0, 1.0]),
        "minimum.g.1": A([0.5, 1.0, 0.0]),
    },
)
def _(T):
    return {
        "max": grads(T, lambda v: T.np.max(v), A([1.0, 3.0, 3.0, 3.0])),
        "min_axis": grads(T, lambda v: T.np.min(v, axis=0), A([[1.0, 2.0], [1.0, 5.0]])),
        "two": grads(T, lambda v: T.np.max(v), A([[4.0, 1.0], [4.0, 2.0]])),
        "maximum": grads(T, T.np.maximum, A([1.0, 2.0, 0.0]), A([1.0, 0.0, 5.0])),
        "minimum": grads(T, T.np.minimum, A([1.0, 2.0, 0.0]), A([1.0, 0.0, 5.0])),
    }


@program("products_with_zeros", "reduce zero")
def _(T):
    return {
        "none": grads(T, T.np.prod, A([2.0, 3.0, 4.0])),
        "one": grads(T, T.np.prod, A([2.0, 0.0, 4.0])),
        "two": grads(T, T.np.prod, A([0.0, 3.0, 0.0])),
        "axis": grads(T, lambda v: T.np.prod(v, axis=1), A([[1.0, 0.0], [2.0, 3.0]])),
        "single": grads(T, T.np.prod, A([0.0])),
    }


@program("matmul_ranks", "matmul")
def _(T):
    out = {}
    for k, (sa, sb) in enumerate(
        [
            ((2, 3), (3, 2)),
            ((3,), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3,)),
            ((4, 2, 3), (4, 3, 2)),
            ((4, 2, 3), (3, 5)),
            ((2, 3), (4, 3, 1)),
            ((2, 1, 2, 3), (4, 3, 2)),
            ((3,), (2, 3, 2)),
            ((2, 2, 3), (3,)),
            ((1, 3), (3, 1)),
        ]
    ):
        out[f"m{k}"] = grads(T, lambda a, b: T.np.square(T.np.matmul(a, b)), grid(*sa), grid(*sb, lo=0, hi=2))
    return out


@program("matmul_operator_second_order", "matmul higher")
def _(T):
    return grads_v(T, lambda a, b: T.np.sum(T.np.sin((a @ b) @ a)), grid(2, 3), grid(3, 2))


@program("dot_outer_tensordot", "matmul")
def _(T):
    return {
        "dot11": grads(T, lambda a, b: T.np.dot(a, b) * 2.0, grid(3), grid(3, lo=0)),
        "dot21": grads(T, lambda a, b: T.np.dot(a, b) ** 2, grid(2, 3), grid(3)),
        "dot22": grads(T, lambda a, b: T.np.dot(a, b) ** 2, grid(2, 3), grid(3, 2)),
        "outer": grads(T, lambda a, b: T.np.outer(a, b) ** 2, grid(2), grid(3)),
        "td1": grads(T, lambda a, b: T.np.tensordot(a, b, axes=1) ** 2, grid(2, 3), grid(3, 2, lo=0)),
        "td2": grads(T, lambda a, b: T.np.tensordot(a, b, axes=2) ** 2, grid(2, 3, 2), grid(3, 2)),
        "tdl": grads(T, lambda a, b: T.np.tensordot(a, b, axes=[[0], [1]]) ** 2, grid(2, 3), grid(4, 2)),
    }


@program("einsum", "einsum")
def _(T):
    e = T.np.einsum
    return {
        "mm": grads(T, lambda a, b: e("ij,jk->ik", a, b) ** 2, grid(2, 3), grid(3, 2)),
        "batch": grads(T, lambda a, b: e("bij,bjk->bik", a, b) ** 2, grid(2, 2, 3), grid(2, 3, 1)),
        "sum": grads(T, lambda a: e("ij->i", a) ** 2, grid(2, 3)),
        "dot": grads(T, lambda a, b: e("i,i->", a, b) ** 2, grid(3), grid(3, lo=0)),
        "bilinear": grads(T, lambda x, m, y: e("i,ij,j->", x, m, y) ** 2, grid(2), grid(2, 3), grid(3)),
        "t": grads(T, lambda a: e("ij->ji", a) ** 2, grid(2, 3)),
        "trace": grads(T, lambda a: e("ii->", a) ** 2, grid(3, 3)),
        "ell": grads(T, lambda a, b: e("...ij,jk->...ik", a, b) ** 2, grid(2, 2, 3), grid(3, 2)),
    }


@program("shapes", "shape")
def _(T):
    w = grid(3, 2, 4)
    return {
        "t": grads(T, lambda v: T.np.transpose(v) * grid(4, 3, 2), grid(2, 3, 4)),
        "axes": grads(T, lambda v: T.np.transpose(v, (1, 0, 2)) * w, grid(2, 3, 4)),
        "reshape": grads(T, lambda v: T.np.reshape(v, (4, -1)) ** 2, grid(2, 3, 4)),
        "ravel": grads(T, lambda v: T.np.ravel(v) ** 2, grid(2, 2)),
        "expand": grads(T, lambda v: T.np.expand_dims(v, 1) * grid(3, 2), grid(3)),
        "squeeze": grads(T, lambda v: T.np.squeeze(v, axis=1) ** 2, grid(2, 1, 3)),
        "swap": grads(T, lambda v: T.np.swapaxes(v, 0, 2) ** 2 * grid(4, 3, 2), grid(2, 3, 4)),
        "move": grads(T, lambda v: T.np.moveaxis(v, 0, -1) * grid(3, 4, 2), grid(2, 3, 4)),
    }


@program("joining", "shape join")
def _(T):
    cat, st = T.np.concatenate, T.np.stack
    return {
        "cat0": grads(T, lambda a, b: cat([a, b, a], axis=0) ** 2 * grid(5, 2), grid(1, 2), grid(3, 2)),
        "cat1": grads(T, lambda a, b: cat([a, b], axis=-1) * grid(2, 4), grid(2, 1), grid(2, 3)),
        "stack0": grads(T, lambda a, b: st([a, b]) ** 2, grid(3), grid(3, lo=0)),
        "stack1": grads(T, lambda a, b: st([a, b, a * b], axis=1) * grid(2, 3), grid(2), grid(2, lo=0)),
        "scalars": grads(T, lambda a, b: st([a, b, a * b]) * A([1.0, 2.0, 3.0]), A(2.0), A(5.0)),
        "split": grads(T, lambda v: T.np.split(v, 3, axis=1)[1] ** 2, grid(2, 6)),
        "split_all": grads(T, lambda v: [p * (k + 1.0) for k, p in enumerate(T.np.split(v, 2, axis=0))], grid(4, 2)),
    }


@program("slicing", "index")
def _(T):
    return {
        "row": grads(T, lambda v: v[1] ** 2, grid(3, 2)),
        "item": grads(T, lambda v: v[0, 1] * v[2, 0], grid(3, 2)),
        "neg": grads(T, lambda v: v[-1] * v[0], grid(3)),
        "step": grads(T, lambda v: v[::2] ** 2, grid(5)),
        "back": grads(T, lambda v: v[::-1] * A([1.0, 2.0, 3.0]), grid(3)),
        "dots": grads(T, lambda v: v[..., 1:] ** 2, grid(2, 2, 3)),
        "new": grads(T, lambda v: v[:, None] * v[None, :] * grid(3, 3), grid(3)),
        "overlap": grads(T, lambda v: (v[1:] - v[:-1]) ** 2, grid(4)),
        "block": grads(T, lambda v: v[1:3, ::-1] * grid(2, 3), grid(4, 3)),
        "empty": grads(T, lambda v: T.np.sum(v[0:0]) + v[0], grid(3)),
    }


@program("gather_repeated", "index gather")
def _(T):
    idx = np.array([0, 0, 2, 0])
    v = T.Variable(grid(3))
    with T.GradientTape() as tape:
        y = T.np.sum(T.np.take(v, idx, axis=0) * A([1.0, 2.0, 3.0, 4.0]))
    return {
        "var": tape.gradient(y, v),
        "rows": grads(T, lambda m: T.np.take(m, np.array([2, 2, 0]), axis=0) ** 2, grid(3, 2)),
        "cols": grads(T, lambda m: T.np.take(m, np.array([[1, 1], [0, 1]]), axis=1) ** 2, grid(2, 3)),
        "second": grads_v(T, lambda m: T.np.sum(T.np.take(m, idx, axis=0) ** 3), grid(3)),
    }


@program("boolean_mask", "index mask")
def _(T):
    mask = np.array([True, False, True])
    return {
        "rows": grads(T, lambda v: v[mask] ** 2, grid(3, 2)),
        "vector": grads(T, lambda v: T.np.sum(v[mask]) * v[1], grid(3)),
        "none": grads(T, lambda v: T.np.sum(v[np.array([False] * 3)]) + v[0], grid(3)),
    }


@program("moving", "shape")
def _(T):
    return {
        "tile": grads(T, lambda v: T.np.tile(v, (2, 3)) * grid(4, 6), grid(2, 2)),
        "repeat": grads(T, lambda v: T.np.repeat(v, 2, axis=0) * grid(4), grid(2)),
        "flip": grads(T, lambda v: T.np.flip(v, axis=1) * grid(2, 3), grid(2, 3)),
        "roll": grads(T, lambda v: T.np.roll(v, 2, axis=0) * grid(5), grid(5)),
        "pad": grads(T, lambda v: T.np.pad(v, ((1, 0), (2, 1))) ** 2 * grid(3, 5), grid(2, 2)),
        "reflect": grads(T, lambda v: T.np.pad(v, ((2, 1),), mode="reflect") * grid(6), grid(3)),
        "tril": grads(T, lambda v: T.np.tril(v) ** 2, grid(3, 3)),
        "diag": grads(T, lambda v: T.np.diag(v) * grid(3, 3), grid(3)),
        "diagonal": grads(T, lambda v: T.np.diagonal(v) ** 2, grid(3, 3)),
        "trace": grads(T, lambda v: T.np.trace(v) ** 2, grid(3, 3)),
    }


@program("cumulative", "cumulative")
def _(T):
    return {
        "sum0": grads(T, lambda v: T.np.cumsum(v, axis=0) ** 2, grid(3, 2)),
        "sum1": grads(T, lambda v: T.np.cumsum(v, axis=1) ** 2, grid(2, 3)),
        "prod": grads(T, lambda v: T.np.cumprod(v, axis=0) * A([1.0, 2.0, 3.0]), A([2.0, -1.0, 0.5])),
        "second": grads_v(T, lambda v: T.np.sum(T.np.cumsum(v, axis=0) ** 3), grid(4)),
    }


@program("sorting", "sort")
def _(T):
    return {
        "sort": grads(T, lambda v: T.np.sort(v, axis=0) * A([1.0, 10.0, 100.0]), A([3.0, 1.0, 2.0])),
        "rows": grads(T, lambda v: T.np.sort(v, axis=-1) ** 2 * grid(2, 3), grid(2, 3)),
    }


@program("unary_functions", "elementwise", accept={"floor.g.0": [A([0.0] * 4)], "sign.g.0": [None]})
def _(T):
    n, out = T.np, {}
    for names, x in (
        ("exp expm1 sin cos tanh arctan sinh cosh arcsinh square negative abs sign floor", A([-1.3, -0.2, 0.4, 2.1])),
        ("log log1p log2 sqrt reciprocal", A([0.3, 1.0, 4.5])),
        ("arcsin arccos arctanh tan", A([-0.9, 0.1, 0.6])),
        ("arccosh", A([1.2, 3.0])),
    ):
        for name in names.split():
            out[name] = grads(T, getattr(n, name), x, og=A([1.0, -2.0, 0.5, 3.0][: len(x)]))
    return out


@program("second_order_functions", "elementwise higher")
def _(T):
    n = T.np
    return {
        f.__name__ if hasattr(f, "__name__") and f.__name__ != "<lambda>" else str(k): grads_v(
            T, lambda v: n.sum(f(v)), A([0.3, 0.8, 1.7])
        )
        for k, f in enumerate(
            (
                lambda v: n.exp(-v * v),
                lambda v: n.log(v) * n.sqrt(v),
                lambda v: n.tanh(v) / (1.0 + v),
                lambda v: n.arctan(v) ** 3,
                lambda v: n.cosh(v) ** -0.5,
            )
        )
    }


@program("binary_functions", "elementwise")
def _(T):
    a, b = A([0.5, -1.5, 2.0]), A([1.5, 2.5, -0.5])
    n = T.np
    return {
        "arctan2": grads(T, n.arctan2, a, b),
        "divide": grads(T, n.divide, a, b),
        "power": grads(T, n.power, A([0.5, 1.5, 2.0]), b),
        "sub": grads(T, n.subtract, a, b),
        "hypot": grads(T, n.hypot, a, b),
        "scalar_left": grads(T, lambda v: 2.0 - v / 4.0 + 3.0 / v + 2.0**v, a),
        "int_scalars": grads(T, lambda v: 2 * v - 1 + v**3, a),
    }
