"""Functions of x and y from a text: an expression, or a function in a Python file.

An expression is read as a tree and rewritten node by node; only nodes, names and functions that are listed here come
through, so that a text can do nothing but compute. What comes through is compiled by Numba.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from jitgrad import value_and_grad
from jitgrad.errors import DataError, JitgradError

VARIABLES = ("x", "y")
CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}
ONE = """sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt square abs sign floor ceil
    reciprocal sinc""".split()
TWO = "hypot logaddexp copysign".split()
INVERSES = "sin cos tan sinh cosh tanh".split()
FUNCTIONS: dict[str, tuple[str, int]] = {
    **{name: (f"np.{name}", 1) for name in ONE},
    **{name: (f"np.{name}", 2) for name in TWO},
    # With NumPy's names and with those of the module math.
    **{f"{prefix}{name}": (f"np.arc{name}", 1) for name in INVERSES for prefix in ("a", "arc")},
    **dict.fromkeys(("atan2", "arctan2"), ("np.arctan2", 2)),
    **dict.fromkeys(("pow", "power"), ("np.power", 2)),
    **dict.fromkeys(("fabs", "absolute"), ("np.abs", 1)),
    **{name: (f"math.{name}", 1) for name in ("erf", "erfc", "gamma", "lgamma")},
    **{name: (name[:3], 0) for name in ("min", "max", "minimum", "maximum")},
}
"""What a name stands for, and how many arguments it takes (0: two or more)."""
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
LONGEST = 2000
LARGEST_POWER = 1000

Function = Callable[[float, float], float]
ValueAndGradient = Callable[[float, float], tuple[float, tuple[float, float]]]


def read(text: str) -> Any:
    """The compiled function that `text` describes.

    Parameters
    ----------
    text : str
        An expression of x and y, or ``path.py:name``, or ``path.py`` where the file has one function only.

    Raises
    ------
    DataError
        If it is neither; the message is one line.
    """
    named = re.fullmatch(r"(.+\.py)(?::(.*))?", text.strip(), re.DOTALL)
    return _from_file(Path(named[1]), named[2]) if named else parse(text)


def differentiated(function: Any, text: str) -> ValueAndGradient:
    """Value and gradient of a compiled function, which has been tried at one point.

    Raises
    ------
    DataError
        If it cannot be compiled, or does not return a number.
    """
    both = value_and_grad(function, argnums=(0, 1))
    try:
        value = function(0.5, 0.5)
        if not isinstance(value, (int, float)):
            raise DataError(f"{text}: must return a number, not {type(value).__name__}")
        both(0.5, 0.5)
    except NumbaError as error:
        raise DataError(f"{text}: Numba cannot compile it ({_gist(error)})") from error
    except JitgradError:
        raise
    except Exception as error:
        # The function may have no value here, and other points will tell; but it must have been compiled.
        if not function.signatures:
            raise DataError(f"{text}: Numba cannot compile it ({_gist(error)})") from error
    return both


def _gist(error: Exception) -> str:
    """What a long message of Numba is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("Failed in")), type(error).__name__)


# ----- expressions ----------------------------------------------------------------------------------
def parse(text: str) -> Any:
    """The compiled function of an expression; see `read`."""
    source = f"def function(x, y):\n    return {_rewritten(text)}\n"
    namespace: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, "<expression>", "exec"), namespace)
    return njit(error_model="numpy")(namespace["function"])


def _rewritten(text: str) -> str:
    if len(text) > LONGEST:
        raise DataError(f"the expression has {len(text)} characters; at most {LONGEST} are read")
    try:
        return ast.unparse(_number(ast.parse(text.strip(), mode="eval").body))
    except SyntaxError as error:
        raise DataError(f"{text!r} is no expression of x and y ({error.msg}){_advice(text)}") from error
    except (RecursionError, MemoryError) as error:
        raise DataError(f"{text[:20]}... is nested too deeply") from error


def _advice(text: str) -> str:
    if re.search(r"\d\s*[a-zA-Z(]|\)\s*[\w(]|[xy]\s+[xy]", text):
        return "; write products with *"
    return ""


