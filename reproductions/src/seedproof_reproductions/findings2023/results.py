"""What came out, small enough to be kept in the repository."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from seedproof.comparison.arms.compare import Side
from seedproof.comparison.effect import Effect
from seedproof.errors import OptionError
from seedproof.records.location import Location
from seedproof.records.reader import Store, StoreShards
from seedproof.typing import IntArray
from seedproof_reproductions.findings2023 import arms as known
from seedproof_reproductions.findings2023.control import plain_control
from seedproof_reproductions.findings2023.least_stable import cross_fitted, high_in
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.one_pass import Figures, compare_once
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.single_runs import Answers, mean_wavering, wavering_ratio
from seedproof_reproductions.keeping import shared_versions
from seedproof_reproductions.keeping import stored_results as kept_results
from seedproof_reproductions.plain import (
    plain_effect,
    plain_effects,
    plain_figure,
    plain_figures,
    short,
)
from seedproof_reproductions.sides import sides_of

FORMAT = 1
RECIPE = "seedproof_reproductions.findings2023"
SPLIT = "test"
METRICS = (
    "accuracy",
    "accuracy_sd",
    "accuracy_sd_independent",
    "flip_rate",
    "net_flip_rate",
    "label_entropy",
    "label_entropy_corrected",
    "high_entropy_share",
    "probability_sd",
    "ece",
    "ece_sd",
    "nll",
    "nll_sd",
    "brier",
    "brier_sd",
)
EFFECTS = (
    "accuracy",
    "accuracy_sd",
    "flip_rate",
    "label_entropy",
    "label_entropy_corrected",
    "probability_sd",
    "ece",
    "nll",
    "brier",
)
OF_ALL = ("accuracy", "flip_rate", "label_entropy")
SCALARS = (
    "train_accuracy",
    "head_multiplications",
    "encoder_multiplications",
    "forward_passes",
    "serving_multiplier",
    "seconds",
)


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """The results of one setting: figures of each arm, and what it changes, with intervals.

    Args:
        store: The store of a study that `study` made; unfinished runs are left out, and so are arms
            with fewer than two finished ones.

    Returns:
        Plain data, some hundred kilobytes as JSON at most: nothing of the texts.

    Raises:
        OptionError: The store holds another study.
        TooFewRunsError: No arm has two finished runs.
    """
    records = Store(Location.of(store))
    plan = records.study.plan or {}
    if f"{RECIPE}." not in str(plan.get("target", "")):
        raise OptionError(
            f"{os.fspath(store)!r} holds no study of this recipe. Give a store that "
            "`seedproof reproduce findings2023` made."
        )
    setting = Setting.from_arguments(plan["arguments"])
    opened = _opened(store, records)
    first = opened[0].source
    finished = [run for arm in opened for run in arm.source.manifests]
    control = opened[0] if opened[0].name == BASELINE else None
    return {
        "format": FORMAT,
        "paper": "findings2023",
        "name": records.study.name,
        "setting": asdict(setting) | {"learning_rate": setting.learning_rate},
        "sizes": {"train": int(finished[0].scalars["n_train"]), "test": first.n_examples},
        "n_classes": len(first.classes),
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "arms": {arm.name: _plain_arm(arm, control) for arm in _in_order(opened)},
        "control": None if control is None else plain_control(control.source, control.answers),
    }


@dataclass(frozen=True, eq=False)
class _Opened:
    """One arm of the store.

    Args:
        side: How it is compared.
        source: Its runs.
        figures: What they predict, and what that changes.
        answers: The same, run by run.
    """

    side: Side
    source: StoreShards
    figures: Figures
    answers: Answers

    @property
    def name(self) -> str:
        return self.side.name

    @property
    def arm(self) -> known.Arm:
        return known.ARMS[self.side.name]

    @property
    def scalars(self) -> dict[str, float]:
        """The median over runs of what they logged."""
        runs = self.source.manifests
        logged = {name: [run.scalars.get(name) for run in runs] for name in SCALARS}
        values = {name: [one for one in found if one is not None] for name, found in logged.items()}
        return {name: float(median(found)) for name, found in values.items() if found}


def _opened(store: str | os.PathLike[str], records: Store) -> list[_Opened]:
    """All arms with at least two finished runs, the control first."""
    n_runs = Counter(run.arm for run in records.runs if run.status == "finished")
    enough = [arm for arm in records.arms() if n_runs[arm] >= 2]
    if len(enough) > 1:
        baseline = BASELINE if BASELINE in enough else None
        sides = sides_of(store, baseline=baseline, split=SPLIT)
    else:
        # Where no arm has two runs, this says so.
        arm = next(iter(enough or records.arms()), None)
        source = records.shards(arm=arm, split=SPLIT)
        sides = [Side(str(arm), source)]
    figures = compare_once(sides)
    return [
        _Opened(side, side.source, figures[side.name], _answers(side.name, side.source))
        for side in sides
        if isinstance(side.source, StoreShards)
    ]


def _answers(name: str, source: StoreShards) -> Answers:
    found = Answers.of(source)
    # What is traced are the weights that train; who serves their average shows another model.
    return found if known.ARMS[name].average == "none" else replace(found, traces=None)


def _in_order(opened: Sequence[_Opened]) -> list[_Opened]:
    """As arms are listed, whichever was trained first."""
    places = {name: place for place, name in enumerate(known.ARMS)}
    return sorted(opened, key=lambda one: places[one.name])


def _plain_arm(arm: _Opened, control: _Opened | None) -> dict[str, Any]:
    wavering = mean_wavering(arm.answers)
    metrics = arm.figures.metrics
    is_compared = control is not None and arm is not control
    effects, of_all = (
        {name: found[name] for name in names if name in found} if is_compared else {}
        for names, found in ((EFFECTS, arm.figures.effects), (OF_ALL, arm.figures.of_all))
    )
    return {
        "group": next(name for name, one in known.GROUPS.items() if arm.name in one.arms),
        "shares": _shares(arm.arm),
        "n_runs": len(arm.source.runs),
        "n_traced": arm.answers.n_traced,
        "n_steps": arm.answers.n_steps,
        "scalars": {name: short(value) for name, value in arm.scalars.items()},
        "costs": None if control is None else _costs(arm, control),
        "metrics": plain_figures({name: metrics[name] for name in METRICS if name in metrics}),
        "single_run": None if wavering is None else plain_figure(wavering),
        "effects": plain_effects(effects),
        "of_all": plain_effects(of_all),
        "high": _high(arm, control) if control is not None and is_compared else None,
        "single_run_effects": _single_run_effects(arm, control if is_compared else None),
    }


def _shares(arm: known.Arm) -> str | None:
    """What all runs of an arm have in common, so that less is left to their seeds."""
    has_teacher = arm.teacher == "shared"
    if arm.fixed_init:
        return "both" if has_teacher else "init"
    return "teacher" if has_teacher else None


def _costs(arm: _Opened, control: _Opened) -> dict[str, float | None]:
    """What an arm takes, in units of the control; serving counts in them already."""
    mine, theirs = arm.scalars, control.scalars

    def times(name: str) -> float | None:
        return short(mine[name] / theirs[name]) if mine.get(name) and theirs.get(name) else None

    return {
        "training": times("forward_passes"),
        "heads": times("head_multiplications"),
        "serving": short(mine.get("serving_multiplier")),
        # A teacher that runs share was trained once in a process, for all of them.
        "seconds": None if arm.arm.teacher == "shared" else times("seconds"),
    }


def _high(arm: _Opened, control: _Opened) -> dict[str, Any] | None:
    """What an arm does where the control's entropy is high: as published, and cross-fitted."""
    found = arm.figures.high_entropy
    if found is None or found.as_published is None:
        return None
    base, mine, is_paired = _with_the_same_seeds(control, arm)
    return {
        "n_examples": int(high_in(control.answers.predictions).sum()),
        "n_chosen": short(found.n_chosen),
        "naive": short(1 - found.as_published),
        "cross_fitted": _plain(cross_fitted(base, mine, is_paired=is_paired)),
        "by_arm": _plain(cross_fitted(base, mine, is_paired=is_paired, by_arm=True)),
    }


