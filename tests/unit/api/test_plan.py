"""`sp.plan`: figures, sentences, and refused options."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.api.plan import plan
from seedproof.errors import OptionError
from seedproof.stats.power import FlipTest, MeanTest, seeds_for
from seedproof.testing.errors import WithFields
from support.simulation import Simulation

# A result that is not a report.
OTHER = plan(sd=0.012, detect=0.005)


@pytest.fixture(scope="module")
def pilot():
    """Ten runs whose threshold drifts, on 500 examples."""
    batch = Simulation(10, 500, effect="threshold", run_sd=2.0).draw(np.random.default_rng(1))
    return sp.measure(batch.predictions, labels=batch.labels)


def test_an_assumed_spread_gives_a_number_of_seeds():
    """92 seeds per arm for 0.005 at sd 0.012, with what these and fewer would show."""
    result = plan(sd=0.012, detect=0.005)

    assert [answer.n_seeds for answer in result.answers] == [92]
    assert {reach.kind for reach in result.reaches} == {"mean"}
    assert [reach.n_seeds for reach in result.reaches] == [5, 10, 20, 50, 92]
    # The fewest seeds that show 0.005: one less does not.
    assert result.reaches[-1].detectable <= 0.005 < plan(sd=0.012, seeds=91).reaches[0].detectable
    needed, reading = result.sentences()
    assert (needed.code, needed.fields["n_seeds"]) == ("seeds-needed", 92)
    assert needed.fields["effect"].fields == {"effect": 0.005}
    assert needed.fields["condition"].fields["sd"] == 0.012
    assert (reading.code, reading.fields["sizes"]) == ("reaches", (5, 10, 20, 50, 92))


def test_each_kind_has_a_row_of_its_own_planned_number():
    """In its place among the others, and once where it is one of them."""
    result = plan(sd=0.012, detect=0.005, detect_sd_ratio=2)

    seeds = {
        kind: [reach.n_seeds for reach in result.reaches if reach.kind == kind]
        for kind in ("mean", "sd")
    }
    assert seeds == {"mean": [5, 10, 20, 50, 92], "sd": [5, 10, 19, 20, 50]}
    assert [reach.n_seeds for reach in plan(sd=0.012).reaches] == [5, 10, 20, 50]
    assert {reach.n_seeds for reach in plan(sd=0.012, detect=0.005, seeds=8).reaches} == {8}


def test_a_single_number_of_seeds_is_named_in_the_sentence(pilot):
    """If it is the pilot's, the sentence says so."""
    given = plan(sd=0.012, detect=0.005, seeds=8).sentences()[-1]
    of_pilot = plan(pilot=pilot).sentences()[-1]

    assert (given.code, given.fields["n_seeds"]) == ("reach", 8)
    assert (of_pilot.code, of_pilot.fields["n_seeds"]) == ("reach-of-pilot", 10)


def test_a_number_of_seeds_shows_all_three_kinds():
    """Means in units of their sd, and flip rates for two usual cvs, if neither is known."""
    result = plan(seeds=10)

    assert result.answers == ()
    kinds = [(reach.kind, reach.given) for reach in result.reaches]
    assert kinds == [("mean", None), ("sd", None), ("flip_rate", 0.1), ("flip_rate", 0.3)]
    spread = result.reaches[1]
    assert (round(spread.observed, 2), round(spread.detectable, 1)) == (2.01, 2.7)


def test_a_pilot_gives_the_figures_and_their_uncertainty(pilot):
    """The answer, and the answers at both ends of the interval of its sd."""
    result = plan(pilot=pilot, detect=0.01)

    (answer,) = result.answers
    sd = pilot["accuracy_sd"]
    ends = [seeds_for(MeanTest(value), 0.01) for value in (sd.low, sd.value, sd.high)]
    assert [answer.low, answer.n_seeds, answer.high] == ends
    assert [reach.n_seeds for reach in result.reaches] == [10, 10, 10]
    uncertainty = result.sentences()[0].fields["uncertainty"]
    assert (uncertainty.code, uncertainty.fields["n_runs"]) == ("rough-pilot", 10)
    assert (uncertainty.fields["low"], uncertainty.fields["high"]) == (answer.low, answer.high)
    assert (uncertainty.fields["low_figure"], uncertainty.fields["high_figure"]) == (
        sd.low,
        sd.high,
    )


