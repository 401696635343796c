"""Effects that tests of normal runs show, by the distributions of scipy."""

import math
from collections.abc import Callable
from typing import Any

from scipy import stats
from scipy.optimize import brentq

from truth.inputs import Case
from truth.oracle_means import spread
from truth.oracle_measure import answers_of, means_of
from truth.oracle_quantities import scores_by_run

Figures = dict[str, dict[str, Any]]
POWER = 0.8
METRICS = {
    "labels": "accuracy",
    "probs": "accuracy",
    "numbers": "mean",
    "scores": "mean",
    "passes": "mean",
    "rankings": "ndcg@5",
}


def planned(case: Case) -> Figures:
    """Return the smallest observed and true effects that as many runs as the pilot's show."""
    n = case.shapes["old"].runs
    if case.kind not in METRICS or n == 1:
        return {}
    figures: Figures = {}
    if n >= 5:
        critical = stats.f.ppf(0.975, n - 1, n - 1)

        def ratio_shown(log_ratio: float) -> float:
            scaled = [critical * math.exp(side * 2 * log_ratio) for side in (-1, 1)]
            return float(sum(stats.f.sf(x, n - 1, n - 1) for x in scaled))

        figures[f"reaches sd {n}"] = {
            "observed": math.sqrt(critical),
            "detectable": math.exp(_smallest(ratio_shown)),
        }
    if case.roles:
        return figures
    metric = METRICS[case.kind]
    mean = means_of(case, "old")[metric]
    largest = math.inf if case.kind in {"numbers", "scores", "passes"} else 1.0
    sd, ends = spread(scores_by_run(case, answers_of(case, "old"))[metric], largest=largest)
    of_examples = max(mean.drawn - mean.noise, 0.0)
    figures["pilot.sd"] = {"value": sd} | (
        {} if ends is None else {"low": ends[0], "high": ends[1]}
    )
    figures["pilot.drawn.mean"] = {"variance": of_examples, "n_examples": mean.n_examples}
    if n < 5:
        return figures
    runs, drawn = 2 * sd**2 / n, 2 * of_examples
    # Welch's degrees of freedom vary: the inverse of their expected inverse, for equal arms.
    welch = 2 * (n - 1) * n / (n + 1)
    squares = stats.t.ppf(0.975, welch) ** 2 * runs, stats.norm.ppf(0.975) ** 2 * drawn
    needed, error = math.sqrt(sum(squares)), math.sqrt(runs + drawn)
    # Satterthwaite: what is drawn is known well, so that only runs have degrees of freedom.
    df = sum(squares) ** 2 / (squares[0] ** 2 / (2 * (n - 1)))

    def is_shown(effect: float) -> float:
        sides = [stats.nct.sf(needed / error, df, side * effect / error) for side in (1, -1)]
        return float(sum(sides))

    figures[f"reaches mean {n}"] = {
        "given": sd,
        "observed": needed,
        "detectable": _smallest(is_shown, 4 * needed),
    }
    return figures


def _smallest(chance: Callable[[float], float], most: float = 10.0) -> float:
    """Return the effect that is shown with the usual power."""
    return float(brentq(lambda effect: chance(effect) - POWER, 0.0, most, xtol=1e-15, rtol=1e-13))
