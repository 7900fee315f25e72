"""`Derivative`: a Numba dispatcher whose body is generated for each tuple of argument types.

To Python and to Numba it is an ordinary dispatcher with the signature of its primal: a call costs what an
njit call costs, other nopython functions call it, it may recurse, it is pickled and cached on disk. Only
what is compiled differs: `_GeneratedBody` asks the transform for source instead of compiling `py_func`.
"""

from __future__ import annotations

import collections
import functools
import inspect
import threading
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
from numba.core import config, errors, types, utils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.cpu import ParallelOptions
from numba.core.dispatcher import Dispatcher, _FunctionCompiler
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import IRProcessing, LiteralPropagationSubPipelinePass

from jitgrad.backend import byname, digest, linecode
from jitgrad.errors import ArgumentError, JitgradError
from jitgrad.runtime.pipeline import WriteInPlace, keep_error_model
from jitgrad.settings import current_math, options


@dataclass(frozen=True)
class Transform:
    """What a derivative does to its primal.

    Subclasses are frozen dataclasses of plain values: they are hashed, pickled, and their `repr` enters the
    cache key.

    Attributes
    ----------
    prefix : str
        Leads the name of the derivative, as in ``grad_f``.
    leading : tuple of str
        Parameters that come before those of the primal.
    parallel : bool
        Whether ``prange`` loops of the generated code run in threads.
    """

    prefix: ClassVar[str] = "derivative"
    leading: ClassVar[tuple[str, ...]] = ()
    parallel = False

    def generate(self, primal: Dispatcher, argtypes: tuple[types.Type, ...]) -> Any:
        """The `Generated` source for the types of the primal's arguments."""
        raise NotImplementedError

    def into(self) -> Transform:
        """The transform that writes its result into arrays it is given."""
        from jitgrad.backend.into import CopyInto

        return CopyInto(self)

    def readable(self) -> Transform:
        """The transform whose generated code the front end reads in place of this one's: the same in ordinary code."""
        return self

    def floats(self) -> tuple[int, ...]:
        """Positions where nopython code may pass an integer for a float (see `_GeneratedBody.fold_argument_types`)."""
        return ()


# ----- compilation ---------------------------------------------------------------------------------
@register_pass(mutates_CFG=False, analysis_only=False)
class _AdoptStub(FunctionPass):
    """During inference the function is the dispatcher's `py_func`: recursion is found by comparing them."""

    _name = "jitgrad_adopt_stub"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        identity = state.func_ir.func_id  # changed in place: a copy would get another unique id
        state.metadata["jitgrad_generated"] = identity.func
        identity.func = identity.func.__jitgrad_stub__
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _RestoreGenerated(FunctionPass):
    """Afterwards it is the generated one, so that annotations and tracebacks show its source."""

    _name = "jitgrad_restore_generated"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        state.func_ir.func_id.func = state.metadata.pop("jitgrad_generated")
        return True


class _Pipeline(CompilerBase):
    def define_pipelines(self):
        keep_error_model()
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_AdoptStub, IRProcessing)
        manager.add_pass_after(WriteInPlace, LiteralPropagationSubPipelinePass)
        manager.add_pass_after(_RestoreGenerated, NopythonTypeInference)
        manager.finalize()
        return [manager]


class _GeneratedBody(_FunctionCompiler):
    """Compiles what the derivative generates."""

    derivative: weakref.ref
    _compiled: tuple[types.Type, ...] | None = None  # the argument types that are being compiled

    def _compile_core(self, args, return_type):
        before, self._compiled = self._compiled, args
        try:
            return super()._compile_core(args, return_type)
        finally:
            self._compiled = before

    def _customize_flags(self, flags):
        """Leave out the passes for parallel loops, which take long, where the generated code has none."""
        if self._compiled is not None and flags.auto_parallel.enabled:
            used = self.derivative().generated(self._compiled).__globals__.values()
            if all(value is not numba.prange for value in used):
                flags.auto_parallel = ParallelOptions(False)
        return flags

    def _get_implementation(self, args, kws):
        fn = self.derivative().generated(args)
        fn.__jitgrad_stub__ = self.py_func
        return fn

    def fold_as_passed(self, args, kws):
        """Fold as Numba does, with the types of literals."""
        pysig, folded = super().fold_argument_types(args, kws)
        return pysig, tuple(types.unliteral(a) for a in folded)

    def fold_argument_types(self, args, kws):
        """Fold for a call in nopython code.

        Literals become their types, as they would otherwise be compiled for value by value. An integer scalar
        where a float is differentiated converts, as in ``math.sin(1)``: inference asks with ``int64`` for a
        variable that starts as ``0`` before it knows better, and a refusal would be final.
        """
        pysig, folded = self.fold_as_passed(args, kws)
        folded = list(folded)
        transform = self.derivative().transform
        lead = len(transform.leading)
        for position in transform.floats():
            k = position + lead
            if k < len(folded) and isinstance(folded[k], types.Integer) and not isinstance(folded[k], types.Boolean):
                folded[k] = types.float64
        return pysig, tuple(folded)


