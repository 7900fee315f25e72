"""Forward mode: the generated source, structures of tangents, nesting, errors."""

import math
import re
import textwrap

import numpy as np
import pytest
from numba import njit, typeof
from numba.extending import intrinsic

import jitgrad.transforms.forward as forward
from jitgrad import frontend
from jitgrad.backend import derivative
from jitgrad.errors import NoRuleError, UnsupportedError
from jitgrad.transforms.forward import algebra
from jitgrad.transforms.request import JvpRequest
from tests.transforms.tangents import check


def jvp(function, wrt=(0,), outs=None):
    return derivative(function, JvpRequest(wrt, outs))


def source(function, *args, wrt=(0,), outs=None):
    """The generated source without the comments that tell places."""
    program = frontend.read(function, tuple(typeof(a) for a in args))
    text = forward.emit(program, JvpRequest(wrt, outs)).source
    return re.sub(r"  # \S+:\d+$", "", text, flags=re.M)


# ----- the text of tangents --------------------------------------------------------------------------
@pytest.mark.parametrize(
    "terms, text",
    [
        (["x_dot"], "x_dot"),
        (["-x_dot"], "-x_dot"),
        (["x_dot", "-y_dot"], "x_dot - y_dot"),
        (["-x_dot", "y_dot"], "y_dot - x_dot"),
        (["x_dot * y", "y_dot * -x"], "x_dot * y - y_dot * x"),
        (["x_dot * (1.0 / y)"], "x_dot / y"),
        (["x_dot * -math.sin(x)"], "-(x_dot * math.sin(x))"),
        (["x_dot * 1.0"], "x_dot"),
        (["mul0(x_dot, 1.0 / 2.0)"], "x_dot / 2.0"),
        (["mul0(x_dot, 1.0 / 0.0)"], "mul0(x_dot, 1.0 / 0.0)"),
        (["x_dot * (y + 1.0)", "-y_dot * (z - 2.0)"], "x_dot * (y + 1.0) - y_dot * (z - 2.0)"),
    ],
)
def test_sums_are_written_as_a_person_would(terms, text):
    assert algebra.total(terms) == text


@pytest.mark.parametrize(
    "copies, lines",
    [
        ([("a", "a")], []),
        ([("a", "b"), ("b", "c")], ["a = b", "b = c"]),
        ([("b", "c"), ("a", "b")], ["a = b", "b = c"]),
        ([("a", "b"), ("b", "a")], ["a, b = b, a"]),
        ([("a", "b"), ("b", "a"), ("c", "np.zeros_like(a)")], ["c = np.zeros_like(a)", "a, b = b, a"]),
        ([("a", "b"), ("b", "a"), ("d", "0.0")], ["d = 0.0", "a, b = b, a"]),
    ],
)
def test_copies_at_once(copies, lines):
    assert algebra.in_order(copies) == lines


# ----- the generated function ------------------------------------------------------------------------
@njit
def pendulum(theta, omega, length, steps):
    energy = np.zeros(steps)
    for k in range(steps):
        force = -9.81 / length * math.sin(theta)
        omega += 0.01 * force
        theta += 0.01 * omega
        if theta < 0.0:
            theta = -theta
        energy[k] = 0.5 * omega**2
    return energy


def test_source_of_a_loop():
    assert source(pendulum, 0.3, 0.1, 1.0, 5, wrt=(0, 1)) == textwrap.dedent("""\
        def jvp_pendulum(tangents, theta, omega, length, steps):
            theta_dot = tangents[0]
            omega_dot = tangents[1]
            energy = np.zeros(steps)
            energy_dot = np.zeros_like(energy)
            for i in range(steps):
                t = (-9.81) / length
                t_1_dot = theta_dot * fastmath.cos(theta)
                t_1 = math.sin(theta)
                force_dot = t_1_dot * t
                force = t * t_1
                t_dot = force_dot * 0.01
                t = 0.01 * force
                omega_dot = omega_dot + t_dot
                omega = omega + t
                t_dot = omega_dot * 0.01
                t = 0.01 * omega
                theta_dot = theta_dot + t_dot
                theta = theta + t
                t_2 = theta < 0.0
                if t_2:
                    theta_dot = -theta_dot
                    theta = -theta
                t_dot = omega_dot * (omega + omega)
                t = omega ** 2
                t_dot = t_dot * 0.5
                t = 0.5 * t
                energy_dot[i] = t_dot
                energy[i] = t
            return (energy, energy_dot)
        """)