def test_a_pilot_with_too_few_examples_is_reported(pilot):
    """With the advised number of examples or correlation, seeds suffice."""
    result = plan(pilot=pilot, detect_flip_ratio=0.9)

    (answer,) = result.answers
    assert answer.n_seeds is None
    assert answer.n_examples > 500
    message = result.sentences()[0]
    assert message.code == "too-few-examples"
    assert (message.fields["n_examples"], message.fields["n_needed"]) == (500, answer.n_examples)
    alike = plan(pilot=pilot, detect_flip_ratio=0.9, example_correlation=answer.example_correlation)
    assert alike.answers[0].n_seeds is not None
    less = answer.example_correlation - 0.02
    unlike = plan(pilot=pilot, detect_flip_ratio=0.9, example_correlation=less)
    assert unlike.answers[0].n_seeds is None
    figures = result.figures.pilot
    more = 2 * figures.example_variance * 500 / (answer.n_examples + 1)
    assert seeds_for(FlipTest(figures.cv.value, example_variance=more), 0.9) is not None


def test_several_questions_have_several_answers(pilot):
    """In the order mean, sd, flip rate, each in a sentence."""
    result = plan(pilot=pilot, detect=0.05, detect_sd_ratio=2, detect_flip_ratio=0.5)

    assert [answer.kind for answer in result.answers] == ["mean", "sd", "flip_rate"]
    assert [message.code for message in result.sentences()[:3]] == ["seeds-needed"] * 3


def test_text_fits_eighty_columns(pilot):
    """Without trailing spaces."""
    for line in str(plan(pilot=pilot, detect=0.0123, detect_flip_ratio=0.5)).splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()


def test_json_has_every_figure(pilot):
    """As the object has it."""
    result = plan(pilot=pilot, detect=0.05, power=0.9)

    summary = json.loads(result.to_json())

    assert summary["power"] == 0.9
    assert summary["answers"][0]["n_seeds"] == result.answers[0].n_seeds
    assert summary["pilot"]["sd"]["value"] == pilot["accuracy_sd"].value
    assert [reach["kind"] for reach in summary["reaches"]] == ["mean", "sd", "flip_rate"]


def test_a_pilot_without_labels_still_plans_flip_rates():
    """Means are refused, because it has no accuracy."""
    batch = Simulation(10, 500).draw(np.random.default_rng(2))
    unlabeled = sp.measure(batch.predictions)

    assert plan(pilot=unlabeled, detect_flip_ratio=0.3).answers[0].n_seeds > 2
    with pytest.raises(OptionError, check=WithFields(keyword="sd", has_pilot=True)):
        plan(pilot=unlabeled, detect=0.01)


def test_four_seeds_are_too_few_for_a_spread():
    """The row is left out, with a note."""
    result = plan(seeds=4)

    assert "sd" not in {reach.kind for reach in result.reaches}
    note = result.notes()[-1]
    assert (note.code, note.fields["at_least"]) == ("too-few-runs-for-spread", 5)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {"keyword": "detect"}),
        ({"detect": 0.005}, {"keyword": "sd", "has_pilot": False}),
        ({"sd": "x", "detect": 0.005}, {"keyword": "sd", "given": "x"}),
        ({"sd": 0.012, "detect": "0.005"}, {"keyword": "detect", "given": "0.005"}),
        ({"seeds": 10, "power": True}, {"keyword": "power", "given": True}),
        ({"detect_flip_ratio": 0.8}, {"keyword": "cv", "has_pilot": False}),
        ({"seeds": 2}, {"keyword": "seeds", "n_seeds": 2, "at_least": 3}),
        ({"seeds": True}, {"keyword": "seeds", "n_seeds": True}),
        ({"seeds": 10, "example_correlation": 0.5}, {"keyword": "example_correlation"}),
        ({"detect_sd_ratio": 2.0, "paired_correlation": 0.5}, {"keyword": "paired_correlation"}),
        ({"pilot": OTHER, "detect": 0.01}, {"keyword": "pilot", "type_name": "Plan"}),
    ],
    ids=[
        "nothing", "no-sd", "sd", "detect", "power", "no-cv", "few-seeds", "seeds", "correlation",
        "paired", "pilot",
    ],
)  # fmt: skip
def test_incomplete_or_contradictory_options_are_refused(options, fields):
    """In one line."""
    with pytest.raises(OptionError, check=WithFields(**fields)) as error:
        plan(**options)

    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("keyword", "given"), [("example_correlation", 1.5), ("sd", 0.01)])
def test_options_that_contradict_a_pilot_are_refused(pilot, keyword, given):
    """A correlation is a share, and the pilot has its own sd."""
    with pytest.raises(OptionError, check=WithFields(keyword=keyword, given=given)):
        plan(pilot=pilot, detect_flip_ratio=0.5, **{keyword: given})


def test_pilot_may_be_the_predictions_themselves():
    """They are measured first, with the options that apply to them."""
    rng = np.random.default_rng(0)
    answers, labels = rng.integers(0, 2, (10, 300)), rng.integers(0, 2, 300)

    result = plan(pilot=answers, labels=labels, detect=0.05)

    assert result.summary() == plan(pilot=sp.measure(answers, labels=labels), detect=0.05).summary()
    with pytest.raises(OptionError, check=WithFields(option="labels")):
        plan(sd=0.01, detect=0.05, labels=labels)
