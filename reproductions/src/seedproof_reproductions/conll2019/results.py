"""What came out, small enough to be kept in the repository."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from seedproof.comparison.arms.result import ComparedArm
from seedproof.errors import OptionError
from seedproof.measurement.result import Measurement
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.report.api import measure_arms
from seedproof.report.words import drift, spread_cause
from seedproof_reproductions.conll2019.families import (
    Families,
    compared_families,
    compared_rivals,
    open_arms,
)
from seedproof_reproductions.conll2019.matched import matched_sides
from seedproof_reproductions.conll2019.plain import plain_changes, plain_explanations, plain_matched
from seedproof_reproductions.conll2019.published import published_accuracy
from seedproof_reproductions.conll2019.settings import EXPLAIN, Setting
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.keeping import shared_versions
from seedproof_reproductions.keeping import stored_results as kept_results
from seedproof_reproductions.plain import plain_array, plain_effects, plain_figures, short

FORMAT = 2
RECIPE = "seedproof_reproductions.conll2019"
SPLIT = "test"
MISSING = "–"


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """The results of one setting: figures of each arm, and its effects, with intervals.

    Args:
        store: The store of a study that `study` or `explain_study` made; unfinished runs are left
            out.

    Returns:
        Plain data, tens of kilobytes as JSON: nothing of the texts.

    Raises:
        OptionError: The store holds another study.
    """
    records = Store(Location.of(store))
    plan = records.study.plan or {}
    if f"{__package__}." not in str(plan.get("target", "")):
        raise OptionError(
            f"{os.fspath(store)!r} holds no study of this recipe. Give a store that "
            "`seedproof reproduce conll2019` made."
        )
    setting = Setting.from_arguments(plan["arguments"])
    measured = {arm: report.measurement for arm, report in measure_arms(store, split=SPLIT).items()}
    first = next(iter(measured.values()))
    sides = open_arms(store, list(measured), split=SPLIT)
    found, matched = compared_families(sides), compared_families(matched_sides(sides))
    rivals = compared_rivals(sides)
    finished = tuple(run for run in records.runs if run.status == "finished")
    return {
        "format": FORMAT,
        "paper": "conll2019",
        "name": records.study.name,
        "setting": asdict(setting) | {"min_count": setting.min_count},
        "explaining": _explaining(plan["arguments"]),
        "n_examples": first.n_examples,
        "sizes": _sizes(finished, setting, first.n_examples),
        "classes": list(first.classes),
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "arms": {
            arm: _arm([run for run in finished if run.arm == arm], one, found.asked.get(arm))
            | _beside(arm, found, matched)
            for arm, one in measured.items()
        },
        "rivals": None if rivals is None else plain_changes(rivals),
    }


def _arm(
    runs: Sequence[RunManifest], found: Measurement, compared: ComparedArm | None
) -> dict[str, Any]:
    names = sorted({name for run in runs for name in run.scalars})
    reasons = {} if compared is None else compared.explanations
    moving, shares = drift(found)
    return {
        "runs": [run.name for run in runs],
        "n_runs": found.n_runs,
        "is_paired": compared is not None and compared.is_paired,
        "scalars": {name: [short(run.scalars.get(name)) for run in runs] for name in names},
        "metrics": plain_figures(found.metrics),
        "effects": {} if compared is None else plain_effects(compared.effects),
        "spread_cause": spread_cause(found),
        "drift": {"class": moving, "shares": plain_array(shares)},
        "sd_curve": {
            name: plain_array(found.detail[f"sd_curve_{name}"])
            for name in ("count", "mean", "error")
        },
        "explanations": {
            method: plain_explanations(one, reasons.get(method, {}))
            for method, one in found.explanations.items()
        },
    }


def _beside(arm: str, found: Families, matched: Families) -> dict[str, Any]:
    """The same arm among all arms, and with the threshold of its runs moved."""
    among_all, moved = found.of_all.get(arm), matched.asked.get(arm)
    return {
        "of_all": None if among_all is None else plain_changes(among_all),
        "matched": None if moved is None else plain_matched(moved, matched.of_all.get(arm)),
    }


def _sizes(runs: Sequence[RunManifest], setting: Setting, n_test: int) -> dict[str, int]:
    """How many examples were trained on, chosen by and tested on."""
    logged = [{run.scalars.get(name) for run in runs} for name in ("n_train", "n_dev")]
    if all(len(values) == 1 and None not in values for values in logged):
        n_train, n_dev = (int(values.pop() or 0) for values in logged)
    else:
        # Runs of before these were logged: the same files, cut in the same way.
        data = load(setting.dataset)
        part = data.smaller(n_train=setting.n_train, n_dev=setting.n_dev, n_test=None, seed=0)
        n_train, n_dev = len(part.train), len(part.dev)
    return {"train": n_train, "dev": n_dev, "test": n_test}


def _explaining(arguments: Sequence[str]) -> dict[str, int] | None:
    """How the models of another study were explained; None if this one trained its own."""
    pairs = [text.removeprefix(EXPLAIN).split("=") for text in arguments if EXPLAIN in text]
    return {name: int(value) for name, value in pairs if value != "None"} or None


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Results of several settings, by their names.

    Args:
        folder: Where `write_results` put them; without it, those that come with the package.

    Returns:
        What `collect` gave, one for each file.
    """
    return kept_results(RECIPE, folder, version=FORMAT)


def accuracy_table(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Accuracy of each arm in percent, ours beside what the paper printed.

    Args:
        results: What `collect` gave.

    Returns:
        Arm, ours and published, as text: mean ± sd.
    """
    setting = results["setting"]
    rows = []
    for arm, found in results["arms"].items():
        ours = [100 * found["metrics"][name][0] for name in ("accuracy", "accuracy_sd")]
        # The paper's tables have additive attention.
        is_tabled = setting["attention"] == "additive"
        theirs = (
            published_accuracy(setting["dataset"], setting["encoder"], arm) if is_tabled else None
        )
        rows.append(
            (
                arm,
                f"{ours[0]:.1f} ±{ours[1]:.2f}",
                MISSING if theirs is None else f"{theirs.mean:.1f} ±{theirs.sd:.2f}",
            )
        )
    return rows


def explanation_table(results: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """How many of the top words two seeds do not share, beside the explainer's own noise.

    Args:
        results: What `collect` gave.

    Returns:
        Arm, method, Jaccard distance of the top 20 % between seeds and between draws, as text.
    """
    rows = []
    for arm, found in results["arms"].items():
        for method, one in found["explanations"].items():
            noise = one["noise"]
            rows.append(
                (
                    arm,
                    method,
                    _percent(one["metrics"]),
                    MISSING if noise is None else _percent(noise),
                )
            )
    return rows


def _percent(figures: Mapping[str, Any]) -> str:
    value, *ends = (100 * one for one in figures["explanation_jaccard_20"])
    return f"{value:.1f} %" + (f" [{ends[0]:.1f}, {ends[1]:.1f}]" if ends else "")
