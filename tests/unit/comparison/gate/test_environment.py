"""Environments: what a run records, what differs among runs, and what since a baseline."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.comparison.gate.environment import Environment, examples_digest
from seedproof.measurement.examples import StoredExamples
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest


def runs(n_runs=2, **changes):
    """Runs as the worker records them, with some facts changed."""
    facts = {
        "threads": 1,
        "deterministic": True,
        "versions": {"python": "3.12.1", "torch": "2.12.0"} | changes.pop("versions", {}),
        "hardware": {"machine": "x86_64", "system": "Linux", "cores": 8, "gpus": []}
        | changes.pop("hardware", {}),
        "seconds": 1.0,
    } | changes
    return [RunManifest(f"id{i}", str(i), facts=facts) for i in range(n_runs)]


def test_runs_of_one_environment_differ_in_nothing():
    """Neither among each other nor from a baseline like them."""
    here = Environment.of(runs())

    assert here.changes() == ()
    assert here.changes_from(Environment.of(runs())) == ()


def test_a_version_that_changes_among_runs_is_named_with_how_many_have_it():
    """As somebody would say it."""
    mixed = [*runs(3), *runs(1, versions={"torch": "2.13.0"})]

    assert Environment.of(mixed).changes() == ("torch 2.12.0 (3 runs) v 2.13.0 (1 run)",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"versions": {"torch": "2.13.0"}}, "torch 2.12.0 v 2.13.0"),
        ({"versions": {"python": "3.13.0"}}, "python 3.12.1 v 3.13.0"),
        ({"hardware": {"machine": "arm64"}}, "machine x86_64 v arm64"),
        ({"hardware": {"system": "Darwin"}}, "system Linux v Darwin"),
        ({"hardware": {"gpus": ["A100", "A100"]}}, "GPU none v 2 × A100"),
        ({"threads": 4}, "threads 1 v 4"),
        ({"deterministic": False}, "deterministic True v False"),
    ],
)
def test_what_differs_from_the_baseline_is_named(changes, words):
    """The baseline's value first."""
    assert Environment.of(runs(**changes)).changes_from(Environment.of(runs())) == (words,)


def test_cores_and_seconds_are_no_environment():
    """A run uses the threads that it was given, and takes as long as it takes."""
    other = Environment.of(runs(hardware={"cores": 64}, seconds=9.0))

    assert other.changes_from(Environment.of(runs())) == ()


def test_only_what_both_record_is_compared():
    """A package that one side did not have, and records of tables, say nothing."""
    here = Environment.of(runs(versions={"transformers": "5.0"}))

    assert here.changes_from(Environment.of(runs())) == ()
    assert here.changes_from(Environment.of([RunManifest("a", "a")])) == ()
    assert Environment.of([*runs(), RunManifest("a", "a")]).changes() == ()


@pytest.mark.parametrize(
    "facts", [{"versions": "2.1"}, {"hardware": None}, {"hardware": {"gpus": 3}}]
)
def test_facts_of_another_shape_are_left_out(facts):
    """Whoever writes a store may record what they like."""
    assert Environment.of([RunManifest("a", "a", facts=facts)]).facts == {}


# --------------------------------------------------------------------------------- the examples


def written(folder, name, ids, labels, **options):
    """A table of examples."""
    table = pa.table({"example": ids, "label": labels, "flip_rate": [0.5] * len(ids)})
    pq.write_table(table, folder / name, **options)
    return examples_digest(StoredExamples(Location.of(folder / name)))


def test_digest_ignores_how_rows_were_cut(tmp_path):
    """Equal examples in row groups of one, and in one group."""
    ids, labels = ["a", "b", "ü"], ["x", None, "y"]

    cut = written(tmp_path, "1.parquet", ids, labels, row_group_size=1)

    assert cut == written(tmp_path, "2.parquet", ids, labels)


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (["a", "bc"], ["x", "z"]),
        (["ab", "c"], ["x", "y"]),
        (["bc", "a"], ["x", "y"]),
        (["a", "bc"], ["x", None]),
    ],
)
def test_digest_tells_other_ids_and_other_labels(tmp_path, ids, labels):
    """Also where the letters together are the same."""
    first = written(tmp_path, "1.parquet", ["a", "bc"], ["x", "y"])

    assert first != written(tmp_path, "2.parquet", ids, labels)
