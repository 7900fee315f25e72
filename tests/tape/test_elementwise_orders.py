"""First, second and third derivatives of every elementwise function on the tape, at the points of its rule."""

import mpmath
import numpy as np
import pytest
import scipy.special

import jitgrad as jg
from jitgrad.rules import ScalarRule, all_rules, lookup
from jitgrad.tape.elementwise import ufunc_primitive

MP = mpmath.mp.clone()
MP.dps = 60

REFERENCES = {  # of the rows that name none: their derivatives away from kinks
    "remainder": "x - y * floor(x / y)",
    "fmod": "x - y * (floor(x / y) if x * y > 0 else ceil(x / y))",
    "power": "x ** y",
    "float_power": "x ** y",
    "conjugate": "x",
    "copysign": "abs(x) * sign(y)",
    "maximum": "max(x, y)",
    "minimum": "min(x, y)",
    "fmax": "max(x, y)",
    "fmin": "min(x, y)",
    "ldexp": "x * 2 ** int(y)",
    "nextafter": "x",
}
SPECIAL = (scipy.special.erf, scipy.special.erfc, scipy.special.gamma, scipy.special.gammaln, scipy.special.psi)


def functions():
    """(ufunc, rule) for every ufunc with a scalar rule of real numbers, those of scipy.special among them."""
    rules = [r for r in all_rules() if isinstance(r, ScalarRule) and r.points and r.pull is None]
    found = [(f, r) for r in rules for f in r.functions if isinstance(f, np.ufunc)]
    return found + [(f, ufunc_primitive(f).rule) for f in SPECIAL]


CASES = [pytest.param(f, rule, id=f.__name__) for f, rule in functions()]


def reference(function, rule, count):
    scope = {name: getattr(MP, name) for name in dir(MP) if not name.startswith("_")}
    text = rule.reference or REFERENCES[function.__name__]
    names = ", ".join(rule.params[:count])
    return eval(f"lambda {names}: {text}", {**scope, "abs": abs, "int": int, "max": max, "min": min})


def exact(f, point, k, order):
    """The derivative of this order in operand `k`, by differences with so many digits that none of ours is lost."""
    values = [MP.mpf(float(v)) for v in point]
    h = MP.mpf(10) ** -12 * (abs(values[k]) or 1)
    with MP.workdps(1500 if 0 < abs(values[k]) < 1e-100 else MP.dps):
        return float(MP.diff(lambda t: f(*values[:k], t, *values[k + 1 :]), values[k], order, h=h).real)


def orders(function, point, k, count=3):
    """The derivatives in operand `k` of orders 1 to `count`, by tapes inside tapes."""
    x = jg.Variable(float(point[k]))
    tapes = [jg.GradientTape() for _ in range(count)]
    for tape in tapes:
        tape.__enter__()
    value = function(*point[:k], x, *point[k + 1 :])
    found = []
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
        value = tape.gradient(value, x, unconnected_gradients="zero")
        found.append(float(value))
    return found


def test_all_are_here():
    """A rule that came without a reference would be left out silently."""
    names = {case.id for case in CASES}
    assert {"sin", "power", "arctan2", "hypot", "logaddexp", "remainder", "erf", "gammaln", "psi"} < names
    assert len(names) > 50


@pytest.mark.parametrize(("function", "rule"), CASES)
def test_three_orders_against_mpmath(function, rule):
    for point in rule.points:
        f = reference(function, rule, len(point))
        for k in range(len(point)):
            if not rule.differentiable(k):
                continue
            for order, got in enumerate(orders(function, point, k), 1):
                want = exact(f, point, k, order)
                if abs(want) > 1e300:  # out of range, as the squares on the way to it
                    break
                # what rounding the operand alone may change, a hundred times
                bound = 1e-13 * max(1.0, abs(exact(f, point, k, order + 1) * float(point[k])), abs(want))
                assert got == pytest.approx(want, rel=1e-12, abs=bound), (point, k, order)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "rule"), CASES)
def test_three_orders_against_the_engine(function, rule):
    engine = engines(function, rule)
    for point in rule.points:
        args = [float(v) if rule.differentiable(k) else v for k, v in enumerate(point)]
        for k in range(len(point)):
            if rule.differentiable(k):
                want = [d(*args) for d in engine(k, len(point))]
                np.testing.assert_allclose(orders(function, args, k), want, rtol=1e-12, atol=1e-12, err_msg=f"{point}")


def engines(function, rule):
    """The engine's derivatives of orders 1 to 3 as a function of the operand and of how many there are."""
    known = function if lookup(function) is rule else rule.functions[0]  # Numba has nothing of scipy.special

    def nested(k, count):
        names = ", ".join("xyz"[:count])
        g = eval(f"lambda {names}: f({names})", {"f": known})
        found = []
        for _ in range(3):
            g = jg.grad(g, argnums=k)
            found.append(g)
        return found

    return nested