class DerivativeTypingError(errors.TypingError):
    """An error of ours, told to the inference of a nopython caller."""


class _Told(threading.local):
    """Errors of ours that inference was told lately: Numba passes on their messages, not the errors."""

    def __init__(self) -> None:
        self.errors: collections.deque[JitgradError] = collections.deque(maxlen=32)


_told = _Told()


def jitgrad_cause(error: BaseException) -> JitgradError | None:
    """The error of ours that a Numba error came from, if it did."""
    text = str(error)
    return next((e for e in reversed(_told.errors) if str(e) in text), None)


def _bare(error: JitgradError) -> JitgradError:
    """The error without the frames of Numba's compiler, unless NUMBA_FULL_TRACEBACKS asks for them."""
    if not config.FULL_TRACEBACKS:
        error = error.with_traceback(None)
        error.__cause__, error.__suppress_context__ = None, True
    return error


class _Releasing(CPUDispatcher):
    """A dispatcher that is freed when nothing else holds it.

    Annotations hold the compiled function, whose globals or attributes lead back to the dispatcher, and Numba's
    finalizer holds the annotations. As text, which is also what the disk cache keeps of them, they let go.
    """

    def add_overload(self, cres):
        super().add_overload(cres._replace(type_annotation=str(cres.type_annotation)))


class Jitted(_Releasing):
    """The dispatcher of a plain Python function."""

    def __init__(self, py_func, locals=None, targetoptions=None):
        super().__init__(py_func, locals, targetoptions or {"nopython": True, "boundscheck": None})