@njit
def scaled(x, w):
    y = np.tanh(x * w)
    y[1:] += y[:-1]
    return y, 3


def test_source_of_arrays():
    assert source(scaled, np.ones(3), 2.0, wrt=(0, 1)) == textwrap.dedent("""\
        def jvp_scaled(tangents, x, w):
            x_dot = tangents[0]
            w_dot = tangents[1]
            n = x.shape[0]
            y = np.empty((n,), np.float64)
            y_dot = np.empty_like(y)
            for i in range(n):
                x_i = x[i]
                x_i_dot = x_dot[i]
                t_dot = x_i_dot * w + w_dot * x_i
                t = x_i * w
                t = np.tanh(t)
                t_dot = t_dot * (1.0 - t * t)
                y[i] = t
                y_dot[i] = t_dot
            t_1_dot = y_dot[1:]
            t_1 = y[1:]
            t_2_dot = y_dot[:(-1)]
            t_2 = y[:(-1)]
            check_broadcast(t_2.shape, t_1.shape)
            t_2_step = 0 if t_2.shape[0] == 1 else 1
            for i in range(t_1.shape[0]):
                t_1_i = t_1[i]
                t_1_i_dot = t_1_dot[i]
                t_2_i = t_2[i * t_2_step]
                t_2_i_dot = t_2_dot[i * t_2_step]
                new_dot = t_1_i_dot + t_2_i_dot
                new = t_1_i + t_2_i
                t_1[i] = new
                t_1_dot[i] = new_dot
            t_3_dot = (y_dot, 0.0,)
            t_3 = (y, 3,)
            return (t_3, t_3_dot)
        """)


def test_places_are_told_once_per_line_of_the_user():
    program = frontend.read(pendulum, tuple(typeof(a) for a in (0.3, 0.1, 1.0, 5)))
    text = forward.emit(program, JvpRequest((0,))).source
    line = pendulum.py_func.__code__.co_firstlineno + 4
    assert text.count(f"# test_forward.py:{line}") == 1


def test_inactive_values_have_no_tangent():
    @njit
    def f(x, a):
        b = a * 3.0
        c = b * b
        return x + c

    assert "b_dot" not in source(f, 1.0, 2.0) and "a_dot" not in source(f, 1.0, 2.0)


def test_parameter_names_stay():
    @njit
    def f(tangents, math, mul0=2.0):
        return tangents / math * mul0

    made = jvp(f, (0, 1, 2))
    value, dot = made((1.0, 0.0, 0.0), 3.0, mul0=3.0, math=2.0)
    assert (value, dot) == (4.5, 1.5)
    assert made((0.0, 0.0, 1.0), 3.0, 2.0, 4.0)[1] == 1.5


# ----- arguments and results ---------------------------------------------------------------------------
def test_tangents_are_only_read_and_arguments_written():
    @njit
    def f(x):
        x[0] *= x[1]
        return x.sum()

    x, v = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    assert jvp(f)((v,), x) == (9.0, 33.0)
    assert v.tolist() == [1.0, 10.0] and x.tolist() == [6.0, 3.0]


def test_outs():
    @njit
    def f(x, out, n):
        for k in range(n):
            out[k] = out[k] + x**k

    out = np.ones(3)
    value, dot = jvp(f, (0,), (1,))((1.0,), 2.0, out, 3)
    assert value[0] is not None and value[0].tolist() == [2.0, 3.0, 5.0] == out.tolist()
    assert dot[0].tolist() == [0.0, 1.0, 4.0]
    value, dot = jvp(f, (0, 1), (1,))((1.0, np.full(3, 0.5)), 2.0, np.ones(3), 3)
    assert dot[0].tolist() == [0.5, 1.5, 4.5]


def test_star_arguments_and_defaults():
    @njit
    def f(a, b=2.0, *rest):
        total = a * b
        for r in rest:
            total += r * a
        return total

    @njit
    def g(a, b=2.0):
        return a * b

    assert jvp(f, (0, 3))((1.0, 1.0), 3.0, 2.0, 5.0, 7.0) == (42.0, 17.0)
    assert jvp(g)((1.0,), 3.0) == (6.0, 2.0)
    assert jvp(g)((1.0,), 3.0, b=4.0) == (12.0, 4.0)


def test_results_without_derivative():
    @njit
    def constant(x, a):
        return 2.0, a, 3, True

    value, dot = jvp(constant)((1.0,), 0.5, np.ones(2))
    assert dot[0] == 0.0 and dot[1].tolist() == [0.0, 0.0] and dot[2] == 0.0 and dot[3] == 0.0


