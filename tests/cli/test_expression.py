"""Texts as functions: what is computed, what is refused, and that nothing else is ever run."""

import math

import numpy as np
import pytest

from jitgrad.cli.expression import FUNCTIONS, differentiated, read
from jitgrad.errors import DataError

VALUES = {
    "x**2 - y**2": lambda x, y: x**2 - y**2,
    "-x**2 / 3": lambda x, y: -(x**2) / 3,
    "1/2 + x**-2 + y**3": lambda x, y: 0.5 + x**-2 + y**3,
    "10**20 * x": lambda x, y: 1e20 * x,
    "(x // 1) % 3 + e*pi - tau": lambda x, y: (x // 1) % 3 + math.e * math.pi - math.tau,
    "np.sin(x)*math.exp(-y) + numpy.pi": lambda x, y: math.sin(x) * math.exp(-y) + math.pi,
    "max(x, y, 1) - minimum(x, y)": lambda x, y: max(x, y, 1) - min(x, y),
    "atan2(x, y) + arctan2(y, x) + pow(x*x, y)": lambda x, y: math.atan2(x, y) + math.atan2(y, x) + (x * x) ** y,
    "x if x > y and not y > 5 else y": lambda x, y: x if x > y else y,
    "where(0 < x <= 2, x, -x) * (y < 0)": lambda x, y: (x if 0 < x <= 2 else -x) * (y < 0),
    "3": lambda x, y: 3.0,
}


@pytest.mark.parametrize("text", VALUES)
def test_expression_computes_what_it_says(text):
    function = read(f" {text} ")
    for x, y in [(0.5, -1.25), (-2.5, 0.75), (1.5, 2.0)]:
        assert function(x, y) == pytest.approx(VALUES[text](x, y), rel=1e-14)
        assert isinstance(function(x, y), float)


def test_gradient():
    value, slopes = differentiated(read("x**2*sin(y) + erf(x)"), "")(0.5, 2.0)
    assert value == pytest.approx(0.25 * math.sin(2.0) + math.erf(0.5))
    bell = 2.0 / math.sqrt(math.pi) * math.exp(-0.25)
    assert slopes == pytest.approx((math.sin(2.0) + bell, 0.25 * math.cos(2.0)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_the_slope_of_its_values(name):
    arity = FUNCTIONS[name][1] or 2
    shift = " + 1.5" if name in ("acosh", "arccosh") else ""
    text = f"{name}({', '.join(('x' + shift, 'y')[:arity])})"
    x, y, h = 0.4, 0.7, 1e-6
    function = read(text)
    value, (dx, dy) = differentiated(function, text)(x, y)
    assert value == function(x, y)
    reference = getattr(np, name, None) or getattr(math, name, None)
    if reference is not None and name not in ("min", "max", "gamma"):
        assert value == pytest.approx(float(reference(*((x + 1.5 if shift else x), y)[:arity])))
    assert dx == pytest.approx((function(x + h, y) - function(x - h, y)) / (2 * h), abs=1e-8)
    assert dy == pytest.approx((function(x, y + h) - function(x, y - h)) / (2 * h), abs=1e-8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no expression"),
        ("x +", "is no expression"),
        ("2x", "write products with *"),
        ("x y", "write products with *"),
        ("x^2", "^ is not a power in Python; write **"),
        ("z + 1", "unknown name 'z'; there are x, y, pi, e, tau"),
        ("sin", "sin is a function: write sin(...)"),
        ("f(x)", "unknown function 'f'; there are sin, cos"),
        ("sin(x, y)", "sin takes one argument, not 2"),
        ("atan2(x)", "atan2 takes two arguments, not 1"),
        ("min(x)", "min takes two or more arguments, not 1"),
        ("sin(x=1)", "arguments are plain expressions"),
        ("sin(*x)", "arguments are plain expressions"),
        ("1j*x", "'1j' is not a real number"),
        ("'x'", "is not a real number"),
        ("True", "is not a real number"),
        ("x if y else 1", "'y' is no condition"),
        ("x is y", "is no condition"),
        ("x and y", "'x' is no condition"),
        ("x @ y", "may not be part of an expression"),
        ("[x, y]", "may not be part of an expression"),
        ("(lambda: x)()", "may not be part of an expression"),
        ("x.real", "may not be part of an expression"),
        ("(a := x)", "may not be part of an expression"),
        ("np.linalg.norm(x)", "may not be part of an expression"),
        ("np.e.real", "may not be part of an expression"),
        ("__import__('os').getcwd()", "may not be part of an expression"),
        ("math.__dict__", "may not be part of an expression"),
        ("f'{x}'", "may not be part of an expression"),
        ("x = 1", "is no expression"),
        ("10**400*" + "9" * 400, "a number in the expression is too large"),
        ("\0", "is no expression"),
        ("x" * 3000, "3000 characters; at most 2000 are read"),
        ("+".join("x" * 900), "is nested too deeply"),
        ("-" * 1900 + "x", "is nested too deeply"),
    ],
)
def test_other_texts_are_refused_in_one_line(text, words):
    with pytest.raises(DataError) as caught:
        read(text)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_nothing_of_a_refused_text_is_run(tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(DataError):
        read(f"x + open({str(mark)!r}, 'w').write('')")
    assert not mark.exists()


FILE = """
import math
from numba import njit
from beside import SCALE

def plain(x, y):
    return SCALE * x * y

@njit
def compiled(x, y, power=2):
    return math.sqrt(x) + y**power

def three(x, y, z):
    return x

def pair(x, y):
    return x, y

def opens(x, y):
    return open("file")

"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "beside.py").write_text("SCALE = 3.0\n")
    (tmp_path / "functions.py").write_text(FILE)
    return tmp_path / "functions.py"


def test_function_of_a_file(file):
    plain, compiled = (read(f"{file}:{name}") for name in ("plain", "compiled"))
    assert differentiated(plain, "")(2.0, 5.0) == (30.0, (15.0, 6.0))
    assert differentiated(compiled, "")(4.0, 3.0) == (11.0, (0.25, 6.0))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("three", "must take x and y (missing a required argument: 'z')"),
        ("nothing", "has no function 'nothing'; it has plain, compiled, three"),
        ("SCALE", "has no function 'SCALE'"),
        ("", "has several functions, plain, compiled, three, pair, opens; name one of them, like "),
        ("pair", "must return a number, not tuple"),
        ("opens", "Numba cannot compile it (Untyped global name 'open'"),
    ],
)
def test_function_of_a_file_that_does_not_fit(file, name, words):
    text = f"{file}:{name}"
    with pytest.raises(DataError) as caught:
        differentiated(read(text), text)
    assert str(caught.value).startswith(str(file)) and words in str(caught.value)


def test_the_only_function_of_a_file_needs_no_name(tmp_path):
    (tmp_path / "one.py").write_text("from math import sin\nslope = lambda x, y: x - 2 * y\n")
    assert read(f"{tmp_path / 'one.py'}")(5.0, 1.0) == 3.0
    (tmp_path / "none.py").write_text("from math import hypot\n")
    with pytest.raises(DataError, match="none.py: has no function; write one of x and y"):
        read(f"{tmp_path / 'none.py'}")


def test_one_of_several_functions_has_to_be_named(file):
    with pytest.raises(DataError, match="functions.py: has several functions, plain, compiled") as caught:
        read(str(file))
    assert str(caught.value).endswith(f"like {file}:plain")


@pytest.mark.parametrize(("content", "words"), [("1/0", "ZeroDivisionError"), ("def f(", "SyntaxError")])
def test_file_that_cannot_be_run(tmp_path, content, words):
    (tmp_path / "broken.py").write_text(content)
    with pytest.raises(DataError, match=rf"broken.py: cannot be run \({words}"):
        read(f"{tmp_path / 'broken.py'}:f")


def test_missing_file():
    with pytest.raises(DataError, match="nowhere.py: no such file"):
        read("nowhere.py:f")
