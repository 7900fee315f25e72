"""Higher orders, Jacobians, forward mode."""

from tests.tape.corpus.tapelib import A, attempt, grid, program


@program("orders_to_three", "nested higher")
def _(T):
    x = T.Variable(A(0.8))
    with T.GradientTape() as t3:
        with T.GradientTape() as t2:
            with T.GradientTape() as t1:
                y = T.np.exp(T.np.sin(x)) * x**2
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    return {"d": [d1, d2, t3.gradient(d2, x)]}


@program("mixed_partials", "nested higher")
def _(T):
    x, y = T.Variable(A(1.2)), T.Variable(A(-0.4))
    with T.GradientTape(persistent=True) as outer:
        with T.GradientTape() as inner:
            f = x**3 * T.np.exp(y) + T.np.cos(x * y)
        fx, fy = inner.gradient(f, [x, y])
    return {
        "xy": outer.gradient(fx, y),
        "yx": outer.gradient(fy, x),
        "xx": outer.gradient(fx, x),
        "yy": outer.gradient(fy, y),
    }


@program("affine_second_order", "nested unconnected")
def _(T):
    x, w, b = T.Variable(A(2.0)), T.Variable(A(3.0)), T.Variable(A(1.0))
    with T.GradientTape(persistent=True) as outer:
        with T.GradientTape() as inner:
            y = x * w + b
        dx, dw, db = inner.gradient(y, [x, w, b])
    return {
        "first": [dx, dw, db],
        "dx": outer.gradient(dx, [x, w, b]),
        "dw": outer.gradient(dw, [x, w, b]),
        "db": outer.gradient(db, [x, w, b]),
        "zero": outer.gradient(dx, x, unconnected_gradients="zero"),
    }


@program("hessian_by_jacobian", "hessian jacobian higher")
def _(T):
    x = T.Variable(A([0.5, -1.0, 2.0]))
    with T.GradientTape() as outer:
        with T.GradientTape() as inner:
            y = T.np.sum(T.np.exp(x * 0.3) * T.np.roll(x, 1, axis=0) ** 2)
        g = inner.gradient(y, x)
    return {"g": g, "h": outer.jacobian(g, x)}


@program("jacobian_shapes", "jacobian")
def _(T):
    x, m = T.Variable(A([1.0, 2.0, 3.0])), T.Variable(grid(2, 3))
    with T.GradientTape(persistent=True) as tape:
        v = m @ T.np.reshape(x, (3, 1))
        s = T.np.sum(v * v)
    return {
        "vx": tape.jacobian(v, x),
        "vm": tape.jacobian(v, m),
        "sx": tape.jacobian(s, x),
        "pair": tape.jacobian(v, [x, m]),
        "dict": tape.jacobian(s, {"x": x}),
    }


@program("jacobian_unconnected", "jacobian unconnected")
def _(T):
    x, w = T.Variable(A([1.0, 2.0])), T.Variable(A([3.0]))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
    return {
        "none": tape.jacobian(y, [x, w]),
        "zero": tape.jacobian(y, [x, w], unconnected_gradients="zero"),
        "only": tape.jacobian(y, w),
    }


@program("jacobian_without_pfor", "jacobian pfor errors", accept={"not_persistent": [A([[2.0, 0.0], [0.0, 4.0]])]})
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        y = T.np.sin(x) * x[0]
    with T.GradientTape() as once:
        z = x * x
    return {
        "loop": tape.jacobian(y, x, experimental_use_pfor=False),
        "pfor": tape.jacobian(y, x, experimental_use_pfor=True),
        "parallel": tape.jacobian(y, x, parallel_iterations=2, experimental_use_pfor=False),
        "not_persistent": attempt(lambda: once.jacobian(z, x, experimental_use_pfor=False), "persistent"),
    }


