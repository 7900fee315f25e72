"""Small functions, one per language feature. Not a test module: pytest would rewrite their asserts."""

import math
from collections import namedtuple
from enum import IntEnum

import numba
import numpy as np
from numba import literal_unroll, njit, prange

X = np.array([0.5, -1.0, 2.0, 3.5])
M = np.arange(12.0).reshape(3, 4)
Pair = namedtuple("Pair", ["left", "right"])
TABLE = np.array([1.0, 2.0, 4.0])
SCALE = 1.5


class Colour(IntEnum):
    RED = 1
    BLUE = 2


@njit
def helper(x, power=2.0):
    if x > 3.0:
        return x * power
    return x**power


@njit
def with_rest(x, power=2.0, *rest):
    if len(rest) > 0:
        return x + power
    return x * power


@njit
def longest(*xs):
    best = xs[0]
    for x in xs:
        best = max(best, x)
    return best


@njit
def swap(a, b):
    return b, a


@njit
def returns_early(x):
    for i in range(x.size):
        if x[i] < 0:
            return i, x[i]
    return -1, 0.0


@njit
def factorial(n):
    return 1.0 if n <= 1 else n * factorial(n - 1)


@njit
def even(n):
    return True if n == 0 else odd(n - 1)


@njit
def odd(n):
    return False if n == 0 else even(n - 1)


def plain(x):
    return x[0] * 2 + x.sum()


def branches(a, b):
    if a > b and b > 0:
        r = a
    elif a < 0 or b == 1.0:
        r = b
    else:
        r = 0
    return r if not a == b else -r


def undefined_on_a_path(a):
    if a > 0:
        y = 2.0 * a
    if a > 0:
        return y
    return 0.0


def types_widen(n):
    s = 0
    for i in range(n):
        if i == 3:
            s = s + 0.5
        else:
            s += 1
    return s


def float_from_break(x):
    s = 0
    for i in range(x.size):
        if x[i] < 0:
            s = x[i]
            break
    return s


def all_ranges(n, step):
    total = 0
    for i in range(3, n):
        total += i
    for i in range(n, 0, -1):
        total = total * 2 + i
    for i in range(0, n, step):
        total += 7 * i
    for i in range(n, -n, -step):
        total -= i
    for i in range(5, 2):
        total = -1
    return total, i


def nested_returns(m, level):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > level and j > 1:
                return m[i, j] * 10 + i
            m[i, j] += 1.0
        m[i, :2] *= 2
    else:
        return -1.0


def item_after_the_loop(x):
    for i in range(x.size):
        for j in range(i):
            y = x[j] * i
    return y + i + j


def while_continue(n, x):
    k = 0
    s = 0.0
    while k < n and (s < 100.0 or k % 2 == 0):
        k += 1
        if k % 3 == 0:
            continue
        if k > 20:
            break
        s += x[k % 4]
    else:
        s *= 2
    return s, k


def while_true_many_exits(x):
    k = 0
    while True:
        k += 1
        if x[k % 4] > 3:
            return k, 1.0
        if k > 9:
            break
        if k == 100:
            return -1, 2.0
    return k, 3.0


def for_that_always_leaves(x):
    for v in x:
        return v * 2
    return -1.0


def iterations(x, m):
    s = 0.0
    for i, (v, row) in enumerate(zip(x, m)):
        s += i * v + row[0]
    for i, v in enumerate(x, 5):
        s += i * v
    for a, b, c in zip(x, x[1:], range(2, 9)):
        s += a * b * c
    for row in m:
        for v in row:
            s += v
    for v in (1.0, 2.0, 3.0):
        s += v
    for c in "abc":
        if c == "b":
            s += 10
    return s


def comprehensions(x, n):
    squares = [v * v for v in x]
    array = np.array([i + 0.5 for i in range(n)])
    filtered = [v for v in x if v > 0]
    nested = [[i * j for j in range(2)] for i in range(3)]
    pairs = sum([a * b for a, b in zip(x, squares)])
    return squares[1] + array.sum() + len(filtered) + nested[2][1] + pairs


