"""From the structured tree to a Program: branches and loops with explicit results and carried values."""

from __future__ import annotations

import operator
import re
from typing import Any

from numba.core import ir as numba_ir
from numba.core import types

from jitgrad.frontend import iterators
from jitgrad.frontend.reader import Iterator, StatementReader, is_simple, literal
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
            wanted = types.unliteral(typed.return_type)
            if not (isinstance(wanted, types.Optional) and result.type == wanted.type):  # else surely not None
                result = self.cast(result, wanted)
        code = typed.python_function.__code__
        return ir.Program(
            name="lambda_" if code.co_name == "<lambda>" else re.sub(r"\W", "_", typed.python_function.__name__),
            params=params,
            body=self.block,
            result=result,
            signature=typed.signature,
            loc=ir.Location(code.co_filename, code.co_firstlineno),
        )

    def _parameters(self) -> list[ir.Value]:
        """The parameters; one left out by the caller stands for its default."""
        params = []
        typed = zip(self.typed.signature.parameters, self.typed.argtypes, strict=True)
        for position, (name, type_) in enumerate(typed):
            if isinstance(type_, types.Omitted):
                value = ir.Value(name, types.unliteral(self.typed.context.resolve_value_type(type_.value)))
                self.arguments[position] = literal(type_.value, value.type) if is_simple(type_.value) else value
            else:
                value = self.arguments[position] = ir.Value(name, types.unliteral(type_))
                if isinstance(type_, types.Literal):
                    self.arguments[position] = literal(type_.literal_value, value.type)
            params.append(value)
        return params

    def iteration(self, iterable: ir.Value) -> iterators.Iteration:
        return iterators.iteration(self, iterable)

    def position(self, array: ir.Value, number: ir.Value) -> list[ir.Value]:
        return iterators.position(self, array, number)

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
        ranges: list[ir.Op] = []
        for variable in branch.outs:
            values = [arm[1].get(variable) if arm[2] else None for arm in (then, orelse)]
            name = self.variables.display_name(variable)
            merged[variable] = self._merge(op, name, values[0], values[1], ranges)
        self.environment |= merged
        if op.outs or op.then.ops or op.orelse.ops:
            self.emit(op)
        for made in ranges:
            self.emit(made)
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

    def _merge(
        self, op: ir.If, name: str, then: ir.Value | None, orelse: ir.Value | None, ranges: list[ir.Op]
    ) -> ir.Value:
        """One value for those that a variable has after both arms; adds a result to `op` where they differ.

        What iterators run over is made again behind the branch, by the operations added to `ranges`.
        """
        present = [value for value in (then, orelse) if value is not None and not isinstance(value, ir.Undefined)]
        if not present:
            return ir.Undefined(name, None)
        if _same(then, orelse) or len(present) == 1 and isinstance(present[0], (ir.Literal, ir.Global)):
            return present[0]
        if isinstance(present[0], Iterator):
            iterables = [value.iterable if isinstance(value, Iterator) else None for value in (then, orelse)]
            merged = self._merge_iterables(op, iterables[0], iterables[1], ranges)
            return Iterator("t", present[0].type, merged)
        type_ = self._unify([value.type for value in present])
        yields = []
        for block, value in ((op.then, then), (op.orelse, orelse)):
            if value is None:
                value = ir.Undefined(present[0].name, type_)
            yields.append(self._cast_in(block, value, type_))
        first, second = yields
        if type_ == types.boolean and isinstance(first, ir.Literal) and isinstance(second, ir.Literal):
            if first.value and not second.value:
                return op.cond
        out = ir.Value(present[-1].name if name == "t" else name, type_)
        op.outs.append(out)
        op.then_yields.append(first)
        op.else_yields.append(second)
        return out

    def _merge_iterables(
        self, op: ir.If, then: ir.Value | None, orelse: ir.Value | None, ranges: list[ir.Op]
    ) -> ir.Value:
        present = [value for value in (then, orelse) if value is not None]
        made = [call for call in map(self.producers.get, present) if isinstance(call, ir.Call) and not call.kwargs]
        alike = {(id(call.fn), len(call.args)) for call in made}
        if len(made) < len(present) or len(alike) > 1 or made[0].fn not in (*iterators.RANGES, zip, enumerate):
            return self._merge(op, "t", then, orelse, ranges)
        calls = dict(zip(present, made, strict=True))
        merged = []
        for position in range(len(made[0].args)):
            a, b = (calls[value].args[position] if value is not None else None for value in (then, orelse))
            nested = made[0].fn in (zip, enumerate)
            merged.append(self._merge_iterables(op, a, b, ranges) if nested else self._merge(op, "t", a, b, ranges))
        call = ir.Call(self.new(present[0].type), made[0].fn, merged)
        ranges.append(call)
        return call.result

    def _cast_in(self, block: ir.Block, value: ir.Value, type_: types.Type) -> ir.Value:
        """`value` as `type_`, cast at the end of `block`."""
        outer, self.block = self.block, block
        value = self.cast(value, type_)
        self.block = outer
        return value

    def _unify(self, found: list[types.Type | None]) -> types.Type | None:
        """The type that Numba gives a variable assigned with the types `found`."""
        known = [type_ for type_ in found if type_ is not None]
        if not known:
            return None
        if all(type_ == known[0] for type_ in known):
            return known[0]
        return self.typed.context.unify_types(*known) or known[-1]

    # ----- loops -----------------------------------------------------------------------------
    def _loop(self, loop: Repeat) -> bool:
        self._locate(loop)
        loc = self.loc
        iteration, growing = None, None
        if loop.header is not None:
            iterable = self._iterable(self.read(loop.header.iterator.name))
            iteration = iterators.iteration(self, iterable)
            growing = iterable if isinstance(iterable.type, types.List) and self._may_grow(loop.body) else None
        inits = {variable: self.environment.get(variable) for variable in loop.carried}
        index, params, after, body, ends = self._body(loop, iteration, inits)
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
            value = _carried_form(after.get(variable)) if ends else None
            op.yields.append(
                ir.Undefined(param.name, param.type) if value is None else self._cast_in(body, value, param.type)
            )
            op.outs.append(ir.Value(param.name, param.type))
        if loop.again is not None and ends:
            op.again = after[loop.again]
        if growing is not None:
            self._count_by_length(op, growing)
        self.emit(op)
        for variable, out in zip(params, op.outs, strict=True):
            made = after.get(variable)
            self.environment[variable] = Iterator("t", made.type, out) if isinstance(made, Iterator) else out
        return ends or iteration is not None

    def _body(
        self, loop: Repeat, iteration: iterators.Iteration | None, inits: dict[str, ir.Value | None]
    ) -> tuple[ir.Value, dict[str, ir.Value], dict[str, ir.Value], ir.Block, bool]:
        """Read a loop's body: its index, parameters, the variables at its end, its block, and whether it ends.

        The body is read again when a carried variable turns out to need a wider type.
        """
        header_types = self.variables.header_types.get(loop.label, {})
        carried = {
            variable: header_types.get(variable) or (init.type if init is not None else None)
            for variable, init in inits.items()
        }
        outer_block, outer_environment = self.block, self.environment
        while True:
            params = {
                variable: ir.Value(self._carried_name(variable, inits), type_) for variable, type_ in carried.items()
            }
            index = ir.Value("i" if loop.header else "trip", types.intp)
            # What is neither set before nor merged by the header only leaves the loop.
            visible = {v: param for v, param in params.items() if v in header_types or inits[v] is not None}
            self.block, self.environment = ir.Block(), outer_environment | visible
            if iteration is not None and loop.header is not None and loop.header.item is not None:
                item = loop.header.item.name
                self.assign(item, iteration.item(index, self.type_of(item)))
            ends = self.suite(loop.body)
            body, after = self.block, self.environment
            self.block, self.environment = outer_block, outer_environment
            widened = False
            for variable, param in params.items():
                value = _carried_form(after.get(variable))
                wanted = self._unify([param.type, value.type if value is not None else None])
                if carried[variable] is not None and wanted != param.type:
                    carried[variable], widened = wanted, True
                param.type = wanted
            if not widened:
                return index, params, after, body, ends

    def _may_grow(self, suite: list) -> bool:
        """Whether `suite` could change the length of a list: Python's loop over it would notice."""
        for item in suite:
            if isinstance(item, Branch) and (self._may_grow(item.then) or self._may_grow(item.orelse)):
                return True
            if isinstance(item, Repeat) and self._may_grow(item.body):
                return True
            value = getattr(item, "value", None)
            if not isinstance(value, numba_ir.Expr):
                continue
            if value.op == "getattr" and value.attr in ("append", "extend", "insert", "pop", "remove", "clear"):
                return True
            if value.op in ("call", "inplace_binop"):
                found = [self.type_of(variable.name) for variable in value.list_vars()]
                if any(isinstance(type_, types.List) for type_ in found):
                    return True
        return False

    def _count_by_length(self, op: ir.Loop, items: ir.Value) -> None:
        """Ask for the length of `items` after every iteration instead of once."""
        outer, self.block = self.block, op.body
        length = self.call(len, [items], types.intp, "n")
        following = self.binary(operator.add, op.index, literal(1), types.intp)
        more = self.binary(operator.lt, following, length, types.boolean)
        op.again = more if op.again is None else self.binary(operator.and_, op.again, more, types.boolean)
        self.block = outer
        # The body decides: the count only tells whether there is a first item.
        assert op.count is not None
        some = self.binary(operator.gt, op.count, literal(0), types.boolean)
        op.count = ir.Value("n", types.intp)
        self.emit(ir.If(some, ir.Block(), ir.Block(), [op.count], [literal(2**62)], [literal(0)]))

    def _carried_name(self, variable: str, inits: dict[str, ir.Value | None]) -> str:
        name = self.variables.display_name(variable)
        init = inits[variable]
        return init.name if name == "t" and init is not None else name


def _carried_form(value: ir.Value | None) -> ir.Value | None:
    """What a loop hands on for a value: for an iterator what it runs over."""
    return value.iterable if isinstance(value, Iterator) else value


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
