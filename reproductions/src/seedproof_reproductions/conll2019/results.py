"""Results of a study, small enough to be part of the repository."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from seedproof.api.measure import measure_arms
from seedproof.comparison.arms.result import ComparedArm
from seedproof.measurement.explanations import Curves, ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.metrics.statistic import MeanOverExamples, Statistic
from seedproof.records.manifest import RunManifest
from seedproof.report.sentences import drift, spread_cause
from seedproof.stats.effect import Effect
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import CONFIDENCE, Level, estimate
from seedproof_reproductions.conll2019.families import compared_families, compared_rivals
from seedproof_reproductions.conll2019.names import BASELINE, CROSSED, JACCARD, KL, MATCHED
from seedproof_reproductions.conll2019.plan import answers
from seedproof_reproductions.conll2019.settings import EXPLAIN, Setting
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.deciding import from_texts, share_from_texts
from seedproof_reproductions.results import (
    plain_array,
    plain_effects,
    plain_figures,
    read_results,
    run_hours,
    shared_versions,
    short,
)
from seedproof_reproductions.runs import arms_of, open_study

FORMAT = 2
PAPER = "conll2019"
SPLIT = "test"
# The curves that the paper draws: Figures 4, 5 and 7 to 10.
CURVES = (KL, JACCARD)


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Read what `collect` returned for several settings; if omitted, those of the package."""
    return read_results(PAPER, folder, version=FORMAT)


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the results of one setting: figures of each arm, and its effects, with intervals."""
    records, plan = open_study(store, PAPER)
    setting = Setting.from_arguments(plan["arguments"])
    measured = {arm: report.measurement for arm, report in measure_arms(store, split=SPLIT).items()}
    first = next(iter(measured.values()))
    can_compare = BASELINE in measured and len(measured) > 1
    sides = arms_of(store, baseline=BASELINE, split=SPLIT) if can_compare else []
    compared = compared_families(sides)
    matched = compared_families(sides, match_rates=True)
    rivals = compared_rivals(sides)
    finished = tuple(run for run in records.runs if run.status == "finished")
    others = [arm for arm in compared.alone if arm != BASELINE]
    is_crossed = records.study.name.endswith(CROSSED)
    arms = {}
    for arm, measurement in measured.items():
        runs = [run for run in finished if run.arm == arm]
        of_all, moved = compared.of_all.get(arm), matched.alone.get(arm)
        arms[arm] = _plain_arm(runs, measurement, compared.alone.get(arm)) | {
            "of_all": None if of_all is None else _plain_changes(of_all),
            "matched": None if moved is None else _plain_matched(moved, matched.of_all.get(arm)),
        }
    for method, kept in _of_baseline([compared.alone[arm] for arm in others]).items():
        arms[BASELINE]["explanations"][method] |= kept
    return {
        "format": FORMAT,
        "paper": PAPER,
        "name": records.study.name,
        "setting": asdict(setting) | {"min_count": setting.min_count},
        "explaining": _explaining(plan["arguments"]),
        "n_examples": first.n_examples,
        "sizes": _sizes(finished, setting, first.n_examples),
        "classes": list(first.classes),
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "hours": run_hours(finished),
        "arms": {arm: _figures_of(kept) for arm, kept in arms.items()} if is_crossed else arms,
        "rivals": None if rivals is None else _plain_rivals(rivals),
        "answers": answers(sides),
    }


def _plain_arm(
    runs: Sequence[RunManifest], measured: Measurement, compared: ComparedArm | None
) -> dict[str, Any]:
    names = sorted({name for run in runs for name in run.scalars})
    explained = {} if compared is None else compared.explanations
    contrasts = {} if compared is None else compared.explanation_contrasts
    moving, shares = drift(measured)
    return {
        "runs": [run.name for run in runs],
        "n_runs": measured.n_runs,
        "is_paired": compared is not None and compared.is_paired,
        "scalars": {name: [short(run.scalars.get(name)) for run in runs] for name in names},
        "metrics": plain_figures(measured.metrics),
        "effects": {} if compared is None else plain_effects(compared.effects),
        "from_texts": {} if compared is None else _of_effects(compared.contrasts, compared.effects),
        "spread_cause": spread_cause(measured),
        "drift": {"class": moving, "shares": plain_array(shares)},
        "sd_curve": {
            name: plain_array(measured.detail[f"sd_curve_{name}"])
            for name in ("count", "mean", "error")
        },
        "explanations": {
            method: _plain_explanations(explanations, explained.get(method, {}))
            | _of_arm(contrasts.get(method, {}), explained.get(method, {}))
            for method, explanations in measured.explanations.items()
        },
    }


def _figures_of(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of an arm alone; the changes of crossed arms are in the answers."""
    matched = arm["matched"] and {"metrics": arm["matched"]["metrics"]}
    return {name: arm[name] for name in ("runs", "n_runs", "is_paired", "scalars", "metrics")} | {
        "matched": matched,
        "explanations": {
            method: {"metrics": explained["metrics"]}
            for method, explained in arm["explanations"].items()
        },
    }


