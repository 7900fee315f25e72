"""`np.linalg` without decompositions: derivatives by tapes against central differences, singular points, refusals."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, leaves, taped_gradient
from tests.tape.functions.test_products import of_complex

(A,) = inputs((3, 3), low=-1.0, high=1.0)
REGULAR = A + 2.5 * np.eye(3)
STACK = np.stack([REGULAR, 0.3 * REGULAR.T @ REGULAR])
(TALL, WIDE) = inputs((4, 2), (2, 4), low=-1.0)
RANK_TWO = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.3, 1.0, 2.5]])
RANK_ONE = np.outer([1.0, 2.0, -0.5], [0.7, -1.0, 2.0])


@cases(
    {
        "inv": (np.linalg.inv, REGULAR),
        "inv_stack": (np.linalg.inv, STACK),
        "inv_complex": (of_complex(lambda z: np.linalg.inv(z), (3, 3))[0], REGULAR, A),
        "solve_vector": (np.linalg.solve, REGULAR, *inputs(3)),
        "solve_matrix": (np.linalg.solve, REGULAR, *inputs((3, 2))),
        "solve_stack": (np.linalg.solve, STACK, *inputs((2, 3, 1))),
        "solve_stack_vector": (np.linalg.solve, STACK, *inputs(3)),
        "solve_stack_matrix": (np.linalg.solve, STACK, *inputs((3, 2))),
        "solve_matrix_stack": (np.linalg.solve, REGULAR, *inputs((2, 3, 1))),
        "solve_list": (lambda a: np.linalg.solve(a, [1.0, 2.0, 3.0]), REGULAR),
        "solve_constant": (lambda b: np.linalg.solve(REGULAR, b), *inputs(3)),
        "solve_complex": (of_complex(np.linalg.solve, (3, 3), 3)[0], REGULAR, A, *inputs(3, 3)),
        "tensorsolve": (np.linalg.tensorsolve, REGULAR.reshape(3, 1, 3), *inputs((3, 1))),
        "tensorsolve_axes": (
            lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)),
            REGULAR.reshape(3, 1, 3),
            *inputs((1, 3)),
        ),
        "tensorinv": (np.linalg.tensorinv, REGULAR.reshape(1, 3, 3)),
        "tensorinv_1": (lambda a: np.linalg.tensorinv(a, ind=1), REGULAR.reshape(3, 1, 3)),
        "pinv_tall": (np.linalg.pinv, TALL),
        "pinv_wide": (np.linalg.pinv, WIDE),
        "pinv_stack": (np.linalg.pinv, np.stack([TALL, TALL[::-1] + 1.0])),
        "pinv_rtol": (lambda a: np.linalg.pinv(a, rtol=1e-10), TALL),
        "pinv_rcond": (lambda a: np.linalg.pinv(a, 1e-10), TALL),
        "pinv_complex": (of_complex(np.linalg.pinv, (4, 2))[0], TALL, WIDE.T),
    }
)
def test_systems_and_inverses(f, xs):
    check(f, xs)


@cases(
    {
        "regular": (np.linalg.det, REGULAR),
        "stack": (np.linalg.det, STACK),
        "one": (np.linalg.det, np.array([[0.7]])),
        "negative": (np.linalg.det, REGULAR[::-1]),
        "rank_two": (np.linalg.det, RANK_TWO),
        "rank_one": (np.linalg.det, RANK_ONE),
        "zero": (np.linalg.det, np.zeros((3, 3))),
        "stack_with_singular": (np.linalg.det, np.stack([REGULAR, RANK_TWO])),
        "complex": (of_complex(np.linalg.det, (3, 3))[0], REGULAR, A),
        "complex_singular": (
            of_complex(np.linalg.det, (2, 2))[0],
            *[np.outer([1.0, 2.0], row) for row in ([1.0, 2.0], [3.0, 1.0])],
        ),
        "log": (lambda a: np.linalg.slogdet(a)[1], -REGULAR),
        "log_stack": (lambda a: np.linalg.slogdet(a).logabsdet, STACK),
        "log_complex": (of_complex(lambda z: np.linalg.slogdet(z)[0], (3, 3))[0], REGULAR, A),
        "log_complex_size": (lambda re, im: np.linalg.slogdet(re + 1j * im)[1], REGULAR, A),
    }
)
def test_determinants(f, xs):
    check(f, xs)


def test_third_derivative_of_a_determinant():
    """det of [[a, b], [c, d]] scaled: d^3/dt^3 of det(m0 + t m1) for 3 by 3 is 6 det(m1)."""
    t = jg.constant(0.3)
    with jg.GradientTape() as third:
        third.watch(t)
        with jg.GradientTape() as second:
            second.watch(t)
            with jg.GradientTape() as first:
                first.watch(t)
                y = np.linalg.det(REGULAR + t * A)
            slope = first.gradient(y, t)
        curvature = second.gradient(slope, t)
    np.testing.assert_allclose(third.gradient(curvature, t), 6 * np.linalg.det(A), rtol=1e-10)


def test_slogdet_is_a_named_tuple():
    found = np.linalg.slogdet(jg.constant(REGULAR))
    assert type(found) is type(np.linalg.slogdet(REGULAR))
    assert float(found.sign) == 1.0
    (gradient,) = taped_gradient(lambda a: np.linalg.slogdet(a).sign, [jg.constant(REGULAR)])
    np.testing.assert_array_equal(gradient, np.zeros((3, 3)))


def test_slogdet_of_singular_matrices_has_nan_slopes():
    stack = np.stack([REGULAR, np.ones((3, 3))])
    with np.errstate(divide="ignore"):
        (found,) = taped_gradient(lambda a: np.sum(np.linalg.slogdet(a)[1]), [jg.constant(stack)])
        (alone,) = taped_gradient(lambda a: np.linalg.slogdet(a)[1], [jg.constant(np.ones((2, 2)))])
    np.testing.assert_allclose(found[0], np.linalg.inv(REGULAR).T)
    assert np.isnan(found.numpy()[1]).all()
    assert np.isnan(alone.numpy()).all()


@pytest.mark.parametrize("shape", [(5, 2), (3, 3), (2, 4)])
def test_least_squares(shape):
    (a,) = inputs(shape, low=-1.0)
    for b in inputs(shape[0], (shape[0], 2)):
        check_loosely(lambda x, y: np.linalg.lstsq(x, y)[::3], (a, b))
        if shape == (5, 2):
            check_loosely(lambda x, y: np.linalg.lstsq(x, y, rcond=-1)[1], (a, b))


def check_loosely(f, xs):
    """As `check`, for values that NumPy computes in another way."""
    for mine, numpys in zip(leaves([f(*map(jg.constant, xs))]), leaves([f(*xs)]), strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=1e-10, atol=1e-12)
        assert mine.shape == numpys.shape

    def by_tape(*arrays):
        return [np.asarray(out) for out in leaves([f(*map(jg.constant, arrays))])]

    check(lambda *a: f(*a) if isinstance(a[0], jg.Tensor) else by_tape(*a), xs)


def test_least_squares_of_deficient_rank():
    b = np.array([1.0, 2.0, 3.0])
    x, residuals, rank, s = np.linalg.lstsq(jg.constant(RANK_TWO), b)
    expected = np.linalg.lstsq(RANK_TWO, b)
    np.testing.assert_allclose(x, expected[0], rtol=1e-10)
    assert residuals.shape == expected[1].shape == (0,)
    assert rank == expected[2] == 2
    np.testing.assert_allclose(s, expected[3], atol=1e-14)
    zero, *_ = np.linalg.lstsq(jg.constant(np.zeros((2, 2))), np.ones(2))
    np.testing.assert_array_equal(zero, np.zeros(2))
    check_loosely(lambda y: np.linalg.lstsq(RANK_TWO, y)[0], (b,))


ORDERS = (None, 1, 2, 3, 1.5, np.inf, -np.inf, -1)
V = np.array([[0.7, -1.2], [0.3, 0.9], [-1.6, 0.4]])


@pytest.mark.parametrize("order", ORDERS)
def test_vector_norms(order):
    check(lambda x: np.linalg.norm(x, order), (V[:, 0],))
    check(lambda x: np.linalg.norm(x, ord=order, axis=0, keepdims=True), (V,))
    check(lambda x: np.linalg.norm(x, order, -1), (V,))


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(order):
    x = V.reshape(3, 1, 2) + np.zeros((3, 2, 2))
    x = x * np.array([[1.0, 0.8], [0.6, 1.3]])
    check(lambda a: np.linalg.norm(a, order), (V,))
    check(lambda a: np.linalg.norm(a, ord=order, axis=(0, 2), keepdims=True), (x,))
    check(lambda a: np.linalg.norm(a, ord=order, axis=(2, 0)), (x,))
    if order is not None:
        check(lambda a: np.linalg.matrix_norm(a, ord=order), (x,))
    if order not in ("fro", "nuc"):
        check(lambda a: np.linalg.cond(a, order), (REGULAR,))


@cases(
    {
        "all_axes": (np.linalg.norm, *inputs((2, 2, 2))),
        "matrix": (np.linalg.norm, *inputs((2, 3))),
        "complex": (lambda re, im: np.linalg.norm(re + 1j * im), *inputs(3, 3)),
        "complex_3": (lambda re, im: np.linalg.norm(re + 1j * im, 3), *inputs(3, 3)),
        "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=(0, 2)), *inputs((2, 2, 2))),
        "vector_norm_1": (lambda x: np.linalg.vector_norm(x, ord=1, keepdims=True), *inputs((2, 2))),
        "zeroth": (lambda x: np.linalg.norm(x, 0) * x[0], *inputs(3)),
        "frobenius_stack": (lambda x: np.linalg.norm(x, axis=(-2, -1)), *inputs((2, 2, 2))),
        "transpose": (np.matrix_transpose, *inputs((2, 2, 3))),
        "trace": (lambda x: np.linalg.trace(x, offset=1), *inputs((2, 3, 3))),
        "diagonal": (lambda x: np.linalg.diagonal(x, offset=-1), *inputs((2, 3, 3))),
    }
)
def test_other_norms_and_names(f, xs):
    check(f, xs)


@pytest.mark.parametrize("order", [None, 1, 3, np.inf])
def test_slope_of_a_norm_at_the_zero_vector(order):
    x = jg.constant(np.zeros(3))
    with jg.GradientTape() as outer:
        outer.watch(x)
        (slope,) = taped_gradient(lambda v: np.linalg.norm(v, order), [x])
    np.testing.assert_array_equal(slope, np.zeros(3))
    np.testing.assert_array_equal(outer.gradient(slope, x, unconnected_gradients="zero"), np.zeros(3))


def test_slope_of_a_norm_at_zero_elements():
    (slope,) = taped_gradient(lambda v: np.linalg.norm(v, 0.5), [jg.constant([0.0, 4.0])])
    np.testing.assert_array_equal(slope, [0.0, 1.0])


def test_norms_of_integers():
    found = np.linalg.norm(jg.constant([3, 4]))
    assert float(found) == 5.0
    assert found.dtype == float


def test_what_norm_refuses():
    x = jg.constant(np.ones((2, 2, 2)))
    for arguments in ({"ord": 1}, {"axis": (0, 1, 2)}, {"ord": "fro", "axis": 0}, {"ord": 5, "axis": (0, 1)}):
        with pytest.raises(ValueError, match=r"norm"):
            np.linalg.norm(x, **arguments)
    with pytest.raises(ValueError, match="Duplicate"):
        np.linalg.norm(x, axis=(0, 0), ord=1)


def test_refusals_and_errors():
    x = jg.constant(REGULAR)
    with pytest.raises(UnsupportedError, match="hermitian"):
        np.linalg.pinv(x, hermitian=True)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(jg.constant(np.zeros((2, 2))))
    assert int(np.linalg.matrix_rank(x)) == 3


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.inv,
        np.linalg.det,
        np.linalg.pinv,
        np.linalg.norm,
        np.linalg.cond,
        lambda a: np.linalg.solve(a, a[0]),
        lambda a: np.linalg.norm(a, 3, 0),
        lambda a: np.linalg.norm(a, "nuc"),
    ],
)
def test_single_precision_stays(f):
    x = jg.constant(REGULAR, dtype="float32")
    with jg.GradientTape() as outer:
        outer.watch(x)
        (slope,) = taped_gradient(lambda a: np.sum(f(a)), [x])
    assert f(x).dtype == slope.dtype == outer.gradient(slope, x).dtype == np.float32
