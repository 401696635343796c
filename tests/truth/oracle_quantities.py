"""Values per example of each kind of answers, by loops over runs and pairs of runs."""

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
from sklearn import metrics as sk

from truth.inputs import ANSWERS, CLASSES, ITEMS, LABELS, Case
from truth.oracle_means import Array, Quantity

DEPTH = 5


def over_pairs(distance: Callable[[Array, Array], float]) -> Callable[[Array], Array]:
    """Return the mean distance of two runs, for each example."""
    known: dict[tuple[bytes, bytes], float] = {}

    def apart(a: Array, b: Array) -> float:
        pair = np.asarray(a).tobytes(), np.asarray(b).tobytes()
        if pair not in known:
            known[pair] = distance(a, b)
        return known[pair]

    def of(data: Array) -> Array:
        pairs = list(combinations(range(len(data)), 2))
        return np.array(
            [
                math.fsum(apart(data[a, i], data[b, i]) for a, b in pairs) / len(pairs)
                for i in range(data.shape[1])
            ]
        )

    return of


def over_runs(score: Callable[[Array, int], float]) -> Callable[[Array], Array]:
    """Return the mean score of a run, for each example."""

    def of(data: Array) -> Array:
        return np.array(
            [math.fsum(score(run[i], i) for run in data) / len(data) for i in range(data.shape[1])]
        )

    return of


def unlike(a: object, b: object) -> float:
    """Return whether two answers differ."""
    return float(np.any(np.asarray(a) != np.asarray(b)))


def jaccard(a: set[object], b: set[object]) -> float:
    """Return the Jaccard distance of two sets; 0 if both are empty."""
    return len(a ^ b) / len(a | b) if a | b else 0.0


def entropy(data: Array) -> Array:
    """Return the entropy of the answers to each example."""
    shares = [[n / len(data) for n in Counter(column.tolist()).values()] for column in data.T]
    return np.array([-math.fsum(p * math.log(p) for p in row) for row in shares])


def variance(data: Array) -> Array:
    """Return the sample variance over runs, for each example."""
    return np.array([float(np.var(column, ddof=1)) for column in data.T])


def quantities_of(case: Case) -> dict[str, Quantity]:
    """Return the metrics of a kind that are means over examples."""
    return _QUANTITIES[case.kind](case)


def _of_classes(case: Case) -> dict[str, Quantity]:
    gold, k = case.gold, len(CLASSES)
    log_share = partial(Quantity, largest=1.0, is_count=True, is_rate=True)
    return {
        "flip_rate": log_share(over_pairs(unlike)),
        "label_entropy": Quantity(entropy, largest=_evenest(case, k), is_count=True),
        "accuracy": log_share(over_runs(lambda x, i: float(x == gold[i])), scale="logit"),
    }