# ----- the dispatcher ------------------------------------------------------------------------------
class Derivative(_Releasing):
    """A derivative of `primal`, compiled for argument types as they come.

    Made by `derivative`; not by hand.

    Attributes
    ----------
    primal : Dispatcher
    transform : Transform
    math : str
        What `jitgrad.options` said where it was made.
    """

    def __init__(self, primal: Dispatcher, transform: Transform, math: str):
        self.primal = primal
        self.transform = transform
        self.math = math
        stub = _stub(primal.py_func, transform)
        super().__init__(stub, targetoptions=_target_options(primal, transform.parallel), pipeline_class=_Pipeline)
        self._compiler = _GeneratedBody(stub, self.targetdescr, self.targetoptions, {}, _Pipeline)
        self._compiler.derivative = weakref.ref(self)
        self._generated: dict[tuple[types.Type, ...], Any] = {}
        self._files: list[str] = []
        weakref.finalize(self, linecode.forget, self._files)
        self.enable_caching()

    @classmethod
    def of(cls, fn: Any, kind: str, request: Any) -> Derivative:
        """The derivative of `fn` that the engine makes for `request`; `kind` is for the reader."""
        return derivative(fn, request)

    @property
    def into(self) -> Derivative:
        """``D.into(out, *args)`` writes the result into `out`, which has the structure of what ``D(*args)`` returns.

        Numbers go into arrays of size one. The `into` of `value_and_grad` takes arrays for the gradient and returns
        the value. It is a dispatcher too, so nopython code calls it. `jitgrad.pushforward` and the page on native
        calls say what allocates nothing.
        """
        with options(math=self.math):
            return derivative(self.primal, self.transform.into())

    # ----- content --------------------------------------------------------------------------------
    def content_for_digest(self) -> tuple:
        options = sorted((k, str(v)) for k, v in self.targetoptions.items())
        return self.primal, type(self.transform).__qualname__, repr(self.transform), repr(options), self.math

    def digest(self) -> str:
        """A hash of everything that shapes the generated code; see `jitgrad.backend.digest`."""
        return digest.digest(self)

    def generated(self, argtypes: tuple[types.Type, ...]) -> Any:
        """The generated Python function for `argtypes` (folded as Numba folds them)."""
        argtypes = tuple(types.unliteral(a) for a in argtypes)
        if argtypes in self._generated:
            return self._generated[argtypes]
        with global_compiler_lock:
            if argtypes not in self._generated:
                self._generated[argtypes] = self._build(argtypes)
            return self._generated[argtypes]

    def readable(self, argtypes: tuple[types.Type, ...]) -> Any:
        """What the front end reads when a derivative is differentiated again."""
        transform = self.transform.readable()
        with options(math=self.math):
            return (self if transform == self.transform else derivative(self.primal, transform)).generated(argtypes)

    def _build(self, argtypes: tuple[types.Type, ...]) -> Any:
        inner = argtypes[len(self.transform.leading) :]
        try:
            with options(math=self.math):
                made = self.transform.generate(self.primal, inner)
        except errors.NumbaError as error:
            own = jitgrad_cause(error)
            if own is not None:
                raise own from None
            self._let_primal_fail(inner)
            raise
        try:
            shaped_by = self.digest()
        except digest.Undigestible:
            shaped_by = uuid.uuid4().hex
        tag = digest.hexdigest(made.source, shaped_by, digest.engine_stamp(), tuple(map(str, argtypes)))[:16]
        filename = f"<jitgrad {made.name} {tag}>"
        fn = linecode.build(made.source, made.namespace, made.name, tag, filename)
        fn.__defaults__ = self.py_func.__defaults__
        fn.__jitgrad_rules__ = made.rules
        self._files.append(filename)
        return fn

    def _let_primal_fail(self, argtypes: tuple[types.Type, ...]) -> None:
        """Raise Numba's own error where the primal does not compile for these types."""
        primal = self.primal if self.primal._can_compile else numba.njit(self.primal.py_func)
        primal.compile(argtypes)

    def sources_of(self, result: Any) -> dict[str, str]:
        """File name and text of the source that a compilation result came from."""
        for fn in self._generated.values():
            if fn.__qualname__ == result.fndesc.qualname:
                return {fn.__code__.co_filename: linecode.text_of(fn)}
        return {}

    # ----- Numba's protocol -----------------------------------------------------------------------
    def enable_caching(self) -> None:
        """Cache on disk where the primal has a source file to cache beside; silently not elsewhere."""
        from jitgrad.backend.cache import DerivativeCache

        try:
            self._cache = DerivativeCache(self)
        except Exception:  # no file, no writable directory, a source that only lived in a session
            pass

    def get_call_template(self, args, kws):
        try:
            return super().get_call_template(args, kws)
        except JitgradError as error:
            _told.errors.append(error.with_traceback(None))
            raise DerivativeTypingError(f"{type(error).__name__}: {error}") from error

    def compile(self, sig):
        """Compile for a signature; errors of ours come out as themselves, however deep they were raised."""
        try:
            return super().compile(sig)
        except errors.ForceLiteralArg:
            raise
        except errors.NumbaError as error:
            own = jitgrad_cause(error)
            if own is None:
                raise
        raise _bare(own)

    def _compile_for_args(self, *args, **kws):
        try:
            return super()._compile_for_args(*args, **kws)
        except JitgradError as error:
            own = error
        raise _bare(own)

    # ----- pickling -------------------------------------------------------------------------------
    @property
    def _uuid(self):
        """An id by content where there is one, so that what refers to a derivative has a stable pickle."""
        if self._MemoMixin__uuid is None:
            try:
                name = f"jitgrad-{self.digest()}"
                self._set_uuid(name if name not in self._memo else str(uuid.uuid4()))
            except digest.Undigestible:
                self._set_uuid(str(uuid.uuid4()))
        return self._MemoMixin__uuid

    def _reduce_states(self):
        signatures = [] if self._can_compile else [c.signature for c in self.overloads.values()]
        return {
            "uuid": str(self._uuid),
            "primal": byname.Reference(self.primal),
            "transform": self.transform,
            "math": self.math,
            "can_compile": self._can_compile,
            "signatures": signatures,
        }

    @classmethod
    def _rebuild(cls, uuid, primal, transform, math, can_compile, signatures):
        try:
            return cls._memo[uuid]
        except KeyError:
            pass
        with options(math=math):
            self = derivative(primal, transform)
        if self._MemoMixin__uuid is None:
            self._set_uuid(uuid)
        for signature in signatures:
            self.compile(signature)
        self._can_compile = can_compile
        return self

    def __repr__(self) -> str:
        return f"<{self.transform.prefix} of {self.primal.py_func.__qualname__} at {id(self):#x}>"  # names its type


def _target_options(primal: Dispatcher, parallel: bool) -> dict[str, Any]:
    """Options of the generated code.

    ``error_model="numpy"``: Python's division check keeps loops from vectorising, and a derivative must not
    raise where the primal did not.
    """
    options = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}
    for name in ("fastmath", "boundscheck"):
        if primal.targetoptions.get(name) is not None:
            options[name] = primal.targetoptions[name]
    if parallel or primal.targetoptions.get("parallel"):
        # loops that were written as `prange`, and nothing else: array expressions would take long to compile
        options["parallel"] = ParallelOptions(dict.fromkeys(_OTHER_PARALLELISM, False))
    return options


_OTHER_PARALLELISM = ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion")


