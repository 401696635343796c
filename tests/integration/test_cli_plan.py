"""`seedproof plan`, as typed."""

import json
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"


def test_plan_answers_in_a_sentence(seedproof):
    """What was asked, the answer, and what was assumed; nothing on stderr."""
    code, out, err = seedproof("plan", "--sd", 0.012, "--detect", 0.005)

    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith("To show a difference of 0.005 between two means when runs have a")
    assert "make 92 seeds an arm" in text
    assert "Runs are taken as normal" in text
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("seeds", "observed", "true"),
    [(10, "2.01 or 0.50", "2.68 or 0.37"), (5, "3.10 or 0.32", "4.88 or 0.20"), (50, "1.33 or 0.75", "1.50 or 0.67")],
)  # fmt: skip
def test_plan_says_what_seeds_can_show(seeds, observed, true, seedproof):
    """An observed ratio of standard deviations, and a true one for 80 % power."""
    code, out, _ = seedproof("plan", "--seeds", seeds)

    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("standard deviation")]
    assert row.split() == f"standard deviation {seeds} {observed} {true}".split()


def test_plan_takes_a_pilot(seedproof):
    """The table of the example; the answer comes with its doubt, as JSON too."""
    code, out, err = seedproof("plan", "--pilot", EXAMPLE, "--detect", 0.005, "--json")

    assert (code, err) == (0, "")
    (answer,) = json.loads(out)["answers"]
    assert answer["low"] < answer["n_seeds"] < answer["high"]
    assert json.loads(out)["pilot"]["n_runs"] == 10


def test_plan_takes_one_arm_of_a_store(seedproof):
    """As measuring does: an arm must be chosen where there are several."""
    store = Path(__file__).parents[1] / "golden" / "store-1.1"

    code, _, err = seedproof("plan", "--pilot", store, "--arm", "nope", "--detect-sd-ratio", 2)

    assert code == 2
    assert err.startswith("error SP")
    assert err.count("\n") == 1


def test_plan_asks_for_the_option_that_is_missing(seedproof):
    """By the name that is typed."""
    assert "--sd" in seedproof("plan", "--detect", 0.005)[2]
    assert "--cv" in seedproof("plan", "--detect-flip-ratio", 0.8)[2]


def test_plan_takes_no_report_as_a_pilot(seedproof):
    """It has figures; the pilot needs what they were made from."""
    seedproof("measure", EXAMPLE, "--out", "report")

    code, out, err = seedproof("plan", "--pilot", "report", "--detect", 0.005)

    assert (code, out) == (2, "")
    assert err.startswith("error SP115: 'report' is a report, and a pilot needs records.")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--power", "1.2", "--seeds", "10"],
        ["--sd", "0", "--detect", "1"],
        ["--detect-sd-ratio", "1"],
        ["--detect", "0.005"],
        ["--arm", "none", "--seeds", "10"],
        ["--run", "seed", "--seeds", "10"],
        [],
    ],
    ids=" ".join,
)
def test_plan_refuses_in_one_line(arguments, seedproof):
    """Exit code 2, the code of the error, and what to do."""
    code, out, err = seedproof("plan", *arguments)

    assert (code, out) == (2, "")
    assert err.startswith("error SP115: ")
    assert err.count("\n") == 1
