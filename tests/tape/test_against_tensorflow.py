"""Random programs on the tape and on TensorFlow: values, gradients, second derivatives and tangents must be the same.

A program is a list of steps, each an operation on earlier values; each library has its own table of the operations.
Skipped where TensorFlow is not installed. None counts as zero: which operations pass on a zero is each library's own.
"""

import numpy as np
import pytest

import jitgrad as jg

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorFlow's own, and ours about gradients that are None

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (4, 2, 3)]

UNARY = {
    "tanh": (np.tanh, tf.tanh),
    "sin": (np.sin, tf.sin),
    "cosh of tanh": (lambda x: np.cosh(np.tanh(x)), lambda x: tf.cosh(tf.tanh(x))),
    "exp of sin": (lambda x: np.exp(np.sin(x)), lambda x: tf.exp(tf.sin(x))),
    "log": (lambda x: np.log(1.5 + x * x), lambda x: tf.math.log(1.5 + x * x)),
    "sqrt": (lambda x: np.sqrt(1.5 + x * x), lambda x: tf.sqrt(1.5 + x * x)),
    "abs": (np.abs, tf.abs),
    "negative": (np.negative, tf.negative),
    "square": (np.square, tf.square),
    "arctan": (np.arctan, tf.atan),
    "expm1": (lambda x: np.expm1(np.tanh(x)), lambda x: tf.math.expm1(tf.tanh(x))),
    "relu": (lambda x: np.maximum(x, 0.1), lambda x: tf.maximum(x, 0.1)),
    "clip": (lambda x: np.clip(x, -0.6, 0.7), lambda x: tf.clip_by_value(x, -0.6, 0.7)),
    "where": (lambda x: np.where(x > 0.2, x * x, -x), lambda x: tf.where(x > 0.2, x * x, -x)),
    "floor": (lambda x: np.floor(x) * x, lambda x: tf.floor(x) * x),
    "cast": (lambda x: x.astype("float32").astype("float64"), lambda x: tf.cast(tf.cast(x, "float32"), "float64")),
}
BINARY = {
    "add": (np.add, tf.add),
    "subtract": (np.subtract, tf.subtract),
    "multiply": (np.multiply, tf.multiply),
    "divide": (lambda x, y: x / (1.5 + y * y), lambda x, y: x / (1.5 + y * y)),
    "maximum": (np.maximum, tf.maximum),
    "minimum": (np.minimum, tf.minimum),
    "arctan2": (lambda x, y: np.arctan2(x, 1.5 + y * y), lambda x, y: tf.atan2(x, 1.5 + y * y)),
    "power": (lambda x, y: (1.5 + x * x) ** np.tanh(y), lambda x, y: (1.5 + x * x) ** tf.tanh(y)),
}
REDUCTIONS = {
    "sum": (np.sum, tf.reduce_sum),
    "mean": (np.mean, tf.reduce_mean),
    "max": (np.max, tf.reduce_max),
    "prod": (lambda x, **k: np.prod(np.tanh(x), **k), lambda x, **k: tf.reduce_prod(tf.tanh(x), **k)),
    "std": (
        lambda x, **k: np.sqrt(np.var(x, **k) + 1.0),
        lambda x, **k: tf.sqrt(tf.math.reduce_variance(x, **k) + 1.0),
    ),
}


def _outer(x):
    column = tf.reshape(x, (-1, 1))
    return column * tf.transpose(column) + 5.0 * np.eye(column.shape[0])


SHAPED = {  # of arrays with at least one axis
    "ravel": (np.ravel, lambda x: tf.reshape(x, (-1,))),
    "transpose": (np.transpose, tf.transpose),
    "flip": (lambda x: np.flip(x, 0), lambda x: tf.reverse(x, [0])),
    "roll": (lambda x: np.roll(x, 1, -1), lambda x: tf.roll(x, 1, -1)),
    "cumsum": (lambda x: np.cumsum(x, 0), lambda x: tf.cumsum(x, 0)),
    "row": (lambda x: x[0], lambda x: x[0]),
    "every other": (lambda x: x[..., ::2], lambda x: x[..., ::2]),
    "new axis": (lambda x: x[:, None], lambda x: x[:, None]),
    "gather": (lambda x: np.take(x, [0, 0, -1], axis=0), lambda x: tf.gather(x, [0, 0, x.shape[0] - 1], axis=0)),
    "pad": (lambda x: np.pad(x, 1), lambda x: tf.pad(x, [[1, 1]] * len(x.shape))),
    "tile": (lambda x: np.tile(x, (2,) * x.ndim), lambda x: tf.tile(x, (2,) * len(x.shape))),
    "twice": (lambda x: np.concatenate([x, 2.0 * x], -1), lambda x: tf.concat([x, 2.0 * x], -1)),
    "stack": (lambda x: np.stack([x, x * x], 1), lambda x: tf.stack([x, x * x], 1)),
    "sort": (lambda x: np.sort(x, -1), lambda x: tf.sort(x, -1)),
    "unstack": (lambda x: np.unstack(x)[-1], lambda x: tf.unstack(x)[-1]),
    "gram": (lambda x: x @ np.swapaxes(x, -1, -2) if x.ndim > 1 else x * np.sum(x),
             lambda x: tf.matmul(x, x, transpose_b=True) if len(x.shape) > 1 else x * tf.reduce_sum(x)),
    "einsum": (lambda x: np.einsum("...i,...i->...", x, x), lambda x: tf.einsum("...i,...i->...", x, x)),
    "norm": (lambda x: np.linalg.norm(np.ravel(x) + 3.0), lambda x: tf.norm(tf.reshape(x, (-1,)) + 3.0)),
    "inverse": (lambda x: np.linalg.inv(np.outer(x, x) + 5.0 * np.eye(x.size)), lambda x: tf.linalg.inv(_outer(x))),
}  # fmt: skip
TABLE = {**UNARY, **BINARY, **REDUCTIONS, **SHAPED}


