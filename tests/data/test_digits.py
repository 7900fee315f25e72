"""Loading MNIST: embedded, from a folder, by download; and what is said about wrong files."""

import shutil

import numpy as np
import pytest

from jitgrad.data import digits, load_mnist, write_idx
from jitgrad.errors import DataError


def small(folder, **changed):
    """Write a small set of the four files; `changed` replaces one by its short name."""
    folder.mkdir(exist_ok=True)
    arrays = {
        "train-images": np.zeros((4, 28, 28), np.uint8),
        "train-labels": np.array([1, 2, 3, 9], np.uint8),
        "t10k-images": np.zeros((2, 28, 28), np.uint8),
        "t10k-labels": np.array([0, 5], np.uint8),
    } | {name.replace("_", "-"): array for name, array in changed.items()}
    for name, array in arrays.items():
        write_idx(folder / f"{name}-idx{3 if 'images' in name else 1}-ubyte", array)
    return folder


def test_embedded_digits():
    data = load_mnist()
    assert [a.shape for a in data] == [(8000, 28, 28), (8000,), (2000, 28, 28), (2000,)]
    assert all(a.dtype == np.uint8 for a in data)
    assert np.bincount(data.train_labels).min() > 600 and np.bincount(data.test_labels).min() > 100
    # Ink in the middle, none at the rim: the rows and columns are where they belong.
    mean = data.train_images.mean(axis=0)
    assert mean[8:20, 8:20].mean() > 50 and mean[:2].max() < 5 and mean[:, :2].max() < 5


def test_folder_plain_and_gzipped(tmp_path):
    small(tmp_path)
    plain = tmp_path / "t10k-labels-idx1-ubyte"
    write_idx(tmp_path / "t10k-labels-idx1-ubyte.gz", np.array([7, 7], np.uint8))
    plain.unlink()
    data = load_mnist(tmp_path)
    assert list(data.train_labels) == [1, 2, 3, 9] and list(data.test_labels) == [7, 7]
    assert list(load_mnist(str(tmp_path)).test_labels) == [7, 7]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"train_images": np.zeros((4, 28, 27), np.uint8)},
            "images must be bytes of shape (n, 28, 28), not uint8 of",
        ),
        ({"train_images": np.zeros((4, 784), np.uint8)}, "not uint8 of shape (4, 784)"),
        ({"t10k_images": np.zeros((2, 28, 28), np.float32)}, "not float32 of shape (2, 28, 28)"),
        (
            {"train_labels": np.zeros((4, 1), np.uint8)},
            "labels must be bytes of shape (n,), not uint8 of shape (4, 1)",
        ),
        ({"train_labels": np.zeros(4, np.int32)}, "not int32 of shape (4,)"),
        ({"train_labels": np.zeros(5, np.uint8)}, "5 labels for the 4 images of train-images-idx3-ubyte"),
        ({"t10k_labels": np.array([3, 10], np.uint8)}, "label 10 at position 1 is not a digit"),
        (
            {"t10k_images": np.zeros((0, 28, 28), np.uint8), "t10k_labels": np.zeros(0, np.uint8)},
            "t10k-images-idx3-ubyte: holds no images",
        ),
    ],
)
def test_wrong_content_is_one_clear_line(tmp_path, changed, words):
    with pytest.raises(DataError) as caught:
        load_mnist(small(tmp_path, **changed))
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_missing_folder_and_file(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        load_mnist(tmp_path / "none")
    (small(tmp_path) / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"has neither train-labels-idx1-ubyte\.gz nor train-labels-idx1-ubyte$"):
        load_mnist(tmp_path)


def offline(mirror_failures):
    def retrieve(url, known_hash, fname, path):
        mirror_failures.append(url)
        raise OSError("Network is unreachable")

    return retrieve


def test_download_offline_says_so(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    asked = []
    monkeypatch.setattr(pooch, "retrieve", offline(asked))
    with pytest.raises(DataError, match="could not be downloaded .*; are you offline"):
        load_mnist(tmp_path, download=True)
    assert len(asked) == len(digits.MIRRORS)


def test_download_tries_the_next_mirror_and_checks_hashes(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        if url.startswith(digits.MIRRORS[0]):
            raise ValueError("SHA256 hash of downloaded file does not match")
        shutil.copy(digits.EMBEDDED / fname, path)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    data = load_mnist(tmp_path, download=True)
    assert len(data.train_images) == 8000
    assert len(asked) == 8 and all(known == f"sha256:{digits.FILES[url.split('/')[-1]]}" for url, known in asked)


def test_download_keeps_what_is_there(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "retrieve", lambda url, known_hash, fname, path: None)
    assert len(load_mnist(small(tmp_path), download=True).train_images) == 4


def test_download_without_pooch(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(DataError, match="needs the package pooch"):
        load_mnist(download=True)
