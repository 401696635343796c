"""The summary of many runs."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.measurement.result import MAX_PAIRED_RUNS, N_EXTREME, _extreme_pairs


def measured(n_runs):
    """Runs that differ at random, each with its own share of errors."""
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.0, 0.4, size=(n_runs, 1))
    return sp.measure((rng.random((n_runs, 50)) < errors).astype(int))


@pytest.fixture(scope="module")
def many():
    """One run more than have all their pairs in the summary."""
    return measured(MAX_PAIRED_RUNS + 1)


def test_summary_of_few_runs_has_every_pair():
    """As a matrix."""
    few = measured(MAX_PAIRED_RUNS)

    detail = few.summary()["detail"]

    assert detail["flip_matrix"] == few.flip_matrix.tolist()
    assert "extreme_pairs" not in detail


def test_summary_of_many_runs_has_their_means_and_the_extreme_pairs(many):
    """The mean of each run's row, and the pairs that disagree least and most."""
    detail, matrix = many.summary()["detail"], many.flip_matrix
    every = np.sort(matrix[np.triu_indices(len(matrix), 1)])

    assert "flip_matrix" not in detail
    assert np.mean(detail["flips_by_run"]) == pytest.approx(many["flip_rate"].value, rel=1e-12)
    assert detail["extreme_flips"] == [*every[:N_EXTREME], *every[-N_EXTREME:]]
    assert [matrix[a, b] for a, b in detail["extreme_pairs"]] == detail["extreme_flips"]


def test_summary_grows_with_the_runs_and_not_with_their_square(many):
    """Twice the runs, about twice the bytes."""
    twice = measured(2 * (MAX_PAIRED_RUNS + 1))

    assert len(twice.to_json()) < 2.2 * len(many.to_json())


def test_numbers_of_trials_are_counted_where_they_are_unequal():
    """Three examples with 1, 3 and 3 trials, against runs that are the same for each."""
    trials = [("a", 0), *((example, trial) for example in "bc" for trial in range(3))]
    table = pa.table(
        {
            "example": [example for example, _ in trials],
            "trial": [trial for _, trial in trials],
            "value": [0.5 + 0.1 * i for i in range(len(trials))],
        }
    )

    unequal, equal = sp.measure(table).measurement, measured(4).measurement

    assert (unequal.trial_counts, unequal.run_range) == ({1: 1, 3: 2}, (1, 3))
    assert (equal.trial_counts, equal.run_range) == ({}, (4, 4))


def test_all_pairs_are_written_on_request(many, tmp_path):
    """One row per pair, as in the matrix; no such file by default."""
    many.save(tmp_path / "few")
    many.save(tmp_path / "all", pairs=True)

    rows = pq.read_table(tmp_path / "all" / "pairs.parquet").to_pylist()
    runs = list(many.measurement.runs)
    rates = {(row["run"], row["other"]): row["flip_rate"] for row in rows}

    assert not (tmp_path / "few" / "pairs.parquet").exists()
    assert len(rates) == len(rows) == len(runs) * (len(runs) - 1) // 2
    assert rates[runs[3], runs[7]] == many.flip_matrix[3, 7]


def test_report_of_many_runs_is_read_again(many, tmp_path):
    """A saved report needs no pairs to be compared."""
    many.save(tmp_path / "one")
    many.save(tmp_path / "two")

    (arm,) = sp.compare([tmp_path / "one", tmp_path / "two"]).summary()["arms"]
    assert arm["effects"]["flip_rate"]["value"] == 1.0


@pytest.mark.parametrize("n_levels", [1, 3, 10**6])
def test_extreme_pairs_are_the_ends_of_a_stable_order(n_levels):
    """Also if many pairs are equal."""
    matrix = np.random.default_rng(n_levels).integers(0, n_levels, (60, 60)) / n_levels
    first, second = np.triu_indices(60, 1)
    order = np.argsort(matrix[first, second], kind="stable")
    ends = np.concatenate([order[:N_EXTREME], order[-N_EXTREME:]])

    pairs = _extreme_pairs(matrix)

    assert pairs.tolist() == np.stack([first[ends], second[ends]], axis=1).tolist()
