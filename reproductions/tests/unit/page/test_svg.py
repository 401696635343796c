from xml.etree import ElementTree as ET

import pytest
from seedproof_reproductions.page.svg import Style, image, mark, step, text, ticks


def test_a_file_is_well_formed_and_has_a_title():
    """Words are escaped."""
    root = ET.fromstring(image(10, 20, "a < b", [text(1, 2, "c & d")]))  # noqa: S314 - our own

    assert [one.text for one in root if one.text and one.text.strip()] == ["a < b", "c & d"]
    assert root.get("viewBox") == "0 0 10 20"


@pytest.mark.parametrize(
    ("top", "found"),
    [(1.0, [0, 0.25, 0.5, 0.75, 1]), (0.4, [0, 0.1, 0.2, 0.3, 0.4]), (7, [0, 2, 4, 6, 8])],
)
def test_ticks_are_round_and_few(top, found):
    """At most four above 0; the last may lie above the top."""
    assert step(top) == found[1]
    assert ticks(top) == found


def test_marks_differ_in_shape():
    """Not by color alone."""
    assert len({mark(0, 0, Style("red", kind)) for kind in ("circle", "square", "triangle")}) == 3
