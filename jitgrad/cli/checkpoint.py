"""Files of named arrays, written so that a reader never meets half of one."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jitgrad.errors import DataError


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write `arrays` to the npz file `path`, replacing it in one step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder: a rename across file systems would be a copy.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **arrays)
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


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an npz file.

    Raises
    ------
    DataError
        If the file is missing, corrupt, or no npz file.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        if not zipfile.is_zipfile(path):
            raise DataError(f"{path}: not a weights file, or a truncated one")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except DataError:
        raise
    # Corrupt bytes surface as errors of zipfile, zlib, struct, the npy header's parser, or as a MemoryError.
    except Exception as error:
        raise DataError(f"{path}: corrupt weights file ({error})") from error


def _umask() -> int:
    # mkstemp makes files private; the only way to read the umask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
