"""Results of made-up runs, with numbers that are easy to follow."""

from copy import deepcopy

import pytest

from seedproof.comparison.effect import judged

METRICS = {
    "accuracy": [0.83, 0.81, 0.85],
    "accuracy_sd": [0.012, 0.008, 0.022],
    "accuracy_sd_independent": [0.005],
    "flip_rate": [0.09, 0.06, 0.14],
    "probability_sd": [0.08, 0.05, 0.12],
}
MATCHED = {**METRICS, "accuracy_sd": [0.006, 0.004, 0.011], "flip_rate": [0.06, 0.05, 0.07]}
EXPLANATIONS = {
    "explanation_kl": [0.15, 0.12, 0.18],
    "explanation_jaccard_10": [0.42, 0.38, 0.46],
    "explanation_jaccard_20": [0.35, 0.30, 0.40],
    "explanation_overlap": [0.75, 0.70, 0.80],
}
NOISE = {"explanation_kl": [0.05, 0.04, 0.06], "explanation_jaccard_20": [0.12, 0.1, 0.14]}


def make_effect(metric, value, low, high):
    """An effect as it is stored, with the verdict that `compare` gives to its interval."""
    return {
        "scale": "difference" if metric == "accuracy" else "ratio",
        "value": value,
        "low": low,
        "high": high,
        "over": "runs × examples",
        "detectable": 1.5,
        "verdict": judged(metric, low, high),
    }


def cuts(*metrics):
    """A cut by half, known from 20 to 70 %, of each metric."""
    return {metric: make_effect(metric, 0.5, 0.3, 0.8) for metric in metrics}


def explanations(level, effects=None, noise=None, classes=("positive",)):
    """Results of one method, every curve at one level."""
    rows = [[level] * 10 for _ in classes]
    return {
        "n_examples": 200,
        "metrics": deepcopy(EXPLANATIONS),
        "effects": effects or {},
        "noise": noise,
        "curves": {
            "classes": list(classes),
            "counts": [[100] * 10 for _ in classes],
            "means": {"explanation_kl": rows, "explanation_jaccard_20": rows},
            "errors": {"explanation_kl": rows, "explanation_jaccard_20": rows},
        },
    }


def trained_arm(level, explained, *, is_baseline=False):
    """Results of one arm, every curve at one level."""
    effects = {
        "accuracy": make_effect("accuracy", -0.002, -0.004, 0.001),
        "probability_sd": make_effect("probability_sd", 0.9, 0.7, 1.2),
        **cuts("accuracy_sd", "flip_rate"),
    }
    return {
        "n_runs": 10,
        "is_paired": not is_baseline,
        "scalars": {"train_loss": [level] * 10, "epoch_chosen": [3.0] * 9 + [5.0]},
        "metrics": deepcopy(METRICS),
        "effects": {} if is_baseline else effects,
        "spread_cause": "drift" if is_baseline else None,
        "drift": {"class": "positive", "shares": [0.4] * 9 + [0.62]},
        "sd_curve": {"count": [100] * 9 + [5], "mean": [level] * 10, "error": [0.01] * 10},
        "explanations": explained,
        "of_all": None,
        "matched": {
            "metrics": deepcopy(MATCHED),
            "effects": {} if is_baseline else cuts("flip_rate"),
            "of_all": None,
        },
    }


def make_results(name="sst-cnn-additive", **setting):
    """Results of a setting with the paper's three arms."""
    chosen = {
        "dataset": "sst",
        "encoder": "cnn",
        "attention": "additive",
        "epochs": 20,
        "vectors": "glove-100d",
        "n_train": None,
        "n_test": None,
        "min_count": 2,
        **setting,
    }
    is_snli = chosen["dataset"] == "snli"
    classes = ("neutral", "contradiction", "entailment") if is_snli else ("negative", "positive")
    followed, changed = classes if is_snli else classes[1:], cuts("explanation_kl")
    arms = {
        "none": trained_arm(
            0.2, {"attention": explanations(0.2, classes=followed)}, is_baseline=True
        ),
        "aswa": trained_arm(0.1, {"attention": explanations(0.1, changed, None, followed)}),
        "naswa": trained_arm(0.3, {"attention": explanations(0.3, changed, None, followed)}),
    }
    for arm in arms.values() if is_snli else ():
        arm["matched"] = None
    rival = make_effect("explanation_kl", 0.9, 0.7, 1.2)
    return {
        "name": name,
        "setting": chosen,
        "explaining": None,
        "n_examples": 1725,
        "sizes": {"train": chosen["n_train"] or 6355, "dev": 821, "test": 1725},
        "classes": list(classes),
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "arms": arms,
        "rivals": {"effects": {}, "explanations": {"attention": {"explanation_kl": rival}}},
    }


@pytest.fixture
def stored_effect():
    """Makes an effect as it is stored."""
    return make_effect


@pytest.fixture
def make():
    """Makes results of a setting."""
    return make_results


@pytest.fixture
def own():
    """Results of SST with a CNN, which a test may change."""
    return make_results()


@pytest.fixture
def explained():
    """Results of the study that explains the same models by gradients and LIME."""
    changed = cuts("explanation_kl", "explanation_jaccard_20")
    arms = {
        "none": trained_arm(
            0.2,
            {"gradient": explanations(0.2), "lime": explanations(0.2, None, NOISE)},
            is_baseline=True,
        ),
        "naswa": trained_arm(
            0.1,
            {"gradient": explanations(0.1, changed), "lime": explanations(0.1, changed, NOISE)},
        ),
    }
    explaining = {"n_lime": 200, "n_samples": 1000, "n_draws": 2}
    study = make_results("sst-cnn-additive-explained")
    return {**study, "explaining": explaining, "rivals": None, "arms": arms}