def growing_list(n):
    todo = [n]
    s = 0
    for item in todo:
        s += item
        if item > 1:
            todo.append(item // 2)
    return s, len(todo)


def lists(x):
    a = [1.0, 2.0]
    a.append(x[0])
    a.extend([x[1]])
    a += [3.0]
    b = a[1:3]
    b[0] = a.pop()
    return a, b, len(a)


def typed_list(x):
    kept = numba.typed.List()
    for v in x:
        if v > 0:
            kept.append(v)
    s = 0.0
    for v in kept:
        s += v
    return s + len(kept)


def dictionaries(x):
    d = {"a": 1.0, "b": x[0]}
    d["c"] = x[1]
    counts = {1: 2.0}
    counts[3] = 4.0
    s = 0.0
    for key in counts:
        s += key * counts[key]
    for key, value in counts.items():
        s += key * value
    return d["a"] + d["c"] + s


def sets(n):
    s = {1, 2, n}
    s.add(7)
    total = 0
    for v in s:
        total += v
    return total + len(s)


def index_iterators(m):
    s = 0.0
    for index, v in np.ndenumerate(m):
        s += v * index[0] + index[1]
    for i, j in np.ndindex(m.shape):
        s += m[i, j] * i
    for index in np.ndindex(2, 3):
        s += m[index]
    for v in m.flat:
        s += v
    return s


def tuples(x):
    a, b = swap(x[0], 3)
    (c, d), e = (a, b), x[1]
    t = (a, b, c) + (d,)
    k, v = returns_early(x)
    return t[-1] + t[1:3][0] + e + len(t) + v + k + x.shape[0]


def parts_of_tuple(t):
    first, second = t[1:3]
    return first * t[::-2][1] + len(t[2:2]) - second * t[-1:][0] + t[:1][0]


def named_tuples(p):
    q = Pair(p.right, left_of(p))
    return Pair(q.left + q[1], (q.right, p[0]))


@njit
def left_of(p):
    return p.left


def unpacks_array(x):
    a, b, c, d = x
    return a - b + c * d


def calls(x):
    named = helper(x[1], 3.0) + helper(power=2, x=x[3])
    return helper(x[0]) + with_rest(x[0]) + with_rest(x[2], 1.0, 5.0, 6.0) + longest(x[0], x[1]) + named


def star_call(x):
    args = (x[2], 1.0)
    return helper(*args) + longest(x[1], *args) + longest(*(1.0, x[1]))


def recursion(n):
    return factorial(n) + (1 if even(n) else 0)


def closures(x):
    s = x[0]

    def inner(y, z=2.0):
        t = y
        if y > 1:
            t = s * z
        return t + x[1]

    g = lambda v: inner(v, z=v) * 2
    return inner(x[2]) + g(x[3])


def function_argument(f, g, x):
    return f(x) + g(f(x))


def picks_function(x):
    f = math.sin if x.size > 100 else math.cos
    return f(x[0])


def functions_in_tuple(x):
    s = 0.0
    functions = (math.sin, math.cos)
    for f in literal_unroll(functions):
        s += f(x)
    return s


def numpy_function_argument(f, x):
    return f(x)


def string_flags(x, mode):
    if mode == "double":
        return 2 * x
    elif mode != "triple":
        return x
    return 3 * x


def none_default(x, extra=None, scale=2.0):
    if extra is None:
        return x * scale
    return x + extra


def star_args(*xs):
    s = 0.0
    for i in range(len(xs)):
        s += xs[i] * i
    return s + xs[-1]


def optional(a):
    r = None
    if a > 0:
        r = a
    return r


def augmented(x, m):
    x[1] += 2.0
    x[1:] -= x[:-1]
    x *= 2
    m[1] += x
    m[:, 0] = 7
    m[::2, 1:3] = m[1:, :2] + 1
    y = x
    y += 1
    y = y + 1
    y[0] = 50
    m[1, ...] = 3.0
    return x.sum() + y.sum()


def indexing(x, m, k):
    i = (1, 2)
    j = np.array([0, 2, 1])
    mask = x > 0
    z = x[mask]
    z[0] = -5
    x[j] = 1.5
    x[~mask] *= 3
    part = m[np.newaxis, 1:, k]
    return m[i] + m[-1, -k] + part.shape[1] + z[0] + x[j][1] + m[..., 0].sum() + m[k][None, :].sum() + m.T[1, k:].sum()


def globals_and_constants(x):
    return TABLE[1] * SCALE * x + math.pi + np.inf * 0.0 if x > 5 else Colour.BLUE.value + Colour.RED.value * x + np.e


def raises(x):
    if x < 0:
        raise ValueError("negative")
    assert x < 100, "too large"
    return math.sqrt(x)


def casts(x, n):
    a = np.float32(x) + np.float64(n) + float(n) + int(x)
    b = n // 2 + n % 3 + 2**n + n**2 + x**2 + (n & 3) + (n << 2)
    c = bool(n) and not n == 3
    d = np.int32(n) + np.uint8(3)
    return a, b, c, d, complex(x, n).imag, abs(-n), round(x), min(x, n, 2), max(x, 1.0), divmod(n, 3)


def chained(a, b, c):
    return a < b <= c != 5, 1 if a < b < c else 2


def conditional_chain(a):
    return a if a > 3 else a * 2 if a > 1 else a * 3 if a > 0 else -a


def many_returns(a):
    if a == 1:
        return 10
    if a == 2:
        return 20
    for i in range(a):
        if i == 5:
            break
        if i == 7:
            return i
    else:
        return 30
    if a > 8:
        return 40.5
    return 50


def generator_sum(x):
    return sum([v for v in x]) + np.sum(np.array([v for v in x]))


def print_something(x):
    print("value", x)
    return x


def pass_and_empty(n):
    for _ in range(n):
        pass
    while False:
        n += 1
    if n > 3:
        pass
    else:
        pass
    return n


def returns_none(x):
    x[0] = 9


@njit(parallel=True)
def parallel_loop(m):
    s = 0.0
    out = np.empty(m.shape[0])
    for i in prange(m.shape[0]):
        out[i] = m[i].sum()
        s += out[i]
    return s, out


FEATURES = [
    (plain, X), (branches, 2.0, 1.0), (branches, -1.0, 1.0), (branches, 3, 3), (undefined_on_a_path, 1.5),
    (types_widen, 6), (float_from_break, X), (all_ranges, 7, 2), (nested_returns, M, 5.0), (nested_returns, M, 99.0),
    (item_after_the_loop, X), (while_continue, 30, X), (while_continue, 5, X), (while_true_many_exits, X),
    (for_that_always_leaves, X), (for_that_always_leaves, X[:0]), (iterations, X, M), (comprehensions, X, 3),
    (growing_list, 9), (lists, X), (typed_list, X), (dictionaries, X), (sets, 4), (index_iterators, M), (tuples, X),
    (parts_of_tuple, (0.5, 2.0, -1.5, 3.0)),
    (named_tuples, Pair(1.0, 2.5)), (unpacks_array, X), (calls, X), (star_call, X), (recursion, 5), (closures, X),
    (function_argument, helper, factorial, 3.0), (functions_in_tuple, 0.5), (string_flags, 2.0, "double"),
    (string_flags, 2.0, "triple"), (none_default, 2.0), (none_default, 2.0, 1.0), (none_default, 2.0, None, 3.0),
    (star_args, 1.0, 2.5, 3.5), (optional, 1.0), (optional, -1.0), (augmented, X, M), (indexing, X, M, 1),
    (globals_and_constants, 2.0), (raises, 4.0), (casts, 2.7, 3), (chained, 1, 2, 3), (conditional_chain, 0.5),
    (many_returns, 1), (many_returns, 3), (many_returns, 6), (many_returns, 9), (generator_sum, X),
    (print_something, 3), (pass_and_empty, 3), (returns_none, X), (parallel_loop, M),
]  # fmt: skip
