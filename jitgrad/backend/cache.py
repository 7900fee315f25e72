"""The disk cache of derivatives: one file per derivative and argument types, next to Numba's own.

Numba's cache keys on the bytecode of one function. A derivative also depends on the primal's callees in
other files, on frozen globals, on the transform and on this package, so its key is the digest of all of
them. The key is text and the file is named after its hash: there is no index to go stale or to be raced for,
and the key is stored in the file and compared. A file that cannot be read counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import pickle
import weakref
from collections.abc import Callable
from typing import Any

from numba.core import config, types
from numba.core.caching import CompileResultCacheImpl, _Cache, _cache_log
from numba.core.codegen import RuntimeLinker
from numba.core.serialize import dumps

from jitgrad.backend import digest, linecode

SIMPLE = (
    types.Number, types.Boolean, types.NoneType, types.UnicodeType, types.Bytes, types.NPDatetime, types.NPTimedelta,
    types.CharSeq, types.UnicodeCharSeq, types.StringLiteral, types.SliceType, types.EphemeralPointer,
)  # fmt: skip


def type_key(ty: types.Type) -> str:
    """Text that tells a type apart from every other, in any process.

    Raises
    ------
    digest.Undigestible
        For types that name an object of this process, such as function and jitclass types.
    """
    match ty:
        case types.Record():
            return str(ty)
        case types.Array():
            return f"{ty}[{type_key(ty.dtype)}]"
        case types.NamedTuple() | types.NamedUniTuple():
            cls = ty.instance_class
            return f"{cls.__module__}.{cls.__qualname__}{cls._fields}({', '.join(map(type_key, ty.types))})"
        case types.BaseTuple():
            return f"{type(ty).__name__}({', '.join(map(type_key, ty))})"
        case types.Omitted():
            return f"omitted({digest.digest(ty.value)})"
        case types.Optional():
            return f"optional({type_key(ty.type)})"
        case types.ListType() | types.List() | types.Set():
            return f"{type(ty).__name__}({type_key(ty.dtype)}{getattr(ty, 'reflected', '')})"
        case types.DictType():
            return f"DictType({type_key(ty.key_type)}, {type_key(ty.value_type)})"
        case types.Literal() if isinstance(ty.literal_value, (int, str, bool)):
            return str(ty)
        case _ if isinstance(ty, SIMPLE):
            return str(ty)
    raise digest.Undigestible(f"type {ty}")


def _can_be_stored(result: Any) -> bool:
    """Whether code that is loaded again would be whole.

    Not where a function calls another that was being compiled with it: Numba binds such calls when it finalizes
    the module it compiled, by names that start with `RuntimeLinker.PREFIX`, and not when it loads object code.
    """
    if result.library.has_dynamic_globals or any(not x.can_cache for x in result.lifted):
        return False
    names = (variable.name for variable in result.library._final_module.global_variables)
    return not any(name.startswith(RuntimeLinker.PREFIX) for name in names)


class DerivativeCache(_Cache):
    """The cache of one `Derivative`, with the interface of Numba's caches.

    Raises
    ------
    RuntimeError
        Where the primal has no source file with a place to cache beside.
    """

    def __init__(self, derivative: Any):
        self._impl = CompileResultCacheImpl(derivative.py_func)
        self._derivative: Callable[[], Any] = weakref.ref(derivative)
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return self._impl.locator.get_cache_path()

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in pathlib.Path(self.cache_path).glob(f"{self._impl.filename_base}.jitgrad-*.nbc"):
            path.unlink(missing_ok=True)

    def _key(self, sig: Any, codegen: Any) -> str | None:
        args = sig if isinstance(sig, tuple) else sig.args
        try:
            parts = [type_key(a) for a in args]
            if not isinstance(sig, tuple):
                parts.append("-> " + ("" if sig.return_type is None else type_key(sig.return_type)))
            return repr((parts, self._derivative().digest(), digest.engine_stamp(), codegen.magic_tuple()))
        except digest.Undigestible as reason:
            _cache_log("[jitgrad cache] not cached: %s", reason)
            return None

    def _path(self, key: str) -> pathlib.Path:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        return pathlib.Path(self.cache_path) / f"{self._impl.filename_base}.jitgrad-{name}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        if key is None:
            return None
        path = self._path(key)
        try:
            stored, sources, payload = pickle.loads(path.read_bytes())
            if stored != key:
                return None
            result = self._impl.rebuild(target_context, pickle.loads(payload))
        except FileNotFoundError:
            return None
        except Exception as error:  # truncated, of another build, refers to a module that is gone: absent
            _cache_log("[jitgrad cache] %s cannot be read: %r", path, error)
            return None
        for filename, text in sources.items():
            linecode.enter(filename, text)
        _cache_log("[jitgrad cache] loaded %s", path)
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        if not self._enabled or not _can_be_stored(data):
            return
        key = self._key(sig, data.codegen)
        if key is None or not digest.engine_unchanged():
            return
        path = self._path(key)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{id(data):x}.tmp")
        try:
            sources = self._derivative().sources_of(data)
            blob = pickle.dumps((key, sources, dumps(self._impl.reduce(data))))
            os.makedirs(self.cache_path, exist_ok=True)
            temporary.write_bytes(blob)
            os.replace(temporary, path)
        except Exception as error:  # a cache that cannot be written must not stop the computation
            temporary.unlink(missing_ok=True)
            _cache_log("[jitgrad cache] %s cannot be written: %r", path, error)
            if config.DEBUG_CACHE:
                raise
