"""The suite's protocol: one JSON message on a line, one answer with the same id."""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

from benchmarks.gradbench.problem import Function

PROBLEMS = ("hello", "gmm", "ba", "lstm", "ht", "ode", "det", "kmeans", "llsq", "lse", "particle", "saddle")


def load(problem: str) -> Any:
    """The module of a problem."""
    if problem not in PROBLEMS:
        raise ValueError(f"there is no problem {problem!r}; there are {', '.join(PROBLEMS)}")
    return importlib.import_module(f"benchmarks.gradbench.problems.{problem}")


def evaluate(function: Function, data: Any) -> dict[str, Any]:
    """Run until both `min_runs` and `min_seconds` of the input hold, and time each run; once before, to compile."""
    bounds = data if isinstance(data, dict) else {}
    least_runs, least_seconds = bounds.get("min_runs", 1), bounds.get("min_seconds", 0.0)
    arguments = function.prepare(data)
    function.run(*arguments)
    timings: list[int] = []
    while len(timings) < least_runs or sum(timings) < 1e9 * least_seconds:
        start = time.perf_counter_ns()
        result = function.run(*arguments)
        timings.append(time.perf_counter_ns() - start)
    return {
        "success": True,
        "output": function.finish(result),
        "timings": [{"name": "evaluate", "nanoseconds": nanoseconds} for nanoseconds in timings],
    }


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The answer to one message."""
    reply = {"id": message["id"]}
    kind = message.get("kind")
    if kind == "start":
        return {**reply, "tool": "jitgrad"}
    if kind not in ("define", "evaluate"):
        return reply
    try:
        module = load(message["module"])
        if kind == "define":
            return {**reply, "success": True}
        return {**reply, **evaluate(module.FUNCTIONS[message["function"]], message["input"])}
    except Exception:  # whatever it was, the suite goes on with its next message
        return {**reply, "success": False, "error": traceback.format_exc()}


def serve(lines: Iterable[str], out: TextIO) -> None:
    """Answer each message in turn."""
    for line in lines:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)
