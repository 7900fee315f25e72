"""Which backward loops keep their natural order: those whose iterations commute."""

import numpy as np
import pytest

from tests.transforms.reverse.harness import check, some, source


def stored_once(x, c):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i] * c
    return y[0] * y[1] + y[4]


def shifted_reads(x, c):
    y = np.zeros(x.size + 1)
    for i in range(1, x.size):
        y[i] = x[i] * x[i - 1] + c
    return y[1] * y[2] + y[5]


def changed_in_place(x, c):
    y = x + 0.0
    for i in range(x.size):
        y[i] = y[i] * y[i] * c
    return y[0] * y[1] + y[4]


def row_of_a_matrix(x, c):
    y = np.empty((2, x.size))
    for k in range(2):
        for i in range(x.size):
            y[k, i] = c * x[i] * k
    return y[0, 1] + y[1, 2] * y[1, 3]


def in_a_branch(x, c):
    y = np.zeros(x.size)
    for i in range(x.size):
        if x[i] > 0.0:
            y[i] = x[i] * c
    return y[0] * y[0] + y[4] + y[1]


def sum_of_what_is_stored(x, c):
    y = np.empty(x.size)
    s = 0.0
    for i in range(x.size):
        y[i] = x[i] * c
        s += y[i]
    return s * y[2]


def recurrence(x, c):
    y = x + 0.0
    for i in range(1, x.size):
        y[i] = y[i - 1] * c + x[i]
    return y[4] * y[2]


def reads_ahead(x, c):
    y = x + 0.0
    for i in range(x.size - 1):
        y[i] = y[i + 1] * c + x[i]
    return y[3] * y[2]


def two_views(x, c):
    y = x + 0.0
    a, b = y[1:], y[:-1]
    for i in range(a.size):
        a[i] = b[i] * c
    return y[4] * y[2]


def one_element_again_and_again(x, c):
    y = np.zeros(2)
    for i in range(x.size):
        y[i % 2] = x[i] * c
    return y[0] * y[1]


def from_the_end(x, c):
    y = x + 0.0
    for i in range(x.size):
        y[i - 2] = y[i] * c
    return y[4] * y[2] + y[0]


def carried_product(x, c):
    y = np.empty(x.size)
    p = c
    for i in range(x.size):
        p = p * x[i]
        y[i] = p
    return y[4] + y[2]


COMMUTE = (stored_once, shifted_reads, changed_in_place, row_of_a_matrix, in_a_branch, sum_of_what_is_stored)
DEPEND = (recurrence, reads_ahead, two_views, one_element_again_and_again, from_the_end, carried_product)


def inner_header(function):
    """The header of the innermost backward loop that comes first."""
    lines = source(function, some(5), 0.7).split("_bar = 1.0")[1].splitlines()
    headers = [line for line in lines if line.lstrip().startswith("for ")]
    return max(headers, key=lambda line: len(line) - len(line.lstrip()))


@pytest.mark.parametrize("function", COMMUTE)
def test_natural_order_where_iterations_commute(function):
    check(function, some(5), 0.7)
    assert not inner_header(function).endswith("- 1, -1, -1):")


@pytest.mark.parametrize("function", DEPEND)
def test_last_to_first_where_they_do_not(function):
    check(function, some(5), 0.7)
    assert inner_header(function).endswith("- 1, -1, -1):")
