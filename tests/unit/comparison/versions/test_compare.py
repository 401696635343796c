"""Two versions: flips between them, within them, and beyond the seed."""

import json
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedproof.comparison.versions.compare import compare_versions
from seedproof.comparison.versions.disagreement import Disagreement, flips
from seedproof.comparison.versions.groups import GroupSums
from seedproof.errors import (
    ColumnError,
    TooFewRunsError,
)
from seedproof.measurement.groups import Groups
from seedproof.measurement.measure import measure_shards
from seedproof.records import schema
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.stats.permutation_test import permutation_p_value
from seedproof.testing.errors import WithFields
from support.simulation import Simulation


def _source(values, **options):
    values = np.asarray(values)
    return ArrayShards(values, alone=len(values) == 1, **options)


@pytest.fixture
def compare(tmp_path):
    """Compare predictions of two versions, axes (runs, examples)."""

    def call(old, new, *, labels=None, slices=(), **options):
        place = Location.of(tmp_path / "examples.parquet")
        versions = [_source(runs, labels=labels, **options) for runs in (old, new)]
        return compare_versions(*versions, place, slices=slices)

    return call


def test_figures_equal_the_hand_computed_values(compare):
    """Two examples. The first: old 0 0 1, new 0 1 1; the second: old 1 1 1, new 1 1 1; gold 0 and 1.

    Between: 5 of 9 pairs differ. Within: 2 of 3 pairs of each. Right: 2/3 of the old, 1/3 of the new.
    """
    result = compare([[0, 1], [0, 1], [1, 1]], [[0, 1], [1, 1], [1, 1]], labels=[0, 1])

    expected = {
        "flip_rate": 5 / 9 / 2,
        "flip_rate_old": 2 / 3 / 2,
        "flip_rate_new": 2 / 3 / 2,
        "flip_rate_no_change": 2 / 3 / 2,
        "flip_rate_beyond": (5 / 9 - 2 / 3) / 2,
        "negative_flip_rate": 2 / 3 * 2 / 3 / 2,
        "positive_flip_rate": 1 / 3 * 1 / 3 / 2,
        "directed_flip_rate_no_change": 2 / 3 * 1 / 3 * 3 / 2 / 2,
        "accuracy_old": (2 / 3 + 1) / 2,
        "accuracy_new": (1 / 3 + 1) / 2,
        "accuracy_change": -1 / 3 / 2,
    }
    for name, value in expected.items():
        assert result[name].value == pytest.approx(value, rel=1e-12), name
    assert (
        result.permutation_test.p_value == 1.0
    )  # no assignment of these six votes is closer together


def _pairwise(old, new, gold):
    """Slow oracle over every pair of runs."""

    def rate(pairs, differ):
        return np.mean([differ(*pair).mean() for pair in pairs])

    def flips(first, second):
        return first != second

    def falls(first, second):
        return (first == gold) & (second != gold)

    between, back = list(product(old, new)), list(product(new, old))
    within = [list(permutations(runs, 2)) for runs in (old, new) if len(runs) > 1]
    usual = np.mean([rate(pairs, flips) for pairs in within])
    each = np.mean([rate(pairs, falls) for pairs in within])
    return {
        "flip_rate": rate(between, flips),
        "flip_rate_no_change": usual,
        "flip_rate_beyond": rate(between, flips) - usual,
        "negative_flip_rate": rate(between, falls),
        "negative_flip_rate_beyond": rate(between, falls) - each,
        "positive_flip_rate": rate(back, falls),
        "positive_flip_rate_beyond": rate(back, falls) - each,
        "directed_flip_rate_no_change": each,
        "accuracy_change": (new == gold).mean() - (old == gold).mean(),
    }


