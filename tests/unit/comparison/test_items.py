"""Comparison of arms and versions that give ranked lists or sets."""

import numpy as np
import pyarrow as pa
import pytest

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.comparison.versions.compare import compare_versions
from seedproof.errors import OptionError
from seedproof.measurement.measure import measure_shards
from seedproof.records.location import Location
from seedproof.records.shards import ItemShards
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.versions.report import VersionReport
from support.items import drawn_rankings, drawn_sets

DRAWN = {"rankings": drawn_rankings, "sets": drawn_sets}
PRIMARY = {"rankings": "first_item_flips", "sets": "set_flips"}
QUALITY = {"rankings": "ndcg@10", "sets": "micro_f1"}


def with_items(source, items, *, relevance=True, names=None):
    """Return the same runs with other items."""
    shard = source.shard(0)
    return ItemShards(
        source.kind,
        source.runs,
        shard.ids,
        names=names or source.classes,
        items=items,
        relevance=shard.relevance if relevance else None,
        settings=source.settings,
        extras=shard.extras,
    )


@pytest.mark.parametrize("kind", DRAWN)
def test_steadier_arm_is_shown(kind, tmp_path):
    """With as much as a third of the noise; the figures of an arm are those of measuring it."""
    arms = [
        ArmData(name, DRAWN[kind](np.random.default_rng(0), n_runs=6, n_examples=150, noise=noise))
        for name, noise in (("none", 0.6), ("ours", 0.2))
    ]

    compared = compare_arms(arms, Location.of(tmp_path / "arms"))

    (ours,) = compared.arms
    assert compared.primary == PRIMARY[kind]
    assert ours.effects[PRIMARY[kind]].verdict == "steadier"
    assert "label_flips" not in ours.effects
    assert ours.effects[QUALITY[kind]].scale == "difference"
    alone = measure_shards(arms[1].source, Location.of(tmp_path / "x.parquet"))
    for name, value in alone.metrics.items():
        assert ours.measurement.metrics[name].value == pytest.approx(value.value)
    assert ours.fallen.column("change")[0].as_py() < 0
    report = ComparisonReport(compared)
    assert "steadier" in report.text()
    report.save(tmp_path / "out")


@pytest.mark.parametrize("kind", DRAWN)
def test_equal_arms_rarely_show_a_difference(kind, tmp_path):
    """In 5 % of studies; more than 4 of 20 would be expected in 0.3 % of such tests."""
    n_shown = 0
    for seed in range(20):
        both = DRAWN[kind](np.random.default_rng(seed), n_runs=12, n_examples=150)
        arms = [
            ArmData("first", both.some_runs(range(6))),
            ArmData("second", both.some_runs(range(6, 12))),
        ]
        compared = compare_arms(arms, Location.of(tmp_path / str(seed)))
        effect = compared.arms[0].effects[PRIMARY[kind]]
        assert effect.is_shown == (not effect.low <= 1.0 <= effect.high)
        n_shown += effect.is_shown

    assert n_shown <= 4


def test_arms_of_different_kinds_are_refused(tmp_path):
    arms = [ArmData(kind, DRAWN[kind](np.random.default_rng(2))) for kind in DRAWN]

    with pytest.raises(OptionError):
        compare_arms(arms, Location.of(tmp_path / "arms"))


def test_lists_at_different_depths_are_refused(tmp_path):
    arms = [
        ArmData(str(depth), drawn_rankings(np.random.default_rng(3), depth=depth))
        for depth in (5, 10)
    ]

    with pytest.raises(OptionError):
        compare_arms(arms, Location.of(tmp_path / "arms"))


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("n_runs", [5, 8])
def test_examples_whose_items_changed_are_named(kind, n_runs, tmp_path):
    """The new version gives 20 examples the items of others; with all ways, and with sides."""
    drawn = DRAWN[kind](np.random.default_rng(4), n_runs=2 * n_runs, n_examples=120, noise=0.1)
    items = drawn.shard(0).items
    if kind == "sets":  # sets that all runs agree on, so that others are clearly different
        items = np.repeat(items[:1], 2 * n_runs, axis=0)
    old, new = items[:n_runs], items[n_runs:].copy()
    new[:, :20] = new[:, 20:40]
    versions = [with_items(drawn.some_runs(range(n_runs)), version) for version in (old, new)]

    compared = compare_versions(*versions, Location.of(tmp_path / "examples.parquet"))

    differs = {i for i in range(20) if {*old[0, i]} != {*old[0, 20 + i]}}
    named = set(compared.unexplained.column("example").to_pylist())
    assert compared.is_beyond
    assert len(named - set(range(20))) <= 2  # of the accepted false discoveries
    assert len(named & differs) >= 0.8 * len(differs)
    report = VersionReport(compared)
    report.save(tmp_path / "out")
    report.save(tmp_path / "out")  # again, in place of the first
    assert report.text()


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("n_runs", [5, 8])
def test_equal_versions_change_nothing_beyond_noise(kind, n_runs, tmp_path):
    """Of 20 pairs of versions that draw from one model, few change by more than noise."""
    n_alarms = n_found = 0
    for seed in range(20):
        both = DRAWN[kind](np.random.default_rng(seed), n_runs=2 * n_runs)
        old, new = both.some_runs(range(n_runs)), both.some_runs(range(n_runs, 2 * n_runs))

        compared = compare_versions(old, new, Location.of(tmp_path / "examples.parquet"))

        n_alarms += compared.is_beyond
        n_found += compared.discoveries.n_found > 0

    assert n_alarms <= 4
    assert n_found <= 4


def test_versions_may_have_different_items(tmp_path):
    """Items are matched by their names, not by their places."""
    old = drawn_rankings(np.random.default_rng(5))
    renamed = tuple(reversed(old.classes))
    items = len(old.classes) - 1 - old.shard(0).items
    new = with_items(old, items, relevance=False, names=renamed)

    compared = compare_versions(old, new, Location.of(tmp_path / "examples.parquet"))

    within = compared["distance_old"].value
    assert compared["distance_new"].value == pytest.approx(within)
    # Each run is as far from the other version's as from its own, and from its copy not at all.
    assert compared["distance"].value == pytest.approx(within * 4 / 5)


def test_clusters_and_slices_of_versions(tmp_path):
    extras = pa.table({"document": [i // 4 for i in range(60)], "part": ["a", "b"] * 30})
    both = drawn_sets(np.random.default_rng(6), n_runs=10, extras=extras)
    old, new = both.some_runs(range(5)), both.some_runs(range(5, 10))

    compared = compare_versions(
        old, new, Location.of(tmp_path / "x.parquet"), slices=["part"], clusters="document"
    )

    assert compared["distance_old"].over == "runs × clusters"
    assert [part.name for part in compared.slices["part"]] == ["a", "b"]
    assert VersionReport(compared).text()
