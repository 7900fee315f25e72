"""Adjoints of broadcasting and of indexing with arrays, as nopython helpers.

Each helper is made for the ranks it works on, and is ordinary code on ordinary arrays, so that a
derivative that uses it can be differentiated again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import njit

from jitgrad.runtime.broadcast import broadcast_length
from jitgrad.runtime.kernels import inline
from jitgrad.runtime.pipeline import helper


@inline
def flat(a):
    """All elements in C order as a contiguous 1-d array; a view where `a` is C-contiguous."""
    return np.ascontiguousarray(a).reshape(a.size)


# Not a `helper`, for which the method is this function (`direct.METHODS`). Never called from Python, which has no
# arrays of vectors (`runtime.vectors`).
@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def copied(dot):
    """What stands for ``dot.copy()`` where that is a call."""
    return dot.copy()


@helper
def copy(dot):
    """The same numbers in a new C-contiguous array."""
    return dot.copy()


@helper
def copy_pull(ct):
    """The cotangent as a new array."""
    return ct.copy()


@helper
def put_number(out, number):
    """Write a number into an array of size one."""
    if out.size != 1:
        raise ValueError("the array to write a number into must have size 1")
    out.flat[0] = number


@functools.cache
def add_reduced(source_ndim: int, target_ndim: int, sign: str = "+") -> Any:
    """``add_reduced(target, source)``: add `source`, summed over the axes that were broadcast.

    `target` has at most as many axes as `source`; its axes of size one, and those it lacks, are summed.
    With `sign` "-" it is ``subtract_reduced``. Elements go last to first: where `target` and `source` are
    parts of the same memory this is the adjoint of an update that Numba made first to last.
    """
    name = "add_reduced" if sign == "+" else "subtract_reduced"
    source = [f"k{d}" for d in range(source_ndim)]
    offset = source_ndim - target_ndim
    steps = [f"    s{d} = 0 if target.shape[{d}] == 1 else 1" for d in range(target_ndim)]
    target = [f"k{d + offset} * s{d}" for d in range(target_ndim)]
    if offset < 0:  # leading axes of size one that the store dropped
        steps = [f"    s{d} = 0 if target.shape[{d}] == 1 else 1" for d in range(-offset, target_ndim)]
        target = ["0"] * -offset + [f"k{d + offset} * s{d}" for d in range(-offset, target_ndim)]
    lines = [f"def {name}(target, source):", *steps]
    for d in range(source_ndim):
        lines.append("    " * (d + 1) + f"for k{d} in range(source.shape[{d}] - 1, -1, -1):")
    lines.append(
        "    " * (source_ndim + 1) + f"target[{', '.join(target) or '()'}] {sign}= source[{', '.join(source) or '()'}]"
    )
    return _compile("\n".join(lines), name)


@functools.cache
def advanced(action: str, ndim: int, selector_ndim: int) -> Any:
    """A helper for an array of `ndim` axes indexed by one array of `selector_ndim` axes.

    ========== ==========================================================================
    add_at     ``add_at(a, indices, ct)``: ``a[indices] += ct`` with repeated indices summed
    add_where  ``add_where(a, mask, ct)``: the same for a boolean mask
    take_at    ``take_at(a, indices)``: what each stored element gets back; zeros `a` there
    take_where ``take_where(a, mask)``: the same for a boolean mask
    ========== ==========================================================================
    """
    return {"add_at": _add_at, "add_where": _add_where, "take_at": _take_at, "take_where": _take_where}[action](
        ndim, selector_ndim
    )


def _nest(ndim: int, extent: str, depth: int = 1, name: str = "k") -> tuple[list[str], str]:
    lines = ["    " * (depth + d) + f"for {name}{d} in range({extent}.shape[{d}]):" for d in range(ndim)]
    return lines, ", ".join(f"{name}{d}" for d in range(ndim))


def _add_at(ndim: int, selector_ndim: int) -> Any:
    lines, k = _nest(selector_ndim, "indices")
    body = "    " * (selector_ndim + 1) + f"a[indices[{k}]] += ct[{k}]"
    return _compile("\n".join(["def add_at(a, indices, ct):", *lines, body]), "add_at")


def _take_at(ndim: int, selector_ndim: int) -> Any:
    rest = "" if ndim == 1 else " + a.shape[1:]"
    lines = ["def take_at(a, indices):", f"    ct = np.zeros(indices.shape{rest}, a.dtype)"]
    # backwards: where an index is repeated the last store wins, the others get nothing
    for d in range(selector_ndim):
        lines.append("    " * (d + 1) + f"for k{d} in range(indices.shape[{d}] - 1, -1, -1):")
    k = ", ".join(f"k{d}" for d in range(selector_ndim))
    pad = "    " * (selector_ndim + 1)
    lines += [f"{pad}ct[{k}] = a[indices[{k}]]", f"{pad}a[indices[{k}]] = 0", "    return ct"]
    return _compile("\n".join(lines), "take_at")


def _add_where(ndim: int, selector_ndim: int) -> Any:
    lines, k = _nest(selector_ndim, "mask")
    pad = "    " * (selector_ndim + 1)
    body = [f"{pad}if mask[{k}]:", f"{pad}    a[{k}] += ct[c]", f"{pad}    c += 1"]
    return _compile("\n".join(["def add_where(a, mask, ct):", "    c = 0", *lines, *body]), "add_where")


def _take_where(ndim: int, selector_ndim: int) -> Any:
    lines, k = _nest(selector_ndim, "mask")
    pad = "    " * (selector_ndim + 1)
    rest = "" if ndim == selector_ndim else f" + a.shape[{selector_ndim}:]"
    head = ["def take_where(a, mask):", "    n = 0", "    for m in mask.flat:", "        if m:", "            n += 1",
            f"    ct = np.zeros((n,){rest}, a.dtype)", "    c = 0"]  # fmt: skip
    body = [f"{pad}if mask[{k}]:", f"{pad}    ct[c] = a[{k}]", f"{pad}    a[{k}] = 0", f"{pad}    c += 1"]
    return _compile("\n".join([*head, *lines, *body, "    return ct"]), "take_where")


@functools.cache
def mixed(action: str, items: tuple[int | str, ...]) -> Any:
    """A helper for an index of index arrays beside other items.

    ``"add"`` makes ``add_mixed(a, ct, *selectors)``: ``a[index] += ct`` with repeated elements summed.
    ``"take"`` makes ``take_mixed(a, *selectors)``: what each stored element gets back; zeros `a` there.

    Parameters
    ----------
    items : tuple
        The index: ``"axis"`` for a whole axis, ``"new"`` for a new one, the number of axes of a selector, which is
        an array of positions, or 0 for an integer. The axes of the selectors are broadcast together. They stand in
        the place of the selectors in the result, or first where other items are between those, as in NumPy.
    """
    selectors = [k for k, item in enumerate(items) if isinstance(item, int)]
    ndim = max(item for item in items if isinstance(item, int))
    together = selectors == list(range(selectors[0], selectors[-1] + 1))
    first = selectors[0] if together else 0
    others = [k for k in range(len(items)) if k not in selectors]
    order = [k for k in others if k < first], [k for k in others if k >= first]
    axes = [*order[0], *(f"b{d}" for d in range(ndim)), *order[1]]  # of the result: items, and the broadcast ones
    counters = {axis: f"k{n}" for n, axis in enumerate(axes)}
    names = [f"i{n}" for n in range(len(selectors))]
    several = sum(item != 0 for item in items if isinstance(item, int)) > 1
    lengths: dict[Any, str] = {k: "1" for k in others if items[k] == "new"}
    lines, at, of_a = [], [], 0
    for k, item in enumerate(items):
        if isinstance(item, int):
            name = names[selectors.index(k)]
            parts = []
            for d in range(item):
                place = f"b{ndim - item + d}"
                length = f"{name}.shape[{d}]"
                lengths[place] = f"broadcast_length({lengths[place]}, {length})" if place in lengths else length
                parts.append(f"{counters[place]} % {length}" if several else counters[place])
            at.append(f"{name}[{', '.join(parts)}]" if item else name)
        elif item == "axis":
            lengths[k] = f"a.shape[{of_a}]"
            at.append(counters[k])
        of_a += item != "new"
    source, here = f"a[{', '.join(at)}]", ", ".join(counters[axis] for axis in axes)
    shape = "".join(f"{lengths[axis]}, " for axis in axes)
    # backwards: where an element is repeated the last store wins, the others get nothing
    for n in range(len(axes)):
        lines.append("    " * (n + 1) + f"for k{n} in range(ct.shape[{n}] - 1, -1, -1):")
    pad = "    " * (len(axes) + 1)
    if action == "add":
        head = [f"def add_mixed(a, ct, {', '.join(names)}):"]
        return _compile("\n".join([*head, *lines, f"{pad}{source} += ct[{here}]"]), "add_mixed")
    head = [f"def take_mixed(a, {', '.join(names)}):", f"    ct = np.zeros(({shape}), a.dtype)"]
    body = [f"{pad}ct[{here}] = {source}", f"{pad}{source} = 0", "    return ct"]
    return _compile("\n".join([*head, *lines, *body]), "take_mixed")


def _compile(source: str, name: str) -> Any:
    namespace: dict[str, Any] = {"np": np, "broadcast_length": broadcast_length}
    exec(source, namespace)
    return helper(namespace[name])
