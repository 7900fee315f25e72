"""Reading C prototypes."""

from __future__ import annotations

import ctypes

import pytest
from numba.core import types

from jitgrad.errors import ArgumentError
from jitgrad.native.prototype import TYPES, Parameter, parameter, parse


def test_a_gradient():
    found = parse("  int gradient(int n, const double x[n], double out[ n ],\n void *user_data);")
    assert found.result == types.int32
    assert found.name == "gradient"
    assert found.parameters == (
        Parameter("n", types.int32),
        Parameter("x", types.float64, True, ("n",)),
        Parameter("out", types.float64, True, ("n",)),
        Parameter("user_data", types.void, True),
    )
    assert [p.abi for p in found.parameters] == [
        types.int32, types.CPointer(types.float64), types.CPointer(types.float64), types.voidptr,
    ]  # fmt: skip
    assert [p.opaque for p in found.parameters] == [False, False, False, True]


@pytest.mark.parametrize(
    ("text", "result", "name", "kinds"),
    [
        ("double(double x)", types.float64, "derivative", [types.float64]),
        ("double (double x)", types.float64, "derivative", [types.float64]),
        ("unsigned int(void)", types.uint32, "derivative", []),
        ("void f()", types.void, "f", []),
        ("float f(float x, unsigned long n)", types.float32, "f", [types.float32, types.uint64]),
        (
            "double f(const long long n, size_t m, _Bool b)",
            types.float64,
            "f",
            [types.int64, types.uint64, types.uint8],
        ),
        ("double f(double * x, double const *y)", types.float64, "f", [types.float64, types.float64]),
    ],
)
def test_types(text, result, name, kinds):
    found = parse(text)
    assert (found.result, found.name, [p.type for p in found.parameters]) == (result, name, kinds)


def test_extents():
    found = parse("void f(int m, int n, double a[m][n], double b[2][3][n], double *c)")
    assert [p.extents for p in found.parameters[2:]] == [("m", "n"), (2, 3, "n"), ()]
    assert found["c"].pointer


@pytest.mark.parametrize("name", ["int", "long", "unsigned", "size_t", "bool", "double", "float"])
def test_widths_are_those_of_c(name):
    own = {"unsigned": "uint", "bool": "bool"}.get(name, name)
    assert TYPES[name].bitwidth == 8 * ctypes.sizeof(getattr(ctypes, f"c_{own}"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("double", "no C prototype"),
        (3, "no C prototype"),
        ("double f(x)", "'x' is no parameter"),
        ("double f(double)", "'double' is no parameter"),
        ("double f(unsigned int)", "is no parameter"),
        ("double f(double **x)", "is no parameter"),
        ("quad f(double x)", "'quad' in .* none of the C types"),
        ("double f(complex x)", "'complex' in 'complex x' is none"),
        ("double f(double x[])", "has no extent"),
        ("double f(double *x[3])", "array of pointers"),
        ("double f(void x)", r"write void \*x"),
        ("double f(double x[n])", "the extent n of x is no integer parameter .* add 'int n'"),
        ("double f(double n, double x[n])", "the extent n of x is no integer parameter"),
        ("double f(double x, double x)", "two parameters named x"),
    ],
)
def test_what_is_no_prototype(text, message):
    with pytest.raises(ArgumentError, match=message):
        parse(text)


def test_a_parameter_alone():
    assert parameter("double p[3]") == Parameter("p", types.float64, True, (3,))
