"""Random functions full of branches, loops, breaks and returns."""

from __future__ import annotations

import random


class RandomFunction:
    """Source of ``f(a, b, c, x)`` over integers, made from a seed; `fuel` bounds its run time."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def source(self) -> str:
        self._line(0, "def f(a, b, c, x):")
        self._line(1, "fuel = 60")
        self._line(1, "i = 0")
        self._block(1, 3, in_loop=False)
        self._block(1, 2, in_loop=False)
        self._line(1, "return a + 100 * b + 10000 * c + x.sum() * 7")
        return "\n".join(self.lines) + "\n"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _comparison(self) -> str:
        left = self._pick("a", "b", "c", "x[a % 5]", "i")
        return f"{left} {self._pick('<', '>', '==', '!=', '<=')} {self._pick('a', 'b', 'c', '3', '7', '-2')}"

    def _condition(self) -> str:
        one, two, three = self._comparison(), self._comparison(), self._comparison()
        return self._pick(
            one, one, one, f"{one} and {two}", f"{one} or {two}", f"not ({one} or {two})",
            f"({one} or {two}) and {three}", f"({one} and {two}) or {three}", f"a < {self._pick('b', 'i', '4')} < c",
        )  # fmt: skip

    def _expression(self) -> str:
        one, two, three = (self._pick("a", "b", "c", "i", "x[b % 5]", "1", "2", "fuel") for _ in range(3))
        return self._pick(
            f"({one} {self._pick('+', '-', '*')} {two}) % 97",
            f"{one} if {self._condition()} else {two}",
            f"({one} + {two} * {three}) % 31",
        )

    def _block(self, depth: int, levels: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self._statement(depth, levels, in_loop)

    def _statement(self, depth: int, levels: int, in_loop: bool) -> None:
        kind = self.random.random()
        if levels <= 0 or kind < 0.3:
            self._simple(depth, in_loop)
        elif kind < 0.55:
            self._branch(depth, levels, in_loop)
        elif kind < 0.75:
            self._for(depth, levels, in_loop)
        else:
            self._while(depth, levels, in_loop)

    def _simple(self, depth: int, in_loop: bool) -> None:
        kind = self.random.random()
        if kind < 0.15:
            self._line(depth, self._pick("a, b = b, a", "a, b, c = c, a, b", "b, c = c, b", "a, b = b, (a + b) % 50"))
        elif kind < 0.3:
            self._line(depth, f"{self._pick('a', 'b', 'c')} += {self._pick('1', 'i', 'x[c % 5]')}")
        elif kind < 0.4:
            self._line(depth, f"x[{self._pick('a', 'b', 'c')} % 5] = {self._expression()}")
        elif kind < 0.5 and in_loop:
            self._line(depth, f"if {self._condition()}: {self._pick('break', 'continue')}")
        elif kind < 0.55:
            self._line(depth, f"if {self._condition()}: return {self._expression()}")
        else:
            self._line(depth, f"{self._pick('a', 'b', 'c')} = {self._expression()}")

    def _branch(self, depth: int, levels: int, in_loop: bool) -> None:
        self._line(depth, f"if {self._condition()}:")
        self._block(depth + 1, levels - 1, in_loop)
        if self.random.random() < 0.3:
            self._line(depth, f"elif {self._condition()}:")
            self._block(depth + 1, levels - 1, in_loop)
        if self.random.random() < 0.5:
            self._line(depth, "else:")
            self._block(depth + 1, levels - 1, in_loop)
        if in_loop and self.random.random() < 0.25:
            self._line(depth + 1, self._pick("break", "continue"))
        elif self.random.random() < 0.1:
            self._line(depth + 1, "return a")

    def _for(self, depth: int, levels: int, in_loop: bool) -> None:
        header = self._pick(
            f"for i in range({self.random.randint(0, 5)}):", "for i in range(a % 4):", "for i in range(6, 0, -2):",
            "for i in x:", "for i, b in enumerate(x):", "for i, c in zip(x, x[1:]):", "for i in range(b % 3, 7, 2):",
        )  # fmt: skip
        self._line(depth, header)
        self._line(depth + 1, "fuel -= 1")
        self._line(depth + 1, "if fuel < 0: return -1")
        self._block(depth + 1, levels - 1, in_loop=True)
        self._loop_else(depth, levels, in_loop)

    def _while(self, depth: int, levels: int, in_loop: bool) -> None:
        self._line(depth, f"while {self._condition() if self.random.random() < 0.75 else 'True'}:")
        self._line(depth + 1, "fuel -= 1")
        self._line(depth + 1, f"if fuel < 0: {self._pick('return -2', 'break')}")
        self._block(depth + 1, levels - 1, in_loop=True)
        self._loop_else(depth, levels, in_loop)

    def _loop_else(self, depth: int, levels: int, in_loop: bool) -> None:
        if self.random.random() < 0.3:
            self._line(depth, "else:")
            self._block(depth + 1, levels - 1, in_loop)
