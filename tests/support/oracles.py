"""Slow, obvious loops, to check the fast kernels and the closed-form intervals.

They follow the definitions, one pair of runs and one example at a time, and share no code with
`seedproof.metrics` or `seedproof.measurement`. A run is left out by deleting its row and starting
over. Axes are (runs, examples, classes).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from seedproof.typing import BoolArray, FloatArray, IntArray

Data: TypeAlias = npt.NDArray[Any]
PerExample: TypeAlias = Callable[[Data], FloatArray]
PerStudy: TypeAlias = Callable[[Data], float]
Interval: TypeAlias = tuple[float, float]


def slow_flip_rate(predictions: IntArray) -> FloatArray:
    """Share of the pairs of runs that disagree, for each example."""
    pairs = list(combinations(range(len(predictions)), 2))
    rates = [
        sum(bool(answers[a] != answers[b]) for a, b in pairs) / len(pairs)
        for answers in predictions.T
    ]
    return np.array(rates)


def slow_disagreement(predictions: IntArray) -> FloatArray:
    """Share of the examples on which two runs differ: (runs, runs)."""
    n_runs, n_examples = predictions.shape
    matrix = np.zeros((n_runs, n_runs))
    for a in range(n_runs):
        for b in range(n_runs):
            differ = sum(bool(x != y) for x, y in zip(predictions[a], predictions[b], strict=True))
            matrix[a, b] = differ / n_examples
    return matrix


def slow_net_flip_rate(predictions: IntArray) -> float:
    """Total variation between the class shares of two runs, averaged over all pairs of runs."""
    n_examples = predictions.shape[1]
    distances: list[float] = []
    for first, second in combinations(predictions.tolist(), 2):
        there, here = Counter(first), Counter(second)
        gaps = [abs(there[name] - here[name]) / n_examples for name in there | here]
        distances.append(sum(gaps) / 2)
    return sum(distances) / len(distances)


def slow_ambiguity(predictions: IntArray, *, baseline: int = 0) -> float:
    """Share of the examples on which some run differs from the baseline run."""
    touched = [
        any(bool(answer != answers[baseline]) for answer in answers) for answers in predictions.T
    ]
    return sum(touched) / len(touched)


def slow_discrepancy(predictions: IntArray) -> float:
    """Largest share of examples on which one run differs from another."""
    return max(float(share) for row in slow_disagreement(predictions) for share in row)


def slow_label_entropy(predictions: IntArray) -> FloatArray:
    """Plug-in entropy of the answers of all runs, for each example."""
    entropies = []
    for answers in predictions.T.tolist():
        shares = [count / len(answers) for count in Counter(answers).values()]
        entropies.append(-sum(share * math.log(share) for share in shares))
    return np.array(entropies)


def slow_label_entropy_corrected(predictions: IntArray) -> FloatArray:
    """Jackknife of the entropy, for each example, by deleting each run in turn."""
    n_runs = len(predictions)
    left_out = [slow_label_entropy(rest) for rest in slow_deletions(predictions)]
    return np.asarray(n_runs * slow_label_entropy(predictions) - (n_runs - 1) * _mean(left_out))


def slow_high_entropy_share(predictions: IntArray, *, limit: float = 0.56) -> float:
    """Share of the examples whose plug-in entropy is above the limit."""
    high = [bool(entropy > limit) for entropy in slow_label_entropy(predictions)]
    return sum(high) / len(high)


def slow_novelty(predictions: IntArray, n_others: int) -> float:
    """Share of (example, run, `n` other runs) in which no other run gives the run's answer."""
    novel: list[bool] = []
    for answers in predictions.T.tolist():
        for run_idx, answer in enumerate(answers):
            others = answers[:run_idx] + answers[run_idx + 1 :]
            novel.extend(answer not in drawn for drawn in combinations(others, n_others))
    return sum(novel) / len(novel)


