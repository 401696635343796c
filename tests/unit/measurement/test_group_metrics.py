"""Flip rate and accuracy by class and slice: sums in one pass, intervals that hold together."""

import json
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

import seedproof as sp
from seedproof.engines import Outcome
from seedproof.errors import ColumnError
from seedproof.measurement import groups
from seedproof.measurement.clusters import ClusterKeys
from seedproof.measurement.group_metrics import N_PARTS, PART_BITS
from seedproof.measurement.load import load_saved
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.flips import Flips
from seedproof.records import schema
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.stats.intervals import PLAIN, estimate_mean
from seedproof.testing.errors import WithFields

N_EXAMPLES = 600
ENDS = ("value", "low", "high")


def _predictions(n_runs=7, n_classes=4, *, unstable=2):
    """Runs that differ most on one gold class, and the gold classes; a tenth has none."""
    rng = np.random.default_rng(3)
    gold = rng.integers(n_classes, size=N_EXAMPLES)
    share = np.where(gold == unstable, 0.5, 0.05)
    is_drawn = rng.random((n_runs, N_EXAMPLES)) < share
    predictions = np.where(is_drawn, rng.integers(n_classes, size=is_drawn.shape), gold)
    return predictions, np.where(rng.random(N_EXAMPLES) < 0.1, -1, gold)


def _alone(predictions, labels, chosen, level):
    """Measure some examples alone, with an interval at this level."""
    batch = Batch(predictions[:, chosen], n_classes=int(predictions.max()) + 1)
    flips = Flips(batch.n_runs, batch.n_classes)
    flips.update(batch)
    yield "flip_rate", estimate_mean(replace(flips.result()["flip_rate"], is_small=True), level)
    is_known = chosen & (labels >= 0)
    if is_known.any():
        labeled = Batch(
            predictions[:, is_known], n_classes=batch.n_classes, labels=labels[is_known]
        )
        accuracy = Accuracy(batch.n_runs, batch.n_classes)
        accuracy.update(labeled)
        yield (
            "accuracy",
            estimate_mean(replace(accuracy.result()["accuracy"], is_small=True), level),
        )


def _assert_same(group, predictions, labels, chosen, n_groups):
    assert group.n_examples == chosen.sum()
    assert group.n_labeled == (chosen & (labels >= 0)).sum()
    expected = dict(_alone(predictions, labels, chosen, PLAIN.divided(n_groups)))
    assert list(group.metrics) == list(expected)
    for name, estimate in expected.items():
        assert group.metrics[name].over == estimate.over
        for end in ENDS:
            # The same sums, of whole numbers here and of fractions there.
            assert getattr(group.metrics[name], end) == pytest.approx(
                getattr(estimate, end), rel=1e-9
            )


@pytest.mark.parametrize("n_runs", [2, 3, 7, 60])
@pytest.mark.parametrize("n_values", [3, 100])
def test_groups_are_those_of_measuring_their_examples_alone(n_runs, n_values):
    """By gold class and by slice, few groups and many, with the tail divided by their number."""
    predictions, labels = _predictions(n_runs)
    values = np.arange(N_EXAMPLES) % n_values
    report = sp.measure(predictions, labels=labels, slices={"part": values})

    assert [group.name for group in report.by_class] == ["0", "1", "2", "3"]
    for group in report.by_class:
        _assert_same(group, predictions, labels, labels == int(group.name), 4)
    assert len(report.slices["part"]) == n_values
    for group in report.slices["part"]:
        _assert_same(group, predictions, labels, values == int(group.name), n_values)


def test_without_labels_classes_are_those_of_the_majority():
    """There is a flip rate, and no accuracy."""
    predictions, _ = _predictions()
    report = sp.measure(predictions)
    consensus = report.examples["consensus"].to_numpy().astype(int)
    unlabeled = np.full(N_EXAMPLES, -1)

    for group in report.by_class:
        _assert_same(group, predictions, unlabeled, consensus == int(group.name), 4)


