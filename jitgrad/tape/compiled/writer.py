"""The text of a backward program: a function of its saved values and seeds that Numba compiles.

Sizes of arrays come from the arguments, and numbers other than small ones are arguments. So programs that differ in
sizes only have the same text, and share what was compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from jitgrad.tape.compiled import scalars
from jitgrad.tape.compiled.schedule import Item, Loop, Number, Schedule, Shape, Solid, in_loop, is_local, squeezed
from jitgrad.tape.compiled.tracing import Trace, Traced
from jitgrad.tape.compiled.views import Access, Gather, Place

SMALL, MANY = 2048, 4
"""So many arrays of at most so many bytes are passed as one: copying them is faster than passing them one by one."""

_LITERALS = {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 0.5, -0.5}


@dataclass(frozen=True)
class Written:
    """A backward program as source.

    Attributes
    ----------
    source : str
        Defines the function ``backward``.
    kernels : dict
        The compiled functions that it names.
    arguments : list of tuple
        Where each argument is found: as in `Trace.inputs`; ``("number", value)``; or
        ``("pack", dtype, shape, [origin, ...])``, small arrays of this shape as one.
    results : list
        For each source None, a constant, a tuple that says where an argument is found, or the scalar type of what the
        function returns for it (`numpy.ndarray` for an array).
    """

    source: str
    kernels: dict[str, Any]
    arguments: list[tuple]
    results: list[Any]


def write(trace: Trace) -> Written:
    """The source of a traced program."""
    return _Writer(trace).written()


def _is_outside(places: Sequence[Place | Gather], loop: Loop) -> bool:
    """Whether an element is the same throughout the innermost of several loops."""
    last = len(loop.shape) - 1
    return last > 0 and not any(isinstance(p, Gather) or p.axis == last for p in places)


class _Writer:
    def __init__(self, trace: Trace):
        self.schedule = Schedule(trace)
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}
        self._inputs: dict[str, Traced] = {}  # parameters, in the order of first use
        self._numbers: dict[tuple, str] = {}
        self._values: dict[str, Any] = {}
        self._sizes: dict[int, str] = {}
        self._flat: set[str] = set()
        self._packs: dict[str, list[Traced]] = {}
        self._packed: dict[Traced, tuple[str, int]] = {}
        self._pack()

    def _pack(self) -> None:
        """Put small inputs together by shape and dtype."""
        alike: dict[Any, dict[Traced, None]] = {}
        for source in self.schedule.sources():
            value = source.value
            if (
                source.function is None
                and source.origin[0] != "constant"
                and isinstance(value, (np.ndarray, np.generic))
            ):
                if value.flags.c_contiguous and value.nbytes <= SMALL:
                    alike.setdefault((value.shape, value.dtype), {})[source] = None
        for group in alike.values():
            if len(group) >= MANY:
                name = f"g{len(self._packs)}"
                self._packs[name] = list(group)
                self._packed |= {source: (name, k) for k, source in enumerate(group)}

    # ----- names ------------------------------------------------------------------------------------
    def _name(self, value: Any, prefix: str) -> str:
        key = prefix, value
        if key not in self._names:
            self._names[key] = f"{prefix}{sum(k[0] == prefix for k in self._names)}"
        return self._names[key]

    def _array(self, value: Traced) -> str:
        if value in self._packed:
            name, k = self._packed[value]
            return f"{name}[{k}]"
        name = self._name(value, "a")
        if value.function is None:
            self._inputs.setdefault(name, value)
        return name

    def _scalar(self, value: Traced) -> str:
        """The name of a value without axes."""
        if value.function is not None:
            return self._name(value, "v")
        name = self._array(value)
        if value in self._packed:
            return f"{name[:-1]}{', 0' * value.value.ndim}]"
        if not isinstance(value.value, np.ndarray):
            return name
        return f"{name}[{', '.join('0' * value.value.ndim) or '()'}]"

    def _size(self, n: int) -> str:
        if n == 1:
            return "1"
        return self._sizes.setdefault(n, f"n{len(self._sizes)}")

    def _shape(self, shape: Shape) -> str:
        return f"({''.join(self._size(n) + ', ' for n in shape)})"

    def _number(self, value: Any, dtype: np.dtype) -> str:
        if dtype.kind != "f" or float(value) in _LITERALS:
            return scalars.literal(value, dtype)
        key = repr(float(value)), dtype
        if key not in self._numbers:
            self._numbers[key] = f"c{len(self._numbers)}"
            self._values[self._numbers[key]] = dtype.type(value)
        return self._numbers[key]

    # ----- loops ------------------------------------------------------------------------------------
    def _loop(self, step: int, loop: Loop) -> None:
        for target, start in self.schedule.starts.items():
            if start == step:
                self._begin(target)
        stored = [item for item in loop.items if item.places is None and item.target in self.schedule.stored]
        for item in stored:
            target = item.target.value
            self.lines.append(
                f"{self._array(item.target)} = np.empty({self._shape(target.shape)}, np.{target.dtype.name})"
            )
        flat = len(loop.shape) > 1 and all(map(self._is_flat, loop.items, [loop] * len(loop.items)))
        body: list[str] = []
        before: list[str] = []  # the innermost loop
        after: list[str] = []
        loaded: dict[str, str] = {}
        here = {item.target for item in loop.items if item.places is None}
        for item in loop.items:
            texts = [
                self._operand(o, d, loop, here, flat, loaded, before, body)
                for o, d in zip(item.operands, item.dtypes, strict=True)
            ]
            text = item.write(*texts)
            if item.places is None:
                name = self._name(item.target, "v")
                body.append(f"{name} = {text}")
                if item.target in self.schedule.stored:
                    places = in_loop(tuple(map(Place, range(item.target.value.ndim))), item.target.value.shape)
                    body.append(f"{self._element(item.target, places, loop, flat)} = {name}")
            elif self._is_run(item, loop):
                element, total = self._element(item.target, item.places, loop, flat), f"r{len(after)}"
                before.append(f"{total} = {element}")
                body.append(self._collected(item, total, text))
                after.append(f"{element} = {total}")
            else:
                body.append(self._stored(item, text, loop, flat))
        if flat:
            heads = [f"for i in range({' * '.join(map(self._size, loop.shape))}):"]
        else:
            heads = [f"for i{k} in range({self._size(n)}):" for k, n in enumerate(loop.shape)]
        depth = len(heads) - 1
        self.lines += ["    " * k + head for k, head in enumerate(heads[:-1])]
        self.lines += ["    " * depth + line for line in (*before, heads[-1])] if heads else before
        self.lines += ["    " * (depth + 1) + line for line in body]
        self.lines += ["    " * depth + line for line in after]
        for item in loop.items:
            if item.target in self.schedule.wide:
                if squeezed(item.target.value.shape):
                    self.lines.append(f"{self._array(item.target)} = {self._array(item.target)}.astype(np.float32)")
                else:
                    self.lines.append(f"{self._name(item.target, 'v')} = np.float32({self._name(item.target, 'v')})")

    def _begin(self, target: Traced) -> None:
        """Make what is stored into."""
        value, mode = target.value, self.schedule.modes[target]
        start = {"*=": "1", "max": "-np.inf", "min": "np.inf"}.get(mode, "0")
        dtype = np.dtype(np.float64) if target in self.schedule.wide else value.dtype
        if squeezed(value.shape):
            made = f"np.full({self._shape(value.shape)}, np.{dtype.name}({start}))"
            if start == "0":
                made = f"np.zeros({self._shape(value.shape)}, np.{dtype.name})"
            self.lines.append(f"{self._array(target)} = {made}")
        else:
            self.lines.append(f"{self._name(target, 'v')} = np.{dtype.name}({start})")

    @staticmethod
    def _is_run(item: Item, loop: Loop) -> bool:
        """Whether the innermost loop collects into one element, which is then kept in a variable."""
        assert item.places is not None
        return item.mode != "=" and bool(squeezed(item.target.value.shape)) and _is_outside(item.places, loop)

    def _stored(self, item: Item, text: str, loop: Loop, flat: bool) -> str:
        assert item.places is not None
        if not squeezed(item.target.value.shape):
            return self._collected(item, self._name(item.target, "v"), text)
        element = self._element(item.target, item.places, loop, flat)
        if item.mode in ("max", "min"):
            return f"{element} = np.{item.mode}imum({element}, {text})"
        return f"{element} {item.mode} {text}"

    def _collected(self, item: Item, total: str, text: str) -> str:
        """A statement that takes a value into a variable, as `item` does it."""
        if item.mode == "+=" and item.target.value.dtype.kind == "f":
            wide = "np.float64" * (item.target in self.schedule.wide)
            return f"{total} = accumulate({total}, {wide}({text}))"
        if item.mode in ("max", "min"):
            return f"{total} = np.{item.mode}imum({total}, {text})"
        return f"{total} {item.mode} {text}"

    def _operand(
        self,
        operand: Any,
        dtype: np.dtype,
        loop: Loop,
        here: set,
        flat: bool,
        loaded: dict[str, str],
        before_inner: list[str],
        body: list[str],
    ) -> str:
        if isinstance(operand, Number):
            return self._number(operand.value, dtype)
        source = operand.source
        before = (
            source.value.dtype if isinstance(source.value, (np.ndarray, np.generic)) else np.dtype(type(source.value))
        )
        if source in here and is_local(operand.places, source):
            text = self._name(source, "v")
        elif not squeezed(np.shape(source.value)):
            text = self._scalar(source)
        else:
            element = self._element(source, operand.places, loop, flat)
            if element not in loaded:
                loaded[element] = f"x{len(loaded)}"
                outside = not flat and _is_outside(operand.places, loop)
                (before_inner if outside else body).append(f"{loaded[element]} = {element}")
            text = loaded[element]
        return scalars.cast(text, before, dtype)

    def _is_flat(self, item: Item, loop: Loop) -> bool:
        """Whether an item can do with one index for all axes of the loop."""
        accesses = [o for o in item.operands if isinstance(o, Access)]
        if item.places is not None:
            accesses.append(Access(item.target, item.places))
        return all(
            not squeezed(np.shape(a.source.value))
            or (is_local(a.places, a.source) and squeezed(a.source.value.shape) == loop.shape)
            for a in accesses
        )

    def _element(self, source: Traced, places: Sequence[Place | Gather], loop: Loop, flat: bool) -> str:
        name = self._array(source)
        if flat:
            line = name.replace("[", "_").replace("]", "") + "_flat"
            if line not in self._flat:
                self._flat.add(line)
                self.lines.append(f"{line} = {name}.reshape({name}.size)")
            return f"{line}[i]"
        indices = [
            "0" if n == 1 and not isinstance(p, Gather) else self._index(p, loop)
            for p, n in zip(places, source.value.shape, strict=True)
        ]
        return f"{name[:-1]}, {', '.join(indices)}]" if source in self._packed else f"{name}[{', '.join(indices)}]"

    def _index(self, place: Place | Gather, loop: Loop) -> str:
        if isinstance(place, Gather):
            source = place.index.source
            if not squeezed(source.value.shape):
                return self._scalar(source)
            return self._element(source, place.index.places, loop, False)
        if place.axis is None:
            return str(place.start)
        text = f"i{place.axis}"
        if place.step != 1:
            text = f"{place.step} * {text}"
        return f"{place.start} + {text}" if place.start else text

    # ----- the function -----------------------------------------------------------------------------
    def written(self) -> Written:
        for number, step in enumerate(self.schedule.steps):
            if isinstance(step, Loop):
                self._loop(number, step)
            else:
                self._solid(step)
        returned, results = [], []
        for result in self.schedule.results:
            if not isinstance(result, Traced):
                results.append(result)
            elif result.function is None:
                results.append(result.origin)
            elif result.value.ndim:
                if not squeezed(result.value.shape) and ("a", result) not in self._names:
                    self._boxed(result)
                returned.append(self._array(result))
                results.append(np.ndarray)
            else:
                returned.append(self._name(result, "v"))
                results.append(result.value.dtype.type)
        return self._function(returned, results)

    def _boxed(self, value: Traced) -> None:
        """An array of a value of one element that a loop computed."""
        name = self._array(value)
        self.lines.append(f"{name} = np.full({self._shape(value.value.shape)}, {self._name(value, 'v')})")

    def _solid(self, step: Solid) -> None:
        texts = []
        for source, transposed in step.arrays:
            if source.function is not None and not squeezed(source.value.shape) and ("a", source) not in self._names:
                self._boxed(source)
            texts.append(self._array(source) + (".T" if transposed else ""))
        text = step.text.format(*texts, dims=self._shape(step.target.value.shape))
        if squeezed(step.target.value.shape):
            self.lines.append(f"{self._array(step.target)} = {text}")
        elif step.target.value.ndim == 0:
            self.lines.append(f"{self._name(step.target, 'v')} = {text}")
        else:
            name = self._array(step.target)
            self.lines += [
                f"{name} = {text}",
                f"{self._name(step.target, 'v')} = {name}[{', '.join('0' * step.target.value.ndim)}]",
            ]

    def _function(self, returned: list[str], results: list[Any]) -> Written:
        start = []
        for name, value in self._inputs.items():
            if isinstance(value.value, np.ndarray) and value.value.ndim and not value.value.flags.c_contiguous:
                start.append(f"{name} = np.ascontiguousarray({name})")
        shapes = {name: np.shape(value.value) for name, value in self._inputs.items()}
        shapes |= {name: (-1, *group[0].value.shape) for name, group in self._packs.items()}
        for n, size in self._sizes.items():
            found = (f"{name}.shape[{shape.index(n)}]" for name, shape in shapes.items() if n in shape)
            start.append(f"{size} = {next(found, n)}")
        # Numba does not know how Python 3.11 makes a tuple of more than 30
        tuples = [f"({''.join(r + ', ' for r in returned[k : k + 25])})" for k in range(0, len(returned), 25)]
        lines = [*start, *self.lines, f"return {' + '.join(tuples) or '()'}"]
        parameters = [*self._inputs, *self._packs, *self._values]
        source = "\n".join([f"def backward({', '.join(parameters)}):", *("    " + line for line in lines)]) + "\n"
        kernels = {
            item.function.py_func.__name__: item.function
            for item in (i.target for s in self.schedule.steps if isinstance(s, Loop) for i in s.items)
            if isinstance(item.function, Dispatcher)
        }
        arguments = [v.origin for v in self._inputs.values()]
        for group in self._packs.values():
            value = group[0].value
            arguments.append(("pack", value.dtype, (len(group), *value.shape), [v.origin for v in group]))
        arguments += [("number", v) for v in self._values.values()]
        return Written(source, kernels, arguments, results)
