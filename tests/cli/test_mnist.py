"""The command as a person calls it: results, files, one clear line and exit code 2 for what cannot work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jitgrad import cli
from jitgrad.cli import app as cli_app
from jitgrad.cli.training import Run
from jitgrad.optim import OPTIMIZERS
from tests.cli.calling import picture, run

PICTURES = ["confusion.png", "learning_curve.png", "misclassified.png"]


def start(*args, **options):
    """The command as a process of its own."""
    command = [sys.executable, "-m", "jitgrad", *map(str, args)]
    root = Path(cli.__file__).parents[2]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
        **options,
    )


def test_train_then_eval(digits, tmp_path, capsys):
    out = tmp_path / "out"
    args = ["--model", "softmax", "--epochs", "2", "--data-dir", digits, "--output", out]
    assert run("mnist", "train", *args) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "compiling the gradient of softmax" in printed.out
    assert "epoch 1/2  loss " in printed.out and "epoch 2/2  loss " in printed.out
    assert "of 100 test digits right" in printed.out
    assert sorted(path.name for path in out.iterdir()) == [*PICTURES, "weights.npz"]
    for name in PICTURES:
        picture(out / name)

    result = next(line for line in printed.out.splitlines() if "test digits right" in line)
    assert run("mnist", "eval", out / "weights.npz", "--data-dir", digits, "--output", tmp_path / "eval") == 0
    printed = capsys.readouterr().out
    assert result in printed and "taken for" in printed
    assert run("mnist", "eval", out, "--data-dir", digits) == 0
    assert capsys.readouterr().out in printed
    assert sorted(path.name for path in (tmp_path / "eval").iterdir()) == [
        "confusion.png",
        "misclassified.png",
    ]


def test_resume_reads_the_settings_of_the_run(digits, tmp_path, capsys):
    options = [
        "--model",
        "softmax",
        "--optimizer",
        "sgd",
        "--learning-rate",
        "0.2",
        "--momentum",
        "0.5",
        "--nesterov",
    ]
    options += ["--batch-size", "30", "--seed", "7", "--dtype", "float64", "--data-dir", digits]
    one, two = tmp_path / "one", tmp_path / "two"
    assert run("mnist", "train", *options, "--epochs", 3, "--output", one) == 0
    assert run("mnist", "train", *options, "--epochs", 1, "--output", two) == 0
    assert run("mnist", "train", "--resume", "--epochs", 3, "--data-dir", digits, "--output", two) == 0
    a, b = Run.load(one / "weights.npz"), Run.load(two / "weights.npz")
    assert a.settings == b.settings and a.history == b.history
    assert [p.tobytes() for p in a.params] == [p.tobytes() for p in b.params]
    capsys.readouterr()
    # Nothing left to do: the pictures and the result again.
    assert run("mnist", "train", "--resume", "--data-dir", digits, "--output", two) == 0
    assert "epoch" not in capsys.readouterr().out


def test_engine_tape_trains_resumes_and_is_evaluated(digits, tmp_path, capsys):
    options = ["--engine", "tape", "--optimizer", "nadam", "--data-dir", digits]
    one, two = tmp_path / "one", tmp_path / "two"
    assert run("mnist", "train", *options, "--epochs", 2, "--output", one) == 0
    assert capsys.readouterr().err == ""
    assert run("mnist", "train", *options, "--epochs", 1, "--output", two) == 0
    assert run("mnist", "train", "--resume", "--epochs", 2, "--data-dir", digits, "--output", two) == 0
    a, b = Run.load(one / "weights.npz"), Run.load(two / "weights.npz")
    assert a.settings == b.settings and a.settings.engine == "tape" and a.history == b.history
    assert [p.tobytes() for p in a.arrays] == [p.tobytes() for p in b.arrays]
    for name in PICTURES:
        picture(one / name)
    assert run("mnist", "eval", one / "weights.npz", "--data-dir", digits) == 0
    assert "of 100 test digits right" in capsys.readouterr().out


def test_compare_shows_all_optimizers(digits, tmp_path, capsys):
    out = tmp_path / "new" / "compare.png"
    args = ["--model", "softmax", "--epochs", 1, "--examples", 60, "--data-dir", digits, "--output", out]
    assert run("mnist", "compare", *args, "--learning-rate", 0.02, "--learning-rate", "adadelta=1") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    rows = {words[1]: words for words in map(str.split, printed.out.splitlines()) if len(words) == 15}
    assert rows.keys() == OPTIMIZERS.keys()
    assert rows["adadelta"][3] == "1" and {row[3] for name, row in rows.items() if name != "adadelta"} == {"0.02"}
    losses = [float(row[5]) for row in rows.values()]
    assert losses == sorted(losses) and losses[0] < losses[-1]
    picture(out)
    assert [path.name for path in out.parent.iterdir()] == ["compare.png"]


@pytest.mark.parametrize("engine", ["compiled", "tape"])
def test_compare_goes_on_after_a_divergence(engine, digits, tmp_path):
    out = tmp_path / "compare.png"
    args = ["mnist", "compare", "--optimizer", "sgd,adam", "--learning-rate", "sgd=1e30", "--epochs", "1"]
    args += ["--engine", engine, "--data-dir", str(digits), "--output", str(out)]
    result = CliRunner().invoke(cli_app.app, args)
    assert result.exit_code == 0, result.output
    names = [words[1] for words in map(str.split, result.output.splitlines()) if "adam" in words or "diverged" in words]
    assert names == ["adam", "sgd"]
    picture(out)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["mnist", "fly"], "No such command 'fly'"),
        (["mnist", "train", "--model", "rnn"], "'rnn' is not one of softmax, mlp, cnn"),
        (["mnist", "train", "--optimizer", "newton"], "'newton' is not one of sgd, adam"),
        (["mnist", "train", "--dtype", "float16"], "'float16' is not one of float32, float64"),
        (["mnist", "train", "--epochs", "0"], "--epochs"),
        (["mnist", "train", "--epochs", "many"], "--epochs"),
        (["mnist", "train", "--batch-size", "-3"], "--batch-size"),
        (["mnist", "train", "--learning-rate", "nan"], "--learning-rate"),
        (["mnist", "train", "--learning-rate", "inf"], "learning_rate must be at least 0 and below inf"),
        (["mnist", "train", "--seed", "-1"], "--seed"),
        (["mnist", "train", "--momentum", "0.9"], "--momentum does not apply to the optimizer adam"),
        (["mnist", "train", "--optimizer", "sgd", "--momentum", "1.5"], "--momentum"),
        (["mnist", "train", "--optimizer", "sgd", "--nesterov"], "nesterov needs a momentum above 0"),
        (["mnist", "train", "--engine", "eager"], "'eager' is not one of compiled, tape"),
        (["mnist", "train", "--schedule", "steps"], "'steps' is not one of constant, linear, cosine, exponential"),
        (["mnist", "train", "--fast"], "No such option: --fast"),
        (["mnist", "compare", "--optimizer", "adam,newton"], "'newton' is not one of sgd, adam"),
        (["mnist", "compare", "--learning-rate", "fast"], "'fast' is neither a number nor like adam=0.01"),
        (["mnist", "compare", "--learning-rate", "newton=1"], "'newton' is not one of sgd, adam"),
        (
            ["mnist", "compare", "--optimizer", "sgd", "--learning-rate", "adam=1"],
            "adam is not among the optimizers, sgd",
        ),
        (["mnist", "compare", "--learning-rate", "-1"], "learning_rate must be at least 0"),
        (["mnist", "compare", "--output", "plot.gif"], "plot.gif: the name of a picture must end in .png"),
        (["mnist", "compare", "--examples", "0"], "--examples"),
        (["mnist", "train", "--data-dir", "nowhere"], "nowhere: no such folder"),
        (
            ["mnist", "train", "--resume", "--output", "nowhere"],
            "nowhere/weights.npz: no such file, nothing to resume",
        ),
        (["mnist", "eval"], "Missing argument"),
        (["mnist", "eval", "nowhere.npz"], "nowhere.npz: no such file"),
        (["mnist", "eval", "."], "weights.npz: no such file"),
        (["mnist", "eval", __file__], "not a weights file"),
    ],
)
def test_bad_call_is_one_line_and_code_2(args, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*args) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("jitgrad: ") and printed.err.count("\n") == 1 and words in printed.err
    assert list(tmp_path.iterdir()) == []


def test_corrupt_data_is_one_line_and_code_2(digits, tmp_path, capsys):
    for path in digits.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    images = tmp_path / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-5])
    assert run("mnist", "train", "--data-dir", tmp_path, "--output", tmp_path / "out") == 2
    assert f"{images}: truncated: shape (330, 28, 28)" in capsys.readouterr().err


def test_unwritable_output_is_one_line_and_code_2(digits, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    args = ["mnist", "train", "--model", "softmax", "--epochs", "1", "--data-dir", digits, "--output"]
    assert run(*args, tmp_path / "file") == 2
    printed = capsys.readouterr()
    assert "file: is a file; --output must name a folder" in printed.err and printed.out == ""
    assert run(*args, tmp_path / "file" / "in") == 2
    assert "weights.npz: cannot be written" in capsys.readouterr().err


def test_resume_with_another_setting_is_refused(digits, tmp_path, capsys):
    args = ["--data-dir", digits, "--output", tmp_path]
    assert run("mnist", "train", "--model", "softmax", "--epochs", "1", *args) == 0
    assert run("mnist", "train", "--resume", "--model", "mlp", *args) == 2
    assert "--model is softmax in the run to resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args", [["--help"], ["mnist", "--help"], ["mnist", "train", "--help"], ["mnist", "compare", "--help"]]
)
def test_help(args):
    result = CliRunner().invoke(cli_app.app, args)
    assert result.exit_code == 0 and "Usage:" in result.output


def test_help_through_main(capsys):
    assert run("mnist", "train", "--help") == 0
    assert "--learning-rate" in capsys.readouterr().out


def test_missing_extras_are_named(monkeypatch, capsys):
    find = cli.importlib.util.find_spec
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None if name in ("rich", "pooch") else find(name))
    assert run("--help") == 2
    assert capsys.readouterr().err == (
        "jitgrad: the command needs rich, pooch; install them with: pip install 'jitgrad[cli]'\n"
    )


def test_process_exit_code_and_stderr(tmp_path):
    process = start("mnist", "train", "--model", "rnn", cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)


def test_ctrl_c_leaves_a_checkpoint_that_resumes(digits, tmp_path):
    args = ["--model", "softmax", "--epochs", "20000", "--data-dir", digits, "--output", tmp_path]
    process = start("mnist", "train", *args)
    deadline = time.time() + 120
    weights = tmp_path / "weights.npz"
    while not weights.exists() and process.poll() is None and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped in epoch" in out and "--resume" in out and err == ""
    before = Run.load(weights)
    assert 0 < before.epoch < 20000
    args = ["--resume", "--epochs", before.epoch + 1, "--data-dir", digits, "--output", tmp_path]
    assert run("mnist", "train", *args) == 0
    after = Run.load(weights)
    assert after.history[: before.epoch] == before.history and after.done
    assert sorted(path.name for path in tmp_path.iterdir()) == [*PICTURES, "weights.npz"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "least"),
    [(["--model", "softmax"], 0.89), (["--model", "mlp"], 0.95), (["--model", "cnn"], 0.95)],
)
def test_accuracy_on_the_embedded_digits(options, least, tmp_path):
    assert run("mnist", "train", *options, "--output", tmp_path) == 0
    assert Run.load(tmp_path / "weights.npz").history[-1].test_accuracy >= least
