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

# A result that cannot be a pilot, since it is not a report.
NOT_A_REPORT = plan(sd=0.012, detect=0.005)


@pytest.fixture(scope="module")
def pilot():
    """Return the report of ten runs that differ in their threshold, on 500 examples."""
    batch = Simulation(10, 500, effect="threshold", run_sd=2.0).draw(np.random.default_rng(1))
    return sp.measure(batch.predictions, labels=batch.labels)


def test_an_assumed_spread_gives_a_number_of_seeds():
    """A difference of 0.005 at sd 0.012 needs 92 seeds per arm; a table shows other numbers."""
    result = plan(sd=0.012, detect=0.005)

    assert [answer.n_seeds for answer in result.answers] == [92]
    assert {reach.kind for reach in result.reaches} == {"mean"}
    assert [reach.n_seeds for reach in result.reaches] == [5, 10, 20, 50, 92]
    # 92 is the smallest number of seeds that shows 0.005: 91 do not.
    assert result.reaches[-1].detectable <= 0.005 < plan(sd=0.012, seeds=91).reaches[0].detectable
    needed, table_guide = result.sentences()
    assert (needed.code, needed.fields["n_seeds"]) == ("seeds-needed", 92)
    assert needed.fields["effect"].fields == {"effect": 0.005}
    assert needed.fields["condition"].fields["sd"] == 0.012
    assert (table_guide.code, table_guide.fields["sizes"]) == ("reaches", (5, 10, 20, 50, 92))


def test_each_kind_has_a_row_for_the_number_of_seeds_it_needs():
    """The numbers are in ascending order and unique; a given number replaces all of them."""
    result = plan(sd=0.012, detect=0.005, detect_sd_ratio=2)

    seeds = {
        kind: [reach.n_seeds for reach in result.reaches if reach.kind == kind]
        for kind in ("mean", "sd")
    }
    assert seeds == {"mean": [5, 10, 20, 50, 92], "sd": [5, 10, 19, 20, 50]}
    assert [reach.n_seeds for reach in plan(sd=0.012).reaches] == [5, 10, 20, 50]
    assert {reach.n_seeds for reach in plan(sd=0.012, detect=0.005, seeds=8).reaches} == {8}


def test_a_single_number_of_seeds_is_named_in_the_sentence(pilot):
    """A sentence of its own reports the number of runs of the pilot."""
    given = plan(sd=0.012, detect=0.005, seeds=8).sentences()[-1]
    of_pilot = plan(pilot=pilot).sentences()[-1]

    assert (given.code, given.fields["n_seeds"]) == ("reach", 8)
    assert (of_pilot.code, of_pilot.fields["n_seeds"]) == ("reach-of-pilot", 10)


def test_a_number_of_seeds_shows_all_three_kinds():
    """If sd and cv are unknown, means are in units of sd, and flip rates have two typical cvs."""
    result = plan(seeds=10)

    assert result.answers == ()
    kinds = [(reach.kind, reach.given) for reach in result.reaches]
    assert kinds == [("mean", None), ("sd", None), ("flip_rate", 0.1), ("flip_rate", 0.3)]
    sd_reach = result.reaches[1]
    assert (round(sd_reach.observed, 2), round(sd_reach.detectable, 1)) == (2.01, 2.7)


def test_a_pilot_gives_the_figures_and_their_uncertainty(pilot):
    """The answer has a range: the answers at both ends of the interval of the sd."""
    result = plan(pilot=pilot, detect=0.15)

    (answer,) = result.answers
    sd = pilot["accuracy_sd"]
    variance = 2 * result.figures.examples["mean"].variance
    ends = [
        seeds_for(MeanTest(value, example_variance=variance), 0.15)
        for value in (sd.low, sd.value, sd.high)
    ]
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
    """With the number of examples or the correlation that the answer advises, seeds suffice."""
    result = plan(pilot=pilot, detect_flip_ratio=0.9)

    (answer,) = result.answers
    assert answer.n_seeds is None
    assert answer.n_examples > 500
    message = result.sentences()[0]
    assert message.code == "too-few-examples-of-pilot"
    assert answer.n_examples_low < answer.n_examples < answer.n_examples_high
    assert (message.fields["n_examples"], message.fields["n_needed"]) == (500, answer.n_examples)
    above = answer.example_correlation + 0.01  # at the limit itself, more than a million seeds
    at_correlation = plan(pilot=pilot, detect_flip_ratio=0.9, example_correlation=above)
    assert at_correlation.answers[0].n_seeds is not None
    lower = answer.example_correlation - 0.02
    below_correlation = plan(pilot=pilot, detect_flip_ratio=0.9, example_correlation=lower)
    assert below_correlation.answers[0].n_seeds is None
    cv, drawn = result.figures.cv, result.figures.examples["flip_rate"]
    variance = 2 * drawn.variance * 500 / (1.01 * answer.n_examples)
    assert seeds_for(FlipTest(cv, example_variance=variance), 0.9) is not None


