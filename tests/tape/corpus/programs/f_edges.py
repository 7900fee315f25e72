"""Kinks, singular points, extremes, linear algebra."""

import numpy as np

from tests.tape.corpus.tapelib import A, grads, grads_v, grid, program

NAN, INF = float("nan"), float("inf")


@program(
    "where_guards_nan",
    "where nan",
    prefer={"log.g.0": A([0.0, 0.0, 0.5]), "sqrt.g.0": A([0.0, 0.0, 0.25]), "div.g.0": A([0.0, -0.25])},
)
def _(T):
    n = T.np
    return {
        "log": grads(T, lambda v: n.where(v > 0.0, n.log(v), 0.0), A([-1.0, 0.0, 2.0])),
        "sqrt": grads(T, lambda v: n.where(v > 0.0, n.sqrt(v), 0.0), A([-1.0, 0.0, 4.0])),
        "div": grads(T, lambda v: n.where(v != 0.0, 1.0 / v, 0.0), A([0.0, 2.0])),
        "safe": grads(T, lambda v: n.where(v > 0.0, n.log(n.where(v > 0.0, v, 1.0)), 0.0), A([-1.0, 0.0, 2.0])),
    }


@program("where_plain", "where")
def _(T):
    c = np.array([True, False, True])
    return {
        "ab": grads(T, lambda a, b: T.np.where(c, a * a, b * 3.0), A([1.0, 2.0, 3.0]), A([4.0, 5.0, 6.0])),
        "row": grads(T, lambda a, b: T.np.where(c, a, b) ** 2, grid(2, 3), grid(3)),
    }


@program("clip", "kink", accept={"edges.g.0": [A([0.5, 1.0, 0.5]), A([0.0, 1.0, 0.0])]})
def _(T):
    return {
        "inside": grads(T, lambda v: T.np.clip(v, -1.0, 1.0) ** 2, A([-3.0, -0.5, 0.5, 3.0])),
        "edges": grads(T, lambda v: T.np.clip(v, -1.0, 1.0), A([-1.0, 0.0, 1.0])),
    }


@program("kinks", "kink")
def _(T):
    n = T.np
    return {
        "abs": grads(T, n.abs, A([-2.0, 0.0, 3.0])),
        "sign": grads(T, lambda v: n.sign(v) * v, A([-2.0, 0.0, 3.0])),
        "floor": grads(T, lambda v: n.floor(v) * v, A([1.5, -0.5, 2.0])),
        "relu": grads(T, T.nn.relu, A([-1.0, 0.0, 2.0])),
    }


@program("singular_points", "singular", prefer={"norm.g.0": A([0.0, 0.0])})
def _(T):
    n = T.np
    return {
        "sqrt": grads(T, n.sqrt, A([0.0, 4.0])),
        "log": grads(T, n.log, A([0.0, 2.0])),
        "norm": grads(T, n.linalg.norm, A([0.0, 0.0])),
        "reciprocal": grads(T, lambda v: 1.0 / v, A([0.0, 2.0])),
    }


@program("norms", "norm")
def _(T):
    f = T.np.linalg.norm
    return {
        "two": grads(T, f, A([3.0, -4.0])),
        "axis": grads(T, lambda v: f(v, axis=1), grid(2, 3)),
        "keep": grads(T, lambda v: v / f(v, axis=1, keepdims=True), grid(2, 3), og=grid(2, 3)),
        "one": grads(T, lambda v: f(v, ord=1), A([3.0, -4.0])),
        "inf": grads(T, lambda v: f(v, ord=np.inf), A([3.0, -4.0])),
        "fro": grads(T, f, grid(2, 2)),
        "second": grads_v(T, lambda v: f(v) * v[0], A([1.0, 2.0])),
    }


