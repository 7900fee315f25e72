"""The IDX file format of MNIST: a four-byte magic number, big-endian sizes, big-endian elements.

The magic number is two zero bytes, a code for the element type, and the number of axes. Files may be gzipped;
that is read off the content, not the name.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from pathlib import Path

import numpy as np

from jitgrad.errors import DataError

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CODES = {np.dtype(name).newbyteorder("="): code for code, name in TYPES.items()}


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Read an IDX file, gzipped or not.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ndarray
        In the machine's byte order.

    Raises
    ------
    DataError
        If the file is missing, is no IDX file, or holds fewer or more bytes than its header says.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if not zipped:
                return _parse(file, path)
            with gzip.open(file) as plain:
                return _parse(plain, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: truncated or corrupt gzip file ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def write_idx(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Write `array` as an IDX file, gzipped when the name ends in ``.gz``."""
    array = np.asarray(array)
    code = CODES.get(array.dtype.newbyteorder("="))
    if code is None:
        raise DataError(f"{path}: the IDX format has no element type {array.dtype}")
    if array.ndim > 255:
        raise DataError(f"{path}: the IDX format has at most 255 axes")
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    content = header + array.astype(TYPES[code]).tobytes()
    path = Path(path)
    # No time stamp: the same array gives the same file.
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def _parse(file: io.BufferedIOBase | gzip.GzipFile, path: Path) -> np.ndarray:
    magic = file.read(4)
    if len(magic) < 4:
        raise DataError(f"{path}: truncated: an IDX file starts with four bytes, this one has {len(magic)}")
    zero, code, ndim = struct.unpack(">HBB", magic)
    if zero != 0 or code not in TYPES:
        raise DataError(f"{path}: wrong magic number 0x{magic.hex()}: not an IDX file")
    sizes = file.read(4 * ndim)
    if len(sizes) < 4 * ndim:
        raise DataError(f"{path}: truncated: the header names {ndim} axes but not all of their sizes")
    shape = struct.unpack(f">{ndim}I", sizes)
    dtype = np.dtype(TYPES[code])
    expected = math.prod(shape) * dtype.itemsize
    # Read what is there, not what the header claims: a corrupt size must not reserve gigabytes.
    content = file.read()
    if len(content) != expected:
        word = "truncated" if len(content) < expected else "too long"
        raise DataError(f"{path}: {word}: shape {shape} takes {expected} bytes, the file has {len(content)}")
    return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))
