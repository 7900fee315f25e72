"""Random njit programs, the same one for the same seed.

A program is source text with a function ``f(x, y, a, b, m, n)`` (some of these) that returns a float, and
njit helpers it calls. It is meant to be ordinary code: loops, branches, writes in place, views, aliases.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.fuzz.scope import Array, Float, Helper, Int, Pair
from tests.fuzz.statements import Statements

PRELUDE = "import math\n\nimport numpy as np\nfrom numba import njit\n"


@dataclass(frozen=True)
class Sample:
    """A program with its arguments: `kinds` says what to make of each, `wrt` which are differentiated."""

    seed: int
    source: str
    kinds: tuple[Float | Int | Array, ...]
    float32: bool = False

    @property
    def wrt(self) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(self.kinds) if not isinstance(kind, Int))

    def args(self) -> list:
        """Fresh arguments, the same every time."""
        values = np.random.default_rng(self.seed)
        return [self._value(kind, values) for kind in self.kinds]

    def _value(self, kind, values: np.random.Generator):
        if isinstance(kind, Int):
            return 2
        if isinstance(kind, Float):
            return float(values.uniform(-1.2, 1.2))
        return values.uniform(-1.2, 1.2, kind.shape)


def generate(seed: int) -> Sample:
    """The program of this seed."""
    random_ = random.Random(seed)
    sizes = random_.choice([(2, 3), (3, 4), (2, 4), (3, 3)])
    helpers, texts = [], []
    for number in range(random_.choices((0, 1, 2), (4, 4, 2))[0]):
        helper, text = _helper(random_, sizes, f"g{number}")
        helpers.append(helper)
        texts.append(text)
    params = _parameters(random_, sizes)
    writer = Statements(random_, sizes, budget=random_.randint(5, 11))
    writer.helpers = helpers
    for name, kind in params.items():
        writer.scope.define(name, kind)
    while writer.budget > 0:
        writer.statement(loops=random_.choice((1, 2, 2, 3)))
    main = _function("f", list(params), writer.lines, _total(writer))
    source = "\n\n".join([PRELUDE, *texts, main])
    return Sample(seed, source, tuple(params.values()), float32=random_.random() < 0.04)


def _parameters(random_: random.Random, sizes: tuple[int, int]) -> dict[str, Float | Int | Array]:
    rows, columns = sizes
    params: dict[str, Float | Int | Array] = {}
    if random_.random() < 0.8:
        params["x"] = Float()
    if random_.random() < 0.4:
        params["y"] = Float()
    params["a"] = Array((columns,))
    if random_.random() < 0.5:
        params["b"] = Array((columns,))
    if random_.random() < 0.5:
        params["m"] = Array((rows, columns))
    if random_.random() < 0.3:
        params["n"] = Int(0, 3)
    return params


def _helper(random_: random.Random, sizes: tuple[int, int], name: str) -> tuple[Helper, str]:
    """A small function; one with array parameters usually writes into them."""
    vector = Array((sizes[1],))
    kinds = random_.choice([(Float(),), (vector,), (Float(), vector), (vector, vector), (vector, Float())])
    returns = random_.choice([Float(), Float(), Pair(), None, vector])
    writer = Statements(random_, sizes, budget=random_.randint(1, 3))
    writer.returns = returns
    params = [f"p{k}" for k in range(len(kinds))]
    for param, kind in zip(params, kinds, strict=True):
        writer.scope.define(param, kind)
    if vector not in kinds:
        writer.write(f"q = np.full({sizes[1]}, {writer.atom()})")
        writer.scope.define("q", vector)
    while writer.budget > 0:
        writer.statement(loops=1)
    return Helper(name, kinds, returns), _function(name, params, writer.lines, writer.result())


def _total(writer: Statements) -> str:
    """A result that depends on most of what was computed."""
    last = writer.scope.pick(Float)
    if last and writer.chance(0.2):
        return last  # the result is a variable of the program itself
    terms = [writer.result()]
    for name, kind in writer.scope.known().items():
        if isinstance(kind, Array) and writer.chance(0.6):
            terms.append(
                f"np.sum(np.sin({name}))" if writer.chance(0.5) else f"{writer.factor()} * {writer.element(name)}"
            )
        elif isinstance(kind, Float) and writer.chance(0.5):
            terms.append(f"{writer.factor()} * {name}")
    return " + ".join(terms)


def _function(name: str, params: list[str], lines: list[str], result: str) -> str:
    head = ["@njit", f"def {name}({', '.join(params)}):"]
    tail = [f"    return {result}"] if result else []
    return "\n".join([*head, *lines, *tail]) + "\n"
