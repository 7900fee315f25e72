"""The state of a training: stopping anywhere and continuing changes nothing; broken files are refused."""

import io
import json

import numpy as np
import pytest

from jitgrad.cli.checkpoint import load_arrays, save_arrays
from jitgrad.cli.engines import ENGINES
from jitgrad.cli.training import SCHEDULES, Run, Scores, Settings, accuracy, evaluate, train
from jitgrad.data import load_mnist
from jitgrad.errors import DataError, JitgradError
from jitgrad.optim import OPTIMIZERS

CASES = {
    "softmax": Settings(model="softmax", epochs=3),
    "sgd": Settings(model="mlp", optimizer="sgd", learning_rate=0.1, momentum=0.9, epochs=3, seed=5),
    "nesterov": Settings(
        model="mlp",
        optimizer="sgd",
        learning_rate=0.1,
        momentum=0.9,
        nesterov=True,
        epochs=3,
        dtype="float64",
    ),
    "adam": Settings(model="mlp", batch_size=64, epochs=3),
    "tape": Settings(model="mlp", engine="tape", optimizer="rmsprop", momentum=0.5, epochs=3),
    "cosine": Settings(model="softmax", engine="tape", schedule="cosine", epochs=3),
}


@pytest.fixture(scope="module")
def data(digits):
    return load_mnist(digits)


def state(run):
    optimizer = {name: value.tobytes() for name, value in run.optimizer.state_dict().items()}
    return [p.tobytes() for p in run.arrays], optimizer, run.history, run.random_state, run.epoch, run.batch


@pytest.mark.parametrize("case", CASES)
def test_stopping_and_resuming_changes_nothing(case, data, tmp_path):
    settings, path = CASES[case], tmp_path / "weights.npz"
    straight = Run.start(settings, len(data.train_images))
    assert train(straight, data) is True
    assert straight.history[-1].train_loss < straight.history[0].train_loss

    run = Run.start(settings, len(data.train_images))
    legs, steps = 0, 0
    while not run.done:
        left = 4  # batches before this leg's stop; not a divisor of the batches of an epoch

        def stop():
            return left == 0

        def on_batch(run):
            nonlocal left, steps
            left -= 1
            steps += 1

        finished = train(run, data, on_batch=on_batch, stop=stop)
        assert finished == run.done
        run.save(path)
        run = Run.load(path)
        legs += 1
    assert legs > 3 and steps == 3 * run.batches
    assert state(run) == state(straight)


def test_more_epochs_continue_a_finished_run(data, tmp_path):
    settings = Settings(model="softmax", epochs=2)
    long = Run.start(Settings(model="softmax", epochs=4), len(data.train_images))
    train(long, data)
    run = Run.start(settings, len(data.train_images))
    train(run, data)
    run.save(tmp_path / "w.npz")
    run = Run.load(tmp_path / "w.npz").with_settings(epochs=4)
    train(run, data)
    assert state(run) == state(long)


def test_seed_decides(data):
    runs = [Run.start(Settings(epochs=1, seed=seed), len(data.train_images)) for seed in (1, 1, 2)]
    for run in runs:
        train(run, data)
    assert state(runs[0]) == state(runs[1])
    assert state(runs[0])[0] != state(runs[2])[0]


def test_history_holds_true_scores(data):
    run = Run.start(Settings(model="softmax", epochs=1), len(data.train_images))
    losses = []
    train(run, data, on_batch=lambda run: losses.append(run.loss_sum))
    scores = run.history[0]
    assert scores.train_loss == pytest.approx(losses[-1] / 330)
    loss, predictions = evaluate(run, data.test_images, data.test_labels)
    assert scores.test_loss == loss and scores.test_accuracy == accuracy(predictions, data.test_labels)
    x = data.test_images.reshape(len(data.test_images), -1) / 255
    want = (x @ run.params[0] + run.params[1]).argmax(axis=1)
    np.testing.assert_array_equal(predictions, want)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_lowers_the_loss(name, data):
    run = Run.start(Settings(model="softmax", optimizer=name, learning_rate=0.05, epochs=2), len(data.train_images))
    train(run, data)
    assert run.history[1].train_loss < run.history[0].train_loss


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_fall_over_all_steps(schedule, data):
    settings = Settings(model="softmax", learning_rate=0.25, schedule=schedule, epochs=2)
    run = Run.start(settings, len(data.train_images))
    seen = [run.optimizer.learning_rate]
    train(run, data, on_batch=lambda run: seen.append(run.optimizer.learning_rate))
    last = {"constant": 0.25, "linear": 0.0, "cosine": 0.0, "exponential": 0.0025}[schedule]
    assert seen[0] == 0.25 and seen[-1] == pytest.approx(last)
    assert (np.diff(seen) < 0).all() or schedule == "constant"


