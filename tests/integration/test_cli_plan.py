"""`seedproof plan` on the command line."""

import json
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"


def test_plan_prints_the_number_of_seeds(seedproof):
    """In lines of 80 columns, and as JSON."""
    command = ("plan", "--sd", 0.012, "--detect", 0.005)

    code, out, err = seedproof(*command)
    _, as_json, _ = seedproof(*command, "--json")

    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    (answer,) = json.loads(as_json)["answers"]
    assert (answer["kind"], answer["effect"], answer["n_seeds"]) == ("mean", 0.005, 92)
    assert str(answer["n_seeds"]) in out.split()


@pytest.mark.parametrize(
    ("seeds", "observed", "true"),
    [(10, 2.01, 2.68), (5, 3.10, 4.88), (50, 1.33, 1.50)],
)
def test_plan_prints_what_seeds_can_show(seeds, observed, true, seedproof):
    """Observed and true ratios of standard deviations for 80 % power, and their inverses."""
    code, out, _ = seedproof("plan", "--seeds", seeds)
    reaches = json.loads(seedproof("plan", "--seeds", seeds, "--json")[1])["reaches"]

    assert code == 0
    (reach,) = [reach for reach in reaches if reach["kind"] == "sd"]
    assert reach["n_seeds"] == seeds
    assert (reach["observed"], reach["detectable"]) == pytest.approx((observed, true), abs=0.005)
    shown = {f"{ratio:.2f}" for ratio in (observed, 1 / observed, true, 1 / true)}
    assert any(shown <= set(line.split()) for line in out.splitlines())


def test_plan_takes_a_pilot(seedproof):
    """The answer has an interval."""
    code, out, err = seedproof("plan", "--pilot", EXAMPLE, "--detect", 0.04, "--json")

    assert (code, err) == (0, "")
    (answer,) = json.loads(out)["answers"]
    assert answer["low"] < answer["n_seeds"] < answer["high"]
    assert json.loads(out)["pilot"]["n_runs"] == 10


def test_plan_takes_a_pilot_of_two_arms(seedproof):
    """An arm is right on its own examples, so they do not limit what seeds can show."""
    arms = ("--pilot", EXAMPLE, "--pilot-arm", EXAMPLE)
    code, out, _ = seedproof("plan", *arms, "--detect", 0.005, "--arms", 3, "--json")

    assert code == 0
    planned = json.loads(out)
    assert planned["pilot"]["has_two_arms"]
    assert planned["examples"]["mean"]["correlation"] == pytest.approx(1.0)
    assert planned["answers"][0]["n_seeds"] > 0


def test_plan_refuses_a_second_arm_without_the_first(refused):
    assert refused("plan", "--pilot-arm", EXAMPLE, "--seeds", 5).fields["option"] == "--pilot-arm"


def test_plan_refuses_an_unknown_arm_of_a_pilot(refused):
    """As measuring does."""
    store = Path(__file__).parents[1] / "golden" / "store-1.1"

    error = refused("plan", "--pilot", store, "--arm", "nope", "--detect-sd-ratio", 2)

    assert (error.code, error.fields["noun"], error.fields["given"]) == ("SP115", "arm", "nope")


def test_plan_names_the_missing_option(refused):
    """As it is typed."""
    assert refused("plan", "--detect", 0.005).fields["keyword"] == "sd"
    assert refused("plan", "--detect-flip-ratio", 0.8).fields["keyword"] == "cv"


def test_plan_refuses_a_report_folder_as_a_pilot(seedproof, refused):
    """A pilot needs the predictions."""
    seedproof("measure", EXAMPLE, "--out", "report")

    error = refused("plan", "--pilot", "report", "--detect", 0.005)

    assert error.code == "SP115"
    assert (error.fields["option"], error.fields["path"]) == ("--pilot", "report")


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
def test_plan_refuses_in_one_line(arguments, refused):
    """Exit code 2, and the code of the error."""
    assert refused("plan", *arguments).code == "SP115"
