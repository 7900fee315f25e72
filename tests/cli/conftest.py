"""A folder with few digits, so that a training takes a fraction of a second."""

import pytest

from jitgrad.data import load_mnist, write_idx


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    data = load_mnist()
    write_idx(folder / "train-images-idx3-ubyte", data.train_images[:330])
    write_idx(folder / "train-labels-idx1-ubyte", data.train_labels[:330])
    write_idx(folder / "t10k-images-idx3-ubyte", data.test_images[:100])
    write_idx(folder / "t10k-labels-idx1-ubyte", data.test_labels[:100])
    return folder