@st.composite
def _versions(draw, min_runs=1):
    n_old = draw(st.integers(min_runs, 5))
    n_new = draw(st.integers(max(min_runs, 2 if n_old == 1 else 1), 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape, n_classes = (n_old + n_new, draw(st.integers(1, 12))), draw(st.integers(2, 5))
    usual = rng.integers(0, n_classes, shape[1])
    pooled = np.where(rng.random(shape) < 0.5, rng.integers(0, n_classes, shape), usual)
    pooled[0, 0] = usual[0]  # some label is predicted
    return pooled[:n_old], pooled[n_old:], usual


@given(versions=_versions())
@settings(max_examples=60, deadline=None)
def test_figures_are_means_over_pairs_of_runs(versions, tmp_path_factory):
    """A single run has no pairs, and the pairs of the other version are the baseline."""
    old, new, gold = versions
    place = Location.of(tmp_path_factory.mktemp("pairs") / "examples.parquet")
    options = {"labels": gold, "classes": list("01234"), "alone": True}

    result = compare_versions(ArrayShards(old, **options), ArrayShards(new, **options), place)

    for name, value in _pairwise(old, new, gold).items():
        # Sums of fractions round.
        assert result[name].value == pytest.approx(value, abs=1e-12), name


@given(versions=_versions(min_runs=3))
@settings(max_examples=40, deadline=None)
def test_variance_over_runs_is_that_of_the_jackknife(versions):
    """Computed from sums, and run by run."""
    old, new, gold = versions
    members = Groups((), ()).members(np.zeros((1, len(gold)), dtype=np.int64))
    sums = GroupSums()
    sums.update(flips(Disagreement.count(old, new))["flip_rate_beyond"], members)
    mean = sums.group(0, len(gold), {"old": len(old), "new": len(new)})

    variance = 0.0
    for version in (0, 1):
        values = []
        for run_idx in range(len((old, new)[version])):
            kept = [old, new]
            kept[version] = np.delete(kept[version], run_idx, axis=0)
            values.append(_pairwise(*kept, gold)["flip_rate_beyond"])
        variance += (len(values) - 1) * np.var(values)

    # Differences of fractions of which most cancel.
    assert mean._contrast(is_log=False).run_variance == pytest.approx(variance, abs=1e-12)


def test_figures_within_a_version_are_those_of_measuring_it(compare, tmp_path):
    """Flip rate and accuracy, with their intervals."""
    rng = np.random.default_rng(0)
    pooled = rng.integers(0, 2, (9, 50)) * (rng.random(50) < 0.6)
    gold = np.zeros(50, dtype=int)
    result = compare(pooled[:5], pooled[5:], labels=gold)

    for version, runs in (("old", pooled[:5]), ("new", pooled[5:])):
        alone = measure_shards(_source(runs, labels=gold), Location.of(tmp_path / "alone.parquet"))
        for name in ("flip_rate", "accuracy"):
            here, there = result[f"{name}_{version}"], alone.metrics[name]
            assert here.over == there.over
            for end in ("value", "low", "high"):
                # One adds fractions, the other whole numbers.
                assert getattr(here, end) == pytest.approx(getattr(there, end), rel=1e-9)


@given(versions=_versions())
@settings(max_examples=40, deadline=None)
def test_permutation_test_counts_every_assignment_of_the_runs(versions):
    """The p-value is the share of assignments that are as far apart."""
    old, new, gold = versions
    pooled = np.concatenate([old, new])
    seen = _pairwise(old, new, gold)["flip_rate_beyond"]
    choices = list(combinations(range(len(pooled)), len(old)))
    far = 0
    for chosen in choices:
        rest = [i for i in range(len(pooled)) if i not in chosen]
        far += _pairwise(pooled[list(chosen)], pooled[rest], gold)["flip_rate_beyond"] > seen - 1e-9

    differ = (pooled[:, None] != pooled[None]).sum(axis=2)
    result = permutation_p_value(differ, len(old), rng=np.random.default_rng(0))

    assert result == pytest.approx(far / len(choices), rel=1e-12)


def test_permutation_test_of_many_runs_draws_assignments_at_random():
    """20 and 20 runs: the sampled p-value is the same again with the same generator."""
    rng = np.random.default_rng(5)
    pooled = rng.integers(0, 2, (40, 100))
    differ = (pooled[:, None] != pooled[None]).sum(axis=2)

    result = [permutation_p_value(differ, 20, rng=np.random.default_rng(0)) for _ in range(2)]

    assert result[0] == result[1]
    assert 0.01 < result[0] <= 1.0


def test_classes_are_compared_by_name(tmp_path):
    """The old version has a and b, the new one c, b and a."""
    place = Location.of(tmp_path / "examples.parquet")
    old = ArrayShards([["a", "b"], ["a", "b"]], labels=["a", "b"])
    new = ArrayShards(np.array([[[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]]] * 2), classes=["c", "b", "a"])

    result = compare_versions(old, new, place)

    assert result.classes == ("a", "b", "c")
    assert result["flip_rate"].value == 0.5
    rows = result.examples().to_pylist()
    assert [(row["old"], row["new"]) for row in rows] == [("a", "a"), ("b", "c")]
    assert result["negative_flip_rate"].value == 0.5


def test_every_class_has_its_own_figures(compare):
    """Examples of gold class 1 change in every run, those of class 0 in none."""
    old = np.tile([0, 0, 1, 1, 1], (4, 1))
    new = np.tile([0, 0, 0, 0, 0], (4, 1))

    result = compare(old, new, labels=[0, 0, 1, 1, 1])

    by_name = {part.name: part for part in result.by_class}
    assert [by_name[name].n_examples for name in "01"] == [2, 3]
    assert [by_name[name].figures["flip_rate"].value for name in "01"] == [0.0, 1.0]
    assert by_name["1"].figures["negative_flip_rate"].value == 1.0
    assert result["flip_rate"].value == pytest.approx(0.6)


class _WithExtras:
    """A source whose shards carry a further column."""

    def __init__(self, source, **extras):
        self._source, self._extras = source, pa.table(extras)

    def __getattr__(self, name):
        return getattr(self._source, name)

    def shard(self, index):
        """The shard, with its rows of the column."""
        shard = self._source.shard(index)
        start = index * self._source.rows_per_shard
        extras = self._extras.slice(start, len(shard))
        return replace(shard, extras=extras)


def _many_shards(monkeypatch):
    monkeypatch.setattr(schema, "GROUP_BYTES", 200)


def test_slices_have_their_own_figures_across_shards(tmp_path, monkeypatch):
    """Also a value that occurs in a late shard, and missing values."""
    _many_shards(monkeypatch)
    place = Location.of(tmp_path / "examples.parquet")
    n = 300
    old, new = np.zeros((3, n), dtype=int), np.zeros((3, n), dtype=int)
    new[:, 250:] = 1
    where = ["web"] * 250 + ["app"] * 40 + [None] * 10
    sources = [
        _WithExtras(ArrayShards(runs, classes=["0", "1"]), channel=where) for runs in (old, new)
    ]
    assert sources[0].n_shards > 3

    result = compare_versions(*sources, place, slices=["channel"])

    rates = {part.name: part.figures["flip_rate"].value for part in result.slices["channel"]}
    assert rates == {"(none)": 1.0, "app": 1.0, "web": 0.0}
    assert {part.name: part.n_examples for part in result.slices["channel"]} == {
        "(none)": 10,
        "app": 40,
        "web": 250,
    }
    assert result.examples().column("channel").to_pylist() == where
    with pytest.raises(ColumnError, check=WithFields(column="region", known=("channel",))):
        compare_versions(*sources, place, slices=["region"])


def test_a_column_of_texts_is_refused_as_a_slice(tmp_path):
    """So many values are most likely the wrong column."""
    texts = [f"text {i}" for i in range(1001)]
    source = _WithExtras(ArrayShards(np.zeros((2, 1001), dtype=int)), text=texts)

    with pytest.raises(ColumnError, check=WithFields(column="text", at_most=1000)):
        compare_versions(source, source, Location.of(tmp_path / "x.parquet"), slices=["text"])


def test_shards_do_not_change_the_figures(tmp_path, monkeypatch):
    """Many small shards give the figures of one large one."""
    rng = np.random.default_rng(1)
    pooled, gold = rng.integers(0, 3, (8, 500)), rng.integers(0, 3, 500)
    versions = pooled[:4], pooled[4:]
    summaries = []
    for name in ("one", "many"):
        sources = [ArrayShards(runs, labels=gold) for runs in versions]
        result = compare_versions(*sources, Location.of(tmp_path / f"{name}.parquet"))
        summaries.append(result.summary())
        assert json.loads(result.to_json()) == result.summary()
        _many_shards(monkeypatch)

    whole, many = summaries
    assert sources[0].n_shards > 3
    assert whole["discoveries"] == many["discoveries"]
    assert whole["unexplained"] == many["unexplained"]
    for name, value in whole["whole"]["figures"].items():
        # Fractions are added in another order.
        for end in ("value", "low", "high"):
            assert many["whole"]["figures"][name][end] == pytest.approx(value[end], abs=1e-12)


def test_changed_examples_are_listed_and_no_others(compare):
    """20 of 500 examples change in all of 8 new runs."""
    rng = np.random.default_rng(2)
    hard = rng.random(500) ** 3
    pooled = (rng.random((16, 500)) < hard / 2).astype(int)
    pooled[8:, :20] = 1 - pooled[:8, :20]

    result = compare(pooled[:8], pooled[8:])

    listed = result.unexplained.column("example").to_pylist()
    changed = {i for i in range(20) if np.ptp(pooled[:8, i]) == 0}
    assert changed <= set(listed)
    assert len([example for example in listed if example >= 20]) <= 1
    assert result.discoveries.n_found == len(listed)
    assert max(result.unexplained.column("q_value").to_pylist()) <= 0.05
    assert result.is_beyond


def test_one_run_against_one_is_refused(compare):
    """The effect of another seed would be unknown."""
    with pytest.raises(TooFewRunsError, check=WithFields(n_runs=1)):
        compare([[0, 1]], [[1, 1]])


def test_a_single_run_takes_the_baseline_from_the_other_version(compare):
    """With one old run, the pairs of the new version are the baseline."""
    result = compare([[0, 0, 1, 1]], [[0, 0, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]])

    assert result.baseline_from == "new"
    assert "flip_rate_old" not in result.whole.figures
    assert result["flip_rate_no_change"].value == pytest.approx(4 / 12)
    assert result["flip_rate_beyond"].value == pytest.approx(2 / 12 - 4 / 12)
    assert result["flip_rate_beyond"].over == "runs × examples"


def test_two_runs_give_intervals_over_examples_only(compare):
    """Leaving out one of two runs leaves no pair."""
    result = compare([[0, 0, 1], [0, 1, 1]], [[0, 0, 1], [0, 1, 1], [1, 1, 1]])

    assert result["flip_rate_beyond"].over == "examples"
    assert not result.whole.is_beyond


def test_runs_that_change_equally_often_have_intervals_over_examples(compare):
    """Each run of either version differs on ten examples of its own."""
    answers = np.repeat(np.eye(7, 6, dtype=int), 10, axis=0).T

    result = compare(answers[:3], answers[3:], labels=np.zeros(70, dtype=int))

    for name in ("flip_rate", "flip_rate_beyond", "negative_flip_rate", "accuracy_change"):
        assert result[name].low < result[name].value < result[name].high, name
        assert result[name].over == "runs × examples", name


def test_versions_that_always_differ_have_a_lower_limit(compare):
    answers = np.zeros((3, 50), dtype=int)

    flips = compare(answers, answers + 1)["flip_rate"]

    assert (flips.value, flips.high) == (1.0, 1.0)
    assert flips.low == pytest.approx(0.025 ** (1 / 50))


def test_versions_that_never_differ_have_an_upper_limit(compare):
    """No flip among 100 examples has the exact upper limit 1 − .025^(1/100) = 3.6 %."""
    result = compare(np.zeros((3, 100), dtype=int), np.zeros((3, 100), dtype=int))

    assert (result["flip_rate"].value, result["flip_rate"].low) == (0.0, 0.0)
    assert result["flip_rate"].high == pytest.approx(1 - 0.025**0.01)
    assert result["flip_rate_beyond"].high == pytest.approx(1 - 0.025**0.01)
    assert result.discoveries.n_tested == 0
    assert not result.is_beyond


@pytest.mark.parametrize(
    ("n_old", "n_new", "most"),
    [(5, 5, 0.10), (10, 10, 0.10), (1, 6, 0.08), (10, 1, 0.08)],
)
def test_equal_versions_are_rarely_called_different(compare, n_old, n_new, most):
    """At most 5 % expected of 100 studies, with good and bad runs; 4 % with a single run.

    `most` adds two standard deviations of a share of 100 studies.
    """
    simulation = Simulation(n_old + n_new, 300, run_sd=0.5)
    rng = np.random.default_rng(6)
    called, covered, listed = 0, 0, 0
    for _ in range(100):
        batch = simulation.draw(rng)
        old, new = batch.predictions[:n_old], batch.predictions[n_old:]
        result = compare(old, new, labels=batch.labels, classes=["0", "1"])
        beyond = result["flip_rate_beyond"]
        called += result.is_beyond
        covered += beyond.low <= 0.0 <= beyond.high
        listed += result.discoveries.n_found > 0

    assert called / 100 <= most
    assert covered / 100 >= 1 - most
    # Nothing changed, so any listed example is a false discovery: in at most 5 % of the studies.
    assert listed / 100 <= 0.10


def test_a_slice_of_one_example_has_no_verdict(compare):
    """Three runs that agree against three others: one time in ten that is the seed."""
    steady = [[0, 0, 1, 1]] * 3
    result = compare(steady, [[1, 0, 1, 1]] * 3, labels=[2, 0, 1, 1])

    assert [part.n_examples for part in result.by_class] == [1, 2, 1]
    assert not any(part.is_beyond for part in result.by_class)


def test_intervals_stay_within_possible_values(compare):
    """With three examples and three runs they would exceed 100 points."""
    old, new = [[0, 0, 0], [0, 0, 0], [0, 1, 0]], [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    result = compare(old, new, labels=[0, 1, 1])

    for part in (result.whole, *result.by_class):
        for name, value in (*part.figures.items(), ("beyond", part.beyond)):
            least = -1.0 if name.endswith(("beyond", "accuracy_change")) else 0.0
            if value.low is not None:
                assert least <= value.low <= value.value <= value.high <= 1.0, (part.name, name)
    assert result["flip_rate_beyond"].high == 1.0  # the bound is needed


def test_the_interval_of_a_class_holds_for_all_classes(compare):
    """It is wider than that of the class alone; a single example has none."""
    rng = np.random.default_rng(4)
    gold = np.array([0] * 30 + [1] * 30 + [2])
    pooled = np.where(rng.random((10, 61)) < 0.3, 1, gold)
    result = compare(pooled[:5], pooled[5:], labels=gold, classes=list("abc"))

    part = result.by_class[0]
    alone, together = part.figures["flip_rate_beyond"], part.beyond
    # Three classes: the normal quantile grows from 1.96 to 2.39, Student's even more.
    assert together.high - together.low > 1.2 * (alone.high - alone.low)
    assert json.loads(result.to_json())["by_class"][0]["beyond"]["low"] == together.low
    assert result.by_class[2].beyond.low is None
    assert result.whole.beyond == result["flip_rate_beyond"]
