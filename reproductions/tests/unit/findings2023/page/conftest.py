"""Results of made-up runs, with numbers that are easy to follow."""

from copy import deepcopy
from dataclasses import asdict

import pytest

from seedproof.stats.effect import judged, scale_of
from seedproof_reproductions.findings2023.reading import SettingResults, by_setting
from seedproof_reproductions.findings2023.settings import WHOLE, Setting

METRICS = {
    "accuracy": [0.9, 0.88, 0.92],
    "accuracy_sd": [0.004, 0.003, 0.006],
    "flip_rate": [0.04, 0.03, 0.05],
    "label_entropy": [0.06, 0.05, 0.07],
    "ece_corrected": [0.02, 0.018, 0.022],
}
CELLS = {"x": [0.0, 0.5, 1.0], "y": [0.0, 0.1, 0.2], "counts": [[90, 5], [1, 4]]}
CONTROL = {
    "stand_in": {
        "pearson": [0.5, 0.45, 0.55],
        "reference": [0.97, 0.96, 0.98],
    },
    "sigma": {"pearson": [0.8, 0.75, 0.85]},
    "pictures": {
        "entropy_sigma": CELLS,
        "one_run_many": {**CELLS, "means": [0.02, None]},
        "map": CELLS,
    },
}


def around(metric, value, half):
    """An effect as it is stored, with an interval of so much on each side and its verdict."""
    low, high = value - half, value + half
    verdict = judged(metric, low, high)
    ends = {"value": value, "low": low, "high": high, "detectable": None}
    return {"scale": scale_of(metric), **ends, "over": "runs × examples", "verdict": verdict}


def made_arm(flips=1.0, accuracy=0.0, *, half=0.05, loose=0.08, ece=0.0, **content):
    """An arm with this ratio of flips and entropies.

    `half` is half of its intervals alone, `loose` of those that are simultaneous with all arms.
    """
    metrics = deepcopy(METRICS)
    for name in ("flip_rate", "label_entropy"):
        metrics[name] = [flips * x for x in metrics[name]]
    metrics["ece_corrected"] = [x + ece for x in metrics["ece_corrected"]]
    ratio = around("label_entropy", flips, half)
    costs = {kind: content.pop(kind, 1.0) for kind in ("training", "serving")}
    return {
        "group": "levers",
        "shares": None,
        "n_runs": 50,
        "n_traced": 3,
        "scalars": {"head_multiplications": 2.0, "encoder_multiplications": 98.0},
        "costs": {**costs, "heads": None},
        "metrics": metrics,
        "single_run": [0.1, 0.09, 0.11],
        "effects": {
            "accuracy": around("accuracy", accuracy, 0.002),
            "flip_rate": around("flip_rate", flips, half),
            "label_entropy": ratio,
            "ece_corrected": around("ece_corrected", ece, 0.001),
        },
        "of_all": {
            "accuracy": around("accuracy", accuracy, 0.003),
            "flip_rate": around("flip_rate", flips, loose),
            "label_entropy": around("label_entropy", flips, loose),
        },
        "high": {
            "naive": flips - 0.04,
            "cross_fitted": ratio,
            "by_arm": around("label_entropy", flips + 0.2, half),
        },
        "single_run_effects": {"all": ratio, "high": ratio, "high_naive": ratio},
        **content,
    }


def made_control(n_runs=50):
    """The control: compared with nothing."""
    empty = {"effects": {}, "of_all": {}, "high": None, "single_run_effects": None}
    return made_arm(group="paper", n_runs=n_runs, n_traced=10) | empty


def made_arms():
    """The paper's methods, levers that do and do not reach the goal, and draws."""
    teacher = {"shares": "teacher", "group": "paper"}
    redrawn = {"shares": "init", "group": "redrawn"}
    return {
        "none": made_control(),
        "ensemble-shared": made_arm(0.8, training=4.0, **teacher),
        "l2": made_arm(1.02, group="paper"),
        "swa": made_arm(0.97, group="paper"),
        "label-smoothing-0.5": made_arm(0.9, group="paper"),
        "label-smoothing-0.1": made_arm(0.94, group="paper"),
        "tgtss-shared": made_arm(0.85, -0.004, training=1.1, ece=0.1, **teacher),
        "tgtss": made_arm(1.02, -0.005, training=1.1, ece=0.1, group="paper"),
        "tgtss-power-1": made_arm(1.0, training=1.1, group="cheaper"),
        "deployed-shared": made_arm(0.8, training=1.02, shares="teacher", group="cheaper"),
        "aswa": made_arm(2.0, -0.03, group="averages"),
        "zero-last": made_arm(0.8),
        "fixed-init": made_arm(0.6, shares="init"),
        "linear": made_arm(0.15, -0.01, training=0.99),
        "wide-decay-zero-smooth": made_arm(0.5, 0.003, loose=0.12, training=1.05, ece=0.09),
        "heads-16": made_arm(0.25, 0.004, training=1.25, serving=1.02),
        "fixed-init-draw-2": made_arm(0.7, **redrawn),
        "fixed-init-draw-3": made_arm(0.62, **redrawn),
    }


def made(dataset="clinc150", track="head", arms=None, **setting):
    """Results of a setting."""
    usual = Setting(dataset, track)
    return {
        "name": f"{dataset}-{track}",
        "setting": {**asdict(usual), "learning_rate": usual.learning_rate, **setting},
        "sizes": {split: WHOLE[dataset][split] for split in ("train", "test")},
        "n_classes": 150,
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "arms": made_arms() if arms is None else arms,
        "control": deepcopy(CONTROL),
    }


@pytest.fixture
def make():
    """Make the results of a setting."""
    return made


@pytest.fixture
def make_arm():
    """Make the stored content of an arm."""
    return made_arm


@pytest.fixture
def both():
    """Heads on both data sets, which a test may change."""
    return [made("clinc150"), made("massive")]


@pytest.fixture
def finetuned():
    """Five runs of few arms, as trainings of hours allow."""
    few = {"half": 0.3, "loose": 0.4, "n_runs": 5}
    arms = {
        "none": made_control(n_runs=5),
        "swa": made_arm(0.9, group="paper", **few),
        "ema": made_arm(0.5, half=0.2, loose=0.3, group="averages", n_runs=5),
        "tgtss-every-10": made_arm(1.0, group="cheaper", training=2.4, **few),
    }
    return made("massive", "finetune", arms)


@pytest.fixture
def settings(both):
    """Heads on both data sets, as the pages read them."""
    return by_setting(both)


@pytest.fixture
def only_control():
    """A setting in which nothing but the control was trained."""
    return SettingResults(made(arms={"none": made_control()}))