def _with_the_same_seeds(control: _Opened, arm: _Opened) -> tuple[IntArray, IntArray, bool]:
    """Predictions of the runs whose seeds both have; of all runs if they have none in common.

    Runs with the same seeds may be alike: who chooses examples must not be measured under them.
    """
    base, mine = control.answers.predictions, arm.answers.predictions
    partners = np.array(arm.side.partners_in(control.side) or [-1] * len(mine))
    has_partner = partners >= 0
    if not has_partner.any():
        return base, mine, False
    return base[partners[has_partner]], mine[has_partner], True


def _single_run_effects(arm: _Opened, control: _Opened | None) -> dict[str, Any]:
    """What an arm does to the entropy within a run: of all examples, and where entropy is high."""
    if control is None:
        return dict.fromkeys(("all", "high", "high_naive"))
    base, others = control.answers, control.answers.not_traced
    # Whoever is measured must not choose: neither these runs nor these seeds.
    high = wavering_ratio(base, arm.answers, high_in(others)) if len(others) > 1 else None
    return {
        "all": _plain(wavering_ratio(base, arm.answers)),
        "high": _plain(high),
        "high_naive": _plain(wavering_ratio(base, arm.answers, high_in(base.predictions))),
    }


def _plain(effect: Effect | None) -> dict[str, Any] | None:
    return None if effect is None else plain_effect(effect)


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Results of several settings, by their names.

    Args:
        folder: Where `write_results` put them; without it, those that come with the package.

    Returns:
        What `collect` gave, one for each file.
    """
    return kept_results(RECIPE, folder, version=FORMAT)
