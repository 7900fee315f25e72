"""The command `jitgrad`.

This module imports nothing outside the standard library and `jitgrad.errors`, so that it can say which packages the
command needs when they are not installed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

from jitgrad.errors import JitgradError

NEEDED = ("typer", "rich", "matplotlib", "pooch", "threadpoolctl")
USAGE_ERROR = 2
INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 for a bad option or file, 130 when interrupted.

    Parameters
    ----------
    args : sequence of str, optional
        Default: those of the process.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return _fail(f"the command needs {', '.join(missing)}; install them with: pip install 'jitgrad[cli]'")

    from jitgrad.cli.app import command

    try:
        # Not standalone: typer would print a panel of several lines.
        result = command()(args=args, prog_name="jitgrad", standalone_mode=False)
    except JitgradError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        # Errors of usage come from click, or from the copy of it inside typer, depending on typer's version.
        if hasattr(error, "format_message"):
            return _fail(error.format_message() + _where_help_is(error))
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise
    return result if isinstance(result, int) else 0


def _where_help_is(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f" ({context.command_path} --help tells more)" if context is not None else ""


def _fail(message: str) -> int:
    print("jitgrad:", " ".join(message.split()), file=sys.stderr)
    return USAGE_ERROR
