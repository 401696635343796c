import re
from xml.etree import ElementTree as ET

import pytest
from seedproof_reproductions.findings2023.page.cells import (
    SHADES,
    Cells,
    Picture,
    draw_cells,
    shade_of,
)


def picture(*panels):
    """A picture with these panels."""
    return Picture("All < nothing", "x", "y", "utterances", panels)


def cells(counts, means=()):
    """A panel of two columns and two rows."""
    return Cells("a & b", [0.0, 0.5, 1.0], [0.0, 1.0, 2.0], counts, means)


def test_each_cell_with_something_in_it_is_drawn_once():
    """Three of four; the legend has one for each shade."""
    image = draw_cells(picture(cells([[90, 5], [0, 1]])))

    assert image == draw_cells(picture(cells([[90, 5], [0, 1]])))
    assert ET.fromstring(image).find("{http://www.w3.org/2000/svg}title").text == "All < nothing"  # noqa: S314 - our own
    shaded = re.findall(r'<path d="([^"]+)" fill="var\(--accent\)"', image)
    assert sum(path.count("z") for path in shaded) == 3 + SHADES


def test_a_cell_is_where_its_edges_are():
    """The first row is at the bottom: half of 220 pixels, half of 310 wide."""
    image = draw_cells(picture(cells([[0, 7], [0, 0]])))

    assert "M207.0 136.0h155.0v110.0h-155.0z" in image


@pytest.mark.parametrize(
    ("count", "largest", "shade"), [(1, 1000, 0), (1000, 1000, 6), (32, 1000, 3), (1, 1, 6)]
)
def test_shades_follow_the_logarithm(count, largest, shade):
    """One is the faintest; the root of the largest is in the middle."""
    assert shade_of(count, largest) == shade


def test_means_are_a_line_over_the_columns_that_have_one():
    """From the middle of a column to that of the next."""
    image = draw_cells(picture(cells([[9, 5], [1, 1]], means=[0.0, 2.0])))

    assert '<polyline points="129.5,246.0 284.5,26.0"' in image
    assert "<polyline" not in draw_cells(picture(cells([[9, 5], [1, 1]])))
