"""Figures that lists do not show: confidence, attention and vectors, from records and weights."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from seedproof.errors import NotFoundError
from seedproof.records.manifest import RunManifest
from seedproof_reproductions.datasets.movielens import load_ages
from seedproof_reproductions.thesis2019.arms import BASELINE, arm_of
from seedproof_reproductions.thesis2019.confidence import Candidates
from seedproof_reproductions.thesis2019.data import Prepared, prepare
from seedproof_reproductions.thesis2019.models import MODELS, DeepICF, PairModel
from seedproof_reproductions.thesis2019.permutation import (
    Changes,
    attention_entropy,
    shuffle_attention,
)
from seedproof_reproductions.thesis2019.settings import TWO_CLASSES, Setting
from seedproof_reproductions.thesis2019.training import WEIGHTS
from seedproof_reproductions.thesis2019.vectors import vector_figures

# The model whose users are drawn on a map.
MAPPED = "gmf"


def look_inside(
    store: str | os.PathLike[str], setting: Setting, finished: Sequence[RunManifest]
) -> dict[str, dict[str, Any]]:
    """Return figures of each arm with two runs or more, by its name.

    Arms that average several models have no weights of their own.
    """
    prepared = prepare(setting)
    counts = Counter(run.arm for run in finished)
    inside: dict[str, dict[str, Any]] = {}
    changes: dict[str, Changes] = {}
    for arm in (arm for arm, n_runs in counts.items() if n_runs > 1):
        inside[arm] = {}
        if setting.classes == TWO_CLASSES:
            inside[arm] |= _confidence(Candidates.read(store, arm, prepared), arm)
        if arm_of(arm).n_models > 1:
            continue
        runs = [run for run in finished if run.arm == arm]
        models = {run.name: load_model(store, run, setting, prepared) for run in runs}
        inside[arm]["vectors"] = _vectors(models, prepared, has_map=_has_map(setting, arm))
        attending = {name: model for name, model in models.items() if isinstance(model, DeepICF)}
        if attending and setting.classes == TWO_CLASSES:
            shuffled = {name: shuffle_attention(m, prepared) for name, m in attending.items()}
            changes[arm] = Changes(shuffled)
            inside[arm]["permutation"] = {
                "entropy": [attention_entropy(model, prepared) for model in attending.values()],
                **changes[arm].figures(),
            }
    for arm in changes.keys() - {BASELINE} if BASELINE in changes else ():
        compared = changes[arm].compared_with(changes[BASELINE])
        inside[arm]["permutation"]["compared"] = compared
    return inside


def load_model(
    store: str | os.PathLike[str], run: RunManifest, setting: Setting, prepared: Prepared
) -> PairModel | DeepICF:
    """Load the single model of a run."""
    place = Path(store) / "runs" / run.run_id / "checkpoints"
    # Other code would have made another folder; the newest is that of the finished run.
    files = sorted(place.glob(f"*/{WEIGHTS}"), key=lambda file: file.stat().st_mtime)
    if not files:
        raise NotFoundError(
            "Run {run!r} has no weights below {place}. Results are collected where the runs were "
            "made.",
            run=run.name,
            place=place,
        )
    model = MODELS[setting.model](prepared.histories, setting.schedule.n_factors, setting.n_outputs)
    (weights,) = torch.load(files[-1], weights_only=True)
    model.load_state_dict(weights)
    return model.requires_grad_(requires_grad=False)


def _confidence(candidates: Candidates, arm: str) -> dict[str, Any]:
    figures = {"confidence": candidates.over_confidence()}
    return figures | ({"calibration": candidates.calibrate()} if arm == BASELINE else {})


def _vectors(
    models: Mapping[str, PairModel | DeepICF], prepared: Prepared, *, has_map: bool
) -> dict[str, Any]:
    ages = load_ages()
    if ages is not None:
        ages = ages[prepared.data.names]
    return vector_figures(models, ages, has_map=has_map)


def _has_map(setting: Setting, arm: str) -> bool:
    return setting.model == MAPPED and arm == BASELINE
