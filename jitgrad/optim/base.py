"""What all optimizers share: options, state, and the way from gradients to new parameters.

An optimizer is a subclass with three parts: its slots (arrays it keeps for each parameter, with what they start at),
the numbers of one step (`numbers`), and a nopython `kernel`, which makes one pass over all parameters of a dtype.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from jitgrad.errors import ArgumentError, JitgradError
from jitgrad.optim.checks import checked, checked_count, positive
from jitgrad.optim.clipping import Clipping
from jitgrad.optim.parameters import (
    Block,
    Parameter,
    blocks,
    called,
    check_parameter,
    checked_gradient,
    describe,
    install,
    listed,
    value,
)
from jitgrad.optim.schedules import LearningRateSchedule
from jitgrad.optim.slots import Place, Slots, entry
from jitgrad.tape import GradientTape, Variable
from jitgrad.tape.gradient_tape import values_of
from jitgrad.tape.notices import warn
from jitgrad.tape.tensor import Value

ACCUMULATOR, AVERAGE = "gradient_accumulator", "average"
FORMER = {
    "lr": "learning_rate", "decay": "a schedule as learning_rate: jitgrad.optim.schedules.InverseTimeDecay",
    "get_config": "state_dict()", "get_weights": "state_dict()", "set_weights": "load_state_dict(state)",
    "variables": "state_dict()",
}  # fmt: skip
"""Arguments and attributes of Keras's optimizers, now or formerly, and what stands for them here."""


class NoGradientError(JitgradError, ValueError):
    """None of the variables to update has a gradient."""


class CommonOptions(TypedDict, total=False):
    """The options of `Optimizer` but `weight_decay`, to which AdamW gives another default."""

    name: str | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None


class Options(CommonOptions, total=False):
    """The options that all optimizers have; `Optimizer` describes them."""

    weight_decay: float | None


