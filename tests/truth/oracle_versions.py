"""Changes between two versions by loops over runs, and those beyond the noise of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from truth.inputs import ANSWERS, ITEMS, LABELS, Case
from truth.oracle_contrasts import half_an_example
from truth.oracle_means import Array, at_least, jackknife
from truth.oracle_measure import answers_of
from truth.oracle_quantities import DEPTH, discounted_gain, jaccard, unlike

Distance = Callable[[Any, Any], float]
Figures = dict[str, dict[str, Any]]

# Of each kind: the name of its distance, and of the quality whose change is judged with it.
NAMES = {
    "labels": ("flip_rate", "accuracy"),
    "probs": ("flip_rate", "accuracy"),
    "numbers": ("difference", "error"),
    "scores": ("difference", "mean"),
    "passes": ("difference", "mean"),
    "rankings": ("distance", "quality"),
    "sets": ("distance", "quality"),
    "texts": ("flip_rate", "accuracy"),
}


def versions(case: Case) -> Figures:
    """Compare two versions: distances between and within them, and the change of the quality."""
    if case.kind == "texts" and len(case.levels) > 1:
        return {}
    name, quality = NAMES[case.kind]
    old, new = (answers_of(case, arm) for arm in ("old", "new"))
    if case.kind == "probs":
        old, new = old.argmax(axis=2), new.argmax(axis=2)
    apart = _Pairs(_distance(case), old, new)
    everyone = tuple(range(len(old))), tuple(range(len(new)))
    between = apart.across(*everyone)
    within = [apart.within(*x) for x in ((0, everyone[0]), (1, everyone[1])) if len(x[1]) > 1]
    noise = np.mean(within, axis=0)
    figures: Figures = {
        name: {"value": _mean(case, between)},
        f"{name}_no_change": {"value": _mean(case, noise)},
    }
    if len(within) == 2:
        figures[f"{name}_old"] = {"value": _mean(case, within[0])}
        figures[f"{name}_new"] = {"value": _mean(case, within[1])}
    has_two = min(len(old), len(new)) > 1
    # Of lists and sets it is open whether trials count as runs.
    is_clear = case.shapes["old"].runs > 1 or case.kind not in {"rankings", "sets"}
    if has_two:
        beyond = _interval(case, apart.beyond, everyone, is_distance=True)
        if is_clear:
            figures[f"{name}_beyond"] = figures["beyond"] = beyond
        if math.comb(len(old) + len(new), len(old)) <= 13_000 and "weight" not in case.roles:
            figures["permutation"] = {"p_value": _permutation(apart, len(old), len(new))}
    right = [_quality(case, x) for x in (old, new)]
    for version, of_runs in zip(("old", "new"), right, strict=True):
        figures[f"{quality}_{version}"] = {"value": _mean(case, of_runs.mean(axis=0))}
    # Pass rates of several trials or judges: whether few examples say too little is open.
    is_open = case.kind == "passes" and len(case.levels) > 1
    if has_two and is_clear and not is_open:
        figures[f"{quality}_change"] = _interval(
            case,
            lambda a, b: right[1][list(b)].mean(axis=0) - right[0][list(a)].mean(axis=0),
            everyone,
            is_distance=False,
        )
    return figures


@dataclass
class _Pairs:
    """Distances of every two runs on each example: (runs, runs, examples), old ones first."""

    distance: Distance
    old: Array
    new: Array

    def __post_init__(self) -> None:
        runs = [*self.old, *self.new]
        n = self.old.shape[1]
        self.matrix = np.zeros((len(runs), len(runs), n))
        for a, b in combinations(range(len(runs)), 2):
            row = [self.distance(x, y) for x, y in zip(runs[a], runs[b], strict=True)]
            self.matrix[a, b] = self.matrix[b, a] = row

    def within(self, version: int, runs: tuple[int, ...]) -> Array:
        """Return the mean distance of two runs of one version."""
        shift = version * len(self.old)
        pairs = list(combinations([shift + run for run in runs], 2))
        return np.mean([self.matrix[a, b] for a, b in pairs], axis=0)

    def across(self, old: tuple[int, ...], new: tuple[int, ...]) -> Array:
        """Return the mean distance of an old and a new run."""
        shift = len(self.old)
        return np.mean([self.matrix[a, shift + b] for a in old for b in new], axis=0)

    def beyond(self, old: tuple[int, ...], new: tuple[int, ...]) -> Array:
        """Return the distance between the versions less that within them."""
        inside = (self.within(0, old) + self.within(1, new)) / 2
        return self.across(old, new) - inside


def _permutation(apart: _Pairs, n_old: int, n_new: int) -> float:
    """Return the share of all assignments of the runs that are as far apart."""
    total = apart.matrix.sum(axis=2)
    runs = range(n_old + n_new)

    def statistic(old: tuple[int, ...]) -> float:
        new = tuple(run for run in runs if run not in old)
        # Every pair of runs is in the matrix twice, and no run differs from itself.
        inside = [total[np.ix_(x, x)].sum() / (len(x) * (len(x) - 1)) for x in (old, new)]
        return float(total[np.ix_(old, new)].mean() - sum(inside) / 2)

    seen = statistic(tuple(range(n_old)))
    others = [statistic(chosen) for chosen in combinations(runs, n_old)]
    return sum(x >= seen - 1e-9 * max(total.max(), 1.0) for x in others) / len(others)


def _distance(case: Case) -> Distance:
    if case.kind in {"numbers", "scores", "passes"}:
        return lambda a, b: float(abs(a - b))
    if case.kind == "rankings":
        return lambda a, b: jaccard({*a[:DEPTH]}, {*b[:DEPTH]})
    if case.kind == "sets":
        return lambda a, b: jaccard({*np.flatnonzero(a)}, {*np.flatnonzero(b)})
    return unlike


def _quality(case: Case, runs: Array) -> Array:
    """Return how good each answer is, or how far from its target: (runs, examples)."""
    gold = case.gold
    if case.kind == "numbers":
        return np.abs(runs - np.asarray(gold)[: runs.shape[1]])
    if case.kind in {"scores", "passes"}:
        return runs
    if case.kind == "rankings":
        return np.array(
            [
                [
                    discounted_gain([float(ITEMS[x] in gold[i]) for x in items], len(gold[i]))
                    for i, items in enumerate(run)
                ]
                for run in runs
            ]
        )
    if case.kind == "sets":
        return np.array([[_f1(answer, gold[i]) for i, answer in enumerate(run)] for run in runs])
    names = [ANSWERS[x] for x in gold] if case.kind == "texts" else gold
    return np.array([[float(x == y) for x, y in zip(run, names, strict=False)] for run in runs])


def _f1(answer: Array, gold: list[str]) -> float:
    given = {label for label, is_given in zip(LABELS, answer, strict=True) if is_given}
    return 2 * len(given & {*gold}) / (len(given) + len(gold)) if given or gold else 1.0


def _weights(case: Case, n: int) -> Array:
    return case.weights[:n] if "weight" in case.roles else np.ones(n)


def _mean(case: Case, values: Array) -> float:
    w = _weights(case, len(values))
    return math.fsum(w * values) / math.fsum(w)


def _interval(case: Case, of, everyone, *, is_distance: bool) -> dict[str, Any]:
    """Return a difference between versions, with each run of either left out in turn."""
    old, new = everyone
    values = of(old, new)
    w, n = _weights(case, len(values)), len(values)
    size, value = math.fsum(w), _mean(case, values)
    value = 0.0 if abs(value) < 1e-12 else value
    groups = [np.array([i]) for i in range(n)]
    if "cluster" in case.roles:
        groups = [np.flatnonzero(case.clusters[:n] == x) for x in np.unique(case.clusters[:n])]
    n_drawn = float(len(groups)) if "cluster" in case.roles else size**2 / math.fsum(w**2)

    def units(of_examples: Array) -> Array:
        mean = math.fsum(w * of_examples) / size
        return np.array([math.fsum(w[g] * (of_examples[g] - mean)) for g in groups])

    drawn = n_drawn / (n_drawn - 1) * math.fsum(units(values) ** 2) / size**2
    are_trials = case.shapes["old"].runs == 1
    fewest = min(len(old), len(new))
    runs = noise = 0.0
    has_runs = fewest > 2 and not are_trials
    left = (
        [
            [of(tuple(x for x in old if x != run), new) for run in old],
            [of(old, tuple(x for x in new if x != run)) for run in new],
        ]
        if fewest > 2
        else []
    )
    for rows in left:
        # With clusters their residuals, as everywhere; of single examples their own values.
        parts = np.array([units(x) if "cluster" in case.roles else w * x for x in rows])
        noise += math.fsum(jackknife(column) for column in parts.T) / size**2
        runs += jackknife(np.array([_mean(case, x) for x in rows]))
    is_small = case.kind not in {"labels", "probs"} or "cluster" in case.roles
    df = max(n_drawn - 1, 1) if is_small else math.inf
    is_share = case.kind not in {"numbers", "scores"}
    if is_share and not is_distance:
        step = 1 / fewest if case.kind not in {"labels", "probs"} else 1.0
        gaps = units(values) / size if "cluster" in case.roles else None
        counted = noise if fewest > 2 else drawn
        drawn += half_an_example((drawn, counted), n_drawn=n_drawn, step=step, clusters=gaps)
        df = min(df, max(n_drawn - 1, 1))
    # Both are judged with 97.5 %, unless nothing says what is right.
    tail = 0.0125
    t = stats.t.ppf(1 - tail, df) if math.isfinite(df) else stats.norm.ppf(1 - tail)
    square = t**2 * drawn
    if has_runs:
        over_runs = stats.t.ppf(1 - tail, fewest - 1) ** 2 * runs
        square = at_least(over_runs, t**2 * drawn, t**2 * noise)
    width = math.sqrt(square)
    if width == 0.0 and is_share:
        width = 1 - tail ** (1 / n_drawn)
    if width == 0.0:
        return {"value": value}
    low, high = value - width, value + width
    if is_share:
        low, high = max(low, -1.0), min(high, 1.0)
    unit = "clusters" if "cluster" in case.roles else "examples"
    return {"value": value, "low": low, "high": high, "over": "runs × " * has_runs + unit}
