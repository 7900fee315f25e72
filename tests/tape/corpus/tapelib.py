"""A corpus of gradient-tape programs, each written once and run on two libraries.

A program is a function of one argument, the namespace `T`.  It returns a dict; values may be tape values, NumPy
arrays, None, Python scalars, strings, what `attempt` returned, or lists/tuples/dicts of these.  `flatten` turns the
dict into flat keys ("g.w.0"); every container adds a key "g<>" holding "list 2", "tuple 2" or "dict 2", so the
structure of a result is compared too.

What a backend's T must have
    name                        "tf", "jitgrad", ...
    GradientTape, Variable, constant, ForwardAccumulator, custom_gradient, recompute_grad, UnconnectedGradients,
    stop_gradient, RegisterGradient
                                the names of TensorFlow, with its arguments.  Programs create values only with
                                T.constant(v, dtype=) and T.Variable(v, dtype=, trainable=, name=) and pass float64
                                or float32 NumPy arrays, so no default dtype is tested unless the program says so.
    gradients(ys, xs, grad_ys=, stop_gradients=, unconnected_gradients=)
                                only called inside a function given to T.graph
    graph(fn, *arrays)          call fn with the arrays as tape/graph values in a setting in which T.gradients and
                                T.gradient_override_map work, and return its result (TF: tf.function, autograph off;
                                an eager library: a recording context in which the arguments are watched)
    gradient_override_map(m)    context manager (TF: the method of the current graph).  Op types are TF's names:
                                "Square" np.square, "Exp" np.exp, "Tanh" np.tanh, "Mul" *, "Identity" T.identity.
                                The function registered takes (op, grad); op.inputs and op.outputs are used.
    identity(x)                 a recorded copy
    cast(x, dtype)              dtype as a string
    np                          array functions with NumPy's names and arguments: the list is NP_NAMES below.
                                A library whose values answer __array_ufunc__/__array_function__ gives plain numpy.
                                Values also answer + - * / ** @ unary -, abs(), comparisons, indexing with ints, slices,
                                None, Ellipsis and a boolean NumPy mask, .shape, .dtype, float(), bool(), len().
    nn                          relu, sigmoid, softmax(x, axis=-1), log_softmax(x, axis=-1), softplus,
                                batch_normalization(x, mean, variance, offset, scale, variance_epsilon),
                                conv2d(x NHWC, filters HWIO, strides=int, padding="SAME"|"VALID"),
                                max_pool(x NHWC, ksize=int, strides=int, padding=), mse(y_true, y_pred) (mean over the
                                last axis), sparse_softmax_cross_entropy_with_logits(labels=, logits=)
    optim                       SGD Adagrad RMSprop Adam AdamW Nadam Adamax Adadelta Ftrl: arguments, defaults and
                                formulas of Keras 3; used through apply_gradients([(grad, var), ...]) and apply(grads, vars);
                                GradientDescentOptimizer, MomentumOptimizer(lr, momentum, use_nesterov=): the tf.compat.v1
                                classes: minimize(loss_fn, var_list=), compute_gradients(loss_fn, var_list=) and
                                apply_gradients(grads_and_vars)
                                (a tape's gradient() gives dense values on every backend: TF's IndexedSlices are an accident)
    numpy(v)                    a value as a dense NumPy array (IndexedSlices become dense), None stays None
    is_value(v)                 whether numpy() takes v
    warnings(fn)                (result of fn, list of the warnings' texts), from `warnings` and from `logging` alike

Comparing
    A leaf is right when it agrees with the golden value (made by real TensorFlow) or with one of the program's `accept`
    values for that key.  `truth` overrides the golden value.  `prefer` names what jitgrad's own conventions (design.md section 9) ask for where TensorFlow
    does something else: it is accepted, and with --strict it alone is.
"""

import math

import numpy as np

NP_NAMES = """
abs absolute negative sign floor ceil exp expm1 log log1p log2 sqrt square reciprocal sin cos tan arcsin arccos arctan
sinh cosh tanh arcsinh arccosh arctanh arctan2 power maximum minimum add subtract multiply divide hypot logaddexp
sum mean prod max min var std cumsum cumprod clip where isnan
concatenate stack split take reshape transpose swapaxes moveaxis expand_dims squeeze broadcast_to tile repeat flip roll pad ravel
matmul dot tensordot outer einsum trace diag diagonal tril triu sort argmax argmin zeros_like ones_like
linalg.norm linalg.solve linalg.inv linalg.det linalg.slogdet linalg.cholesky
""".split()

PROGRAMS = {}


class Program:
    def __init__(self, name, tags, fn, accept, prefer, truth, rtol, note):
        self.name, self.tags, self.fn = name, tags, fn
        self.accept, self.prefer, self.truth, self.rtol, self.note = accept, prefer, truth, rtol, note
        self.floor = 0.0  # set by check_tape for an approximate backend

    def tolerance(self, key):
        """None for the rule by dtype, else the program's: a number, or a dict from part of a key to a number ("" for the rest)."""
        if not isinstance(self.rtol, dict):
            return max(self.rtol or 0.0, self.floor) or None
        best = max((part for part in self.rtol if part in key), key=len, default=None)
        return max(self.rtol[best] if best is not None else 0.0, self.floor) or None


