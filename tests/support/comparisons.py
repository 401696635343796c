"""Pairs of arms with a known truth, to count how often a comparison is wrong."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from seedproof.comparison.arms.arm_contrast import ClassPairs
from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.clusters import ClusterKeys
from seedproof.metrics.batch import Batch
from seedproof.stats.effect import Effect
from seedproof.stats.families import MetricContrast
from seedproof.typing import IntArray
from support.simulation import FIGURES, Simulation


def contrasts(
    base: Batch, arm: Batch, *, is_paired: bool, clusters: IntArray | None = None
) -> dict[str, MetricContrast]:
    """Contrast two labeled batches like the product."""
    has = frozenset({"labels"})
    keys = None if clusters is None else ClusterKeys(np.arange(clusters.max() + 1), clusters)
    accumulators, sides = [], []
    for batch in (base, arm):
        accumulator = MetricAccumulators(batch.n_runs, batch.n_classes, has)  # type: ignore[arg-type] # a literal
        accumulator.open(keys)
        sides.append((batch, accumulator.add(batch)))
        accumulators.append(accumulator)
    sums = ClassPairs(base.n_runs, arm.n_runs, is_paired=is_paired)
    sums.open(keys)
    sums.update(*sides)
    return sums.contrasts(accumulators[0].result(), accumulators[1].result(), ("none", "arm"))


def effects(
    base: Batch, arm: Batch, *, is_paired: bool, clusters: IntArray | None = None
) -> dict[str, Effect]:
    """Compare two labeled batches like the product."""
    measured = contrasts(base, arm, is_paired=is_paired, clusters=clusters)
    return {name: contrast.effect() for name, contrast in measured.items()}


def false_alarms(
    simulation: Simulation, *, n_studies: int, rng: np.random.Generator, is_paired: bool
) -> dict[str, float]:
    """Return the share of comparisons of identical arms that report a difference, by figure.

    Runs are independent between arms, whether they are treated as paired or not.
    """
    shown = dict.fromkeys(FIGURES, 0)
    for _ in range(n_studies):
        base, arm = simulation.draw_pair(simulation, rng)
        measured = effects(base, arm, is_paired=is_paired, clusters=simulation.clusters)
        for name in FIGURES:
            shown[name] += measured[name].is_shown
    return {name: count / n_studies for name, count in shown.items()}


def effect_coverage(
    base: Simulation,
    arm: Simulation,
    *,
    n_studies: int,
    rng: np.random.Generator,
    is_paired: bool,
    figures: tuple[str, ...] = FIGURES,
) -> dict[str, float]:
    """Return the share of comparisons whose interval covers the true effect, by figure.

    Accuracies have a known truth only if both arms have the same `logit_sd`: labels are drawn from
    the baseline's logits.
    """
    truths = [effect.truth(np.random.default_rng(1)) for effect in (base, arm)]
    hits = dict.fromkeys(figures, 0)
    for _ in range(n_studies):
        pair = base.draw_pair(arm, rng)
        measured = effects(*pair, is_paired=is_paired, clusters=base.clusters)
        for name in figures:
            effect = measured[name]
            difference = truths[1][name] - truths[0][name]
            truth = (
                difference if effect.scale == "difference" else truths[1][name] / truths[0][name]
            )
            hits[name] += (
                effect.low is not None
                and effect.high is not None
                and effect.low <= truth <= effect.high
            )
    return {name: count / n_studies for name, count in hits.items()}


def by_another_mechanism(simulation: Simulation) -> Simulation:
    """Return an arm with the same flip rate in which examples, and not whole runs, differ."""
    quiet = replace(simulation, run_sd=0.05)

    def flips(arm: Simulation) -> float:
        return arm.truth(np.random.default_rng(1), n_population=20_000)["flip_rate"]

    def excess(logit_sd: float) -> float:
        return flips(replace(quiet, logit_sd=logit_sd)) - flips(simulation)

    least, most = 0.3 * simulation.logit_sd, 2 * simulation.logit_sd
    return replace(quiet, logit_sd=float(brentq(excess, least, most, xtol=1e-3)))
