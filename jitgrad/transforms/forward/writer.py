"""A writer that knows the variable, the tangent and the place of every value."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from jitgrad import rules
from jitgrad.analysis.liveness import Variables
from jitgrad.backend.writer import Writer
from jitgrad.program import ir

_KERNELS = rules.kernels_namespace()


class DualWriter(Writer):
    """Names values by variable, and their tangents after them."""

    def __init__(self, variables: Variables):
        super().__init__()
        self.variables = variables
        self._dots: dict[ir.Value, str] = {}
        self._elements: dict[str, str] = {}
        self._parameters: set[str] = set()
        self.place: ir.Location | None = None  # the last place told

    def keep_free(self, name: str) -> None:
        """Let no variable take `name`, which helpers of the generated code are called by."""
        self._taken.add(name)

    def reserve(self, name: str) -> str:
        """Keep `name` as it is: a parameter of the generated function."""
        self._taken.add(name)
        self._parameters.add(name)
        return name

    def name(self, value: ir.Value) -> str:
        return super().name(self.variables.of(value))

    def use(self, obj: Any, hint: str) -> str:
        if id(obj) not in self._objects and _KERNELS.get(hint) is obj and hint not in self._parameters:
            self.namespace[hint] = obj
            self._objects[id(obj)] = hint
        for module, prefix in ((math, "math"), (np, "np"), (np.linalg, "np.linalg")):
            own_name = getattr(obj, "__name__", "")
            if vars(module).get(own_name) is obj and not isinstance(obj, ModuleType):
                root, *rest = prefix.split(".")
                return ".".join([self.use(math if module is math else np, root), *rest, own_name])
        return super().use(obj, hint)

    def dot_name(self, value: ir.Value) -> str:
        """The variable that holds the tangent of `value`."""
        variable = self.variables.of(value)
        if variable not in self._dots:
            self._dots[variable] = self.fresh(self.name(variable) + "_dot")
        return self._dots[variable]

    def line(self, text: str, loc: ir.Location | None = None) -> None:
        """Append a line; its place is told only where it changes."""
        super().line(text, self._told(loc))

    def indented(self, header: str, loc: ir.Location | None = None):
        return super().indented(header, self._told(loc))

    def _told(self, loc: ir.Location | None) -> ir.Location | None:
        if loc is None or loc == self.place:
            return None
        self.place = loc
        return loc

    def alias_dot(self, value: ir.Value, name: str) -> None:
        """Let `name` be the tangent of `value`."""
        self._dots[self.variables.of(value)] = name

    def element(self, name: str) -> str:
        """The variable for one element of the array `name`, the same in every loop nest."""
        base = name if name.isidentifier() else "const"
        if base not in self._elements:
            stem, dot, _ = base.partition("_dot")
            self._elements[base] = self.fresh(f"{stem}_i{dot}")
        return self._elements[base]
