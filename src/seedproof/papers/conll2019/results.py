"""What came out, small enough to be kept in the repository."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError
from seedproof.measurement.explanations import ExplanationMeasurement, measure_explanations
from seedproof.measurement.intervals import Estimate
from seedproof.papers.conll2019.published import published_accuracy
from seedproof.papers.conll2019.settings import Setting
from seedproof.records.explanation_shards import explanation_methods
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.report.api import measure_arms
from seedproof.report.report import Report

FORMAT = 1
SPLIT = "test"
# The curves that the paper draws: Figures 4, 5 and 7 to 10.
CURVES = ("explanation_kl", "explanation_jaccard_20")
# As many digits as anybody reads; the records have all of them.
DIGITS = 6


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """The results of one setting: scalars of each run, figures of each arm with intervals.

    Args:
        store: The store of a study that `study` or `explain_study` made; unfinished runs are left
            out.

    Returns:
        Plain data, a few kilobytes as JSON: nothing of the texts.

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
    reports = measure_arms(records.location, split=SPLIT)
    return {
        "format": FORMAT,
        "paper": "conll2019",
        "name": records.study.name,
        "setting": asdict(setting) | {"min_count": setting.min_count},
        "n_examples": next(iter(reports.values())).measurement.n_examples,
        "versions": _versions(records.runs),
        "arms": {arm: _arm(records, arm, report) for arm, report in reports.items()},
    }


def _arm(records: Store, arm: str, report: Report) -> dict[str, Any]:
    runs = [run for run in records.runs if run.arm == arm]
    names = sorted({name for run in runs for name in run.scalars})
    detail = report.measurement.detail
    methods = explanation_methods(records, arm=arm, split=SPLIT)
    return {
        "runs": [run.name for run in runs],
        "scalars": {name: [_short(run.scalars.get(name)) for run in runs] for name in names},
        "metrics": _figures(report.metrics),
        "sd_curve": {
            name: _plain(detail[f"sd_curve_{name}"]) for name in ("count", "mean", "error")
        },
        "explanations": {
            method: _explanations(
                measure_explanations(records, arm=arm, split=SPLIT, method=method)
            )
            for method in methods
        },
    }


def _explanations(found: ExplanationMeasurement) -> dict[str, Any]:
    curves = found.curves
    return {
        "n_examples": found.n_examples,
        "metrics": _figures(found.metrics),
        # Between draws of one run: what is left when the seed is the same.
        "noise": None if found.noise is None else _figures(found.noise),
        "n_repeated": found.n_repeated,
        "curves": None
        if curves is None
        else {
            "classes": list(curves.classes),
            "counts": _plain(curves.counts),
            **{name: _plain(curves.means[name]) for name in CURVES},
        },
    }


def _figures(estimates: Mapping[str, Estimate]) -> dict[str, list[float | None]]:
    """Value, low and high of each; a figure without an interval has its value alone."""
    return {
        name: [_short(value) for value in (one.value, one.low, one.high)]
        if one.low is not None
        else [_short(one.value)]
        for name, one in estimates.items()
    }


def _plain(values: npt.NDArray[Any]) -> Any:  # noqa: ANN401 - nested lists
    """Lists of short numbers; None is not a number."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [None if np.isnan(value) else _short(float(value)) for value in values]


def _versions(runs: tuple[RunManifest, ...]) -> dict[str, str]:
    """Versions that all runs share; one that differs is left out."""
    found = [run.facts.get("versions", {}) for run in runs]
    return {
        name: value
        for name, value in (found[0] if found else {}).items()
        if name in {"python", "torch", "numpy", "seedproof"}
        and all(other.get(name) == value for other in found)
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def as_text(results: Mapping[str, Any]) -> str:
    """Results as JSON with a line for each list, so that a change of one run is easy to see."""
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    flat = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")
    return flat.sub(lambda found: "[" + re.sub(r",\s+", ", ", found[1]) + "]", text) + "\n"


def write_results(results: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write the results of one setting into a folder, in place of earlier ones.

    Args:
        results: What `collect` gave.
        folder: Where to; it is made if need be.

    Returns:
        The file, `<name of the setting>.json`.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{results['name']}.json"
    path.write_text(as_text(results), encoding="utf-8")
    return path


def stored_results() -> list[dict[str, Any]]:
    """The results that come with the package, by name of the setting."""
    folder = files("seedproof.papers.conll2019") / "results"
    if not folder.is_dir():
        return []
    found = [one for one in folder.iterdir() if one.name.endswith(".json")]
    return [json.loads(one.read_text("utf-8")) for one in sorted(found, key=lambda one: one.name)]


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
        theirs = published_accuracy(setting["dataset"], setting["encoder"], arm)
        rows.append(
            (
                arm,
                f"{ours[0]:.1f} ±{ours[1]:.2f}",
                "–" if theirs is None else f"{theirs.mean:.1f} ±{theirs.sd:.2f}",
            )
        )
    return rows
