"""repeat: derivatives of long loops with few states kept."""

from __future__ import annotations

import pickle
from collections import namedtuple

import numpy as np
import pytest
from numba import njit, objmode

import jitgrad as jg
from tests.peak import peak
from tests.runtime.test_revolve import closed_form


# ----- a number -------------------------------------------------------------------------------------
@njit
def logistic(x, i, rate):
    return x + rate * x * (1.0 - x) / (1.0 + i)


@njit
def plain_logistic(x, n, rate):
    for i in range(n):
        x = logistic(x, i, rate)
    return x


def check(found, expected):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("snapshots", [1, 4, "sqrt", "log", "all"])
def test_gradient_of_a_number(snapshots):
    run = jg.repeat(logistic, snapshots=snapshots)
    gradient, expected = jg.grad(run, (0, 2)), jg.grad(plain_logistic, (0, 2))
    for n in (0, 1, 2, 3, 40):
        assert run(0.2, n, 0.7) == plain_logistic(0.2, n, 0.7)
        check(gradient(0.2, n, 0.7), expected(0.2, n, 0.7))


def test_every_mode_and_order():
    run = jg.repeat(logistic, snapshots=3)
    at = 0.2, 12, 0.7
    check(jg.jvp(run, at, (1.0, 0.5)), jg.jvp(plain_logistic, at, (1.0, 0.5)))
    expected = jg.hessian(plain_logistic, (0, 2))(*at)
    check(jg.hessian(run, (0, 2))(*at), expected)
    check(jg.jacrev(jg.grad(run, (0, 2)), (0, 2))(*at), expected)


@pytest.mark.slow
def test_third_order_in_reverse_mode():
    run = jg.repeat(logistic, snapshots=2)
    third = jg.grad(jg.grad(jg.grad(run)))
    expected = jg.grad(jg.hessian(plain_logistic))
    assert third(0.2, 7, 0.7) == pytest.approx(expected(0.2, 7, 0.7), rel=1e-12)


# ----- the number of steps and of states ------------------------------------------------------------
steps = 0


def count():
    global steps
    steps += 1


@jg.custom_vjp
def counted(x):
    with objmode():
        count()
    return 1.0 * x


counted.defvjp(lambda x: (1.0 * x, ()), lambda residuals, ct: (ct,))


def counted_step(x, i):
    return x * np.cos(counted(x))


def test_steps_are_as_few_as_the_schedule_promises():
    """A gradient of n steps runs n for the value, the least number to come back to each, and n that go backwards."""
    global steps
    for snapshots, n in ((2, 10), (5, 40)):
        gradient = jg.grad(jg.repeat(counted_step, snapshots=snapshots))
        gradient(1.0, n)
        steps = 0
        gradient(1.0, n)
        assert steps == n + closed_form(n, snapshots) + n


# ----- arrays and tuples ----------------------------------------------------------------------------
@njit
def wave(state, i, speed, damping):
    """In place, and with a number that is no float."""
    u, v, energy, calls = state
    for k in range(1, u.size - 1):
        v[k] += speed[k] * (u[k - 1] - 2.0 * u[k] + u[k + 1]) - damping * v[k]
    for k in range(1, u.size - 1):
        u[k] += v[k]
    return u, v, energy + 0.1 * np.sum(v * v), calls + 1


def energy_of(u, n, speed, damping):
    x, v, energy, calls = run_wave((u.copy(), np.zeros_like(u), 0.0, 0), n, speed, damping)
    return energy + x[1] + 0.0 * calls


def energy_in_python(u, n, speed, damping):
    state = u.copy(), np.zeros_like(u), 0.0, 0
    for i in range(n):
        state = wave.py_func(state, i, speed, damping)
    return state[2] + state[0][1]


run_wave = jg.repeat(wave, snapshots="log")
wave_gradient = jg.grad(njit(energy_of), (0, 2, 3))
U, SPEED = np.sin(np.linspace(0.0, 3.0, 6)), np.linspace(0.1, 0.3, 6)


def test_tuple_written_in_place_in_nopython_code():
    by_u, by_speed, by_damping = wave_gradient(U, 9, SPEED, 0.1)
    h = 1e-30j
    check(by_u, [energy_in_python(U + h * e, 9, SPEED, 0.1).imag / 1e-30 for e in np.eye(6)])
    check(by_speed, [energy_in_python(U + 0j, 9, SPEED + h * e, 0.1).imag / 1e-30 for e in np.eye(6)])
    check([by_damping], [energy_in_python(U + 0j, 9, SPEED, 0.1 + h).imag / 1e-30])


@pytest.mark.slow
def test_second_order_of_a_tuple():
    found = jg.hvp(njit(energy_of), (U, 9, SPEED, 0.1), (U + 1.0, np.ones(6), 1.0), argnums=(0, 2, 3))
    plus, minus = (wave_gradient(U + s * (U + 1.0), 9, SPEED + s, 0.1 + s) for s in (1e-5, -1e-5))
    for f, p, m in zip(found, plus, minus, strict=True):
        np.testing.assert_allclose(f, (p - m) / 2e-5, rtol=1e-6, atol=1e-8)


