"""Comparisons of simulated arms, made by the real pass."""

import numpy as np
import pytest

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.report.comparison.report import ComparisonReport


@pytest.fixture(scope="session")
def compare(tmp_path_factory):
    """Compare arrays by the names of their arms; the first is the baseline."""

    def build(arms, *, labels=None, classes=None, is_paired=True, reference=None, costs=None):
        sides = [
            ArmData(
                name,
                ArrayShards(values, labels=labels, classes=classes),
                tuple(map(str, range(len(values)))) if is_paired else None,
                (costs or {}).get(name, {}),
            )
            for name, values in arms.items()
        ]
        folder = Location.of(tmp_path_factory.mktemp("comparison"))
        return ComparisonReport(compare_arms(sides, folder, reference=reference))

    return build


@pytest.fixture(scope="session")
def drawn_probs():
    """Draw probabilities of runs around shared logits, with noise per example and per run."""

    def build(seed, n_runs, *, noise, run_sd=0.0, n_examples=600, n_classes=2, shift=0.0):
        truth = np.random.default_rng(1)
        logits = 2.2 * truth.normal(size=(n_examples, n_classes))
        labels = (logits + truth.gumbel(size=logits.shape)).argmax(axis=1)
        rng = np.random.default_rng(seed)
        noisy = logits + noise * rng.normal(size=(n_runs, n_examples, n_classes))
        better = rng.normal(shift, run_sd, n_runs) if run_sd else np.full(n_runs, shift)
        noisy[:, np.arange(n_examples), labels] += better[:, None]
        raised = np.exp(noisy - noisy.max(axis=2, keepdims=True))
        return raised / raised.sum(axis=2, keepdims=True), labels

    return build


@pytest.fixture(scope="session")
def usual(compare, drawn_probs):
    """A noisy baseline, a calm arm, a noisy one, and a reference arm of five runs; with costs."""
    base, labels = drawn_probs(2, 10, noise=0.9, run_sd=0.4)
    arms = {
        "none": base,
        "aswa": drawn_probs(3, 10, noise=0.4, run_sd=0.05)[0],
        "again": drawn_probs(4, 10, noise=0.9, run_sd=0.4)[0],
        "ensemble": drawn_probs(5, 5, noise=0.25, run_sd=0.05)[0],
    }
    costs = {name: {"seconds": 60.0, "serving_multiplier": 1.0} for name in arms}
    costs["ensemble"] = {"seconds": 600.0, "serving_multiplier": 10.0}
    return compare(
        arms, labels=labels, classes=["negative", "positive"], reference="ensemble", costs=costs
    )
