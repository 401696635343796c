"""Results of made-up runs, with numbers that are easy to follow."""

from copy import deepcopy

import pytest
from seedproof_reproductions.findings2023.page.reading import SettingResults, by_setting

from seedproof.comparison.effect import judged, scale_of

METRICS = {
    "accuracy": [0.9, 0.88, 0.92],
    "accuracy_sd": [0.004, 0.003, 0.006],
    "flip_rate": [0.04, 0.03, 0.05],
    "label_entropy": [0.06, 0.05, 0.07],
    "ece": [0.02, 0.018, 0.022],
}
CELLS = {"x": [0.0, 0.5, 1.0], "y": [0.0, 0.1, 0.2], "counts": [[90, 5], [1, 4]]}
CONTROL = {
    "stand_in": {
        "pearson": [0.5, 0.45, 0.55],
        "precision": [0.6, 0.5, 0.7],
        "reference": [0.97, 0.96, 0.98],
        "n_traced": 10,
        "n_steps": 100,
    },
    "sigma": {"pearson": [0.8, 0.75, 0.85]},
    "pictures": {
        "entropy_sigma": CELLS,
        "one_run_many": {**CELLS, "means": [0.02, None], "n_runs": 10},
        "map": CELLS,
    },
}


def made_effect(metric, value, low, high):
    """An effect as it is stored, with the verdict that `compare` gives to its interval."""
    return {
        "scale": scale_of(metric),
        "value": value,
        "low": low,
        "high": high,
        "over": "runs × examples",
        "detectable": None,
        "verdict": judged(metric, low, high),
    }


def around(metric, value, half):
    """An effect with an interval of so much on each side."""
    return made_effect(metric, value, value - half, value + half)


def made_arm(
    flips=1.0,
    accuracy=0.0,
    *,
    half=0.05,
    loose=0.08,
    group="levers",
    shares=None,
    training=1.0,
    serving=1.0,
    ece=0.0,
    n_runs=50,
):
    """An arm whose flips and entropies are this ratio of the control's, and all that goes with it.

    `half` is half of its intervals asked alone, `loose` of those that hold together with all arms.
    """
    metrics = deepcopy(METRICS)
    for name in ("flip_rate", "label_entropy"):
        metrics[name] = [flips * x for x in metrics[name]]
    metrics["ece"] = [x + ece for x in metrics["ece"]]
    ratio = around("label_entropy", flips, half)
    return {
        "group": group,
        "shares": shares,
        "n_runs": n_runs,
        "n_traced": 3,
        "n_steps": 100,
        "scalars": {"head_multiplications": 2.0, "encoder_multiplications": 98.0},
        "costs": {"training": training, "serving": serving, "heads": None, "seconds": None},
        "metrics": metrics,
        "single_run": [0.1, 0.09, 0.11],
        "effects": {
            "accuracy": around("accuracy", accuracy, 0.002),
            "flip_rate": around("flip_rate", flips, half),
            "label_entropy": ratio,
            "ece": around("ece", ece, 0.001),
        },
        "of_all": {
            "accuracy": around("accuracy", accuracy, 0.003),
            "flip_rate": around("flip_rate", flips, loose),
            "label_entropy": around("label_entropy", flips, loose),
        },
        "high": {
            "n_examples": 12,
            "n_chosen": 10.0,
            "naive": flips - 0.04,
            "cross_fitted": ratio,
            "by_arm": around("label_entropy", flips + 0.2, half),
        },
        "single_run_effects": {"all": ratio, "high": ratio, "high_naive": ratio},
    }


def made_control(n_runs=50):
    """The control: compared with nothing."""
    found = made_arm(group="paper", n_runs=n_runs)
    empty = {"effects": {}, "of_all": {}, "high": None}
    none = {"all": None, "high": None, "high_naive": None}
    return found | empty | {"n_traced": 10, "single_run_effects": none}


def made_arms():
    """A bit of everything: the paper's methods, levers that do and do not reach the goal, draws."""
    teacher = {"shares": "teacher", "group": "paper"}
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
        "fixed-init-draw-2": made_arm(0.7, shares="init", group="redrawn"),
        "fixed-init-draw-3": made_arm(0.62, shares="init", group="redrawn"),
    }


def made(dataset="clinc150", track="head", arms=None, **setting):
    """Results of a setting."""
    sizes = {
        "clinc150": {"train": 15_000, "test": 4500},
        "massive": {"train": 11_514, "test": 2974},
    }
    return {
        "format": 1,
        "paper": "findings2023",
        "name": f"{dataset}-{track}",
        "setting": {
            "dataset": dataset,
            "track": track,
            "epochs": 5,
            "batch_size": 256,
            "dropout": 0.3,
            "n_train": None,
            "n_test": None,
            "n_traced": 3,
            "n_traced_control": 10,
            "learning_rate": 0.001 if track == "head" else 0.0001,
            **setting,
        },
        "sizes": sizes[dataset],
        "n_classes": 150,
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "arms": made_arms() if arms is None else arms,
        "control": deepcopy(CONTROL),
    }


def made_finetuned():
    """Five runs of few arms, as a training of hours allows."""
    arms = {
        "none": made_control(n_runs=5),
        "swa": made_arm(0.9, half=0.3, loose=0.4, group="paper", n_runs=5),
        "ema": made_arm(0.5, half=0.2, loose=0.3, group="averages", n_runs=5),
        "tgtss-every-10": made_arm(
            1.0, half=0.3, loose=0.4, group="cheaper", training=2.4, n_runs=5
        ),
    }
    return made("massive", "finetune", arms)


@pytest.fixture
def make():
    """Makes the results of a setting."""
    return made


@pytest.fixture
def make_arm():
    """Makes what is stored of an arm."""
    return made_arm


@pytest.fixture
def both():
    """Heads on both data sets, which a test may change."""
    return [made("clinc150"), made("massive")]


@pytest.fixture
def finetuned():
    """MASSIVE, fine-tuned."""
    return made_finetuned()


@pytest.fixture
def settings(both):
    """Heads on both data sets, as a page reads them."""
    return by_setting(both)


@pytest.fixture
def only_control():
    """A setting in which nothing but the control was trained."""
    return SettingResults(made(arms={"none": made_control()}))
