"""Random control flow, read and printed again, computes the same.

Both functions run interpreted: the front end needs types only, and no time goes into compiling. What
this cannot see: casts between number types, which `test_round_trip` compiles.
"""

import ast
import linecache
import os
import random

import numba
import numpy as np
import pytest

from jitgrad.frontend import print_program, read
from jitgrad.program.verify import verify
from tests.frontend.control_flow import RandomFunction

SEEDS = range(int(os.environ.get("JITGRAD_FUZZ_FROM", 0)), int(os.environ.get("JITGRAD_FUZZ_TO", 40)))
ARGTYPES = (numba.int64, numba.int64, numba.int64, numba.int64[::1])


def defined_by(source: str, filename: str, namespace: dict, name: str = "f"):
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def interpretable(source: str) -> str:
    """`source` with its variables set at the start, as Numba's are: a value may be handed on unset."""
    tree = ast.parse(source)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if stored:
        tree.body[0].body.insert(0, ast.parse(" = ".join(sorted(stored)) + " = None").body[0])
    return ast.unparse(tree)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_function_round_trips(seed):
    try:
        original = defined_by(RandomFunction(seed).source(), f"<random function {seed}>", {})
    except SyntaxError:
        pytest.skip("the generator wrote a statement after a break")
    try:
        program = read(original, ARGTYPES)
    except numba.core.errors.NumbaError as error:
        pytest.skip(f"Numba refuses the function: {type(error).__name__}")
    verify(program)
    source, namespace = print_program(program)
    printed = defined_by(interpretable(source), f"<printed function {seed}>", namespace)
    numbers = random.Random(seed)
    for _ in range(25):
        scalars = [numbers.randint(-5, 12) for _ in range(3)]
        given = np.array([numbers.randint(-6, 9) for _ in range(5)])
        kept, changed = given.copy(), given.copy()
        assert printed(*scalars, changed) == original(*scalars, kept)
        assert changed.tolist() == kept.tolist()