def test_one_slice_with_all_examples_is_the_whole():
    """One group needs no adjustment, but rates of groups have the interval of few examples."""
    predictions, labels = _predictions()
    report = sp.measure(predictions, labels=labels, slices={"all": np.zeros(N_EXAMPLES)})

    (whole,) = report.slices["all"]

    for name, estimate in whole.metrics.items():
        assert estimate.value == report[name].value
        # The quantile is Student's, and rates are between the bounds of Clopper and Pearson.
        assert estimate.low == pytest.approx(report[name].low, rel=0.01)
        assert estimate.high == pytest.approx(report[name].high, rel=0.01)


def test_interval_of_a_group_is_never_narrower_than_over_its_examples_alone():
    """Three runs that flip equally often would otherwise leave an interval of no width."""
    predictions = np.zeros((3, 90), dtype=int)
    predictions[np.arange(30) % 3, np.arange(30)] = 1
    report = sp.measure(predictions, slices={"part": np.arange(90) // 45})

    flips = [group.metrics["flip_rate"] for group in report.slices["part"]]

    assert flips[0].low < 0.9 * flips[0].value < 1.1 * flips[0].value < flips[0].high


@pytest.mark.parametrize("kind", ["probs", "labels"])
def test_engines_and_shards_do_not_change_groups(kind, tmp_path, monkeypatch):
    """The same bytes in any order of tasks, and the same sums in shards of any size."""
    predictions, labels = _predictions()
    values = np.eye(4, dtype=np.float32)[predictions] if kind == "probs" else predictions
    slices = {"language": np.array(["de", "en", None])[np.arange(N_EXAMPLES) // 7 % 3]}

    class Backwards:
        def map(self, task, items):
            return (Outcome(index, task(index)) for index in reversed(items))

    def source():
        return ArrayShards(values, labels=labels, extras=slices)

    options = {"slices": tuple(slices)}
    whole = measure_shards(source(), Location.of(tmp_path / "a.parquet"), **options)
    monkeypatch.setattr(schema, "GROUP_BYTES", 600)
    cut = measure_shards(source(), Location.of(tmp_path / "b.parquet"), **options)
    backwards = measure_on(Backwards(), source(), Location.of(tmp_path / "c"), **options)

    assert source().n_shards > 3
    assert backwards.to_json() == cut.to_json()
    for part in ("by_class", "slices"):
        assert whole.summary()[part] == cut.summary()[part]
    assert [group.name for group in cut.slices["language"]] == ["(none)", "de", "en"]


def _apart(n_clusters):
    """Names of clusters that belong to different parts."""
    names = np.arange(20 * N_PARTS)
    keys = np.array([crc32(str(name).encode()) for name in names])
    parts = ClusterKeys(keys, names).parts(PART_BITS)
    return list(dict(zip(parts, names, strict=True)).values())[:n_clusters]


def _with_clusters(values, without, clusters):
    """Variances of a mean from drawing clusters: all of it, and what runs count as well."""
    n, names = len(values), np.unique(clusters)
    sums = np.array([(values - values.mean())[clusters == name].sum() for name in names])
    rest = without - without.mean(axis=1, keepdims=True)
    by_run = np.array([rest[:, clusters == name].sum(axis=1) for name in names])
    factor = len(names) / (len(names) - 1)
    return factor * (sums @ sums) / n**2, (len(without) - 1) * by_run.var(axis=1).sum() / n**2


def test_clusters_are_drawn_in_place_of_examples():
    """Whole clusters, each with its residual from the mean of the group."""
    predictions, labels = _predictions()
    labels = np.where(labels < 0, 0, labels)
    clusters = np.array(_apart(23))[np.arange(N_EXAMPLES) % 23]
    report = sp.measure(predictions, labels=labels, clusters=clusters)

    for group in report.by_class:
        chosen = labels == int(group.name)
        accuracy = Accuracy(len(predictions), 4)
        accuracy.update(Batch(predictions[:, chosen], n_classes=4, labels=labels[chosen]))
        right = predictions[:, chosen] == labels[chosen]
        without = np.stack([np.delete(right, run, axis=0).mean(axis=0) for run in range(7)])
        drawn, interaction = _with_clusters(right.mean(axis=0), without, clusters[chosen])
        statistic = replace(
            accuracy.result()["accuracy"],
            example_variance=drawn,
            interaction_variance=interaction,
            is_small=True,
            clusters=Residuals(int(chosen.sum()), np.zeros(23), np.zeros((len(right), 23))),
        )
        expected = estimate_mean(statistic, PLAIN.divided(4))
        assert group.metrics["accuracy"].low == pytest.approx(expected.low, rel=1e-9)


def test_examples_that_are_alone_in_their_clusters_change_next_to_nothing():
    predictions, labels = _predictions()
    options = {"labels": labels[:40], "slices": {"all": np.zeros(40)}}
    plain = sp.measure(predictions[:, :40], **options)
    alone = sp.measure(predictions[:, :40], clusters=_apart(40), **options)

    for name, estimate in plain.slices["all"][0].metrics.items():
        clustered = alone.slices["all"][0].metrics[name]
        # Clusters leave out the main effect of a run, which examples count as interaction.
        assert clustered.low == pytest.approx(estimate.low, rel=0.01)


def test_class_is_less_stable_if_its_interval_is_above_the_whole():
    predictions, labels = _predictions()
    report = sp.measure(predictions, labels=labels)

    less_stable = [group.name for group in report.by_class if group.is_less_stable]

    assert less_stable == ["2"]
    assert report.by_class[2].metrics["flip_rate"].low > report["flip_rate"].value


def test_few_runs_support_no_verdict():
    """However far its interval is from the whole."""
    predictions, labels = _predictions(4)
    report = sp.measure(predictions, labels=labels)

    assert report.by_class[2].metrics["flip_rate"].low > report["flip_rate"].value
    assert not any(group.is_less_stable for group in report.by_class)


def test_single_example_has_no_interval():
    """It shows nothing about other examples."""
    predictions, labels = _predictions()
    first = np.flatnonzero(labels >= 0)[0]
    values = np.where(np.arange(N_EXAMPLES) == first, "first", "other")
    report = sp.measure(predictions, labels=labels, slices={"place": values})

    alone, others = (group.metrics.values() for group in report.slices["place"])

    assert all(estimate.low is None for estimate in alone)
    assert all(estimate.low is not None for estimate in others)


def test_accuracy_that_is_not_requested_is_left_out():
    predictions, labels = _predictions()
    report = sp.measure(predictions, labels=labels, metrics=["flip_rate"])

    assert [list(group.metrics) for group in report.by_class] == [["flip_rate"]] * 4


def test_too_many_classes_are_left_out_with_a_note(monkeypatch):
    predictions, labels = _predictions()
    monkeypatch.setattr(groups, "MAX_GROUPS", 3)
    report = sp.measure(predictions, labels=labels)

    (note,) = report.measurement.notes

    assert report.by_class == ()
    assert (note.code, note.fields["n_classes"]) == ("too-many-classes", 4)


def test_column_with_too_many_values_is_refused(monkeypatch):
    predictions, _ = _predictions()
    monkeypatch.setattr(groups, "MAX_GROUPS", 4)

    with pytest.raises(ColumnError, check=WithFields(column="part", at_most=4)):
        sp.measure(predictions, slices={"part": np.arange(N_EXAMPLES) % 5})


def test_saved_groups_are_read_again(tmp_path):
    """A report of an older version has none."""
    predictions, labels = _predictions()
    report = sp.measure(predictions, labels=labels, slices={"part": labels % 2})
    report.save(tmp_path)

    again = load_saved(Location.of(tmp_path))
    summary = json.loads((tmp_path / "summary.json").read_text())
    older = {key: summary[key] for key in summary.keys() - {"by_class", "slices"}}
    (tmp_path / "summary.json").write_text(json.dumps(older))
    without = load_saved(Location.of(tmp_path))

    assert (again.by_class, again.slices) == (report.by_class, report.slices)
    assert (without.by_class, without.slices) == ((), {})
