"""Structuring Numba's control flow graph into branches and loops.

Loops are collapsed from the innermost outwards: every edge that leaves a loop sets a flag and ends
the iteration, and a chain of tests after the loop takes control where the edge led. What remains is
acyclic: a block with several predecessors follows its dominator; where only some paths reach it they
set a flag, and it sits under a test of that flag. No block is duplicated.

The names of variables are those of Numba's SSA form; joining versions is left to `variables`.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from numba.core import ir
from numba.core.controlflow import CFGraph

from jitgrad.frontend.tree import RETURN, Branch, IteratorHeader, Repeat, SetFlag, SetVariable, TestFlag, is_raise

END = "end"  # the one exit of the region being structured


@dataclass(eq=False)
class Node:
    """A block of the graph: items, then a jump.

    `targets` holds no label (the path ends: a raise), one (a jump) or two: for `condition` true and
    false, or, in the header of a ``for`` loop, for the next item and for the end of the items.
    """

    items: list
    targets: list
    condition: str | None = None
    header: IteratorHeader | None = None
    loc: ir.Loc | None = None

    def redirect(self, old, new) -> None:
        self.targets = [new if target == old else target for target in self.targets]


class Structurer:
    """Builds the tree of one function; see `structure`."""

    def __init__(self, blocks: dict[int, ir.Block]):
        self.blocks = blocks
        self.nodes: dict = {}
        self.counter = 0

    def build(self) -> list:
        self.entry = min(self.blocks)
        for label, block in self.blocks.items():
            self.nodes[label] = _node(block)
        for label in self._graph(self.nodes, self.entry, [END]).dead_nodes():
            self.nodes.pop(label, None)
        self._merge_chains()
        self._find_iterators()
        self._join_short_circuits()
        pending = self._loops_inside_out()
        for position, (header, body) in enumerate(pending):
            added = self._collapse_loop(header, {label for label in body if label in self.nodes})
            for _, outer in pending[position + 1 :]:
                if header in outer:
                    outer |= added
        return self._region(self.nodes, self.entry)

    # ----- helpers ---------------------------------------------------------------------------
    def _fresh(self, hint: str) -> str:
        self.counter += 1
        return f"${hint}!{self.counter}"

    def _label(self) -> str:
        self.counter += 1
        return f"block {self.counter}"

    @staticmethod
    def _graph(nodes: dict, entry, exits: list) -> CFGraph:
        graph = CFGraph()
        for label in [*nodes, *exits]:
            graph.add_node(label)
        for label, node in nodes.items():
            for target in dict.fromkeys(node.targets):
                if target in nodes or target in exits:
                    graph.add_edge(label, target)
        graph.set_entry_point(entry)
        graph.process()
        return graph

    def _predecessors(self, label) -> list:
        return [other for other, node in self.nodes.items() if label in node.targets]

    def _merge_chains(self) -> None:
        """One node per straight line; CPython may split a ``for`` header from its `iternext`."""
        count: dict = {}
        for node in self.nodes.values():
            for target in node.targets:
                count[target] = count.get(target, 0) + 1
        for label in sorted(self.nodes):
            if label not in self.nodes:
                continue
            node = self.nodes[label]
            while len(node.targets) == 1:
                (target,) = node.targets
                if target not in self.nodes or count[target] != 1 or target in (label, self.entry):
                    break
                follower = self.nodes.pop(target)
                node.items += follower.items
                node.targets, node.condition = follower.targets, follower.condition
                node.loc = follower.loc or node.loc

    def _find_iterators(self) -> None:
        """Turn each block with an `iternext` into a ``for`` header without other statements."""
        loop_headers = {loop.header for loop in self._graph(self.nodes, self.entry, [END]).loops().values()}
        for label, node in list(self.nodes.items()):
            place = next((k for k, item in enumerate(node.items) if _expression(item, "iternext")), None)
            if place is None:
                continue
            iternext = node.items[place]
            before, after = node.items[:place], node.items[place + 1 :]
            item = next((s.target for s in after if _expression(s, "pair_first")), None)
            after = [s for s in after if not (_expression(s, "pair_first") or _expression(s, "pair_second"))]
            body, end = node.targets
            header = IteratorHeader(iternext.value.value, item, iternext.loc)
            in_loop = label in loop_headers
            if after or (before and in_loop):
                # Statements of the header run before every item and once more at the end.
                every = [*before, *after] if in_loop else after
                start, stop = self._label(), self._label()
                self.nodes[start] = Node(list(every), [body], loc=node.loc)
                self.nodes[stop] = Node(list(every), [end], loc=node.loc)
                body, end = start, stop
            if in_loop:
                self.nodes[label] = Node([], [body, end], header=header, loc=iternext.loc)
            else:  # the body always leaves: a loop of at most one trip, which is no loop in the graph
                reached, again = self._fresh("reached"), self._fresh("again")
                loop = Repeat([SetFlag(reached, True), SetFlag(again, False)], header, again, label, iternext.loc)
                node.items = [*before, SetFlag(reached, False), loop]
                node.targets, node.condition = [body, end], reached

    def _join_short_circuits(self) -> None:
        """``if a and b``: compute one condition, then branch once."""
        again = True
        while again:
            heads = {loop.header for loop in self._graph(self.nodes, self.entry, [END]).loops().values()}
            again = any(self._join_short_circuit(label, heads) for label in list(self.nodes))

    def _join_short_circuit(self, label, heads: set) -> bool:
        node = self.nodes.get(label)
        if node is None or node.condition is None:
            return False
        for way in (0, 1):
            second_label, other = node.targets[way], node.targets[1 - way]
            second = self.nodes.get(second_label)
            if second is None or second.condition is None or second_label in heads or other not in second.targets:
                continue
            if second_label == other or self._predecessors(second_label) != [label]:
                continue
            other_way = second.targets.index(other)
            joined = self._fresh("both" if way == other_way - 1 else "either")
            evaluated = [*second.items, SetVariable(joined, second.condition, second.loc)]
            skipped = [SetVariable(joined, other_way == 0, node.loc)]
            arms = (evaluated, skipped) if way == 0 else (skipped, evaluated)
            node.items.append(Branch(node.condition, arms[0], arms[1], node.loc))
            node.condition, node.targets = joined, list(second.targets)
            del self.nodes[second_label]
            return True
        return False

    def _loops_inside_out(self) -> list[tuple[Any, set]]:
        """Headers and members of all loops: inner ones first, later ones in the bytecode before earlier ones.

        A loop that runs just before a `break` of another is no part of that, but may be taken into it:
        it has a higher offset.
        """
        found = [(loop.header, set(loop.body)) for loop in self._graph(self.nodes, self.entry, [END]).loops().values()]
        found.sort(key=lambda loop: str(loop[0]).rjust(20), reverse=True)
        ordered: list[tuple[Any, set]] = []
        while found:
            ready = next(loop for loop in found if not any(other[1] < loop[1] for other in found))
            found.remove(ready)
            ordered.append(ready)
        return ordered

    # ----- loops -----------------------------------------------------------------------------
    def _collapse_loop(self, header, members: set) -> set:
        """Replace the loop by one node; returns the labels of the nodes that follow it."""
        inside = {label: self.nodes.pop(label) for label in members}
        head = inside[header]
        is_for = head.header is not None
        self._absorb_exits(inside, natural=head.targets[1] if is_for else None)
        exits = [
            (label, target)
            for label in sorted(inside, key=str)
            for target in dict.fromkeys(inside[label].targets)
            if target not in inside and not (is_for and label == header)
        ]
        natural = head.targets[1] if is_for else None
        targets = list(dict.fromkeys(target for _, target in exits))
        codes = {target: number for number, target in enumerate(targets, 1)}
        code = self._fresh("exit") if (targets if is_for else len(targets) > 1) and targets != [natural] else None
        again = self._fresh("again") if exits or not is_for else None

        def leaf(label, target, items):
            new = self._label()
            inside[new] = Node(items, [END])
            inside[label].redirect(target, new)

        backward = [label for label in list(inside) if header in inside[label].targets]
        for label, target in exits:
            flags = [SetFlag(code, codes[target])] if code else []
            leaf(label, target, [*flags, SetFlag(again, False)])
        for label in backward:
            leaf(label, header, [SetFlag(again, True)] if again else [])
        if is_for:
            first = head.targets[0]
            del inside[header]
            body = self._region(inside, first) if first in inside else []
        else:
            body = self._region(inside, header)
        loop = Repeat(body, head.header, again, header, head.loc)
        node = Node([loop], [], loc=head.loc)
        if code and is_for:
            node.items.insert(0, SetFlag(code, 0))
        self.nodes[header] = node
        ways = [(codes[target], target) for target in targets]
        if is_for and natural not in codes:
            ways.append((0, natural))
        elif is_for and code:
            raise AssertionError("a natural exit that is also an early exit")
        return self._dispatch(node, code, ways)

    def _absorb_exits(self, inside: dict, natural) -> None:
        """Take into the loop what only its own paths reach: a raise, what runs before a break or return.

        Numba's loops end where no path leads back, so that ``if c: return x[i]`` would compute
        ``x[i]`` after the loop, and `i` would have to leave it. What lies behind the loop in the
        bytecode or is not indented stays outside (CPython copies a short ``return`` to a ``break``).
        """
        offsets = [label for label in inside if isinstance(label, int)]
        places = [loc for node in inside.values() for loc in _places(node)]
        if not offsets or not places:
            return
        top = min(places, key=lambda loc: loc.line)
        text = linecache.getline(top.filename, top.line)
        margin = _indentation(top) + text.lstrip().startswith(("for", "while"))
        grew = True
        while grew:
            grew = False
            for target in [target for node in inside.values() for target in node.targets]:
                node = self.nodes.get(target)
                if node is None or target == natural or self._predecessors(target):
                    continue
                within = isinstance(target, int) and min(offsets) < target < max(offsets)
                within = within and all(_indentation(loc) >= margin for loc in _places(node))
                if within or not node.targets:
                    inside[target] = self.nodes.pop(target)
                    grew = True

    def _dispatch(self, node: Node, code: str | None, ways: list) -> set:
        """Go on from `node` by the value of `code`; returns the labels of new nodes."""
        added = set()
        for number, target in ways[:-1]:
            assert code is not None
            test = self._fresh("is_exit")
            node.items.append(TestFlag(test, code, number))
            rest = self._label()
            node.condition, node.targets = test, [target, rest]
            node = self.nodes[rest] = Node([], [])
            added.add(rest)
        node.targets = [ways[-1][1]] if ways else []
        return added

    # ----- acyclic regions -------------------------------------------------------------------
    def _region(self, nodes: dict, entry) -> list:
        """The suite of an acyclic graph from `entry` to `END`."""
        graph = self._graph(nodes, entry, [END])
        order = _topological(nodes, entry)
        count: dict = {}
        for label in nodes:
            if label in order:
                for target in nodes[label].targets:
                    count[target] = count.get(target, 0) + 1
        merges: dict = {}
        for label, dominator in graph.immediate_dominators().items():
            if label not in (entry, END) and count.get(label, 0) > 1:
                merges.setdefault(dominator, []).append(label)
        flag = self._fresh("path")

        def arm(target) -> tuple[list, dict]:
            """The suite that runs after a jump to `target`, and the ends of its paths by target."""
            if target != END and count[target] == 1:
                return emit(target)
            end = SetFlag(None, order[target])
            return [end], {target: [end]}

        def emit(label) -> tuple[list, dict]:
            node = nodes[label]
            suite = list(node.items)
            ends: dict = {}
            if len(set(node.targets)) == 1:
                rest, ends = arm(node.targets[0])
                suite += rest
            elif node.targets:
                then, ends = arm(node.targets[0])
                orelse, more = arm(node.targets[1])
                suite.append(Branch(node.condition, then, orelse, node.loc))
                ends = _joined(ends, more)
            for merge in sorted(merges.get(label, ()), key=lambda target: order[target]):
                if merge not in ends:
                    continue
                followers, more = emit(merge)
                if set(ends) == {merge}:
                    suite += followers
                    ends = more
                    continue
                for end in (end for group in ends.values() for end in group):
                    end.variable = flag
                test = self._fresh("is_path")
                suite += [TestFlag(test, flag, order[merge]), Branch(test, followers, [], nodes[merge].loc)]
                del ends[merge]
                ends = _joined(ends, more)
            return suite, ends

        return emit(entry)[0]


def _topological(nodes: dict, entry) -> dict:
    """The place of each label that is reached from `entry`, and of `END`, in an order in which jumps lead onwards.

    Not `CFGraph.topo_order`: that of Numba 0.68 takes a block for visited when its first predecessor is, and may put it
    before another predecessor.
    """
    finished: dict = {}  # in the order in which all that follows was seen
    stack = [(entry, iter(dict.fromkeys(nodes[entry].targets)))]
    begun = {entry}
    while stack:
        label, targets = stack[-1]
        target = next((t for t in targets if t not in begun and (t in nodes or t == END)), None)
        if target is None:
            finished[label] = None
            stack.pop()
        else:
            begun.add(target)
            stack.append((target, iter(dict.fromkeys(nodes[target].targets if target in nodes else ()))))
    return {label: place for place, label in enumerate(reversed(finished))}


def _joined(ends: dict, more: dict) -> dict:
    for target, group in more.items():
        ends.setdefault(target, []).extend(group)
    return ends


def _expression(item, op: str) -> bool:
    return isinstance(item, ir.Assign) and isinstance(item.value, ir.Expr) and item.value.op == op


def _places(node: Node) -> list[ir.Loc]:
    return [item.loc for item in node.items if getattr(item, "loc", None) is not None]


def _indentation(loc: ir.Loc) -> int:
    text = linecache.getline(loc.filename, loc.line)
    return len(text) - len(text.lstrip())


def _node(block: ir.Block) -> Node:
    """The graph node of a Numba block."""
    items, last = [], block.body[-1]
    for statement in block.body[:-1]:
        if isinstance(statement, ir.Del) or _expression(statement, "phi"):
            continue
        items.append(statement)
    if is_raise(last):
        return Node([*items, last], [], loc=last.loc)
    if isinstance(last, ir.Return):
        return Node([*items, SetVariable(RETURN, last.value.name, last.loc)], [END], loc=last.loc)
    if isinstance(last, ir.Branch) and last.truebr != last.falsebr:
        return Node(items, [last.truebr, last.falsebr], last.cond.name, loc=last.loc)
    return Node(items, [last.get_targets()[0]], loc=last.loc)


def structure(blocks: dict[int, ir.Block]) -> list:
    """The tree of a function from its Numba blocks."""
    return Structurer(blocks).build()
