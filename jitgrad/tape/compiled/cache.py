"""Which structures are compiled, and when; running them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

from jitgrad.backend import linecode
from jitgrad.tape import sweep
from jitgrad.tape.compiled import helpers
from jitgrad.tape.compiled.policy import Account, Met
from jitgrad.tape.compiled.structure import key_of
from jitgrad.tape.compiled.tracing import Trace
from jitgrad.tape.compiled.writer import Written, write
from jitgrad.tape.deferred import (
    asked_again,
    asked_of,
    displace,
    followed,
    forget,
    materialize,
    place,
    remember,
    root,
)
from jitgrad.tape.float_errors import handling, modes
from jitgrad.tape.primitive import plain
from jitgrad.tape.recording import Node, Recording, thread
from jitgrad.tape.tensor import Tensor

CHANGED = (TypeError, BufferError)
"""What a compiled program raises for values that are in memory in another way than when it was compiled, or for one
variable with several values."""

STRUCTURES = 1024
"""How many structures are remembered."""


class Bounded(OrderedDict):
    """A dict that forgets what was not used for longest."""

    def use(self, key: Hashable) -> Any:
        """What is there, or None."""
        found = self.get(key)
        if found is not None:
            try:
                self.move_to_end(key)
            except KeyError:  # another thread made it go
                pass
        return found

    def enter(self, key: Hashable, value: Any) -> None:
        self[key] = value
        if len(self) > STRUCTURES:
            _, old = self.popitem(last=False)
            if isinstance(old, Compiled) and old.outs:
                old.state.drop(old.asked)


class compile_after:
    """Compile the backward sweep of a recorded structure when it is met for the `count`-th time.

    Parameters
    ----------
    count : int or None
        1: at once; None: never. It holds for all threads.

    Notes
    -----
    It takes effect when it is called; used as a context, the setting before is restored at the end. At the start the
    count is 3, and structures that take long to compile wait until that pays (`jitgrad.tape.compiled.policy`); a
    count that is set holds whatever it costs.

    Examples
    --------
    >>> import jitgrad
    >>> from jitgrad.tape import compile_after
    >>> x = jitgrad.Variable([1.0, 2.0])
    >>> with compile_after(None):
    ...     with jitgrad.GradientTape() as tape:
    ...         y = x * x
    ...     gradient = tape.gradient(y, x)
    """

    current: int | None = 3
    patient = True  # whether the account has a say

    def __init__(self, count: int | None):
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise ValueError(f"compile_after takes a positive integer or None, not {count!r}")
        self._before = compile_after.current, compile_after.patient
        compile_after.current, compile_after.patient = count, False

    def __enter__(self) -> compile_after:
        return self

    def __exit__(self, *exception: Any) -> None:
        compile_after.current, compile_after.patient = self._before


class Compiled:
    """A program that is compiled.

    Parameters
    ----------
    written : Written
    trace : Trace
        What it was written from.

    Attributes
    ----------
    run : callable
        ``run(nodes, seeds)`` gives the cotangents of the sources, then the values of `outs`.
    outs : list of int
        The operations that it computes the values of.
    is_complete : bool
        Whether there is a cotangent for every source.
    met, state, asked
        Of a whole program: how its structure was met, where deferred recordings end that it computes, and for what is
        asked of them.
    """

    def __init__(self, written: Written, trace: Trace):
        self.outs = trace.outs
        self.is_complete = None not in written.results
        self.met: Any = None
        self.state: Any = None
        self.asked: Hashable = None
        self._unused = 0
        self.source = written.source
        self.function = _function(written)
        names = {"function": self.function, "Tensor": Tensor, "frombuffer": np.frombuffer, "join": bytearray().join}
        texts = []
        for k, (kind, *rest) in enumerate(written.arguments):
            if kind == "pack":
                names[f"d{k}"], names[f"s{k}"], origins = rest
                text = f"frombuffer(join(({', '.join(map(_found, origins))})), d{k})"
                texts.append(f"{text}.reshape(s{k})" if len(rest[1]) > 1 else text)
            elif kind in ("number", "constant"):
                names[f"c{k}"] = rest[0] if kind == "number" else trace.constants[rest[0]]
                texts.append(f"c{k}")
            else:
                texts.append(_found((kind, *rest)))
        results = []
        returned = iter(range(len(written.results)))
        for k, result in enumerate(written.results):
            if result is None:
                results.append("None")
                continue
            if isinstance(result, tuple):
                text = _found(result)
            elif isinstance(result, type):
                names[f"t{k}"] = result
                text = f"found[{next(returned)}]"
                text = text if result is np.ndarray else f"t{k}({text})"
            else:
                names[f"r{k}"] = result
                text = f"r{k}.copy()"
            results.append(text if k >= len(written.results) - len(trace.outs) else f"Tensor({text})")
        read = {
            origin for kind, *rest in written.arguments for origin in (rest[2] if kind == "pack" else [(kind, *rest)])
        }
        changed = " or ".join(f"{_found(a)} is not {_found(b)}" for a, b in trace.same if a in read)
        check = f"    if {changed}:\n        raise TypeError\n" if changed else ""
        text = f"    found = function({', '.join(texts)})\n    return [{', '.join(results)}]\n"
        exec(f"def run(nodes, seeds):\n{check}{text}", names)
        self.run: Callable[[Sequence[Node], Sequence[Any]], list[Tensor | None]] = names["run"]  # type: ignore[assignment]

    def is_out_of_use(self) -> bool:
        """Whether a whole program is not what it should be: its recordings are computed all the same, or results are
        kept that it does not give. No more recordings are deferred to it then."""
        self._unused += 1
        if self._unused <= UNUSED and self.met.kept.issubset(self.outs):
            return False
        if self._unused > UNUSED:
            self.met.wholes = WHOLES
        self.state.drop(self.asked)
        return True


UNUSED = 2
"""How often the values of recordings may be computed that were to be deferred."""
WHOLES = 4
"""How many whole programs are compiled for a structure of which more and more results are kept."""


def _found(origin: tuple) -> str:
    """The expression for where a value is found; see `Trace.inputs`."""
    kind, first, *rest = origin
    if kind == "seed":
        return f"seeds[{first}]"
    if kind == "out":
        return f"nodes[{first}].out" + "".join(f"[{k}]" for k in rest)
    k, *keys = rest
    return f"nodes[{first}].args[{k}]" + ("._array" if kind == "operand" else "".join(f"[{j}]" for j in keys))


class Refused:
    """A structure that stays with NumPy.

    Attributes
    ----------
    reason : str
    """

    outs = ()

    def __init__(self, reason: str):
        self.reason = reason


_lock = threading.Lock()
_met: Bounded = Bounded()  # by hash: keys would keep alive what they hold
account = Account()
_structures: Bounded = Bounded()
_functions: Bounded = Bounded()  # by source


def clear() -> None:
    """Forget all structures."""
    with _lock:
        _met.clear()
        forget()
        account.clear()
        _structures.clear()
        _functions.clear()


def known() -> list[Compiled | Refused]:
    """The structures met often enough, with their source or with the reason why they stay with NumPy."""
    return list(_structures.values())


def follow(recording: Recording) -> None:
    """Let a recording, which nothing was recorded in yet, repeat what is known."""
    if thread.recordings or thread.overrides is not None or compile_after.current is None:
        return
    recording.kept = set()
    if root.edges:
        recording.handling, errors = handling(None), modes()
        # Who wants errors from NumPy gets them where they arise.
        if _LENIENT.issuperset(errors.values()):
            recording.errors, recording.state = errors, root


_LENIENT = {"ignore", "warn"}


def backward(
    targets: Sequence[Tensor],
    seeds: Sequence[Any],
    sources: Sequence[Tensor],
    recording: Recording,
    call: tuple[Any, Any] | None = None,
) -> list[Tensor | None]:
    """As `sweep.backward`, compiled where the structure is met often.

    `call`: target and sources as the user gave them, where `again` may recognise them the next time.
    """
    if not thread.recordings:
        seeds = [seed if type(seed) is np.ndarray else plain(seed) for seed in seeds]
        found = followed(recording, targets, seeds, sources)
        if found is None or not found.met.kept.issubset(found.outs):
            materialize(recording)
            found = _compiled(recording, targets, seeds, sources)
        elif call is not None and found.is_complete and not any(seed.flags.writeable for seed in seeds):
            remember(recording, *call, found, seeds)
        if type(found) is Compiled:
            try:
                results = found.run(recording.nodes, seeds)
            except CHANGED:
                materialize(recording)
            else:
                return _given(found, recording, results, len(sources)) if found.outs else results
        elif type(found) is Met:
            account.sweep(found, recording.nodes)
    return sweep.backward(targets, seeds, sources, recording)


def again(recording: Recording, target: Any, sources: Any) -> list[Tensor | None] | None:
    """What `backward` gives for a call that it recognises, with which little is to be done; else None."""
    known = None if thread.recordings else asked_again(recording, target, sources)
    if known is None:
        return None
    found, seeds = known
    if not found.met.kept.issubset(found.outs):
        return None
    try:
        results = found.run(recording.nodes, seeds)
    except CHANGED:
        return None
    return _given(found, recording, results, len(results) - len(found.outs))


def _given(whole: Compiled, recording: Recording, results: list[Any], count: int) -> list[Tensor | None]:
    """The cotangents among what a whole program gave; the values enter the recording if they were deferred."""
    if recording.state is not None:
        recording.kept = whole.met.kept
        for k, out in zip(whole.outs, results[count:], strict=True):
            recording.nodes[k].out = out
    del results[count:]
    return results


def rows(
    target: Tensor,
    seeds: Callable[[], Iterator[np.ndarray]],
    sources: Sequence[Tensor],
    recording: Recording,
    threads: int | None,
) -> list[list[Tensor | None]]:
    """A backward sweep for each seed of one target; all of them count as meeting the structure once.

    `threads`: so many run at the same time if the sweep is compiled, by default one.
    """
    materialize(recording)
    first = next(seeds(), None)
    if first is not None and not thread.recordings:
        found = _compiled(recording, [target], [first], sources)
        if type(found) is Compiled:
            nodes, run = recording.nodes, found.run
            try:
                if threads is None or threads < 2:
                    return [run(nodes, [seed]) for seed in seeds()]
                with ThreadPoolExecutor(threads) as pool:
                    return list(pool.map(lambda seed: run(nodes, [seed]), seeds()))
            except CHANGED:
                pass
        elif type(found) is Met:
            swept = [sweep.backward([target], [seed], sources, recording) for seed in seeds()]
            account.sweep(found, recording.nodes, len(swept))
            return swept
    return [sweep.backward([target], [seed], sources, recording) for seed in seeds()]


def _compiled(
    recording: Recording, targets: Sequence[Tensor], seeds: Sequence[Any], sources: Sequence[Tensor]
) -> Compiled | Met | None:
    """What to run for this structure, if it is compiled or to be compiled now; else how it was met, or None."""
    after = compile_after.current
    if after is None:
        return None
    key = key_of(recording, targets, seeds, sources)
    if key is None:
        return None
    found = _structures.use(key)
    if found is None or (found.outs and found.is_out_of_use()):
        digest = hash(key)
        met = _met.use(digest)
        if met is None:
            met = Met()
            _met.enter(digest, met)
        if recording.kept is not None:
            recording.kept = met.kept
        met.count += 1
        if met.count < after or (compile_after.patient and not account.allows(met, recording.nodes)):
            return met
        if not _lock.acquire(blocking=False):
            return met
        try:
            account.compile(recording.nodes)
            found = _whole(met, recording, targets, seeds, sources)
            if found is None and 0 < met.wholes < WHOLES:  # it was compiled before: this recording is a special one
                _structures.pop(key, None)
                return met
            found = found or _made(recording, targets, seeds, sources)
            _structures.enter(key, found)
        finally:
            _lock.release()
    elif found.outs:
        return found.met  # its recordings are to be deferred, and this one was computed
    return found if type(found) is Compiled else None


def _whole(
    met: Met, recording: Recording, targets: Sequence[Tensor], seeds: Sequence[Any], sources: Sequence[Tensor]
) -> Compiled | None:
    """The whole program, which the next recording of this kind is deferred to; None if there is to be none."""
    if met.wholes == WHOLES:
        return None
    state = place(recording)
    if state is None:
        return None
    key = asked_of(recording, targets, seeds, sources)
    if key is not None:
        outs = {target.node.state.depth for target in targets} | met.kept
        found = _made(recording, targets, seeds, sources, outs)
    if key is None or type(found) is not Compiled:
        displace(recording)
        met.wholes = met.wholes + 1 if met.wholes else WHOLES
        return None
    met.wholes += 1
    found.met, found.state, found.asked = met, state, key
    state.programs[key] = found
    return found


def _made(
    recording: Recording,
    targets: Sequence[Tensor],
    seeds: Sequence[Any],
    sources: Sequence[Tensor],
    outs: Collection[int] | None = None,
) -> Compiled | Refused:
    # Whatever goes wrong here: the sweep under NumPy gives the result, or the error.
    try:
        trace = Trace(recording, targets, seeds, sources, outs)
        compiled = Compiled(write(trace), trace)
        trace.release()
        compiled.function.disable_compile(False)
        compiled.run(recording.nodes, seeds)
        compiled.function.disable_compile()
    except Exception as error:
        return Refused(f"{type(error).__name__}: {error}")
    return compiled


# ----- compiling ------------------------------------------------------------------------------------
def _function(written: Written) -> Any:
    """The compiled function of a source, the same for the same source."""
    names = {**helpers.NAMES, **written.kernels}
    found = _functions.use(written.source)
    if found is None:
        tag = hashlib.sha256(written.source.encode()).hexdigest()[:16]
        python = linecode.build(written.source, names, "backward", tag, f"<jitgrad tape {tag}>")
        found = njit(error_model="numpy", nogil=True)(python)
        _functions.enter(written.source, found)
    return found
