"""Targets, sources and their structure."""

import numpy as np

from tests.tape.corpus.tapelib import A, F, attempt, grid, program


@program("scalar_compound", "gradient scalar")
def _(T):
    x = T.Variable(A(0.7))
    with T.GradientTape() as tape:
        y = T.np.sin(x) * T.np.exp(x * x) - 3.0 / x + 2.0**x - x**3
    return {"y": y, "g": tape.gradient(y, x)}


@program("list_and_tuple_sources", "gradient structure")
def _(T):
    a, b, c = T.Variable(A([1.0, 2.0])), T.Variable(A(3.0)), T.constant(A([[1.0, -1.0]]))
    with T.GradientTape(persistent=True) as tape:
        tape.watch(c)
        y = T.np.sum(a * b * c)
    return {
        "list": tape.gradient(y, [a, b, c]),
        "tuple": tape.gradient(y, (b, a)),
        "one": tape.gradient(y, [a]),
        "empty": tape.gradient(y, []),
    }


@program("dict_sources", "gradient structure")
def _(T):
    p = {"w": T.Variable(grid(2, 3)), "b": [T.Variable(A([0.5, -0.5, 1.0])), (T.Variable(A(2.0)),)]}
    x = T.constant(A([[1.0, 2.0], [3.0, -1.0]]))
    with T.GradientTape() as tape:
        y = T.np.sum(T.np.tanh(x @ p["w"] + p["b"][0]) * p["b"][1][0])
    return {"g": tape.gradient(y, p)}


@program("targets_are_summed", "gradient targets")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        u, v = x * x, 3.0 * T.np.sum(x)
    return {
        "list": tape.gradient([u, v], x),
        "tuple": tape.gradient((v, u), x),
        "dict": tape.gradient({"a": u, "b": [v]}, x),
        "twice": tape.gradient([u, u], x),
        "vector": tape.gradient(u, x),
    }


@program("target_is_source", "gradient targets")
def _(T):
    x = T.Variable(A([1.0, -2.0]))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    return {
        "self": tape.gradient(x, x),
        "middle": tape.gradient(z, y),
        "both": tape.gradient(z, [x, y]),
        "y_of_y": tape.gradient(y, y),
        "sum_with_itself": tape.gradient([z, y], [y]),
    }


@program("duplicate_sources", "gradient structure")
def _(T):
    x = T.Variable(A(3.0))
    with T.GradientTape() as tape:
        y = x * x * x
    return {"g": tape.gradient(y, [x, x])}


@program("output_gradients", "gradient output_gradients")
def _(T):
    x = T.Variable(A([1.0, 2.0, 3.0]))
    with T.GradientTape(persistent=True) as tape:
        y, z = x * x, T.np.sum(x * x * x)
    seed = T.constant(A([1.0, 10.0, 100.0]))
    return {
        "vector": tape.gradient(y, x, output_gradients=seed),
        "list": tape.gradient([y, z], x, output_gradients=[seed, T.constant(A(-2.0))]),
        "zero": tape.gradient(y, x, output_gradients=T.constant(A([0.0, 0.0, 0.0]))),
    }


@program("unconnected", "unconnected", accept={"bad": [None]})
def _(T):
    x, w, m = T.Variable(A(3.0)), T.Variable(A([1.0, 2.0])), T.Variable(grid(2, 2))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
    U = T.UnconnectedGradients
    return {
        "none": tape.gradient(y, [x, w]),
        "zero": tape.gradient(y, {"x": x, "w": [w, m]}, unconnected_gradients="zero"),
        "enum_zero": tape.gradient(y, w, unconnected_gradients=U.ZERO),
        "enum_none": tape.gradient(y, w, unconnected_gradients=U.NONE),
        "word_none": tape.gradient(y, w, unconnected_gradients="none"),
        "value": U.ZERO.value,
        "bad": attempt(lambda: tape.gradient(y, w, unconnected_gradients="zeros"), "zeros", "unconnected_gradients"),
    }


@program("not_differentiable_arguments", "errors")
def _(T):
    x = T.Variable(A(3.0))

    def go(target, source):
        with T.GradientTape() as tape:
            y = x * x
        return tape.gradient(y if target == "y" else target, source)

    return {
        "target_none": attempt(lambda: go(None, x), "target"),
        "source_float": attempt(lambda: go("y", 3.0)),
        "target_float": attempt(lambda: go(5.0, x)),
        "source_array": attempt(lambda: go("y", np.array(3.0))),
    }


@program("float32_sources", "gradient dtype float32")
def _(T):
    w, b = T.Variable(F(grid(3, 2))), T.Variable(F([0.1, 0.2]))
    x = T.constant(F(grid(4, 3, lo=-2, hi=2)))
    with T.GradientTape() as tape:
        y = T.np.mean(T.np.square(T.np.tanh(x @ w + b) * 1.5 - 0.25))
    return {"y": y, "g": tape.gradient(y, [w, b])}
