"""Layers, losses, optimizers, and whole small programs."""

import numpy as np

from tests.tape.corpus.tapelib import ADAM, ERROR, KERAS, A, F, attempt, grads, grid, program, weights_after


@program("sigmoid_layer_mse", "document nn")
def _(T):
    w, b = T.Variable(grid(3, 2)), T.Variable(A([0.1, -0.2]))
    x, target = T.constant(grid(4, 3, lo=-2, hi=2)), T.constant(grid(4, 2, lo=0, hi=1))
    with T.GradientTape() as tape:
        logits = T.nn.sigmoid(x @ w + b)
        loss = T.np.mean(T.nn.mse(target, logits))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.5 * dw)
    b.assign_sub(0.5 * db)
    return {"loss": loss, "dw": dw, "db": db, "w": T.numpy(w), "b": T.numpy(b)}


@program("softmax_regression_step", "document nn optimizer")
def _(T):
    images, labels = F(grid(6, 8, lo=0, hi=1)), F(np.eye(4)[[0, 3, 1, 2, 2, 0]])
    W, b = T.Variable(F(np.zeros((8, 4)))), T.Variable(F(np.zeros(4)))
    x, t = T.constant(images), T.constant(labels)

    def loss():
        y = T.nn.softmax(x @ W + b)
        return -T.np.sum(t * T.np.log(y))

    before = loss()
    T.optim.GradientDescentOptimizer(0.01).minimize(loss, var_list=[W, b])
    return {"before": before, "after": loss(), "W": T.numpy(W), "b": T.numpy(b)}


@program("v1_optimizer", "optimizer errors", accept={"not_callable": [ERROR]})
def _(T):
    v, f = T.Variable(A([1.0, -2.0])), T.Variable(A([3.0]))
    opt = T.optim.GradientDescentOptimizer(0.125)
    gv = opt.compute_gradients(lambda: T.np.sum(v * v * v), var_list=[v, f])
    out = {"g": [g for g, _ in gv], "pairs": all(a is b for (_, a), b in zip(gv, (v, f)))}
    opt.apply_gradients([(2.0 * gv[0][0], v), (None, f)])
    return {
        **out,
        "v": T.numpy(v),
        "f": T.numpy(f),
        "no_gradients": attempt(lambda: opt.apply_gradients([(None, f)]), "gradient"),
        "not_callable": attempt(lambda: opt.minimize(T.np.sum(v * v), var_list=[v]), "function", "callable"),
    }


def bowl(T):
    c = A([[1.0, -2.0], [0.5, 4.0]])
    return lambda vs: T.np.sum((vs[0] @ c - 1.0) ** 2) + T.np.sum(T.np.exp(vs[1]) - 2.0 * vs[1])


START = (grid(2, 2), A([0.5, -1.0, 3.0]))


@program("sgd", "optimizer", rtol=KERAS)
def _(T):
    return {
        "plain": weights_after(T, T.optim.SGD(0.03125), START, bowl(T)),
        "momentum": weights_after(T, T.optim.SGD(learning_rate=0.015625, momentum=0.75), START, bowl(T)),
        "nesterov": weights_after(T, T.optim.SGD(learning_rate=0.015625, momentum=0.75, nesterov=True), START, bowl(T)),
        "default": weights_after(T, T.optim.SGD(), START, bowl(T)),
    }


@program("adagrad_adadelta", "optimizer", rtol=KERAS)
def _(T):
    return {
        "adagrad": weights_after(T, T.optim.Adagrad(0.125), START, bowl(T)),
        "adagrad_default": weights_after(T, T.optim.Adagrad(), START, bowl(T)),
        "adadelta": weights_after(T, T.optim.Adadelta(0.5), START, bowl(T)),
        "adadelta_default": weights_after(T, T.optim.Adadelta(), START, bowl(T)),
    }


@program("rmsprop", "optimizer", rtol=KERAS)
def _(T):
    R = T.optim.RMSprop
    return {
        "default": weights_after(T, R(), START, bowl(T)),
        "lr": weights_after(T, R(0.0625, rho=0.75), START, bowl(T)),
        "momentum": weights_after(T, R(0.03125, momentum=0.5), START, bowl(T)),
        "centered": weights_after(T, R(0.03125, centered=True), START, bowl(T)),
    }


