"""Results of made-up runs, with numbers that are easy to follow."""

from copy import deepcopy

import pytest
from seedproof_reproductions.conll2019.page.reading import SettingResults

from seedproof.comparison.effect import judged

BINS = {"count": [100] * 10, "mean": [0.1] * 10, "error": [0.01] * 10}
METRICS = {
    "accuracy": [0.83, 0.81, 0.85],
    "accuracy_sd": [0.012, 0.008, 0.022],
    "accuracy_sd_independent": [0.005],
    "flip_rate": [0.09, 0.06, 0.14],
    "probability_sd": [0.08, 0.05, 0.12],
}
REASONS = {
    "explanation_kl": [0.15, 0.12, 0.18],
    "explanation_jaccard_20": [0.35, 0.30, 0.40],
    "explanation_overlap": [0.75, 0.70, 0.80],
}


def effect(value, low, high, verdict, scale="ratio"):
    """One effect, as it is stored."""
    return {
        "scale": scale,
        "value": value,
        "low": low,
        "high": high,
        "over": "runs × examples",
        "detectable": 1.5,
        "verdict": verdict,
    }


def judged_effect(metric, value, low, high):
    """The same with the verdict that `compare` would give to the interval."""
    scale = "difference" if metric == "accuracy" else "ratio"
    return effect(value, low, high, judged(metric, low, high), scale)


STEADIER = effect(0.5, 0.3, 0.8, "steadier")
OPEN = effect(0.9, 0.7, 1.2, "no difference shown")
WORSE = effect(1.5, 1.2, 1.9, "less steady")
ACCURACY = effect(-0.002, -0.004, 0.001, "no difference shown", "difference")


def curves(level, classes=("positive",)):
    """Curves of all figures at one level."""
    rows = [[level] * 10 for _ in classes]
    return {
        "classes": list(classes),
        "counts": [[100] * 10 for _ in classes],
        "means": {"explanation_kl": rows, "explanation_jaccard_20": rows},
        "errors": {"explanation_kl": rows, "explanation_jaccard_20": rows},
    }


def reasons(level, effects=None, noise=None, classes=("positive",)):
    """What one method gives."""
    return {
        "n_examples": 200,
        "metrics": deepcopy(REASONS),
        "effects": effects or {},
        "noise": noise,
        "n_repeated": 0 if noise is None else 200,
        "curves": curves(level, classes),
    }


def matched(effects=None):
    """What is left where all runs give one answer equally often."""
    return {
        "share": 0.5,
        "metrics": {
            "accuracy": [0.84, 0.82, 0.86],
            "accuracy_sd": [0.006, 0.004, 0.011],
            "accuracy_sd_independent": [0.004],
            "flip_rate": [0.06, 0.05, 0.07],
        },
        "effects": effects or {},
        "of_all": None,
    }


def arm(level, effects=None, explained=None):
    """What one arm gives: every curve at one level."""
    left = {"accuracy_sd": OPEN, "flip_rate": STEADIER} if effects else None
    return {
        "runs": [str(seed) for seed in range(10)],
        "n_runs": 10,
        "is_paired": effects is not None,
        "scalars": {
            "train_loss": [level] * 10,
            "epoch_chosen": [3.0] * 10,
            "seconds": [36.0] * 10,
        },
        "metrics": deepcopy(METRICS),
        "effects": effects or {},
        "spread_cause": None,
        "drift": {"class": "positive", "shares": [0.4] * 9 + [0.62]},
        "sd_curve": {**BINS, "mean": [level] * 10},
        "explanations": explained or {},
        "of_all": None,
        "matched": matched(left),
    }


EFFECTS = {
    "accuracy": ACCURACY,
    "accuracy_sd": STEADIER,
    "flip_rate": STEADIER,
    "probability_sd": OPEN,
}


def made(name="sst-cnn-additive", **setting):
    """Results of a setting with the paper's three arms."""
    changed = {"explanation_kl": STEADIER, "explanation_jaccard_20": OPEN}
    three = ("neutral", "contradiction", "entailment")
    classes = three if setting.get("dataset") == "snli" else ("negative", "positive")
    followed = classes if len(classes) > 2 else classes[1:]
    found = {
        "format": 2,
        "paper": "conll2019",
        "name": name,
        "setting": {
            "dataset": "sst",
            "encoder": "cnn",
            "attention": "additive",
            "epochs": 20,
            "batch_size": 32,
            "learning_rate": 0.001,
            "weight_decay": 1e-05,
            "vectors": "glove-100d",
            "n_dimensions": 100,
            "n_train": None,
            "n_dev": None,
            "n_test": None,
            "min_count": 2,
            **setting,
        },
        "explaining": None,
        "n_examples": 1725,
        "sizes": {"train": setting.get("n_train", 6355), "dev": 821, "test": 1725},
        "classes": list(classes),
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "arms": {
            "none": arm(0.2, explained={"attention": reasons(0.2, classes=followed)}),
            "aswa": arm(0.1, EFFECTS, {"attention": reasons(0.1, changed, classes=followed)}),
            "naswa": arm(0.3, EFFECTS, {"attention": reasons(0.3, changed, classes=followed)}),
        },
        "rivals": {
            "effects": {"flip_rate": OPEN},
            "explanations": {"attention": {"explanation_kl": OPEN}},
        },
    }
    if len(classes) > 2:
        for one in found["arms"].values():
            one["matched"] = None
    return found


def made_explained(name="sst-cnn-additive-explained"):
    """Results of the study that explains the models of `made`."""
    found = made(name)
    floor = {"explanation_kl": [0.05, 0.04, 0.06], "explanation_jaccard_20": [0.12, 0.1, 0.14]}
    changed = {"explanation_kl": STEADIER, "explanation_jaccard_20": STEADIER}
    found["explaining"] = {"n_lime": 200, "n_samples": 1000, "n_draws": 2}
    found["rivals"] = None
    found["arms"] = {
        "none": arm(0.2, {}, {"gradient": reasons(0.2), "lime": reasons(0.2, None, floor)}),
        "naswa": arm(
            0.1, EFFECTS, {"gradient": reasons(0.1, changed), "lime": reasons(0.1, changed, floor)}
        ),
    }
    return found


@pytest.fixture
def judge():
    """Makes an effect, with the verdict that its interval gets."""
    return judged_effect


@pytest.fixture
def make():
    """Makes the results of another setting."""
    return made


@pytest.fixture
def own():
    """Results of SST with a CNN, which a test may change."""
    return made()


@pytest.fixture
def explained():
    """Results of its explained models."""
    return made_explained()


@pytest.fixture
def sst(own, explained):
    """Both together."""
    return SettingResults(own, explained)
