"""Files of named arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jitgrad.cli.files import replacing
from jitgrad.errors import DataError


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write `arrays` to the npz file `path`, replacing it in one step."""
    with replacing(path) as file:
        np.savez(file, **arrays)


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
