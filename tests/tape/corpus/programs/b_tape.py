"""The tape's own behaviour: watching, recording, persistence, re-entering, variables that change."""

from tests.tape.corpus.tapelib import ERROR, A, F, I, attempt, program


@program("second_use", "persistent errors")
def _(T):
    x = T.Variable(A(3.0))
    with T.GradientTape() as tape:
        y = x * x
        z = y * x
    first = tape.gradient(z, x)
    return {
        "first": first,
        "second": attempt(lambda: tape.gradient(y, x), "persistent"),
        "jacobian": attempt(lambda: tape.jacobian(y, x), "persistent"),
    }


@program("persistent_many", "persistent")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
        z = T.np.sum(y * y)
    out = {
        "zx": tape.gradient(z, x),
        "yx": tape.gradient(y, x),
        "zy": tape.gradient(z, y),
        "zx_again": tape.gradient(z, x),
    }
    del tape
    return out


@program("watch_constants", "watch errors")
def _(T):
    a, b, c = T.constant(A(2.0)), T.constant(A([1.0, 3.0])), T.constant(A(5.0))
    with T.GradientTape() as tape:
        tape.watch([a, {"k": b}])
        y = T.np.sum(a * b * c)
    return {
        "g": tape.gradient(y, [a, b, c]),
        "number": attempt(lambda: _watch(T, 1.0), "1.0", "float"),
        "text": attempt(lambda: _watch(T, "x"), "str"),
    }


def _watch(T, v):
    with T.GradientTape() as tape:
        tape.watch(v)


@program("watch_late", "watch")
def _(T):
    a = T.constant(A(3.0))
    with T.GradientTape(persistent=True) as tape:
        before = a * a
        tape.watch(a)
        after = a * before
    return {"before": tape.gradient(before, a), "after": tape.gradient(after, a)}


