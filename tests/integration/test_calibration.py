"""Comparisons are wrong about as rarely as they claim."""

import os
from dataclasses import replace

import numpy as np
import pytest

from support.comparisons import by_another_mechanism, effect_coverage, false_alarms
from support.simulation import FIGURES, Simulation

# SEEDPROOF_FULL=1 runs what the docs print. CI runs fewer: 6.5 and 9 % of 2,000 comparisons leave
# room for as much chance as 8.75 and 12 % of 400, and 0.04 is two standard deviations of a
# coverage from 100 studies.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
only_in_full = pytest.mark.skipif(not FULL, reason="slow; SEEDPROOF_FULL=1 runs it")
is_paired_or_not = pytest.mark.parametrize(
    "is_paired",
    [pytest.param(True, id="paired"), pytest.param(False, id="unpaired", marks=pytest.mark.full)],
)
N_STUDIES = 2_000 if FULL else 400
MOST, MOST_IF_SKEWED = (0.065, 0.09) if FULL else (0.0875, 0.12)
N_COVERED, SLACK = (500, 0.0) if FULL else (100, 0.04)
# Two classes and ten, where a model is right in about 80 % of the cases.
SHAPES = [(500, 2, 3.0), (500, 10, 8.0)]


def simulation(n_runs, shape, **settings):
    n_examples, n_classes, logit_sd = shape
    return Simulation(n_runs, n_examples, n_classes, logit_sd=logit_sd, **settings)


@pytest.mark.slow
@is_paired_or_not
@pytest.mark.parametrize("shape", SHAPES if FULL else SHAPES[:1])
def test_identical_arms_are_rarely_reported_as_different(shape, is_paired):
    """10 v 10 normal runs: means, flip rates, entropies and ratios of standard deviations."""
    alarms = false_alarms(
        simulation(10, shape),
        n_studies=N_STUDIES,
        rng=np.random.default_rng(1),
        is_paired=is_paired,
    )

    assert all(alarms[name] <= MOST for name in FIGURES), alarms


@only_in_full
@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"effect": "threshold"}, {"bad_share": 0.1}], ids=["skewed", "bad runs"]
)
def test_skewed_and_failed_runs_cause_few_false_alarms(settings):
    """Accuracies of a moving threshold are skewed; one run in ten fails."""
    alarms = false_alarms(
        simulation(10, SHAPES[0], **settings),
        n_studies=N_STUDIES,
        rng=np.random.default_rng(2),
        is_paired=True,
    )

    assert all(alarms[name] <= MOST_IF_SKEWED for name in FIGURES), alarms


@pytest.mark.slow
@is_paired_or_not
def test_arms_that_are_right_in_different_clusters_are_rarely_reported(is_paired):
    """Exchangeable arms; if the clusters were ignored, one comparison in five would report one."""
    clustered = Simulation(10, 1000, logit_sd=3.0, run_sd=0.1, cluster_size=20, shared=0.6, own=0.3)

    alarms = false_alarms(
        clustered, n_studies=N_STUDIES, rng=np.random.default_rng(6), is_paired=is_paired
    )

    assert all(alarms[name] <= MOST for name in FIGURES), alarms


@only_in_full
@pytest.mark.slow
def test_stuck_runs_cause_few_false_alarms_about_accuracy():
    """Flips and spreads are misleading with a stuck run, which the checks of the input name."""
    alarms = false_alarms(
        simulation(10, SHAPES[0], stuck_share=0.1),
        n_studies=N_STUDIES,
        rng=np.random.default_rng(7),
        is_paired=True,
    )

    assert alarms["accuracy"] <= MOST_IF_SKEWED


@only_in_full
@pytest.mark.slow
def test_equal_flip_rates_by_different_mechanisms_cause_few_false_alarms():
    """In one arm whole runs differ, in the other single examples."""
    base = simulation(10, SHAPES[0])

    covered = effect_coverage(
        base,
        by_another_mechanism(base),
        n_studies=N_STUDIES,
        rng=np.random.default_rng(3),
        is_paired=True,
        figures=("flip_rate",),
    )

    assert covered["flip_rate"] >= 1 - MOST_IF_SKEWED


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [5, 10, 50])
@pytest.mark.parametrize("shape", SHAPES if FULL else SHAPES[:1])
def test_intervals_of_effects_cover_the_truth(n_runs, shape):
    """An arm whose runs differ less: 90 to 99 % at 5 and 10 runs, 92 to 98 % at 50."""
    base = simulation(n_runs, shape)

    covered = effect_coverage(
        base,
        replace(base, run_sd=0.2),
        n_studies=N_COVERED,
        rng=np.random.default_rng(4),
        is_paired=True,
    )

    least, most = (0.92, 0.98) if n_runs == 50 else (0.90, 0.99)
    for name in FIGURES:
        assert least - SLACK <= covered[name] <= min(most + SLACK, 1.0), (name, covered)


def test_wrong_interval_is_detected(monkeypatch):
    """The tests above can fail: intervals of half the width cause far too many alarms."""
    from seedproof.stats.effect import Contrast

    whole = Contrast.half_width
    monkeypatch.setattr(Contrast, "half_width", lambda self, tail: whole(self, tail) / 2)

    alarms = false_alarms(
        simulation(10, SHAPES[0]), n_studies=100, rng=np.random.default_rng(5), is_paired=True
    )

    assert alarms["flip_rate"] > 0.15
    assert alarms["accuracy"] > 0.15
