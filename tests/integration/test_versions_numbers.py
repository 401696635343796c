"""Two versions that give numbers: their means, their distance, and single examples."""

import json
from itertools import combinations, product

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import TooFewRunsError
from seedproof.stats.rank_tests import examine_numbers


def versions(n_old=6, n_new=6, n_examples=120, shift=0.0, seed=0):
    """Return numbers of both versions; the first tenth of the examples is shifted."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 5, n_examples)
    old, new = (difficulty + rng.normal(0, 1, (n, n_examples)) for n in (n_old, n_new))
    new[:, : n_examples // 10] += shift
    return old, new


def test_figures_equal_those_of_a_loop():
    old, new = versions(n_old=4, n_new=3, n_examples=20, shift=2.0)
    report = sp.compare_versions(old, new, targets=old.mean(axis=0))

    def apart(first, second):
        return np.mean([np.abs(a - b).mean() for a, b in product(first, second)])

    def within(runs):
        return np.mean([np.abs(a - b).mean() for a, b in combinations(runs, 2)])

    between, noise = apart(old, new), (within(old) + within(new)) / 2
    errors = [np.abs(x - old.mean(axis=0)).mean() for x in (old, new)]
    expected = {
        "mean_change": new.mean() - old.mean(),
        "difference": between,
        "difference_no_change": noise,
        "difference_beyond": between - noise,
        "error_change": errors[1] - errors[0],
    }
    for name, value in expected.items():
        assert report[name].value == pytest.approx(value), name


@pytest.mark.parametrize(("n_old", "n_new"), [(3, 3), (4, 5), (6, 6)])
def test_tests_of_examples_compare_all_assignments(n_old, n_new):
    """By the sum of the ranks, with ties."""
    rng = np.random.default_rng(0)
    old, new = rng.integers(0, 4, (n_old, 30)) / 2, rng.integers(0, 6, (n_new, 30)) / 2

    p_values = examine_numbers(old, new).p_values

    for example, p_value in enumerate(p_values):
        pooled = np.concatenate([old[:, example], new[:, example]])
        ranks = [(pooled < x).sum() + ((pooled == x).sum() + 1) / 2 for x in pooled]
        sums = [sum(ranks[i] for i in way) for way in combinations(range(len(pooled)), n_old)]
        apart = np.abs(np.array(sums) - np.mean(sums))
        assert p_value == pytest.approx(np.mean(apart >= apart[0] - 1e-9))


@pytest.mark.parametrize("n_runs", [6, 12])
def test_changed_examples_are_listed_with_all_numbers(n_runs):
    """By ranks, and by the median with more runs."""
    old, new = versions(n_runs, n_runs, shift=8.0)

    report = sp.compare_versions(old, new)

    rows = report.comparison.unexplained.to_pylist()
    examples = {row["example"] for row in rows}
    assert examples >= set(range(12))
    assert len(examples) <= 13  # one in twenty may be false
    assert rows[0]["old_numbers"] == pytest.approx(old[:, rows[0]["example"]])
    assert report.comparison.is_beyond


def test_equal_versions_show_no_change():
    report = sp.compare_versions(*versions())

    assert not report.comparison.is_beyond
    assert report.comparison.discoveries.n_found == 0
    assert report["mean_change"].low < 0 < report["mean_change"].high


def outcomes(shift=0.0, n_trials=3, seed=0):
    """Draw pass or fail of each trial, with tasks of the same difficulty."""
    difficulty = np.random.default_rng(99).normal(0, 1.5, 80)
    rng = np.random.default_rng(seed)
    return (rng.random((n_trials, 80)) < 1 / (1 + np.exp(-difficulty - shift))).astype(float)


@pytest.mark.parametrize("n_new", [1, 3])
def test_few_trials_are_judged_over_examples(n_new):
    old, new = outcomes(seed=1), outcomes(2.0, n_trials=n_new, seed=2)

    trials = sp.compare_versions(old, new, trials=True)
    runs = sp.compare_versions(old, new)

    assert trials["mean_change"].over == "examples"
    assert trials.comparison.is_judged
    assert trials["mean_change"].low > 0
    assert not runs.comparison.is_judged
    assert "trial" in trials.text()


def test_change_of_the_mean_is_that_of_a_comparison_of_arms():
    old, new = outcomes(seed=1), outcomes(0.7, seed=2)

    change = sp.compare_versions(old, new, trials=True)["mean_change"]
    # The mean is judged together with flips, as there.
    arms = {"old": old, "new": new}
    effect = sp.compare(arms, trials=True, primary="flip_rate").effect("new", "mean")

    assert (change.low, change.high) == pytest.approx((effect.low, effect.high))


def test_two_single_trials_are_refused():
    with pytest.raises(TooFewRunsError):
        sp.compare_versions(outcomes(n_trials=1), outcomes(n_trials=1, seed=1), trials=True)


def test_slices_and_clusters_merge_over_shards(monkeypatch):
    old, new = versions(shift=3.0)
    options = {"slices": {"half": np.arange(120) // 60}, "clusters": np.arange(120) // 4}
    whole = sp.compare_versions(old, new, **options)
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 17)

    in_parts = sp.compare_versions(old, new, **options)

    assert whole["mean_change"].over == "runs × clusters"
    for name, value in whole.items():
        assert in_parts[name].high == pytest.approx(value.high, rel=1e-9), name
    first, second = (x.comparison.slices["half"] for x in (whole, in_parts))
    assert [x.beyond.value for x in first] == pytest.approx([x.beyond.value for x in second])
    assert first[0].figures["mean_change"].value > first[1].figures["mean_change"].value
    assert "half" in whole.text()


def test_command_writes_a_page(seedproof, tmp_path):
    paths = []
    for name, numbers in (("old", outcomes(n_trials=5)), ("new", outcomes(3.0, 5, seed=1))):
        rows = [
            f"{task},{trial},{value:g}"
            for trial, of_trial in enumerate(numbers)
            for task, value in enumerate(of_trial)
        ]
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_text("\n".join(["task,trial,value", *rows]), encoding="utf-8")
    arguments = ["--old", paths[0], "--new", paths[1], "--example", "task", "--out", tmp_path / "v"]

    code, out, err = seedproof("compare", *arguments, "--json")

    assert code == 0, err
    assert json.loads(out)["kind"] == "numbers"
    assert "mean" in (tmp_path / "v" / "versions.html").read_text(encoding="utf-8")
    assert sp.compare_versions(*paths, ids="task").figure() is not None
