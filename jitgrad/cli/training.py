"""Training a classifier of digits: settings, the state of a run, its loop, its evaluation.

A run can stop between any two batches and continue from its file as if it had not: the file holds the parameters,
the optimizer's state, the position in the epoch, and the random generator as it was before the epoch's shuffle.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jitgrad.cli.checkpoint import load_arrays, save_arrays
from jitgrad.cli.engines import ENGINES
from jitgrad.data import Mnist
from jitgrad.errors import DataError, JitgradError
from jitgrad.nn.layers import softmax_cross_entropy
from jitgrad.nn.models import MODELS
from jitgrad.optim import OPTIMIZERS, Optimizer, schedules
from jitgrad.optim.parameters import Parameter, install, value

FORMAT = "jitgrad-mnist-1"
SIDE, CLASSES = 28, 10
DTYPES = ("float32", "float64")
SCHEDULES: dict[str, Callable[[float, int], Any]] = {
    "constant": lambda rate, steps: rate,
    "linear": lambda rate, steps: schedules.PolynomialDecay(rate, steps, end_learning_rate=0.0),
    "cosine": schedules.CosineDecay,
    "exponential": lambda rate, steps: schedules.ExponentialDecay(rate, steps, decay_rate=0.01),
}
"""How the learning rate falls from `rate` over all `steps` of a training."""
EPOCHS = {"cnn": 5}
DEFAULT_EPOCHS = 20
EVALUATION_BATCH = 500


def one_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: without threads of BLAS.

    The products of one batch are too small to share: threads would mostly wait for each other, on a busy machine for
    seconds.
    """

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        from threadpoolctl import threadpool_limits

        # Numba multiplies with SciPy's BLAS, which must be loaded before it can be limited.
        importlib.import_module("scipy.linalg.cython_blas")
        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


class DivergenceError(JitgradError):
    """The loss is no longer finite."""


@dataclass(frozen=True)
class Settings:
    """What determines a run. `None` stands for the default of the model or of the optimizer."""

    model: str = "mlp"
    optimizer: str = "adam"
    engine: str = "compiled"
    epochs: int | None = None
    batch_size: int = 50
    learning_rate: float | None = None
    schedule: str = "constant"
    momentum: float | None = None
    nesterov: bool | None = None
    seed: int = 0
    dtype: str = "float32"

    @property
    def total_epochs(self) -> int:
        return self.epochs if self.epochs is not None else EPOCHS.get(self.model, DEFAULT_EPOCHS)

    @property
    def initial_rate(self) -> float:
        """The learning rate of the first step."""
        if self.learning_rate is not None:
            return self.learning_rate
        return inspect.signature(OPTIMIZERS[self.optimizer]).parameters["learning_rate"].default

    def batches(self, examples: int) -> int:
        """Steps per epoch."""
        return -(-examples // self.batch_size)

    def make_optimizer(self, examples: int) -> Optimizer:
        """The optimizer of a training on so many examples, or an error naming an option that it does not have."""
        kind = OPTIMIZERS[self.optimizer]
        given = {name: getattr(self, name) for name in ("momentum", "nesterov") if getattr(self, name) is not None}
        for name in given:
            if name not in inspect.signature(kind).parameters:
                option = name.replace("_", "-")
                raise DataError(f"--{option} does not apply to the optimizer {self.optimizer}")
        if self.nesterov and not self.momentum:
            raise DataError("--nesterov needs a momentum above 0; give one with --momentum")
        # First the number: a wrong one is the optimizer's to report.
        optimizer = kind(learning_rate=self.initial_rate, **given)
        steps = self.total_epochs * self.batches(examples)
        optimizer.learning_rate = SCHEDULES[self.schedule](self.initial_rate, steps)
        return optimizer


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
    params: tuple[Parameter, ...]
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
        arrays = MODELS[settings.model].initialize(generator, SIDE, CLASSES, np.dtype(settings.dtype))
        params = tuple(map(ENGINES[settings.engine].parameter, arrays))
        return cls(settings, params, settings.make_optimizer(examples), _random_state(generator), examples)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The values of the parameters."""
        return tuple(map(value, self.params))

    @property
    def batches(self) -> int:
        """Batches per epoch."""
        return self.settings.batches(self.examples)

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
        arrays |= {f"param.{k}": param for k, param in enumerate(self.arrays)}
        arrays |= {f"optimizer.{name}": saved for name, saved in self.optimizer.state_dict().items()}
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
            state = {name[len(prefix) :]: saved for name, saved in arrays.items() if name.startswith(prefix)}
            run.optimizer.load_state_dict(state, run.params)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: incomplete or from another version ({error})") from error
        return run

    def with_settings(self, **changes: Any) -> Run:
        """The same state under other settings; what may change without changing the past is the number of epochs."""
        scheduled = self.settings.schedule != "constant"
        for name, wanted in changes.items():
            saved = getattr(self.settings, name)
            if wanted != saved and (name != "epochs" or scheduled):
                option = name.replace("_", "-")
                reason = f" (its --schedule {self.settings.schedule} depends on it)" if name == "epochs" else ""
                raise DataError(f"--{option} is {saved} in the run to resume and cannot become {wanted}{reason}")
        return replace(self, settings=replace(self.settings, **changes))


def _restore(params: tuple[Parameter, ...], arrays: dict[str, np.ndarray]) -> None:
    for k, param in enumerate(params):
        saved = arrays[f"param.{k}"]
        if saved.shape != param.shape or saved.dtype != param.dtype:
            raise DataError(
                f"param.{k} is {saved.dtype} of shape {saved.shape}, the model needs {param.dtype} of {param.shape}"
            )
        install(param, saved)


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
    loss_and_gradient = ENGINES[run.settings.engine].differentiate(run.settings.model)
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
                raise DivergenceError(
                    f"the loss became {loss} in epoch {run.epoch + 1}; a smaller --learning-rate may help"
                )
            run.optimizer.apply(gradient, run.params)
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
    model = MODELS[run.settings.model]
    dtype = np.dtype(run.settings.dtype)
    predictions = np.empty(len(images), np.int64)
    loss = 0.0
    for start in range(0, len(images), EVALUATION_BATCH):
        part = slice(start, start + EVALUATION_BATCH)
        logits = model.logits(run.arrays, _pixels(images[part], dtype))
        predictions[part] = logits.argmax(axis=1)
        loss += softmax_cross_entropy(logits, labels[part]) * len(logits)
    return loss / len(images), predictions


def accuracy(predictions: np.ndarray, labels: np.ndarray) -> float:
    """The share of right predictions."""
    return float(np.mean(predictions == labels))
