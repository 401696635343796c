"""Write and read the results of a recipe as small JSON files with rounded numbers."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError, UnreadableError
from seedproof.records.manifest import RunManifest
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate

# The records have all digits.
DIGITS = 6
# Keys of the results of every recipe.
REQUIRED = {"format", "paper", "name", "setting", "arms"}
# Fields of an effect that are not kept.
LEFT_OUT = {"metric", "note", "detectable"}
# Packages whose version may change results.
VERSIONED = {"python", "torch", "numpy", "seedproof"}


def short(value: float | None) -> float | None:
    """Round to few digits; what is not finite is None."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


def plain_array(values: npt.NDArray[Any]) -> Any:  # noqa: ANN401 - nested lists
    """Return nested lists of short numbers; None is not a number."""
    if values.ndim > 1:
        return [plain_array(row) for row in values]
    if values.dtype.kind == "i":
        return values.tolist()
    return [None if np.isnan(value) else short(float(value)) for value in values]


def plain_figure(estimate: Estimate) -> list[float | None]:
    """Return value, low and high; only the value if it has no interval."""
    if estimate.low is None:
        return [short(estimate.value)]
    return [short(value) for value in (estimate.value, estimate.low, estimate.high)]


def plain_figures(estimates: Mapping[str, Estimate]) -> dict[str, list[float | None]]:
    """Return `plain_figure` of each metric."""
    return {name: plain_figure(estimate) for name, estimate in estimates.items()}


def plain_effect(effect: Effect) -> dict[str, Any]:
    """Return what `Effect` takes, except for the metric's name and what no page shows."""
    values = {name: value for name, value in effect.summary().items() if name not in LEFT_OUT}
    return {name: v if isinstance(v, str) else short(v) for name, v in values.items()}


def plain_effects(effects: Mapping[str, Effect]) -> dict[str, dict[str, Any]]:
    """Return `plain_effect` of each metric."""
    return {name: plain_effect(effect) for name, effect in effects.items()}


def run_hours(runs: Iterable[RunManifest]) -> float:
    """Return how long runs took in total, in hours; a run has one thread."""
    return short(sum(float(run.facts.get("seconds", 0.0)) for run in runs) / 3600) or 0.0


def study_hours(study: Mapping[str, Any]) -> float | None:
    """Return how long the runs of stored results took, in hours; None if they do not say it.

    Older results have only the seconds that trainings logged: a list, or the mean over runs.
    """
    if (hours := study.get("hours")) is not None:
        return float(hours)
    total = 0.0
    for arm in study["arms"].values():
        seconds = arm.get("scalars", {}).get("seconds")
        if seconds is None:
            return None
        total += sum(seconds) if isinstance(seconds, list) else seconds * arm["n_runs"]
    return total / 3600


def shared_versions(versions: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the versions that all runs, or all settings, share; one that differs is left out."""
    first, *others = [*versions] or [{}]
    return {
        name: value
        for name, value in first.items()
        if name in VERSIONED and all(other.get(name) == value for other in others)
    }


def as_text(results: Mapping[str, Any]) -> str:
    """Format results as JSON with one line per list and effect, so that a change is easy to see."""
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    for start, content, end in (("[", "", "]"), ("{", '"scale"', "}")):
        flat = re.compile(rf"\{start}\s+({content}[^\[\]{{}}]*?)\s+\{end}")
        text = flat.sub(partial(_on_one_line, start, end), text)
    return text + "\n"


def _on_one_line(start: str, end: str, match: re.Match[str]) -> str:
    return start + re.sub(r",\s+", ", ", match[1]) + end


def write_results(results: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write the results of one setting to `<name of the setting>.json`, and return the file."""
    path = Path(folder) / f"{results['name']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(results), encoding="utf-8")
    return path


def read_results(
    paper: str, folder: str | os.PathLike[str] | None = None, *, version: int
) -> list[dict[str, Any]]:
    """Read the results of several settings, by their names."""
    place = files(__package__) / paper / "results" if folder is None else Path(folder)
    if not place.is_dir():
        return []
    paths = {path.name.removesuffix(".json"): path for path in place.iterdir()}
    contents = {name: _read(paths[name]) for name in sorted(paths) if name != paths[name].name}
    for name, content in contents.items():
        if content["paper"] != paper:
            raise OptionError(
                "{name}.json has results of another paper, {other_paper}, not of {paper}. "
                "Use a separate folder for each paper.",
                name=name,
                other_paper=content["paper"],
                paper=paper,
            )
        if content["format"] != version:
            raise OptionError(
                "{name}.json has the format {stored_format}, and this version reads "
                "{version}. Write it again from its store with --results.",
                name=name,
                stored_format=content["format"],
                version=version,
            )
    return list(contents.values())


def _read(file: Traversable) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except ValueError as error:
        raise UnreadableError(
            "{file} in the folder of results is not JSON ({reason}). Write it again from its "
            "store with --results, or move it away.",
            file=file.name,
            reason=str(error),
        ) from error
    if not isinstance(content, dict) or not content.keys() >= REQUIRED:
        raise UnreadableError(
            "{file} in the folder of results is not a result of a recipe. Move it away, "
            "or use another folder.",
            file=file.name,
        )
    return content