def test_float32_stays_float32():
    @njit
    def f(x, n):
        s = np.float32(0.0)
        for k in range(n):
            s += np.sqrt(x) * x / (k + 1)
        return s * np.float32(2.0), np.full(2, x) * x

    program = frontend.read(f, (typeof(np.float32(1.0)), typeof(1)))
    made = forward.emit(program, JvpRequest((0,)))
    exec(made.source, made.namespace)
    compiled = njit(made.namespace[made.name])
    compiled((np.float32(1.0),), np.float32(2.0), 3)
    (value, dot) = compiled.overloads[compiled.signatures[0]].signature.return_type
    assert value[1] == dot[1]
    dots = compiled((np.float32(1.0),), np.float32(2.0), 3)[1]
    assert dots[1].dtype == np.float32


@pytest.mark.parametrize("x", [0.7 + 0.4j, -1.3 + 0.2j])
def test_complex(x):
    @njit
    def holomorphic(z, t):
        w = z * z + t
        for _ in range(2):
            w = np.exp(w * 0.1j) / (w + 2.0)
        return w

    @njit
    def real_parts(z, t):
        w = np.conj(z) * t + 1j * t
        return abs(w) + w.real * w.imag + np.angle(z), w

    check(holomorphic, lambda: (x, 0.3), (0, 1))
    check(real_parts, lambda: (x, 0.3), (0, 1))


def test_complex_arrays():
    @njit
    def f(a, z):
        b = np.zeros(3, np.complex128)
        b[0] = a[0]
        b[1:] = a[1:] * z
        b.imag[2] = a[0]
        return np.sum(np.abs(b)) + (b * b).real[1], b

    check(f, lambda: (np.array([0.5, 1.5, -0.7]), 0.3 + 0.8j), (0, 1))


