"""Every scalar row at its own points: partials against mpmath, conventions at kinks, float32.

The reference is mpmath where the row names one, else central differences of the function itself in
double precision, extrapolated twice (good to about 1e-9 for the smooth points that rows list).
"""

import cmath
import functools
import math

import mpmath
import numpy as np
import pytest
from numba import njit, typeof
from numba.core import types as nbtypes

import jitgrad.rules as rules
from jitgrad.runtime import kernels

mpmath.mp.dps = 40


def rows():
    """Scalar rows with the operand types that their points call for."""
    out = []
    for rule in rules.all_rules():
        if not isinstance(rule, rules.ScalarRule):
            continue
        variants = [rule]
        if rule.choose is not None:
            counts = {
                "max": (2, 3, 5),
                "min": (2, 3, 5),
                "log": (1, 2),
                "angle": (),
                "where": (3,),
                "clip": (3,),
            }
            name = rule.name.rsplit(".", 1)[-1]
            variants = [
                rule.for_call([nbtypes.boolean if name == "where" else nbtypes.float64] * n) for n in counts[name]
            ]
        for k, row in enumerate(variants):
            if row.points or row.edges:
                out.append(pytest.param(row, id=f"{row.name}{k or ''}"))
            if row.complex is not None and row.complex.points:
                out.append(pytest.param(row.for_call([nbtypes.complex128]), id=f"{row.name}{k or ''}-complex"))
    return out


def is_complex(row):
    return any(isinstance(v, complex) for p in row.points for v in p)


def compiled(row, point, single=False):
    """njit function of the operands that returns the value and all its partials or pulls."""
    n = len(point)
    names = row.params[:n]
    texts = []
    for i in range(n):
        if row.pull is not None:
            texts.append(row.push[i] and row.push[i].replace("dot", "g"))
        else:
            texts.append(row.partial(i, single=single))
    call = row.value_text() or f"f({', '.join(names)})"
    body = "".join(f"    d{i} = {t}\n" for i, t in enumerate(texts) if t)
    result = "".join(f", d{i}" for i, t in enumerate(texts) if t)
    arguments = ", ".join((*names, "g")) if row.pull is not None else ", ".join(names)
    source = f"def row({arguments}):\n    out = {call}\n{body}    return (out{result})\n"
    # one row serves `math` and `cmath`
    complex_only = [fn for fn in row.functions if fn in vars(cmath).values()]
    fn = complex_only[0] if complex_only and is_complex(row) else row.functions[0]
    scope = {**rules.kernels_namespace(), "f": fn}
    exec(source, scope)
    return njit(error_model="numpy")(scope["row"]), [i for i, t in enumerate(texts) if t]


@functools.lru_cache(None)
def reference(text, params):
    scope = {name: getattr(mpmath, name) for name in dir(mpmath) if not name.startswith("_")}
    return eval(f"lambda {', '.join(params)}: {text}", {**scope, "abs": abs, "int": int, "max": max})


def numeric(f, point, i, h):
    """Central difference in operand i, extrapolated twice."""

    def at(step):
        lo, hi = list(point), list(point)
        lo[i], hi[i] = point[i] - step, point[i] + step
        return (f(*hi) - f(*lo)) / (hi[i] - lo[i])

    d1, d2, d3 = at(h), at(h / 2), at(h / 4)
    e1, e2 = (4 * d2 - d1) / 3, (4 * d3 - d2) / 3
    return (16 * e2 - e1) / 15


def expected_partial(row, f, point, i):
    if row.reference:
        g = reference(row.reference, row.params[: len(point)])
        mpmath.mp.dps = 700 if "log1p(" in row.reference and len(point) == 2 else 40
        exact = [mpmath.mpf(v) if isinstance(v, float) else v for v in point]
        return float(
            mpmath.diff(
                lambda t: g(*exact[:i], t, *exact[i + 1 :]),
                exact[i],
                h=mpmath.mpf(10) ** -16
                * max(abs(exact[i]), mpmath.mpf(10) ** -280 if abs(exact[i]) < 1e-100 and exact[i] else 1),
            )
        )
    return numeric(lambda *p: f(*p)[0], point, i, 1e-3 * max(1.0, abs(point[i])))


@pytest.mark.parametrize("row", [p for p in rows() if p.values[0].pull is None and not is_complex(p.values[0])])
def test_partials(row):
    first = next(iter((*row.points, *row.edges)))
    f, which = compiled(row, first)
    for point in row.points:
        got = f(*point)[1:]
        for value, i in zip(got, which, strict=True):
            want = expected_partial(row, f, point, i)
            tol = 2e-14 if row.reference else 1e-8
            # 1 - tanh(x)**2 and expm1(x) + 1 are exact to one unit in the last place of 1
            absolute = not row.reference or row.note.startswith("absolute precision")
            scale = 1.0 + abs(want) if absolute else abs(want)
            assert abs(value - want) <= tol * scale + (0 if row.reference else 1e-8), (
                row,
                point,
                i,
                value,
                want,
            )
    for point, wants in row.edges.items():
        got = dict(zip(which, f(*point)[1:], strict=True))
        for i, want in enumerate(wants):
            if want is not None:
                np.testing.assert_array_equal(got[i], want, err_msg=f"{row} at {point}, operand {i}")


