"""Registry and helpers shared by the case files (no dependency on any AD library).

A case file does:   from tests.corpus.corpuslib import case, edge, error, onp, unif, norms, ...
and decorates ordinary njit functions.  `args` is a zero-argument callable that returns
fresh inputs each time (some functions write into their arguments).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as onp  # case files use `np` only inside kernels and `onp` for input data


@dataclass
class Case:
    name: str
    fn: Any
    args: Callable
    wrt: tuple  # positions of the arguments to differentiate
    domain: str
    tags: tuple
    kwargs: dict = field(default_factory=dict)
    rtol: float = 1e-8  # against the reference, relative to max|J| of the row block
    outs: tuple = ()  # if given: the result is (the content of) these arguments after the call
    hess: bool = False  # scalar output and a reference Hessian is stored
    note: str = ""
    level: str = "core"  # core | stretch
    kind: str = "case"  # case | edge | error
    expected: Any = None  # edge: expected flat Jacobian (n_out, n_in)
    # edge: also acceptable: ("interval", lo, hi, free) | ("simplex", free) | ("nan", free),
    # free = flat Jacobian entries
    accept: Any = None
    value: Any = None  # edge: expected flat value, or None
    op: str = "grad"  # error: which operation must raise
    words: tuple = ()  # error: the message must contain one of each (case-insensitive, '|' = or)
    message: str = ""  # error: what a good message says
    bad: Any = None  # error: extra payload (e.g. a wrong-shape cotangent)
    # filled in by the loader
    ref_value: Any = None
    ref_jac: Any = None
    ref_hess: Any = None


REG: list = []


def case(name, args, wrt, domain, tags, **kw):
    if isinstance(wrt, int):
        wrt = (wrt,)
    if isinstance(tags, str):
        tags = tuple(tags.split())

    def deco(fn):
        REG.append(Case(name, fn, args, tuple(wrt), domain, tuple(tags), **kw))
        return fn

    return deco


def edge(name, args, wrt, tags, expected, value=None, accept=None, note="", **kw):
    return case(
        name,
        args,
        wrt,
        "edge",
        tags,
        kind="edge",
        expected=expected,
        value=value,
        accept=accept,
        note=note,
        **kw,
    )


def error(name, args, wrt, tags, op, words, message, **kw):
    return case(name, args, wrt, "error", tags, kind="error", op=op, words=tuple(words), message=message, **kw)


# ----- deterministic data, independent of any library's random stream ---------------------
def unif(shape, seed, lo=0.0, hi=1.0):
    n = int(onp.prod(shape)) if not isinstance(shape, int) else shape
    s = (seed * 2654435761 + 12345) % 2**64
    out = onp.empty(n)
    for i in range(n):
        s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
        out[i] = (s >> 11) / 2.0**53
    out = lo + (hi - lo) * out
    return out if isinstance(shape, int) else out.reshape(shape)


def norms(shape, seed, scale=1.0):
    n = int(onp.prod(shape)) if not isinstance(shape, int) else shape
    u = unif(2 * n, seed, 1e-12, 1.0)
    z = onp.array([math.sqrt(-2 * math.log(u[2 * i])) * math.cos(2 * math.pi * u[2 * i + 1]) for i in range(n)]) * scale
    return z if isinstance(shape, int) else z.reshape(shape)


def ints(shape, seed, lo, hi):
    return onp.floor(unif(shape, seed, lo, hi)).astype(onp.int64)


def spd(n, seed, jitter=1.0):
    a = norms((n, n), seed)
    return a @ a.T / n + jitter * onp.eye(n)


# ----- flat views of nested inputs/outputs ------------------------------------------------
def is_float_leaf(x):
    if isinstance(x, onp.ndarray):
        return x.dtype.kind in "fc" and x.dtype.fields is None
    return isinstance(x, (float, complex, onp.floating, onp.complexfloating))


def is_seq(x):
    return isinstance(x, (tuple, list)) or type(x).__name__ == "List"


def leaves(tree):
    if is_seq(tree):
        for t in tree:
            yield from leaves(t)
    elif isinstance(tree, onp.ndarray) and tree.dtype.fields is not None:
        for f in tree.dtype.names:
            yield tree[f]
    elif tree is not None:
        yield tree


def flat(tree, dtype=float):
    """All floating-point numbers of a nested result as one vector (integers skipped).
    Complex numbers are taken as (re, im) pairs."""
    parts = []
    for x in leaves(tree):
        if not is_float_leaf(x):
            continue
        a = onp.asarray(x)
        if a.dtype.kind == "c":
            a = onp.stack([a.real, a.imag], axis=-1)
        parts.append(a.astype(dtype).ravel())
    return onp.concatenate(parts) if parts else onp.zeros(0)


def unflat(tree, vec):
    """Rebuild something shaped like `tree` from a flat vector (integers are kept)."""
    pos = [0]

    def rec(t):
        if is_seq(t):
            items = [rec(x) for x in t]
            if hasattr(t, "_fields"):
                return type(t)(*items)
            if isinstance(t, tuple):
                return tuple(items)
            if isinstance(t, list):
                return items
            new = type(t)()
            for i in items:
                new.append(i)
            return new
        if not is_float_leaf(t):
            return t
        a = onp.asarray(t)
        if a.dtype.kind == "c":
            n = 2 * a.size
            p = onp.asarray(vec[pos[0] : pos[0] + n]).reshape(a.shape + (2,))
            pos[0] += n
            r = p[..., 0] + 1j * p[..., 1]
        else:
            n = a.size
            r = onp.asarray(vec[pos[0] : pos[0] + n]).reshape(a.shape)
            pos[0] += n
        if isinstance(t, onp.ndarray):
            return onp.ascontiguousarray(r.astype(t.dtype)) if t.ndim else r.astype(t.dtype)
        return type(t)(r) if not isinstance(t, complex) else complex(r)

    return rec(tree)


def result(case_, args):
    """Call the function; the result, or the mutated arguments for `outs` cases."""
    r = case_.fn(*args, **case_.kwargs)
    if case_.outs:
        m = tuple(args[i] for i in case_.outs)
        return m if r is None else (r,) + m
    return r
