"""Training a classifier of digits: settings, the state of a run, its loop, its evaluation.

A run can stop between any two batches and continue from its file as if it had not: the file holds the parameters,
the optimizer's state, the position in the epoch, and the random generator as it was before the epoch's shuffle.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from jitgrad import nn, value_and_grad
from jitgrad.cli.checkpoint import load_arrays, save_arrays
from jitgrad.data import Mnist
from jitgrad.errors import DataError, JitgradError
from jitgrad.optim import OPTIMIZERS, Optimizer

FORMAT = "jitgrad-mnist-1"
SIDE, CLASSES = 28, 10
DTYPES = ("float32", "float64")
EPOCHS = {"cnn": 5}
DEFAULT_EPOCHS = 20
EVALUATION_BATCH = 500

# The products of one batch are too small to share: BLAS threads would mostly wait for each other, on a busy machine for
# seconds. Numba multiplies with SciPy's BLAS, which must be loaded before it can be limited.
importlib.import_module("scipy.linalg.cython_blas")
one_thread = threadpool_limits.wrap(limits=1, user_api="blas")


@dataclass(frozen=True)
class Settings:
    """What determines a run. `None` stands for the default of the model or of the optimizer."""

    model: str = "mlp"
    optimizer: str = "adam"
    epochs: int | None = None
    batch_size: int = 50
    learning_rate: float | None = None
    momentum: float | None = None
    nesterov: bool | None = None
    seed: int = 0
    dtype: str = "float32"

    @property
    def total_epochs(self) -> int:
        return self.epochs if self.epochs is not None else EPOCHS.get(self.model, DEFAULT_EPOCHS)

    def make_optimizer(self) -> Optimizer:
        """The optimizer, or an error naming an option that it does not have."""
        kind = OPTIMIZERS[self.optimizer]
        chosen = {name: getattr(self, name) for name in ("learning_rate", "momentum", "nesterov")}
        given = {name: value for name, value in chosen.items() if value is not None}
        for name in given:
            if name not in inspect.signature(kind).parameters:
                option = name.replace("_", "-")
                raise DataError(f"--{option} does not apply to the optimizer {self.optimizer}")
        return kind(**given)


@dataclass(frozen=True)
class Scores:
    """One epoch: mean training loss over its batches, and how the model does on both sets after it."""

    train_loss: float
    train_accuracy: float
    test_loss: float
    test_accuracy: float


@dataclass
class Run:
    """The state of one training."""

    settings: Settings
    params: tuple[np.ndarray, ...]
    optimizer: Optimizer
    random_state: dict[str, Any]
    examples: int
    epoch: int = 0
    batch: int = 0
    loss_sum: float = 0.0
    history: list[Scores] = field(default_factory=list)

    @classmethod
    def start(cls, settings: Settings, examples: int) -> Run:
        """A new run on `examples` training images."""
        generator = np.random.default_rng(settings.seed)
        params = nn.MODELS[settings.model].initialize(generator, SIDE, CLASSES, np.dtype(settings.dtype))
        return cls(settings, params, settings.make_optimizer(), _random_state(generator), examples)

    @property
    def batches(self) -> int:
        """Batches per epoch."""
        return -(-self.examples // self.settings.batch_size)

    @property
    def done(self) -> bool:
        return self.epoch >= self.settings.total_epochs

    def save(self, path: Path) -> None:
        """Write all of it to `path`, in one step."""
        text = {
            "settings": asdict(self.settings),
            "random_state": self.random_state,
            "position": {
                "examples": self.examples,
                "epoch": self.epoch,
                "batch": self.batch,
                "loss_sum": self.loss_sum,
            },
            "history": [asdict(scores) for scores in self.history],
        }
        arrays = {"format": np.array(FORMAT), "run": np.array(json.dumps(text))}
        arrays |= {f"param.{k}": param for k, param in enumerate(self.params)}
        arrays |= {f"optimizer.{name}": value for name, value in self.optimizer.state_dict().items()}
        save_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> Run:
        """Read what `save` wrote.

        Raises
        ------
        DataError
            If the file is missing, corrupt, or not of this kind.
        """
        arrays = load_arrays(path)
        if str(arrays.get("format")) != FORMAT:
            raise DataError(f"{path}: not a weights file of `jitgrad mnist train`")
        try:
            text = json.loads(str(arrays["run"]))
            settings = Settings(**text["settings"])
            run = cls.start(settings, text["position"]["examples"])
            run.random_state = text["random_state"]
            run.epoch, run.batch = text["position"]["epoch"], text["position"]["batch"]
            run.loss_sum = text["position"]["loss_sum"]
            run.history = [Scores(**scores) for scores in text["history"]]
            _restore(run.params, arrays)
            prefix = "optimizer."
            state = {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}
            run.optimizer.load_state_dict(state, run.params)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: incomplete or from another version ({error})") from error
        return run

    def with_settings(self, **changes: Any) -> Run:
        """The same state under other settings; what may change without changing the past is the number of epochs."""
        for name, value in changes.items():
            saved = getattr(self.settings, name)
            if value != saved and name != "epochs":
                option = name.replace("_", "-")
                raise DataError(f"--{option} is {saved} in the run to resume and cannot become {value}")
        return replace(self, settings=replace(self.settings, **changes))


def _restore(params: tuple[np.ndarray, ...], arrays: dict[str, np.ndarray]) -> None:
    for k, param in enumerate(params):
        saved = arrays[f"param.{k}"]
        if saved.shape != param.shape or saved.dtype != param.dtype:
            raise DataError(
                f"param.{k} is {saved.dtype} of shape {saved.shape}, the model needs {param.dtype} of {param.shape}"
            )
        param[...] = saved


def _random_state(generator: np.random.Generator) -> dict[str, Any]:
    return dict(generator.bit_generator.state)


def _pixels(images: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return images.astype(dtype) / dtype.type(255)


@one_thread
def train(
    run: Run,
    data: Mnist,
    on_batch: Callable[[Run], None] = lambda run: None,
    on_epoch: Callable[[Run], None] = lambda run: None,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Train until the run is done.

    Parameters
    ----------
    run : Run
        Changed in place.
    data : Mnist
    on_batch, on_epoch : functions of the run
        Called after each batch and after each epoch's evaluation.
    stop : function
        Asked before each batch whether to leave the run where it is.

    Returns
    -------
    bool
        Whether the run is done; False if it was stopped.
    """
    if run.examples != len(data.train_images):
        raise DataError(f"the run was made on {run.examples} training digits, the data has {len(data.train_images)}")
    loss_and_gradient = value_and_grad(nn.MODELS[run.settings.model].loss)
    dtype = np.dtype(run.settings.dtype)
    size = run.settings.batch_size
    while not run.done:
        generator = np.random.default_rng()
        generator.bit_generator.state = run.random_state
        order = generator.permutation(run.examples)
        while run.batch < run.batches:
            if stop():
                return False
            chosen = order[run.batch * size : (run.batch + 1) * size]
            images = _pixels(data.train_images[chosen], dtype)
            loss, gradient = loss_and_gradient(run.params, images, data.train_labels[chosen])
            if not math.isfinite(loss):
                raise JitgradError(
                    f"the loss became {loss} in epoch {run.epoch + 1}; a smaller --learning-rate may help"
                )
            run.optimizer.update(run.params, gradient)
            run.loss_sum += float(loss) * len(chosen)
            run.batch += 1
            on_batch(run)
        run.history.append(_scores(run, data))
        run.random_state = _random_state(generator)
        run.epoch, run.batch, run.loss_sum = run.epoch + 1, 0, 0.0
        on_epoch(run)
    return True


def _scores(run: Run, data: Mnist) -> Scores:
    _, train_predictions = evaluate(run, data.train_images, data.train_labels)
    test_loss, test_predictions = evaluate(run, data.test_images, data.test_labels)
    return Scores(
        train_loss=run.loss_sum / run.examples,
        train_accuracy=accuracy(train_predictions, data.train_labels),
        test_loss=test_loss,
        test_accuracy=accuracy(test_predictions, data.test_labels),
    )


@one_thread
def evaluate(run: Run, images: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean loss on some digits, and the predicted digit of each."""
    model = nn.MODELS[run.settings.model]
    dtype = np.dtype(run.settings.dtype)
    predictions = np.empty(len(images), np.int64)
    loss = 0.0
    for start in range(0, len(images), EVALUATION_BATCH):
        part = slice(start, start + EVALUATION_BATCH)
        logits = model.logits(run.params, _pixels(images[part], dtype))
        predictions[part] = logits.argmax(axis=1)
        loss += nn.softmax_cross_entropy(logits, labels[part]) * len(logits)
    return loss / len(images), predictions


def accuracy(predictions: np.ndarray, labels: np.ndarray) -> float:
    """The share of right predictions."""
    return float(np.mean(predictions == labels))
