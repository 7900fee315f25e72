"""gradients(), custom gradients, recomputing, overridden gradients."""

from tests.tape.corpus.tapelib import ERROR, A, attempt, program


@program("gradients_basic", "gradients")
def _(T):
    def f(x, w):
        y, z = x * x * w, T.np.sin(x)
        return {
            "one": T.gradients(y, x),
            "two": T.gradients([y, z], [x, w]),
            "seed": T.gradients(y, [x, w], grad_ys=T.constant(A([1.0, 5.0]))),
            "seeds": T.gradients([y, z], [x], grad_ys=[T.constant(A([1.0, 0.0])), T.constant(A([0.0, 1.0]))]),
        }

    return T.graph(f, A([1.0, 2.0]), A([3.0, 4.0]))


@program("gradients_stop", "gradients stop_gradients")
def _(T):
    def f(x):
        b = 2.0 * x
        y = x * x + b * b
        return {
            "free": T.gradients(y, [x, b]),
            "stop_b": T.gradients(y, [x, b], stop_gradients=[b]),
            "stop_x": T.gradients(y, [x, b], stop_gradients=[x, b]),
        }

    return T.graph(f, A(3.0))


@program("gradients_of_gradients", "gradients higher")
def _(T):
    def f(x):
        g = T.gradients(x**4, x)[0]
        h = T.gradients(g, x)[0]
        return {"g": g, "h": h, "t": T.gradients(h * x, x)}

    return T.graph(f, A([1.0, -2.0]))


@program("gradients_unconnected", "gradients unconnected")
def _(T):
    def f(x, w):
        y = x * 2.0
        return {
            "none": T.gradients(y, [x, w]),
            "zero": T.gradients(y, [x, w], unconnected_gradients="zero"),
            "self": T.gradients(x, [x]),
            "second": T.gradients(T.gradients(y, x)[0], x),
        }

    return T.graph(f, A([1.0, 2.0]), A(3.0))


@program("custom_gradient", "custom")
def _(T):
    @T.custom_gradient
    def softlog(x):
        e = T.np.exp(x)

        def grad(up):
            return up * (1.0 - 1.0 / (1.0 + e))

        return T.np.log(1.0 + e), grad

    x = T.Variable(A([0.0, 100.0, -3.0]))
    with T.GradientTape() as tape:
        y = softlog(x) * 2.0
    return {"y": y, "g": tape.gradient(y, x)}


@program("custom_gradient_wrong_on_purpose", "custom")
def _(T):
    @T.custom_gradient
    def pair(a, b):
        def grad(da, db):
            return 100.0 * da, 7.0 * db * a

        return (a * b, a + b), grad

    a, b = T.Variable(A(2.0)), T.Variable(A(3.0))
    with T.GradientTape(persistent=True) as tape:
        p, s = pair(a, b)
    return {"p": tape.gradient(p, [a, b]), "s": tape.gradient(s, [a, b]), "both": tape.gradient([p, s], [a, b])}


@program("custom_gradient_second_order", "custom nested higher")
def _(T):
    @T.custom_gradient
    def cube(x):
        def grad(up):
            return up * 3.0 * x * x

        return x * x * x, grad

    @T.custom_gradient
    def clipped(x):
        def grad(up):
            return T.np.clip(up, -1.0, 1.0)

        return x, grad

    x = T.Variable(A(1.5))
    with T.GradientTape() as outer:
        with T.GradientTape() as inner:
            y = cube(x)
        g = inner.gradient(y, x)
    with T.GradientTape() as t:
        z = clipped(cube(x)) * 10.0
    return {"g": g, "h": outer.gradient(g, x), "clipped": t.gradient(z, x)}


@program("custom_gradient_none_and_nested", "custom unconnected", accept={"x.1": [A(0.0)]})
def _(T):
    @T.custom_gradient
    def inner(x):
        return x * x, lambda up: up * 1000.0

    @T.custom_gradient
    def outer(x, k):
        def grad(up):
            return up * inner(x), None

        return inner(x) * k, grad

    x, k = T.Variable(A(3.0)), T.Variable(A(2.0))
    with T.GradientTape() as tape:
        y = outer(x, k)
    return {"y": y, "x": tape.gradient(y, [x, k])}


@program("recompute_grad", "recompute")
def _(T):
    calls = []

    def block(x):
        calls.append(1)
        return T.np.tanh(x * x) + x

    x = T.Variable(A([0.5, -1.5]))
    with T.GradientTape() as tape:
        y = T.recompute_grad(block)(x) * 3.0
    forward = len(calls)
    g = tape.gradient(y, x)
    return {"y": y, "g": g, "ran_again": len(calls) > forward}


@program("override_gradient", "override errors", accept={"again": [ERROR]})
def _(T):
    @T.RegisterGradient("PublicHundred")
    def _hundred(op, grad):
        return grad * 100.0 * op.inputs[0]

    @T.RegisterGradient("PublicFromOutput")
    def _out(op, grad):
        return grad * op.outputs[0]

    def f(x):
        plain = T.np.square(x)
        with T.gradient_override_map({"Square": "PublicHundred", "Tanh": "PublicFromOutput"}):
            mapped, th = T.np.square(x), T.np.tanh(x)
        after = T.np.square(x)
        return {
            "plain": T.gradients(plain, x),
            "mapped": T.gradients(mapped, x),
            "tanh": T.gradients(th, x),
            "after": T.gradients(after, x),
            "chain": T.gradients(T.np.exp(mapped), x),
        }

    again = attempt(lambda: T.RegisterGradient("PublicHundred")(lambda op, g: g), "publichundred")
    return {**T.graph(f, A([1.0, 3.0])), "again": again}


@program("stop_gradient", "stop_gradient")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        s = T.stop_gradient(x * x)
        y = s * x
    return {"y": tape.gradient(y, x), "s": tape.gradient(s, x), "part": tape.gradient(y, s)}


@program("custom_gradient_variables", "custom variables errors")
def _(T):
    w = T.Variable(A([2.0, 3.0]))

    @T.custom_gradient
    def scaled(x):
        def grad(up, variables=None):
            return up * w * 10.0, [up * x * 7.0 for _ in variables]

        return x * w, grad

    @T.custom_gradient
    def blind(x):
        return x * w, lambda up: up

    x = T.Variable(A([1.0, -1.0]))
    with T.GradientTape() as tape:
        y = scaled(x)
    g = tape.gradient(y, [x, w])

    def go():
        with T.GradientTape() as t:
            y = blind(x)
        return t.gradient(y, x)

    return {"g": g, "no_variables_argument": attempt(go, "variables")}
