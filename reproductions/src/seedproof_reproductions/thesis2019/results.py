"""Results of a study, small enough to be part of the repository."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from seedproof.api.measure import measure_arms
from seedproof.comparison.arms.result import ComparedArm
from seedproof.measurement.explanations import Curves
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.stats.effect import Effect
from seedproof_reproductions.results import (
    plain_array,
    plain_effects,
    plain_figures,
    read_results,
    shared_versions,
    short,
)
from seedproof_reproductions.runs import arms_of, compare_with_first, open_study
from seedproof_reproductions.thesis2019.arms import ARMS, BASELINE
from seedproof_reproductions.thesis2019.settings import CANDIDATES, CATALOG, PROBABILITIES, Setting

FORMAT = 1
PAPER = "thesis2019"
ATTENTION = "attention"
# What the thesis draws: the overlap of the top 10 % of the attended items.
CURVE = "explanation_jaccard_10"
# Effects on lists; others are not shown.
EFFECTS = (
    "first_item_flips", "jaccard_distance@10", "rank_biased_overlap", "hit_rate@10", "ndcg@10",
    "hit_rate@10_sd", "ndcg@10_sd",
)  # fmt: skip


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Read what `collect` returned for several settings; if omitted, those of the package."""
    return read_results(PAPER, folder, version=FORMAT)


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the results of one setting: figures of each arm, and its effects, with intervals.

    The weights are read, so it runs where the runs were made.
    """
    from seedproof_reproductions.thesis2019.inside import look_inside  # imports torch

    records, plan = open_study(store, PAPER)
    setting = Setting.from_arguments(plan["arguments"])
    finished = [run for run in records.runs if run.status == "finished"]
    lists = {part: _lists(store, part) for part in (CANDIDATES, CATALOG)}
    attention = _attention(store, setting.classes[-1]) if setting.model == "deepicf" else {}
    inside = look_inside(store, setting, finished)
    pretraining = setting.pretraining
    # As arms are listed, whichever was trained first.
    arms = [arm for arm in ARMS if arm in lists[CANDIDATES]]
    return {
        "format": FORMAT,
        "paper": PAPER,
        "name": records.study.name,
        "setting": asdict(setting),
        "schedule": setting.schedule._asdict(),
        "pretraining": None if pretraining is None else pretraining._asdict(),
        "n_users": next(iter(lists[CANDIDATES].values()))["n_examples"],
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "arms": {
            arm: _scalars([run for run in finished if run.arm == arm])
            | {part: of_arms[arm] for part, of_arms in lists.items()}
            | {ATTENTION: attention.get(arm)}
            | inside.get(arm, {})
            for arm in arms
        },
    }


def _scalars(runs: Sequence[RunManifest]) -> dict[str, Any]:
    names = sorted({name for run in runs for name in run.scalars})
    return {
        "runs": [run.name for run in runs],
        "n_runs": len(runs),
        "scalars": {name: [short(run.scalars.get(name)) for run in runs] for name in names},
    }


def _measured(store: str | os.PathLike[str], split: str) -> dict[str, ComparedArm]:
    """Measure all arms, and compare them with the baseline if there are both."""
    arms = Counter(run.arm for run in Store(Location.of(store)).runs if run.status == "finished")
    enough = [arm for arm, n_runs in arms.items() if n_runs > 1]
    if BASELINE in enough and len(enough) > 1:
        return compare_with_first(arms_of(store, baseline=BASELINE, split=split))
    reports = measure_arms(store, split=split)
    return {arm: ComparedArm(arm, report.measurement) for arm, report in reports.items()}


def _lists(store: str | os.PathLike[str], part: str) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "n_examples": arm.measurement.n_examples,
            "metrics": plain_figures(arm.measurement.metrics),
            "effects": plain_effects(_chosen(arm.effects)),
            "is_paired": arm.is_paired,
        }
        for name, arm in _measured(store, part).items()
    }


def _chosen(effects: Mapping[str, Effect]) -> dict[str, Effect]:
    return {name: effects[name] for name in EFFECTS if name in effects}


def _attention(store: str | os.PathLike[str], positive: str) -> dict[str, dict[str, Any]]:
    """Return figures of the attention to the tested items, for arms that logged it."""
    figures = {}
    for name, arm in _measured(store, PROBABILITIES).items():
        measured = arm.measurement.explanations.get(ATTENTION)
        if measured is not None:
            curves = measured.curves
            figures[name] = {
                "n_examples": measured.n_examples,
                "metrics": plain_figures(measured.metrics),
                "effects": plain_effects(arm.explanations.get(ATTENTION, {})),
                "curve": None if curves is None else plain_curve(curves, positive),
            }
    return figures


def plain_curve(curves: Curves, positive: str) -> dict[str, Any]:
    """Return the curve by the predicted probability of the positive class.

    Of two classes only one has a curve; that of the other is the same, from its end.
    """
    is_followed = positive in curves.classes
    place = curves.classes.index(positive) if is_followed else 0
    parts = {"counts": curves.counts, "means": curves.means[CURVE], "errors": curves.errors[CURVE]}
    step = 1 if is_followed else -1
    return {name: plain_array(values[place, ::step]) for name, values in parts.items()}
