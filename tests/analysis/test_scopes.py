"""Where things are: blocks, loops, order, definitions, uses."""

import numpy as np

from jitgrad.analysis.scopes import yielded
from jitgrad.program import ir
from tests.analysis.programs import Analysed

A = np.array([1.0, 2.0, 3.0])


def nested(a, n):
    s = a[0]
    for i in range(n):
        t = a[i]
        if t > 0.0:
            for j in range(i):
                s += a[j] * t
    return s


def test_loops_around():
    found = Analysed(nested, A, 3)
    scopes, (outer, inner) = found.scopes, found.loops
    assert scopes.loops(scopes.root) == []
    assert scopes.loops(scopes.of[inner.body]) == [outer, inner]
    assert scopes.loops(scopes.at[inner]) == [outer]
    assert scopes.of[inner.body].depth == 2 and scopes.of[inner.body].loop is inner
    (branch,) = found.branches
    assert scopes.of[branch.then].loop is outer and scopes.of[branch.then].depth == 1


def test_homes_and_definitions():
    found = Analysed(nested, A, 3)
    scopes, (outer, inner) = found.scopes, found.loops
    a = found.program.params[0]
    assert scopes.home[a] is scopes.root and a not in scopes.definition
    for loop in (outer, inner):
        for value in (loop.index, *loop.params):
            assert scopes.home[value] is scopes.of[loop.body] and scopes.definition[value] is loop
        for value in loop.outs:
            assert scopes.home[value] is scopes.at[loop] and scopes.definition[value] is loop
    assert scopes.loop_of(found.value("t")) is inner or scopes.loop_of(found.value("t")) is outer


def test_order_is_program_order_and_end_covers_what_is_owned():
    found = Analysed(nested, A, 3)
    scopes = found.scopes
    order = [scopes.order[op] for op in found.ops]
    assert order == sorted(order)
    for op in found.ops:
        assert scopes.order[op] < scopes.end[op]
        for block in op.blocks:
            for inside in ir.walk(block):
                assert scopes.order[op] < scopes.order[inside] < scopes.end[inside] < scopes.end[op]


def test_uses_count_operands_and_yields():
    found = Analysed(nested, A, 3)
    scopes, (outer, inner) = found.scopes, found.loops
    assert outer in scopes.uses[outer.yields[0]]
    assert inner in scopes.uses[inner.inits[0]]
    assert set(scopes.uses[found.program.params[0]]) == set(found.loads("a"))


def test_enclosing():
    found = Analysed(nested, A, 3)
    scopes, (outer, inner) = found.scopes, found.loops
    assert scopes.encloses(scopes.root, scopes.of[inner.body])
    assert scopes.encloses(scopes.of[outer.body], scopes.of[outer.body])
    assert not scopes.encloses(scopes.of[inner.body], scopes.of[outer.body])


def test_elements_of_maps_live_in_the_map():
    def f(a, x):
        return np.sum(a * x + 1.0)

    found = Analysed(f, A, 2.0)
    (op,) = [op for op in found.ops if isinstance(op, ir.Map)]
    assert all(found.scopes.home[p].owner is op for p in op.params)
    assert found.scopes.home[op.output].block is op.body and yielded(op) == [op.output]


def test_a_while_loop_yields_its_test():
    def f(x):
        while x < 3.0:
            x = x * 2.0
        return x

    (loop,) = Analysed(f, 1.0).loops
    assert loop.again is not None and loop.again in yielded(loop)
