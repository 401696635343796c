import re
from itertools import pairwise

from seedproof_reproductions.findings2023.page.labels import Label, placed

ROOM = (0.0, 0.0, 400.0, 300.0)


def places(labels, within=ROOM, **taken):
    """Where each name stands, by its words."""
    text = "".join(placed(labels, within=within, **taken))
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


def test_a_name_far_from_its_mark_has_a_line_to_it_behind_all_words():
    """Nine marks close to each other."""
    wall = [Label("x" * 30, 200, 100 + 4 * place, "red") for place in range(9)]

    parts = list(placed(wall, within=ROOM))

    kinds = ["path" if part.startswith("<path") else "words" for part in parts]
    assert kinds[0] == "path"
    assert "path" not in kinds[kinds.index("words") :]


def test_a_name_keeps_away_from_other_marks_and_from_lines():
    """A mark to its right, a line to its left; where only lines are left it crosses one."""
    one = Label("name", 100, 100, "red")
    aside = {"name": (92, 104, "end")}
    assert places([one], marks=[(120, 100)]) == aside
    assert places([one], lines=[(90, 100, 80, 100), (120, 50, 120, 150)])["name"] != aside["name"]

    everywhere = [(0, y, 400, y) for y in range(0, 300, 5)]
    assert places([one], lines=everywhere) == {"name": (108, 104, "start")}


def test_what_has_no_place_is_left_out():
    """A room that is too small."""
    assert places([Label("a long name", 10, 10, "red")], within=(0, 0, 20, 20)) == {}
