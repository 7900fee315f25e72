"""Structuring control flow."""

import itertools
import random

import pytest

from jitgrad.frontend.regions import END, Node, Structurer, _topological


def graph(edges, count):
    """Nodes 0 to `count`, the last of which ends the path."""
    nodes = {k: Node([], sorted(b for a, b in edges if a == k)) for k in range(count)}
    for node in nodes.values():
        node.targets = node.targets or [END]
    return nodes


@pytest.mark.parametrize("seed", range(30))
def test_jumps_lead_onwards(seed):
    numbers = random.Random(seed)
    count = numbers.randint(2, 9)
    edges = [pair for pair in itertools.combinations(range(count), 2) if numbers.random() < 0.4]
    nodes = graph(edges, count)
    order = _topological(nodes, 0)
    assert order[0] == 0 and order[END] == len(order) - 1
    for label, node in nodes.items():
        if label in order:
            assert all(order[label] < order[target] for target in node.targets)


def test_a_block_that_is_seen_early_and_entered_late():
    """0 leads to 1 and 2, and 1 to 2: the order that marks blocks when it sees them may put 2 first."""
    for first, second in ((1, 2), (2, 1)):
        nodes = {0: Node([], [first, second]), 1: Node([], [2]), 2: Node([], [END])}
        order = _topological(nodes, 0)
        assert sorted(order, key=order.get) == [0, 1, 2, END]


def test_dominators_are_those_of_the_graph():
    nodes = {0: Node([], [1, 2]), 1: Node([], [3, 2]), 2: Node([], [3]), 3: Node([], [END])}
    assert Structurer._graph(nodes, 0, [END]).immediate_dominators() == {0: 0, 1: 0, 2: 0, 3: 0, END: 3}
