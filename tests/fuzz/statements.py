"""Random statements: assignments, writes in place, views, swaps, loops, branches, calls."""

from __future__ import annotations

import random

from tests.fuzz.expressions import Expressions
from tests.fuzz.scope import Array, Float, Int, Pair

INDENT = "    "


class Statements(Expressions):
    """Writes statement lines into `lines`, down to a budget so that programs compile quickly."""

    def __init__(self, random_: random.Random, sizes: tuple[int, int], budget: int):
        super().__init__(random_, sizes)
        self.lines: list[str] = []
        self.budget = budget
        self.depth = 1
        self.returns: Float | Array | Pair | None = Float()

    def write(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def block(self, loops: int, count: int, in_loop: bool) -> None:
        """An indented block of up to `count` statements, with at most `loops` further nested loops."""
        with self.scope.block():
            self.depth += 1
            for _ in range(self.random.randint(1, count)):
                self.statement(loops, in_loop)
            self.depth -= 1

    def statement(self, loops: int = 2, in_loop: bool = False) -> None:
        if self.budget <= 0:
            self._rebind()
            return
        self.budget -= 1
        options = [
            (4, "rebind"), (3, "accumulate"), (6, "store"), (4, "store_slice"), (3, "whole_update"), (4, "new_array"),
            (3, "new_view"), (2, "alias"), (2, "swap"), (2, "pair"), (3, "branch"), (1, "counter"), (1, "rebind_array"),
            (1, "early_return"), (1, "comprehension"), (1, "filled"),
        ]  # fmt: skip
        if self.helpers:
            options.append((3, "call"))
        if loops:
            options += [(7, "for_range"), (2, "for_array"), (3, "while_loop")]
        if in_loop:
            options.append((3, "leave"))
        kind = self.choose(*options)
        if kind in ("branch", "for_range", "for_array", "while_loop"):
            getattr(self, f"_{kind}")(loops, in_loop)
        else:
            getattr(self, f"_{kind}")()

    # ---- straight line ----

    def _rebind(self) -> None:
        name = self.scope.pick(Float, assignable=True)
        text = self.bounded(self.scalar(2))
        if name is None or self.chance(0.4):
            name = self.scope.fresh("s")
            self.write(f"{name} = {text}")
            self.scope.define(name, Float())
        else:
            self.write(f"{name} = {text}")

    def _accumulate(self) -> None:
        name = self.scope.pick(Float, assignable=True)
        if name is None:
            return self._rebind()
        self.write(self._augmented(name, self.bounded(self.scalar(2))))

    def _augmented(self, target: str, value: str) -> str:
        """``target op= value`` with `value` in [-2, 2], not growing much when repeated."""
        operator = self.choose((4, "+="), (2, "-="), (2, "*="), (1, "/="))
        if operator == "*=":
            return f"{target} *= 0.6 + 0.4 * {value}"
        if operator == "/=":
            return f"{target} /= 2.5 + {value}"
        return f"{target} {operator} {value}"

    def _store(self) -> None:
        name = self.scope.pick(Array)
        value = self.bounded(self.scalar(2))
        target = self.element(name)
        self.write(f"{target} = {value}" if self.chance(0.45) else self._augmented(target, value))

    def _store_slice(self) -> None:
        name = self.scope.pick(Array)
        shape = self.scope.shape(name)
        if len(shape) == 2 and self.chance(0.5):
            return self._store_row(name, shape)
        lengths = tuple(self.random.randint(max(1, n - 1), n) for n in shape)
        target = f"{name}[{', '.join(self.span(n, k) for n, k in zip(shape, lengths, strict=True))}]"
        self._assign_elements(target, name, shape, lengths)

    def _store_row(self, name: str, shape: tuple[int, ...]) -> None:
        if self.chance(0.5):
            self._assign_elements(f"{name}[{self.index(shape[0])}]", name, shape, (shape[1],))
        else:
            self._assign_elements(f"{name}[:, {self.index(shape[1])}]", name, shape, (shape[0],))

    def _assign_elements(self, target: str, name: str, shape, lengths) -> None:
        """Write into a slice; often from an overlapping slice of the same array."""
        if len(shape) == len(lengths) and self.chance(0.4):
            items = ", ".join(self.span(n, k) for n, k in zip(shape, lengths, strict=True))
            source = f"{name}[{items}]"
            value = self.choose(source, f"{source} * {self.factor()}", f"np.sin({source})")
        else:
            value = self.choose(f"np.tanh({self.array(lengths, 1)})", self.array(lengths, 1), self.scalar(1))
        operator = self.choose((5, "="), (2, "+="), (1, "-="))
        if self.chance(0.15):
            operator, value = "*=", self.bounded(self.atom())
        self.write(f"{target} {operator} {value}")

    def _whole_update(self) -> None:
        name = self.scope.pick(Array)
        shape = self.scope.shape(name)
        self.write(
            self.choose(
                (3, f"{name} += np.tanh({self.array(shape, 1)})"),
                (2, f"{name} *= {self.bounded(self.scalar(1))}"),
                (1, f"{name} -= {self.factor()} * {self.array(shape, 0)}"),
                (1, f"{name}[:] = np.sin({self.array(shape, 1)})"),
            )
        )

    def _new_array(self) -> None:
        shape = self.choose(
            (4, (self.columns,)), (1, (self.rows,)), (2, (self.rows, self.columns)), (1, (self.columns - 1,))
        )
        name = self.scope.fresh("z")
        self.write(
            self.choose(
                (2, f"{name} = np.zeros({shape})"),
                (4, f"{name} = np.tanh({self.array(shape, 1)})"),
                (2, f"{name} = ({self.array(shape, 0)}).copy()"),
            )
        )
        self.scope.define(name, Array(shape))

    def _filled(self) -> None:
        """Uninitialised memory that a loop fills."""
        size = self.columns
        name, k = self.scope.fresh("z"), self.scope.fresh("i")
        self.write(f"{name} = np.empty({size})")
        self.write(f"for {k} in range({size}):")
        with self.scope.block():
            self.scope.define(k, Int(0, size))
            self.write(f"{INDENT}{name}[{k}] = {self.bounded(self.scalar(2))}")
        self.scope.define(name, Array((size,)))

    def _comprehension(self) -> None:
        name, k = self.scope.fresh("z"), self.scope.fresh("i")
        with self.scope.block():
            self.scope.define(k, Int(0, self.columns))
            value = self.bounded(self.scalar(1))
        self.write(f"{name} = np.array([{value} for {k} in range({self.columns})])")
        self.scope.define(name, Array((self.columns,)))

    def _new_view(self) -> None:
        shape = self.choose((4, (self.columns,)), (2, (self.columns - 1,)), (1, (self.rows,)), (1, (2,)))
        view = self.view(shape)
        if view is None:
            return self._new_array()
        name = self.scope.fresh("w")
        self.write(f"{name} = {view}")
        self.scope.define(name, Array(shape))

    def _alias(self) -> None:
        other = self.scope.pick(Array)
        name = self.scope.fresh("w")
        self.write(f"{name} = {other}")
        self.scope.define(name, Array(self.scope.shape(other)))
        self.write(f"{self.element(name)} = {self.bounded(self.scalar(1))}")

    def _rebind_array(self) -> None:
        name = self.scope.pick(Array, assignable=True)
        if name is None:
            return self._new_array()
        shape = self.scope.shape(name)
        same = self.scope.pick(Array(shape))
        update = f"{name} + {self.factor()} * np.sin({self.array(shape, 1)})"
        self.write(f"{name} = " + self.choose((3, update), (1, same), (1, f"np.tanh({self.array(shape, 1)})")))

    def _swap(self) -> None:
        kind: object = Float
        name = self.scope.pick(Array, assignable=True)
        if name and self.chance(0.75):
            kind = Array(self.scope.shape(name))
        names = self.scope.names(kind, assignable=True)
        if len(names) < 2:
            return self._rebind()
        if len(names) > 2 and self.chance(0.3):
            a, b, c = self.random.sample(names, 3)
            self.write(f"{a}, {b}, {c} = {c}, {a}, {b}")
            return
        a, b = self.random.sample(names, 2)
        self.write(f"{a}, {b} = {b}, {a}")

    def _pair(self) -> None:
        have = self.scope.pick(Pair)
        if have and self.chance(0.5):
            a, b = self.scope.fresh("s"), self.scope.fresh("s")
            self.write(f"{a}, {b} = {have}")
            self.scope.define(a, Float())
            self.scope.define(b, Float())
            return
        name = have if have and self.chance(0.6) else self.scope.fresh("t")
        self.write(f"{name} = ({self.bounded(self.scalar(1))}, {self.bounded(self.scalar(1))})")
        if name != have:
            self.scope.define(name, Pair())

    def _counter(self) -> None:
        """An integer variable that changes: an index that is not a loop's own counter."""
        names = [n for n in self.scope.names(Int, assignable=True) if n.startswith("k")]
        if names and self.chance(0.7):
            name = self.random.choice(names)
            self.write(self.choose(f"{name} += {self.random.randint(1, 3)}", f"{name} = ({name} * 2 + 1) % 7"))
            return
        name = self.scope.fresh("k")
        self.write(f"{name} = {self.random.randint(0, 3)}")
        self.scope.define(name, Int())

    def _call(self) -> None:
        helper = self.random.choice(self.helpers)
        call = self.helper_call(helper)
        if call is None:
            return self._rebind()
        if helper.returns is None:
            self.write(call)
        elif isinstance(helper.returns, Pair):
            a, b = self.scope.fresh("s"), self.scope.fresh("s")
            self.write(f"{a}, {b} = {call}")
            self.scope.define(a, Float())
            self.scope.define(b, Float())
        else:
            name = self.scope.fresh("s" if isinstance(helper.returns, Float) else "w")
            self.write(f"{name} = {call}")
            self.scope.define(name, helper.returns)

    def result(self) -> str:
        if isinstance(self.returns, Float):
            return self.bounded(self.scalar(2)) if self.chance(0.4) else self.scalar(2)
        if isinstance(self.returns, Pair):
            return f"{self.bounded(self.scalar(1))}, {self.bounded(self.scalar(1))}"
        if isinstance(self.returns, Array):
            return self.array(self.returns.shape, self.choose(0, 1))
        return ""

    def _early_return(self) -> None:
        # Several returns of arrays would have to agree on their layout: scalars are enough here.
        if not isinstance(self.returns, Float):
            return self._rebind()
        self.write(f"if {self.condition()}:")
        self.write(f"{INDENT}return {self.result()}")

    def _leave(self) -> None:
        self.write(f"if {self.condition()}:")
        self.write(INDENT + self.choose((2, "break"), (2, "continue")))

    # ---- control flow ----

    def _branch(self, loops: int, in_loop: bool) -> None:
        self.write(f"if {self.condition()}:")
        self.block(loops, 2, in_loop)
        if self.chance(0.25):
            self.write(f"elif {self.condition()}:")
            self.block(loops, 2, in_loop)
        if self.chance(0.5):
            self.write("else:")
            self.block(loops, 2, in_loop)

    def _for_range(self, loops: int, in_loop: bool) -> None:
        k, n = self.scope.fresh("i"), self.columns
        low, high = 0, self.choose((3, n), (1, self.rows), (1, n - 1), (1, 6))
        text = f"range({high})"
        form = self.choose((6, "up"), (2, "down"), (2, "from"), (1, "step"), (1, "size"), (1, "none"))
        if form == "down":
            text = f"range({high - 1}, -1, -1)"
        elif form == "from":
            low = 1
            text = f"range(1, {high})"
        elif form == "step":
            text = f"range(0, {high}, 2)"
        elif form == "size":
            name = self.scope.pick(Array)
            high = self.scope.shape(name)[0]
            text = f"range({self.choose(f'len({name})', f'{name}.shape[0]')})"
        elif form == "none":
            text = "range(0)"
        self.write(f"for {k} in {text}:")
        self._body({k: Int(low, high)}, loops)
        self._loop_else(loops, in_loop)

    def _for_array(self, loops: int, in_loop: bool) -> None:
        one, other = self.scope.pick(Array((self.columns,))), self.scope.pick(Array((self.columns,)))
        if one is None:
            return self._for_range(loops, in_loop)
        value, second, k = self.scope.fresh("s"), self.scope.fresh("s"), self.scope.fresh("i")
        form = self.choose("plain", "enumerate", "zip", "rows")
        matrix = self.scope.pick(Array((self.rows, self.columns)))
        if form == "enumerate":
            self.write(f"for {k}, {value} in enumerate({one}):")
            self._body({k: Int(0, self.columns), value: Float()}, loops)
        elif form == "zip":
            self.write(f"for {value}, {second} in zip({one}, {other}):")
            self._body({value: Float(), second: Float()}, loops)
        elif form == "rows" and matrix:
            row = self.scope.fresh("w")
            self.write(f"for {row} in {matrix}:")
            self._body({row: Array((self.columns,))}, loops)
        else:
            self.write(f"for {value} in {one}:")
            self._body({value: Float()}, loops)
        self._loop_else(loops, in_loop)

    def _while_loop(self, loops: int, in_loop: bool) -> None:
        """Ends after a fixed number of turns, and often earlier because of the data."""
        k, high = self.scope.fresh("i"), self.random.randint(2, 5)
        self.write(f"{k} = 0")
        condition = f"{k} < {high}"
        if self.chance(0.5):
            condition = self.choose(f"{condition} and {self.condition()}", f"{self.condition()} and {condition}")
        self.write(f"while {condition}:")
        self.write(f"{INDENT}{k} += 1")
        self._body({k: Int(1, high + 1)}, loops)
        self.scope.define(k, Int())

    def _body(self, loop_variables: dict, loops: int) -> None:
        counters = [name for name, kind in loop_variables.items() if isinstance(kind, Int)]
        with self.scope.block(), self.scope.freezing(*counters):
            for name, kind in loop_variables.items():
                self.scope.define(name, kind)
            self.block(loops - 1, 3, True)

    def _loop_else(self, loops: int, in_loop: bool) -> None:
        if self.chance(0.08):
            self.write("else:")
            self.block(0, 1, in_loop)