class Jitgrad:
    column = 0
    Variable, constant, GradientTape = jg.Variable, jg.constant, jg.GradientTape
    stop_gradient, ForwardAccumulator = staticmethod(jg.stop_gradient), jg.ForwardAccumulator
    total = staticmethod(np.sum)
    dense = staticmethod(lambda g: g)


class TensorFlow:
    column = 1
    Variable, constant, GradientTape = tf.Variable, tf.constant, tf.GradientTape
    stop_gradient, ForwardAccumulator = staticmethod(tf.stop_gradient), tf.autodiff.ForwardAccumulator
    total = staticmethod(tf.reduce_sum)
    dense = staticmethod(tf.convert_to_tensor)  # of IndexedSlices


def random_steps(rng, shapes, count):
    """Steps that fit: ``(operation, positions of the operands, keywords)``, found by running them on zeros."""
    values, steps = [np.full(s, 0.3) for s in shapes], []
    while len(steps) < count:
        name = rng.choice(list(TABLE))
        operands = [int(k) for k in rng.integers(len(values), size=2 if name in BINARY else 1)]
        keywords = {}
        x = values[operands[0]]
        if name in REDUCTIONS and x.ndim and rng.random() < 0.8:
            keywords = {"axis": int(rng.integers(-x.ndim, x.ndim)), "keepdims": bool(rng.random() < 0.5)}
        if (name in SHAPED and not x.ndim) or (name == "every other" and x.shape[-1] < 2):
            continue
        try:
            found = TABLE[name][0](*[values[k] for k in operands], **keywords)
        except ValueError:  # shapes that do not go together
            continue
        if 0 < np.size(found) <= 60 and np.ndim(found) <= 4:
            values.append(np.full(np.shape(found), 0.3))
            steps.append((name, operands, keywords))
    return steps


def run(library, steps, arrays, flags, weights):
    """Everything that can be asked of one program, as a flat list of arrays and Nones."""
    xs = [library.Variable(a) if v else library.constant(a) for a, v in zip(arrays, flags["variable"])]
    with library.GradientTape(persistent=True) as outer:
        outer.watch([x for x, w in zip(xs, flags["watched"]) if w])
        with library.GradientTape(persistent=True) as inner:
            inner.watch([x for x, w in zip(xs, flags["watched"]) if w])
            values = list(xs)
            for k, (name, operands, keywords) in enumerate(steps):
                compute = TABLE[name][library.column]
                if k == flags["unheard"]:
                    with inner.stop_recording():
                        value = compute(*[values[j] for j in operands], **keywords)
                else:
                    value = compute(*[values[j] for j in operands], **keywords)
                if k == flags["stopped"]:
                    value = library.stop_gradient(value)
                if k == flags["late"]:
                    inner.watch(value)
                values.append(value)
            loss = library.total(values[-1] * weights)
            loss = loss + library.total(values[-2])
        sources = [*xs, values[len(xs)]]
        first = inner.gradient(loss, sources)
        seeded = inner.gradient(values[-1], sources, output_gradients=library.constant(weights))
        dense = [library.dense(g) for g in first if g is not None]
        square = sum([library.total(g * g) for g in dense], start=library.constant(0.0, dtype="float64"))
    second = outer.gradient(square, xs)
    # TensorFlow's vectorised loop gives a wrong Jacobian of tf.roll(x, 1, -1)
    jacobian = inner.jacobian(values[-1], xs, unconnected_gradients="zero", experimental_use_pfor=False)
    with library.ForwardAccumulator(xs[0], library.constant(np.full(arrays[0].shape, 0.7))) as forward:
        value = xs[0] * 2.0
        for name, operands, keywords in steps:
            if name in UNARY and name not in ("cast", "floor"):
                value = TABLE[name][library.column](value)
    return [*values, *first, *seeded, *second, *jacobian, forward.jvp(value)]


@pytest.mark.parametrize("seed", range(60))
def test_same_as_tensorflow(seed):
    rng = np.random.default_rng(seed)
    shapes = [SHAPES[k] for k in rng.integers(len(SHAPES), size=3)]
    steps = random_steps(rng, shapes, 6 + seed % 7)
    arrays = [rng.uniform(-1.2, 1.2, s) for s in shapes]
    probe = run_shape(steps, arrays)
    flags = {
        "variable": rng.random(3) < 0.5,
        "watched": rng.random(3) < 0.7,
        **{what: int(rng.integers(3 * len(steps))) for what in ("unheard", "stopped", "late")},
    }
    weights = rng.uniform(0.5, 1.5, probe)
    ours, theirs = (run(library, steps, arrays, flags, weights) for library in (Jitgrad, TensorFlow))
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        a, b = (
            np.zeros(()) if v is None else np.asarray(library.dense(v))
            for v, library in ((a, Jitgrad), (b, TensorFlow))
        )
        assert a.shape == b.shape or not (a.any() or b.any())
        np.testing.assert_allclose(a, b, rtol=2e-7, atol=2e-7, err_msg=f"{k} {steps} {flags}")


def run_shape(steps, arrays):
    """The shape of a program's last value."""
    values = list(arrays)
    for name, operands, keywords in steps:
        values.append(TABLE[name][0](*[values[k] for k in operands], **keywords))
    return np.shape(values[-1])
