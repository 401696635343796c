"""Coverage of intervals that are pooled from two halves of a study, printed as Markdown.

    python benchmarks/pooled_halves.py --studies 400

Takes about 10 minutes on one core. The guide on reproducing a paper quotes its output.

Two arms share part of their noise per seed. The true changes are known in closed form.
"""

import argparse
import math
from collections import Counter
from statistics import median

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

import seedproof as sp
from seedproof.api.compare import arm_data
from seedproof.predictions.arms import load_arms
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.conll2019.names import UNPAIRED
from seedproof_reproductions.conll2019.pooling import pool
from seedproof_reproductions.deciding import share_from_texts
from seedproof_reproductions.results import plain_effect
from seedproof_reproductions.runs import compare_with_first

N_RUNS, N_TEXTS = 50, 400  # runs per half
# Mean and standard deviation of the margins of the texts.
MARGIN, SPREAD = 1.0, 1.2
# Standard deviations of the noise of one prediction, and of the drift of a whole run, by arm.
NOISE = {"none": (0.45, 0.25), "aswa": (0.35, 0.1)}
# Correlation of both arms under one seed is the square of the first.
SHARED, OWN = 0.6, 0.8
METRICS = ("flip_rate", "accuracy")


def true_changes() -> dict[str, float]:
    """Return the ratio of the flip rates and the difference of the accuracies."""
    margins = np.linspace(MARGIN - 6 * SPREAD, MARGIN + 6 * SPREAD, 200_001)
    weights = norm.pdf(margins, MARGIN, SPREAD)
    weights /= weights.sum()
    right = {arm: norm.cdf(margins / math.hypot(*sds)) for arm, sds in NOISE.items()}
    flips, accuracy = (
        {arm: float((of(p) * weights).sum()) for arm, p in right.items()}
        for of in (lambda p: 2 * p * (1 - p), lambda p: p)
    )
    return {
        "flip_rate": flips["aswa"] / flips["none"],
        "accuracy": accuracy["aswa"] - accuracy["none"],
    }


def draw(
    rng: np.random.Generator, margins: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.int64]]:
    """Draw the predictions of both arms for the runs of one half."""
    of_texts, of_runs = (rng.standard_normal((N_RUNS, n)) for n in (N_TEXTS, 1))
    arms = {}
    for arm, (noise, drift) in NOISE.items():
        text, run = (SHARED * x + OWN * rng.standard_normal(x.shape) for x in (of_texts, of_runs))
        # A run that drifts prefers one class, whatever is right.
        is_right = margins + noise * text + drift * run * np.sign(labels - 0.5) > 0
        arms[arm] = np.where(is_right, labels, 1 - labels)
    return arms


def results_of(arms: dict[str, npt.NDArray[np.int64]], labels: npt.NDArray[np.int64]) -> dict:
    """Compare both arms, and return the results as a recipe stores them."""
    loaded = {arm: sp.Predictions.from_arrays(runs, labels=labels) for arm, runs in arms.items()}
    compared = compare_with_first(arm_data(load_arms(loaded, {})), unpaired=UNPAIRED)["aswa"]
    effects = {x: plain_effect(compared.contrasts[x].effect(PLAIN, margin=0.0)) for x in METRICS}
    shares = {name: share_from_texts(compared.contrasts[name]) for name in METRICS}
    contrast = {
        "arm": "aswa",
        "reference": "none",
        "n_runs": len(arms["none"]),
        "effects": effects,
        "matched": {},
        "explanations": {},
        "from_texts": {"effects": shares},
    }
    none = {
        "runs": [str(run) for run in range(len(arms["none"]))],
        "n_runs": len(arms["none"]),
        "is_paired": False,
        "scalars": {},
        "metrics": {},
        "explanations": {},
        "matched": None,
    }
    answers = {"change": [contrast]}
    return {"name": "half", "versions": {}, "arms": {"none": none}, "answers": answers}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, truth = np.random.default_rng(options.seed), true_changes()
    covered, widths = Counter(), {name: [] for name in METRICS}
    for _ in range(options.studies):
        margins = rng.normal(MARGIN, SPREAD, N_TEXTS)
        labels = rng.integers(0, 2, N_TEXTS)
        halves = [draw(rng, margins, labels) for _ in range(2)]
        both = {arm: np.concatenate([half[arm] for half in halves]) for arm in NOISE}
        studies = {
            "pooled": pool(*(results_of(half, labels) for half in halves)),
            "all at once": results_of(both, labels),
        }
        effects = {
            name: study["answers"]["change"][0]["effects"] for name, study in studies.items()
        }
        for metric in METRICS:
            intervals = {name: (x[metric]["low"], x[metric]["high"]) for name, x in effects.items()}
            for name, (low, high) in intervals.items():
                covered[metric, name] += low <= truth[metric] <= high
            pooled, once = (np.subtract(*pair[::-1]) for pair in intervals.values())
            widths[metric].append(pooled / once)
    print("| change of | pooled | all at once | width, pooled / all at once |")
    print("| --- | --- | --- | --- |")
    for metric in METRICS:
        shares = (f"{covered[metric, x] / options.studies:.1%}" for x in ("pooled", "all at once"))
        print(f"| `{metric}` | {' | '.join(shares)} | {median(widths[metric]):.3f} |")


if __name__ == "__main__":
    main()