def _of_effects(
    contrasts: Mapping[str, MetricContrast], effects: Mapping[str, Effect]
) -> dict[str, float | None]:
    """Return the share of each effect's squared width that is from texts."""
    tails = {name: (1 - (effects[name].confidence or CONFIDENCE)) / 2 for name in contrasts}
    return {
        name: share_from_texts(x, Level(tails[name], tails[name])) for name, x in contrasts.items()
    }


def _of_arm(
    contrasts: Mapping[str, MetricContrast], effects: Mapping[str, Effect]
) -> dict[str, Any]:
    """Return what is kept of the explanations of an arm that was compared."""
    kl = contrasts.get(KL)
    return {
        "from_texts": _of_effects(contrasts, effects),
        "run_kl": None if kl is None else run_distances(kl.arm),
    }


def _of_baseline(arms: Collection[ComparedArm]) -> dict[str, dict[str, Any]]:
    """Return the same for the baseline, from the comparison with most runs, by method."""
    if not arms:
        return {}
    largest = max(arms, key=lambda arm: arm.measurement.n_runs)
    return {
        method: {
            "from_texts": {
                name: short(from_texts(partial(estimate, x.base))) for name, x in rows.items()
            },
            "run_kl": run_distances(rows[KL].base) if KL in rows else None,
        }
        for method, rows in largest.explanation_contrasts.items()
    }


def run_distances(statistic: Statistic) -> list[float | None] | None:
    """Return the mean distance of each run to all others; None with fewer than three runs.

    The mean over all pairs, and over the pairs without each run, determine it.
    """
    if not isinstance(statistic, MeanOverExamples) or statistic.without is None:
        return None
    n_runs = len(statistic.without)
    distances = (n_runs * statistic.value - (n_runs - 2) * statistic.without) / 2
    return [short(float(distance)) for distance in distances]


def _plain_explanations(
    measured: ExplanationMeasurement, effects: Mapping[str, Effect]
) -> dict[str, Any]:
    return {
        "n_examples": measured.n_examples,
        "metrics": plain_figures(measured.metrics),
        "effects": plain_effects(effects),
        # Between draws of one run: what is left when the seed is the same.
        "noise": None if measured.noise is None else plain_figures(measured.noise),
        "n_repeated": measured.n_repeated,
        "curves": None if measured.curves is None else _plain_curves(measured.curves),
    }


def _plain_curves(curves: Curves) -> dict[str, Any]:
    return {
        "classes": list(curves.classes),
        "counts": plain_array(curves.counts),
        "means": {name: plain_array(curves.means[name]) for name in CURVES},
        "errors": {name: plain_array(curves.errors[name]) for name in CURVES},
    }


def _plain_changes(arm: ComparedArm) -> dict[str, Any]:
    return {
        "effects": plain_effects(arm.effects),
        "explanations": {
            method: plain_effects(effects) for method, effects in arm.explanations.items()
        },
    }


def _plain_rivals(arm: ComparedArm) -> dict[str, Any]:
    shares = {
        method: _of_effects(rows, arm.explanations[method])
        for method, rows in arm.explanation_contrasts.items()
    }
    return _plain_changes(arm) | {"from_texts": shares}


def _plain_matched(arm: ComparedArm, of_all: ComparedArm | None) -> dict[str, Any]:
    """Return figures and effects of runs whose threshold was moved; all have the same share."""
    metrics, shares = arm.measurement.metrics, drift(arm.measurement)[1]

    def effects(compared: ComparedArm) -> dict[str, dict[str, Any]]:
        return plain_effects({name: compared.effects[name] for name in MATCHED if compared.effects})

    return {
        "share": short(float(shares[0])),
        "metrics": plain_figures({name: metrics[name] for name in MATCHED}),
        "effects": effects(arm),
        "of_all": None if of_all is None else effects(of_all),
    }


def _sizes(runs: Sequence[RunManifest], setting: Setting, n_test: int) -> dict[str, int]:
    """Return the number of examples in each split."""
    logged = [{run.scalars.get(name) for run in runs} for name in ("n_train", "n_dev")]
    if all(len(values) == 1 and None not in values for values in logged):
        n_train, n_dev = (int(values.pop() or 0) for values in logged)
    else:
        # Runs that explain log no sizes: the same files, cut in the same way.
        data = load(setting.dataset)
        part = data.sample(n_train=setting.n_train, n_dev=setting.n_dev, n_test=None, seed=0)
        n_train, n_dev = len(part.train), len(part.dev)
    return {"train": n_train, "dev": n_dev, "test": n_test}


def _explaining(arguments: Sequence[str]) -> dict[str, int] | None:
    """Return how the models of another study were explained; None if this one trained its own."""
    pairs = [text.removeprefix(EXPLAIN).split("=") for text in arguments if EXPLAIN in text]
    return {name: int(value) for name, value in pairs if value != "None"} or None
