"""Clusters in the measuring pass: keys, labeled examples, hints."""

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.clusters import ClusterKeys, Clusters, cluster_hint, in_clusters
from seedproof.metrics.batch import Batch
from seedproof.records.shards import Shard

LABELED = frozenset({"labels"})


def shard_of(ids=None, **columns) -> Shard:
    n_rows = len(next(iter(columns.values()), ids or ()))
    given = pa.array(range(n_rows) if ids is None else ids)
    extras = pa.table(columns) if columns else None
    return Shard(0, given, None, probs=None, predictions=None, extras=extras)


def keys_of(values) -> list[int]:
    clusters = ClusterKeys.of(shard_of(document=values), "document")
    return clusters.keys[clusters.indices].tolist()


def test_examples_with_the_same_value_have_the_same_key():
    first, second, third = keys_of(["a", "b", "a"])

    assert (first == third, first == second) == (True, False)


def test_keys_of_numbers_and_of_their_text_are_equal():
    """A table of CSV has text where one of Parquet has numbers."""
    assert keys_of([3, 14, None]) == keys_of(["3", "14", None])


def test_keys_do_not_depend_on_the_shard():
    assert keys_of(["x", "y"])[1] == keys_of(["y", "z"])[0]


def test_keys_do_not_depend_on_how_often_values_repeat():
    assert keys_of(["x"] * 9 + ["y"])[-1] == keys_of(["y", "z"])[0]


def test_a_column_without_values_is_one_cluster():
    assert len(set(keys_of(pa.nulls(3)))) == 1


def test_there_are_no_keys_without_a_column():
    assert ClusterKeys.of(shard_of(document=[1]), None) is None


def test_labeled_metrics_count_labeled_examples_of_a_cluster():
    """Unlabeled examples are in the flip rate, and not in the accuracy."""
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (5, 80)).astype(np.int32)
    labels = np.where(np.arange(80) % 4, 0, -1).astype(np.int32)
    labels[40:60] = -1  # a cluster without any label
    clusters = np.arange(80) // 20
    accumulators = MetricAccumulators(5, 2, LABELED)
    accumulators.open(ClusterKeys(np.arange(4), clusters))
    accumulators.add(Batch(answers, n_classes=2, labels=labels))

    result = accumulators.result()

    known = labels >= 0
    alone = MetricAccumulators(5, 2, LABELED)
    alone.open(ClusterKeys(np.arange(4), clusters[known]))
    alone.add(Batch(answers[:, known], n_classes=2, labels=labels[known]))
    expected = alone.result()["accuracy"]
    assert (result["flip_rate"].n_drawn, result["accuracy"].n_drawn) == (4, 3)
    assert result["accuracy"].example_variance == pytest.approx(expected.example_variance)
    assert result["accuracy"].interaction_variance == pytest.approx(expected.interaction_variance)


@pytest.mark.parametrize(
    ("clusters", "words"),
    [
        (None, ""),
        (Clusters("x", 1), " in 1 cluster"),
        (Clusters("x", 1000, is_exact=False), " in at least 1,000 clusters"),
    ],
)
def test_number_of_clusters_in_words(clusters, words):
    assert in_clusters(clusters) == words


@pytest.mark.parametrize("column", ["document", "doc_id", "Question", "user"])
def test_column_that_repeats_is_suggested(column):
    hint = cluster_hint(shard_of(text=list("abcdef"), **{column: [1, 1, 2, 2, 3, 3]}))

    assert (hint.code, hint.fields["column"]) == ("clusters-suggested", column)


@pytest.mark.parametrize(
    "columns",
    [
        {"language": ["de", "de", "en", "en"]},  # a slice
        {"document": [1, 2, 3, 4]},
        {"document": [1, 1, 1, 1]},
        {"document": [1, 2, 3, 3]},
        {"documentation": [1, 1, 2, 2]},
    ],
)
def test_other_columns_are_not_suggested(columns):
    assert cluster_hint(shard_of(**columns)) is None


@pytest.mark.parametrize("form", ["doc{0}_{1}", "text {0}/{1}", "{0}.{1}", "a-{0}:{1}"])
def test_numbered_ids_are_suggested(form):
    hint = cluster_hint(shard_of([form.format(i, j) for i in range(6) for j in range(3)]))

    assert hint.code == "clusters-suggested"
    assert hint.fields["prefix"] in form.format(0, 0)


@pytest.mark.parametrize(
    "ids",
    [
        list(range(20)),
        [f"example_{i}" for i in range(20)],
        [f"{split}_{i}" for split in ("dev", "test") for i in range(10)],
        [f"{i}_0" for i in range(20)],
        [f"{i}-{j}" for i in range(6) for j in "abc"],
    ],
)
def test_other_ids_are_not_suggested(ids):
    assert cluster_hint(shard_of(ids)) is None


def test_hint_is_not_given_with_clusters():
    answers = np.random.default_rng(0).integers(0, 2, (3, 40))
    where = np.arange(40) // 4

    of = {
        name: sp.measure(sp.Predictions.from_arrays(answers, **option)).measurement
        for name, option in (("given", {"clusters": where}), ("not", {"slices": {"user": where}}))
    }

    codes = {name: [note.code for note in result.notes] for name, result in of.items()}
    assert codes == {"given": [], "not": ["clusters-suggested"]}
    assert of["given"].clusters == Clusters("cluster", 10)
