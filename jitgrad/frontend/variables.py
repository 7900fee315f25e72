"""Which versions of Numba's SSA form are one variable, what they are called, and where they live.

Numba's SSA form renames the assignments of a variable and merges them in phis. Versions connected by
phis are joined again: they never live at once, as they were one variable of the user's, so that phis
need no copies. `annotate` then finds which variables each branch and loop must hand on.
"""

from __future__ import annotations

import re

from numba.core import ir, types

from jitgrad.frontend.tree import Branch, Repeat, SetFlag, SetVariable, TestFlag, is_raise
from jitgrad.frontend.typed import TypedFunction

# `InlineClosureLikes` calls a closure's `y.1` "<qualified name>_v7_y_1", its `$12load.3` "..._v7__v12load_3".
INLINED = re.compile(r"^.*__locals__.*?_v\d+_(?P<temporary>_v(?=[\da-z]))?(?P<name>\w+)$")


class Variables:
    """Variables of one function.

    Attributes
    ----------
    header_types : dict of int to dict of str to Type
        Per block: the type of each variable that a phi merges there.
    """

    def __init__(self, typed: TypedFunction):
        self._parent: dict[str, str] = {}
        self._source_name: dict[str, str] = {}
        self.header_types: dict[int, dict[str, types.Type]] = {}
        for scope in {id(block.scope): block.scope for block in typed.blocks.values()}.values():
            for original, versions in scope.var_redefinitions.items():
                for version in versions:
                    self._source_name[version] = original
        phis = [
            (label, statement)
            for label, block in typed.blocks.items()
            for statement in block.body
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr) and statement.value.op == "phi"
        ]
        for _, phi in phis:
            for source in phi.value.incoming_values:
                if source is not ir.UNDEFINED:
                    self._parent[self.variable(source.name)] = self.variable(phi.target.name)
        for label, phi in phis:
            name = self.variable(phi.target.name)
            self.header_types.setdefault(label, {})[name] = types.unliteral(typed.typemap[phi.target.name])

    def variable(self, version: str) -> str:
        """The variable that `version` is an assignment of."""
        root = version
        while root in self._parent and self._parent[root] != root:
            root = self._parent[root]
        while version != root:  # shorten the path for next time
            self._parent[version], version = root, self._parent[version]
        return root

    def display_name(self, version: str) -> str:
        """The user's name for `version`, or ``t`` for a temporary."""
        name, seen = version, set()
        while name in self._source_name and name not in seen:
            seen.add(name)
            name = self._source_name[name]
        if name.startswith("$"):
            return "t"
        inlined = INLINED.match(name)
        if inlined:
            if inlined["temporary"] or inlined["name"].startswith("implicit"):
                return "t"
            return re.sub(r"_\d+$", "", inlined["name"])
        return re.sub(r"\W", "_", name.split(".")[0])


def uses(item) -> list[str]:
    """Versions that an item reads by itself."""
    match item:
        case SetFlag():
            return []
        case TestFlag():
            return [item.variable]
        case SetVariable():
            return [item.source] if isinstance(item.source, str) else []
        case Branch():
            return [item.condition]
        case Repeat():
            return [item.header.iterator.name] if item.header else []
        case ir.Assign(value=ir.Var()):
            return [item.value.name]
        case ir.Assign(value=ir.Expr()):
            return [variable.name for variable in item.value.list_vars()]
        case ir.Assign():
            return []
    return [variable.name for variable in item.list_vars()]


def definition(item) -> str | None:
    """The version that an item without suites assigns."""
    match item:
        case SetFlag():
            return item.variable
        case TestFlag() | SetVariable():
            return item.target
        case ir.Assign():
            return item.target.name
    return None


class Liveness:
    """Fills `Branch.outs` and `Repeat.carried`."""

    def __init__(self, variables: Variables):
        self.variables = variables
        self._assigned: dict[int, dict[str, None]] = {}

    def assigned(self, suite: list) -> dict[str, None]:
        """The variables that `suite` assigns, in order."""
        if id(suite) in self._assigned:
            return self._assigned[id(suite)]
        found: dict[str, None] = {}
        for item in suite:
            if isinstance(item, Branch):
                found |= self.assigned(item.then) | self.assigned(item.orelse)
            elif isinstance(item, Repeat):
                found |= self._loop_assigned(item)
            elif (defined := definition(item)) is not None:
                found[self.variables.variable(defined)] = None
        self._assigned[id(suite)] = found
        return found

    def _loop_assigned(self, loop: Repeat) -> dict[str, None]:
        item = loop.header.item if loop.header else None
        own = {self.variables.variable(item.name): None} if item is not None else {}
        return own | self.assigned(loop.body)

    def before(self, suite: list, live: set[str]) -> set[str]:
        """The variables read at or after the start of `suite`, given those read after it."""
        variable = self.variables.variable
        live = set(live)
        for item in reversed(suite):
            if isinstance(item, Branch):
                item.outs = [v for v in self.assigned(item.then) | self.assigned(item.orelse) if v in live]
                live = self.before(item.then, live) | self.before(item.orelse, live)
            elif isinstance(item, Repeat):
                live = self._before_loop(item, live)
            elif is_raise(item):
                live = set()
            elif (defined := definition(item)) is not None:
                live.discard(variable(defined))
            live |= {variable(version) for version in uses(item)}
        return live

    def _before_loop(self, loop: Repeat, after: set[str]) -> set[str]:
        variable, assigned = self.variables.variable, self._loop_assigned(loop)
        # What the loop assigns comes around it only by a phi of its header, says Numba's SSA form: this
        # keeps out variables that a test of a flag seems to read unassigned.
        around = self.variables.header_types.get(loop.label, {}).keys() | after
        at_header = set(after) if loop.header else set()
        while True:
            end = at_header | after | ({loop.again} if loop.again else set())
            start = self.before(loop.body, end)
            if loop.header and loop.header.item is not None:
                start.discard(variable(loop.header.item.name))
            start = {v for v in start if v not in assigned or v in around}
            if start <= at_header:
                break
            at_header |= start
        loop.carried = [v for v in assigned if v in at_header or v in after]
        return at_header
