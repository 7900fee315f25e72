"""What is drawn of a field."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import LogNorm, to_hex
from matplotlib.quiver import Quiver

from jitgrad.cli import field_picture
from jitgrad.cli.field import Descent, Field
from jitgrad.cli.plots import color


def field(function, slopes, grid=4):
    """A field of NumPy functions on the square from -1 to 1."""
    xs = np.linspace(-1.0, 1.0, 30)
    x, y = np.meshgrid(*[np.linspace(-0.75, 0.75, grid)] * 2)
    with np.errstate(all="ignore"):
        values = function(*np.meshgrid(xs, xs)) + np.zeros((30, 30))
        dx, dy = (np.asarray(slope + np.zeros_like(x)) for slope in slopes(x, y))
    return Field(xs, xs, values, x, y, dx, dy)


def drawn(field, descents=(), contours=5, title="title"):
    figure = field_picture.figure()
    field_picture.draw(figure, field, descents, contours, title)
    FigureCanvasAgg(figure).draw()
    return figure.axes[0]


def arrows(axes):
    return [c for c in axes.collections if isinstance(c, Quiver)]


def test_arrows_have_the_direction_and_the_magnitude():
    sample = field(lambda x, y: x**2 + y**2, lambda x, y: (2 * x, 2 * y))
    (quiver,) = arrows(drawn(sample))
    np.testing.assert_allclose(np.hypot(quiver.U, quiver.V), 1.0)
    np.testing.assert_allclose(quiver.U * sample.magnitude.ravel(), sample.dx.ravel())
    np.testing.assert_allclose(quiver.get_array(), sample.magnitude.ravel())
    assert not isinstance(quiver.norm, LogNorm) and quiver.norm.vmin == 0.0


def test_magnitudes_of_many_orders_have_a_logarithmic_scale():
    (quiver,) = arrows(drawn(field(lambda x, y: np.exp(9 * x), lambda x, y: (9 * np.exp(9 * x), 0))))
    assert isinstance(quiver.norm, LogNorm)


def test_arrows_only_where_there_is_a_gradient():
    sample = field(lambda x, y: np.log(x), lambda x, y: (np.where(x > 0, 1 / x, np.nan), np.where(x > 0, 0, np.nan)))
    (quiver,) = arrows(drawn(sample))
    assert quiver.N == 8 and np.isfinite(quiver.U).all()


@pytest.mark.parametrize("value", [3.0, np.inf])
def test_flat_field_has_no_arrows_and_no_lines(value):
    sample = field(lambda x, y: 0 * x + 3.0, lambda x, y: (0 * x, 0 * y))
    sample.values[0, 0] = value if np.isfinite(value) else np.nan
    axes = drawn(sample)
    assert arrows(axes) == [] and len(axes.collections) == 0


@pytest.mark.parametrize("count", [0, 1, 7])
def test_as_many_contours_as_asked_for(count):
    axes = drawn(field(lambda x, y: x + 0.1 * y, lambda x, y: (1.0, 0.1)), contours=count)
    lines = [c for c in axes.collections if not isinstance(c, (Quiver, PathCollection)) and not c.filled]
    assert sum(len(c.levels) for c in lines) == count


def test_descents_have_their_optimizers_colors_and_one_label_each():
    sample = field(lambda x, y: x**2, lambda x, y: (2 * x, 0 * y))
    descents = [
        Descent(name, 0.1, np.array([[x, 0.0], [0.0, 0.0]]), np.zeros(2))
        for name in ("adam", "lion")
        for x in (0.5, 0.9)
    ]
    axes = drawn(sample, descents)
    ways = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert [to_hex(line.get_color()) for line in ways] == [to_hex(color(d.optimizer)) for d in descents]
    np.testing.assert_array_equal(ways[1].get_xydata(), descents[1].points)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["adam", "lion"]
    # What lies outside does not widen the picture.
    assert axes.get_xlim() == (-1.0, 1.0)


def test_title_is_plain_text():
    axes = drawn(field(lambda x, y: x, lambda x, y: (1.0, 0.0)), title="$x_ no formula")
    assert axes.get_title() == "$x_ no formula"
