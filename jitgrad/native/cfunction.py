"""`cfunc`: a derivative, or any njit function, as a C function pointer.

The C function is compiled by Numba's `cfunc` from a generated Python function, which makes arrays of the pointers it
is given, calls the derivative (its ``into`` where the prototype has outputs), and turns an exception into a status.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numba
import numpy as np
from numba.core import types

from jitgrad.api.python_only import python_only
from jitgrad.backend import linecode
from jitgrad.backend.digest import hexdigest
from jitgrad.backend.dispatcher import Derivative, dispatcher_of
from jitgrad.backend.structure import describe
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError
from jitgrad.native.prototype import Parameter, Prototype, check_extents, parameter, parse

_numbers = itertools.count()


@python_only
def cfunc(function: Any, prototype: str, *, user_data: str | None = None) -> CFunction:
    """A C function pointer that computes a derivative.

    Parameters
    ----------
    function : Derivative or njit function
        What `grad`, `value_and_grad`, `jacobian`, `hessian` or `pushforward` return, or a function of your own that
        calls them.
    prototype : str
        How C calls it, as in ``"int gradient(int n, const double x[n], double out[n])"``. Parameters are matched by
        name:

        - Those named like a parameter of `function` are its arguments. A tuple is given item by item: ``p0``, ``p1``.
          ``double x[n]`` is an array in C order, ``double *k`` a number by reference.
        - ``out`` takes the result, as `Derivative.into` writes it; a tuple of results goes to ``out0``, ``out1``.
        - ``double *value`` takes the value that the ``into`` of `value_and_grad` returns.
        - ``int *status`` takes 0, or 1 after an error.
        - Extents, ``void *`` and names that begin with an underscore need not be arguments.

        A function that returns ``int`` returns the status. One that returns ``double`` or ``float`` returns the value
        or, without ``out``, the result; after an error NaN.
    user_data : str, optional
        What the ``void *`` parameter of the prototype points to, as a parameter: ``"double p[3]"``.

    Returns
    -------
    CFunction
        Holds the compiled code: keep it as long as C may call it.

    Raises
    ------
    ArgumentError
        The prototype cannot be read, or does not fit the parameters of `function`.

    Examples
    --------
    >>> import jitgrad as jg
    >>> slope = cfunc(jg.grad(lambda x: x * x * x), "double slope(double x)")
    >>> slope.ctypes(2.0)
    12.0
    """
    dispatcher = dispatcher_of(function)
    declared = parse(prototype)
    pointed = None
    if user_data is not None:
        pointed = parameter(user_data)
        check_extents(pointed, declared)
        if sum(p.opaque for p in declared.parameters) != 1 or not pointed.pointer or pointed.opaque:
            raise ArgumentError(
                f"user_data={user_data!r} must say what the one void * parameter points to, as 'double p[3]' or "
                "'double *k'"
            )
    return CFunction(dispatcher, declared, pointed)


class CFunction:
    """A compiled C function. Made by `cfunc`.

    Any thread may call it, with or without the GIL. It does not check pointers: they must be valid for the extents of
    the prototype, and memory that is written must overlap no other.

    Attributes
    ----------
    address : int
        The function pointer.
    ctypes : ctypes function
        The same as a ctypes object, which keeps this one alive.
    prototype : str
        As it was given.
    """

    def __init__(self, function: Any, prototype: Prototype, user_data: Parameter | None):
        self._user_data = user_data
        self._function = function
        self.prototype = prototype.text
        body = _Body(function, prototype, user_data)
        body.compile()
        signature = prototype.result(*(p.abi for p in prototype.parameters))
        self._compiled = numba.cfunc(signature)(body.function())
        self.address = self._compiled.address
        self.ctypes = self._compiled.ctypes
        self.ctypes.owner = self

    def low_level_callable(self, user_data: Any = None) -> Any:
        """The `scipy.LowLevelCallable`, which keeps this object and `user_data` alive.

        Parameters
        ----------
        user_data : array or ctypes pointer, optional
            What the ``void *`` parameter points to: an array with the dtype and the constant extents that `cfunc` was
            told.

        Raises
        ------
        ArgumentError
            `user_data` is a number, or an array that does not fit what `cfunc` was told.
        """
        from scipy import LowLevelCallable

        if isinstance(user_data, np.ndarray):
            self._check_user_data(user_data)
            pointer = user_data.ctypes.data_as(ctypes.c_void_p)
            pointer.array = user_data  # type: ignore[attr-defined]  # kept alive with the pointer
            user_data = pointer
        elif isinstance(user_data, int | float | complex | list | tuple | np.generic):
            raise ArgumentError(
                f"user_data must be an array or a ctypes pointer, not {user_data!r}; pass np.array(...)"
            )
        return LowLevelCallable(self.ctypes, user_data)

    def _check_user_data(self, array: np.ndarray) -> None:
        told = self._user_data
        if told is None:
            raise ArgumentError(
                "user_data was passed, but cfunc was not told what it points to (user_data='double p[3]')"
            )
        extents = tuple(e for e in told.extents if isinstance(e, int))
        fits = len(extents) < len(told.extents) or array.size >= np.prod(extents, dtype=int)
        if array.dtype != np.dtype(str(told.type)) or not array.flags.c_contiguous or not fits:
            shape = f" of shape {told.extents}" if told.extents else ""
            raise ArgumentError(
                f"user_data must be a C-contiguous array{shape} and dtype {told.type}, not an array of shape "
                f"{array.shape} and dtype {array.dtype}"
            )

    def __repr__(self) -> str:
        return f"<C function {self.prototype!r} at {self.address:#x}>"


class _Body:
    """The Python function behind a prototype: its text, and the call in it."""

    def __init__(self, function: Any, prototype: Prototype, user_data: Parameter | None):
        self.prototype, self.user_data = prototype, user_data
        self.names = [p.name for p in prototype.parameters] + ([user_data.name] if user_data else [])
        self.parameters = {p.name: p for p in prototype.parameters} | ({user_data.name: user_data} if user_data else {})
        if len(self.parameters) < len(self.names):
            raise ArgumentError(f"user_data and the prototype {prototype.text!r} both name {self.names[-1]}")
        self.used: set[str] = {e for p in self.parameters.values() for e in p.extents if isinstance(e, str)}
        self.results = self._group("out")
        self.callee = function
        self.into = bool(self.results) and isinstance(function, Derivative)
        if self.into:
            self.callee = function.into
        self.arguments = self._match()
        self.value = self._pointer("value", types.Float)
        self.status = self._pointer("status", types.Integer)
        self._refuse_unmatched()

    # ----- matching -------------------------------------------------------------------------------
    def _group(self, name: str) -> list[str]:
        """The parameters that make up an argument: itself, or ``name0``, ``name1``, ... for a tuple."""
        if name in self.parameters:
            return [name]
        found = list(itertools.takewhile(lambda n: n in self.parameters, (f"{name}{k}" for k in itertools.count())))
        return found if name else []

    def _match(self) -> list[tuple[str, Any, list[str]]]:
        """Name and kind of each parameter of the callee, with those of the prototype that make it up."""
        found = []
        for p in self.callee._compiler.pysig.parameters.values():
            group = self._group(p.name)
            if not group and p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
                raise ArgumentError(
                    f"the prototype {self.prototype.text!r} has no parameter for {p.name} of {self.callee.__name__}; "
                    f"add it, as in 'double {p.name}' or 'double {p.name}[n]'"
                )
            if group:
                self.used.update(group)
                found.append((p.name, p.kind, group))
        if not self.into:
            self.used.update(self.results)
        return found

    def _pointer(self, name: str, kind: type) -> str | None:
        """The parameter that takes the value or the status."""
        p = self.parameters.get(name)
        if p is None or name in self.used:
            return None
        if not p.pointer or p.extents or not isinstance(p.type, kind):
            raise ArgumentError(
                f"{name} in the prototype {self.prototype.text!r} must be a pointer to one number; write "
                f"'{'double' if kind is types.Float else 'int'} *{name}'"
            )
        self.used.add(name)
        return name

    def _refuse_unmatched(self) -> None:
        left = [p.name for p in self.parameters.values()
                if p.name not in self.used and not p.opaque and not p.name.startswith("_")]  # fmt: skip
        if left:
            wanted = [p.name for p in self.callee._compiler.pysig.parameters.values()]
            raise ArgumentError(
                f"{', '.join(left)} in the prototype {self.prototype.text!r} is no parameter of "
                f"{self.callee.__name__}({', '.join(wanted)}) and no extent; rename it, or let its name begin with _"
            )
        result = self.prototype.result
        if not isinstance(result, (types.Float, types.Integer, types.NoneType)):
            raise ArgumentError(f"a C function here returns double, float, int (a status) or void, not {result}")

    # ----- types and text -------------------------------------------------------------------------
    def _type(self, group: list[str]) -> types.Type:
        items = [self._type_of(self.parameters[name]) for name in group]
        return items[0] if group[0] in self.callee_names or group == ["out"] else types.Tuple(items)

    @property
    def callee_names(self) -> set[str]:
        return {p.name for p in self.callee._compiler.pysig.parameters.values()}

    def _type_of(self, p: Parameter) -> types.Type:
        if p.opaque:
            raise ArgumentError(f"{p.name} is a void *; tell what it points to with user_data='double {p.name}[3]'")
        is_array = p.extents or p.name in self.results
        return types.Array(p.type, max(len(p.extents), 1), "C") if is_array else p.type

    def compile(self) -> None:
        """Compile the callee for the types of the prototype, so that errors are those of a call."""
        positional, keywords = [], {}
        for name, kind, group in self.arguments:
            if kind is kind.VAR_POSITIONAL:
                positional += [self._type_of(self.parameters[g]) for g in group]
            else:
                keywords[name] = self._type(group)
        if positional:
            positional = [*keywords.values(), *positional]
            keywords = {}
        _, folded = self.callee._compiler.fold_argument_types(tuple(positional), keywords)
        self.callee.compile(tuple(folded))
        self._check_value(self.callee.overloads[tuple(folded)].signature.return_type)

    def _check_value(self, value: types.Type) -> None:
        """What the callee returns has a place in C, and what goes into a C number is one."""
        if self.results and not self.into:
            return
        place = "takes it as *value" if self.value else f"returns {self.prototype.result}"
        if not self.value and not isinstance(self.prototype.result, types.Float):
            if not self.results and not isinstance(value, types.NoneType):
                raise ArgumentError(
                    f"the prototype {self.prototype.text!r} has no place for what {self.callee.__name__} returns "
                    f"({describe(value)}); add 'double *out', or let it return double"
                )
        elif not isinstance(value, types.Number) or isinstance(value, types.Complex):
            raise ArgumentError(
                f"{self.callee.__name__} returns {describe(value)}, but the prototype {self.prototype.text!r} {place}; "
                "let it return int, the status, and write arrays to out"
            )

    def function(self) -> Any:
        """The Python function that `numba.cfunc` compiles."""
        writer = Writer({})
        for name in self.names:
            writer.fresh(name)
        name = writer.fresh(self.prototype.name)
        self.writer, self.text = writer, Text()
        self.locals: dict[str, str] = {}
        parameters = ", ".join(p.name for p in self.prototype.parameters)
        top = self.text.suite(f"def {name}({parameters}):")
        status, value = writer.fresh("failed"), writer.fresh("returned")
        top.line(f"{status} = 1")
        returns = isinstance(self.prototype.result, types.Float)
        if returns or self.value:
            top.line(f"{value} = {writer.use(np, 'np')}.nan")
        body = top.suite("try:")
        self._open(body)
        call = self._call()
        if self.results and not self.into:
            from jitgrad.runtime.assign import assign

            body.line(f"{writer.use(assign, 'assign')}({self._argument(self.results, 'out')}, {call})")
        elif returns or self.value:
            body.line(f"{value} = {call}")
        else:
            body.line(call)
        body.line(f"{status} = 0")
        top.suite("except Exception:").line(f"{status} = 1")
        if self.value:
            top.line(f"{writer.use(numba.carray, 'carray')}({self.value}, (1,))[0] = {value}")
        if self.status:
            top.line(f"{writer.use(numba.carray, 'carray')}({self.status}, (1,))[0] = {status}")
        if returns:
            top.line(f"return {value}")
        elif not isinstance(self.prototype.result, types.NoneType):
            top.line(f"return {status}")
        source = "\n".join(self.text.render()) + "\n"
        tag = hexdigest(source, repr(self.callee), str(next(_numbers)))[:16]
        return linecode.build(source, writer.namespace, name, tag, f"<jitgrad {name} {tag}>")

    def _open(self, text: Text) -> None:
        """Make arrays and numbers of the pointers."""
        carray = self.writer.use(numba.carray, "carray")
        integers = {e for p in self.parameters.values() for e in p.extents if isinstance(e, str)}
        for extent in sorted(integers):
            if self.parameters[extent].type.signed:
                with_sign = text.suite(f"if {extent} < 0:")
                with_sign.line(f"raise ValueError('{extent} is negative')")
        wanted = {g for _, _, group in self.arguments for g in group} | set(self.results)
        for p in self.parameters.values():
            if p.name not in wanted or not p.pointer:
                continue
            own = self.locals[p.name] = self.writer.fresh(f"{p.name}_at")
            np_ = self.writer.use(np, "np")
            shape = "".join(f"{np_}.intp({e}), " if isinstance(e, str) else f"{e}, " for e in p.extents) or "1, "
            pointer, dtype = p.name, ""
            if p is self.user_data:
                pointer = next(q.name for q in self.prototype.parameters if q.opaque)
                dtype = f", {np_}.{p.type}"
            element = "" if p.extents or p.name in self.results else "[0]"
            text.line(f"{own} = {carray}({pointer}, ({shape.strip()}){dtype}){element}")

    def _call(self) -> str:
        star = any(kind is kind.VAR_POSITIONAL for _, kind, _ in self.arguments)
        parts = []
        for name, kind, group in self.arguments:
            if kind is kind.VAR_POSITIONAL:
                parts += [self.locals.get(g, g) for g in group]
            else:
                parts.append(self._argument(group, name) if star else f"{name}={self._argument(group, name)}")
        return f"{self.writer.use(self.callee, self.callee.__name__)}({', '.join(parts)})"

    def _argument(self, group: list[str], name: str) -> str:
        items = [self.locals.get(g, g) for g in group]
        return items[0] if group == [name] else f"({', '.join(items)},)"