@program("batch_jacobian", "batch_jacobian")
def _(T):
    x = T.constant(grid(3, 2, lo=0.5, hi=2.0))
    with T.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = T.np.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, T.np.sin(x[:, 1])], axis=1)
    return {"pfor": tape.batch_jacobian(y, x), "loop": tape.batch_jacobian(y, x, experimental_use_pfor=False)}


@program("batch_jacobian_errors", "batch_jacobian errors unconnected", accept={"unconnected": [None]})
def _(T):
    x = T.constant(A([[1.0, 2.0], [3.0, 4.0]]))
    w = T.constant(A([[1.0], [1.0]]))

    def go(f, **k):
        with T.GradientTape() as tape:
            tape.watch([x, w])
            y = f(x)
        return tape.batch_jacobian(y, k.pop("source", x), **k)

    return {
        "batch": attempt(lambda: go(lambda x: T.np.concatenate([x, x], axis=0)), "shape", "dimension", "batch", "rank"),
        "scalar": attempt(lambda: go(lambda x: T.np.sum(x))),
        "unconnected": go(lambda x: x * x, source=w),
        "zero": go(lambda x: x * x, source=w, unconnected_gradients="zero"),
    }


@program("forward_jvp", "forward")
def _(T):
    x, w = T.constant(A([1.0, 2.0])), T.Variable(A([0.5, -0.5]))
    with T.ForwardAccumulator(primals=[x, w], tangents=[T.constant(A([1.0, 0.0])), T.constant(A([0.0, 2.0]))]) as acc:
        y = T.np.sin(x * w)
        z = T.np.sum(y * x)
    return {"y": acc.jvp(y), "z": acc.jvp(z), "list": acc.jvp([y, z]), "self": acc.jvp(x)}


@program("forward_unconnected", "forward unconnected errors")
def _(T):
    x, c = T.constant(A([1.0, 2.0])), T.constant(A([7.0]))
    with T.ForwardAccumulator(x, T.constant(A([1.0, 1.0]))) as acc:
        k = c * 2.0
        y = x * x
    return {
        "none": acc.jvp(k),
        "zero": acc.jvp(k, unconnected_gradients=T.UnconnectedGradients.ZERO),
        "y": acc.jvp(y),
        "length": attempt(
            lambda: T.ForwardAccumulator([x, c], [T.constant(A([1.0, 1.0]))]),
            "tangent",
            "structure",
            "length",
            "number",
        ),
        "bad": attempt(lambda: acc.jvp(y, unconnected_gradients="maybe"), "maybe"),
    }


@program("hvp_forward_over_reverse", "forward hvp higher")
def _(T):
    x = T.Variable(A([0.3, -0.7, 1.1]))
    v = T.constant(A([1.0, 0.5, -2.0]))

    def f():
        return T.np.sum(T.np.exp(x) * T.np.cumsum(x * x, axis=0))

    with T.ForwardAccumulator(x, v) as acc:
        with T.GradientTape() as tape:
            y = f()
        g = tape.gradient(y, x)
    with T.GradientTape() as outer:
        with T.GradientTape() as inner:
            y2 = f()
        g2 = inner.gradient(y2, x)
    return {"g": g, "dy": acc.jvp(y), "fr": acc.jvp(g), "rr": outer.gradient(g2, x, output_gradients=v)}


@program("nested_confusion", "nested higher")
def _(T):
    x = T.Variable(A(1.0))
    with T.GradientTape() as outer:
        y = T.constant(A(1.0))
        with T.GradientTape() as inner:
            inner.watch(y)
            z = x + y
        dz = inner.gradient(z, y)
        out = x * dz
    c = T.constant(A(2.0))
    with T.ForwardAccumulator(c, T.constant(A(1.0))) as a1:
        with T.ForwardAccumulator(c, T.constant(A(1.0))) as a2:
            q = c * c * c
        first = a2.jvp(q)
    return {"one": outer.gradient(out, x), "forward2": a1.jvp(first), "forward1": first}
