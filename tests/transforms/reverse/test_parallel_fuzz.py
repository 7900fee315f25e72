"""Random parallel loops, run on watched memory: gradients are right and no iterations of the generated loops meet."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from numba import prange

from tests.transforms.reverse.harness import compare, floats, some
from tests.transforms.reverse.races import loops, parallel, watching

ARGS = some(24), some(96).reshape(24, 4), np.arange(24) * 7 % 24, 0.7, 2


class Loop:
    """A function with loops whose iterations keep apart: what one writes, no other touches."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.depth = 0
        self.lines = ["def f(x, m, at, c, lo):", "    n = x.size - 4", "    s = 0.0"]
        self.lines += [f"    {name} = np.zeros(x.size)" for name in "yzw"]
        if self.random.random() < 0.3:
            self.lines.append(f"    for step in range({self.random.randint(2, 3)}):")
            self.depth = 1
        for _ in range(self.random.randint(1, 2)):
            self._loop()
        self.lines.append("    return s + (y * y).sum() + (z * y).sum() + w.sum() + (m * m).sum()")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def _line(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def _loop(self) -> None:
        self.own = {name: self.random.randint(0, 2) for name in self.random.sample("yzw", 2)}
        self.rows = self.random.random() < 0.3
        self.known = ["c"]
        self.inner = False
        self._line(f"for i in prange({self.random.choice(['n', '1, n', 'lo, n', '0, n'])}):")
        self.depth += 1
        for _ in range(self.random.randint(2, 4)):
            self._statement()
        self._store()
        self.depth -= 1

    def _statement(self) -> None:
        kind = self.random.choice(["let", "let", "sum", "store", "branch", "inner", "view"])
        if kind == "let":
            name = f"t{len(self.lines)}"
            self._line(f"{name} = {self._term()} * {self._term()}")
            self.known.append(name)
        elif kind == "sum":
            self._line(f"s += {self._term()}")
        elif kind == "store":
            self._store()
        elif kind == "branch":
            self._line(f"if {self._term()} > {self.random.choice(['0.1', '-0.2', 'c'])}:")
            self._nested()
        elif kind == "inner" and not self.inner:
            self._line(f"for j in range({self.random.choice(['4', 'lo', 'm.shape[1]', 'i % 3'])}):")
            self.inner = True
            self._nested()
            self.inner = False
        elif kind == "view":
            self._line("row = m[i]")
            self._line(f"s += row[1] * {self._term()} + row.sum()")

    def _nested(self) -> None:
        before = list(self.known)
        self.depth += 1
        for _ in range(self.random.randint(1, 2)):
            self._line(f"s += {self._term()} * {self._term()}") if self.random.random() < 0.5 else self._store()
        self.depth -= 1
        self.known = before

    def _store(self) -> None:
        name, offset = self.random.choice(list(self.own.items()))
        if self.rows and self.inner:
            self._line(f"m[i, j] = m[i, j] * {self._term()}")
        elif self.random.random() < 0.4:
            self._line(f"{name}[i + {offset}] = {name}[i + {offset}] * 0.5 + {self._term()}")
        else:
            self._line(f"{name}[i + {offset}] = {self._term()} * {self._term()}")

    def _term(self) -> str:
        """Something to read; of arrays that the loop writes, only what the iteration writes itself."""
        own = [f"{name}[i + {offset}]" for name, offset in self.own.items()]
        others = [f"{name}[i + {k}]" for name in "yzw" if name not in self.own for k in (0, 2)]
        terms = ["x[i]", "x[i + 1]", "x[i + 3]", "x[i - 1]", "x[at[i]]", "x[3]", *own, *others, *self.known]
        terms += ["m[i, 0]"] if self.rows else ["m[i, 0]", "m[i + 1, 2]", "m[at[i], 1]"]
        terms += ["x[j]", "m[i, j]"] if self.inner else []
        text = self.random.choice(terms)
        return f"np.sin({text})" if self.random.random() < 0.3 else text


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(k, k + 10) for k in range(0, 40, 10)], ids=lambda r: f"{r[0]}-{r[-1]}")
def test_random_loops(seeds):
    in_parallel = 0
    for seed in seeds:
        text = Loop(seed).text
        name = f"<parallel loop {seed}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        namespace: dict = {"np": np, "prange": prange}
        exec(compile(text, name, "exec"), namespace)
        made = parallel(namespace["f"], *ARGS, value=True)
        in_parallel += loops(made) > 1
        try:
            compare(watching(made), namespace["f"], ARGS, floats(ARGS), rtol=1e-6)
        except AssertionError as error:
            raise AssertionError(f"{text}\n{made.source}") from error
    assert in_parallel >= 3