def test_too_few_examples_for_a_difference_of_means_are_reported(pilot):
    """With the correlation that the answer advises, seeds suffice; unrelated arms are assumed."""
    result = plan(pilot=pilot, detect=0.02)

    (answer,) = result.answers
    assert answer.n_seeds is None
    assert answer.n_examples > 500
    assert result.sentences()[0].code == "too-few-examples-of-pilot"
    assert "unrelated-examples" in {note.code for note in result.notes()}
    above = answer.example_correlation + 0.005
    advised = plan(pilot=pilot, detect=0.02, example_correlation=above)
    assert advised.answers[0].n_seeds is not None


@pytest.fixture(scope="module")
def two_arms():
    """Five trials of two models on 150 tasks, whose rates of passing are alike."""
    rng = np.random.default_rng(0)
    rates = rng.beta(1, 1, 150)
    arms = [
        (rng.random((5, 150)) < np.clip(rates + 0.1 * rng.standard_normal(150), 0, 1)).astype(float)
        for _ in range(2)
    ]
    loaded = {
        x: sp.Predictions.from_arrays(y, trials=True) for x, y in zip("ab", arms, strict=True)
    }
    return sp.compare(loaded, baseline="a", primary="mean")


def test_correlation_of_a_pilot_has_a_range(two_arms):
    """That of the variance of the contrast: χ² with the degrees of freedom of the examples."""
    drawn = plan(pilot=two_arms, detect=0.1).figures.examples["mean"]

    assert drawn.correlation_low < drawn.correlation < drawn.correlation_high
    low, high = drawn.contrast_ends
    assert low < drawn.of_contrast < high
    # The sample correlation of 150 examples is known to within a tenth or so.
    assert 0.02 < drawn.correlation_high - drawn.correlation_low < 0.3


def test_pilot_whose_range_reaches_what_its_estimate_does_not_leaves_it_open(two_arms):
    """No flat "no number": between the trials at the favorable end and more examples."""
    needed = {}
    for percent in range(100, 20, -2):
        (answer,) = plan(pilot=two_arms, detect=percent / 1000).answers
        kind = "known" if answer.n_seeds else "open" if answer.low else "examples"
        needed.setdefault(kind, []).append((percent, answer))
    (first_open, *_) = needed["open"]
    open_result = plan(pilot=two_arms, detect=first_open[0] / 1000)

    assert list(needed) == ["known", "open"]
    assert open_result.sentences()[0].code == "maybe-too-few-examples"
    assert open_result.sentences()[0].fields["low"] == first_open[1].low
    answer = needed["open"][-1][1]
    assert 150 < answer.n_examples < answer.n_examples_high


def test_detectable_effects_of_a_pilot_have_a_range(pilot, two_arms):
    for result in (plan(pilot=pilot), plan(pilot=two_arms)):
        ranges = [x for x in result.reaches if x.kind != "sd"]
        assert ranges
        assert all(x.low < x.detectable < x.high for x in ranges)


def test_given_figures_have_no_range():
    (answer,) = plan(sd=0.01, detect=0.02).answers

    assert (answer.low, answer.high, answer.n_examples_low) == (None, None, None)
    assert plan(sd=0.01, seeds=10).reaches[0].low is None


def test_examples_may_be_given_without_a_pilot():
    """Two arms have twice the variance of one, less what they share."""
    options = {"sd": 0.01, "detect": 0.02, "n_examples": 1000, "example_sd": 0.3}

    result = plan(**options, example_correlation=0.8)

    expected = seeds_for(MeanTest(0.01, example_variance=2 * 0.2 * 0.3**2 / 1000), 0.02)
    assert result.answers[0].n_seeds == expected
    assert plan(**options).answers[0].n_seeds is None
    assert "enough-examples" in {note.code for note in plan(sd=0.01, detect=0.02).notes()}


def test_several_arms_are_planned_together():
    """For every kind, and the notes say so."""
    options = {
        "sd": 0.01,
        "detect": 0.01,
        "detect_sd_ratio": 2,
        "cv": 0.2,
        "detect_flip_ratio": 0.7,
    }
    alone, together = plan(**options), plan(**options, arms=5)

    pairs = zip(alone.answers, together.answers, strict=True)
    assert all(single.n_seeds < of_five.n_seeds for single, of_five in pairs)
    assert together.summary()["arms"] == 5
    assert "several-arms" in {note.code for note in together.notes()}


def test_pilot_of_two_arms_estimates_the_correlation_over_examples():
    """Arms that are right on the same examples need fewer seeds than unrelated ones."""
    batches = Simulation(8, 500).draw_pair(Simulation(8, 500), np.random.default_rng(4))
    arms = [sp.Predictions.from_arrays(x.predictions, labels=x.labels) for x in batches]

    of_one = plan(pilot=sp.measure(arms[0]), seeds=10)
    of_two = plan(pilot=sp.compare(arms), seeds=10)

    assert of_two.figures.examples["mean"].correlation > 0.5
    assert of_two.reaches[0].detectable < of_one.reaches[0].detectable
    assert "correlated-examples" in {note.code for note in of_two.notes()}


