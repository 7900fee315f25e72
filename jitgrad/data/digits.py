"""The MNIST digits: embedded, from a folder of the standard files, or downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jitgrad.data.idx import read_idx
from jitgrad.errors import DataError

EMBEDDED = Path(__file__).parent / "mnist"
SIDE = 28
CLASSES = 10
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# The files of the full set, with the SHA-256 of each.
FILES = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


class Mnist(NamedTuple):
    """Images as ``uint8`` of shape (n, 28, 28), labels as ``uint8`` of shape (n,)."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_mnist(data_dir: str | os.PathLike[str] | None = None, download: bool = False) -> Mnist:
    """Load the MNIST digits.

    Parameters
    ----------
    data_dir : path-like, optional
        A folder with the four standard files, gzipped or not. Without it: the 8,000 training and 2,000 test digits
        embedded in the package.
    download : bool
        Fetch the full set (60,000 and 10,000 digits) into `data_dir`, or into the user's cache folder, unless it is
        already there. Needs the package pooch.

    Raises
    ------
    DataError
        In one line: what is missing, corrupt or of the wrong shape, or why the download failed.
    """
    if download:
        folder = _download(data_dir)
    elif data_dir is None:
        folder = EMBEDDED
    else:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; it must hold the MNIST files {', '.join(FILES)}")
    train = _load_part(folder, "train")
    test = _load_part(folder, "t10k")
    return Mnist(*train, *test)


def _load_part(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    image_file = _find(folder, f"{part}-images-idx3-ubyte")
    label_file = _find(folder, f"{part}-labels-idx1-ubyte")
    images, labels = read_idx(image_file), read_idx(label_file)
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (SIDE, SIDE):
        raise DataError(f"{image_file}: images must be bytes of shape (n, {SIDE}, {SIDE}), not {_describe(images)}")
    if labels.dtype != np.uint8 or labels.ndim != 1:
        raise DataError(f"{label_file}: labels must be bytes of shape (n,), not {_describe(labels)}")
    if len(images) != len(labels):
        raise DataError(f"{label_file}: {len(labels)} labels for the {len(images)} images of {image_file.name}")
    if len(images) == 0:
        raise DataError(f"{image_file}: holds no images")
    wrong = np.flatnonzero(labels >= CLASSES)
    if wrong.size:
        raise DataError(f"{label_file}: label {labels[wrong[0]]} at position {wrong[0]} is not a digit")
    return images, labels


def _find(folder: Path, stem: str) -> Path:
    for name in (stem + ".gz", stem):
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: has neither {stem}.gz nor {stem}")


def _describe(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"


def _download(data_dir: str | os.PathLike[str] | None) -> Path:
    try:
        import pooch
    except ImportError as error:
        raise DataError("a download needs the package pooch: pip install 'jitgrad[cli]'") from error
    # Only warnings: pooch reports every file it fetches otherwise.
    pooch.get_logger().setLevel("WARNING")
    folder = Path(data_dir) if data_dir is not None else Path(pooch.os_cache("jitgrad")) / "mnist"
    for name, sha256 in FILES.items():
        _fetch(pooch, name, sha256, folder)
    return folder


def _fetch(pooch, name: str, sha256: str, folder: Path) -> None:
    failures = []
    for mirror in MIRRORS:
        try:
            pooch.retrieve(mirror + name, known_hash=f"sha256:{sha256}", fname=name, path=folder)
            return
        # OSError: no network, no permission, an HTTP error (requests derives its errors from it).
        # ValueError: the hash of what came differs.
        except (OSError, ValueError) as error:
            failures.append(f"{mirror.split('/')[2]}: {type(error).__name__}")
    raise DataError(
        f"{name} could not be downloaded ({'; '.join(failures)}); "
        "are you offline? The embedded digits need no download, --data-dir reads files you already have"
    )
