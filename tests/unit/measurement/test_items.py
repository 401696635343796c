"""The measuring pass over ranked lists and sets."""

import numpy as np
import pyarrow as pa
import pytest

from seedproof.engines import SerialEngine
from seedproof.errors import OptionError
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.measurement.selection import check_allowed, known_metrics
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.records.shards import ItemShards
from support.items import drawn_rankings, drawn_sets, item_shards

DRAWN = {"rankings": drawn_rankings, "sets": drawn_sets}


@pytest.fixture
def place(tmp_path):
    return Location.of(tmp_path / "examples.parquet")


def extras(n_examples=60):
    return pa.table(
        {
            "language": [f"l{i % 3}" for i in range(n_examples)],
            "document": [i // 4 for i in range(n_examples)],
        }
    )


@pytest.mark.parametrize("kind", DRAWN)
def test_parts_of_any_size_give_the_same(kind, place, monkeypatch):
    """However examples are cut into shards."""
    source = DRAWN[kind](np.random.default_rng(0), extras=extras())
    whole = measure_shards(source, place, clusters="document", slices=["language"])

    monkeypatch.setattr(source, "rows_per_shard", 13)
    cut = measure_shards(source, place, clusters="document", slices=["language"])

    for name, value in whole.metrics.items():
        assert cut.metrics[name].value == pytest.approx(value.value, abs=1e-12)
        assert (cut.metrics[name].low is None) == (value.low is None)
        if value.low is not None:
            assert cut.metrics[name].low == pytest.approx(value.low, rel=1e-6)
        assert cut.metrics[name].over == value.over
    assert cut.unstable_examples.equals(whole.unstable_examples)
    assert cut.examples().equals(whole.examples())
    assert [group.name for group in cut.slices["language"]] == ["l0", "l1", "l2"]
    for group, other in zip(cut.slices["language"], whole.slices["language"], strict=True):
        for name, value in group.metrics.items():
            assert other.metrics[name].value == pytest.approx(value.value)


@pytest.mark.parametrize("kind", DRAWN)
def test_engine_gives_the_same_bytes(kind, place, tmp_path, monkeypatch):
    source = DRAWN[kind](np.random.default_rng(0), extras=extras())
    monkeypatch.setattr(source, "rows_per_shard", 13)

    on_engine = measure_on(SerialEngine(), source, Location.of(tmp_path / "folder"))

    assert on_engine.to_json() == measure_shards(source, place).to_json()


@pytest.mark.parametrize("kind", DRAWN)
def test_slice_equals_a_measurement_of_its_examples(kind, place):
    whole = DRAWN[kind](np.random.default_rng(1), extras=extras())
    chosen = np.arange(60) % 3 == 1
    shard = whole.shard(0).rows(np.flatnonzero(chosen))
    alone = ItemShards(
        whole.kind,
        whole.runs,
        shard.ids,
        names=whole.classes,
        items=shard.items,
        relevance=shard.relevance,
        settings=whole.settings,
    )

    (group,) = (
        x
        for x in measure_shards(whole, place, slices=["language"]).slices["language"]
        if x.name == "l1"
    )

    measured = measure_shards(alone, place)
    assert group.n_examples == 20
    assert len(group.metrics) == 2
    for name, value in group.metrics.items():
        assert value.value == pytest.approx(measured.metrics[name].value)


def test_examples_have_the_items_of_each_run_by_name(place):
    items = np.array([[[2, 0], [1, NO_ITEM]], [[2, 1], [1, NO_ITEM]]])
    known = Relevance(np.array([[1], [NO_ITEM]]), np.array([True, False]))
    source = item_shards(Kind.RANKINGS, items, 3, relevance=known, depth=2)

    measured = measure_shards(source, place)

    first, second = measured.unstable_examples.to_pylist()
    assert first["items_by_run"] == [["i2", "i0"], ["i2", "i1"]]
    assert first["right_items"] == ["i1"]
    assert first["jaccard_distance"] == pytest.approx(2 / 3)
    assert second["items_by_run"] == [["i1"], ["i1"]]
    assert second["right_items"] is None
    assert measured.n_labeled == 1
    assert measured.metrics["recall@2"].value == 0.5


def test_clusters_widen_intervals_of_examples_that_belong_together(place):
    """Every example nine times: copies are no further evidence."""
    once = drawn_sets(np.random.default_rng(2), n_runs=20, n_examples=40).shard(0)
    copies = np.repeat(np.arange(40), 9)
    source = item_shards(
        Kind.SETS,
        once.items[:, copies],
        6,
        relevance=once.relevance.rows(copies),
        extras=pa.table({"document": copies}),
    )

    apart = measure_shards(source, place).metrics
    together = measure_shards(source, place, clusters="document").metrics

    for name in ("set_flips", "jaccard_distance", "micro_f1", "label_flips"):
        assert together[name].value == pytest.approx(apart[name].value)
        assert together[name].over == "runs × clusters"
        width = together[name].high - together[name].low
        assert width > 1.5 * (apart[name].high - apart[name].low)


def test_labels_are_judged_against_all_labels(place):
    """One label is drawn by each run anew, the others hardly change."""
    rng = np.random.default_rng(3)
    steady = rng.random((300, 4)) < 0.4
    is_given = np.repeat(steady[np.newaxis], 6, axis=0)
    is_given[:, :, 2] = rng.random((6, 300)) < 0.4
    items = np.where(is_given, np.arange(4), NO_ITEM)
    items = -np.sort(-items, axis=2)

    measured = measure_shards(item_shards(Kind.SETS, items, 4), place)

    assert [group.name for group in measured.by_class if group.is_less_stable] == ["i2"]
    flips = {group.name: group.metrics["label_flips"].value for group in measured.by_class}
    assert flips["i2"] == pytest.approx(0.75, abs=0.05)  # 2·0.24 of 1 - 0.36
    assert flips["i0"] == 0.0


@pytest.mark.parametrize("kind", DRAWN)
def test_copies_and_constant_runs_are_found(kind, place):
    drawn = DRAWN[kind](np.random.default_rng(4)).shard(0)
    items = drawn.items.copy()
    items[1] = items[0]
    items[2] = items[2, :1]

    measured = measure_shards(item_shards(Kind(kind), items, 30), place)

    assert [(check.name, check.runs) for check in measured.checks] == [
        ("duplicate-runs", ("s0", "s1")),
        ("constant-run", ("s2",)),
    ]


def test_equal_lists_everywhere_are_copies(place):
    items = np.repeat(drawn_rankings(np.random.default_rng(5)).shard(0).items[:1], 5, axis=0)

    measured = measure_shards(item_shards(Kind.RANKINGS, items, 30), place)

    assert [check.name for check in measured.checks] == ["duplicate-runs"]
    assert measured.metrics["first_item_flips"].value == 0.0


def test_only_requested_families_are_measured(place):
    source = drawn_rankings(np.random.default_rng(6))

    measured = measure_shards(source, place, requested=["first_item_flips"])

    assert "ndcg@10" not in measured.metrics
    assert "exposure_by_run" not in measured.detail


@pytest.mark.parametrize(
    ("metric", "kind"),
    [("ndcg@10", "sets"), ("micro_f1", "rankings"), ("accuracy", "sets"), ("mean", "rankings")],
)
def test_metric_of_another_kind_is_refused(metric, kind):
    source = DRAWN[kind](np.random.default_rng(7))

    with pytest.raises(OptionError):
        check_allowed(known_metrics([metric]), source)


def test_quality_without_right_items_is_refused():
    items = drawn_rankings(np.random.default_rng(8)).shard(0).items

    with pytest.raises(OptionError):
        check_allowed(["ndcg@10"], item_shards(Kind.RANKINGS, items, 30))
