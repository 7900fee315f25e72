"""What kernels are made of: the instructions that Numba has no words for.

The only file of the package that writes LLVM. Everything here works for float64 and float32 alike, and on one
number: the vectoriser of LLVM makes vectors of it, as every instruction has a vector form. Of Numba it relies on
`numba.extending.intrinsic`, and on numbers being LLVM floats of their own width.

Nothing here carries a fast-math flag, so a caller's ``fastmath=True`` does not reach the kernels, whose arithmetic
means what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_BITS = {types.float64: 64, types.float32: 32}
_DIGITS = {types.float64: 52, types.float32: 23}  # of the mantissa, without the leading one
_BIAS = {types.float64: 1023, types.float32: 127}
_SQRT_HALF = {types.float64: 0x3FE6A09E667F3BCD, types.float32: 0x3F3504F3}
_LANES = (2, 4, 8, 16)  # vectors of 128 to 512 bits of float64 or float32


def _instruction(emit: Callable[..., Any], operands: int = 1, result: types.Type | None = None) -> Any:
    """An intrinsic of floats of one type: ``emit(builder, type, *values)`` writes it."""

    def typed(*operand_types: Any) -> Any:
        first = operand_types[0]
        if first not in _BITS or any(t != first for t in operand_types):
            return None

        def codegen(context, builder, signature, args):
            return emit(builder, first, *args)

        return (result or first)(*operand_types), codegen

    if operands == 1:
        return intrinsic(lambda typingctx, x: typed(x))
    if operands == 2:
        return intrinsic(lambda typingctx, x, y: typed(x, y))
    return intrinsic(lambda typingctx, x, y, z: typed(x, y, z))


def _integer(ty: types.Type, value: int | None = None) -> Any:
    kind = ir.IntType(_BITS[ty])
    return kind if value is None else ir.Constant(kind, value)


def _as_bits(builder: Any, ty: types.Type, x: Any) -> Any:
    return builder.bitcast(x, _integer(ty))


def _as_float(builder: Any, ty: types.Type, bits: Any) -> Any:
    return builder.bitcast(bits, ir.DoubleType() if ty == types.float64 else ir.FloatType())


def _call(builder: Any, name: str, *args: Any) -> Any:
    """An intrinsic function of LLVM whose operands have one type."""
    kind = args[0].type
    fn = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(fn, args)


# ----- arithmetic --------------------------------------------------------------------------------

absolute = _instruction(lambda builder, ty, x: _call(builder, "llvm.fabs", x))
copysign = _instruction(lambda builder, ty, x, y: _call(builder, "llvm.copysign", x, y), 2)
# x * y + z: `mad` rounds once where the machine does that at no cost, `fma` always
mad = _instruction(lambda builder, ty, x, y, z: _call(builder, "llvm.fmuladd", x, y, z), 3)
fma = _instruction(lambda builder, ty, x, y, z: _call(builder, "llvm.fma", x, y, z), 3)


@intrinsic
def select(typingctx, condition, x, y):
    """``x if condition else y``, both computed."""
    if condition != types.boolean or x != y:
        return None

    def codegen(context, builder, signature, args):
        return builder.select(*args)

    return x(condition, x, y), codegen


def polynomial(coefficients: Sequence[float]) -> Any:
    """An intrinsic ``p(x)``: the polynomial with these coefficients, lowest first.

    Even and odd terms are two polynomials in ``x**2``, each by Horner's scheme: one operation more than that for half
    the latency.
    """

    def emit(builder, ty, x):
        square = builder.fmul(x, x)

        def horner(terms):
            total = ir.Constant(x.type, terms[-1])
            for c in reversed(terms[:-1]):
                total = _call(builder, "llvm.fmuladd", total, square, ir.Constant(x.type, c))
            return total

        return _call(builder, "llvm.fmuladd", horner(coefficients[1::2]), x, horner(coefficients[::2]))

    return _instruction(emit)


# ----- bits --------------------------------------------------------------------------------------


def _power_of_two(builder: Any, ty: types.Type, t: Any) -> Any:
    exponent = builder.shl(_as_bits(builder, ty, t), _integer(ty, _DIGITS[ty]))
    return _as_float(builder, ty, builder.add(exponent, _integer(ty, _BIAS[ty] << _DIGITS[ty])))


def _scale(builder: Any, ty: types.Type, y: Any, t: Any) -> Any:
    """In two products, as ``2**n`` itself may be out of range; what is denormal is rounded by the second alone."""
    rounder = ir.Constant(t.type, 1.5 * 2.0 ** _DIGITS[ty])
    half = _call(builder, "llvm.fmuladd", builder.fsub(t, rounder), ir.Constant(t.type, 0.5), rounder)
    # the integers of t and half differ by the other half, and all other bits are the same
    other = builder.sub(_as_bits(builder, ty, t), _as_bits(builder, ty, half))
    other = builder.add(builder.shl(other, _integer(ty, _DIGITS[ty])), _integer(ty, _BIAS[ty] << _DIGITS[ty]))
    return builder.fmul(builder.fmul(y, _power_of_two(builder, ty, half)), _as_float(builder, ty, other))


def _mantissa(builder: Any, ty: types.Type, x: Any) -> Any:
    bits, low = _as_bits(builder, ty, x), _integer(ty, (1 << _DIGITS[ty]) - 1)
    offset = builder.add(bits, _integer(ty, (_BIAS[ty] << _DIGITS[ty]) - _SQRT_HALF[ty]))
    return _as_float(builder, ty, builder.add(builder.and_(offset, low), _integer(ty, _SQRT_HALF[ty])))


def _exponent(builder: Any, ty: types.Type, x: Any) -> Any:
    digits, bits = _DIGITS[ty], _as_bits(builder, ty, x)
    offset = builder.add(bits, _integer(ty, (_BIAS[ty] << digits) - _SQRT_HALF[ty]))
    # as the low bits of the float 2**digits, an integer need not be converted
    power = _integer(ty, (_BIAS[ty] + digits) << digits)
    number = _as_float(builder, ty, builder.or_(builder.lshr(offset, _integer(ty, digits)), power))
    return builder.fsub(number, ir.Constant(number.type, float((1 << digits) + _BIAS[ty])))


def _bit(k: int) -> Callable[..., Any]:
    def emit(builder, ty, t):
        masked = builder.and_(_as_bits(builder, ty, t), _integer(ty, 1 << k))
        return builder.icmp_unsigned("!=", masked, _integer(ty, 0))

    return emit


# of a number t = n + 1.5 * 2**digits, whose lowest bits are the integer n: 2**n, and y * 2**n
power_of_two = _instruction(_power_of_two)
scale = _instruction(_scale, 2)
# x = m * 2**k with m in [sqrt(1/2), sqrt(2)), for positive normal x
mantissa = _instruction(_mantissa)
exponent = _instruction(_exponent)
# of a number n + 1.5 * 2**digits: whether n is odd, and whether n // 2 is
odd = _instruction(_bit(0), result=types.boolean)
half_odd = _instruction(_bit(1), result=types.boolean)


# ----- rare arguments ----------------------------------------------------------------------------


def rarely(function: str, limit: float) -> Any:
    """An intrinsic ``f(x)``: LLVM's `function` (the C library's) where ``abs(x) >= limit``, else anything.

    A branch keeps a loop from vectorising. Here it is in a function of its own that has vector variants, each with one
    test for all of its lanes: the vectoriser calls these in place of the scalar function. A loop in which no number
    exceeds the limit pays for the test only.

    Relies on the attribute ``vector-function-abi-variant`` of LLVM's functions (``VFABI`` in its documentation),
    and on ``llvm.compiler.used`` to keep the variants, which nothing refers to before loops are vectorised.
    """

    def emit(builder, ty, x):
        module, name = builder.module, f"jitgrad_{function}_from_{limit:.0f}_{ty}"
        if name not in module.globals:
            variants = [_guarded(module, f"{name}_x{n}", ir.VectorType(x.type, n), function, limit) for n in _LANES]
            scalar = _guarded(module, name, x.type, function, limit)
            mapping = ",".join(f"_ZGV_LLVM_N{n}v_{name}({v.name})" for n, v in zip(_LANES, variants, strict=True))
            # llvmlite knows no attributes with values
            set.add(scalar.attributes, f'"vector-function-abi-variant"="{mapping}"')
            _keep(module, variants)
        return builder.call(module.globals[name], [x])

    return _instruction(emit)


def _guarded(module: Any, name: str, kind: Any, function: str, limit: float) -> Any:
    """The function for numbers or vectors of this kind."""
    fn = ir.Function(module, ir.FunctionType(kind, [kind]), name)
    fn.linkage = "linkonce_odr"
    for attribute in ("noinline", "nounwind", "readnone"):
        fn.attributes.add(attribute)
    builder = ir.IRBuilder(fn.append_basic_block("entry"))
    (x,) = fn.args
    lanes = kind.count if isinstance(kind, ir.VectorType) else 0
    most, least = (ir.Constant(kind, [v] * lanes if lanes else v) for v in (limit, -limit))
    rare = builder.or_(builder.fcmp_ordered(">=", x, most), builder.fcmp_ordered("<=", x, least))
    if lanes:
        reduce = f"llvm.vector.reduce.or.v{lanes}i1"
        any_lane = module.globals.get(reduce) or ir.Function(
            module, ir.FunctionType(ir.IntType(1), [rare.type]), reduce
        )
        rare = builder.call(any_lane, [rare])
    with builder.if_then(rare, likely=False):
        if lanes:
            out = x
            for k in range(lanes):
                lane = ir.Constant(ir.IntType(32), k)
                out = builder.insert_element(
                    out, _call(builder, f"llvm.{function}", builder.extract_element(x, lane)), lane
                )
        else:
            out = _call(builder, f"llvm.{function}", x)
        builder.ret(out)
    builder.ret(x)
    return fn


def _keep(module: Any, functions: list[Any]) -> None:
    """Let functions stay in the module though nothing calls them yet."""
    pointer = ir.IntType(8).as_pointer()
    old = module.globals.pop("llvm.compiler.used", None)
    entries = [*(old.initializer.constant if old is not None else ()), *(f.bitcast(pointer) for f in functions)]
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(entries)), "llvm.compiler.used")
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(used.value_type, entries)