def _stub(primal: Any, transform: Transform) -> Any:
    """A function with the derivative's signature, at the primal's place in its file; it never runs."""
    pysig = utils.pysignature(primal)
    if any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in pysig.parameters.values()):
        raise ArgumentError(
            f"{primal.__name__} has keyword-only or ** parameters, which Numba does not compile; make them positional"
        )
    names = [("*" if p.kind == p.VAR_POSITIONAL else "") + p.name for p in pysig.parameters.values()]
    leading = []
    for name in transform.leading:
        while name in pysig.parameters:
            name += "_"
        leading.append(name)
    name = f"{transform.prefix}_{primal.__name__}".replace("<lambda>", "lambda")
    if not name.isidentifier():
        name = transform.prefix
    header = f"def {name}({', '.join(leading + names)}): raise NotImplementedError"
    namespace: dict[str, Any] = {"__name__": primal.__module__}
    line = "\n" * (primal.__code__.co_firstlineno - 1) + header
    exec(compile(line, primal.__code__.co_filename, "exec"), namespace)
    stub = namespace[name]
    stub.__defaults__ = primal.__defaults__
    stub.__module__ = primal.__module__
    stub.__qualname__ = primal.__qualname__.rpartition(".")[0] + "." * ("." in primal.__qualname__) + name
    stub.__doc__ = f"{transform.prefix} of {primal.__qualname__}.\n\n{inspect.getdoc(primal) or ''}".rstrip()
    return stub


# ----- making them ---------------------------------------------------------------------------------
class _Table(dict):
    """The derivatives made of one function, kept on the function itself so that they die with it."""

    def __init__(self, owner: Any):
        super().__init__()
        self.owner = weakref.ref(owner)

    def __reduce__(self):  # functions are pickled with their attributes; this one is no part of them
        return dict, ()


_ATTRIBUTE = "__jitgrad_derivatives__"
_making = threading.RLock()


def _table(fn: Any) -> _Table:
    table = getattr(fn, "__dict__", {}).get(_ATTRIBUTE)
    # decorators copy the attributes of what they wrap, so the table may be that of another function
    if not isinstance(table, _Table) or table.owner() is not fn:
        table = _Table(fn)
        setattr(fn, _ATTRIBUTE, table)
    return table


def once(fn: Any, key: Any, make: Callable[[], Any]) -> Any:
    """What `make` returns, made once for the function `fn` and kept as long as it lives."""
    with _making:
        table = _table(fn)
        if key not in table:
            table[key] = make()
        return table[key]


def dispatcher_of(fn: Any) -> Dispatcher:
    """The Numba dispatcher for `fn`; a plain Python function is jitted, once for what it reads from outside.

    Raises
    ------
    ArgumentError
        Where `fn` is nothing Numba compiles.
    """
    if isinstance(fn, Dispatcher):
        return fn
    if inspect.isfunction(fn):
        return _jitted(fn)
    if isinstance(fn, functools.partial):
        raise ArgumentError("a functools.partial cannot be differentiated; write a lambda or a closure instead")
    if inspect.ismethod(fn):
        raise ArgumentError(
            f"{fn.__qualname__} is a bound method; differentiate an njit function that takes the data it needs"
        )
    if callable(fn) and not inspect.isclass(fn):
        return _wrapper(fn)
    raise ArgumentError(f"{fn!r} is not a function; pass an njit function or a Python function")


def _jitted(fn: Any) -> Dispatcher:
    """A dispatcher of a plain function, another one when its globals or closure changed: Numba freezes them."""
    try:
        now = digest.digest(fn)
    except digest.Undigestible:
        now = ""
    with _making:
        table = _table(fn)
        if table.get("digest") != now:
            table["digest"], table["dispatcher"] = now, Jitted(fn)
        return table["dispatcher"]


_wrappers: dict[Any, Dispatcher] = {}


def _wrapper(fn: Any) -> Dispatcher:
    """An njit function around a ufunc, a `vectorize` function or a builtin such as `math.sin`."""
    if fn not in _wrappers:
        context = cpu_target.typing_context
        context.refresh()
        try:
            context.resolve_value_type(fn)  # what Numba asks when compiled code names it
        except ValueError:
            raise ArgumentError(
                f"{fn!r} is a Python object that nopython code cannot call; pass an njit function or a Python function"
            ) from None

        def call(*args):
            return fn(*args)

        call.__name__ = call.__qualname__ = getattr(fn, "__name__", "function")
        _wrappers[fn] = numba.njit(call)
    return _wrappers[fn]


def derivative(fn: Any, transform: Any) -> Derivative:
    """The derivative of `fn` by `transform`: the same object for the same function and transform.

    Parameters
    ----------
    fn : Dispatcher or function
    transform : Transform or JvpRequest or VjpRequest

    Returns
    -------
    Derivative
    """
    primal = dispatcher_of(fn)
    if not isinstance(transform, Transform):
        from jitgrad.backend.engine import transform_for

        transform = transform_for(transform)
    math = current_math()
    return once(primal, (transform, math), lambda: Derivative(primal, transform, math))