def program(name, tags, accept=None, prefer=None, truth=None, rtol=None, note=""):
    """Register a program.  accept: key -> list of further right values; prefer: key -> the value jitgrad's design asks for;
    truth: key -> the one right value where TensorFlow's own depends on luck (TensorFlow alone is excused)."""

    def register(fn):
        if name in PROGRAMS:
            raise ValueError(f"two programs are called {name}")
        PROGRAMS[name] = Program(name, tuple(tags.split()), fn, accept or {}, prefer or {}, truth or {}, rtol, note)
        return fn

    return register


# ---------------------------------------------------------------- values
def A(v):
    """A float64 array."""
    return np.asarray(v, dtype=np.float64)


def F(v):
    """A float32 array."""
    return np.asarray(v, dtype=np.float32)


def I(v):
    """An int32 array."""
    return np.asarray(v, dtype=np.int32)


def grid(*shape, lo=-1.0, hi=1.0):
    """A fixed, irregular float64 array: no two entries equal, no symmetry, between lo and hi."""
    n = int(np.prod(shape)) if shape else 1
    k = np.arange(1, n + 1)
    u = (k * 0.6180339887498949 + 0.137 * np.sin(k)) % 1.0
    return (lo + (hi - lo) * u).reshape(shape)


# ---------------------------------------------------------------- exceptions
FAMILY = {
    "ValueError": "value",
    "TypeError": "value",
    "IndexError": "value",
    "InvalidArgumentError": "value",
    "LinAlgError": "value",
    "AttributeError": "value",
    "FailedPreconditionError": "state",
    "RuntimeError": "state",
    "AssertionError": "state",
    "LookupError": "lookup",
    "KeyError": "lookup",
    "NotImplementedError": "lookup",
    "ZeroDivisionError": "arith",
}


class Raised:
    """An exception as a program's result: compared by family, and by containing one of `frags` (lower case)."""

    def __init__(self, types, msg, frags=()):
        self.types, self.msg, self.frags = list(types), msg, [f.lower() for f in frags]

    @property
    def families(self):
        fam = {FAMILY[t] for t in self.types if t in FAMILY}
        if "NotImplementedError" in self.types:
            fam.discard("state")
        if "InvalidArgumentError" in self.types:
            fam.add("jitgrad")
        if not fam and "JitgradError" in self.types:
            fam.add("jitgrad")
        return fam

    def __repr__(self):
        return f"{self.types[0]}({self.msg[:160]!r})"


def attempt(fn, *frags):
    """fn(), or a Raised if it raises.  frags: lower-case words, one of which the message should contain."""
    try:
        return fn()
    except Exception as e:
        names = [c.__name__ for c in type(e).__mro__ if c.__name__ not in ("object", "BaseException", "Exception")] or [
            type(e).__name__
        ]
        return Raised(names, str(e), frags)


ERROR = Raised(["ValueError", "RuntimeError", "LookupError", "JitgradError"], "(any error)", ())


# ---------------------------------------------------------------- flattening, storing, comparing
def flatten(T, result, prefix=""):
    out = {}

    def walk(key, v):
        if isinstance(v, dict):
            if key:
                out[key + "<>"] = f"dict {len(v)}"
            for k, e in v.items():
                walk(f"{key}.{k}" if key else str(k), e)
        elif isinstance(v, (list, tuple)) and not T.is_value(v):
            out[key + "<>"] = f"{'list' if isinstance(v, list) else 'tuple'} {len(v)}"
            for k, e in enumerate(v):
                walk(f"{key}.{k}", e)
        elif v is None or isinstance(v, (bool, int, float, str, Raised)) and not isinstance(v, np.generic):
            out[key] = v
        else:
            out[key] = np.array(T.numpy(v))

    walk(prefix, result)
    return out


def _num(x):
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    return x


def _nums(x):
    return [_nums(e) for e in x] if isinstance(x, list) else _num(x)


def to_json(v):
    if isinstance(v, np.ndarray):
        return {"dtype": str(v.dtype), "shape": list(v.shape), "value": _nums(v.tolist())}
    if isinstance(v, Raised):
        return {"raises": v.types, "message": v.msg.split("\n")[0][:400], "fragments": v.frags}
    return _num(v)


def from_json(j):
    def back(x):
        return [back(e) for e in x] if isinstance(x, list) else (float(x) if isinstance(x, str) else x)

    if isinstance(j, dict) and "dtype" in j:
        return np.array(back(j["value"]), dtype=j["dtype"]).reshape(j["shape"])
    if isinstance(j, dict):
        return Raised(j["raises"], j["message"], j["fragments"])
    return j


