"""A few random programs in every run, more with ``-m slow``; `tests.fuzz.run` is for thousands."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz import judge
from tests.fuzz.generator import generate
from tests.fuzz.judge import INVALID, NOT_SMOOTH, PASS, WRONG, Flat, differences, examine
from tests.fuzz.reproduction import from_text, to_text
from tests.fuzz.shrink import candidates, shrink

FEW = range(1000, 1008)
MORE = range(2000, 2048)


def check(seed: int) -> None:
    sample = generate(seed)
    outcome = examine(sample)
    if outcome.kind == INVALID:  # Numba itself refuses the program: there is nothing to differentiate
        pytest.skip(outcome.detail)
    assert outcome.kind in (PASS, NOT_SMOOTH), f"{outcome.kind}: {outcome.detail}\n{sample.source}"


@pytest.mark.parametrize("seed", FEW)
def test_random_program(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE)
def test_more_random_programs(seed):
    check(seed)


# ---- the fuzzer itself ----


class Differenced:
    """Stands in for jitgrad: derivatives by differences, with an error on purpose."""

    def __init__(
        self, sample, gradient_error=0.0, tangent_error=0.0, value_error=0.0, column_error=0.0, second_error=0.0
    ):
        self.flat = Flat(sample)
        self.gradient_error, self.tangent_error, self.value_error = gradient_error, tangent_error, value_error
        self.column_error, self.second_error = column_error, second_error

    def value_and_grad(self, function, argnums):
        gradient = differences(function, self.flat).gradient
        gradient[-1] += self.gradient_error
        return lambda *args: (function(*args) + self.value_error, self.flat.split(gradient))

    def jvp(self, function, primals, tangents, argnums):
        gradient = differences(function, self.flat).gradient
        tangent = gradient @ np.concatenate([np.ravel(t) for t in tangents])
        return function(*primals), tangent + self.tangent_error

    def jacfwd(self, function, argnums, chunk):
        return lambda *args: self.flat.split(differences(function, self.flat).gradient + self.column_error)

    def grad(self, function, argnums):
        """As if the function were a sum of squares."""
        return lambda *args: [2.0 * np.asarray(args[i]) for i in argnums]

    def hessian(self, function, argnums, chunk):
        def block(rows, columns):
            return (2.0 + self.second_error) * np.eye(rows) if rows == columns else np.zeros((rows, columns))

        return lambda *args: [[block(np.size(args[i]), np.size(args[j])) * (i == j) for j in argnums] for i in argnums]


@pytest.mark.parametrize(
    "errors, verdict",
    [
        ({}, PASS),
        ({"gradient_error": 1e-4}, WRONG),
        ({"gradient_error": np.nan}, WRONG),
        ({"tangent_error": -1e-4}, WRONG),
        ({"tangent_error": np.inf}, WRONG),
        ({"value_error": 1e-9}, WRONG),
        ({"column_error": 1e-4}, WRONG),
        ({"second_error": 1e-3}, WRONG),
    ],
)
def test_the_judge_notices(errors, verdict):
    sample = generate(3)
    assert examine(sample, Differenced(sample, **errors), chunk=2).kind == verdict


def test_the_judge_notices_lost_writes():
    sample = next(s for s in map(generate, range(100)) if "a[" in s.source and _writes(s))
    library = Differenced(sample)
    compute = library.value_and_grad

    def without_writes(function, argnums):
        run = compute(function, argnums)
        return lambda *args: run(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])

    library.value_and_grad = without_writes
    outcome = examine(sample, library)
    assert outcome.kind == WRONG and "left argument" in outcome.detail


def _writes(sample) -> bool:
    args = sample.args()
    judge.load(sample.source, "writes", interpreted=True)(*args)
    return any(not np.array_equal(a, b) for a, b in zip(args, sample.args(), strict=True))


def test_differences_see_kinks_and_jumps():
    source = "from numba import njit\n@njit\ndef f(x):\n    return {}\n"
    text = to_text(generate(0)).splitlines()[0].rsplit(";", 1)[0] + "; float\n"
    for expression, smooth in (("x * x", True), ("abs(x - P)", False), ("1.0 if x > P else x", False)):
        sample = from_text(text + source.format(expression))
        point = sample.args()[0]
        function = judge.load(source.format(expression.replace("P", repr(point))), "kink", interpreted=True)
        assert differences(function, Flat(sample)).smooth[0] == smooth, expression


def test_programs_are_reproducible_and_run():
    for seed in range(60):
        sample = generate(seed)
        assert sample == generate(seed)
        assert from_text(to_text(sample)).kinds == sample.kinds
        value = judge.load(sample.source, "run", interpreted=True)(*sample.args())
        assert np.isfinite(value), seed


def test_programs_cover_the_language():
    text = "\n".join(generate(seed).source for seed in range(300))
    for construct in (
        "while ", "for ", "break", "continue", "elif ", "else:", "return ", " if ", "@njit", "np.where", "[::-1]", ".T",
        "enumerate(", "zip(", "np.concatenate", "+= ", "*= ", "max(", "np.empty", "range(0)", ":2]", "[:, ",
    ):  # fmt: skip
        assert construct in text, construct


def test_shrinking_keeps_the_failure_and_ends():
    sample = generate(4)

    def fails(candidate) -> bool:
        return "math.tanh" in candidate.source and "def f(" in candidate.source

    small = shrink(sample, fails, seconds=20)
    assert fails(small) and len(small.source) < len(sample.source) / 4
    assert all(len(c) > 0 for c in candidates(sample.source))


def test_invalid_programs_are_not_counted_as_right():
    sample = generate(0)
    broken = from_text(to_text(sample).replace("return", "return a[99] +"))
    assert examine(broken, Differenced(sample)).kind == INVALID
