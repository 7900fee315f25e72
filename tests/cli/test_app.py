"""The command without any of its commands."""

import sys

import pytest

import jitgrad
from tests.cli.calling import run


@pytest.mark.parametrize(
    ("group", "commands"),
    [([], ["bench", "mnist", "plot"]), (["mnist"], ["train", "eval", "compare"]), (["plot"], ["field"])],
)
def test_a_group_alone_prints_its_help(group, commands, capsys):
    assert run(*group) == 0
    printed = capsys.readouterr()
    listed = [line.split()[0] for line in printed.out.split("Commands:\n")[1].splitlines()]
    assert printed.err == "" and printed.out.startswith("Usage: jitgrad") and listed == commands
    assert run(*group, "--help") == 0
    assert capsys.readouterr().out == printed.out


def test_version(capsys):
    assert run("--version") == 0
    assert capsys.readouterr().out == f"jitgrad {jitgrad.__version__}\n"


def test_what_draws_nothing_does_not_wait_for_matplotlib():
    from subprocess import run as process

    code = (
        "import sys; from jitgrad import cli; cli.main(['mnist', 'train', '--help']);"
        "print([name for name in ('matplotlib', 'scipy.special', 'scipy.linalg') if name in sys.modules])"
    )
    done = process([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