def slow_accuracy(predictions: IntArray, labels: IntArray) -> FloatArray:
    """Share of the runs that are correct, for each example."""
    shares = []
    for answers, label in zip(predictions.T, labels, strict=True):
        shares.append(sum(bool(answer == label) for answer in answers) / len(answers))
    return np.array(shares)


def slow_accuracy_by_run(predictions: IntArray, labels: IntArray) -> FloatArray:
    """Share of the examples on which each run is correct."""
    shares = []
    for answers in predictions:
        right = [bool(x == y) for x, y in zip(answers, labels, strict=True)]
        shares.append(sum(right) / len(right))
    return np.array(shares)


def slow_accuracy_sd_independent(predictions: IntArray, labels: IntArray) -> float:
    """Standard deviation of accuracy over runs if examples flipped independently."""
    n_runs, n_examples = predictions.shape
    shares = slow_accuracy(predictions, labels)
    variance = sum(p * (1 - p) * n_runs / (n_runs - 1) for p in shares)
    return float(math.sqrt(variance / n_examples**2))


def slow_half_right(predictions: IntArray, labels: IntArray) -> float:
    """Share of the examples on which exactly one of two runs is correct, over all pairs."""
    shares = []
    for first, second in combinations(predictions, 2):
        right = zip(first == labels, second == labels, strict=True)
        shares.append(sum(bool(a) != bool(b) for a, b in right) / len(labels))
    return sum(shares) / len(shares)