def test_several_questions_have_several_answers(pilot):
    """The order is mean, sd, flip rate, with one sentence each."""
    result = plan(pilot=pilot, detect=0.3, detect_sd_ratio=2, detect_flip_ratio=0.3)

    assert [answer.kind for answer in result.answers] == ["mean", "sd", "flip_rate"]
    assert [message.code for message in result.sentences()[:3]] == ["seeds-needed"] * 3


def test_text_fits_eighty_columns(pilot):
    """No line has trailing spaces."""
    for line in str(plan(pilot=pilot, detect=0.0123, detect_flip_ratio=0.5)).splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()


def test_json_has_every_figure(pilot):
    """Each figure has the value that it has in the result."""
    result = plan(pilot=pilot, detect=0.05, power=0.9)

    summary = json.loads(result.to_json())

    assert summary["power"] == 0.9
    assert summary["answers"][0]["n_seeds"] == result.answers[0].n_seeds
    assert summary["pilot"]["sd"]["value"] == pilot["accuracy_sd"].value
    assert [reach["kind"] for reach in summary["reaches"]] == ["mean", "sd", "flip_rate"]


def test_a_pilot_without_labels_still_plans_flip_rates():
    """A difference of means is refused, because there is no accuracy."""
    batch = Simulation(10, 500).draw(np.random.default_rng(2))
    unlabeled = sp.measure(batch.predictions)

    assert plan(pilot=unlabeled, detect_flip_ratio=0.3).answers[0].n_seeds > 2
    with pytest.raises(OptionError, check=WithFields(keyword="sd", has_pilot=True)):
        plan(pilot=unlabeled, detect=0.01)


def test_pilot_of_three_runs_is_planned_from_five_on():
    """Fewer seeds would show nothing, because they get no verdict."""
    rng = np.random.default_rng(5)
    pilot = sp.measure((rng.random((3, 400)) < 0.3).astype(int))

    result = plan(pilot=pilot, detect_flip_ratio=0.01)

    assert result.answers[0].n_seeds >= 5
    assert min(reach.n_seeds for reach in result.reaches) == 5


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {"keyword": "detect"}),
        ({"detect": 0.005}, {"keyword": "sd", "has_pilot": False}),
        ({"sd": "x", "detect": 0.005}, {"keyword": "sd", "given": "x"}),
        ({"sd": 0.012, "detect": "0.005"}, {"keyword": "detect", "given": "0.005"}),
        ({"seeds": 10, "power": True}, {"keyword": "power", "given": True}),
        ({"detect_flip_ratio": 0.8}, {"keyword": "cv", "has_pilot": False}),
        ({"seeds": 4}, {"keyword": "seeds", "n_seeds": 4, "at_least": 5}),
        ({"seeds": True}, {"keyword": "seeds", "n_seeds": True}),
        ({"seeds": 10, "example_correlation": 0.5}, {"keyword": "example_correlation"}),
        ({"sd": 0.01, "detect": 0.01, "n_examples": 100}, {"keyword": "example_sd"}),
        ({"seeds": 10, "n_examples": 100, "example_sd": 0.3}, {"keyword": "n_examples"}),
        ({"seeds": 10, "arms": 0}, {"keyword": "arms", "n_arms": 0}),
        ({"sd": 0.012, "detect": 2}, {"keyword": "detect", "given": 2, "share": 0.02}),
        ({"detect_sd_ratio": 2.0, "paired_correlation": 0.5}, {"keyword": "paired_correlation"}),
        ({"pilot": NOT_A_REPORT, "detect": 0.01}, {"keyword": "pilot", "type_name": "Plan"}),
    ],
    ids=[
        "nothing", "no-sd", "sd", "detect", "power", "no-cv", "few-seeds", "seeds", "correlation",
        "no-example-sd", "examples-without-sd", "arms", "share", "paired", "pilot",
    ],
)  # fmt: skip
def test_incomplete_or_contradictory_options_are_refused(options, fields):
    """The error has a single line."""
    with pytest.raises(OptionError, check=WithFields(**fields)) as error:
        plan(**options)

    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("keyword", "given"),
    [("example_correlation", 1.5), ("sd", 0.01), ("n_examples", 100), ("detect", 1.5)],
)
def test_options_that_contradict_a_pilot_are_refused(pilot, keyword, given):
    """A correlation is at most 1, and the pilot has its own sd."""
    with pytest.raises(OptionError, check=WithFields(keyword=keyword, given=given)):
        plan(pilot=pilot, detect_flip_ratio=0.5, **{keyword: given})


def test_pilot_may_be_the_predictions_themselves():
    """They are measured first, with the options that apply to them."""
    rng = np.random.default_rng(0)
    predictions, labels = rng.integers(0, 2, (10, 300)), rng.integers(0, 2, 300)

    result = plan(pilot=predictions, labels=labels, detect=0.05)

    assert (
        result.summary()
        == plan(pilot=sp.measure(predictions, labels=labels), detect=0.05).summary()
    )
    with pytest.raises(OptionError, check=WithFields(option="labels")):
        plan(sd=0.01, detect=0.05, labels=labels)
