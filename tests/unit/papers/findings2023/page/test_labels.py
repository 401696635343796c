import re
from itertools import pairwise

from seedproof.papers.findings2023.page.labels import Label, placed

ROOM = (0.0, 0.0, 400.0, 300.0)


def places(labels, within=ROOM):
    """Where each name stands, by its words."""
    text = "".join(placed(labels, within=within))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)<', text)
    return {name: (float(x), float(y), anchor) for x, y, anchor, name in found}


def test_a_name_stands_right_of_its_mark_where_there_is_room():
    """Otherwise left of it."""
    found = places([Label("first", 100, 100, "red"), Label("last", 390, 200, "red")])

    assert found == {"first": (108, 104, "start"), "last": (382, 204, "end")}


def test_no_name_covers_another_or_a_mark():
    """Marks in a column, with names to their right: those in between step aside."""
    labels = [Label(f"name {place}", 200, 100 + 5 * place, "red") for place in range(8)]

    found = places(labels)

    assert len(found) == 8
    for side in ("start", "end"):
        heights = sorted(y for _, y, anchor in found.values() if anchor == side)
        assert all(after - before >= 12 for before, after in pairwise(heights))


def test_a_name_that_is_not_needed_is_near_or_nowhere():
    """The needed one goes far, with a line to its mark."""
    wall = [Label("x" * 30, 200, 100 + 4 * place, "red") for place in range(9)]

    kept = places([*wall, Label("extra", 200, 112, "red", is_needed=False)])

    assert "extra" not in kept
    assert "<path" in "".join(placed(wall, within=ROOM))


def test_what_has_no_place_is_left_out():
    """A room that is too small."""
    assert places([Label("a long name", 10, 10, "red")], within=(0, 0, 20, 20)) == {}