def _evenest(case: Case, n_classes: int) -> float:
    n = case.shapes["old"].repeats
    counts = [n // n_classes + (place < n % n_classes) for place in range(n_classes)]
    return -math.fsum(c / n * math.log(c / n) for c in counts if c)


def _smoothed(row: Array) -> Array:
    raised = row + 1e-10
    return raised / raised.sum()


def _kl(data: Array) -> Array:
    def both_ways(p: Array, q: Array) -> float:
        p, q = _smoothed(p), _smoothed(q)
        return float(((p - q) * np.log(p / q)).sum()) / 2

    return over_pairs(both_ways)(data)


def _js(data: Array) -> Array:
    def h(p: Array) -> float:
        return -float((p * np.log(p)).sum())

    values = []
    for i in range(data.shape[1]):
        rows = [_smoothed(row) for row in data[:, i]]
        n = len(rows)
        values.append((h(np.mean(rows, axis=0)) - math.fsum(map(h, rows)) / n) * n / (n - 1))
    # Differences of sums of order one: what is below is rounding.
    return np.array([x if x > 1e-13 else 0.0 for x in values])


def _of_probs(case: Case) -> dict[str, Quantity]:
    gold = case.gold
    return {
        "nll": Quantity(over_runs(lambda p, i: -math.log(max(p[gold[i]], 1e-10)))),
        "brier": Quantity(
            over_runs(lambda p, i: float(((p - np.eye(len(CLASSES))[gold[i]]) ** 2).sum())),
            largest=2.0,
        ),
        "predictive_kl": Quantity(_kl),
        "predictive_js": Quantity(_js, largest=2 * math.log(len(CLASSES))),
    }


def _of_numbers(case: Case) -> dict[str, Quantity]:
    small = partial(Quantity, is_small=True, has_tails=True)
    targets = case.gold
    return {
        "mean": small(lambda x: x.mean(axis=0), scale="linear"),
        "mae": small(over_runs(lambda x, i: abs(x - targets[i]))),
        "bias": small(over_runs(lambda x, i: x - targets[i]), scale="linear"),
    }


def _of_scores(case: Case) -> dict[str, Quantity]:
    del case
    return {
        "mean": Quantity(
            lambda x: x.mean(axis=0), scale="linear", largest=1.0, is_small=True, has_tails=True
        )
    }


def _step(n_runs: int) -> float:
    return 1 / n_runs


def _rate(of: Callable[[Array], Array], scale: str = "log", **options) -> Quantity:
    return Quantity(of, scale, largest=1.0, is_rate=True, is_count=True, is_small=True, **options)


def _of_passes(case: Case) -> dict[str, Quantity]:
    rates = {
        "mean": _rate(lambda x: x.mean(axis=0), "logit", step=_step),
        "flip_rate": _rate(over_pairs(unlike)),
    }
    most = case.shapes["old"].runs * case.shapes["old"].trials
    for k in range(2, most + 1):
        if case.levels in {("run",), ("trial",)}:
            rates[f"pass^{k}"] = _rate(partial(_all_of, k=k), "logit")
            rates[f"pass@{k}"] = _rate(partial(_any_of, k=k), "logit")
    return rates


def _all_of(data: Array, *, k: int) -> Array:
    """Return the share of draws of k runs that all pass; NaN without enough of them."""
    n = len(data)
    return np.array([math.comb(int(c), k) / max(math.comb(n, k), 1) for c in data.sum(axis=0)])


def _any_of(data: Array, *, k: int) -> Array:
    n = len(data)
    return np.array(
        [1 - math.comb(n - int(c), k) / max(math.comb(n, k), 1) for c in data.sum(axis=0)]
    )


def _gains(case: Case, items: Array, example: int) -> list[float]:
    return [float(ITEMS[item] in case.gold[example]) for item in items]


def _ndcg(case: Case, items: Array, example: int) -> float:
    return discounted_gain(_gains(case, items, example), len(case.gold[example]))


def discounted_gain(gains: list[float], n_right: int) -> float:
    """Return the discounted gain of a list as a share of the largest possible one."""
    return _discounted(gains[:DEPTH]) / _discounted([1.0] * min(n_right, DEPTH))


def _discounted(gains: list[float]) -> float:
    return math.fsum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


def _reciprocal(case: Case, items: Array, example: int) -> float:
    gains = _gains(case, items, example)
    return 1 / (gains.index(1.0) + 1) if 1.0 in gains else 0.0


def _average_overlap(a: Array, b: Array) -> float:
    return math.fsum(len({*a[:d]} & {*b[:d]}) / d for d in range(1, DEPTH + 1)) / DEPTH


def _rank_biased(a: Array, b: Array, p: float = 0.9) -> float:
    k = len(a)
    shared = [len({*a[:d]} & {*b[:d]}) for d in range(1, k + 1)]
    series = math.fsum(p ** (d - 1) * x / d for d, x in enumerate(shared, start=1))
    return p**k * shared[-1] / k + (1 - p) * series


def _kendall(a: Array, b: Array) -> float:
    """Kendall's distance of two top lists, p = 1/2 (Fagin, Kumar and Sivakumar 2003)."""
    first, second = a[:DEPTH].tolist(), b[:DEPTH].tolist()
    total = 0.0
    for x, y in combinations(sorted({*first, *second}), 2):
        in_first, in_second = (x in first) + (y in first), (x in second) + (y in second)
        if in_first == in_second == 2:
            total += (first.index(x) < first.index(y)) != (second.index(x) < second.index(y))
        elif 2 in {in_first, in_second}:
            both, other = (first, second) if in_first == 2 else (second, first)
            if (x in other) + (y in other) == 0:
                total += 0.5
            else:
                ahead = x if x in other else y
                behind = y if ahead == x else x
                total += both.index(behind) < both.index(ahead)
        else:
            total += 1.0  # each of the lists has the other one
    return total / (DEPTH * (3 * DEPTH - 1) / 2)


def _of_rankings(case: Case) -> dict[str, Quantity]:
    bounded = partial(Quantity, largest=1.0, is_small=True, has_tails=True)
    top = DEPTH
    return {
        "first_item_flips": _rate(over_pairs(lambda a, b: unlike(a[0], b[0]))),
        f"jaccard_distance@{top}": bounded(
            over_pairs(lambda a, b: jaccard({*a[:top]}, {*b[:top]}))
        ),
        "rank_biased_overlap": bounded(over_pairs(_rank_biased), "logit"),
        f"average_overlap@{top}": bounded(over_pairs(_average_overlap), "logit"),
        f"kendall_distance@{top}": bounded(over_pairs(_kendall)),
        f"hit_rate@{top}": _rate(
            over_runs(lambda x, i: float(any(_gains(case, x, i)[:top]))), "logit", step=_step
        ),
        f"ndcg@{top}": bounded(over_runs(partial(_ndcg, case)), "logit"),
        f"recall@{top}": bounded(
            over_runs(lambda x, i: sum(_gains(case, x, i)[:top]) / len(case.gold[i])), "logit"
        ),
        "mrr": bounded(over_runs(partial(_reciprocal, case)), "logit"),
    }


def _of_sets(case: Case) -> dict[str, Quantity]:
    del case
    return {
        "set_flips": _rate(over_pairs(unlike)),
        "jaccard_distance": Quantity(
            over_pairs(lambda a, b: jaccard({*np.flatnonzero(a)}, {*np.flatnonzero(b)})),
            largest=1.0,
            is_small=True,
            has_tails=True,
        ),
    }


def _of_texts(case: Case) -> dict[str, Quantity]:
    gold = [ANSWERS[x] for x in case.gold]
    return {
        "flip_rate": _rate(over_pairs(unlike)),
        "accuracy": _rate(over_runs(lambda x, i: float(x == gold[i])), "logit", step=_step),
    }


_QUANTITIES: dict[str, Callable[[Case], dict[str, Quantity]]] = {
    "labels": _of_classes,
    "probs": _of_classes,
    "numbers": _of_numbers,
    "scores": _of_scores,
    "passes": _of_passes,
    "rankings": _of_rankings,
    "sets": _of_sets,
    "texts": _of_texts,
}


def of_probabilities(case: Case) -> dict[str, Quantity]:
    """Return the metrics of probabilities, which are not of the classes."""
    return _of_probs(case)


def scores_by_run(case: Case, data: Array) -> dict[str, Array]:
    """Return metrics that each run has on its own: (runs)."""
    gold, n = case.gold, data.shape[1]
    if case.kind in {"labels", "probs", "texts"}:
        classes = data.argmax(axis=2) if data.ndim == 3 else data
        names = [ANSWERS[x] for x in gold] if case.kind == "texts" else gold
        right = np.array(
            [np.mean([x == y for x, y in zip(run, names, strict=False)]) for run in classes]
        )
        figures = {"accuracy": right}
        if case.kind != "texts":
            options = {
                "labels": sorted(set(gold[:n].tolist())),
                "average": "macro",
                "zero_division": 0,
            }
            truth = gold[:n]
            figures["macro_f1"] = np.array([sk.f1_score(truth, run, **options) for run in classes])
            figures["balanced_accuracy"] = np.array(
                [sk.recall_score(truth, run, **options) for run in classes]
            )
        if case.kind == "probs":
            figures["nll"] = np.array(
                [sk.log_loss(gold[:n], run, labels=[0, 1, 2]) for run in data]
            )
        return figures
    if case.kind in {"numbers", "scores", "passes"}:
        figures = {"mean": data.mean(axis=1)}
        if case.kind == "numbers":
            target = np.asarray(gold)[:n]
            figures["mae"] = np.array([sk.mean_absolute_error(target, run) for run in data])
            figures["rmse"] = np.array([sk.root_mean_squared_error(target, run) for run in data])
            figures["bias"] = (data - target).mean(axis=1)
            figures["r2"] = np.array([sk.r2_score(target, run) for run in data])
        return figures
    if case.kind == "sets":
        truth = np.array([[label in row for label in LABELS] for row in gold[:n]])
        options = {"average": "micro", "zero_division": 0}
        return {
            "precision": np.array([sk.precision_score(truth, run, **options) for run in data]),
            "recall": np.array([sk.recall_score(truth, run, **options) for run in data]),
            "micro_f1": np.array([sk.f1_score(truth, run, **options) for run in data]),
            "macro_f1": np.array(
                [sk.f1_score(truth, run, average="macro", zero_division=0) for run in data]
            ),
        }
    qualities = quantities_of(case)
    names = (f"hit_rate@{DEPTH}", f"ndcg@{DEPTH}", f"recall@{DEPTH}", "mrr")
    return {
        name: np.array([qualities[name].of(run[None]).mean() for run in data]) for name in names
    }
