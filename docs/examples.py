"""The programs in the documentation, run: what they print is compared with what is shown.

    python -m docs.examples docs/quickstart.md          run, show what differs
    python -m docs.examples --write docs/quickstart.md  put what the programs print into the file

Every ``python`` block of a file is run, all in one namespace. A ``text`` block that follows one (as the next
block of the file) holds what it prints; where it ends in an exception, the last line is ``ErrorClass: message``.
White space does not count, so long lines may be broken, nor do memory addresses. Other blocks (``sh``, none) are
left alone.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import linecache
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

WIDTH = 118
ADDRESS = re.compile(r"(?<=#|x)[0-9a-f]{6,}")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Example:
    """A program, and what the file says it prints (None: it says nothing)."""

    line: int
    program: str
    shown: str | None
    span: tuple[int, int] | None  # of the shown text in the file


def examples(text: str) -> list[Example]:
    """The programs of a Markdown text, in order."""
    found: list[Example] = []
    previous = None
    for block in FENCE.finditer(text):
        if block[1] == "python":
            found.append(Example(text.count("\n", 0, block.start()) + 2, block[2], None, None))
        elif block[1] == "text" and previous == "python":
            found[-1].shown, found[-1].span = block[2], block.span(2)
        previous = block[1]
    return found


def run(example: Example, namespace: dict, *, writing: bool = False) -> str:
    """Run a program; returns what it printed. An exception is printed where the text shows one, else raised."""
    filename = f"{id(example)}/example.py"  # errors of jitgrad name the last part
    linecache.cache[filename] = len(example.program), None, example.program.splitlines(keepends=True), filename
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.program, filename, "exec"), namespace)
        except Exception as error:
            expected = example.shown is not None and (writing or type(error).__name__ in example.shown)
            if not expected:
                raise
            print(f"{type(error).__name__}: {error}")
            if writing and type(error).__name__ not in (example.shown or ""):
                print(f"line {example.line} raises {type(error).__name__}", file=sys.stderr)
    return printed.getvalue()


def same(printed: str, shown: str) -> bool:
    """Whether two texts are equal but for white space and memory addresses."""
    one, other = (ADDRESS.sub("...", text).split() for text in (printed, shown))
    return one == other


def differences(path: Path) -> list[str]:
    """Run all programs of a file; returns a message for each that prints something else than is shown."""
    namespace: dict = {"__name__": "example"}
    messages = []
    for example in examples(path.read_text()):
        printed = run(example, namespace)
        shown = example.shown or ""
        if not same(printed, shown):
            difference = difflib.ndiff(shown.splitlines(), _wrapped(printed).splitlines())
            messages.append(f"{path.name}:{example.line} prints something else\n" + "\n".join(difference))
    return messages


def write(path: Path) -> None:
    """Replace what is shown by what the programs print."""
    text = path.read_text()
    namespace: dict = {"__name__": "example"}
    for example in reversed([(e, run(e, namespace, writing=True)) for e in examples(text)]):
        (found, printed) = example
        if found.span is None:
            if printed:
                print(f"{path.name}:{found.line} prints, but no text block follows:\n{printed}")
        elif not same(printed, found.shown or ""):
            text = text[: found.span[0]] + _wrapped(printed) + text[found.span[1] :]
    path.write_text(text)


def _wrapped(printed: str) -> str:
    lines = []
    for line in printed.rstrip().splitlines():
        keep = len(line) <= WIDTH
        lines += [line] if keep else textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put what the programs print into the file")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    if options.write:
        for path in options.files:
            write(path)
        return 0
    messages = [message for path in options.files for message in differences(path)]
    print("\n\n".join(messages) or "everything is as shown")
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
