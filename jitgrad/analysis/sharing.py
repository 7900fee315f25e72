"""Memory that changes while a result that shares it is in use.

Some results share memory with an argument although derivatives take them for copies: of `np.broadcast_to`, of a tuple
that a variable indexes, of recursive functions. That is right as long as nothing is written into this memory between
the operation and the last use of its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.analysis.activity import Activity, Cell, leaves
from jitgrad.analysis.memory import written_values
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir


def overwritten(program: ir.Program, activity: Activity) -> Iterator[tuple[ir.Op, ir.Op]]:
    """Calls that `effects.shares`, each with a store that changes the memory of its result before its last use.

    Parameters
    ----------
    program : Program
    activity : Activity
        Of the same program; only which values share memory is asked.

    Yields
    ------
    (Op, Op)
        The call and the store.
    """
    sharing = [op for op in ir.walk(program.body) if effects.shares(op)]
    scopes = Scopes(program) if sharing else None
    for op in sharing:
        assert scopes is not None
        store = change_in_use(op, program, activity, scopes)
        if store is not None:
            yield op, store


def change_in_use(op: ir.Op, program: ir.Program, activity: Activity, scopes: Scopes) -> ir.Op | None:
    """A store into the memory of the operands or the result of `op` that may run before the last use of the result."""
    memory = _cells(activity, (*op.operands, *op.results))
    uses, lasting = _uses(op, program, scopes)
    for store in ir.walk(program.body):
        if memory.isdisjoint(_cells(activity, written_values(store))):
            continue
        if _between(op, store, uses, scopes) or (lasting and _after(op, store, scopes)):
            return store
    return None


def reinterpreted(program: ir.Program) -> Iterator[tuple[ir.Op, ir.Op]]:
    """Operations that see memory as another type or in other strides, each with a store that may change it afterwards.

    No analysis knows that the array and what was made of it are one memory; stores are told apart by dtype alone.
    """
    seen = [op for op in ir.walk(program.body) if _reinterprets(op)]
    if not seen:
        return
    scopes = Scopes(program)
    for op in seen:
        arrays = [v for v in (*op.operands, *op.results) if isinstance(v.type, types.Array)]
        dtypes = {ir.memory_dtype(v.type) for v in arrays}
        home = scopes.home.get(arrays[0])
        born = [] if home is None else scopes.loops(home)
        around = [loop for loop in scopes.loops(scopes.at[op]) if loop not in born]
        for store in ir.walk(program.body):
            later = store in scopes.order and (
                scopes.order[store] > scopes.order[op] or any(loop in around for loop in scopes.loops(scopes.at[store]))
            )
            if later and any(ir.memory_dtype(v.type) in dtypes for v in written_values(store)):
                yield op, store


def _reinterprets(op: ir.Op) -> bool:
    if not isinstance(op, (ir.Call, ir.Method)) or not isinstance(effects.rule_of(op), rules.RefusedRule):
        return False
    return all(any(isinstance(v.type, types.Array) for v in values) for values in (op.operands, op.results))


def _cells(activity: Activity, values: Iterable[ir.Value]) -> set[Cell]:
    return {cell.find() for value in values for cell in leaves(activity.tree(value)) if not cell.scalar}


def _uses(op: ir.Op, program: ir.Program, scopes: Scopes) -> tuple[list[ir.Op], bool]:
    """What reads the result or a view of it, and whether it is also kept (in a container, by a loop, as the result)."""
    names, todo, uses = set(op.results), list(op.results), []
    lasting = False
    while todo:
        name = todo.pop()
        lasting |= name is program.result
        for use in scopes.uses.get(name, []):
            uses.append(use)
            lasting |= isinstance(use, (ir.Loop, ir.BuildMap, ir.BuildSet, ir.SetItem, ir.SetAttr))
            lasting |= isinstance(use, ir.Method) and use.obj is not name  # put into a container
            for result in use.results:
                if not isinstance(use, ir.Map) and result not in names and _is_memory(result.type):
                    names.add(result)
                    todo.append(result)
    return uses, lasting


def _is_memory(type_: types.Type) -> bool:
    return isinstance(type_, (types.Array, types.BaseTuple, types.List, types.ListType, types.Optional))


def _between(op: ir.Op, store: ir.Op, uses: list[ir.Op], scopes: Scopes) -> bool:
    """Whether `store` may run after `op` and before one of `uses`."""
    own = scopes.loops(scopes.at[op])
    around = [loop for loop in scopes.loops(scopes.at[store]) if loop not in own]
    return any(
        scopes.order[op] < scopes.order[store] < scopes.end[use]
        or any(loop in around for loop in scopes.loops(scopes.at[use]))
        for use in uses
    )


def _after(op: ir.Op, store: ir.Op, scopes: Scopes) -> bool:
    """Whether `store` may run after `op` at all."""
    inside = scopes.loops(scopes.at[store])
    return scopes.order[store] > scopes.order[op] or any(loop in inside for loop in scopes.loops(scopes.at[op]))