def same(got, want, rtol=None, free_dtype=False):
    """None when `got` is right, else what is wrong."""
    if isinstance(want, Raised):
        if not isinstance(got, Raised):
            return f"should raise {want!r}, gave {got!r}"
        if want is not ERROR:
            if not (got.families & want.families):
                return f"raised {got!r}, want the kind of {want!r}"
            if want.frags and not any(f in got.msg.lower() for f in want.frags):
                return f"message {got.msg[:200]!r} has none of {want.frags}"
        return None
    if isinstance(got, Raised):
        return f"raised {got!r}, want {want!r}"
    if want is None or got is None:
        return None if want is None and got is None else f"gave {got!r}, want {want!r}"
    if isinstance(want, (str, bool)):
        return None if got == want else f"gave {got!r}, want {want!r}"
    g, w = np.asarray(got), np.asarray(want)
    if g.shape != w.shape:
        return f"shape {g.shape}, want {w.shape}: gave {g!r}, want {w!r}"
    if isinstance(want, np.ndarray) and not free_dtype and g.dtype != w.dtype:
        return f"dtype {g.dtype}, want {w.dtype}"
    if w.dtype.kind in "biu":
        return None if np.array_equal(g, w) else f"gave {g.tolist()}, want {w.tolist()}"
    tol = rtol if rtol is not None else (1e-5 if "float32" in (str(w.dtype), str(g.dtype)) else 1e-9)
    g, w = g.astype(np.float64), w.astype(np.float64)
    finite = np.abs(w[np.isfinite(w)])
    scale = finite.max() if finite.size else 0.0
    atol = tol * 1e-2 * max(scale, 1e-2) if rtol is None else tol * max(scale, 1e-2 if rtol > 1.5e-4 else 0.0)
    ok = np.isclose(g, w, rtol=tol, atol=atol, equal_nan=True)
    if ok.all():
        return None
    bad = ~ok
    worst = np.nanmax(np.abs(g[bad] - w[bad])) if np.isfinite(g[bad] - w[bad]).any() else float("nan")
    return f"{int(bad.sum())} of {bad.size} entries off by up to {worst:.3g}: gave {np.array2string(g, threshold=12)}, want {np.array2string(w, threshold=12)}"


def judge(p, key, got, want, strict=False, backend=""):
    """("ok" | "alt" | "FAIL", text) for one leaf of program p."""
    rtol = p.tolerance(key)
    if key in p.truth:
        wrong = same(got, p.truth[key], rtol)
        return (
            ("ok", "")
            if wrong is None
            else ("alt", "TensorFlow's accident: " + wrong)
            if backend == "tf"
            else ("FAIL", wrong)
        )
    if key in p.prefer:
        if same(got, p.prefer[key], rtol, free_dtype=True) is None:
            return "ok", ""
        if strict:
            return "FAIL", f"design asks for {p.prefer[key]!r}: {same(got, p.prefer[key], rtol, free_dtype=True)}"
    wrong = same(got, want, rtol)
    if wrong is None:
        return ("alt", "TensorFlow's value, not the design's") if key in p.prefer else ("ok", "")
    for a in p.accept.get(key, ()):
        if same(got, a, rtol, free_dtype=True) is None:
            return "alt", f"accepted alternative {a!r}"
    return "FAIL", wrong


def load():
    """Import every program file; returns name -> Program in file order."""
    import importlib
    import pkgutil

    from tests.tape.corpus import programs

    for module in sorted(m.name for m in pkgutil.iter_modules(programs.__path__)):
        importlib.import_module(f"{programs.__name__}.{module}")
    return PROGRAMS


# ---------------------------------------------------------------- short hands for programs
def grads(T, f, *arrays, og=None):
    """[f's value, its gradients with respect to constants made of the arrays]."""
    xs = [T.constant(a) for a in arrays]
    with T.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return {"y": y, "g": tape.gradient(y, xs, output_gradients=None if og is None else T.constant(og))}


def grads_v(T, f, *arrays):
    """The same with Variables and two orders: gradient, then the gradient of the sum of the gradients' squares."""
    vs = [T.Variable(a) for a in arrays]
    with T.GradientTape() as outer:
        with T.GradientTape() as inner:
            y = f(*vs)
        g = inner.gradient(y, vs, unconnected_gradients="zero")
        s = sum(T.np.sum(e * e) for e in g)
    return {"g": g, "h": outer.gradient(s, vs, unconnected_gradients="zero")}


KERAS = {"": 1e-6, ".moved": 1e-4}  # Keras passes its hyper-parameters through float32: no more can be asked;
ADAM = {"": 2e-5, ".moved": 1e-4}  # 1 - beta_2 then is off by 1e-5, and so is every step of the Adam family


def weights_after(T, opt, start, loss, steps=5):
    """Weights after each step of an optimizer on loss(list of variables), and how far they moved in all."""
    vs = [T.Variable(s) for s in start]
    out = {}
    for k in range(steps):
        with T.GradientTape() as tape:
            value = loss(vs)
        opt.apply_gradients(list(zip(tape.gradient(value, vs), vs)))
        for i, v in enumerate(vs):
            out[f"step{k + 1}.w{i}"] = np.array(T.numpy(v))
    for i, s in enumerate(start):
        out[f"moved.w{i}"] = out[f"step{steps}.w{i}"] - s
    return out