class Optimizer:
    """Base class of the optimizers.

    Parameters
    ----------
    learning_rate : float, LearningRateSchedule, or a function without arguments that returns a float
    slots : mapping of names to numbers
        The arrays kept for each parameter, and what they are filled with at the start.
    name : str, optional
    weight_decay : float, optional
        Each step first takes this share, times the learning rate, off the parameters.
    clipnorm, clipvalue, global_clipnorm : float, optional
        One of them: scale each gradient down to this norm, cut its elements to this absolute value, or scale all
        gradients together down to this norm.
    use_ema : bool
        Keep a running mean of the parameters, as a slot ``average``; see `finalize_variable_values`.
    ema_momentum : float
        What that mean keeps at each step.
    ema_overwrite_frequency : int, optional
        After so many steps, each time, the parameters are set to their mean.
    loss_scale_factor : float, optional
        `minimize` multiplies the loss by it, `apply` divides the gradients: small float32 gradients do not vanish.
    gradient_accumulation_steps : int, optional
        Update once per so many calls, by the mean of their gradients. (A schedule counts the calls, as in Keras.)

    Attributes
    ----------
    kernel : njit function
        ``kernel(w, g, slots, numbers)`` changes ``w`` (all parameters of one dtype, end to end) and the rows of
        ``slots`` in place.

    Examples
    --------
    An optimizer of one's own:

    >>> import numpy as np
    >>> from numba import njit
    >>> from jitgrad.optim import Optimizer
    >>> @njit
    ... def along_signs(w, g, slots, numbers):
    ...     for i in range(w.size):
    ...         w[i] -= numbers[0] * np.sign(g[i])
    >>> class SignDescent(Optimizer):
    ...     kernel = staticmethod(along_signs)
    ...
    ...     def numbers(self, rate, step):
    ...         return (rate,)
    >>> w = np.array([1.0, 2.0])
    >>> SignDescent(0.5, {}).update([w], [np.array([0.1, -30.0])])
    >>> w
    array([0.5, 2.5])
    """

    name: str = "optimizer"
    kernel: Any = None
    aliases: ClassVar[Mapping[str, str]] = {}
    """Names that TensorFlow 1 and Keras 2 had for slots."""

    def __init__(self, learning_rate: Any, slots: Mapping[str, float], **options: Unpack[Options]) -> None:
        unknown = options.keys() - Options.__annotations__.keys()
        if unknown:
            own = [p for p in inspect.signature(type(self)).parameters if p != "options"]
            former = "".join(f"; {name} is now {FORMER[name]}" for name in sorted(unknown & FORMER.keys()))
            raise ArgumentError(
                f"{type(self).__name__} has no argument {' or '.join(sorted(unknown))}{former}; it has "
                f"{', '.join(own)}, and the options of all optimizers: {', '.join(Options.__annotations__)}"
            )
        self.name = options.get("name") or type(self).name
        self.learning_rate = learning_rate
        self.weight_decay = _optional(checked, "weight_decay", options)
        self.clipping = Clipping(options.get("clipnorm"), options.get("clipvalue"), options.get("global_clipnorm"))
        self.use_ema = bool(options.get("use_ema"))
        self.ema_momentum = checked("ema_momentum", options.get("ema_momentum", 0.99), 0.0, 1.0, closed=True)
        self.ema_overwrite_frequency = _optional(checked_count, "ema_overwrite_frequency", options, 1)
        self.loss_scale_factor = _optional(positive, "loss_scale_factor", options)
        self.gradient_accumulation_steps = _optional(checked_count, "gradient_accumulation_steps", options, 2)
        self.scalars: dict[str, float] = {}
        self._initial = dict(slots)
        self._kernel_rows = len(slots)
        if self.gradient_accumulation_steps:
            self._initial[ACCUMULATOR] = 0.0
        if self.use_ema:
            self._initial[AVERAGE] = 0.0
        self._slots = Slots(self._initial)
        self._params: list[Parameter] = []  # in the order of the slots
        self._latest: tuple[list[Parameter], list[int]] = [], []  # those of the latest step, and their places
        self._reported: list[Any] = []  # without a gradient, which the tape has said already
        self._calls = 0
        self._undecayed: tuple[list[Parameter], list[str]] = [], []

    def __getattr__(self, name: str) -> Any:
        hint = f"; use {FORMER[name]}" if name in FORMER else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    # ----- hyper-parameters ----------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update. It can be set to what the optimizer takes at its start."""
        rate = self._learning_rate
        if isinstance(rate, LearningRateSchedule):
            return float(rate(self._calls))
        return float(rate() if callable(rate) else rate)

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if isinstance(value, type):
            raise ArgumentError(
                f"learning_rate must be a number, a schedule or a function, not the class {value.__name__}"
            )
        # A variable stays one, so that assigning to it later has an effect.
        kept = callable(value) or isinstance(value, Variable)
        self._learning_rate = value if kept else checked("learning_rate", value)

    @property
    def iterations(self) -> int:
        """The number of updates made."""
        return self._calls // (self.gradient_accumulation_steps or 1)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        """What the kernel needs to know: called once for each update.

        Parameters
        ----------
        rate : float
            The learning rate.
        step : int
            The number of the update; the first is 1.
        """
        raise NotImplementedError(f"{type(self).__name__} must define numbers(self, rate, step)")

    def exclude_from_weight_decay(self, var_list: Iterable[Any] = (), var_names: Iterable[str] = ()) -> None:
        """Leave variables out of the weight decay.

        Parameters
        ----------
        var_list : iterable of Variable
        var_names : iterable of str
            Regular expressions; a variable is left out if one is found in its name.
        """
        self._undecayed[0].extend(var_list or ())
        self._undecayed[1].extend(var_names or ())

    # ----- from a loss to an update --------------------------------------------------------------
    def minimize(self, loss: Any, var_list: Any = None, tape: Any = None) -> int:
        """Make one step that lowers `loss`: `compute_gradients`, then `apply_gradients`.

        Parameters
        ----------
        loss : function without arguments, or Tensor
            A Tensor needs the `tape` that it was computed on.
        var_list : Variable, sequence of them, or a function that returns one
            By default the trainable variables that the loss uses.
        tape : GradientTape, optional

        Returns
        -------
        int
            The number of updates made so far.
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(self, loss: Any, var_list: Any = None, tape: Any = None) -> list[tuple[Any, Any]]:
        """The gradients of `loss`, paired with their variables.

        Takes what `minimize` takes. With a `loss_scale_factor`, the gradients are those of the scaled loss.
        """
        if not callable(loss) and tape is None:
            raise ArgumentError(
                f"loss must be callable (a function without arguments), not {type(loss).__name__}; "
                "or pass the tape that it was computed on as tape="
            )
        tape = GradientTape() if tape is None else tape
        if not isinstance(tape, GradientTape):
            raise ArgumentError(f"tape must be a jitgrad.GradientTape, not {type(tape).__name__} {tape!r}")
        variables = None if var_list is None or callable(var_list) else _variables(var_list)
        if callable(loss):
            with tape:
                tape.watch(variables or [])
                loss = loss()
        if variables is None:
            variables = _variables(tape.watched_variables() if var_list is None else var_list())
        values_of("loss", loss)
        # The scale enters as the seed, so that nothing has to be recorded on a tape that is given.
        seed = None if self.loss_scale_factor is None else np.full(np.asarray(loss).shape, self.loss_scale_factor)
        pairs = [*zip(tape.gradient(loss, variables, seed), variables, strict=True)]
        self._reported = [variable for gradient, variable in pairs if gradient is None]
        return pairs

    def scale_loss(self, loss: Any) -> Any:
        """`loss` times the `loss_scale_factor`, if there is one."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]]) -> int:
        """Make one step along gradients that are paired with their variables.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            A gradient that is None leaves its variable alone, with a warning.

        Returns
        -------
        int
            The number of updates made so far.

        Raises
        ------
        NoGradientError
            If all gradients are None.
        """
        pairs = _pairs(grads_and_vars)
        for grad, _ in pairs:
            if isinstance(grad, Variable):
                raise ArgumentError(
                    f"apply_gradients takes (gradient, variable) pairs, and {describe(grad)} stands where a gradient "
                    f"should; write zip(gradients, variables)"
                )
        if not pairs:
            raise NoGradientError("apply_gradients: there is no gradient to apply, the list of pairs is empty")
        self.apply([grad for grad, _ in pairs], [variable for _, variable in pairs])
        return self.iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Parameter] | None = None) -> None:
        """Make one step along gradients.

        Parameters
        ----------
        grads : sequence of Tensor, array or None
            None leaves the variable alone, with a warning.
        trainable_variables : sequence of Variable, optional
            By default those that the optimizer knows. An array is changed in place.

        Raises
        ------
        NoGradientError
            If all gradients are None.
        """
        params = self._params if trainable_variables is None else listed(trainable_variables)
        if len(grads) != len(params):
            hint = "" if params else "; pass the variables, or build the optimizer for them"
            raise ArgumentError(f"apply: {len(grads)} gradients for {len(params)} parameters{hint}")
        if not params:
            return
        arrays, missing = {}, []
        for k, (place, grad, param) in enumerate(zip(self._places(params), grads, params, strict=True)):
            if grad is not None:
                arrays[place] = checked_gradient(grad, param, k)
            elif not any(param is known for known in self._reported):
                missing.append(called(param, k))
        self._reported = []
        if not arrays:
            names = ", ".join(called(param, k) for k, param in enumerate(params))
            raise NoGradientError(f"there is no gradient for any variable ({names}); does the loss depend on them?")
        if missing:
            warn(f"no gradient for {', '.join(missing)}: left unchanged")
        self._step(arrays)

    def update(self, params: Sequence[np.ndarray], grads: Sequence[Any]) -> None:
        """Change arrays in place by one step along `grads`.

        Unlike with `apply`, state belongs to the position in `params`, not to the array.

        Parameters
        ----------
        params, grads : sequences of float arrays, pairwise of the same shape
            A gradient of another dtype is converted.

        Examples
        --------
        >>> import numpy as np
        >>> from jitgrad.optim import SGD
        >>> w, b = np.ones(2), np.array(1.0)
        >>> SGD(0.5).update([w, b], [np.array([1.0, 2.0]), 3.0])
        >>> w, b
        (array([0.5, 0. ]), array(-0.5))
        """
        known: Sequence[Place | None] = self._slots.places or [None] * len(params)
        if len(known) != len(params):
            raise ArgumentError(f"update: the optimizer's state is of {len(known)} parameters, not {len(params)}")
        for k, (param, place) in enumerate(zip(params, known, strict=True)):
            check_parameter(param, f"parameter {k}")
            if place is not None and (param.shape, param.dtype) != (place.shape, place.dtype):
                raise ArgumentError(
                    f"update: the optimizer's state for parameter {k} is {place}, the parameter is {describe(param)}"
                )
        if self._params:
            self._params = [*params]
        self.apply(grads, params)

    def _step(self, grads: Mapping[int, np.ndarray]) -> None:
        """One step along the gradients of the parameters at some places."""
        made = blocks([*grads], [value(self._params[k]) for k in grads], [*grads.values()])
        if self.loss_scale_factor is not None:
            for block in made:
                block.grad /= self.loss_scale_factor
        if self.gradient_accumulation_steps is None or self._accumulate(made, self.gradient_accumulation_steps):
            self.clipping.apply([grad for block in made for grad in block.grads])
            rate = self.learning_rate
            numbers = self.numbers(rate, self.iterations + 1)
            for block in made:
                self._decay(block, rate)
                with self._slots.rows(block.dtype, block.places) as rows:
                    self.kernel(block.vector, block.grad, rows[: self._kernel_rows], np.array(numbers, block.dtype))
                for k, part in zip(block.places, block.parts, strict=True):
                    install(self._params[k], part)
        if self.use_ema:
            self._average()
        self._calls += 1

    def _accumulate(self, made: Sequence[Block], steps: int) -> bool:
        """Add gradients to those of earlier calls; with those of the last one, put their mean in place of them."""
        last = (self._calls + 1) % steps == 0
        for block in made:
            with self._slots.rows(block.dtype, block.places) as rows:
                total = rows[self._slots.names.index(ACCUMULATOR)]
                total += block.grad
                if last:
                    block.grad[:] = total / steps
                    total[:] = 0.0
        return last

    def _decay(self, block: Block, rate: float) -> None:
        if self.weight_decay is not None:
            for k, part in zip(block.places, block.parts, strict=True):
                if self._decays(self._params[k]):
                    part *= 1.0 - self.weight_decay * rate

    def _decays(self, param: Parameter) -> bool:
        listed, patterns = self._undecayed
        named = isinstance(param, Variable) and any(re.search(pattern, param.name) for pattern in patterns)
        return not named and not any(param is other for other in listed)

    def _average(self) -> None:
        # The first mean is the first value: there is nothing before it.
        momentum = self.ema_momentum if self.iterations else 0.0
        overwrite = self.ema_overwrite_frequency and (self.iterations + 1) % self.ema_overwrite_frequency == 0
        for k, param in enumerate(self._params):
            mean = self._slots.view(k, AVERAGE)
            mean[...] = momentum * mean + (1.0 - momentum) * value(param)
            if overwrite:
                install(param, mean.copy())

    def finalize_variable_values(self, var_list: Sequence[Parameter] | None = None) -> None:
        """Set parameters to their running mean, at the end of a training with ``use_ema=True``.

        Parameters
        ----------
        var_list : sequence of Variable, optional
            By default all that were updated.
        """
        if not self.use_ema:
            raise ArgumentError(f"{self.name} keeps no mean of the parameters; make it with use_ema=True")
        for param in self._params if var_list is None else listed(var_list):
            install(param, self.get_slot(param, AVERAGE))

    # ----- state ---------------------------------------------------------------------------------
    def build(self, var_list: Sequence[Parameter]) -> None:
        """Make the slots for `var_list`. The first update does it by itself."""
        self._places(listed(var_list))

    def _places(self, params: Sequence[Parameter]) -> list[int]:
        """Where the slots of `params` are; parameters that are new get some."""
        latest, places = self._latest
        if len(params) == len(latest) and all(map(operator.is_, params, latest)):
            return places
        known = {id(param): k for k, param in enumerate(self._params)}
        new = [param for param in params if id(param) not in known]
        for k, param in enumerate(params):
            check_parameter(param, f"parameter {k}")
        if len({id(param) for param in params}) < len(params):
            raise ArgumentError("a parameter is given twice; pass it once, with the sum of its gradients")
        if new:
            first = len(self._params)
            known |= {id(param): k for k, param in enumerate(new, first)}
            self._params += new
            self._slots.add([value(param) for param in new])
            if self.use_ema:
                for k, param in enumerate(new, first):
                    self._slots.view(k, AVERAGE)[...] = value(param)
        places = [known[id(param)] for param in params]
        self._latest = [*params], places
        return places

    def get_slot_names(self) -> list[str]:
        """Names of the arrays that are kept for each parameter."""
        return [*self._slots.names]

    def get_slot(self, var: Parameter, name: str) -> np.ndarray:
        """A copy of one of the arrays kept for `var`.

        Parameters
        ----------
        var : Variable
            One that has been updated.
        name : str
            One of `get_slot_names`, or the name that TensorFlow 1 had for it.

        Examples
        --------
        >>> import jitgrad
        >>> from jitgrad.optim import Adam
        >>> w, optimizer = jitgrad.Variable([1.0, 2.0]), Adam()
        >>> optimizer.apply([[10.0, -10.0]], [w])
        >>> optimizer.get_slot(w, "momentum"), optimizer.get_slot(w, "m")
        (array([ 1., -1.]), array([ 1., -1.]))
        """
        k = next((k for k, param in enumerate(self._params) if param is var), None)
        if k is None:
            raise ArgumentError(f"{self.name} has no slots for {describe(var)}: it has not been updated yet")
        name = name if name in self._slots.names else self.aliases.get(name, name)
        if name not in self._slots.names:
            raise ArgumentError(f"{self.name} has no slot {name!r}; it has {', '.join(self._slots.names) or 'none'}")
        return self._slots.view(k, name).copy()

    def state_dict(self) -> dict[str, np.ndarray]:
        """The state as named arrays: copies, ready for ``np.savez``.

        Slots are named after their position: ``velocity.0`` belongs to the variable that was met first. A learning
        rate that is a number is part of the state; a schedule or a function is not.
        """
        state = {"iterations": np.array(self._calls)}
        state |= {name: np.array(number) for name, number in self.scalars.items()}
        if isinstance(self._learning_rate, float):
            state["learning_rate"] = np.array(self._learning_rate)
        return state | self._slots.state()

    def load_state_dict(self, state: Mapping[str, Any], params: Sequence[Parameter] | None = None) -> None:
        """Restore what `state_dict` returned.

        Parameters
        ----------
        state : mapping of names to arrays
            A dictionary, or what ``np.load`` returns.
        params : sequence of Variable or ndarray
            Those that the optimizer will update, in the order in which it met them. By default those it knows.

        Raises
        ------
        DataError
            If the state is not that of this optimizer for these parameters. The optimizer is then as before.
        """
        if not isinstance(state, Mapping):
            raise ArgumentError(f"state must be what state_dict returned, or np.load of it, not {type(state).__name__}")
        params = self._params if params is None else listed(params)
        for k, param in enumerate(params):
            check_parameter(param, f"parameter {k}")
        calls = int(entry(state, "iterations"))
        scalars = {name: float(entry(state, name)) for name in self.scalars}
        slots = Slots(self._initial)
        slots.add([value(param) for param in params])
        # Nothing was saved before the first update.
        if calls:
            slots.load(state)
        if isinstance(self._learning_rate, float) and "learning_rate" in state:
            self.learning_rate = float(state["learning_rate"])
        self._calls, self.scalars, self._slots, self._params = calls, scalars, slots, [*params]
        self._latest = [], []


def _variables(var_list: Any) -> list[Any]:
    """`var_list` as a list, or an error unless gradients flow to what is in it."""
    found = listed(var_list)
    for k, variable in enumerate(found):
        if not isinstance(variable, Value):
            raise ArgumentError(
                f"var_list must be a jitgrad.Variable or a list of them; number {k} is a {type(variable).__name__}: "
                f"make it a Variable, and use that in the loss"
            )
    return found


def _pairs(grads_and_vars: Any) -> list[tuple[Any, Any]]:
    """Pairs of gradients and variables as a list, or an error unless they are."""
    pairs = [*grads_and_vars] if isinstance(grads_and_vars, Iterable) else None
    if pairs is None or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise ArgumentError(
            "apply_gradients takes a list of (gradient, variable) pairs; write zip(gradients, variables)"
        )
    return pairs


def _optional(check: Callable[..., Any], name: str, options: Options, *limits: float) -> Any:
    """An option, checked unless it is None."""
    given = options.get(name)
    return None if given is None else check(name, given, *limits)