@program("watch_intermediate", "watch")
def _(T):
    a = T.constant(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        m = a * 3.0
        tape.watch(m)
        y = m * m
    return {"m": tape.gradient(y, m), "a": tape.gradient(y, a)}


@program("accessed_off", "watch variables")
def _(T):
    x, w = T.Variable(A(3.0)), T.Variable(A(2.0))
    with T.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = x * x * w * w
    return {"n": len(tape.watched_variables()), "g": tape.gradient(y, [x, w])}


@program("not_trainable", "watch variables")
def _(T):
    x, f = T.Variable(A(3.0)), T.Variable(A(2.0), trainable=False)
    with T.GradientTape(persistent=True) as tape:
        y = x * f
        plain = tape.watched_variables()
        tape.watch(f)
        z = x * f * f
    return {
        "flags": [x.trainable, f.trainable],
        "n": [len(plain), len(tape.watched_variables())],
        "y": tape.gradient(y, [x, f]),
        "z": tape.gradient(z, [x, f]),
    }


@program("stop_recording_inside", "stop_recording")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            u = x * 10.0
            w = tape.gradient(y, x)
        z = y * u + w
    return {
        "y": tape.gradient(y, x),
        "u": tape.gradient(u, x),
        "z": tape.gradient(z, x),
        "w_inside": w,
        "w": tape.gradient(w, x),
    }


@program("stop_recording_outside", "stop_recording errors", accept={"never": [ERROR]})
def _(T):
    tape = T.GradientTape()

    def go():
        with tape.stop_recording():
            pass

    return {"never": attempt(go, "recording")}


@program("reset", "reset errors", accept={"closed": [ERROR]})
def _(T):
    x = T.Variable(A(3.0))
    tape = T.GradientTape()
    with tape:
        y = x * x
        tape.reset()
        z = y * x
    g = tape.gradient(z, x)
    other = T.GradientTape()
    with other:
        x * x
    return {"g": g, "closed": attempt(other.reset, "recording")}


@program("watched_variables_order", "watched_variables variables")
def _(T):
    a, b, c = (T.Variable(A(float(k))) for k in (1, 2, 3))
    tape = T.GradientTape()
    early = tape.watched_variables()
    with tape:
        y = c * c
        y = y + a
        y = y * c
        mid = len(tape.watched_variables())
        y = y + b
    return {
        "early": len(early),
        "mid": mid,
        "values": [float(T.numpy(v)) for v in tape.watched_variables()],
        "same_objects": all(p is q for p, q in zip(tape.watched_variables(), (c, a, b))),
    }


@program("re_enter", "reenter errors")
def _(T):
    x = T.Variable(A(3.0))
    tape = T.GradientTape()

    def twice():
        with tape:
            with tape:
                pass

    active = attempt(twice, "already", "recording")
    t = T.GradientTape()
    with t:
        y = x * x
    gap = y * 5.0
    with t:
        z = y * 2.0
        q = gap * x
    return {"active": active, "z": t.gradient([z, q], x)}


@program("gradient_inside", "inside")
def _(T):
    x = T.Variable(A(2.0))
    with T.GradientTape() as tape:
        y = x * x * x
        g = tape.gradient(y, x)
        again = attempt(lambda: tape.gradient(y, x), "persistent")
    with T.GradientTape(persistent=True) as p:
        y = x**4
        g1 = p.gradient(y, x)
        g2 = p.gradient(g1, x)
        g3 = p.gradient(g2, x)
    return {"g": g, "again": again, "orders": [g1, g2, g3], "after": p.gradient(g2, x), "mix": p.gradient([g1, y], x)}


@program("exception_in_context", "reenter")
def _(T):
    x = T.Variable(A(2.0))
    tape = T.GradientTape()
    try:
        with tape:
            y = x * x
            raise KeyError("mine")
    except KeyError as e:
        seen = str(e)
    with T.GradientTape() as clean:
        z = x * 3.0
    return {"seen": seen, "g": tape.gradient(y, x), "clean": clean.gradient(z, x)}


@program("two_tapes", "tapes")
def _(T):
    x, w = T.Variable(A(2.0)), T.Variable(A(5.0))
    with T.GradientTape() as one, T.GradientTape() as two:
        y = x * x * w
        with one.stop_recording():
            z = y * x
    return {"one": one.gradient(z, x), "two": two.gradient(z, [x, w])}


@program("outside_the_tape", "tapes")
def _(T):
    x = T.Variable(A(2.0))
    pre = x * x
    with T.GradientTape(persistent=True) as tape:
        y = pre * x
    post = y * x
    return {"y": tape.gradient(y, x), "post": tape.gradient(post, x), "pre": tape.gradient(pre, x)}


@program("assign_between", "variables assign")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    out = {}
    for k in range(3):
        with T.GradientTape() as tape:
            y = x * x * x
        if k == 1:
            x.assign(A([10.0, 20.0]))  # after recording: the tape keeps what it read
        out[f"g{k}"] = tape.gradient(y, x)
        x.assign_add(A([1.0, -1.0]))
        out[f"x{k}"] = T.numpy(x)
    x.assign_sub(A([0.5, 0.5]))
    return {**out, "last": T.numpy(x)}


@program("assign_while_recording", "variables assign")
def _(T):
    x = T.Variable(A([1.0, 2.0]))
    with T.GradientTape(persistent=True) as tape:
        y = x * x
        x.assign(A([5.0, 6.0]))
        z = y * x
    v, s = T.Variable(A(3.0)), T.Variable(A(0.0))
    with T.GradientTape() as t2:
        s.assign(v * v)
        out = s * 4.0
    return {"z": z, "g": tape.gradient(z, x), "through_assign": t2.gradient(out, [v, s])}


@program("integer_values", "dtype warnings")
def _(T):
    n, x = T.Variable(I(3)), T.Variable(A(2.0))
    with T.GradientTape(persistent=True) as tape:
        y = x * T.cast(n, "float64")
        k = T.cast(x, "int32")
        back = T.cast(k, "float64") * x
        yes = x > 1.0
    _, said = T.warnings(lambda: _watch(T, T.constant(I([1, 2]))))
    return {
        "y": tape.gradient(y, [x, n]),
        "int_target": tape.gradient(k, x),
        "bool_target": tape.gradient(yes, x),
        "back": tape.gradient(back, x),
        "watch_int_warns": any("float" in s.lower() for s in said),
    }


@program("float_kinds", "dtype float32", accept={"mixed": [A([3.0, 8.0])], "default": ["float64"]})
def _(T):
    x, w = T.Variable(A([1.0, 2.0])), T.Variable(F([3.0, 4.0]))
    with T.GradientTape(persistent=True) as tape:
        y = T.cast(x, "float32") * w
        z = T.cast(w, "float64") * x
    return {
        "y": tape.gradient(y, [x, w]),
        "z": tape.gradient(z, [x, w]),
        "mixed": attempt(lambda: x * w),
        "default": str(T.numpy(T.constant([1.0, 2.0])).dtype),
        "half": T.numpy(x * 2).dtype.name,
    }


@program(
    "caller_changes_his_arrays",
    "aliasing",
    note="the tape must hold the values of the time of recording, whatever happens to the caller's arrays",
    truth={
        "g": A([2.0, 4.0]),
        "operand": A([3.0, 5.0]),
        "variable": A([2.0, 4.0]),
        "assigned": A([14.0, 16.0]),
        "index": A([0.0, 2.0]),
    },
)
def _(T):
    a, b, c, d, i = A([1.0, 2.0]), A([3.0, 5.0]), A([1.0, 2.0]), A([7.0, 8.0]), I([1, 1])
    x, v, w = T.constant(a), T.Variable(c), T.Variable(A([0.0, 0.0]))
    w.assign(d)
    with T.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z, u, s, p = x * x, x * b, v * v, w * w, T.np.take(x, i, axis=0)
    for arr in (a, b, c, d):
        arr[:] = 100.0
    i[:] = 0
    return {
        "g": tape.gradient(y, x),
        "operand": tape.gradient(z, x),
        "variable": tape.gradient(u, v),
        "assigned": tape.gradient(s, w),
        "index": tape.gradient(p, x),
    }


@program("variable_surface", "variables")
def _(T):
    v = T.Variable(A([[1.0, 2.0]]), name="weights", trainable=True)
    w = T.Variable(F([1.0]))
    with T.GradientTape() as tape:
        y = v.read_value() * v.value() * T.np.sum(v)
    return {
        "shape": list(v.shape),
        "name": "weights" in v.name,
        "trainable": v.trainable,
        "g": tape.gradient(y, v),
        "numpy": v.numpy(),
        "dtype32": w.numpy().dtype.name,
        "item": float(v[0, 1]),
        "ops": [1.0 - v, v / 2.0, -v, v**2, abs(v), 2.0 * v + v],
    }
