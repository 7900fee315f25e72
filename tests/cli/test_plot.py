"""``jitgrad plot field`` as a person calls it."""

import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

from jitgrad.cli import app as cli_app
from jitgrad.optim import OPTIMIZERS
from tests.cli.calling import picture, run

SMALL = ["--grid", "6", "--contours", "5"]


def test_field_alone(tmp_path, capsys):
    out = tmp_path / "new" / "saddle.png"
    assert run("plot", "field", "x**2 - y**2", *SMALL, "--output", out) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out == f"the picture is {out}\n"
    picture(out)
    assert [path.name for path in out.parent.iterdir()] == ["saddle.png"]


def test_default_output_and_an_expression_with_a_leading_minus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli_app.app, ["plot", "field", "-x**2", *SMALL])
    assert result.exit_code == 0 and result.output == "the picture is field.png\n"
    picture(tmp_path / "field.png")


def rows(text):
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]


def test_descents_from_chosen_starts(tmp_path, capsys):
    out = tmp_path / "bowl.png"
    args = ["--start", "1,-1", "--start=-1.5,0.5", "--optimizer", "sgd", "--optimizer", "adam", "--steps", 7]
    args += ["--learning-rate", "0.25", "--learning-rate", "adam=0.5", "--xlim", "-2,2", "--ylim=-1,1"]
    assert run("plot", "field", "x**2 + y**2", *SMALL, *args, "--title", "bowl", "--output", out) == 0
    table = rows(capsys.readouterr().out)
    assert [row[:4] for row in table] == [
        ["sgd", "0.25", "1, -1", "7"],
        ["sgd", "0.25", "-1.5, 0.5", "7"],
        ["adam", "0.5", "1, -1", "7"],
        ["adam", "0.5", "-1.5, 0.5", "7"],
    ]
    assert table[0][4] == "0.007812, -0.007812" and float(table[0][5]) == pytest.approx(2 / 4**7, rel=1e-3)
    picture(out)


def test_start_without_optimizers_and_optimizers_without_start(tmp_path, capsys):
    args = ["plot", "field", "x**2", *SMALL, "--output", tmp_path / "a.png"]
    assert run(*args, "--start", "1,0") == 0
    assert [row[0] for row in rows(capsys.readouterr().out)] == ["sgd", "adam"]
    assert run(*args, "--optimizer", ",".join(OPTIMIZERS)) == 0
    table = rows(capsys.readouterr().out)
    assert [row[0] for row in table] == [*OPTIMIZERS] and {row[2] for row in table} == {"1.4, 1.6"}


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_kinds_of_pictures(kind, start, tmp_path):
    out = tmp_path / f"picture.{kind}"
    assert run("plot", "field", "sqrt(x)*log(y)", *SMALL, "--output", out) == 0
    assert out.read_bytes().startswith(start)


def test_function_of_a_file(tmp_path):
    (tmp_path / "mine.py").write_text("def rosenbrock(x, y):\n    return (1 - x)**2 + 100 * (y - x**2)**2\n")
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    args = [*SMALL, "--title", "same", "--start", "-1,1"]
    assert run("plot", "field", f"{tmp_path / 'mine.py'}:rosenbrock", *args, "--output", one) == 0
    assert run("plot", "field", "(1 - x)**2 + 100*(y - x**2)**2", *args, "--output", two) == 0
    assert (picture(one) == picture(two)).all()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "Missing argument"),
        (["x^2"], "^ is not a power"),
        (["2x"], "write products with *"),
        (["nowhere.py:f"], "nowhere.py: no such file"),
        (["log(-1 - x**2)"], "has no finite value"),
        (["x", "--fast"], "--fast"),
        (["--fast", "x"], "no such option: --fast"),
        (["x", "--xlim", "1"], "'1' is not two numbers with a comma between them"),
        (["x", "--ylim", "2,1"], "2 is not below 1"),
        (["x", "--start", "a,b"], "'a,b' is not two numbers"),
        (["x", "--start", "1,inf"], "'1,inf' is not finite"),
        (["x", "--optimizer", "newton"], "'newton' is not one of sgd, adam"),
        (["x", "--learning-rate", "adam=fast"], "is neither a number nor like adam=0.01"),
        (["x", "--learning-rate", "lion=1"], "lion is not among the optimizers, sgd, adam"),
        (["x", "--learning-rate", "-1", "--start", "0,0"], "learning_rate must be at least 0"),
        (["x", "--grid", "0"], "--grid"),
        (["x", "--steps", "0"], "--steps"),
        (["x", "--output", "picture.gif"], "picture.gif: the name of a picture must end in .png, .svg, .pdf"),
        (["x", "--output", "file/picture.png"], "file/picture.png: cannot be written"),
    ],
)
def test_bad_call_is_one_line_and_code_2(args, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert run("plot", "field", *args) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("jitgrad: ") and printed.err.count("\n") == 1 and words in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def no_display():
    pyplot.switch_backend("agg")


def test_show_without_a_display_is_one_line(no_display, capsys):
    assert run("plot", "field", "x", "--show") == 2
    assert "--show: Matplotlib's backend agg opens no windows; use --output FILE.png" in capsys.readouterr().err


def test_show_opens_a_window_and_writes_no_file(no_display, monkeypatch, tmp_path, capsys):
    figure, shown = pyplot.figure(layout="constrained"), []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jitgrad.cli.field_picture.window", lambda: figure)
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(len(figure.axes)))
    assert run("plot", "field", "x*y", *SMALL, "--show") == 0
    assert shown == [2] and [*tmp_path.iterdir()] == [] and capsys.readouterr().out == ""
    pyplot.close(figure)


@pytest.mark.parametrize("args", [["plot", "--help"], ["plot", "field", "--help"]])
def test_help(args):
    result = CliRunner().invoke(cli_app.app, args)
    assert result.exit_code == 0 and "Usage:" in result.output
