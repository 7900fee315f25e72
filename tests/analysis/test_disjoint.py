"""Proofs that a later iteration does not overwrite what was read, and what is no proof."""

import numpy as np
import pytest

from jitgrad.analysis import disjoint
from tests.analysis.programs import Analysed

M = np.arange(16.0).reshape(4, 4)

HEAD = """
def f(m, n, s, b):
    for k in range(n):
"""


def proven(body: str, head: str = HEAD) -> bool:
    """Whether the first load of `m` in the loop over k is proven to be left alone by all stores."""
    namespace: dict = {"np": np}
    indent = "    " * (head.rstrip("\n").rsplit("\n", 1)[1].count("    ") + 1)
    text = head + "".join(f"{indent}{line}\n" for line in body.strip("\n").splitlines()) + "    return s + m[0, 0]\n"
    exec(text, namespace)
    found = Analysed(namespace["f"], M, 4, 0.5, 1)
    load = found.loads("m")[0]
    assert len(found.loads("m")) > 1
    return found.memory.intact(load, load.base)


@pytest.mark.parametrize(
    "body",
    [
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s",
        "s += m[k, k]\nfor i in range(k + 1, n):\n    for j in range(n):\n        m[i, j] = s",
        "s += m[0, k]\nfor i in range(k + 2, n):\n    m[0, i] = s",
        "s += m[k + 1, 0]\nfor i in range(k + 2, n):\n    m[i, 0] = s",
        "s += m[k, 0]\nm[k + 1, 0] = s",
        "s += m[k, b]\nfor i in range(k + 1, n):\n    m[i, b] = s",
    ],
)
def test_rows_below_the_pivot(body):
    assert proven(body)


@pytest.mark.parametrize(
    "body",
    [
        "s += m[k, 0]\nfor i in range(k, n):\n    m[i, 0] = s",  # the row itself
        "s += m[k + 1, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s",
        "s += m[k - 1, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s",  # a negative index is the end
        "s += m[k, 0]\nfor i in range(k - 1, n):\n    m[i, 0] = s",
        "s += m[k, 0]\nfor i in range(n):\n    m[i, 0] = s",
        "s += m[k, 0]\nfor i in range(n, k, -1):\n    m[i - 1, 0] = s",  # counts down
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[0, i] = s",  # another axis
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i - 1, 0] = s",
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[-i, 0] = s",
        "s += m[k, 0]\nm[b, 0] = s",
        "s += m[k, 0]\nm[k - 1, 0] = s",
        "s += m[k, 0]\nm[k] = s",  # a whole row
        "s += m[k, 0]\nm[:, 0] = s",
        "s += m[k, 0]\nm[k + 1:, 0] = s\nm += 1.0",
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s\nm[0, 0] = s",  # one of two stores
        "s += m[k, 0]\nfor i in range(k + 1, n):\n    k = k + 1\n    m[k - 2, 0] = s",
        "s += m[k * 2, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s",
        "s += m[k, 0]\nfor i in range(k * 2 + 1, n):\n    m[i, 0] = s",  # right, but not seen
    ],
)
def test_no_proof(body):
    assert not proven(body)


def test_an_outer_loop_starts_the_rows_anew():
    head = "\ndef f(m, n, s, b):\n    for e in range(n):\n        for k in range(n):\n"
    body = "s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s"
    assert not proven(body, head)


def test_the_outermost_counter_holds_for_inner_loops():
    head = "\ndef f(m, n, s, b):\n    for k in range(n):\n        for e in range(n):\n"
    assert proven("s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s", head)
    assert not proven("s += m[e, 0]\nfor i in range(e + 1, n):\n    m[i, 0] = s", head)


def test_a_loop_that_counts_down_is_no_proof():
    head = "\ndef f(m, n, s, b):\n    for k in range(n - 1, -1, -1):\n"
    assert not proven("s += m[k, 0]\nfor i in range(k + 1, n):\n    m[i, 0] = s", head)


def test_steps_of_two_are_not_seen():
    head = "\ndef f(m, n, s, b):\n    for k in range(0, n, 2):\n"
    assert not proven("s += m[k, 0]\nm[k - 1, 0] = s", head)


def test_two_views_of_one_array_are_no_proof():
    def f(m, n):
        s = 0.0
        v = m[1:]
        for k in range(n):
            s += v[k, 0]
            for i in range(k + 1, n):
                m[i, 0] = s
        return s

    assert Analysed(f, M, 3).intact("v") == [False]


def test_linear():
    def f(m, n):
        s = 0.0
        for k in range(n):
            i = k + 2
            j = 3 + i
            s += m[i, j - 4]
        return s

    found = Analysed(f, M, 3)
    (load,) = found.loads("m")
    (loop,) = found.loops
    assert disjoint.linear(load.index[0], found.scopes) == (loop, 2)
    assert disjoint.linear(found.value("j"), found.scopes) == (loop, 5)
    assert disjoint.linear(load.index[1], found.scopes)[0] is None  # subtraction: cautious
    assert disjoint.linear(found.program.params[1], found.scopes)[0] is None
