"""Files that are written in one step, so that a reader never meets half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from jitgrad.errors import DataError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` when all is written; folders are made as needed.

    Raises
    ------
    DataError
        If that is impossible; `path` is then as before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder: a rename across file systems would be a copy.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                # On disk before the rename, or a power cut could leave an empty file under the final name.
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error


def _umask() -> int:
    # mkstemp makes files private; the only way to read the umask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
