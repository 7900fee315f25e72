"""Which extents of arrays are known to be the same."""

import numpy as np

from jitgrad.analysis.extents import Extents
from tests.analysis.programs import Analysed

A = np.array([1.0, 2.0, 3.0, 4.0])
M = np.arange(12.0).reshape(3, 4)
T = np.arange(120.0).reshape(2, 3, 4, 5)


class Shapes:
    def __init__(self, function, *args):
        self.found = Analysed(function, *args)
        self.extents = Extents(self.found.scopes)

    def __call__(self, name, axis=0):
        return self.extents(self.found.value(name), axis)

    def same(self, a, b):
        return self.extents.same(self.found.value(a), self.found.value(b))


def test_expressions_and_copies_have_the_shape_of_their_inputs():
    def f(a, m):
        b = a * 2.0 + 1.0
        c = np.sin(b)
        d = np.zeros_like(c)
        e = d.copy()
        g = m.T
        h = m[1]
        i = m[:, 2]
        j = g @ m
        return b[0] + c[0] + d[0] + e[0] + g[0, 0] + h[0] + i[0] + j[0, 0]

    shapes = Shapes(f, A, M)
    a, m = shapes.found.program.params
    for name in "bcde":
        assert shapes(name) == ("dim", a, 0)
    assert shapes("g", 0) == ("dim", m, 1) and shapes("g", 1) == ("dim", m, 0)
    assert shapes("h") == ("dim", m, 1) and shapes("i") == ("dim", m, 0)
    assert shapes("j", 0) == shapes("j", 1) == ("dim", m, 1)


def test_numbers_and_shapes_are_one_extent():
    def f(a, n):
        b = np.zeros(a.shape[0])
        c = np.empty(a.size)
        d = np.ones(len(a))
        e = np.zeros(n)
        g = np.zeros((n, 3))
        return b[0] + c[0] + d[0] + e[0] + g[0, 0]

    shapes = Shapes(f, A, 3)
    a, n = shapes.found.program.params
    assert shapes("b") == shapes("c") == shapes("d") == ("dim", a, 0)
    assert shapes("e") == shapes("g", 0) == ("value", n) and shapes("g", 1) == ("int", 3)


def test_two_arguments_are_never_known_to_be_alike():
    def f(a, b):
        c = a + b
        d = a + 1.0
        return c[0] + d[0]

    shapes = Shapes(f, A, A)
    assert not shapes.same("a", "b") and not shapes.same("c", "a") and shapes.same("d", "a")


def test_size_one_stretches():
    def f(a, n):
        one = np.zeros(1)
        b = one + a
        c = one * one
        d = np.zeros((n, 1)) + a
        return b[0] + c[0] + d[0, 0]

    shapes = Shapes(f, A, 3)
    assert shapes.same("b", "a") and not shapes.same("c", "a") and not shapes.same("one", "a")
    assert shapes("d", 1) == ("dim", shapes.found.program.params[0], 0)


def test_a_proper_slice_is_unknown_the_axes_behind_it_are_not():
    def f(t):
        b = t[:, :, 1:, :]
        c = t[:, 1:]
        d = t[0, 1:, :, 2]
        e = t[:, 1:, :, :]
        return b[0, 0, 0, 0] + c[0, 0, 0, 0] + d[0, 0] + e[0, 0, 0, 0]

    shapes = Shapes(f, T)
    (t,) = shapes.found.program.params
    b, c, d, e = (shapes.found.value(n) for n in "bcde")

    def axes(name, count):
        return [shapes(name, k) for k in range(count)]

    whole = [("dim", t, k) for k in range(4)]
    for value, name, proper in ((b, "b", 2), (c, "c", 1), (e, "e", 1)):
        for axis, extent in enumerate(axes(name, 4)):
            assert extent in ((whole[axis] if axis != proper else None), ("dim", value, axis)), (name, axis)
    assert shapes("d", 0) in (None, ("dim", d, 0)) and shapes("d", 1) in (whole[2], ("dim", d, 1))


def test_fancy_indices_are_unknown():
    def f(a, k):
        b = a[k]
        c = a[a > 0.0]
        return b[0] + c[0]

    shapes = Shapes(f, A, np.array([0, 1]))
    assert not shapes.same("b", "a") and not shapes.same("c", "a")


def test_carried_arrays_that_keep_their_shape():
    def f(a, n):
        b = a
        for _ in range(n):
            c = b * 2.0
            b = c + a
        return b[0]

    def changes(a, n):
        b = a
        for _ in range(n):
            c = b[1:]
            b = c + 1.0
        return b[0]

    def swapped(a, m, n):
        b, c = a * 1.0, a[1:] * 1.0
        for _ in range(n):
            b, c = c, b
        return b[0] + c[0]

    def turned(m, n):
        b = m * 1.0
        for _ in range(n):
            b = b.T * 1.0
        return b[0, 0]

    shapes = Shapes(f, A, 3)
    assert shapes.same("b", "a")
    for function, args in ((changes, (A, 3)), (swapped, (A, M, 3)), (turned, (M, 3))):
        shapes = Shapes(function, *args)
        for loop in shapes.found.loops:
            for value in loop.params:
                if hasattr(value.type, "ndim"):
                    assert all(shapes.extents(value, k) is None for k in range(value.type.ndim)), function


def test_a_wrong_assumption_leaves_nothing_behind():
    """What was inferred while a carried shape was assumed to stay must be forgotten when it does not."""

    def f(a, n):
        b = a * 1.0
        for _ in range(n):
            c = b * 2.0
            d = np.sin(c) + c[0]
            b = d[1:] * d[0]
        return b[0]

    for names in ("bcd", "dcb", "cbd"):
        shapes = Shapes(f, A, 3)
        loop = shapes.found.loops[0]
        inside = {v.name: v for v in shapes.found.scopes.home if shapes.found.scopes.home[v].loop is loop}
        for name in names:
            assert shapes.extents(inside[name], 0) is None, (names, name)


def test_branches_agree_or_are_unknown():
    def f(a, b, x):
        if x > 0:
            c = a * 2.0
            d = a * 1.0
        else:
            c = a + 1.0
            d = b * 1.0
        return c[0] + d[0]

    shapes = Shapes(f, A, A, 1.0)
    assert shapes.same("c", "a") and not shapes.same("d", "a") and not shapes.same("d", "b")


def test_only_values_that_last_are_named():
    def f(a, n):
        s = 0.0
        for i in range(n):
            b = np.zeros(i)
            c = b + 1.0
            s += np.sum(c)
        return s

    shapes = Shapes(f, A, 3)
    assert shapes("b") is None and shapes("c") is None
