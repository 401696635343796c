import re
from xml.etree import ElementTree as ET

import pytest
from seedproof_reproductions.conll2019.page.reading import Curve
from seedproof_reproductions.conll2019.page.svg import Chart, Panel, draw, points

NAMES = {"none": "none", "aswa": "ASWA", "naswa": "NASWA"}
SPACE = "{http://www.w3.org/2000/svg}"


def curve(means, counts=None, errors=None):
    """A curve of ten bins; those that are not given are empty."""
    rest = 10 - len(means)
    return Curve(
        tuple(counts or [100] * len(means)) + (0,) * rest,
        (*means, *[None] * rest),
        tuple(errors or [0.0] * len(means)) + (None,) * rest,
    )


def chart(*panels, factor=1.0):
    """A chart with these panels."""
    return Chart("All < nothing", "x", "y", panels, NAMES, factor)


def texts(image):
    """Everything that is written in an image."""
    return [one.text for one in ET.fromstring(image).iter(f"{SPACE}text")]  # noqa: S314 - our own


def test_an_image_is_the_same_each_time_and_well_formed():
    """Names are escaped, and the root has a title for those who cannot see."""
    one = chart(Panel("a & b", {"none": curve([0.1, 0.2])}))

    image = draw(one)

    assert image == draw(one)
    root = ET.fromstring(image)  # noqa: S314 - our own
    assert root.find(f"{SPACE}title").text == "All < nothing"
    assert "a & b" in texts(image)


def test_points_lie_where_their_values_are():
    """Bin 0 is in the middle of the first tenth; 0.2 of 0.4 is half way up of 130."""
    image = draw(chart(Panel("p", {"none": curve([0.2, 0.4])})))

    path = re.findall(r'<polyline points="([^"]+)"', image)[-1]
    assert path == "62.5,91.0 91.5,26.0"


def test_a_share_is_drawn_in_percent():
    """0.4 is 40, and the axis says so."""
    one = Panel("p", {"none": curve([0.2, 0.4])})

    assert "40" in texts(draw(chart(one, factor=100.0)))
    assert "0.4" in texts(draw(chart(one)))


def test_bins_with_few_examples_are_counted_but_not_drawn():
    """Nine are too few, ten are enough; the interval is 1.96 standard errors."""
    one = curve([0.1, 0.2, 0.3], [9, 10, 50], [None, 0.01, 0.1])

    assert [place for place, _, _ in points(one)] == [1, 2]
    assert points(one)[1][2] == pytest.approx(0.196, abs=1e-4)
    assert {"9", "10", "50", "0"} <= set(texts(draw(chart(Panel("p", {"none": one})))))


def test_a_legend_names_the_arms_that_are_drawn():
    """Not those without a curve."""
    image = draw(chart(Panel("p", {"none": curve([0.1]), "naswa": curve([0.2])})))

    assert {"none", "NASWA"} <= set(texts(image))
    assert "ASWA" not in texts(image)


def test_noise_is_a_line_that_is_named():
    """And fits into the scale, even where it is above the curves."""
    with_floor = draw(chart(Panel("p", {"none": curve([0.1])}, floor=0.3)))

    assert "one model, explained twice" in texts(with_floor)
    assert "0.3" in texts(with_floor)
    assert "one model, explained twice" not in texts(
        draw(chart(Panel("p", {"none": curve([0.1])})))
    )


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (0.23, ["0", "0.1", "0.2", "0.3"]),
        (0.4, ["0", "0.1", "0.2", "0.3", "0.4"]),
        (61.0, ["0", "20", "40", "60", "80"]),
        (0.009, ["0", "0.0025", "0.005", "0.0075", "0.01"]),
    ],
)
def test_ticks_are_round_and_few(highest, ticks):
    """At most four above 0, and the last one is above everything."""
    image = draw(chart(Panel("p", {"none": curve([highest])})))

    found = re.findall(r'text-anchor="end"[^>]*font-size="11">([^<]+)<', image)
    assert found == ticks


def test_panels_share_a_scale_and_go_two_in_a_row():
    """Three panels make two rows."""
    panels = [Panel(f"{level}", {"none": curve([level])}) for level in (0.1, 0.2, 0.4)]

    image = draw(chart(*panels))

    places = re.findall(r"translate\((\d+) (\d+)\)", image)
    assert [place[0] for place in places] == ["0", "350", "0"]
    assert len({place[1] for place in places}) == 2
    assert texts(image).count("0.4") == 3 * 2 + 1  # on each axis, up and along, and a title


def test_empty_curves_are_no_error():
    """Nothing has enough examples: an empty frame."""
    image = draw(chart(Panel("p", {"none": curve([0.1], [3])})))

    ET.fromstring(image)  # noqa: S314 - our own
