"""Environments of runs, and their differences."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.comparison.gate.environment import Environment, examples_digest
from seedproof.measurement.examples import StoredExamples
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest


def runs(n_runs=2, **changes):
    """Return runs as the worker records them, with some facts changed."""
    facts = {
        "threads": 1,
        "deterministic": True,
        "versions": {"python": "3.12.1", "torch": "2.12.0"} | changes.pop("versions", {}),
        "hardware": {"machine": "x86_64", "system": "Linux", "cores": 8, "gpus": []}
        | changes.pop("hardware", {}),
        "seconds": 1.0,
    } | changes
    return [RunManifest(f"id{i}", str(i), facts=facts) for i in range(n_runs)]


def test_runs_of_one_environment_have_no_differences():
    """Neither among each other nor from an equal baseline."""
    here = Environment.of(runs())

    assert here.changes() == ()
    assert here.changes_from(Environment.of(runs())) == ()


def test_versions_that_differ_among_runs_are_named_with_numbers_of_runs():
    """In one sentence."""
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
def test_differences_from_the_baseline_are_named(changes, words):
    """The baseline's value first."""
    assert Environment.of(runs(**changes)).changes_from(Environment.of(runs())) == (words,)


def test_cores_and_seconds_are_not_part_of_the_environment():
    """A run uses the threads that it was given."""
    other = Environment.of(runs(hardware={"cores": 64}, seconds=9.0))

    assert other.changes_from(Environment.of(runs())) == ()


def test_only_facts_that_both_record_are_compared():
    """Not a package that only one has, nor the records of tables."""
    here = Environment.of(runs(versions={"transformers": "5.0"}))

    assert here.changes_from(Environment.of(runs())) == ()
    assert here.changes_from(Environment.of([RunManifest("a", "a")])) == ()
    assert Environment.of([*runs(), RunManifest("a", "a")]).changes() == ()


@pytest.mark.parametrize(
    "facts", [{"versions": "2.1"}, {"hardware": None}, {"hardware": {"gpus": 3}}]
)
def test_facts_of_another_shape_are_left_out(facts):
    """Stores of other programs may record anything."""
    assert Environment.of([RunManifest("a", "a", facts=facts)]).facts == {}


# --------------------------------------------------------------------------------- the examples


def written(folder, name, ids, labels, **options):
    """Write a table of examples and return its digest."""
    table = pa.table({"example": ids, "label": labels, "flip_rate": [0.5] * len(ids)})
    pq.write_table(table, folder / name, **options)
    return examples_digest(StoredExamples(Location.of(folder / name)))


def test_digest_is_independent_of_row_groups(tmp_path):
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
def test_digest_differs_for_other_ids_and_labels(tmp_path, ids, labels):
    """Also if the letters together are the same."""
    first = written(tmp_path, "1.parquet", ["a", "bc"], ["x", "y"])

    assert first != written(tmp_path, "2.parquet", ids, labels)
