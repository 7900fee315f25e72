"""Nested structures: flattening, counterparts, rebuilding."""

import collections

import pytest

from jitgrad.errors import ArgumentError
from jitgrad.tape.structure import flatten, flatten_like, rebuild

Pair = collections.namedtuple("Pair", "a b")
NAMES = ("target", "output_gradients")


def test_leaves_in_order():
    assert flatten([1, (2, [3]), Pair(4, {"k": 5})]) == [1, 2, 3, 4, 5]
    assert flatten([]) == flatten([(), {}, [[]]]) == []
    assert flatten("ab") == ["ab"]


def test_dicts_go_by_sorted_keys_as_in_tensorflow():
    assert flatten({"b": 1, "a": 2}) == [2, 1]
    assert flatten({"b": 1, 0: 2}) == [1, 2]  # keys that cannot be compared stay as they are


def test_rebuild_keeps_kinds_and_the_order_of_keys():
    tree = {"b": [1, Pair(2, (3,))], "a": {}}
    found = rebuild(tree, iter("xyz"))
    assert found == {"b": ["x", Pair("y", ("z",))], "a": {}}
    assert list(found) == ["b", "a"]
    assert rebuild({"b": 1, "a": 2}, iter(flatten({"b": 1, "a": 2}))) == {"b": 1, "a": 2}


def test_rebuild_keeps_kinds_of_dicts():
    found = rebuild(collections.defaultdict(list, k=1), iter("x"))
    assert found == {"k": "x"} and found["new"] == []
    assert type(rebuild(collections.OrderedDict(z=1, a=2), iter("xy"))) is collections.OrderedDict


def test_counterparts():
    assert flatten_like([1, {"b": 2, "a": 3}], ["x", {"a": "y", "b": "z"}], NAMES) == ["x", "y", "z"]
    assert flatten_like(1, [1.0, 2.0], NAMES) == [[1.0, 2.0]]  # a list of numbers at a leaf
    assert flatten_like([1], "x", NAMES) == ["x"]


@pytest.mark.parametrize(
    ("tree", "other"), [([1, 2], [1]), ([1, 2], 1), ({"a": 1}, {"b": 1}), ({"a": 1}, [1]), ([[1], 2], [[1, 2]])]
)
def test_other_structures_are_refused(tree, other):
    with pytest.raises(ArgumentError, match="output_gradients must have the structure of target"):
        flatten_like(tree, other, NAMES)
