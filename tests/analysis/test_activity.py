"""What is varied, useful and active, and what shares memory."""

import inspect
import math

import numpy as np
import pytest
from numba import njit, types
from numba.core import types as nb

from jitgrad import frontend
from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity, leaves
from jitgrad.program import ir

F8, I8, A1 = types.float64, types.int64, types.float64[::1]


def read(function, *argtypes):
    return frontend.read(njit(function), argtypes)


def named(program, name):
    """All values of the user's variable `name`."""
    found = [p for p in program.params if p.name == name]
    for op in ir.walk(program.body):
        found += [r for r in op.results if r.name == name]
        if isinstance(op, ir.Loop):
            found += [p for p in op.params if p.name == name]
    assert found, f"no value is called {name}"
    return found


def all_active(activity, name):
    verdicts = {activity.active(v) for v in named(activity.program, name)}
    assert len(verdicts) == 1
    return verdicts.pop()


def test_only_what_lies_between_input_and_result_is_active():
    def f(x, y):
        a = x * 2.0
        b = y * 3.0
        unused = math.sin(x)
        if unused > 5.0:
            b = 1.0
        return a + b

    activity = Activity(read(f, F8, F8), (0,))
    assert all_active(activity, "x") and all_active(activity, "a")
    assert not all_active(activity, "b") and not all_active(activity, "y")
    (unused,) = named(activity.program, "unused")
    assert activity.varied(unused) and not activity.useful(unused)


def test_integers_carry_nothing():
    def f(x):
        k = int(x * 10.0)
        return float(k) * 2.0

    activity = Activity(read(f, F8), (0,))
    assert not activity.active(activity.program.result)


def test_a_loop_carries_activity_around():
    def f(x, n):
        s = 0.0
        t = 1.0
        for _ in range(n):
            s = s + t
            t = x
        return s

    activity = Activity(read(f, F8, I8), (0,))
    assert activity.active(activity.program.result)
    assert all(activity.active(v) for v in named(activity.program, "s"))


def test_a_store_through_a_view_makes_the_array_active():
    def f(x, a):
        row = a[1:]
        row[0] = x
        return a[1]

    activity = Activity(read(f, F8, A1), (0,))
    (row,), a = named(activity.program, "row"), activity.program.params[1]
    assert activity.active(a) and activity.active(row)
    assert activity.alias_class(a) is activity.alias_class(row)
    assert activity.written(activity.alias_class(a))


def test_a_copy_is_another_class():
    def f(x, a):
        b = a[np.array([0, 1])]
        b[0] = x
        return b[0] * a[0]

    activity = Activity(read(f, F8, A1), (0,))
    (b,), a = named(activity.program, "b"), activity.program.params[1]
    assert activity.alias_class(a) is not activity.alias_class(b)
    assert activity.active(b) and not activity.active(a)
    assert not activity.written(activity.alias_class(a))


def test_swapped_names_share_a_class():
    def f(a, b, n):
        for _ in range(n):
            a[0] = b[1]
            a, b = b, a
        return a[0]

    activity = Activity(read(f, A1, A1, I8), (0,))
    a, b, _ = activity.program.params
    assert activity.alias_class(a) is activity.alias_class(b)


def test_a_tuple_keeps_its_items_apart():
    def f(x, a, b):
        if x > 0.0:
            pair = (a, b)
        else:
            pair = (b, b)
        pair[0][0] = x
        return pair[1][0]

    def g(x, a, b, k):
        pair = (a, b)
        if k > 0:
            pair = (b, a)
        return x + pair[k][0]

    activity = Activity(read(f, F8, A1, A1), (0,))
    _, a, b = activity.program.params
    assert activity.alias_class(a) is activity.alias_class(b)  # by the second arm
    activity = Activity(read(g, F8, A1, A1, I8), (1,))
    assert activity.active(activity.program.params[2])


def test_what_stays_in_the_arguments_counts_with_outs_or_inplace():
    def f(x, out):
        out[0] = x * x

    program = read(f, F8, A1)
    assert not Activity(program, (0,)).active(program.params[0])
    assert Activity(program, (0,), outs=(1,)).active(program.params[0])
    assert Activity(program, (0,), inplace=True).active(program.params[1])


def test_positions_count_through_star_arguments():
    def f(a, *rest):
        return rest[1] * a

    program = frontend.read(njit(f), (F8, types.StarArgTuple.from_types((F8, F8))))
    star = program.params[1]
    assert not Activity(program, (1,)).active(star)
    activity = Activity(program, (2,))
    assert activity.active(star)
    first, second = (next(leaves(tree)) for tree in activity.tree(star))
    assert activity.active_cell(second) and not activity.active_cell(first)


def test_an_array_in_a_dictionary_is_the_array():
    def f(x, a):
        d = {1: a}
        d[1][0] = x
        return a[0]

    activity = Activity(read(f, F8, A1), (0,))
    assert activity.active(activity.program.params[1])


def test_list_elements_are_one_class():
    def f(x, a):
        rows = [a, a * 2.0]
        rows.append(a * 3.0)
        rows[2][0] = x
        return rows[0][0]

    activity = Activity(read(f, F8, A1), (0,))
    assert activity.active(activity.program.params[1])


def test_an_instance_inside_an_instance_is_one_memory():
    inner = nb.StructRef([("k", nb.float64)])
    outer = nb.StructRef([("inner", inner)])
    part, whole = ir.Value("part", inner), ir.Value("whole", outer)
    x, result = ir.Value("x", nb.float64), ir.Value("result", nb.float64)
    other = ir.Value("other", inner)
    body = ir.Block(
        [
            ir.GetAttr(part, whole, "inner"),
            ir.SetAttr(part, "k", x),
            ir.GetAttr(other, whole, "inner"),
            ir.GetAttr(result, other, "k"),
        ]
    )
    activity = Activity(ir.Program("f", [x, whole], body, result, inspect.signature(lambda x, whole: None)), (0,))
    assert activity.active(whole) and activity.active(result)


@pytest.mark.parametrize(
    "type_, expected",
    [
        (nb.float32, "scalar"),
        (nb.complex128, "scalar"),
        (nb.int64, None),
        (nb.boolean, None),
        (nb.Array(nb.float64, 2, "A"), "array"),
        (nb.Array(nb.int64, 2, "A"), None),
        (nb.Tuple((nb.int64, nb.float64)), "tuple"),
        (nb.UniTuple(nb.int64, 2), None),
        (nb.ListType(nb.float64), "list"),
        (nb.Optional(nb.float64), "scalar"),
        (nb.DictType(nb.int64, nb.float64), "opaque"),
        (nb.DictType(nb.int64, nb.int64), None),
        (nb.DictValuesIterableType(nb.DictType(nb.int64, nb.float64)), "opaque"),
        (nb.DictItemsIterableType(nb.DictType(nb.int64, nb.int64)), None),
        (nb.StructRef([("x", nb.float64)]), "opaque"),
    ],
)
def test_kinds(type_, expected):
    assert structure.kind(type_) == expected
