"""Every tape program against the values of TensorFlow 2.21 (golden.json), strictly by our conventions at kinks.

pytest tests/tape/corpus -k "jacobian"      the programs with this word in their name
"""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

from tests.tape.corpus import namespace
from tests.tape.corpus.tapelib import flatten, from_json, judge, load

pytestmark = pytest.mark.filterwarnings("ignore")
PROGRAMS = load()
GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_tensorflow(name):
    program, golden = PROGRAMS[name], GOLDEN[name]
    with np.errstate(all="ignore"):
        found = flatten(namespace, program.fn(namespace))
    assert found.keys() == golden.keys()
    wrong = {}
    for key, stored in golden.items():
        verdict, text = judge(program, key, found[key], from_json(stored), strict=True, backend="jitgrad")
        if verdict == "FAIL":
            wrong[key] = text
    assert not wrong


def test_every_program_has_its_values():
    assert PROGRAMS.keys() == GOLDEN.keys()
    assert len(PROGRAMS) == 109