@pytest.mark.parametrize(
    "function, args, tangents, expected",
    [
        (njit(lambda x: abs(x)), (0.0,), (1.0,), 0.0),
        (njit(lambda x, y: max(x, y)), (1.0, 1.0), (1.0, 0.0), 0.5),
        (njit(lambda x, y: min(x, y)), (1.0, 2.0), (3.0, 1.0), 3.0),
        (njit(lambda x: math.sqrt(x)), (0.0,), (1.0,), math.inf),
        (njit(lambda x: math.sqrt(x)), (0.0,), (0.0,), 0.0),
        (njit(lambda x, n: x**n), (0.0, 0), (1.0,), 0.0),
        (njit(lambda x: x * 0.0 if x > 0.0 else math.log(x + 2.0)), (0.0,), (1.0,), 0.5),
        (njit(lambda x: float(int(x)) + math.floor(x)), (2.5,), (1.0,), 0.0),
        (njit(lambda x, y: x % y), (7.5, 2.0), (1.0, 1.0), -2.0),
        (njit(lambda x, y: x // y), (7.5, 2.0), (1.0, 1.0), 0.0),
    ],
)
def test_kinks(function, args, tangents, expected):
    wrt = tuple(range(len(tangents)))
    assert jvp(function, wrt)(tangents, *args)[1] == expected


# ----- aliasing ----------------------------------------------------------------------------------------
def test_overlapping_arguments_are_refused_where_one_is_written():
    @njit
    def f(a, b):
        a[0] = b[1] * 2.0
        return b.sum()

    x = np.arange(4.0)
    v = np.ones(2)
    with pytest.raises(ValueError, match="a and b of f overlap"):
        jvp(f, (0, 1))((v, v), x[:2], x[1:3])
    assert jvp(f, (0, 1))((v, v), x[::2], x[1::2])[1] == 2.0


def test_overlapping_items_of_a_tuple_are_refused_where_one_is_written():
    @njit
    def f(p):
        p[0][0] = p[1][1] * 2.0
        return p[1].sum()

    x, v = np.arange(4.0), np.ones(2)
    with pytest.raises(ValueError, match=r"p\[0\] and p\[1\] of f overlap"):
        jvp(f, (0,))(((v, v),), (x[:2], x[1:3]))
    assert jvp(f, (0,))(((v, v),), (x[::2], x[1::2]))[1] == 2.0


def test_the_same_argument_twice_is_fine_where_it_is_only_read():
    @njit
    def f(a, b):
        return np.sum(a * b)

    x = np.array([1.0, 2.0])
    assert jvp(f, (0, 1))((np.ones(2), np.ones(2)), x, x)[1] == 6.0


# ----- calls and nesting ------------------------------------------------------------------------------
@njit
def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


@njit
def fill_halves(a, low, high):
    if high - low < 1:
        return
    middle = (low + high) // 2
    a[middle] *= a[0] + 1.0
    fill_halves(a, low, middle)
    fill_halves(a, middle + 1, high)


def test_recursion():
    @njit
    def f(x):
        return power(x, 4)

    assert jvp(f)((1.0,), 2.0) == (16.0, 32.0)


def test_recursion_that_writes():
    @njit
    def f(a):
        b = a * 2.0
        fill_halves(b, 0, b.size)
        return b

    check(f, lambda: (np.linspace(0.2, 0.9, 5),), (0,))


@njit
def chain(x, n):
    s = 0.0
    for k in range(n):
        x = math.sin(x * x) + x / (1.0 + k)
        s += math.sqrt(1.0 + x * x)
    return s


@njit
def scan(x):
    y = x * x
    for k in range(1, y.size):
        y[k] += y[k - 1] * math.exp(x[k])
    y *= x
    return y[0] * y[y.size - 1]


@njit
def parts_and_copies(x, m):
    y = x.copy()
    flat = y.reshape(2, 2).flatten()
    real = np.real(y)
    real *= x[1]
    flat[0] = x[2]
    s = 0.0
    for (i, j), v in np.ndenumerate(y.reshape(2, 2)):
        s += v * m[i, j] + y.imag[0]
    return s + np.sum(flat * y)


def test_copies_are_copies_and_views_are_views():
    check(parts_and_copies, lambda: (np.array([0.7, 1.3, 0.4, 1.1]), np.array([[1.0, 2.0], [3.0, 4.0]])), (0, 1))


def test_third_derivative():
    one = jvp(chain)
    two = jvp(one, (1,))
    three = jvp(two, (2,))
    h = 1e-5
    expected = (two((1.0,), (1.0,), 0.7 + h, 4)[1][1] - two((1.0,), (1.0,), 0.7 - h, 4)[1][1]) / (2 * h)
    assert three((1.0,), (1.0,), (1.0,), 0.7, 4)[1][1][1] == pytest.approx(expected, rel=1e-6)


def test_second_derivative_of_array_code_is_symmetric():
    two = jvp(jvp(scan), (1,))
    x, u, v = np.array([0.3, 0.5, 0.8]), np.array([1.0, -0.5, 0.2]), np.array([0.1, 0.4, -1.0])
    uv = two((u,), (v,), x)[1][1]
    assert uv == pytest.approx(two((v,), (u,), x)[1][1], rel=1e-12)
    h = 1e-5
    one = jvp(scan)
    assert uv == pytest.approx((one((v,), x + h * u)[1] - one((v,), x - h * u)[1]) / (2 * h), rel=1e-7)


def test_called_from_nopython_code():
    tangent = jvp(chain)

    @njit
    def newton(x):
        for _ in range(3):
            value, slope = tangent((1.0,), x, 2)
            x -= 0.01 * value / slope
        return x

    assert newton(0.7) == pytest.approx(newton.py_func(0.7), rel=1e-12)


# ----- errors -------------------------------------------------------------------------------------------
@intrinsic
def opaque(context, x):
    return x(x), lambda context, builder, signature, args: builder.fadd(args[0], args[0])


def test_no_rule():
    @njit
    def f(x):
        return opaque(x) * x

    with pytest.raises(NoRuleError, match=r"opaque at test_forward.py:\d+: `return opaque\(x\) \* x`.*custom_jvp"):
        jvp(f)((1.0,), 2.0)


def test_a_function_without_rule_is_differentiated_by_its_implementation():
    @njit
    def f(x):
        return np.unwrap(x * x)

    check(f, lambda: (np.array([0.3, 2.4, 4.1, 1.2]),), (0,))


def test_function_values():
    from numba import types

    @njit("float64(float64)")
    def square(x):
        return x * x

    @njit
    def f(x, functions):
        return functions[0](x)

    program_types = (types.float64, types.UniTuple(types.FunctionType(types.float64(types.float64)), 1))
    with pytest.raises(UnsupportedError, match="cannot see which function"):
        forward.emit(frontend.read(f, program_types), JvpRequest((0,)))


def test_broadcasting_that_cannot_be_is_an_error():
    @njit
    def f(x, y):
        x[1:] += y
        return x[0]

    with pytest.raises(ValueError, match="broadcast"):
        jvp(f, (0, 1))((np.ones(4), np.ones(2)), np.ones(4), np.ones(2))
