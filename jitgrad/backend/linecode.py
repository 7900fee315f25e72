"""Generated source as Python functions that tracebacks and debuggers can show."""

from __future__ import annotations

import linecache
from typing import Any

MODULE = "jitgrad.backend.generated"


def enter(filename: str, source: str) -> None:
    """Let tracebacks show the lines of `source` for `filename`."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def forget(filenames: list[str]) -> None:
    for filename in filenames:
        linecache.cache.pop(filename, None)


def text_of(fn: Any) -> str:
    """The source of a function made by `build`."""
    return "".join(linecache.getlines(fn.__code__.co_filename))


def build(source: str, namespace: dict[str, Any], name: str, tag: str, filename: str) -> Any:
    """The function `name` that `source` defines, with `tag` in its qualified name.

    Numba derives the symbol of compiled code from the qualified name. Code loaded from a cache and code just
    compiled must not share a symbol unless they are the same code, so the tag is a hash of what shaped it.
    """
    import jitgrad.backend.generated  # noqa: F401  (must be importable where cached code is loaded)

    names = {**namespace, "__name__": MODULE}
    enter(filename, source)
    exec(compile(source, filename, "exec"), names)
    fn = names[name]
    fn.__module__ = MODULE
    fn.__qualname__ = f"{name}_{tag}"
    return fn
