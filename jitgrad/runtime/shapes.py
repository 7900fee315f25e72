"""Shapes that must fit each other, checked where loops would otherwise read past an end."""

from __future__ import annotations

from jitgrad.runtime.pipeline import helper


@helper
def check_broadcast(shape, target):
    """Raise ValueError unless an array of `shape` can be broadcast to `target`."""
    extra = len(shape) - len(target)
    for k in range(len(shape)):
        if k < extra:
            if shape[k] != 1:
                raise ValueError("operands could not be broadcast together")
        elif shape[k] != 1 and shape[k] != target[k - extra]:
            raise ValueError("operands could not be broadcast together")


@helper
def overlap(a, b):
    """Whether two arrays may share an element; False for most slices that interleave."""
    if a.size == 0 or b.size == 0:
        return False
    low_a, high_a, block_a, step_a = span(a)
    low_b, high_b, block_b, step_b = span(b)
    if high_a <= low_b or high_b <= low_a:
        return False
    step = gcd(step_a, step_b)
    if step == 0:
        return True
    apart = (low_b - low_a) % step
    return apart < block_a or apart + block_b > step


@helper
def span(a):
    """First byte, end, size of the contiguous blocks, and a number that divides the distances of blocks."""
    low = a.ctypes.data
    high = low + a.itemsize
    block = a.itemsize
    step = 0
    for k in range(a.ndim - 1, -1, -1):
        length = (a.shape[k] - 1) * a.strides[k]
        if length < 0:
            low += length
        else:
            high += length
        if a.shape[k] > 1 and a.strides[k] == block and step == 0:
            block *= a.shape[k]
        elif a.shape[k] > 1:
            step = gcd(step, abs(a.strides[k]))
    return low, high, block, step


@helper
def gcd(a, b):
    """Greatest common divisor; of zero and a number that number."""
    while b:
        a, b = b, a % b
    return a
