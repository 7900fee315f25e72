"""Products: derivatives by tapes against central differences, in all ranks and forms."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient


def ranks(function, *pairs):
    name = getattr(function, "__name__", "f")
    return {f"{name}_{a}_{b}": (function, *inputs(a, b, low=-1.5)) for a, b in pairs}


def of_complex(function, *shapes):
    """A case with real arguments, two for each complex operand of the function."""

    def split(*parts):
        out = function(*[re + 1j * im for re, im in zip(parts[::2], parts[1::2], strict=True)])
        return np.real(out), np.imag(out)

    return (split, *inputs(*[s for shape in shapes for s in (shape, shape)], low=-1.0))


@cases(
    ranks(
        np.matmul,
        ((2, 3), (3, 2)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (2, 3, 2)), ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 1)), ((2, 1, 1, 3), (2, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((1, 3), (3, 1)),
    )
    | {
        "operator": (lambda a, b: (a @ b) @ a, *inputs((2, 3), (3, 2))),
        "constant_left": (lambda b: np.ones((2, 3)) @ b, *inputs((3, 2))),
        "list_left": (lambda b: [[1.0, 2.0, 3.0]] @ b, *inputs((3, 2))),
        "twice": (lambda a: a @ a, *inputs((2, 2))),
        "linalg": (np.linalg.matmul, *inputs((2, 3), (3, 2))),
        "complex": of_complex(np.matmul, (2, 3), (3, 2)),
        "complex_vector": of_complex(np.matmul, (2, 3), (3,)),
        "complex_inner": of_complex(np.matmul, (3,), (3,)),
        "vecdot": (np.vecdot, *inputs((2, 3), 3)),
        "vecdot_axis": (lambda a, b: np.linalg.vecdot(a, b, axis=0), *inputs((2, 3), (2, 3))),
        "vecdot_complex": of_complex(np.vecdot, 3, 3),
        "matvec": (np.matvec, *inputs((2, 2, 3), 3)),
        "vecmat": (np.vecmat, *inputs((2, 2), (2, 3))),
        "vecmat_complex": of_complex(np.vecmat, 2, (2, 2)),
    }
)  # fmt: skip
def test_products_of_matrices(f, xs):
    check(f, xs)


@cases(
    ranks(
        np.dot,
        ((), (2, 3)), ((2,), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 3), (2, 3, 2)),
        ((2, 2, 3), (2, 3, 1)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2)), ((2, 1, 3), (3, 2)),
    )
    | ranks(np.inner, ((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((2, 1, 3), (3,)))
    | ranks(np.vdot, ((3,), (3,)), ((2, 2), (4,)))
    | ranks(np.outer, ((2,), (3,)), ((2, 2), (3,)), ((), (2,)))
    | ranks(np.kron, ((2,), (3,)), ((2, 2), (1, 3)), ((2, 2), (2,)), ((2,), (1, 2, 2)), ((), (3,)))
    | {
        "method": (lambda a, b: a.dot(b), *inputs((2, 3), 3)),
        "dot_list": (lambda a: np.dot(a, [1.0, 2.0, 3.0]), *inputs(3)),
        "dot_complex": of_complex(np.dot, (1, 2), (2, 2, 1)),
        "vdot_complex": of_complex(np.vdot, 3, 3),
        "outer_linalg": (np.linalg.outer, *inputs(2, 3)),
        "multi_dot": (lambda *a: np.linalg.multi_dot(a), *inputs((2, 3), (3, 1), (1, 2))),
        "multi_dot_two": (lambda *a: np.linalg.multi_dot(list(a)), *inputs((2, 3), (3, 2))),
        "multi_dot_vectors": (lambda *a: np.linalg.multi_dot(a), *inputs(2, (2, 3), (3, 1), 1)),
        "multi_dot_row": (lambda *a: np.linalg.multi_dot(a), *inputs(2, (2, 3), (3, 2))),
        "power_0": (lambda a: np.linalg.matrix_power(a, 0), *inputs((2, 2))),
        "power_1": (lambda a: np.linalg.matrix_power(a, 1), *inputs((2, 2))),
        "power_5": (lambda a: np.linalg.matrix_power(a, 5), *inputs((2, 2), high=0.7)),
        "power_-2": (lambda a: np.linalg.matrix_power(a, -2), inputs((2, 2))[0] + 2 * np.eye(2)),
    }
)  # fmt: skip
def test_dot_and_its_relatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize(
    ("axes", "a", "b"),
    [
        (0, (2,), (3,)),
        (0, (), (2,)),
        (1, (2, 3), (3, 2)),
        (2, (2, 3, 2), (3, 2)),
        ([[0], [1]], (2, 3), (2, 2)),
        (([2, 0], [1, 2]), (2, 1, 3), (2, 3, 2)),
        (([0, 1], [1, 0]), (2, 3), (3, 2)),
        ((-1, 0), (2, 3), (3, 2)),
        (((0, 2, 1), (2, 1, 0)), (2, 3, 1, 2), (3, 1, 2)),
    ],
)
def test_tensordot(axes, a, b):
    check(lambda x, y: np.tensordot(x, y, axes), inputs(a, b, low=-1.0))


def test_tensordot_of_complex_and_linalg():
    f, *xs = of_complex(lambda x, y: np.tensordot(x, y, ([1], [0])), (2, 2), (2, 1))
    check(f, xs)
    check(lambda x, y: np.linalg.tensordot(x, y, axes=1), inputs((2, 3), (3, 2)))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 1)),
    ("ij->i", (2, 3)),
    ("i,i->", (3,), (3,)),
    ("i,ij,j->", (2,), (2, 3), (3,)),
    ("ij->ji", (2, 3)),
    ("ii->", (3, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iii->i", (2, 2, 2)),
    ("iij->ij", (2, 2, 3)),
    ("iijj->ij", (2, 2, 2, 2)),
    ("ii,ij->j", (2, 2), (2, 3)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ba", (2, 3)),
    ("Ab,bA->A", (2, 3), (3, 2)),
    ("i->", (3,)),
    ("ij,k->i", (2, 3), (2,)),
    ("i,j->", (2,), (3,)),
    (",i->i", (), (3,)),
    ("->", ()),
    ("ij,ij->i", (2, 3), (2, 1)),
    ("ij,ij->i", (1, 3), (2, 3)),
    ("...ij,jk->...ik", (2, 2, 3), (3, 2)),
    ("...i,...i", (2, 3), (3,)),
    ("...i,...i->...", (2, 1, 3), (2, 3)),
    ("i...->...", (3, 2)),
    ("i...->i...", (3, 2)),
    (" i j , j k -> k i ", (2, 3), (3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
]


@pytest.mark.parametrize(("text", "shapes"), [(text, shapes) for text, *shapes in EINSUMS])
@pytest.mark.parametrize("optimize", [False, True])
def test_einsum(text, shapes, optimize):
    check(lambda *a: np.einsum(text, *a, optimize=optimize), inputs(*shapes, low=-1.0))


@cases(
    {
        "lists": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), *inputs((2, 3), (3, 2))),
        "lists_implicit": (lambda a, b: np.einsum(a, [1, 0], b, [0, 2]), *inputs((2, 3), (3, 2))),
        "lists_ellipsis": (lambda a, b: np.einsum(a, [..., 0], b, [0], [...]), *inputs((2, 3), 3)),
        "path": (
            lambda *a: np.einsum("ij,jk,kl", *a, optimize=["einsum_path", (1, 2), (0, 1)]),
            *inputs((2, 3), (3, 1), (1, 2)),
        ),
        "constant": (lambda a: np.einsum("ij,j", a, [1.0, 2.0]), *inputs((3, 2))),
        "same": (lambda a: np.einsum("ij,jk->ik", a, a), *inputs((2, 2))),
        "complex": of_complex(lambda a, b: np.einsum("ij,jk->ik", a, b), (2, 2), (2, 1)),
        "complex_diagonal": of_complex(lambda a: np.einsum("ii->i", a), (2, 2)),
    }
)
def test_einsum_forms(f, xs):
    check(f, xs)


def test_a_big_einsum_is_contracted_in_a_good_order():
    a, b, c = inputs((12, 11), (11, 13), (13, 10))

    def f(x):
        return np.einsum("ij,jk,kl->", x, b, c)

    (found,) = taped_gradient(f, [jg.constant(a)])
    np.testing.assert_allclose(found, np.broadcast_to((b @ c).sum(1), a.shape), rtol=1e-12)


def test_einsum_refuses():
    x = jg.constant(np.ones((2, 3)))
    with pytest.raises(UnsupportedError, match="dtype"):
        np.einsum("ij->i", x, dtype=float)
    with pytest.raises(ValueError, match="2 operands"):
        np.einsum("ij,jk", x)
    with pytest.raises(ValueError, match="do not fit"):
        np.einsum("i->i", x)
    with pytest.raises(ValueError, match="ellipsis"):
        np.einsum("...i->i", x)


@cases(
    {
        "vectors": (np.cross, *inputs(3, 3, low=-1.0)),
        "stack": (np.cross, *inputs((2, 3), 3, low=-1.0)),
        "axes": (lambda a, b: np.cross(a, b, axisa=0, axisb=1, axisc=0), *inputs((3, 2), (2, 3))),
        "axis": (lambda a, b: np.cross(a, b, axis=0), *inputs((3, 2), (3, 2))),
        "linalg": (lambda a, b: np.linalg.cross(a, b, axis=0), *inputs((3, 2), (3, 2))),
        "complex": of_complex(np.cross, 3, 3),
    }
)
def test_cross(f, xs):
    check(f, xs)


def test_cross_in_the_plane_is_refused():
    with pytest.raises(UnsupportedError, match="length 3"):
        np.cross(jg.constant([1.0, 2.0]), np.ones(2))


def test_single_precision_stays():
    x = jg.constant(np.ones((2, 2)), dtype="float32")
    functions = (
        lambda a: a @ a,
        lambda a: np.einsum("ii->i", a),
        lambda a: np.kron(a, a),
        lambda a: np.linalg.matrix_power(a, 0),
        lambda a: np.tensordot(a, a),
        lambda a: np.vdot(a, a),
        lambda a: np.outer(a, a),
    )
    for f in functions:
        (gradient,) = taped_gradient(lambda a, f=f: np.sum(f(a)), [x])
        assert f(x).dtype == gradient.dtype == np.float32


def test_names_are_tensorflows():
    x = jg.Variable(np.ones((2, 2)))
    with jg.GradientTape():
        assert (x @ x).node.primitive.name == "MatMul"
        assert np.dot(x, x).node.primitive.name == "MatMul"
        assert np.einsum("ij->i", x).node.primitive.name == "Einsum"
