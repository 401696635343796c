"""One primary metric, exploratory rows, equivalence, looks, and all pairs of arms."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import seedproof as sp
from seedproof.cli.main import app
from seedproof.errors import OptionError, UnknownNameError
from seedproof.testing.errors import WithFields

PAIRS = [("same", "none"), ("calm", "none"), ("calm", "same")]


def _train(run):
    probs = run.rng("data").dirichlet([4.0 if run.arm == "calm" else 1.0, 1.0], size=40)
    run.log_predictions("test", probs=probs, labels=[0, 1] * 20)


def _study(place, n_seeds):
    """Make or continue a study of three arms."""
    sp.Study("made", _train, seeds=n_seeds, arms=("none", "same", "calm"), store=place).run(
        "serial", progress=False
    )
    return place


def _drawn(n_runs, share, seed, n_examples=300):
    """Runs that flip each answer with a probability, and the labels."""
    rng = np.random.default_rng(seed)
    labels = np.random.default_rng(0).integers(0, 2, n_examples)
    flipped = rng.random((n_runs, n_examples)) < share
    return sp.Predictions.from_arrays(np.where(flipped, 1 - labels, labels), labels=labels)


@pytest.fixture(scope="module")
def three_arms():
    """Twelve runs of a baseline, of the same again, and of a steadier arm."""
    arms = {"none": 0.1, "same": 0.1, "calm": 0.03}
    return {name: _drawn(12, share, seed) for seed, (name, share) in enumerate(arms.items())}


def test_one_metric_is_primary_and_all_others_are_exploratory(three_arms):
    report = sp.compare(three_arms, primary="accuracy")

    effects = report.effects("calm")
    assert [name for name, effect in effects.items() if not effect.exploratory] == ["accuracy"]
    assert effects["flip_rate"].confidence > effects["accuracy"].confidence > 0.95
    assert report.summary()["primary"] == "accuracy"


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        ({"primary": "nll"}, OptionError, {"primary": "nll"}),
        ({"primary": "flips"}, UnknownNameError, {}),
        ({"margins": {"nll": 0.1}}, OptionError, {"metric": "nll"}),
        ({"margins": {"accuracy": 0.0}}, OptionError, {"metric": "accuracy"}),
        ({"primary": "ece"}, OptionError, {"metric": "ece", "remedy": "ece_corrected"}),
        ({"margins": {"ece": 0.1}}, OptionError, {"metric": "ece", "remedy": "ece_corrected"}),
        ({"declared_runs": 0}, OptionError, {"declared": 0}),
    ],
)
def test_metrics_that_are_not_measured_are_refused_by_name(three_arms, options, error, fields):
    with pytest.raises(error, check=WithFields(**fields)):
        sp.compare(three_arms, **options)


def test_margin_decides_what_is_equivalent(three_arms):
    wide, usual = (
        sp.compare(three_arms, margins=margins).effect("same", "flip_rate")
        for margins in ({"flip_rate": 0.5}, None)
    )

    assert (wide.verdict, wide.margin) == ("equivalent", 0.5)
    assert (usual.verdict, usual.margin) == ("no difference shown", 0.1)
    assert (wide.low, wide.high) == (usual.low, usual.high)


def test_sequential_comparison_rests_on_the_runs_of_the_latest_look(three_arms):
    """Ten of twelve runs, with a wider interval than ten declared ones."""
    sequential = sp.compare(three_arms, sequential=True)
    declared = sp.compare(three_arms, declared_runs=10)
    first = {name: arm.first(10) for name, arm in three_arms.items()}

    widths = [
        effect.high - effect.low
        for report in (sequential, declared)
        if (effect := report.effect("calm", "flip_rate"))
    ]
    assert sequential.summary()["runs"]["n_runs"] == declared.summary()["runs"]["n_runs"] == 10
    assert sequential.summary()["runs"]["next_look"] == 20
    assert widths[0] > widths[1]
    assert declared.effects("calm") == sp.compare(first).effects("calm")


def test_study_that_grew_is_compared_at_its_looks(tmp_path):
    """Five runs are declared by the first plan; with seven, the verdicts still rest on five."""
    for n_seeds in (5, 7):
        _study(tmp_path / "s", n_seeds)

    report = sp.compare(tmp_path / "s")

    assert report.summary()["runs"] == {
        "n_runs": 5,
        "n_available": 7,
        "declared": 5,
        "is_sequential": True,
        "next_look": 10,
    }
    assert {arm.measurement.n_runs for arm in (report.baseline, *report.arms)} == {5}
    with pytest.raises(OptionError, check=WithFields(recorded=5)):
        sp.compare(tmp_path / "s", declared_runs=7)


def test_any_two_arms_are_compared_directly(three_arms):
    """As in a comparison of the two alone, but at the level of all three pairs."""
    report = sp.compare(three_arms, all_pairs=True)
    alone = sp.compare({name: three_arms[name] for name in ("same", "calm")})

    pair, single = report.contrast("calm", "same"), alone.effects("calm")
    assert {name: effect.value for name, effect in pair.items()} == {
        name: effect.value for name, effect in single.items()
    }
    assert pair["flip_rate"].low < single["flip_rate"].low < single["flip_rate"].high
    assert report.contrast("same", "calm")["flip_rate"].verdict == "less steady"
    assert report.contrast("calm", "none") == report.effects("calm")
    assert len({report.contrast(a, b)["flip_rate"].confidence for a, b in PAIRS}) == 1
    (written,) = report.summary()["pairs"]
    assert (written["arm"], written["against"]) == ("calm", "same")
    rows = report.view().pairs.rows
    assert {(arm, against) for arm, against, *_ in rows} == set(PAIRS)


def test_arms_other_than_the_baseline_are_compared_only_on_request(three_arms):
    report = sp.compare(three_arms)

    assert "pairs" not in report.summary()
    with pytest.raises(OptionError, check=WithFields(option="all_pairs")):
        report.contrast("calm", "same")
    with pytest.raises(OptionError, check=WithFields(arm="calm")):
        report.contrast("calm", "calm")


def test_reports_are_judged_by_the_same_families(three_arms):
    """One primary metric, and all others at the level divided by their number."""
    reports = {name: sp.measure(three_arms[name]) for name in ("none", "calm")}
    report = sp.compare(reports, primary="accuracy")

    effects = report.arms[0].effects
    judged = [effect for effect in effects.values() if effect.exploratory and effect.confidence]
    assert effects["accuracy"].confidence == pytest.approx(0.95)
    expected = [1 - 0.05 / len(judged)] * len(judged)
    assert [effect.confidence for effect in judged] == pytest.approx(expected)


def test_command_takes_primary_margins_looks_and_all_pairs(tmp_path):
    """The same as in Python."""
    store = _study(tmp_path / "s", 6)
    words = "--primary accuracy --margin accuracy=0.02 --margin flip_rate=0.2 --all-pairs"

    result = CliRunner().invoke(app, ["compare", str(store), *words.split(), "--json"])

    printed = json.loads(result.stdout)
    expected = sp.compare(
        store, primary="accuracy", margins={"accuracy": 0.02, "flip_rate": 0.2}, all_pairs=True
    )
    assert printed == json.loads(expected.to_json())
