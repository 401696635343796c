"""Results of a study, small enough to be part of the repository."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from seedproof.api.measure import measure_arms
from seedproof.comparison.arms.result import ComparedArm
from seedproof.measurement.explanations import ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.records.manifest import RunManifest
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
    """Collect the results of one setting: figures of each arm, and its effects, with intervals."""
    records, plan = open_study(store, PAPER)
    setting = Setting.from_arguments(plan["arguments"])
    finished = [run for run in records.runs if run.status == "finished"]
    lists = {part: _lists(store, part) for part in (CANDIDATES, CATALOG)}
    attention = _attention(store, setting.classes[-1]) if setting.model == "deepicf" else {}
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


def _compared(
    store: str | os.PathLike[str], split: str
) -> dict[str, tuple[Measurement, ComparedArm | None]]:
    """Measure each arm, and compare it with the baseline if there are both."""
    measured = {arm: report.measurement for arm, report in measure_arms(store, split=split).items()}
    compared = {}
    if BASELINE in measured and len(measured) > 1:
        compared = compare_with_first(arms_of(store, baseline=BASELINE, split=split))
    return {arm: (measurement, compared.get(arm)) for arm, measurement in measured.items()}


def _lists(store: str | os.PathLike[str], part: str) -> dict[str, dict[str, Any]]:
    return {
        arm: {
            "n_examples": measured.n_examples,
            "metrics": plain_figures(measured.metrics),
            "effects": _plain_effects({} if compared is None else compared.effects),
            "is_paired": compared is not None and compared.is_paired,
        }
        for arm, (measured, compared) in _compared(store, part).items()
    }


def _plain_effects(effects: Mapping[str, Effect]) -> dict[str, dict[str, Any]]:
    return plain_effects({name: effects[name] for name in EFFECTS if name in effects})


def _attention(store: str | os.PathLike[str], positive: str) -> dict[str, dict[str, Any]]:
    """Return figures of the attention to the tested items, for arms that logged it.

    The curve is by the predicted probability of the positive class.
    """
    return {
        arm: _plain_attention(
            measured.explanations[ATTENTION],
            {} if compared is None else compared.explanations.get(ATTENTION, {}),
            positive,
        )
        for arm, (measured, compared) in _compared(store, PROBABILITIES).items()
        if ATTENTION in measured.explanations
    }


def _plain_attention(
    measured: ExplanationMeasurement, effects: Mapping[str, Effect], positive: str
) -> dict[str, Any]:
    curves = measured.curves
    # Curves are of the classes that are predicted.
    place = {} if curves is None else {name: i for i, name in enumerate(curves.classes)}
    last = place.get(positive)
    return {
        "n_examples": measured.n_examples,
        "metrics": plain_figures(measured.metrics),
        "effects": plain_effects(effects),
        "curve": None
        if curves is None or last is None
        else {
            "counts": plain_array(curves.counts[last]),
            "means": plain_array(curves.means[CURVE][last]),
            "errors": plain_array(curves.errors[CURVE][last]),
        },
    }