@pytest.mark.parametrize(
    "row",
    [
        p
        for p in rows()
        if p.values[0].pull is None
        and not is_complex(p.values[0])
        and all(isinstance(v, float) for v in (*p.values[0].points, *p.values[0].edges)[0])
    ],
)
def test_float32(row):
    """Partials of float32 operands agree, and elementary ones stay float32."""
    points = [p for p in row.points if all(abs(v) < 1e30 and (v == 0 or abs(v) > 1e-30) for v in p)]
    if not points:
        pytest.skip("only extreme points")
    f64, _ = compiled(row, points[0])
    f32, _ = compiled(row, points[0], single=True)
    for point in points[:4]:
        exact = tuple(np.float32(v) for v in point)
        want = np.array(f64(*map(float, exact)))
        got = np.array(f32(*exact))
        np.testing.assert_allclose(got, want, rtol=3e-5, atol=3e-6, err_msg=f"{row} at {point}")


@pytest.mark.parametrize("row", [p for p in rows() if p.values[0].pull is not None])
def test_linear_rows(row):
    """Rows with push and pull: the push against differences, the pull against the push."""
    for point in row.points:
        f, which = compiled(row, point)
        scope = {**rules.kernels_namespace()}
        value = None
        for k, i in enumerate(which):
            for direction in (1.0, 1j) if isinstance(point[i], complex) else (1.0,):
                h = 1e-6
                hi, lo = list(point), list(point)
                hi[i], lo[i] = point[i] + h * direction, point[i] - h * direction
                g = complex(direction) if isinstance(point[i], complex) else direction
                value = f(*point, g)
                want = (f(*hi, g)[0] - f(*lo, g)[0]) / (2 * h)
                assert abs(value[1 + k] - want) < 1e-8, (row, point, i)
                for ct in (0.7, 0.7 + 0.3j) if isinstance(value[0], complex) else (0.7,):
                    names = dict(zip(row.params, point, strict=False)) | {"out": value[0], "ct": ct}
                    pulled = eval(row.pull[i], scope, names)
                    assert abs((np.conj(pulled) * g).real - (np.conj(ct) * want).real) < 1e-7, (row, point, i)


@pytest.mark.parametrize("row", [p for p in rows() if p.values[0].pull is None and is_complex(p.values[0])])
def test_complex_partials(row):
    for point in row.points:
        f, which = compiled(row, point)
        for value, i in zip(f(*point)[1:], which, strict=True):
            for direction in (1.0, 1j):
                h = 1e-5 * direction
                hi, lo = list(point), list(point)
                hi[i], lo[i] = point[i] + h, point[i] - h
                want = (f(*hi)[0] - f(*lo)[0]) / (2 * h)
                assert abs(value - want) < 1e-8 * (1 + abs(want)), (row, point, i)


def test_texts_fill_names_with_parentheses():
    row = rules.lookup(math.sin)
    assert row.partial("x", {"x": "a + b"}) == "np.cos(a + b)"
    row = rules.lookup(np.multiply)
    assert row.pull_text("x", "ct", [nbtypes.float64] * 3, {"y": "a + b"}) == "ct * (a + b)"


def test_complex_cotangents_are_conjugated_and_real_for_real_operands():
    c, f = nbtypes.complex128, nbtypes.float64
    row = rules.lookup(np.multiply)
    assert row.pull_text("x", "ct", [f, c, c]) == "np.real(ct * np.conj(y))"
    assert row.pull_text("y", "ct", [f, c, c]) == "ct * np.conj(x)"


def test_power_with_literal_exponent():
    row = rules.lookup(math.pow).for_call([nbtypes.float64, nbtypes.int64])
    for n in (-5, -2, -1, 0, 0.5, 1, 2, 2.5, 3, 7, 100):
        text = row.partial("x", literals={"y": n})
        x = 1.7
        value = eval(text, rules.kernels_namespace(), {"x": x, "y": n, "out": x**n})
        assert value == pytest.approx(n * x ** (n - 1), rel=1e-14)


def test_zero_safe_products():
    assert kernels.mul0(0.0, math.inf) == 0.0
    assert kernels.mul0(0.0, math.nan) == 0.0
    assert kernels.mul0(2.0, 3.0) == 6.0
    assert kernels.div0(0.0, 0.0) == 0.0
    assert kernels.div0(1.0, 0.0) == math.inf
    assert typeof(kernels.mul0(np.float32(2.0), np.float32(3.0))) in (nbtypes.float32, nbtypes.float64)
