"""Random expressions. All stay in safe domains, and most are bounded, so that values never overflow."""

from __future__ import annotations

import random

from tests.fuzz.scope import Array, Float, Helper, Int, Pair, Scope

# No round numbers: data that is compared with these constants should not tie with them.
THRESHOLDS = ("0.37", "-0.21", "0.83", "-0.64", "0.113", "1.27")
FACTORS = ("0.7", "-0.6", "1.3", "0.45", "-1.1", "0.9")


class Expressions:
    """Writes expressions over the variables in `scope`; also the index arithmetic."""

    def __init__(self, random_: random.Random, sizes: tuple[int, int]):
        self.random = random_
        self.rows, self.columns = sizes
        self.scope = Scope(random_)
        self.helpers: list[Helper] = []

    def choose(self, *options):
        """One of the options; ``(weight, option)`` pairs weigh."""
        weights, values = zip(*[o if isinstance(o, tuple) else (1, o) for o in options], strict=True)
        return self.random.choices(values, weights)[0]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def factor(self) -> str:
        return self.random.choice(FACTORS)

    # ---- indices ----

    def index(self, size: int) -> str:
        """An index into an axis of `size`, provably in range; negative ones included."""
        name = self.scope.pick(Int)
        if name is None or self.chance(0.35):
            return str(self.random.randrange(-size, size))
        bounds = self.scope.known()[name]
        if bounds.low is not None and 0 <= bounds.low and bounds.high <= size and self.chance(0.6):
            return self.choose((5, name), (1, f"{size - 1} - {name}"), (1, f"-1 - {name}"))
        shift = self.choose("", f" + {self.random.randint(1, 3)}", f" * {self.random.randint(2, 3)}")
        return f"({name}{shift}) % {size}"

    def element(self, name: str) -> str:
        return f"{name}[{', '.join(self.index(n) for n in self.scope.shape(name))}]"

    def span(self, size: int, length: int) -> str:
        """A slice of an axis of `size` with `length` elements."""
        if length == size and self.chance(0.7):
            return self.choose((3, ":"), (1, "::-1"))
        if length > 1 and (length - 1) * 2 < size and self.chance(0.4):
            start = self.random.randrange(size - (length - 1) * 2)
            return f"{start}:{start + 2 * length - 1}:2"
        start = self.random.randrange(size - length + 1)
        stop = start + length
        if start > 0 and self.chance(0.15):  # a negative step
            return f"{stop - 1}:{start - 1}:-1"
        first = "" if start == 0 and self.chance(0.5) else str(start)
        if stop == size:
            return f"{first}:" + self.choose("", str(size))
        return f"{first}:{self.choose(stop, stop - size)}"

    def view(self, shape: tuple[int, ...]) -> str | None:
        """A view of this shape into some variable, or None."""
        options = []
        for name in self.scope.names(Array):
            have = self.scope.shape(name)
            if len(shape) == 1 and len(have) == 1 and shape[0] <= have[0]:
                options.append(lambda name=name, have=have: f"{name}[{self.span(have[0], shape[0])}]")
            if len(shape) == 1 and len(have) == 2:
                if shape[0] == have[1]:
                    options.append(lambda name=name, have=have: f"{name}[{self.index(have[0])}]")
                if shape[0] <= have[0]:
                    options.append(
                        lambda name=name, have=have: f"{name}[{self.span(have[0], shape[0])}, {self.index(have[1])}]"
                    )
            if len(shape) == 2 and len(have) == 2 and shape[0] <= have[0] and shape[1] <= have[1]:
                options.append(
                    lambda name=name, have=have: (
                        f"{name}[{self.span(have[0], shape[0])}, {self.span(have[1], shape[1])}]"
                    )
                )
            if len(shape) == 2 and have == shape[::-1]:
                options.append(lambda name=name: f"{name}.T")
        return self.random.choice(options)() if options else None

    # ---- scalars ----

    def atom(self) -> str:
        name, array = self.scope.pick(Float), self.scope.pick(Array)
        pair = self.scope.pick(Pair)
        options = [(1, self.random.choice(THRESHOLDS))]
        if name:
            options.append((5, name))
        if array:
            options.append((6, self.element(array)))
        if pair:
            options.append((1, f"{pair}[{self.random.randrange(2)}]"))
        return self.choose(*options)

    def bounded(self, text: str) -> str:
        """`text` squeezed into a small range."""
        form = self.choose((4, "math.sin({})"), (3, "math.tanh({})"), (1, "np.cos({})"), (1, "math.atan({})"))
        return form.format(text)

    def scalar(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.atom()
        kind = self.choose(
            (4, "sum"), (4, "product"), (4, "call"), (2, "ternary"), (2, "reduction"), (1, "max"),
            (1, "int"), (1, "helper"), (1, "power"), (2, "atom"),
        )  # fmt: skip
        return getattr(self, f"_scalar_{kind}")(depth)

    def _scalar_atom(self, depth: int) -> str:
        return self.atom()

    def _scalar_sum(self, depth: int) -> str:
        return f"({self.scalar(depth - 1)} {self.choose('+', '-')} {self.scalar(depth - 1)})"

    def _scalar_product(self, depth: int) -> str:
        if self.chance(0.4):
            return f"{self.factor()} * {self.scalar(depth - 1)}"
        return f"({self.bounded(self.scalar(depth - 1))} * {self.scalar(depth - 1)})"

    def _scalar_call(self, depth: int) -> str:
        inner = self.scalar(depth - 1)
        form = self.choose(
            (4, "math.sin({})"), (3, "math.tanh({})"), (2, "np.cos({})"), (1, "np.tanh({})"),
            (2, "math.exp(-({0}) * ({0}))"), (1, "math.sqrt(1.0 + ({0}) * ({0}))"),
            (1, "math.log(1.5 + ({0}) * ({0}))"), (2, "({0}) / (1.0 + ({0}) * ({0}))"), (1, "abs({})"),
            (1, "math.atan2({}, 1.7)"), (1, "(-({}))"), (1, "np.exp(-abs({}))"), (1, "math.erf({})"),
        )  # fmt: skip
        return form.format(inner)

    def _scalar_power(self, depth: int) -> str:
        inner = self.scalar(depth - 1)
        if self.chance(0.5):
            return f"(math.tanh({inner})) ** {self.random.randint(2, 3)}"
        return f"(1.2 + math.sin({inner})) ** {self.choose('0.5', '-1.0', '1.7', self.bounded(self.atom()))}"

    def _scalar_ternary(self, depth: int) -> str:
        return f"({self.scalar(depth - 1)} if {self.condition()} else {self.scalar(depth - 1)})"

    def _scalar_reduction(self, depth: int) -> str:
        name = self.scope.pick(Array)
        if name is None:
            return self.atom()
        text = name if self.chance(0.5) else self.array(self.scope.shape(name), depth - 1)
        shape = self.scope.shape(name)
        if len(shape) == 1 and self.chance(0.3):
            other = self.array(shape, 0)
            return self.choose(f"np.dot({text}, {other})", f"np.sum({text} * {other})")
        return self.choose(
            (3, f"np.sum({text})"), (1, f"({text}).sum()"), (1, f"np.mean({text})"), (1, f"np.max({text})"),
            (1, f"({text}).min()"), (1, f"np.prod(np.cos({text}))"),
        )  # fmt: skip

    def _scalar_max(self, depth: int) -> str:
        count = self.choose((3, 2), (1, 3))
        items = ", ".join(self.scalar(depth - 1) for _ in range(count))
        return f"{self.choose('max', 'min')}({items})"

    def _scalar_int(self, depth: int) -> str:
        return self.choose(
            f"{self.integer()} * {self.atom()}",
            f"{self.scalar(depth - 1)} / (2 + {self.integer()} % 3)",
            f"({self.atom()} + float({self.integer()}))",
        )

    def _scalar_helper(self, depth: int) -> str:
        helpers = [h for h in self.helpers if isinstance(h.returns, Float)]
        call = self.helper_call(self.random.choice(helpers)) if helpers else None
        return call or self.atom()

    def integer(self) -> str:
        name, array = self.scope.pick(Int), self.scope.pick(Array)
        options = [str(self.random.randint(0, 3))]
        if name:
            options += [name, f"({name} + 1)", f"({name} * {name}) % 5", f"{name} // 2"]
        if array:
            options += [f"len({array})", f"{array}.shape[0]", f"{array}.size"]
        return self.random.choice(options)

    def condition(self) -> str:
        threshold = self.random.choice(THRESHOLDS)
        simple = f"{self.atom()} {self.choose('<', '>', '<=', '>=')} {threshold}"
        number = self.scope.pick(Int)
        if number and self.chance(0.3):
            value = self.random.randint(0, 3)
            simple = self.choose(f"{number} % 2 == {value % 2}", f"{number} > {value}", f"{number} != {value}")
        if self.chance(0.7):
            return simple
        return self.choose(
            f"({simple} and {self.atom()} < {threshold})",
            f"({simple} or {self.atom()} > {threshold})",
            f"not {simple}",
            f"-0.71 < {self.atom()} < {abs(float(threshold))}",
        )

    def helper_call(self, helper: Helper) -> str | None:
        """A call of the helper with variables as they are (arrays by reference), or None."""
        args = []
        for kind in helper.params:
            if isinstance(kind, Float):
                args.append(self.atom())
                continue
            name = self.scope.pick(kind)
            if name is None:
                return None
            # A contiguous array or a view: the helper is compiled for both, and writes through both.
            view = self.view(kind.shape) if isinstance(kind, Array) and self.chance(0.2) else None
            args.append(view or name)
        return f"{helper.name}({', '.join(args)})"

    # ---- arrays ----

    def array(self, shape: tuple[int, ...], depth: int = 1) -> str:
        """An expression of exactly this shape."""
        name = self.scope.pick(Array(shape))
        if depth <= 0:
            view = self.view(shape) if name is None or self.chance(0.35) else None
            return view or name or f"np.full({shape}, {self.atom()})"
        kind = self.choose(
            (3, "leaf"), (4, "ufunc"), (4, "operator"), (2, "where"), (2, "broadcast"), (1, "fresh"), (1, "linear"),
            (1, "shaped"),
        )  # fmt: skip
        return getattr(self, f"_array_{kind}")(shape, depth)

    def _array_leaf(self, shape, depth):
        return self.array(shape, 0)

    def _array_ufunc(self, shape, depth):
        inner = self.array(shape, depth - 1)
        form = self.choose(
            (3, "np.sin({})"), (3, "np.tanh({})"), (1, "np.exp(-({0}) ** 2)"), (1, "np.sqrt(1.0 + ({0}) * ({0}))"),
            (1, "np.abs({})"), (1, "np.maximum({}, 0.113)"), (1, "({0}) / (1.0 + ({0}) ** 2)"), (1, "np.arctan({})"),
        )  # fmt: skip
        return form.format(inner)

    def _array_operator(self, shape, depth):
        left, right = self.array(shape, depth - 1), self.array(shape, depth - 1)
        return self.choose(
            (3, f"({left} + {right})"), (2, f"({left} - {right})"), (2, f"np.tanh({left}) * {right}"),
            (2, f"{self.factor()} * {left}"), (2, f"{left} * {self.bounded(self.atom())}"),
            (1, f"({left} / (1.5 + {right} * {right}))"), (1, f"({left} + {self.atom()})"), (1, f"(-{left})"),
        )  # fmt: skip

    def _array_where(self, shape, depth):
        tested = self.array(shape, 0)
        other = self.array(shape, depth - 1) if self.chance(0.7) else self.atom()
        return f"np.where({tested} > {self.random.choice(THRESHOLDS)}, {self.array(shape, depth - 1)}, {other})"

    def _array_broadcast(self, shape, depth):
        if len(shape) == 1:
            return f"({self.array(shape, depth - 1)} * {self.array((1,), 0)})"
        whole = self.array(shape, depth - 1)
        row, column = self.array((shape[1],), 0), self.array((shape[0],), 0)
        return self.choose(
            f"({whole} + {row})",
            f"np.tanh({whole}) * {row}",
            f"({whole} - ({column}).copy().reshape({shape[0]}, 1))",
            f"np.outer({column}, np.sin({row}))",
        )

    def _array_fresh(self, shape, depth):
        name = self.scope.pick(Array(shape))
        options = [f"np.full({shape}, {self.atom()})", f"np.ones({shape}) * {self.atom()}"]
        if len(shape) == 1:
            options += [f"np.array([{', '.join(self.scalar(1) for _ in range(shape[0]))}])"] * 2
        if name:
            options += [f"{name}.copy()", f"np.zeros_like({name})"]
        return self.random.choice(options)

    def _array_linear(self, shape, depth):
        if len(shape) != 1:
            return self.array(shape, depth - 1)
        for name in self.scope.names(Array):
            have = self.scope.shape(name)
            if len(have) == 2 and have[0] == shape[0] and self.chance(0.5):
                vector = self.array((have[1],), 0)
                return self.choose(f"{name} @ {vector}", f"np.dot({name}, {vector})", f"np.sum({name}, axis=1)")
            if len(have) == 2 and have[1] == shape[0]:
                return self.choose(f"np.sum({name}, axis=0)", f"{self.array((have[0],), 0)} @ {name}")
        return self.array(shape, depth - 1)

    def _array_shaped(self, shape, depth):
        inner = self.array(shape, depth - 1)
        if len(shape) == 2:
            return f"({self.array(shape[::-1], depth - 1)}).T"
        if shape[0] == 1 or self.chance(0.4):
            return self.choose(f"np.cumsum({inner})", f"({inner})[::-1]")
        cut = self.random.randrange(1, shape[0])
        left, right = self.array((cut,), 0), self.array((shape[0] - cut,), 0)
        return f"np.concatenate(({left}, {right}))"
