"""Results of a study, small enough to be part of the repository."""

import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from seedproof.comparison.arms.arm_contrast import partners_in
from seedproof.comparison.arms.compare import ArmData
from seedproof.records.reader import Store, StoreShards
from seedproof.stats.effect import Effect
from seedproof.typing import IntArray
from seedproof_reproductions.findings2023 import comparison, single_runs
from seedproof_reproductions.findings2023.arms import ARMS, GROUPS, Arm
from seedproof_reproductions.findings2023.comparison import high_in
from seedproof_reproductions.findings2023.control import plain_control
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.single_runs import Predictions
from seedproof_reproductions.results import (
    plain_effect,
    plain_effects,
    plain_figure,
    plain_figures,
    read_results,
    run_hours,
    shared_versions,
    short,
)
from seedproof_reproductions.runs import arms_of, open_study

FORMAT = 1
PAPER = "findings2023"
SPLIT = "test"
METRICS = (
    "accuracy", "accuracy_sd", "accuracy_sd_independent", "flip_rate", "net_flip_rate",
    "label_entropy", "label_entropy_corrected", "high_entropy_share", "probability_sd",
    "ece", "ece_corrected", "ece_sd", "nll", "nll_sd", "brier", "brier_sd",
)  # fmt: skip
EFFECTS = (
    "accuracy", "accuracy_sd", "flip_rate", "label_entropy", "label_entropy_corrected",
    "probability_sd", "ece_corrected", "nll", "brier",
)  # fmt: skip
OF_ALL = ("accuracy", "flip_rate", "label_entropy")
SCALARS = (
    "train_accuracy", "head_multiplications", "encoder_multiplications", "forward_passes",
    "serving_multiplier", "seconds",
)  # fmt: skip


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Read what `collect` returned for several settings; if omitted, those of the package."""
    return read_results(PAPER, folder, version=FORMAT)


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the results of one setting: figures and effects of each arm, with intervals."""
    records, plan = open_study(store, PAPER)
    setting = Setting.from_arguments(plan["arguments"])
    opened = _open(store, records)
    first = opened[0].source
    finished = [run for arm in opened for run in arm.source.manifests]
    control = opened[0] if opened[0].name == BASELINE else None
    # As arms are listed, whichever was trained first.
    places = {name: place for place, name in enumerate(ARMS)}
    in_order = sorted(opened, key=lambda arm: places[arm.name])
    return {
        "format": FORMAT,
        "paper": PAPER,
        "name": records.study.name,
        "setting": asdict(setting) | {"learning_rate": setting.learning_rate},
        "sizes": {"train": int(finished[0].scalars["n_train"]), "test": first.n_examples},
        "n_classes": len(first.classes),
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "hours": run_hours(finished),
        "arms": {arm.name: _plain_arm(arm, control) for arm in in_order},
        "control": None if control is None else plain_control(control.source, control.predictions),
    }


@dataclass(frozen=True, eq=False)
class _OpenArm:
    """One arm of the store, with its runs, its figures and its predictions."""

    side: ArmData
    source: StoreShards
    figures: comparison.Figures
    predictions: Predictions

    @property
    def name(self) -> str:
        return self.side.name

    @property
    def arm(self) -> Arm:
        return ARMS[self.side.name]

    @property
    def scalars(self) -> dict[str, float]:
        """Median over the runs that logged a scalar."""
        runs = [run.scalars for run in self.source.manifests]
        logged = {name: [run[name] for run in runs if name in run] for name in SCALARS}
        return {name: float(median(values)) for name, values in logged.items() if values}


def _open(store: str | os.PathLike[str], records: Store) -> list[_OpenArm]:
    """Open all arms with at least two finished runs, the control first."""
    n_runs = Counter(run.arm for run in records.runs if run.status == "finished")
    enough = [arm for arm in records.arms() if n_runs[arm] >= 2]
    if len(enough) > 1:
        baseline = BASELINE if BASELINE in enough else None
        sides = arms_of(store, baseline=baseline, split=SPLIT)
    else:
        # Where no arm has two runs, this raises an error.
        arm = next(iter(enough or records.arms()), None)
        sides = [ArmData(str(arm), records.shards(arm=arm, split=SPLIT))]
    figures = comparison.compare_once(sides)
    return [
        _OpenArm(side, side.source, figures[side.name], _predictions(side.name, side.source))
        for side in sides
        if isinstance(side.source, StoreShards)
    ]


