"""Pickling functions by name where a name leads to them."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any


class Reference:
    """Pickles as the import path of `obj`, or as `obj` itself where it has none; unpickles as `obj`.

    Numba pickles dispatchers by value, because the name of the Python function leads to the dispatcher. That
    is needed for functions of ``__main__`` and closures only.
    """

    def __init__(self, obj: Any):
        self.obj = obj

    def __reduce__(self):
        fn = getattr(self.obj, "py_func", self.obj)
        module, name = fn.__module__, fn.__qualname__
        if module not in (None, "__main__", "__mp_main__") and "<" not in name and module in sys.modules:
            try:
                if functools.reduce(getattr, name.split("."), sys.modules[module]) is self.obj:
                    return _find, (module, name)
            except AttributeError:
                pass
        return _same, (self.obj,)


def _find(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _same(obj: Any) -> Any:
    return obj