def slow_sd(values: FloatArray) -> float:
    """Sample standard deviation, with n - 1 in the denominator."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def slow_probability_sd(followed: FloatArray) -> FloatArray:
    """Standard deviation over runs of one probability per example; axes (runs, examples)."""
    return np.array([slow_sd(values) for values in followed.T.astype(np.float64)])


def slow_predictive_kl(probs: FloatArray, *, epsilon: float = 1e-10) -> FloatArray:
    """Mean KL divergence over all ordered pairs of runs, for each example."""
    means = []
    for rows in _smoothed(probs, epsilon):
        divergences = [
            math.fsum(p * math.log(p / q) for p, q in zip(first, second, strict=True))
            for first, second in permutations(rows, 2)
        ]
        means.append(math.fsum(divergences) / len(divergences))
    return np.array(means)


def slow_predictive_js(probs: FloatArray, *, epsilon: float = 1e-10) -> FloatArray:
    """Entropy of the mean less the mean entropy, times R/(R-1), for each example."""
    divergences = []
    for rows in _smoothed(probs, epsilon):
        n_runs = len(rows)
        mean = [math.fsum(column) / n_runs for column in zip(*rows, strict=True)]
        gap = _entropy(mean) - math.fsum(_entropy(row) for row in rows) / n_runs
        divergences.append(gap * n_runs / (n_runs - 1))
    return np.array(divergences)


def slow_nll(probs: FloatArray, labels: IntArray, *, smallest: float = 1e-10) -> FloatArray:
    """Negative log-likelihood of the gold class: (runs, examples)."""
    losses = [
        [
            -math.log(max(float(row[label]), smallest))
            for row, label in zip(run, labels, strict=True)
        ]
        for run in probs
    ]
    return np.array(losses)


def slow_brier(probs: FloatArray, labels: IntArray) -> FloatArray:
    """Squared distance to the gold class, summed over all classes: (runs, examples)."""
    scores = [
        [
            math.fsum((float(p) - (k == label)) ** 2 for k, p in enumerate(row))
            for row, label in zip(run, labels, strict=True)
        ]
        for run in probs
    ]
    return np.array(scores)


def slow_calibration_errors(
    confidence: FloatArray, right: BoolArray, *, n_bins: int = 15
) -> tuple[float, float]:
    """Expected and maximum calibration error of one run, with bins of equal width.

    A bin contains its lower edge, the last one also 1.0.
    """
    expected, largest = 0.0, 0.0
    for bin_idx in range(n_bins):
        last = bin_idx == n_bins - 1
        inside = [
            (float(c), bool(r))
            for c, r in zip(confidence, right, strict=True)
            if c * n_bins >= bin_idx and (last or c * n_bins < bin_idx + 1)
        ]
        if inside:
            mean_confidence = math.fsum(c for c, _ in inside) / len(inside)
            accuracy = sum(r for _, r in inside) / len(inside)
            gap = abs(accuracy - mean_confidence)
            expected += gap * len(inside) / len(confidence)
            largest = max(largest, gap)
    return expected, largest


def slow_debiased_error(confidence: FloatArray, right: BoolArray, *, n_bins: int = 15) -> float:
    """Calibration error of one run, less what chance adds to the gap of each bin.

    The variance of a gap is that of independent examples, with at least the share right that two
    more right and two more wrong examples would give.
    """
    n, total = len(confidence), 0.0
    for bin_idx in range(n_bins):
        inside = [i for i in range(n) if min(int(confidence[i] * n_bins), n_bins - 1) == bin_idx]
        if not inside:
            continue
        count, n_right = len(inside), sum(bool(right[i]) for i in inside)
        sure = math.fsum(float(confidence[i]) for i in inside) / count
        shares = n_right / count, (n_right + 2) / (count + 4), sure
        chance = max(share * (1 - share) for share in shares)
        gap = (n_right / count - sure) * count / n
        between = (n_right / count - sure) ** 2 * (1 - count / n)
        error = math.sqrt(count * (chance + between)) / n
        z = gap / error
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        total += error * (z * math.erf(z / math.sqrt(2)) - density)
    return total


def slow_deletions(data: Data) -> Iterator[Data]:
    """The data with each run left out in turn."""
    for run_idx in range(len(data)):
        yield np.delete(data, run_idx, axis=0)


def slow_two_way_interval(
    quantity: PerExample,
    data: Data,
    *,
    scale: Literal["log", "logit"] = "log",
    smallest: float = 0.0,
) -> Interval:
    """95 % interval over runs × examples of a mean over examples, by deleting each run in turn.

    w² = t²·V_run + 1.96²·max(V_ex - V_int, 0), or 1.96²·V_ex if that is more, where V_run is the
    jackknife variance over runs of the mean, V_ex its variance over examples, and V_int the part
    that both count: the jackknife variances over runs of the single examples. All three on the
    scale of the interval.

    A mean without one run is at least `smallest` from the ends of the scale. With two runs, where
    no pair is left, the interval is over examples only.
    """
    values = quantity(data)
    n_runs, n_examples = len(data), len(values)
    mean = math.fsum(values) / n_examples
    slope = 1 / mean if scale == "log" else 1 / (mean * (1 - mean))
    v_examples = slope**2 * slow_sd(values) ** 2 / n_examples
    if n_runs == 2:
        half_width = float(ndtri(0.975)) * math.sqrt(v_examples)
        return _around(mean, half_width, scale)

    left_out = [quantity(rest) for rest in slow_deletions(data)]
    v_runs = _jackknife([_scaled(math.fsum(v) / n_examples, scale, smallest) for v in left_out])
    by_example = [_jackknife([float(v[i]) for v in left_out]) for i in range(n_examples)]
    v_interaction = slope**2 * math.fsum(by_example) / n_examples**2
    square = float(stdtrit(n_runs - 1, 0.975)) ** 2 * v_runs
    square += float(ndtri(0.975)) ** 2 * max(v_examples - v_interaction, 0.0)
    return _around(mean, max(math.sqrt(square), float(ndtri(0.975)) * math.sqrt(v_examples)), scale)


def slow_flip_rate_interval(predictions: IntArray) -> Interval:
    """95 % interval of the flip rate of three or more runs, from disagreements and label counts."""
    n_runs, n = predictions.shape
    matrix = slow_disagreement(predictions)
    g = [math.fsum(matrix[r]) / (n_runs - 1) for r in range(n_runs)]
    h = slow_flip_rate(predictions)
    u = math.fsum(g) / n_runs
    if u == 0.0:
        return 0.0, 1 - 0.025 ** (1 / n)

    without = [max(u - 2 * (g[r] - u) / (n_runs - 2), 1 / (2 * n)) for r in range(n_runs)]
    logs = [math.log(value) for value in without]
    center = math.fsum(logs) / n_runs
    v_run = (n_runs - 1) / n_runs * math.fsum((value - center) ** 2 for value in logs)
    v_ex = (math.fsum(value**2 for value in h) / n - u**2) / ((n - 1) * u**2)
    total = 0.0
    for i, answers in enumerate(predictions.T.tolist()):
        for n_ik in Counter(answers).values():
            total += n_ik * ((n_runs - n_ik) / (n_runs - 1) - h[i]) ** 2
    c = 4 * (n_runs - 1) / (n_runs * (n_runs - 2) ** 2)
    v_int = c / (n**2 * u**2) * total

    t, z = float(stdtrit(n_runs - 1, 0.975)), float(ndtri(0.975))
    w = math.sqrt(max(t**2 * v_run + z**2 * max(v_ex - v_int, 0.0), z**2 * v_ex))
    return float(u * math.exp(-w)), float(u * math.exp(w))


def slow_log_interval_over_runs(
    quantity: PerStudy, data: Data, *, smallest: float = 0.0
) -> Interval:
    """95 % interval over runs of one number per study: jackknife of its logarithm, Student's t.

    The number without one run is at least `smallest`.
    """
    left_out = [_scaled(quantity(rest), "log", smallest) for rest in slow_deletions(data)]
    half_width = float(stdtrit(len(data) - 1, 0.975)) * math.sqrt(_jackknife(left_out))
    return _around(quantity(data), half_width, "log")


def slow_bonett_interval(values: FloatArray) -> Interval:
    """Bonett's (2006) 95 % interval of a standard deviation."""
    n, z = len(values), float(ndtri(0.975))
    dropped = math.floor(n / (2 * math.sqrt(n - 4)))
    kept = sorted(values)[dropped : n - dropped]
    trimmed_mean = math.fsum(kept) / len(kept)
    variance = slow_sd(values) ** 2
    fourth = math.fsum((value - trimmed_mean) ** 4 for value in values)
    kurtosis = n * fourth / ((n - 1) * variance) ** 2
    c = n / (n - z)
    error = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    low = math.exp(math.log(c * variance) - z * error)
    high = math.exp(math.log(c * variance) + z * error)
    return math.sqrt(low), math.sqrt(high)