def _predictions(name: str, source: StoreShards) -> Predictions:
    predictions = Predictions.of(source)
    # Traces are of the weights that train; an arm that serves their average serves another model.
    return predictions if ARMS[name].average == "none" else replace(predictions, traces=None)


def _plain_arm(arm: _OpenArm, control: _OpenArm | None) -> dict[str, Any]:
    entropy = single_runs.run_entropy(arm.predictions)
    metrics = arm.figures.metrics
    base = control if arm is not control else None
    effects, of_all = (
        {name: values[name] for name in names if name in values} if base is not None else {}
        for names, values in ((EFFECTS, arm.figures.effects), (OF_ALL, arm.figures.of_all))
    )
    return {
        "group": next(name for name, group in GROUPS.items() if arm.name in group.arms),
        "shares": _shares(arm.arm),
        "n_runs": len(arm.source.runs),
        "n_traced": arm.predictions.n_traced,
        "n_steps": arm.predictions.n_steps,
        "scalars": {name: short(value) for name, value in arm.scalars.items()},
        "costs": None if control is None else _costs(arm, control),
        "metrics": plain_figures({name: metrics[name] for name in METRICS if name in metrics}),
        "single_run": None if entropy is None else plain_figure(entropy),
        "effects": plain_effects(effects),
        "of_all": plain_effects(of_all),
        "high": None if base is None else _high(arm, base),
        "single_run_effects": _single_run_effects(arm, base),
    }


def _shares(arm: Arm) -> str | None:
    """Return what all runs of an arm share, so that less depends on their seeds."""
    shared = {(True, True): "both", (True, False): "init", (False, True): "teacher"}
    return shared.get((arm.fixed_init, arm.teacher == "shared"))


def _costs(arm: _OpenArm, control: _OpenArm) -> dict[str, float | None]:
    """Return the costs of an arm in units of the control; serving is in them already."""
    own, base = arm.scalars, control.scalars

    def times(name: str) -> float | None:
        return short(own[name] / base[name]) if own.get(name) and base.get(name) else None

    return {
        "training": times("forward_passes"),
        "heads": times("head_multiplications"),
        "serving": short(own.get("serving_multiplier")),
        # A teacher that runs share was trained once per process, for all of them.
        "seconds": None if arm.arm.teacher == "shared" else times("seconds"),
    }


def _high(arm: _OpenArm, control: _OpenArm) -> dict[str, Any] | None:
    """Return the effect where the control's entropy is high: as published, and cross-fitted."""
    high = arm.figures.high_entropy
    if high is None or high.as_published is None:
        return None
    base, own, is_paired = _with_the_same_seeds(control, arm)
    return {
        "n_examples": int(high_in(control.predictions.final).sum()),
        "n_chosen": short(high.n_chosen),
        "naive": short(1 - high.as_published),
        "cross_fitted": _plain(comparison.cross_fitted(base, own, is_paired=is_paired)),
        "by_arm": _plain(comparison.cross_fitted(base, own, is_paired=is_paired, by_arm=True)),
    }


def _with_the_same_seeds(control: _OpenArm, arm: _OpenArm) -> tuple[IntArray, IntArray, bool]:
    """Return predictions of the runs whose seeds both have; of all runs if they share none.

    Runs with the same seeds may be alike: those that choose examples must not measure them.
    """
    base, own = control.predictions.final, arm.predictions.final
    partners = np.array(partners_in(arm.side.seeds, control.side.seeds) or [-1] * len(own))
    has_partner = partners >= 0
    if not has_partner.any():
        return base, own, False
    return base[partners[has_partner]], own[has_partner], True


def _single_run_effects(arm: _OpenArm, control: _OpenArm | None) -> dict[str, Any]:
    """Return the effect on the entropy within a run: of all examples, and where it is high."""
    if control is None:
        return dict.fromkeys(("all", "high", "high_naive"))
    base, others = control.predictions, control.predictions.not_traced
    ratio = partial(single_runs.run_entropy_ratio, base, arm.predictions)
    return {
        "all": _plain(ratio()),
        # Runs that are measured must not choose, and neither must their seeds.
        "high": _plain(ratio(high_in(others)) if len(others) > 1 else None),
        "high_naive": _plain(ratio(high_in(base.final))),
    }


def _plain(effect: Effect | None) -> dict[str, Any] | None:
    return None if effect is None else plain_effect(effect)
