"""A guard knows the operation it was written for, and takes no other for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jitgrad import GradientTape, Variable, constant
from jitgrad.tape import compile_after
from jitgrad.tape.compiled import clear
from jitgrad.tape.deferred import _edge, root
from jitgrad.tape.guards import guard_of, question_of

A = np.arange(6.0).reshape(2, 3)
V, W, FIXED = Variable(A), Variable(A + 1.0), Variable(A, trainable=False)
C, D, LONG = constant(A), constant(A - 1.0), constant(np.ones(5))
SINGLE, FORTRAN = constant(A.astype(np.float32)), Variable(np.asfortranarray(A))

UNGUARDED = [(V, V), (V, A), (V, np.float64(0.5))]  # these are found by their edge only
VALUES = [(V, C), (C, V), (V, W), (V, D), (FIXED, V), (V, FORTRAN), (V, SINGLE), (LONG, V)]
CONSTANTS = [(V, 0.5), (0.5, V), (V, 1), (V, True), (V, None), *UNGUARDED]
KEYWORDS = [{}, {"axis": 0}, {"axis": 1}, {"axis": None}, {"axis": False}]
MORE = [{"axis": 0, "keepdims": True}, {"axis": 0, "keepdims": 1}, {"scale": 0.5}]
CALLS = [
    *itertools.product(VALUES + CONSTANTS, [{}]),
    *itertools.product([(V,), (V, C, D)], KEYWORDS),
    *itertools.product([(V,)], MORE),
]


@pytest.fixture(autouse=True, scope="module")
def known():
    """A structure that recordings may follow."""
    clear()
    with compile_after(1):
        with GradientTape() as tape:
            y = np.sum(np.exp(V))
        tape.gradient(y, V)
    yield
    clear()


def at_the_start():
    """A recording that follows the known one and has recorded nothing."""
    tape = GradientTape()
    with compile_after(1):
        tape.__enter__()
    assert tape._recording.state is root
    return tape


def edge_at_the_start(args, kwargs):
    tape = at_the_start()
    found = _edge("primitive", args, kwargs, tape._recording)
    tape.__exit__()
    return found


@pytest.mark.parametrize("own", range(len(CALLS)))
def test_calls_at_the_start(own):
    args, kwargs = CALLS[own]
    edge = edge_at_the_start(args, kwargs)[0]
    guard = guard_of(edge, len(args))
    for other_args, other_kwargs in CALLS:
        tape = at_the_start()
        operands = guard(other_args, other_kwargs, tape._recording)
        tape.__exit__()
        found = edge_at_the_start(other_args, other_kwargs)
        if operands is None:
            assert found[0] != edge or "scale" in kwargs or any(args is a for a in UNGUARDED), (
                other_args,
                other_kwargs,
            )
        else:
            assert found[0] == edge
            assert [o.node if hasattr(o, "node") else o for o in operands] == [
                o.node if hasattr(o, "node") else o for o in found[1]
            ]


def test_results_and_leaves_are_told_apart():
    tape = at_the_start()
    recording = tape._recording
    with compile_after(1):
        y = np.exp(V)
        assert len(recording.nodes) == 1 and recording.state is not None
        edge = _edge("primitive", (y, V), {}, recording)[0]
        guard = guard_of(edge, 2)
        z = np.sum(y)
        assert guard((y, V), {}, recording)[0] is y
        for other in ((V, y), (y, y), (z, V), (y, W), (y, C), (y, 1.0), (y,), (y, V, V)):
            assert guard(other, {}, recording) is None
        assert guard((y, V), {"axis": 0}, recording) is None
    tape.__exit__()


def test_what_is_asked():
    tape = at_the_start()
    recording = tape._recording
    with compile_after(1):
        y = np.sum(np.exp(V))
    tape.__exit__()
    recording.leaves[C.node or C.read_value().node] = 1
    asked = {
        "alone": (y, V), "in a list": (y, [V]), "two": (y, [V, C]), "in turn": (y, [C, V]), "twice": (y, [V, V]),
        "a tensor": (y, C),
    }  # fmt: skip
    others = {
        "a tuple": (y, (V,)), "a dict": (y, {"v": V}), "another": (y, W), "another target": (V, V),
        "three": (y, [V] * 3), "a result": (y, [y]), "an array": (y, [A]),
        "two targets": ([y], V), "nothing": (None, None),
    }  # fmt: skip
    for name, call in asked.items():
        guard = question_of(*call, recording)
        for other, another in {**asked, **others}.items():
            assert guard(*another, recording) == (name == other), (name, other)
    for call in others.values():
        assert question_of(*call, recording) is None or call[1] == [V] * 3
    recording.release()
