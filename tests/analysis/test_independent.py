"""What is proven about the iterations of parallel loops, and what is no proof."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange, typeof

from jitgrad import frontend
from jitgrad.analysis import independent
from jitgrad.analysis.activity import Activity
from jitgrad.analysis.memory import Memory
from jitgrad.analysis.scopes import Scopes
from jitgrad.optimize import optimize
from jitgrad.program import ir

V, M, AT = np.ones(5), np.ones((5, 5)), np.arange(5)

HEAD = "def f(x, m, at, c, lo):\n    s = 0.0\n    n = 1\n    y = np.zeros(x.size)\n    z = np.zeros(x.size)\n"
END = "    return s + n + y.sum() + z.sum() + m.sum()\n"


class Loop:
    """The one parallel loop of a program, with what the analysis says."""

    def __init__(self, body: str, loop: str = "for i in prange(x.size - 2):", before: str = "", after: str = ""):
        lines = [*before.splitlines(), loop, *("    " + line for line in body.splitlines()), *after.splitlines()]
        namespace: dict = {"np": np, "prange": prange}
        exec(HEAD + "".join(f"    {line}\n" for line in lines) + END, namespace)
        args = V, M, AT, 2.0, 1
        self.program = optimize(frontend.read(njit(parallel=True)(namespace["f"]), tuple(map(typeof, args))))
        self.scopes = Scopes(self.program)
        activity = Activity(self.program, (0, 1, 3))
        (self.loop,) = [op for op in ir.walk(self.program.body) if isinstance(op, ir.Loop) and op.parallel]
        self.plain = independent.plain(self.loop, self.scopes)
        memory = Memory(self.program, self.scopes, activity)
        self.plan = independent.plan(self.loop, self.scopes, memory, activity) if self.plain else None

    @property
    def direct(self) -> set[str]:
        return {v.name.split("_")[0] for v in self.plan.direct}

    @property
    def shared(self) -> dict[str, bool]:
        return {v.name.split("_")[0]: nested for v, nested in self.plan.shared.items()}


@pytest.mark.parametrize(
    "body",
    [
        "s += x[i]",
        "s = s - x[i] * c",
        "s = c + s",
        "n += 2",
        "if x[i] > 0.0:\n    s += x[i]\nelse:\n    s -= 1.0",
        "for j in range(lo):\n    s += m[i, j]",
        "for j in range(lo):\n    if m[i, j] > 0.0:\n        s += 1.0\ns += x[i]",
    ],
)
def test_sums(body):
    assert Loop(body).plain


@pytest.mark.parametrize(
    "body",
    [
        "s *= x[i]",
        "s = x[i] - s",
        "s += s * x[i]",
        "s = max(s, x[i])",
        "s += x[i]\ny[i] = s",
        "if s > 1.0:\n    s += x[i]",
        "s = x[i]",
        "n += 1\nfor j in range(n):\n    y[i] = x[i]",
        "if x[i] > 0.0:\n    raise ValueError('positive')\ny[i] = x[i]",
        "print(i)",
        "k = [x[i]]\ny[i] = k[0]",
        "y[i] = np.dot(m[i], x)",
        "m[i, :] = x * c",
        "y[i] = (x[1:] + m[i]).sum()",
        "y[i] = x[at[:lo]].sum()",
        "y[i] = m[i].reshape(lo, 5).sum()",
    ],
)
def test_what_is_no_sum_or_no_work_for_threads(body):
    assert not Loop(body).plain


@pytest.mark.parametrize(
    ("body", "direct", "window"),
    [
        ("y[i] = x[i] * c", {"x", "y"}, 0),
        ("y[i + 1] = x[i] * x[i + 2] * x[i + 1]", {"x", "y"}, 2),
        ("for j in range(lo):\n    m[i, j] = m[i, j] * x[i]", {"x", "m"}, 0),
        ("for j in range(lo):\n    m[j, i] = x[i]", {"x", "m"}, 0),
        ("row = m[i]\nfor j in range(lo):\n    row[j] = row[j + 1] * x[i]", {"x", "m"}, 0),
        ("m[i, :] = x[i]", {"x", "m"}, 0),
        ("y[i] = (m[i] * c + 1.0).sum()", {"m", "y"}, 0),
        ("y[i] = m[i].sum() + m[i, 1:].sum()", {"m", "y"}, 0),
        ("y[i] = x[i]\nz[i + 1] = y[i] * c", {"x", "y", "z"}, 0),
        ("y[i] = m[i, 0] * m[i + 1, 2]", {"m", "y"}, 1),
    ],
)
def test_direct(body, direct, window):
    found = Loop(body)
    assert found.direct == direct
    assert not found.shared
    assert found.plan.window == window
    assert {start for start, _ in found.plan.lowest} == {None}


def test_starts():
    found = Loop("y[i] = x[i - 1]", "for i in prange(lo, x.size):").plan
    assert {(start.name, c) for start, c in found.lowest} == {("lo", 0), ("lo", -1)}
    assert Loop("y[i] = x[i - 1]", "for i in prange(1, x.size):").plan.lowest == {(None, 1), (None, 0)}


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ("y[i] = x[at[i]] * x[i]", {"x": False}),
        ("for j in range(lo):\n    y[i] += m[i, j] * x[j]", {"x": True}),
        ("s += m[i, 0] * m[0, i]", {"m": False}),
        ("y[i] = (c * x).sum() * m[i, 0]", {"x": False}),
        ("y[i] = x[2 * i % 5]", {"x": False}),
        ("s += x[-i]", {"x": False}),
        ("y[i] = x[1:].sum() * x[1:][i]", {"x": False}),
    ],
)
def test_shared(body, shared):
    assert Loop(body).shared == shared


def test_strides_are_not_followed():
    assert Loop("s += x[i]", "for i in prange(0, x.size, 2):").shared == {"x": False}


@pytest.mark.parametrize(
    "body",
    [
        "y[at[i]] = x[i]",
        "y[x.size - 1 - i] = x[i]",
        "y[2 * i % 5] = x[i]",
        "y[i] = x[i]\nz[i] = y[0]",
        "y[i] = x[i]\nz[i] = y[i + 1]",
        "y[0] = x[i]",
        "m[i, 0] = m[0, i]",
        "for j in range(lo):\n    m[j, 0] = x[i]",
        "y[1:][i] = x[i]",
    ],
)
def test_unproven(body):
    found = Loop(body)
    assert found.plain
    assert found.plan is None


def test_views_from_outside_are_other_names_of_one_array():
    assert Loop("v[i] = x[i]", before="v = y[1:]").plan.direct
    assert Loop("v[i] = x[i] * y[i]", before="v = y[1:]").plan is None
    found = Loop("s += v[i] * x[i]", before="v = x[1:]")
    assert not found.plan.direct
    assert len(found.plan.shared) == 2


def test_buffers_that_an_outer_loop_swaps_are_apart():
    body = "y[i + 1] = z[i + 1] + c * (z[i] - z[i + 2])"
    loop = "for k in range(3):\n        for i in prange(x.size - 2):"
    lines = "\n".join("    " + line for line in [body, ""])
    namespace: dict = {"np": np, "prange": prange}
    swap = "        y, z = z, y\n"
    exec(HEAD + "    z[0] = x[0]\n    " + loop + "\n        " + lines.rstrip() + "\n" + swap + END, namespace)
    program = optimize(frontend.read(njit(parallel=True)(namespace["f"]), tuple(map(typeof, (V, M, AT, 2.0, 1)))))
    scopes = Scopes(program)
    activity = Activity(program, (0, 3))
    (inner,) = [op for op in ir.walk(program.body) if isinstance(op, ir.Loop) and op.parallel]
    plan = independent.plan(inner, scopes, Memory(program, scopes, activity), activity)
    assert plan is not None
    assert len(plan.direct) == 2
    assert plan.window == 2


def test_as_often_in_every_iteration():
    def loops(body):
        found = Loop(body)
        inner = [op for op in ir.walk(found.loop.body) if isinstance(op, ir.Loop)]
        return [independent.straight(op, found.loop, found.scopes) for op in inner]

    assert loops("for j in range(lo):\n    for k in range(x.size):\n        y[i] += m[j, k]") == [True, True]
    assert loops("for j in range(i):\n    y[i] += m[i, j]") == [False]
    assert loops("if x[i] > 0.0:\n    for j in range(lo):\n        y[i] += m[i, j]") == [False]