Particle = namedtuple("Particle", "x v")


def fall(p, i, dt):
    return Particle(p.x + dt * p.v, p.v - dt * 9.81)


def test_named_tuple():
    run = jg.repeat(fall)
    found = jg.grad(lambda p, n, dt: run(p, n, dt).x, (0, 2))(Particle(1.0, 2.0), 10, 0.1)
    assert found[0] == Particle(1.0, pytest.approx(1.0))  # ten steps of 0.1
    assert found[1] == pytest.approx(10 * 2.0 - 9.81 * 0.1 * 90)  # x = 1 + 10 dt v - 45 dt^2 g


def test_the_result_is_a_copy_and_the_arguments_stay():
    run = jg.repeat(lambda u, i: u)
    u = np.ones(3)
    assert not np.shares_memory(run(u, 0), u) and not np.shares_memory(run(u, 2), u)
    doubled = np.ones(6)[::2]
    np.testing.assert_array_equal(jg.grad(lambda u: run(u, 2).sum())(doubled), np.ones(3))


# ----- memory ---------------------------------------------------------------------------------------
def diffuse(u, i, rate):
    return u + rate * np.sin(u)


def test_memory_is_that_of_the_states_held():
    """100 steps of a megabyte each."""

    @njit
    def all_steps(u, rate):
        for i in range(100):
            u = diffuse_(u, i, rate)
        return u.sum()

    run = jg.repeat(diffuse_, snapshots=5)
    u = np.linspace(0.0, 1.0, 2**17)
    megabytes = []
    for f in (all_steps, njit(lambda u, rate: run(u, 100, rate).sum())):
        gradient = jg.grad(f, (0, 1))
        gradient(u[:8], 0.01)  # compiles
        megabytes.append(peak(lambda g=gradient: g(u, 0.01)) / 2**20)
    assert megabytes[0] > 90.0
    assert megabytes[1] < 30.0


diffuse_ = njit(diffuse)


# ----- objects --------------------------------------------------------------------------------------
def test_one_function_for_one_step_and_schedule():
    assert jg.repeat(logistic) is jg.repeat(logistic, snapshots="sqrt") is not jg.repeat(logistic, snapshots=3)


def test_pickle():
    run = pickle.loads(pickle.dumps(jg.repeat(logistic, snapshots=3)))
    assert run(0.2, 3, 0.7) == plain_logistic(0.2, 3, 0.7)


def test_keywords():
    assert jg.repeat(logistic)(0.2, rate=0.7, n=3) == plain_logistic(0.2, 3, 0.7)


# ----- refusals -------------------------------------------------------------------------------------
def test_wrong_arguments():
    with pytest.raises(
        jg.ArgumentError, match="snapshots must be one of 'sqrt', 'log', 'all' or a positive integer, not 0"
    ):
        jg.repeat(logistic, snapshots=0)
    with pytest.raises(jg.ArgumentError, match="not 'cubic'"):
        jg.repeat(logistic, snapshots="cubic")
    with pytest.raises(
        jg.ArgumentError, match=r"repeat takes step\(state, i, \*params\), but <lambda> has 1 parameter"
    ):
        jg.repeat(lambda x: x)
    with pytest.raises(jg.ArgumentError, match=r"has the parameter \*rest; give its parameters names"):
        jg.repeat(lambda x, i, *rest: x)


def test_a_state_that_changes_its_type():
    with pytest.raises(
        jg.ArgumentError, match="returns an array .* for a state that is float64; it must keep the type"
    ):
        jg.grad(lambda x: jg_repeat_grows(x, 2).sum())(1.0)


jg_repeat_grows = jg.repeat(njit(lambda x, i: np.full(2, 1.0) * x))


def longer(u, i):
    return np.zeros(u.size + 1) + u[0]


def test_a_state_that_changes_its_shape():
    run = jg.repeat(longer, snapshots=3)
    with pytest.raises(ValueError, match="the state of a repeated step changed its shape"):
        jg.grad(lambda u: run(u, 3).sum())(np.ones(2))


def writing(u, i, work):
    work[0] = u[0]
    return u + work[0]


def test_a_step_that_writes_into_a_parameter():
    run = jg.repeat(writing)
    with pytest.raises(
        jg.UnsupportedError, match="writing writes into its parameter work, so that it cannot run again"
    ):
        jg.grad(lambda u, work: run(u, 3, work).sum())(np.ones(2), np.zeros(1))


def test_a_parameter_named_as_the_result_is_in_rules():
    power = jg.repeat(njit(lambda x, i, out: x * out))
    assert jg.grad(power, (0, 2))(2.0, 3, 3.0) == (27.0, 54.0)
    state = jg.repeat(njit(lambda out, i, k: out * k))
    assert jg.grad(state, (0, 2))(2.0, 3, 3.0) == (27.0, 54.0)
    assert jg.grad(jg.grad(state, 2), 2)(2.0, 3, 3.0) == 36.0