@program(
    "powers",
    "pow",
    prefer={"zeroth.g.0": A([0.0, 0.0]), "zero_base.g.0": A([0.0, 1.0, 0.0])},
    accept={"zero_base.g.1": [A([-INF, 0.0, 0.0]), A([NAN, 0.0, 0.0])]},
)
def _(T):
    n = T.np
    return {
        "square0": grads(T, lambda v: v**2, A([0.0, -3.0])),
        "zeroth": grads(T, lambda v: v**0, A([0.0, -3.0])),
        "first0": grads(T, lambda v: v**1, A([0.0, 2.0])),
        "half0": grads(T, lambda v: v**0.5, A([0.0, 4.0])),
        "minus": grads(T, lambda v: v**-2, A([2.0, -1.0])),
        "negative_base": grads(T, lambda v: v**3.0, A([-2.0, 0.0])),
        "zero_base": grads(T, n.power, A([0.0, 0.0, 0.0]), A([0.0, 1.0, 2.0])),
        "both": grads(T, n.power, A([2.0, 0.5]), A([3.0, -1.0])),
        "base0": grads(T, lambda v: 0.0**v, A([1.0, 2.0])),
        "second0": grads_v(T, lambda v: n.sum(v**3), A([0.0, 1.0])),
    }


@program("softmax_extremes", "softmax extreme nn")
def _(T):
    x = A([[1000.0, 0.0, -1000.0], [0.1, 0.2, 0.3], [-700.0, -701.0, -702.0]])
    w = grid(3, 3)
    return {
        "softmax": grads(T, T.nn.softmax, x, og=w),
        "log_softmax": grads(T, T.nn.log_softmax, x, og=w),
        "sigmoid": grads(T, T.nn.sigmoid, x, og=w),
        "softplus": grads(T, T.nn.softplus, x, og=w),
        "tanh": grads(T, T.np.tanh, x, og=w),
        "axis0": grads(T, lambda v: T.nn.softmax(v, axis=0), grid(3, 3), og=w),
        "xent": grads(
            T, lambda v: T.nn.sparse_softmax_cross_entropy_with_logits(labels=np.array([2, 0, 1]), logits=v), x
        ),
    }


@program("infinite_values", "extreme nan")
def _(T):
    n = T.np
    return {
        "exp": grads(T, n.exp, A([710.0, -INF, 0.0])),
        "nan": grads(T, lambda v: v * v, A([NAN, 1.0])),
        "log1p": grads(T, n.log1p, A([-1.0, 1e-300, INF])),
        "tan": grads(T, n.arctan, A([INF, -INF])),
    }


@program("linear_solves", "linalg")
def _(T):
    s, a = T.np.linalg.solve, grid(3, 3) + 3.0 * np.eye(3)
    return {
        "matrix": grads(T, s, a, grid(3, 2), og=grid(3, 2)),
        "vector": grads(T, s, a, grid(3), og=grid(3)),
        "batch": grads(T, s, np.stack([a, a.T]), grid(2, 3, 1), og=grid(2, 3, 1)),
        "inv": grads(T, T.np.linalg.inv, a, og=grid(3, 3)),
        "second": grads_v(T, lambda m: T.np.sum(T.np.linalg.inv(m) ** 2), a),
    }


@program("determinants", "linalg")
def _(T):
    L, a = T.np.linalg, grid(3, 3) + 2.0 * np.eye(3)
    return {
        "det": grads(T, L.det, a),
        "batch": grads(T, lambda m: L.det(m) ** 2, np.stack([a, a @ a])),
        "slogdet": grads(T, lambda m: L.slogdet(m)[1], -a),
        "det2": grads_v(T, lambda m: L.det(m), a[:2, :2]),
    }


@program("cholesky", "linalg")
def _(T):
    b = grid(3, 3)

    def f(m):
        spd = m @ T.np.transpose(m) + A(2.0 * np.eye(3))
        return T.np.linalg.cholesky(spd)

    return {
        "spd": grads(T, f, b, og=grid(3, 3)),
        "logdet": grads(T, lambda m: T.np.sum(T.np.log(T.np.diagonal(f(m)))), b),
    }