def _number(node: ast.expr) -> ast.expr:
    """A tree whose value is a float."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            # Integers would overflow, or divide as such; a number too large for a float is not a number.
            try:
                return ast.Constant(float(value))
            except OverflowError:
                raise DataError("a number in the expression is too large") from None
        case ast.Name(id=name) if name in VARIABLES:
            return node
        case ast.Name(id=name) if name in CONSTANTS:
            return ast.Constant(CONSTANTS[name])
        case ast.Attribute(value=ast.Name(id="np" | "numpy" | "math"), attr=name) if name in CONSTANTS:
            return ast.Constant(CONSTANTS[name])
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return ast.UnaryOp(node.op, _number(operand))
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, OPERATORS):
            return ast.BinOp(_number(left), op, _exponent(right) if isinstance(op, ast.Pow) else _number(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ast.IfExp(_condition(test), _number(body), _number(orelse))
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return ast.IfExp(_condition(node), ast.Constant(1.0), ast.Constant(0.0))
        case ast.Call():
            return _call(node)
    raise DataError(_refusal(node))


def _exponent(node: ast.expr) -> ast.expr:
    """An exponent: small integers stay what they are, for powers of negative numbers by multiplication."""
    match node:
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant()):
            return ast.UnaryOp(node.op, _exponent(node.operand))
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and value <= LARGEST_POWER:
            return node
    return _number(node)


def _condition(node: ast.expr) -> ast.expr:
    """A tree whose value is a bool."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others) if all(isinstance(op, COMPARISONS) for op in ops):
            return ast.Compare(_number(left), ops, [_number(other) for other in others])
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(op, [_condition(value) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.UnaryOp(node.op, _condition(operand))
    raise DataError(f"{ast.unparse(node)!r} is no condition; conditions compare numbers, like x < 0")


def _call(node: ast.Call) -> ast.expr:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np" | "numpy" | "math"), attr=name):
            pass
        case _:
            raise DataError(_refusal(node.func))
    if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        raise DataError(f"{ast.unparse(node)!r}: arguments are plain expressions")
    if name == "where" and len(node.args) == 3:
        return ast.IfExp(_condition(node.args[0]), _number(node.args[1]), _number(node.args[2]))
    if name not in FUNCTIONS:
        raise DataError(f"unknown function {ast.unparse(node.func)!r}; there are {', '.join([*FUNCTIONS, 'where'])}")
    target, arity = FUNCTIONS[name]
    count = len(node.args)
    if count != arity if arity else count < 2:
        wanted = {0: "two or more arguments", 1: "one argument", 2: "two arguments"}[arity]
        raise DataError(f"{ast.unparse(node)!r}: {name} takes {wanted}, not {count}")
    return ast.Call(ast.parse(target, mode="eval").body, [_number(arg) for arg in node.args], [])


def _refusal(node: ast.expr) -> str:
    text = ast.unparse(node)
    match node:
        case ast.Name(id=name) if name in FUNCTIONS:
            return f"{name} is a function: write {name}(...)"
        case ast.Name():
            return f"unknown name {text!r}; there are x, y, {', '.join(CONSTANTS)} and functions such as sin and exp"
        case ast.BinOp(op=ast.BitXor()):
            return f"{text!r}: ^ is not a power in Python; write **"
        case ast.Constant():
            return f"{text!r} is not a real number"
    return f"{text!r} may not be part of an expression of x and y"


# ----- functions in files ---------------------------------------------------------------------------
def _from_file(path: Path, name: str | None) -> Any:
    """The function of this name, by default the only one."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    module = _run(path)
    own = [(n, f) for n, f in vars(module).items() if getattr(f, "__module__", None) == module.__name__]
    names = [n for n, f in own if isinstance(f, Dispatcher) or inspect.isfunction(f)]
    if not name:
        if not names:
            raise DataError(f"{path}: has no function; write one of x and y that returns a number")
        if len(names) > 1:
            raise DataError(
                f"{path}: has several functions, {', '.join(names)}; name one of them, like {path}:{names[0]}"
            )
        name = names[0]
    function = getattr(module, name, None)
    plain = function.py_func if isinstance(function, Dispatcher) else function
    if not inspect.isfunction(plain):
        raise DataError(f"{path}: has no function {name!r}; it has {', '.join(names) or 'none'}")
    try:
        inspect.signature(plain).bind(0.0, 0.0)
    except TypeError as error:
        raise DataError(f"{path}:{name}: must take x and y ({error})") from error
    return function if isinstance(function, Dispatcher) else njit(error_model="numpy")(function)


def _run(path: Path) -> Any:
    """The file as a module; like a script, it may import what is beside it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(f"{path}: cannot be run ({type(error).__name__}: {error})") from error
    finally:
        sys.path.pop(0)
    return module
