"""Which written arrays may be carried around a loop, and handed on by a branch, by value."""

import numpy as np
import pytest

from jitgrad.analysis import carried
from tests.analysis.programs import Analysed

A = np.array([1.0, 2.0, 3.0, 4.0])
TWO, RETURN = "a = x * 1.0; b = x * 2.0", "return a[0] * b[0]"


def build(text):
    namespace: dict = {"np": np}
    exec(text, namespace)
    return namespace["f"]


def problems(body: str, before: str = TWO, after: str = RETURN) -> list[str | None]:
    """Of every array that the loop carries: why it cannot be carried by value."""
    found = Analysed(build(loop_text(body, before, after)), A, 3)
    loop = found.loops[0]
    arrays = [k for k, p in enumerate(loop.params) if p.type == found.program.params[0].type]
    assert arrays
    return [carried.problem(loop, k, found.scopes, found.memory) for k in arrays]


def loop_text(body, before, after):
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"def f(x, n):\n    {before}\n    for i in range(n):\n{lines}\n    {after}\n"


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[i]\na, b = b, a",
        "if a[0] > 0.0:\n    a, b = b, a\na[i] = 2.0",
        "a = b * 2.0\na[0] = 1.0\nb = np.zeros(4)",
        "c = np.empty(4)\nfor j in range(4):\n    c[j] = a[j] + b[j]\na = b\nb = c",
    ],
)
def test_buffers_with_one_name_each(body):
    assert problems(body) == [None, None]


@pytest.mark.parametrize(
    "body, reason",
    [
        ("a[i] = 2.0\nb = a", "another name"),
        ("c = a * 1.0\nc[0] = 2.0\na = c\nb = c", "two names"),
        ("a[0] = 1.0\na = a.reshape(4)", "another name"),
        ("c = b\nc[0] = 1.0\na = x", "another name"),
    ],
)
def test_double_names_in_the_loop(body, reason):
    assert any(p is not None and reason in p for p in problems(body))


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ("a = x * 1.0; b = a", "return a[0] * b[0]", "enters this loop under two names"),
        ("a = x[:]; b = x * 2.0", "return a[0] * b[0]", "part or another name"),
        ("a = x * 1.0; b = x * 2.0; c = a", "return a[0] * b[0] + c[0]", "name it had before"),
        ("a = x * 1.0; b = x * 2.0; c = a[1:]", "return a[0] * b[0] + c[0]", "name it had before"),
    ],
)
def test_double_names_from_outside(before, after, reason):
    found = problems("b[i] = a[i]\na, b = b, a", before, after)
    assert any(p is not None and reason in p for p in found), found


def test_a_view_used_up_before_the_loop_is_no_second_name():
    before = "a = x * 1.0; b = x * 2.0; c = a[1:]; c[0] = 3.0"
    assert problems("b[i] = a[i]\na, b = b, a", before) == [None, None]


def settled(body: str, before: str = TWO, after: str = RETURN) -> bool:
    found = Analysed(build(loop_text(body, before, after)), A, 3)
    loop = found.loops[0]
    arrays = [k for k, p in enumerate(loop.params) if p.type == found.program.params[0].type]
    return all(carried.settled(loop, k, found.scopes, found.memory) for k in arrays)


FRESH = "c = np.empty(4)\nfor j in range(4):\n    c[j] = a[j] + b[j]\na = b\nb = c"


def test_settled():
    assert settled(FRESH)
    assert settled(FRESH, before="a = x * 1.0; b = a; a[0] = 2.0")  # written before the loop only


@pytest.mark.parametrize(
    "body, before, after",
    [
        (FRESH, "a = x * 1.0; b = x * 2.0", "a[0] = 1.0; return a[0] * b[0]"),  # written after the loop
        (FRESH + "\nb[0] = a[0]\na[0] = 1.0", "a = x * 1.0; b = x * 2.0", "return a[0] * b[0]"),  # while it is carried
        (FRESH + "\nv = a[1:]\nv[0] = 2.0", "a = x * 1.0; b = x * 2.0", "return a[0] * b[0]"),
        ("b[i] = a[i]\na, b = b, a", "a = x * 1.0; b = x * 2.0", "return a[0] * b[0]"),
    ],
)
def test_not_settled(body, before, after):
    assert not settled(body, before, after)


def test_not_settled_where_an_outer_loop_writes_again():
    def f(x, n):
        a = x * 1.0
        for e in range(n):
            a[e] = 2.0
            for i in range(n):
                c = np.empty(4)
                for j in range(4):
                    c[j] = a[j] * a[j - 1]
                a = c
        return a[0]

    found = Analysed(f, A, 3)
    inner = found.loops[1]
    assert not any(carried.settled(inner, k, found.scopes, found.memory) for k in range(len(inner.params)))


def branch(arms: str, before: str = TWO, after: str = "return c[0]") -> str | None:
    lines = "\n".join(f"    {line}" for line in arms.splitlines())
    found = Analysed(build(f"def f(x, n):\n    {before}\n{lines}\n    c[1] = 5.0\n    {after}\n"), A, 3)
    op = found.branches[0]
    k = next(k for k, out in enumerate(op.outs) if out.name == "c")
    return carried.branch_problem(op, k, found.scopes, found.memory)


def test_branches_that_hand_on_their_own_array():
    assert branch("if n > 1:\n    c = a * 2.0\nelse:\n    c = b * 3.0") is None
    assert branch("if n > 1:\n    c = a\nelse:\n    c = b") is None


@pytest.mark.parametrize(
    "arms, before, after",
    [
        ("if n > 1:\n    c = a\nelse:\n    c = b", "a = x * 1.0; b = x * 2.0", "return c[0] * a[0]"),
        ("if n > 1:\n    c = a\nelse:\n    c = b", "a = x * 1.0; b = x * 2.0; v = a[1:]", "return c[0] * v[0]"),
        ("if n > 1:\n    c = a[:]\nelse:\n    c = a * 1.0", "a = x * 1.0", "return c[0]"),
        (
            "if n > 1:\n    c = a\n    d = a\nelse:\n    c = b\n    d = x",
            "a = x * 1.0; b = x * 2.0",
            "return c[0] * d[0]",
        ),
    ],
)
def test_branches_that_give_a_second_name(arms, before, after):
    assert branch(arms, before, after) is not None


def test_the_other_arm_is_no_second_name():
    def f(x, n):
        a = x * 1.0
        b = x * 2.0
        if n > 1:
            for i in range(n):
                b[i] = a[i]
                a, b = b, a
            s = a[0]
        else:
            s = a[1] + b[1]
        return s

    found = Analysed(f, A, 3)
    (loop,) = found.loops
    assert [carried.problem(loop, k, found.scopes, found.memory) for k in range(2)] == [None, None]
