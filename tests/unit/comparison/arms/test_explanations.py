"""Arms are compared by the explanations of their runs."""

from collections import Counter

import numpy as np
import pytest

import seedproof as sp
from seedproof.metrics.explanations import Explanations, RaggedScores
from seedproof.records.location import Location
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import crosses
from seedproof.stats.intervals import PLAIN
from support.explained import write_explained

N_RUNS = 10
LENGTHS = np.random.default_rng(0).integers(3, 20, 40)


def scores_of(rng, base, *, spread, style=0.2):
    """Draw runs around a common weight of each token, each with its own spread."""
    own = spread * np.exp(rng.normal(0, style, (N_RUNS, 1, 1)))
    return [
        np.exp(weights + own * rng.normal(0, 1, (N_RUNS, 1, len(weights)))).astype(np.float32)
        for weights in base
    ]


def base_of(rng):
    """Log weights of the tokens of each example."""
    return [rng.normal(0, 1, n) for n in LENGTHS]


def probs_of(arm):
    """Return probabilities of which no run, and no arm, is a copy of another."""
    rng = np.random.default_rng(list(arm.encode()))
    shares = 0.4 + 0.01 * rng.random((N_RUNS, len(LENGTHS)))
    return np.stack([shares, 1 - shares], axis=2).astype(np.float32)


PROBS = probs_of("none")


@pytest.fixture
def place(tmp_path):
    """Location of the store."""
    return Location.of(tmp_path / "store")


def add(place, scores, arm, *, ids=None, method="lime"):
    """Write the runs of one arm."""
    probs = probs_of(arm)
    names = range(len(scores)) if ids is None else ids
    return write_explained(place, list(names), scores, arm=arm, method=method, probs=probs, rows=16)


def test_a_steadier_arm_has_the_effects_of_both_measurements(place):
    """Distances have a ratio, agreements a difference."""
    rng = np.random.default_rng(1)
    base = base_of(rng)
    add(place, scores_of(rng, base, spread=0.6), "none")
    add(place, scores_of(rng, base, spread=0.3), "calm")

    result = sp.compare(place).comparison

    alone = [
        sp.measure(place, arm=arm).measurement.explanations["lime"] for arm in ("none", "calm")
    ]
    assert result.baseline.explanations == {}
    assert [
        arm.measurement.explanations["lime"].summary() for arm in (result.baseline, *result.arms)
    ] == [explained.summary() for explained in alone]
    for name, effect in result.arms[0].explanations["lime"].items():
        before, after = (explained.metrics[name].value for explained in alone)
        is_agreement = name in {"explanation_overlap", "explanation_tau", "explanation_rbo"}
        expected = after - before if is_agreement else after / before
        assert effect.value == pytest.approx(expected)
        assert effect.low < effect.value < effect.high
        assert effect.verdict == "steadier"
    plain = result.summary()["arms"][0]["explanations"]["lime"]
    assert plain["effects"]["explanation_js"]["verdict"] == "steadier"


def alike(rng):
    """Effects between two arms of one distribution, as the pass computes them."""
    base, families, values = base_of(rng), [], []
    for _ in range(2):
        flat = np.concatenate([scores[:, 0] for scores in scores_of(rng, base, spread=0.5)], axis=1)
        families.append(Explanations(N_RUNS))
        values.append(families[-1].update(RaggedScores(flat, LENGTHS, None)))
    shared = crosses(values[0], values[1], is_paired=False)
    before, after = (family.result() for family in families)
    return {
        name: compared(
            name, before[name], after[name], cross=shared[name], is_paired=False, level=PLAIN
        )
        for name in before
    }


def test_equal_arms_are_rarely_called_different():
    """Of 60 studies 5 % would be 3; with that rate more than 8 happen once in 250 such tests."""
    rng = np.random.default_rng(2)
    shown = Counter()
    for _ in range(60):
        shown.update(name for name, effect in alike(rng).items() if effect.is_shown)

    assert max(shown.values(), default=0) <= 8


def test_runs_of_one_seed_are_paired(place):
    """A small difference is shown if an arm has nearly the scores of the baseline's runs."""
    rng = np.random.default_rng(3)
    base = base_of(rng)
    scores = scores_of(rng, base, spread=0.5, style=0.6)
    add(place, scores, "none")
    add(place, [np.exp(0.97 * np.log(of_example)) for of_example in scores], "calm")

    effect = sp.compare(place).arms[0].explanations["lime"]["explanation_js"]

    assert effect.verdict == "steadier"
    assert 0.9 < effect.low < effect.high < 1.0


