"""Calling the command, and looking at the pictures it leaves."""

from matplotlib.image import imread

from jitgrad import cli


def run(*args):
    """The exit code; output is read with capsys where it matters."""
    return cli.main([str(arg) for arg in args])


def picture(path):
    """A picture as an array of its pixels, after a check that something is drawn."""
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(path)
    assert pixels.shape[0] > 300 and pixels.shape[1] > 300 and pixels.std() > 0.02
    return pixels
