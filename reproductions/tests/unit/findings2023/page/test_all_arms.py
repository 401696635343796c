from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.page.all_arms import HEADER, WINDOW, all_arms
from seedproof_reproductions.findings2023.page.reading import by_setting

from seedproof.stabilize.presets import PRESETS


def rows(results):
    """Rows of the table of one setting, cell by cell, without the arms' names in code."""
    lines = [line for line in all_arms(by_setting([results])).splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [[row[0].split("<br>")[0], *row[1:]] for row in cells]


def test_every_arm_has_a_row_below_its_group(both):
    """Groups in one order, and in each the arms in theirs."""
    names = [row[0] for row in rows(both[0])]

    assert names[:3] == ["**the paper's methods**", "control", "ensemble of 200 (shared)"]
    assert names.index("**averages of weights**") + 1 == names.index("ASWA")
    assert names[-2:] == ["fixed init draw 2", "fixed init draw 3"]
    assert len(names) == len(both[0]["arms"]) + 5


def test_a_row_has_figures_changes_and_costs(both):
    """Changes hold together with all arms: ±0.08 in place of ±0.05."""
    found = {row[0]: dict(zip(HEADER[8:], row[8:], strict=True)) for row in rows(both[0])}

    assert found["16 heads"] == {
        "change": "−75\xa0% [−83,\xa0−67]",
        "LE_m above 0.56, change": "−75\xa0% [−80,\xa0−70]",
        "LE_s": "0.100 [0.090,\xa00.110]",
        "ECE": "2.0\xa0% [1.8,\xa02.2]",
        "training": "1.25×",
        "serving": "1.02×",
    }
    assert found["control"]["change"] == ""


def test_what_runs_share_is_said(both):
    """Of the honest ones nothing."""
    found = {row[0]: row[1] for row in rows(both[0])}

    assert found["TGTSS (shared teacher)"] == "the teacher"
    assert found["fixed init"] == "the first weights"
    assert found["16 heads"] == ""


def test_an_arm_of_two_runs_is_shown_with_what_is_known(both):
    """No effects, no costs, no traces."""
    both[0]["arms"]["linear"] |= {
        "effects": {},
        "of_all": {},
        "high": None,
        "single_run": None,
        "costs": None,
    }

    row = next(row for row in rows(both[0]) if row[0] == ARMS["linear"].title)

    assert row[4] == row[10] == row[12] == "–"


def test_a_window_as_long_as_the_training_is_told(both):
    """LAWA's preset forgets nothing in five epochs; in six it would."""
    told = "LAWA's window of 5 epochs is the whole training here"
    assert PRESETS["lawa"].weighing.length == WINDOW

    assert told in all_arms(by_setting(both))
    both[1]["setting"]["epochs"] = 6
    assert told not in all_arms(by_setting(both))


def test_an_arm_has_the_name_that_the_command_takes(both):
    """Below the one for people."""
    assert "| 16 heads<br>`heads-16` |" in all_arms(by_setting(both))
