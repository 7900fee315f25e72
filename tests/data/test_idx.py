"""The IDX reader and writer, and what they say about broken files."""

import gzip
import struct

import numpy as np
import pytest

from jitgrad.data import read_idx, write_idx
from jitgrad.errors import DataError, JitgradError


@pytest.mark.parametrize("name", ["a.idx", "a.idx.gz"])
@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4)])
def test_round_trip(tmp_path, name, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    write_idx(tmp_path / name, array)
    back = read_idx(tmp_path / name)
    assert back.dtype == array.dtype and back.dtype.isnative
    np.testing.assert_array_equal(back, array)
    back[...] = 1  # the caller's own array


def test_bytes_are_those_of_the_format(tmp_path):
    write_idx(tmp_path / "a", np.array([[1, 258]], np.int16))
    assert (tmp_path / "a").read_bytes() == b"\0\0\x0b\x02" + struct.pack(">II", 1, 2) + b"\0\x01\x01\x02"


def test_gzip_is_read_off_the_content(tmp_path):
    write_idx(tmp_path / "a.gz", np.arange(4, dtype=np.uint8))
    (tmp_path / "a.gz").rename(tmp_path / "a")
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), [0, 1, 2, 3])


def test_big_endian_and_strided_arrays_are_written(tmp_path):
    write_idx(tmp_path / "a", np.arange(6, dtype=">i4")[::2])
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), [0, 2, 4])


GOOD = b"\0\0\x08\x01" + struct.pack(">I", 3) + b"abc"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "truncated: an IDX file starts with four bytes, this one has 0"),
        (b"\0\0\x08", "this one has 3"),
        (b"\x89PNG\r\n\x1a\n", "wrong magic number 0x89504e47: not an IDX file"),
        (b"\0\0\x07\x01" + GOOD[4:], "wrong magic number 0x00000701"),
        (GOOD[:6], "the header names 1 axes but not all of their sizes"),
        (GOOD[:-1], "truncated: shape (3,) takes 3 bytes, the file has 2"),
        (GOOD + b"d", "too long: shape (3,) takes 3 bytes, the file has 4"),
        (b"\0\0\x0e\x03" + b"\xff" * 12 + b"x", "truncated: shape (4294967295, 4294967295, 4294967295)"),
        (gzip.compress(GOOD)[:-9], "truncated or corrupt gzip file"),
        (gzip.compress(GOOD)[:-8] + b"\0" * 8, "truncated or corrupt gzip file"),
        (b"\x1f\x8b" + b"\xff" * 20, "truncated or corrupt gzip file"),
        (gzip.compress(GOOD[:-1]), "truncated: shape (3,)"),
    ],
)
def test_broken_file_is_one_clear_line(tmp_path, content, words):
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_idx(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and words in message and "\n" not in message
    assert isinstance(caught.value, JitgradError)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read \(No such file or directory\)"):
        read_idx(tmp_path / "none")
    with pytest.raises(DataError, match=r"cannot be read \(Is a directory\)"):
        read_idx(tmp_path)


def test_type_without_code_is_refused(tmp_path):
    with pytest.raises(DataError, match="no element type complex128"):
        write_idx(tmp_path / "a", np.zeros(2, complex))
    assert not (tmp_path / "a").exists()


def test_every_flipped_byte_of_a_gzip_file_is_noticed_or_harmless(tmp_path):
    # gzip's own check sums must not be bypassed: no flip may change the array silently.
    array = np.arange(20, dtype=np.uint8)
    write_idx(tmp_path / "a.gz", array)
    content = (tmp_path / "a.gz").read_bytes()
    for k in range(2, len(content)):
        (tmp_path / "b.gz").write_bytes(content[:k] + bytes([content[k] ^ 0x55]) + content[k + 1 :])
        try:
            back = read_idx(tmp_path / "b.gz")
        except DataError:
            continue
        np.testing.assert_array_equal(back, array)
