"""What the functions take: the errors name the function that was called."""

import numpy as np
import pytest

from jitgrad import nn
from jitgrad.errors import UnsupportedError


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.relu(None), "jitgrad.nn.relu takes real numbers, not NoneType"),
        (lambda: nn.softmax("a"), "jitgrad.nn.softmax takes real numbers, not str"),
        (lambda: nn.huber(np.ones(2) * 1j, np.ones(2)), "jitgrad.nn.huber takes real numbers, not complex128"),
    ],
)
def test_what_is_not_real_is_refused(call, words):
    with pytest.raises(UnsupportedError, match=f"^{words}$"):
        call()
