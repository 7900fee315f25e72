"""From the structured tree to a Program: branches and loops with explicit results and carried values."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.frontend import iterators
from jitgrad.frontend.reader import StatementReader, is_simple, literal
from jitgrad.frontend.regions import structure
from jitgrad.frontend.tree import RETURN, Branch, Repeat
from jitgrad.frontend.typed import TypedFunction
from jitgrad.frontend.variables import Liveness
from jitgrad.program import ir


class FunctionBuilder(StatementReader):
    """Builds the Program of one function."""

    def build(self) -> ir.Program:
        typed = self.typed
        tree = structure(typed.blocks)
        Liveness(self.variables).before(tree, {RETURN})
        params = self._parameters()
        self.suite(tree)
        result: ir.Value = literal(None)
        if typed.return_type != types.none:
            result = self.environment.get(RETURN) or ir.Undefined("result", typed.return_type)
            result = self.cast(result, types.unliteral(typed.return_type))
        code = typed.python_function.__code__
        return ir.Program(
            name=typed.python_function.__name__,
            params=params,
            body=self.block,
            result=result,
            signature=typed.signature,
            loc=ir.Location(code.co_filename, code.co_firstlineno),
        )

    def _parameters(self) -> list[ir.Value]:
        """The parameters; one left out by the caller stands for its default."""
        params = []
        for position, (name, type_) in enumerate(zip(self.typed.signature.parameters, self.typed.argtypes)):
            if isinstance(type_, types.Omitted):
                value = ir.Value(name, types.unliteral(self.typed.context.resolve_value_type(type_.value)))
                self.arguments[position] = literal(type_.value, value.type) if is_simple(type_.value) else value
            else:
                value = self.arguments[position] = ir.Value(name, types.unliteral(type_))
            params.append(value)
        return params

    def iteration(self, iterable: ir.Value) -> iterators.Iteration:
        return iterators.iteration(self, iterable)

    def suite(self, items: list) -> bool:
        """Read a suite; returns whether control can reach its end."""
        for item in items:
            match item:
                case Branch():
                    goes_on = self._branch(item)
                case Repeat():
                    goes_on = self._loop(item)
                case _:
                    goes_on = self.statement(item)
            if not goes_on:
                return False
        return True

    # ----- branches --------------------------------------------------------------------------
    def _branch(self, branch: Branch) -> bool:
        condition = self.read(branch.condition)
        if isinstance(condition, ir.Literal):
            return self.suite(branch.then if condition.value else branch.orelse)
        self._locate(branch)
        loc = self.loc
        then, orelse = self._arm(branch.then), self._arm(branch.orelse)
        op = ir.If(condition, then[0], orelse[0], loc=loc)
        merged: dict[str, ir.Value] = {}
        for variable in branch.outs:
            values = [arm[1].get(variable) if arm[2] else None for arm in (then, orelse)]
            merged[variable] = self._merge(op, variable, *values)
        self.environment |= merged
        self._add_branch(op)
        return then[2] or orelse[2]

    def _locate(self, item: Any) -> None:
        if item.loc is not None:
            self.loc = self.typed.location(item.loc)

    def _arm(self, suite: list) -> tuple[ir.Block, dict[str, ir.Value], bool]:
        """The block of one arm, the variables after it, and whether its end can be reached."""
        outer_block, outer_environment = self.block, self.environment
        self.block, self.environment = ir.Block(), dict(outer_environment)
        goes_on = self.suite(suite)
        arm = self.block, self.environment, goes_on
        self.block, self.environment = outer_block, outer_environment
        return arm

    def _merge(self, op: ir.If, variable: str, then: ir.Value | None, orelse: ir.Value | None) -> ir.Value:
        """The value of `variable` after both arms; adds a result to `op` where they differ."""
        present = [value for value in (then, orelse) if value is not None and not isinstance(value, ir.Undefined)]
        if not present:
            return ir.Undefined(self.variables.display_name(variable), self.type_of(variable))
        if _same(then, orelse):
            return present[0]
        type_ = self._unify([value.type for value in present])
        yields = []
        for block, value in ((op.then, then), (op.orelse, orelse)):
            if value is None:
                value = ir.Undefined(present[0].name, type_)
            yields.append(self._cast_in(block, value, type_))
        if all(isinstance(value, ir.Literal) for value in yields) and [value.value for value in yields] == [True, False]:
            if type_ == types.boolean:
                return op.cond
        name = self.variables.display_name(variable)
        if name == "t":
            name = present[-1].name
        out = ir.Value(name, type_)
        op.outs.append(out)
        op.then_yields.append(yields[0])
        op.else_yields.append(yields[1])
        return out

    def _cast_in(self, block: ir.Block, value: ir.Value, type_: types.Type) -> ir.Value:
        """`value` as `type_`, cast at the end of `block`."""
        outer, self.block = self.block, block
        value = self.cast(value, type_)
        self.block = outer
        return value

    def _unify(self, found: list[types.Type]) -> types.Type:
        """The type that Numba gives a variable assigned with the types `found`."""
        known = [type_ for type_ in found if type_ is not None]
        if all(type_ == known[0] for type_ in known):
            return known[0]
        return self.typed.context.unify_types(*known) or known[-1]

    def _add_branch(self, op: ir.If) -> None:
        if op.outs or op.then.ops or op.orelse.ops:
            self.emit(op)

    # ----- loops -----------------------------------------------------------------------------
    def _loop(self, loop: Repeat) -> bool:
        self._locate(loop)
        loc = self.loc
        iteration = None
        if loop.header is not None:
            iteration = iterators.iteration(self, self.read(loop.header.iterator.name).iterable)
        inits = {variable: self.environment.get(variable) for variable in loop.carried}
        header_types = self.variables.header_types.get(loop.label, {})
        carried = {
            variable: header_types.get(variable) or (init.type if init is not None else None)
            for variable, init in inits.items()
        }
        outer_block, outer_environment = self.block, self.environment
        while True:  # read the body again when a carried variable turns out to need a wider type
            params = {variable: ir.Value(self._carried_name(variable, inits), carried[variable]) for variable in carried}
            index = ir.Value("i" if loop.header else "trip", types.intp)
            self.block, self.environment = ir.Block(), outer_environment | params
            if iteration is not None and loop.header.item is not None:
                item = loop.header.item.name
                self.assign(item, iteration.item(index, self.type_of(item)))
            ends = self.suite(loop.body)
            body, after = self.block, self.environment
            self.block, self.environment = outer_block, outer_environment
            widened = False
            for variable, param in params.items():
                value = after.get(variable)
                wanted = self._unify([param.type, value.type if value is not None else None])
                if carried[variable] is not None and wanted != param.type:
                    carried[variable], widened = wanted, True
                param.type = wanted
            if not widened:
                break
        op = ir.Loop(
            index=index,
            count=iteration.count if iteration else None,
            params=list(params.values()),
            inits=[],
            body=body,
            yields=[],
            outs=[],
            parallel=bool(iteration and iteration.parallel),
            loc=loc,
        )
        for variable, param in params.items():
            init = inits[variable]
            op.inits.append(ir.Undefined(param.name, param.type) if init is None else self.cast(init, param.type))
            value = after.get(variable) if ends else None
            op.yields.append(
                ir.Undefined(param.name, param.type) if value is None else self._cast_in(body, value, param.type)
            )
            op.outs.append(ir.Value(param.name, param.type))
        if loop.again is not None and ends:
            op.again = after[loop.again]
        self.emit(op)
        self.environment |= dict(zip(params, op.outs))
        return ends or iteration is not None

    def _carried_name(self, variable: str, inits: dict[str, ir.Value | None]) -> str:
        name = self.variables.display_name(variable)
        init = inits[variable]
        return init.name if name == "t" and init is not None else name


def _same(then: ir.Value | None, orelse: ir.Value | None) -> bool:
    """Whether both arms leave the same value."""
    if then is orelse:
        return True
    if isinstance(then, ir.Literal) and isinstance(orelse, ir.Literal) and then.type == orelse.type:
        return type(then.value) is type(orelse.value) and repr(then.value) == repr(orelse.value)
    return isinstance(then, ir.Global) and isinstance(orelse, ir.Global) and then.value is orelse.value


def build(typed: TypedFunction, inliner: Any) -> ir.Program:
    """The Program of a typed function."""
    return FunctionBuilder(typed, inliner).build()