@program("adam", "optimizer", rtol=ADAM)
def _(T):
    a = T.optim.Adam
    return {
        "default": weights_after(T, a(), START, bowl(T)),
        "lr": weights_after(T, a(0.125, beta_1=0.5, beta_2=0.75), START, bowl(T)),
        "amsgrad": weights_after(T, a(0.125, amsgrad=True), START, bowl(T)),
        "epsilon": weights_after(T, a(0.125, epsilon=0.5), START, bowl(T)),
    }


@program("adam_family", "optimizer", rtol=ADAM)
def _(T):
    o = T.optim
    return {
        "adamw": weights_after(T, o.AdamW(0.125), START, bowl(T)),
        "adamw_decay": weights_after(T, o.AdamW(0.0625, weight_decay=0.25), START, bowl(T)),
        "nadam": weights_after(T, o.Nadam(0.125), START, bowl(T)),
        "adamax": weights_after(T, o.Adamax(0.125), START, bowl(T)),
    }


@program("ftrl", "optimizer", rtol=KERAS)
def _(T):
    f = T.optim.Ftrl
    return {
        "default": weights_after(T, f(), START, bowl(T)),
        "lr": weights_after(T, f(0.125), START, bowl(T)),
        "l1l2": weights_after(
            T, f(0.125, l1_regularization_strength=0.0625, l2_regularization_strength=0.125), START, bowl(T)
        ),
    }


@program("optimizer_clipping", "optimizer errors", rtol=ADAM)
def _(T):
    S = T.optim.SGD
    v = T.Variable(A([1.0]))
    return {
        "norm": weights_after(T, S(0.125, clipnorm=1.0), START, bowl(T), 2),
        "value": weights_after(T, S(0.125, clipvalue=0.5), START, bowl(T), 2),
        "global": weights_after(T, S(0.125, global_clipnorm=1.0), START, bowl(T), 2),
        "decay": weights_after(T, S(0.125, weight_decay=0.25), START, bowl(T), 2),
        "no_gradients": attempt(lambda: S().apply_gradients([(None, v)]), "gradient"),
    }


@program("batch_normalization", "nn")
def _(T):
    def f(x, m, v, o, s):
        return T.nn.batch_normalization(x, m, v, o, s, 0.001) ** 2

    return {
        "given": grads(T, f, grid(4, 3), grid(3), grid(3, lo=0.5, hi=2), grid(3), grid(3)),
        "of_batch": grads(
            T,
            lambda x, o, s: T.nn.batch_normalization(x, T.np.mean(x, axis=0), T.np.var(x, axis=0), o, s, 0.001) ** 2,
            grid(4, 3, lo=-3, hi=3),
            grid(3),
            grid(3, lo=1, hi=2),
        ),
    }


@program("convolution_network", "nn conv")
def _(T):
    x, w = grid(2, 6, 5, 2), grid(3, 3, 2, 3)
    c = T.nn.conv2d
    return {
        "valid": grads(T, lambda a, b: c(a, b, strides=1, padding="VALID") ** 2, x, w),
        "same": grads(T, lambda a, b: c(a, b, strides=1, padding="SAME") ** 2, x, w),
        "stride": grads(T, lambda a, b: c(a, b, strides=2, padding="SAME") ** 2, x, w),
        "pool": grads(T, lambda a: T.nn.max_pool(a, ksize=2, strides=2, padding="VALID") ** 2, x),
        "chain": grads(
            T,
            lambda a, b: T.np.sum(
                T.nn.max_pool(T.nn.relu(c(a, b, strides=1, padding="SAME")), ksize=2, strides=2, padding="SAME")
            ),
            x,
            w,
        ),
    }


