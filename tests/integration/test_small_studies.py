"""The simulation of small studies, in its smallest form."""

import json
import runpy
from pathlib import Path

import pytest

SMALL = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "small_studies.py"))
TRUE = "covers", "shown", "wrong", "none"


def test_there_are_no_more_cells_than_were_named():
    assert len(SMALL["CELLS"]) == 40


@pytest.mark.parametrize("name", SMALL["CELLS"])
def test_each_cell_draws_a_study_that_is_judged(name):
    """No study is refused, and shares differ from figures by their names."""
    outcome = SMALL["seen_in"](SMALL["CELLS"][name], name, 0)

    assert outcome
    assert "refused" not in outcome
    for key, value in outcome.items():
        assert value is None or isinstance(value, bool) == key.startswith(TRUE)


def test_an_interrupted_cell_continues_where_it_stopped(tmp_path):
    """Each study has its own seed, so that the order of runs does not matter."""
    name = "rates: 1 trial of 60 tasks"
    for n_studies in (1, 3):
        SMALL["run"](name, n_studies, tmp_path / "in-parts")
    SMALL["run"](name, 3, tmp_path / "at-once")

    parts, whole = (SMALL["summary"](tmp_path / folder) for folder in ("in-parts", "at-once"))

    assert parts == whole
    assert parts[name]["studies"] == 3


def test_summaries_are_shown_side_by_side():
    cell = "rates: 1 trial of 60 tasks"
    before = {cell: {"studies": 9, "refused": 100.0}}
    after = {cell: {"studies": 9, "refused": 0.0, "covers mean": 95.0, "width mean": 0.25}}

    lines = SMALL["table"]({"before": before, "after": after}).splitlines()

    assert lines[0] == "| studies | seen | before | after |"
    assert [line.split(" | ")[1:] for line in lines[2:]] == [
        ["refused", "100 %", "0 % |"],
        ["covers mean", "–", "95 % |"],
        ["width mean", "–", "0.25 |"],
    ]


def test_stored_summary_has_all_cells():
    place = Path(__file__).parents[2] / "docs" / "explanation" / "small-studies.json"
    summaries = json.loads(place.read_text(encoding="utf-8"))

    for cells in summaries.values():
        assert cells.keys() == SMALL["CELLS"].keys()
        assert {cell["studies"] for cell in cells.values()} == {1000}


def test_page_has_the_table_of_the_stored_summaries():
    docs = Path(__file__).parents[2] / "docs" / "explanation"
    table = SMALL["table"](json.loads((docs / "small-studies.json").read_text(encoding="utf-8")))

    lines = {line.strip() for line in (docs / "intervals.md").read_text("utf-8").splitlines()}

    assert [line for line in table.splitlines() if line not in lines] == []
