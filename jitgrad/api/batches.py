"""The text of a function run over a batch; see `jitgrad.api.batching`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import njit
from numba.core import types, utils
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype

from jitgrad.api.ruled import jitted, result_type, written
from jitgrad.api.shape import Node, plain_tree, rebuild
from jitgrad.backend.structure import describe
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.transforms.request import Generated

if TYPE_CHECKING:
    from jitgrad.api.batching import Batched


@njit
def same_length(size, other):
    """Raise where two arguments have different numbers of items."""
    if size != other:
        raise ValueError("batched: the leading axes of the arguments differ in length")


@njit
def store(results, k, result):
    """``results[k] = result``, for an array of the same shape."""
    if results.shape[1:] != result.shape:
        raise ValueError("batched: the shape of the result differs from item to item")
    results[k] = result


def batch(transform: Batched, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """The source of the loop."""
    return _Batch(transform, primal, argtypes).generated()


class _Batch:
    def __init__(self, transform: Batched, primal: Any, argtypes: tuple[types.Type, ...]):
        self.primal, self.transform = primal, transform
        self.writer, self.text = Writer({}), Text()
        self.params = [self.writer.fresh(n) for n in utils.pysignature(primal.py_func).parameters]
        self.arguments = [plain_tree(ty, text) for ty, text in zip(argtypes, self.params, strict=True)]
        for k in transform.picked:
            for leaf in self.arguments[k].leaves():
                if not leaf.is_array or not leaf.type.ndim:
                    raise ArgumentError(
                        f"batched: argument {k} ({self.params[k]}) of {primal.__name__} is {describe(argtypes[k])}, "
                        "which has no leading axis; pass an array, or give it None in in_axes"
                    )
        item_types = [_item(ty) if k in transform.picked else ty for k, ty in enumerate(argtypes)]
        if transform.parallel:
            self._check_writes(item_types)
        self.result = plain_tree(unliteral(result_type(primal, tuple(item_types))), "")
        for leaf in self.result.leaves():
            if not (leaf.is_array or isinstance(leaf.type, (types.Number, types.Boolean, types.NoneType))):
                raise ArgumentError(
                    f"batched: the result of {primal.__name__} holds {describe(leaf.type)}, which cannot be stacked; "
                    "return numbers, arrays and tuples of them"
                )
        self.stacks = {id(leaf): self.writer.fresh(f"stacked_{k}") for k, leaf in enumerate(self.stacked())}

    def stacked(self) -> list[Node]:
        return [leaf for leaf in self.result.leaves() if not isinstance(leaf.type, types.NoneType)]

    def _check_writes(self, item_types: list[types.Type]) -> None:
        try:
            positions = written(self.primal, item_types)
        except (NumbaError, UnsupportedError):  # what the front end cannot read
            return
        for k in sorted(positions - set(self.transform.picked)):
            raise ArgumentError(
                f"batched: {self.primal.__name__} writes into {self.params[k]}, which all items share, so that they "
                "cannot run in parallel; leave out parallel=True"
            )

    def use(self, obj: Any, hint: str) -> str:
        return self.writer.use(obj, hint)

    def call(self, k: str) -> str:
        arguments = [
            rebuild(node, lambda leaf: f"{leaf.text}[{k}]", self.use) if n in self.transform.picked else node.text
            for n, node in enumerate(self.arguments)
        ]
        return f"{self.use(self.primal, self.primal.__name__)}({', '.join(arguments)})"

    def store(self, text: Text, k: str, item: str) -> None:
        for leaf in self.stacked():
            stack, value = self.stacks[id(leaf)], item + leaf.text
            if leaf.is_array:
                text.line(f"{self.use(store, 'store')}({stack}, {k}, {value})")
            else:
                text.line(f"{stack}[{k}] = {value}")

    def generated(self) -> Generated:
        size, k, first, item = (self.writer.fresh(n) for n in ("size", "k", "first", "item"))
        lengths = [f"{leaf.text}.shape[0]" for n in self.transform.picked for leaf in self.arguments[n].leaves()]
        self.text.line(f"{size} = {lengths[0]}")
        for length in lengths[1:]:
            self.text.line(f"{self.use(same_length, 'same_length')}({size}, {length})")
        self._allocate(self.text.suite(f"if {size} == 0:"), lambda leaf: f"(0,) + (0,) * {leaf.type.ndim}")
        self.text.line(f"{first} = {self.call('0')}")
        self._allocate(self.text, lambda leaf: f"({size},) + {first}{leaf.text}.shape", size)
        self.store(self.text, "0", first)
        if self.transform.parallel:
            self._parallel(size, k)
        else:
            loop = self.text.suite(f"for {k} in range(1, {size}):")
            loop.line(f"{item} = {self.call(k)}")
            self.store(loop, k, item)
        self.text.line(f"return {self._results()}")
        name = f"batched_{self.primal.__name__}"
        name = self.writer.fresh(name if name.isidentifier() else "batched")
        top = Text(header=f"def {name}({', '.join(self.params)}):")
        top.items = self.text.items
        return Generated("\n".join(top.render()) + "\n", self.writer.namespace, name)

    def _results(self) -> str:
        return rebuild(self.result, lambda leaf: self.stacks.get(id(leaf), "None"), self.use)

    def _allocate(self, text: Text, shape: Any, size: str | None = None) -> None:
        """Name the stacks; without `size`, return them empty."""
        np_ = self.use(np, "np")
        for leaf in self.stacked():
            dtype = self.use(as_dtype(leaf.scalar).type, str(leaf.scalar))
            extents = shape(leaf) if leaf.is_array else size or "0"
            text.line(f"{self.stacks[id(leaf)]} = {np_}.empty({extents}, {dtype})")
        if size is None:
            text.line(f"return {self._results()}")

    def _parallel(self, size: str, k: str) -> None:
        """A prange loop, in which an exception is noted, and raised by the first item that has one once more.

        An exception cannot leave a prange loop: its threads do not stop for each other.
        """
        stacks = list(self.stacks.values())
        guarded, item, failed, raised = (self.writer.fresh(n) for n in ("guarded", "item", "failed", "raised"))
        body = Text()
        attempt = body.suite("try:")
        attempt.line(f"{item} = {self.call(k)}")
        self.store(attempt, k, item)
        attempt.line("return False")
        body.suite("except Exception:").line("return True")
        header = ", ".join([k, *stacks, *self.params])
        one = jitted("guarded", header, body.render(), dict(self.writer.namespace))
        loop = Text()
        run = loop.suite(f"for {k} in prange(1, {size}):")
        run.line(f"{raised}[{k}] = {guarded}({header})")
        names = ", ".join([size, raised, *stacks, *self.params])
        source = jitted_parallel("run_parallel", names, loop.render(), {guarded: one, "prange": numba.prange})
        self.text.line(f"{raised} = {self.use(np, 'np')}.zeros({size}, {self.use(np.bool_, 'bool_')})")
        self.text.line(f"{self.use(source, 'run_parallel')}({names})")
        again = self.text.suite(f"for {k} in range(1, {size}):").suite(f"if {raised}[{k}]:")
        again.line(f"{failed} = {self.call(k)}")
        self.store(again, k, failed)


def jitted_parallel(name: str, header: str, lines: list[str], namespace: dict[str, Any]) -> Any:
    fn = jitted(name, header, lines, namespace)
    return njit(parallel=True, error_model="numpy", nogil=True)(fn.py_func)


def unliteral(ty: types.Type) -> types.Type:
    """The type without the values of constants, inside tuples too."""
    if isinstance(ty, types.BaseTuple) and not isinstance(ty, types.BaseNamedTuple):
        return types.BaseTuple.from_types([unliteral(item) for item in ty])
    return types.unliteral(ty)


def _item(ty: types.Type) -> types.Type:
    """The type of one item along the leading axis."""
    if isinstance(ty, types.BaseNamedTuple):
        return types.NamedTuple([_item(t) for t in ty], ty.instance_class)
    if isinstance(ty, types.BaseTuple):
        return types.BaseTuple.from_types([_item(t) for t in ty])
    if ty.ndim == 1:
        return ty.dtype
    return types.Array(ty.dtype, ty.ndim - 1, "C" if ty.layout == "C" else "A", readonly=not ty.mutable)
