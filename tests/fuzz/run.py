"""Write random programs, differentiate them, compare with differences, and say how many were right.

    python -m tests.fuzz.run --count 2000 --seed 0 [--jobs 2] [--out DIR] [--numba-opt 1] [--interpreted]
    python -m tests.fuzz.run --count 200 --chunk 3 [--math fast]

Programs run in worker processes, so that a crash or a hang costs one program and is counted. Failing
programs are shrunk and written to the output directory; `tests/fuzz/regressions` takes such files as tests.
With --interpreted derivatives run in Python, many times quicker, and only what fails is compiled, to confirm it. With
--chunk Jacobians and Hessians of so many columns at once are compared too; --math chooses the kernels.
Exit status 1 when a derivative was wrong, or anything but a jitgrad error was raised.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CRASH, HANG = "crash", "hang"
CHUNK = 40  # programs per worker process: compiled code is never freed
PATIENCE = 300.0  # seconds without a sign of life
BAD = ("wrong", "error", CRASH, HANG)


def work(seeds: list[int], options: argparse.Namespace) -> None:
    """In the worker: one JSON line before and one after each program."""
    from jitgrad import options as settings
    from tests.fuzz import interpreted
    from tests.fuzz.generator import generate
    from tests.fuzz.judge import FAILURES, examine
    from tests.fuzz.reproduction import to_text
    from tests.fuzz.shrink import shrink

    def judged(sample):
        with settings(math=options.math):
            return examine(sample, chunk=options.chunk)

    for seed in seeds:
        print(json.dumps({"start": seed}), flush=True)
        sample = generate(seed)
        begin = time.perf_counter()
        outcome = examine(sample, interpreted) if options.interpreted else None
        if outcome is None or outcome.kind in FAILURES:
            outcome = judged(sample)
        record = {"seed": seed, "kind": outcome.kind, "detail": outcome.detail, "checked": outcome.checked}
        record |= {"skipped": outcome.skipped, "seconds": round(time.perf_counter() - begin, 2)}
        print(json.dumps(record), flush=True)
        if outcome.kind in FAILURES:
            path = options.out / f"{outcome.kind}_{seed}.py"
            path.write_text(to_text(sample, outcome.detail))
            if options.shrink > 0:
                small = shrink(sample, lambda s, like=outcome: alike(judged(s), like), options.shrink)
                path.write_text(to_text(small, judged(small).detail))
    print(json.dumps({"end": True}), flush=True)


def alike(outcome, first) -> bool:
    """The same failure: the same kind, and for an error the same words at the start of its message."""
    return outcome.kind == first.kind and (outcome.kind == "wrong" or outcome.detail[:110] == first.detail[:110])


def _follow(stream, lines: queue.Queue) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def run_chunk(seeds: list[int], options: argparse.Namespace, report) -> None:
    """Run the seeds in worker processes; after a crash the next worker goes on behind it."""
    while seeds:
        command = [sys.executable, "-m", "tests.fuzz.run", "--worker", ",".join(map(str, seeds))]
        command += ["--out", str(options.out), "--shrink", str(options.shrink)]
        command += ["--chunk", str(options.chunk), "--math", options.math]
        command += ["--interpreted"] if options.interpreted else []
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines: queue.Queue = queue.Queue()
        errors: queue.Queue = queue.Queue()
        threading.Thread(target=_follow, args=(process.stdout, lines), daemon=True).start()
        threading.Thread(target=_follow, args=(process.stderr, errors), daemon=True).start()
        current, done, failure = None, set(), None
        while True:
            try:
                line = lines.get(timeout=PATIENCE + options.shrink)
            except queue.Empty:
                failure = HANG
                process.kill()
                break
            if line is None:
                break
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if "start" in record:
                current = record["start"]
            elif "seed" in record:
                done.add(record["seed"])
                report(record)
        process.wait()
        if current is not None and current not in done:
            text = [line for line in list(errors.queue) if line]
            detail = text[-1].strip() if text else f"exit status {process.returncode}"
            report({"seed": current, "kind": failure or CRASH, "detail": detail, "checked": 0, "skipped": 0})
            done.add(current)
        if not done:
            raise SystemExit("the worker does not start:\n" + "".join(line for line in errors.queue if line))
        seeds = [seed for seed in seeds if seed not in done]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; program k has seed + k")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "jitgrad-fuzz")
    parser.add_argument("--shrink", type=float, default=90.0, help="seconds per failing program")
    parser.add_argument("--numba-opt", default="1", help="LLVM's optimization level, low for quick compilation")
    parser.add_argument("--interpreted", action="store_true", help="screen in Python, compile what fails")
    parser.add_argument("--chunk", type=int, default=0, help="directions at once, 0 for one by one only")
    parser.add_argument("--math", choices=("partials", "libm", "fast"), default="partials")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.worker:
        work([int(seed) for seed in options.worker.split(",")], options)
        return 0
    os.environ["NUMBA_OPT"] = options.numba_opt
    seeds = list(range(options.seed, options.seed + options.count))
    chunks = [seeds[k : k + CHUNK] for k in range(0, len(seeds), CHUNK)]
    records, lock, begin = [], threading.Lock(), time.time()

    def report(record: dict) -> None:
        with lock:
            records.append(record)
            if record["kind"] != "pass":
                print(f"{record['seed']:6} {record['kind']}: {record['detail']}", flush=True)
            if len(records) % 50 == 0:
                print(
                    f"{len(records)} of {len(seeds)}, {_summary(records)}, {time.time() - begin:.0f} s",
                    flush=True,
                )

    def serve() -> None:
        while True:
            with lock:
                chunk = chunks.pop(0) if chunks else None
            if chunk is None:
                return
            run_chunk(chunk, options, report)

    workers = [threading.Thread(target=serve) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    records.sort(key=lambda record: record["seed"])
    (options.out / "summary.json").write_text(json.dumps(records, indent=0))
    print(f"{len(records)} programs in {time.time() - begin:.0f} s: {_summary(records)}")
    print(f"{sum(r['checked'] for r in records)} partial derivatives compared, failing programs in {options.out}")
    if len(records) != len(seeds):
        print("some programs did not run")
        return 1
    return 1 if any(record["kind"] in BAD for record in records) else 0


def _summary(records: list[dict]) -> str:
    counts = collections.Counter(record["kind"] for record in records)
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())


if __name__ == "__main__":
    sys.exit(main())