@program("control_flow", "control")
def _(T):
    out = {}
    for k, s in enumerate((0.5, 2.0, -1.4)):
        x = T.Variable(A(s))
        with T.GradientTape() as tape:
            y = x * 1.0
            while abs(float(T.numpy(y))) < 50.0:
                y = y * y + 1.0 if y > 0 else y * 2.0 + 3.0
            for i in range(3):
                if i % 2:
                    y = T.np.sin(y) * x
        out[f"c{k}"] = {"y": y, "g": tape.gradient(y, x)}
    return out


@program("long_chain", "long")
def _(T):
    x = T.Variable(A([0.3, -0.8]))
    with T.GradientTape() as tape:
        y = x
        for k in range(1000):
            y = y + 0.001 * T.np.sin(y) if k % 2 else y * 1.0005
    return {"y": y, "g": tape.gradient(y, x)}


@program("diamonds", "reuse")
def _(T):
    x = T.Variable(A(1.0001))
    with T.GradientTape() as tape:
        y = x
        for _ in range(12):
            y = y * y * 0.5 + y * 0.5  # each stage uses its input three times
    return {"y": y, "g": tape.gradient(y, x)}


@program("fan_out", "reuse")
def _(T):
    x, ws = T.Variable(A([0.5, -1.0])), [T.Variable(A(0.01 * k)) for k in range(100)]
    with T.GradientTape(persistent=True) as tape:
        y = sum(T.np.sum(w * x * x) * (1.0 + k) for k, w in enumerate(ws))
    g = tape.gradient(y, ws)
    return {"x": tape.gradient(y, x), "n": len(g), "w": T.np.stack(g)}


@program("train_two_layers", "train optimizer", rtol=ADAM)
def _(T):
    x, t = T.constant(grid(8, 2, lo=-2, hi=2)), T.constant(grid(8, 1))
    vs = [
        T.Variable(grid(2, 4)),
        T.Variable(A(np.zeros(4))),
        T.Variable(grid(4, 1, lo=-0.5, hi=0.5)),
        T.Variable(A(np.zeros(1))),
    ]
    opt, out = T.optim.Adam(0.0625), []
    for _ in range(6):
        with T.GradientTape() as tape:
            h = T.np.tanh(x @ vs[0] + vs[1])
            loss = T.np.mean((h @ vs[2] + vs[3] - t) ** 2)
        opt.apply(tape.gradient(loss, vs), vs)
        out.append(loss)
    return {"loss": T.np.stack(out), "w": [T.numpy(v) for v in vs]}


@program("optimizer_state", "optimizer warnings", rtol=ADAM)
def _(T):
    opt, v, f = T.optim.Adam(0.125), T.Variable(A([1.0, 2.0])), T.Variable(A([5.0]))
    g = T.constant(A([1.0, -1.0]))
    _, said = T.warnings(lambda: opt.apply_gradients([(g, v), (None, f)]))
    opt.apply_gradients([(g, v), (None, f)])
    return {
        "iterations": int(T.numpy(opt.iterations)),
        "v": T.numpy(v),
        "f": T.numpy(f),
        "warned": any("radient" in s for s in said),
        "lr": float(T.numpy(opt.learning_rate)),
    }


@program("v1_momentum", "optimizer", rtol=1e-6)
def _(T):
    out = {}
    for key, nesterov in (("plain", False), ("nesterov", True)):
        v, opt = T.Variable(A([1.0, -2.0])), T.optim.MomentumOptimizer(0.125, 0.5, use_nesterov=nesterov)
        for k in range(4):
            opt.minimize(lambda: T.np.sum(v * v * A([1.0, 3.0])), var_list=[v])
            out[f"{key}{k}"] = np.array(T.numpy(v))
    return out


@program("default_hyper_parameters", "optimizer", rtol=ADAM, note="gradients so small that every default epsilon shows")
def _(T):
    out, c = {}, A([1e-6, -3e-7, 2e-8])
    for name in "SGD Adagrad RMSprop Adam AdamW Nadam Adamax Adadelta Ftrl".split():
        out[name] = weights_after(T, getattr(T.optim, name)(), (A([0.0, 0.0, 0.0]),), lambda vs: T.np.sum(vs[0] * c), 3)
    return out
