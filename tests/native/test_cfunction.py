"""C function pointers: calls through ctypes, SciPy and C, the status after errors, what keeps what alive."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import threading
import weakref

import numpy as np
import pytest
from numba import njit
from scipy.integrate import quad

import jitgrad as jg
from tests.allocations import of_each_call

DOUBLES = ctypes.POINTER(ctypes.c_double)


def at(array):
    return array.ctypes.data_as(DOUBLES)


@njit
def energy(x, k):
    s = 0.0
    for v in x:
        if v < -5.0:
            raise ValueError("too small")
        s += k * v**3
    return s


@njit
def rhs(t, y, dy):
    dy[0] = y[1]
    dy[1] = -t * y[0]


X = np.array([1.0, 2.0, -3.0])
gradient = jg.cfunc(jg.grad(energy), "int gradient(int n, const double x[n], double k, double out[n], void *user_data)")


def test_gradient_and_status():
    out = np.full(3, np.nan)
    assert gradient.ctypes(3, at(X), 2.0, at(out), None) == 0
    np.testing.assert_array_equal(out, 6.0 * X**2)
    assert gradient.ctypes(3, at(np.full(3, -9.0)), 2.0, at(out), None) == 1
    assert gradient.ctypes(-3, at(X), 2.0, at(out), None) == 1
    assert gradient.ctypes(2, at(X), 1.0, at(out), None) == 0
    np.testing.assert_array_equal(out[:2], 3.0 * X[:2] ** 2)


def test_value_parameters_behind_a_pointer_and_a_status():
    f = jg.cfunc(
        jg.value_and_grad(energy),
        "double f(const double x[3], double out[3], int *status, void *data)",
        user_data="double *k",
    )
    k, out, status = np.array([2.0]), np.zeros(3), ctypes.c_int(-1)
    assert f.ctypes(at(X), at(out), ctypes.byref(status), k.ctypes.data) == 2.0 * (X**3).sum()
    assert status.value == 0
    assert np.isnan(f.ctypes(at(X - 5.0), at(out), ctypes.byref(status), k.ctypes.data))
    assert status.value == 1


def test_jacobian_and_products():
    jacobian = jg.cfunc(
        jg.jacobian(rhs, 1, outs=2), "void jac(double t, const double y[2], double dy[2], double out0[2][2])"
    )
    y, dy, block = np.array([3.0, 4.0]), np.zeros(2), np.zeros((2, 2))
    assert jacobian.ctypes(2.0, at(y), at(dy), at(block)) is None
    np.testing.assert_array_equal(block, [[0.0, 1.0], [-2.0, 0.0]])
    np.testing.assert_array_equal(dy, [4.0, -6.0])

    product = jg.cfunc(
        jg.pushforward(jg.grad(energy)),
        "int hvp(size_t n, const double x[n], const double tangents[n], double k, double out0[n], double out1[n])",
    )
    out, hv = np.zeros(3), np.zeros(3)
    assert product.ctypes(3, at(X), at(np.ones(3)), 2.0, at(out), at(hv)) == 0
    np.testing.assert_array_equal(out, 6.0 * X**2)
    np.testing.assert_array_equal(hv, 12.0 * X)


@pytest.mark.slow
def test_numbers_by_reference_float32_and_several_gradients():
    f = jg.cfunc(
        jg.value_and_grad(lambda x, y: x * y, (0, 1)),
        "int f(float x, const float *y, float *out0, float *out1, float *value)",
    )
    y, outs = ctypes.c_float(3.0), [ctypes.c_float() for _ in range(3)]
    assert f.ctypes(2.0, ctypes.byref(y), *map(ctypes.byref, outs)) == 0
    assert [out.value for out in outs] == [3.0, 2.0, 6.0]


@pytest.mark.slow
def test_tuples_and_functions_of_the_users_own():
    slope = jg.grad(lambda p, x: p[0] * x**3 + p[1], 1)

    @njit
    def slopes(p, x):
        return slope(p, x), p[0]

    f = jg.cfunc(slopes, "int f(double p0, double p1, double x, double *out0, double *out1)")
    outs = [ctypes.c_double() for _ in range(2)]
    assert f.ctypes(2.0, 7.0, 3.0, *map(ctypes.byref, outs)) == 0
    assert [out.value for out in outs] == [54.0, 2.0]


def test_functions_for_quad():
    cube = lambda x, a=1.0: a * x**3
    assert quad(jg.cfunc(jg.grad(cube), "double(double x)").low_level_callable(), 0.0, 2.0)[0] == pytest.approx(8.0)

    slope = jg.grad(cube)

    @njit
    def integrand(x):
        return slope(x[0], x[1])

    f = jg.cfunc(integrand, "double(int n, double x[n])")
    assert quad(f.low_level_callable(), 0.0, 2.0, args=(3.0,))[0] == pytest.approx(24.0)

    f = jg.cfunc(slope, "double(double x, void *user_data)", user_data="double *a")
    assert quad(f.low_level_callable(np.array([4.0])), 0.0, 2.0)[0] == pytest.approx(32.0)
    for bad in (np.array([4.0], np.float32), np.zeros(0), np.zeros((4, 4))[:, 1]):
        with pytest.raises(jg.ArgumentError, match="user_data must be a C-contiguous array"):
            f.low_level_callable(bad)
    with pytest.raises(jg.ArgumentError, match=r"must be an array or a ctypes pointer, not 4.0; pass np.array"):
        f.low_level_callable(4.0)
    with pytest.raises(jg.ArgumentError, match="was not told what it points to"):
        jg.cfunc(slope, "double(double x, double a)").low_level_callable(np.zeros(1))


def test_the_pointer_keeps_the_code_alive():
    held = jg.cfunc(jg.grad(lambda x: x * x), "double f(double x)")
    seen, call = weakref.ref(held), held.ctypes
    low = held.low_level_callable()
    del held
    gc.collect()
    assert call(3.0) == 6.0
    del call
    gc.collect()
    assert seen() is not None  # SciPy's object holds it
    del low
    gc.collect()
    assert seen() is None


def test_calls_from_many_threads():
    found = []

    def work(seed):
        x, out = np.full(3, 1.0 + seed), np.zeros(3)
        ok = all(gradient.ctypes(3, at(x), 2.0, at(out), None) == 0 for _ in range(200))
        found.append(ok and np.array_equal(out, 6.0 * x**2))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_nothing_is_allocated():
    pointer = gradient.ctypes
    x, out = X.copy(), np.zeros(3)

    @njit
    def call(x, out):
        return pointer(3, x.ctypes, 2.0, out.ctypes, 0)

    assert of_each_call(call, x, out) == 0.0


@pytest.mark.parametrize(
    ("prototype", "user_data", "message"),
    [
        ("double f(double x[3])", None, "no parameter for k of grad_energy; add it, as in 'double k'"),
        ("int f(double x[3], double k, double out[3], double extra)", None, "extra in .* is no parameter of"),
        ("int f(double x[3], double k, double out[3], double _extra)", None, None),
        ("double f(double x[3], double k)", None, "returns an array .* but the prototype .* returns float64"),
        ("double f(double x[3], double k, double out[3])", None, "returns None, but the prototype"),
        ("void f(double x[3], double k)", None, "has no place for what grad_energy returns"),
        ("int f(double x[3], void *k, double out[3])", None, "tell what it points to with user_data"),
        ("int f(double x[3], double out[3])", "double *k", r"the one void \* parameter"),
        ("int f(double x[3], double out[3], void *d)", "double k", r"the one void \* parameter"),
        ("int f(double x[3], double out[3], void *k)", "double *k", "both name k"),
        ("int f(double x[3], double k, double out[3], int status)", None, "must be a pointer to one number"),
        ("int f(double x, double k, double *out)", None, None),
    ],
)
def test_prototypes_that_do_not_fit(prototype, user_data, message):
    if message is None:
        if "double x," in prototype:  # the function itself says what is wrong
            with pytest.raises(Exception, match="getiter|iter"):
                jg.cfunc(jg.grad(energy), prototype)
        else:
            assert jg.cfunc(jg.grad(energy), prototype).address
        return
    with pytest.raises(jg.ArgumentError, match=message):
        jg.cfunc(jg.grad(energy), prototype, user_data=user_data)


SOLVER = """
typedef int (*gradient_t)(int n, const double *x, double k, double *out, void *user_data);

int descend(gradient_t gradient, int n, double *x, double k, int steps) {
    double g[16];
    for (int step = 0; step < steps; step++) {
        int status = gradient(n, x, k, g, 0);
        if (status) return status;
        for (int i = 0; i < n; i++) x[i] -= 0.05 * g[i];
    }
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_solver_in_c(tmp_path):
    (tmp_path / "solver.c").write_text(SOLVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", "solver.so", "solver.c"], cwd=tmp_path, check=True)
    solver = ctypes.CDLL(str(tmp_path / "solver.so"))
    descend = solver.descend
    descend.argtypes = [ctypes.c_void_p, ctypes.c_int, DOUBLES, ctypes.c_double, ctypes.c_int]
    x, want = np.array([1.0, 0.5]), np.array([1.0, 0.5])
    assert descend(gradient.address, 2, at(x), 2.0, 10) == 0
    for _ in range(10):
        want -= 0.05 * 6.0 * want**2
    np.testing.assert_allclose(x, want, rtol=1e-14)
    assert descend(gradient.address, 2, at(np.full(2, -4.0)), 2.0, 10) == 1