def test_an_arm_that_explains_other_examples_is_left_out_with_a_note(place):
    """Its predictions are compared, and so are arms that explain the same examples."""
    rng = np.random.default_rng(4)
    scores = scores_of(rng, base_of(rng), spread=0.5)
    add(place, scores, "none")
    write_explained(
        place, list(range(20)), scores[:20], arm="few", probs=PROBS, predicted=range(40), rows=16
    )

    add(place, scores, "same")

    result = sp.compare(place).comparison

    few, same = result.arm("few"), result.arm("same")
    assert few.explanations == {}
    assert few.effects
    assert list(same.explanations) == ["lime"]
    left_out = [note for note in result.notes if note.code == "explanations-left-out"]
    assert [note.fields["method"] for note in left_out] == ["lime"]


def test_arms_with_different_draws_are_compared_by_their_first_draws(place):
    """Each keeps its own noise floor."""
    rng = np.random.default_rng(7)
    base = base_of(rng)
    once, calm = scores_of(rng, base, spread=0.6), scores_of(rng, base, spread=0.3)
    twice = [np.concatenate([x, x * 1.5 ** rng.normal(size=x.shape)], axis=1) for x in calm]
    add(place, once, "none")
    add(place, twice, "calm")

    result = sp.compare(place).comparison

    assert "explanations-left-out" not in {note.code for note in result.notes}
    assert result.baseline.measurement.explanations["lime"].noise is None
    alone = sp.measure(place, arm="calm").measurement.explanations["lime"]
    assert result.arms[0].measurement.explanations["lime"].noise == alone.noise
    before = result.baseline.measurement.explanations["lime"].metrics["explanation_js"].value
    effect = result.arms[0].explanations["lime"]["explanation_js"]
    assert effect.value == pytest.approx(alone.metrics["explanation_js"].value / before)


def test_notes_on_explanations_name_the_arms(place):
    """Unless they apply to all arms."""
    rng = np.random.default_rng(8)
    scores = scores_of(rng, base_of(rng), spread=0.5)
    options = {"probs": PROBS[:, :38], "predicted": range(38), "rows": 16}
    for arm in ("none", "same"):
        write_explained(place, list(range(40)), scores, arm=arm, **options)

    def notes():
        result = [note for note in sp.compare(place).comparison.notes if "note" in note.fields]
        return {note.fields["note"].code: note for note in result}

    (note,) = notes().values()
    assert (note.code, note.fields["method"]) == ("explanations-of-arms", "lime")
    assert note.fields["note"].code == "explained-without-prediction"
    assert note.fields["note"].fields["n_examples"] == 2
    assert (note.fields["arms"], note.fields["where"]) == (("none", "same"), "")
    empty = [x[:, :, :0] if i < 3 else x for i, x in enumerate(scores)]
    write_explained(place, list(range(40)), empty, arm="empty", **options)
    note = notes()["examples-without-tokens"]
    assert note.fields["arms"] == ("empty",)
    assert note.fields["note"].fields["n_examples"] == 3
    assert "empty" in str(note)


def test_a_method_of_a_single_arm_is_measured_and_not_compared(place):
    """The baseline has another method."""
    rng = np.random.default_rng(5)
    scores = scores_of(rng, base_of(rng), spread=0.5)
    add(place, scores, "none")
    add(place, scores, "other", method="gradient")

    result = sp.compare(place).comparison

    assert result.arms[0].explanations == {}
    assert list(result.arms[0].measurement.explanations) == ["gradient"]


def test_saved_reports_are_compared_by_their_intervals(place, tmp_path):
    """The ratio is that of the records."""
    rng = np.random.default_rng(6)
    base = base_of(rng)
    add(place, scores_of(rng, base, spread=0.6), "none")
    add(place, scores_of(rng, base, spread=0.3), "calm")
    for arm in ("none", "calm"):
        sp.measure(place, arm=arm).save(tmp_path / arm)

    saved = sp.compare([str(tmp_path / "none"), str(tmp_path / "calm")]).arms[0]

    effect = saved.explanations["lime"]["explanation_js"]
    exact = sp.compare(place).arms[0].explanations["lime"]["explanation_js"]
    assert effect.value == pytest.approx(exact.value)
    assert (effect.verdict, exact.verdict) == ("steadier", "steadier")
