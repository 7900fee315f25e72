"""The kinds of derivative rules.

::

    Rule
    ├── ScalarRule     a function of scalars: partial derivatives as text; elementwise on arrays too
    ├── ArrayRule      a function of arrays: one tangent and one pullback function per argument
    ├── RewriteRule    differentiated through a readable implementation that the rule names
    ├── ZeroRule       the derivative is zero (comparisons, floor, argmax, shape queries, ...)
    ├── AllocRule      a new array that depends on no float argument, or only on its fill value
    ├── MutatingRule   writes into an argument (fill, sort in place, append, ...)
    └── RefusedRule    refused on purpose, with the reason and the way out

What transforms ask
-------------------
``rule.bind(args, kwargs)``
    Arguments by parameter name, with the defaults of those not given (as `Default`).
``ScalarRule.for_call(types) -> ScalarRule``
    The row for these operand types and this operand count: fixed params, complex or real.
``ScalarRule.partial(param, names, ...)``, ``.push_text``, ``.pull_text``
    Source text of a partial, or of its product with a tangent or cotangent.
``ArrayRule.pushforward(param, types)``, ``.pullback(param, types)`` -> ``(function, needs)``
    ``function(dot, *needs)`` and ``function(ct, *needs)``. ``pullbacks(active, types)`` groups
    arguments whose pullbacks share work.

What an array rule's functions may need, told by their parameter names: ``out`` (the result), a
parameter of the rule by name (its value at the call), ``<param>_shape`` (a tuple; for a tuple of arrays,
the tuple of their shapes), ``<param>_dtype`` and ``out_dtype`` (the NumPy scalar type, written as text such
as ``np.float32``; it decides the dtype of what is returned where this may differ from the cotangent's). A
parameter's own name (``window_shape``) comes first. The first parameter is the cotangent ``ct`` or the
tangent ``dot``; both may have any layout. A value whose name is in ``needs`` is not modified, and what is
returned is a fresh array of exactly the argument's shape (a scalar for a scalar), or of exactly the
result's shape for a tangent. Arguments without a derivative (integers, booleans, None) are never asked
for. `types` maps each parameter and ``out`` to its Numba type; for a parameter that
was not passed it holds the default's type (``types.none`` for None).

Branches on types: a rule's function is one njit function where Numba prunes the branch
(``x.ndim == 2``, ``axis is None``), else a `Choose` object picks the function from the types. Both are
ordinary Python code, so the front end can read them again for derivatives of derivatives.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numba.core import types as nbtypes


class Regular(str):
    """The text of a partial that is finite wherever its operands are, in a row that is else singular."""


class Factor(str):
    """The text of a partial that leaves out, where it is zero, even what is infinite (`ScalarRule.select`)."""


@dataclass(frozen=True)
class Default:
    """The default value of a parameter that the call does not pass."""

    value: Any


class Choose:
    """Picks a rule's function from the argument types.

    Parameters
    ----------
    pick : callable
        ``pick(types: dict[str, numba type]) -> njit function`` (or None: derivative is zero).
    """

    def __init__(self, pick: Callable[[dict[str, Any]], Any]):
        self.pick = pick

    def __call__(self, types: dict[str, Any]) -> Any:
        return self.pick(types)


@functools.cache
def _signature(params: str) -> inspect.Signature:
    return inspect.signature(eval(f"lambda {params}: None", {"np": np}))


@functools.cache
def needs_of(fn: Any) -> tuple[str, ...]:
    """Parameter names after the first (``ct`` or ``dot``) of a rule's function."""
    return tuple(inspect.signature(getattr(fn, "py_func", fn)).parameters)[1:]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule:
    """Base of all rules.

    Attributes
    ----------
    functions : tuple
        The function objects this rule stands for.
    methods : tuple of str
        Methods with the same meaning, the object being the first parameter: ``"sum"`` for arrays,
        ``"number.conjugate"``, ``"list.append"``, ``"generator.normal"`` for others.
    attributes : tuple of str
        Attributes with the same meaning (``"T"``, ``"number.real"``).
    params : str
        Parameters as in a Python signature. A parameter that NumPy calls ``out`` is called ``out_``,
        since ``out`` is the result.
    note : str
        What the generated documentation says about this row.
    reverse_only : bool
        Forward mode looks into the function, as if there were no rule.
    """

    functions: tuple = ()
    methods: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    params: Any = ""
    note: str = ""

    reverse_only: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """A readable name: module and name of the first function, or the first method."""
        if self.functions:
            return function_name(self.functions[0])
        first = (self.methods or self.attributes or ("?",))[0]
        return first if "." in first else f"array.{first}"

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Arguments by parameter name; a parameter that is not passed gives a `Default`.

        A star parameter gives a tuple. Raises TypeError when the arguments do not fit.
        """
        signature = _signature(self.params)
        renamed = {name + "_" * (name == "out"): value for name, value in (kwargs or {}).items()}
        bound = signature.bind(*args, **renamed)
        out = {}
        for name, param in signature.parameters.items():
            if name in bound.arguments:
                out[name] = bound.arguments[name]
            else:
                out[name] = () if param.kind is param.VAR_POSITIONAL else Default(param.default)
        return out

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def function_name(fn: Any) -> str:
    """``math.sin``, ``np.add``, ``operator.add``, ``abs``, ``numba.float64``."""
    name = getattr(fn, "__name__", None) or str(fn)
    module = getattr(fn, "__module__", None) or ("numpy" if isinstance(fn, np.ufunc) else "")
    module = {"builtins": "", "_operator": "operator", "numpy": "np", "numpy.linalg": "np.linalg"}.get(module, module)
    if isinstance(fn, nbtypes.Type):
        module = "numba"
    return f"{module}.{name}" if module else name


# ----- scalar rules --------------------------------------------------------------------------------


class _Fill(ast.NodeTransformer):
    """Replaces names by expressions, and float literals by literals of another dtype."""

    def __init__(self, names: Mapping[str, ast.expr], single: bool):
        self.names = names
        self.single = single

    def visit_Name(self, node):
        return self.names.get(node.id, node)

    def visit_Constant(self, node):
        if self.single and isinstance(node.value, float):
            return ast.parse(f"np.float32({node.value!r})", mode="eval").body
        return node


def fill(text: str, names: Mapping[str, str], single: bool = False) -> str:
    """`text` with its names replaced by the given source texts (parentheses where needed).

    With `single`, float literals become ``np.float32`` so that the expression stays float32: a
    Python literal is a float64 to Numba and would widen every operation that follows.
    """
    tree = ast.parse(text, mode="eval").body
    exprs = {name: ast.parse(code, mode="eval").body for name, code in names.items()}
    return ast.unparse(_Fill(exprs, single).visit(tree))


@functools.cache
def names_in(text: str) -> frozenset[str]:
    """Names that occur in an expression."""
    return frozenset(n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name))


def _is_complex(t: Any) -> bool:
    return isinstance(getattr(t, "dtype", t), nbtypes.Complex)


def _is_single(t: Any) -> bool:
    return getattr(t, "dtype", t) in (nbtypes.float32, nbtypes.complex64)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ScalarRule(Rule):
    """A function of scalars, given by its partial derivatives.

    Attributes
    ----------
    params : tuple of str
        Names of the operands in the texts. More than the call has: the rest is not passed.
    partials : tuple of (str or None)
        One Python expression per operand over the operands, ``out`` and the names of
        `kernels_namespace`. None: no derivative.
    singular : bool
        A partial can be infinite or nan where the function is defined, so that the product with a
        tangent or cotangent must be zero where that is zero (`kernels.mul0`).
    select : bool
        A partial of zero says that the operand was not selected, so that the product must be zero
        whatever the tangent or cotangent is (untaken side of ``where``, ``max``, ``clip``).
    overflows : bool
        The function is infinite for moderate operands, as is its partial (``exp``): where its result is not selected
        after all, the product is as if the row were singular.
    push, pull : tuple of (str or None), optional
        For functions that are not complex differentiable: the contribution of each operand to the
        tangent as an expression over ``dot`` (that operand's tangent), and to its cotangent over
        ``ct``, in place of partials. The product of cotangents and tangents that they keep is
        ``real(conj(ct) * dot)``.
    complex : ScalarRule, optional
        The row that applies when an operand is complex. Without it the partials hold as they are
        (the function is complex differentiable), and the cotangent takes their conjugate.
    literal : callable, optional
        ``literal(param, values)``: a simpler text for this partial where operands are known constants
        (``values`` maps names to Python numbers), or None.
    keywords : tuple of str
        Names of the operands in a call with keywords, where these differ from `params`.
    value : str
        The function itself as an expression for one element, where it cannot be called with scalars.
    choose : callable, optional
        ``choose(types) -> ScalarRule or None`` where the row depends on how many operands there are,
        or which of them is None. None: there is no scalar rule for this call.
    points : tuple
        Operand tuples where the partials are compared with a high-precision derivative.
    edges : dict
        Operand tuple -> expected partials: kinks, ties, domain edges, by convention.
    reference : str
        Expression over x, y, ... in mpmath's names for the tests; empty: the function itself.
    """

    params: tuple[str, ...] = ("x",)
    partials: tuple[str | None, ...] = ()
    singular: bool = False
    select: bool = False
    overflows: bool = False
    push: tuple[str | None, ...] | None = None
    pull: tuple[str | None, ...] | None = None
    complex: ScalarRule | None = None
    literal: Callable[[str, Mapping[str, Any]], str | None] | None = None
    keywords: tuple[str, ...] = ()
    value: str = ""
    choose: Callable[[Sequence[Any]], ScalarRule | None] | None = None
    points: tuple = ()
    edges: dict = field(default_factory=dict)
    reference: str = ""

    def bind(self, args, kwargs=None):
        """Operands by name, for those passed; on a row from `for_call`."""
        if len(args) > len(self.params):
            raise TypeError(f"{self.name} takes at most {len(self.params)} operands, not {len(args)}")
        out = dict(zip(self.params, args, strict=False))
        for keyword, value in (kwargs or {}).items():
            name = dict(zip(self.keywords, self.params, strict=False)).get(keyword, keyword)
            if name not in self.params or name in out:
                raise TypeError(f"{self.name} has no operand {keyword!r}")
            out[name] = value
        return {name: out[name] for name in self.params if name in out}

    def for_call(self, types: Sequence[Any]) -> ScalarRule | None:
        """The row for operands of these Numba types (scalars or arrays of them), in order.

        None where there is no scalar rule for this call (``max`` of one iterable, ``np.where`` of a
        condition alone).
        """
        rule = self if self.choose is None else self.choose(types)
        if rule is None:
            return None
        if rule.complex is not None and any(_is_complex(t) for t in types):
            row = rule.complex
            rule = replace(
                row,
                functions=rule.functions,
                methods=rule.methods,
                attributes=rule.attributes,
                params=rule.params if row.params == ("x",) else row.params,
                keywords=rule.keywords,
                value=rule.value,
            )
        return rule

    def value_text(self, names: Mapping[str, str] | None = None) -> str | None:
        """The function as an expression of its operands, or None: call it."""
        return fill(self.value, names or {}) if self.value else None

    def _index(self, param: int | str) -> int:
        return param if isinstance(param, int) else self.params.index(param)

    def differentiable(self, param: int | str) -> bool:
        """Whether this operand has a derivative at all."""
        i = self._index(param)
        rows = self.pull if self.pull is not None else self.partials
        return i < len(rows) and rows[i] is not None

    def needs(self, param: int | str, literals: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Which operands and ``out`` the derivative of this operand reads."""
        i = self._index(param)
        if not self.differentiable(i):
            return frozenset()
        if self.pull is not None and self.push is not None:
            text = f"({self.pull[i]}, {self.push[i]})"
        else:
            text = self._text(i, literals or {})
        return names_in(text) & {*self.params, "out"}

    def _text(self, i: int, literals: Mapping[str, Any]) -> str:
        if literals and self.literal is not None:
            text = self.literal(self.params[i], literals)
            if text is not None:
                return text
        return self.partials[i] or "0.0"

    def partial(
        self,
        param: int | str,
        names: Mapping[str, str] | None = None,
        *,
        single: bool = False,
        literals: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Source text of one partial.

        Parameters
        ----------
        param : int or str
            The operand.
        names : mapping
            Source text for each operand and ``out``; those left out keep their name.
        single : bool
            Write float literals as float32.
        literals : mapping
            Values of the operands that are compile-time constants, by name.
        """
        i = self._index(param)
        if not self.differentiable(i) or self.pull is not None:
            return None
        return fill(self._text(i, literals or {}), names or {}, single)

    def push_text(
        self,
        param: int | str,
        dot: str,
        types: Sequence[Any],
        names: Mapping[str, str] | None = None,
        literals: Mapping[str, Any] | None = None,
    ) -> str | None:
        """What the tangent `dot` of one operand adds to the result's tangent.

        `types` are the Numba types of the operands, then of the result.
        """
        i = self._index(param)
        if not self.differentiable(i):
            return None
        single = _is_single(types[-1])
        if self.push is not None:
            return fill(self.push[i] or "0.0", {**(names or {}), "dot": dot}, single)
        partial = self.partial(i, names, single=single, literals=literals) or "0.0"
        return self._product(dot, partial, self._text(i, literals or {}))

    def pull_text(
        self,
        param: int | str,
        ct: str,
        types: Sequence[Any],
        names: Mapping[str, str] | None = None,
        literals: Mapping[str, Any] | None = None,
        discarded: bool = False,
    ) -> str | None:
        """What the cotangent `ct` of the result adds to one operand's cotangent.

        Conjugates complex partials and takes the real part for a real operand of a complex result. `discarded`: the
        cotangent may be zero where the partial is not finite, because of one of its operands.
        """
        i = self._index(param)
        if not self.differentiable(i):
            return None
        single = _is_single(types[i])
        if self.pull is not None:
            return fill(self.pull[i] or "0.0", {**(names or {}), "ct": ct}, single)
        partial = self.partial(i, names, single=single, literals=literals) or "0.0"
        is_complex = any(_is_complex(t) for t in types)
        if is_complex and not _is_number(partial):
            partial = f"np.conj({partial})"
        text = self._product(ct, partial, self._text(i, literals or {}), discarded and not _is_number(partial))
        if _is_complex(types[-1]) and not _is_complex(types[i]):
            text = f"np.real({text})"
        return text

    def _product(self, g: str, partial: str, row: str, discarded: bool = False) -> str:
        """`g` times a partial, whose text in the row says when it may be infinite."""
        if partial in ("1.0", "np.float32(1.0)"):
            return g
        if partial in ("-1.0", "-np.float32(1.0)"):
            return fill("-g", {"g": g})
        if self.select or isinstance(row, Factor):
            return f"mul0({partial}, {g})"
        if discarded or (self.singular and not isinstance(row, Regular)):
            quotient = re.fullmatch(r"1\.0 / (\w+)", partial)
            return f"div0({g}, {quotient[1]})" if quotient else f"mul0({g}, {partial})"
        return fill("g * p", {"g": g, "p": partial})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ----- rules of functions of arrays ----------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ArrayRule(Rule):
    """A function of arrays, given by one tangent and one pullback function per argument.

    Attributes
    ----------
    push, pull : dict
        Parameter name -> njit function or `Choose`. A key of `pull` may name several parameters,
        ``"a, b"``: that function returns a tuple, for rules where the pullbacks share work.
    push_vectors : dict
        As `push`, for tangents in several directions at once (`runtime.vectors`). A parameter without one, or whose
        `Choose` returns None, is pushed in one direction after the other.
    view : bool or callable
        The result shares memory with the first parameter: tangents and shadows are made by applying
        the same function to the tangent or shadow. ``view(types) -> bool`` where it depends on types.
    shares : bool
        The result shares memory with its arguments, but the rule takes it for a copy: writing into this memory while
        the result is in use is refused.
    when : callable, optional
        ``when(types) -> bool``: whether the rule stands for a call with these types.
    otherwise : njit function or Choose, optional
        What to inline in place of a call that the rule does not stand for, with the parameters in
        order. Without it Numba's own implementation is to be read, as if there were no rule.
    cases : tuple
        Test cases: functions of a random generator that return the argument tuple.
    """

    push: dict[str, Any] = field(default_factory=dict)
    pull: dict[str, Any] = field(default_factory=dict)
    push_vectors: dict[str, Any] = field(default_factory=dict)
    view: bool | Callable[[dict[str, Any]], bool] = False
    shares: bool = False
    when: Callable[[dict[str, Any]], bool] | None = None
    otherwise: Any = None
    cases: tuple = ()

    def applies(self, types: dict[str, Any]) -> bool:
        """Whether the rule stands for a call with these types."""
        return self.when is None or bool(self.when(types))

    def implement(self, types: dict[str, Any]) -> Any | None:
        """The njit function to inline for a call that the rule does not stand for, or None."""
        return self.otherwise(types) if isinstance(self.otherwise, Choose) else self.otherwise

    def is_view(self, types: dict[str, Any]) -> bool:
        """Whether, for these types, the result shares memory with the first parameter."""
        return bool(self.view(types)) if callable(self.view) else self.view

    def differentiable(self, param: str) -> bool:
        """Whether this parameter has a derivative at all."""
        return param in self.push

    def pushforward(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]] | None:
        """``(function, needs)`` with ``function(dot, *needs)``, or None where the derivative is zero."""
        return _resolve(self.push.get(param), types)

    def pushforward_vectors(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]] | None:
        """As `pushforward`, for several directions at once; None where there is no such function."""
        return _resolve(self.push_vectors.get(param), types)

    def pullback(self, param: str, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]] | None:
        """``(function, needs)`` with ``function(ct, *needs)``, or None where the derivative is zero."""
        return _resolve(self.pull.get(param), types)

    def pullbacks(
        self, active: Iterable[str], types: dict[str, Any]
    ) -> list[tuple[tuple[str, ...], Any, tuple[str, ...]]]:
        """All pullbacks for the active parameters, as ``(params, function, needs)``.

        The function returns one contribution for one parameter, a tuple for several.
        """
        left = list(active)
        out = []
        for key in self.pull:
            params = tuple(p.strip() for p in key.split(","))
            if len(params) > 1 and all(p in left for p in params):
                found = _resolve(self.pull[key], types)
                if found is not None:
                    out.append((params, *found))
                    left = [p for p in left if p not in params]
        for param in left:
            found = self.pullback(param, types)
            if found is not None:
                out.append(((param,), *found))
        return out


def _resolve(fn: Any, types: dict[str, Any]) -> tuple[Any, tuple[str, ...]] | None:
    if isinstance(fn, Choose):
        fn = fn(types)
    return None if fn is None else (fn, needs_of(fn))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RewriteRule(Rule):
    """A function that the front end replaces by a readable implementation of it, then inlines.

    For functions whose implementation in Numba cannot be read, and that are cheap compositions.

    Attributes
    ----------
    implementation : njit function or Choose
        Takes the parameters in the order of `params`.
    """

    implementation: Any = None
    cases: tuple = ()

    def implement(self, types: dict[str, Any]) -> Any:
        """The njit function to inline for these types (never None)."""
        fn = self.implementation
        return fn(types) if isinstance(fn, Choose) else fn


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ZeroRule(Rule):
    """A function whose derivative is zero wherever it exists.

    Attributes
    ----------
    active_reason, active_way_out : str
        When not empty, an active argument is an error with this reason and way out: the result is a
        constant only as long as its arguments are (draws from a gamma distribution).
    """

    active_reason: str = ""
    active_way_out: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AllocRule(Rule):
    """A function that makes a new array.

    Attributes
    ----------
    fill : str, optional
        The parameter whose value fills the array, and whose derivative flows into every element.
    like : str, optional
        The parameter whose shape and dtype the result takes (its values are not read).
    """

    fill: str | None = None
    like: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MutatingRule(Rule):
    """A function that writes into its argument `target`; the transforms handle each by name.

    Attributes
    ----------
    implementation : njit function or Choose, optional
        What the front end inlines in place of a call, with the parameters in order.
    """

    target: str = "a"
    implementation: Any = None

    def implement(self, types: dict[str, Any]) -> Any | None:
        """The njit function to inline for these types, or None."""
        return self.implementation(types) if isinstance(self.implementation, Choose) else self.implementation


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RefusedRule(Rule):
    """A function that is refused on purpose.

    Attributes
    ----------
    reason, way_out : str
        The two halves of the error message.
    """

    reason: str = ""
    way_out: str = ""
