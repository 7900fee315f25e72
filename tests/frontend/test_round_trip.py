"""Every corpus function, read and printed again, computes the same bits and leaves its arguments alike."""

import pytest

from tests.corpus.loader import load
from tests.frontend.round_trip import check_round_trip

UNREADABLE = {"objmode_block"}
CASES = [case for case in load("case", "edge", "error") if case.name not in UNREADABLE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus_function_round_trips(case):
    check_round_trip(case.fn, *case.args(), again=case.args(), **case.kwargs)