def test_epochs_are_part_of_a_schedule():
    run = Run.start(Settings(schedule="linear", epochs=2), 10)
    with pytest.raises(DataError, match=r"--epochs is 2 in the run .* become 3 \(its --schedule linear depends on it"):
        run.with_settings(epochs=3)


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_is_an_error(engine, data):
    settings = Settings(engine=engine, optimizer="sgd", learning_rate=1e30)
    run = Run.start(settings, len(data.train_images))
    with (
        np.errstate(all="ignore"),
        pytest.raises(JitgradError, match="the loss became .* a smaller --learning-rate"),
    ):
        train(run, data)


def test_other_data_is_refused(data):
    run = Run.start(Settings(), 8000)
    with pytest.raises(DataError, match="made on 8000 training digits, the data has 330"):
        train(run, data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "softmax"}, "--model is mlp in the run to resume and cannot become softmax"),
        ({"batch_size": 7}, "--batch-size is 50 in the run to resume and cannot become 7"),
        ({"seed": 1}, "--seed is 0"),
    ],
)
def test_settings_cannot_change_on_the_way(change, words):
    with pytest.raises(DataError, match=words):
        Run.start(Settings(), 10).with_settings(**change)


@pytest.fixture
def saved(tmp_path):
    run = Run.start(Settings(model="softmax", optimizer="sgd"), 10)
    run.history.append(Scores(1.0, 0.5, 2.0, 0.25))
    run.save(tmp_path / "weights.npz")
    return tmp_path / "weights.npz"


def test_round_trip(saved):
    run = Run.load(saved)
    assert run.settings == Settings(model="softmax", optimizer="sgd")
    assert run.history == [Scores(1.0, 0.5, 2.0, 0.25)]
    assert run.examples == 10


def npy():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


def edit(path, **changes):
    arrays = load_arrays(path)
    for name, value in changes.items():
        if value is None:
            del arrays[name]
        else:
            arrays[name] = value
    save_arrays(path, arrays)


def edit_run(path, function):
    text = json.loads(str(load_arrays(path)["run"]))
    function(text)
    edit(path, run=np.array(json.dumps(text)))


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (lambda path: edit(path, format=None), "not a weights file of `jitgrad mnist train`"),
        (lambda path: edit(path, run=None), "incomplete or from another version ('run')"),
        (lambda path: edit(path, run=np.array("{")), "incomplete or from another version"),
        (lambda path: edit(path, **{"param.1": None}), "incomplete or from another version ('param.1')"),
        (
            lambda path: edit(path, **{"param.1": np.zeros(10)}),
            "param.1 is float64 of shape (10,), the model needs",
        ),
        (
            lambda path: edit(path, **{"param.0": np.zeros((2, 10), "f4")}),
            "param.0 is float32 of shape (2, 10)",
        ),
        (lambda path: edit(path, **{"optimizer.iterations": None}), "iterations is missing"),
        (
            lambda path: edit_run(path, lambda text: text["settings"].update(model="rnn")),
            "another version ('rnn')",
        ),
        (lambda path: edit_run(path, lambda text: text["settings"].update(size=3)), "another version"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "not a weights file, or a truncated one"),
        (lambda path: path.write_bytes(b""), "not a weights file"),
        (
            lambda path: path.write_bytes(path.read_bytes().replace(b"\0" * 64, b"\1" * 64)),
            "corrupt weights file",
        ),
        (lambda path: path.write_bytes(npy()), "not a weights file"),
        (lambda path: path.unlink(), "no such file"),
    ],
)
def test_broken_file_is_one_clear_line(saved, breaking, words):
    breaking(saved)
    with pytest.raises(DataError) as caught:
        Run.load(saved)
    message = str(caught.value)
    assert message.startswith(f"{saved}: ") and words in message and "\n" not in message


def test_save_is_atomic(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        Run.start(Settings(), 10).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["weights.npz"]


def test_save_into_an_impossible_place(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        Run.start(Settings(), 10).save(tmp_path / "file" / "weights.npz")