def _mean(arrays: list[FloatArray]) -> FloatArray:
    return np.asarray(sum(arrays, np.zeros_like(arrays[0])) / len(arrays))


def _entropy(shares: list[float]) -> float:
    return -math.fsum(share * math.log(share) for share in shares)


def _smoothed(probs: FloatArray, epsilon: float) -> Iterator[list[list[float]]]:
    """Yield the rows of all runs for each example, with epsilon added and renormalized."""
    for rows in probs.astype(np.float64).transpose(1, 0, 2).tolist():
        raised = [[p + epsilon for p in row] for row in rows]
        yield [[p / math.fsum(row) for p in row] for row in raised]


def _jackknife(left_out: list[float]) -> float:
    center = math.fsum(left_out) / len(left_out)
    squares = math.fsum((value - center) ** 2 for value in left_out)
    return (len(left_out) - 1) / len(left_out) * squares


def _scaled(mean: float, scale: str, smallest: float) -> float:
    mean = max(mean, smallest)
    if scale == "log":
        return math.log(mean)
    mean = min(mean, 1 - smallest)
    return math.log(mean / (1 - mean))


def _around(mean: float, half_width: float, scale: str) -> Interval:
    if scale == "log":
        return mean * math.exp(-half_width), mean * math.exp(half_width)
    center = math.log(mean / (1 - mean))
    low, high = center - half_width, center + half_width
    return 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high))
