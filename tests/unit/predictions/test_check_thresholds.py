"""Every check of the input on both sides of its threshold."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

import seedproof as sp
from seedproof.measurement.trend import LEVEL, runs_trend
from seedproof.metrics.flips import RunSums
from seedproof.metrics.items.runs import ItemRunSums
from seedproof.metrics.numbers.runs import NumberRunSums
from seedproof.predictions.checks import CHECK_NAMES, checks_of_log, missing_arm, missing_runs
from seedproof.predictions.duplicates import identical_arms
from seedproof.predictions.input_checks import checks_of
from seedproof.predictions.item_checks import item_checks_of
from seedproof.predictions.number_checks import number_checks_of
from seedproof.predictions.text_checks import text_checks_of
from seedproof.predictions.trial_checks import trials_by_outcome
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.reader import MissingRuns
from seedproof.records.schema import Kind
from seedproof.stats.trend_test import trend_p

N_EXAMPLES = 1000


def source_of(n_runs, kind=Kind.LABELS, classes=("a", "b"), **further):
    """Return what checks read of a source, next to the sums."""
    usual = {
        "runs": tuple(map(str, range(n_runs))),
        "n_runs": n_runs,
        "kind": kind,
        "classes": classes,
        "repeats": "runs",
        "settings": AnswerSettings(),
        "manifests": (),
        "n_shards": 0,
        "n_labeled": 0,
    }
    return SimpleNamespace(**usual | further)


def sums_of(apart, class_counts, *, label_counts=(0, 0), n_examples=N_EXAMPLES, swaps=None):
    """Return sums over examples of runs of classes."""
    counts, labels = np.asarray(class_counts), np.asarray(label_counts)
    return RunSums(n_examples, np.asarray(apart), counts, labels, swaps)


def apart_of(n_runs, distance, first=None):
    """Return pairwise distances, those of the first run apart."""
    matrix = np.full((n_runs, n_runs), distance)
    if first is not None:
        matrix[0] = matrix[:, 0] = first
    np.fill_diagonal(matrix, 0)
    return matrix


def names_of(checks):
    return {check.name: check.severity for check in checks}


# ----------------------------------------------------------------------- runs that give classes


def runs_that_differ_alone(n_different):
    """Return four runs, each alone on so many examples, and a copy of the first."""
    values = np.zeros((5, N_EXAMPLES), dtype=int)
    for run in range(4):
        values[run, run * 50 : run * 50 + n_different] = 1
    values[4] = values[0]
    return values


def copies(n_different):
    """Ten pairs of runs: 10·exp(−2·8) is 1.1 · 10⁻⁶, and 10·exp(−2·9) is 1.5 · 10⁻⁷."""
    return sp.Predictions.from_arrays(runs_that_differ_alone(n_different)).checks


def constant_run(n_others):
    counts = [[N_EXAMPLES, 0], *[[N_EXAMPLES - n_others, n_others]] * 4]
    return checks_of(source_of(5), sums_of(apart_of(5, 20), counts))


def constant_answers(n_others):
    counts = [[N_EXAMPLES, 0], [0, N_EXAMPLES]]
    labels = [N_EXAMPLES - n_others, n_others]
    return checks_of(source_of(2), sums_of(apart_of(2, 20), counts, label_counts=labels))


def outlier(distance, *, usual=300, n_runs=5, n_examples=N_EXAMPLES):
    """Half of the answers are of each class: chance alone makes runs differ on half of them."""
    counts = [[n_examples / 2, n_examples / 2]] * n_runs
    apart = apart_of(n_runs, usual, first=distance)
    return checks_of(source_of(n_runs), sums_of(apart, counts, n_examples=n_examples))


def unexpected(n_unlabeled):
    counts = [[N_EXAMPLES - n_unlabeled, n_unlabeled]] * 5
    sums = sums_of(apart_of(5, 20), counts, label_counts=(N_EXAMPLES, 0))
    return checks_of(source_of(5), sums)


def few_runs(n_runs):
    return checks_of(source_of(n_runs), sums_of(apart_of(n_runs, 20), [[500, 500]] * n_runs))


def classes(names, *, n_examples=N_EXAMPLES, swaps=None):
    """Answers of these names, all equally frequent; numbers that runs confuse by chance."""
    counts = np.ones((5, len(names)))
    if swaps is None:
        swaps = 1 - np.eye(len(names))
    sums = sums_of(
        apart_of(5, 20),
        counts,
        label_counts=np.zeros(len(names)),
        n_examples=n_examples,
        swaps=swaps,
    )
    return checks_of(source_of(5, classes=tuple(names)), sums)


def numbers(n_numbers):
    """Runs give the next number instead: close to each other."""
    return classes([str(x) for x in range(n_numbers)], swaps=np.eye(n_numbers, k=1))


def rounded(share):
    """Of 20 numbers: this share of swaps is with the farthest one, and the rest with none."""
    farthest = np.eye(20)[::-1]
    return classes([str(x) for x in range(20)], swaps=share * farthest + (1 - share) * np.eye(20))


def texts_as_classes(n_examples):
    return classes([f"answer {index}" for index in range(20)], n_examples=n_examples)


def lists(n_lists):
    names = ["joy|fear", "joy|anger"][:n_lists] + [f"joy{index}" for index in range(4)]
    return classes(names)


def tags(last):
    return classes(["O B-PER", "O O", last])


def transposed(n_examples):
    values = np.random.default_rng(0).integers(0, 2, (6, n_examples))
    return sp.Predictions.from_arrays(values).checks


def equal_arms(n_contested):
    """Two arms of the same predictions, on so many of which runs differ: e⁻¹⁴ is 8 · 10⁻⁷."""
    values = np.zeros((5, N_EXAMPLES), dtype=int)
    values[0, :n_contested] = 1
    arms = {name: sp.Predictions.from_arrays(values).source for name in ("old", "new")}
    return identical_arms(arms, dict.fromkeys(arms))


# ------------------------------------------------------------- runs that give numbers, lists, texts


def number_sums(sample, **further):
    usual = {
        "n_examples": sample.shape[1],
        "differ": ~np.eye(len(sample), dtype=bool),
        "n_varied": np.full(len(sample), 100),
        "n_flips": None,
    }
    return NumberRunSums(sample=sample, **usual | further)


def constant_number(n_others):
    sample = np.random.default_rng(0).standard_normal((5, 10))
    sums = number_sums(sample, n_varied=np.array([0, *[n_others] * 4]))
    shard = SimpleNamespace(numbers=sample, targets=None)
    return number_checks_of(source_of(5, Kind.NUMBERS, shard=lambda _: shard), sums)


def numbers_against(agreement, n_examples, *, usual=0.99):
    """Four runs that agree, and one whose rank correlation with each is about this."""
    rng = np.random.default_rng(1)
    opinion, other = np.linalg.qr(rng.standard_normal((n_examples, 2)))[0].T
    sample = usual * opinion + np.sqrt(1 - usual**2) * rng.standard_normal(
        (5, n_examples)
    ) / np.sqrt(n_examples)
    sample[0] = agreement * opinion + np.sqrt(1 - agreement**2) * other
    return sample


def outlier_of_numbers(sample):
    return number_checks_of(source_of(5, Kind.NUMBERS), number_sums(sample))


def few_unlike(n_pairs):
    """Numbers of a run are equal in pairs: each of n examples differs from n − 2 others."""
    return outlier_of_numbers(numbers_against(0.0, n_pairs).repeat(2, axis=1))


def copied_outcomes(n_flips):
    """Of six pairs: 6·exp(−16) is 6.8 · 10⁻⁷, and 6·exp(−15) is 1.8 · 10⁻⁶."""
    differ = ~np.eye(4, dtype=bool)
    differ[0, 1] = differ[1, 0] = False
    sums = number_sums(numbers_against(0.99, 100)[:4], differ=differ, n_flips=n_flips)
    return number_checks_of(source_of(4, Kind.NUMBERS), sums)


def trials_that_differ(n_mixed):
    """A pass after a failure, n times: 2 · 2⁻ⁿ is below 10⁻⁴ from 15 on."""
    mixed = np.array([[0.0], [1.0]]).repeat(n_mixed, axis=1)
    solid = np.array([[1.0], [np.nan]]).repeat(5, axis=1)
    checks = trials_by_outcome(("0", "1"), np.concatenate([mixed, solid], axis=1))
    return [check for check in checks if check.severity == "error"]


def item_sums(n_runs, *, n_others=100, n_flips=100.0, differ=None):
    differ = ~np.eye(n_runs, dtype=bool) if differ is None else differ
    varied = np.full(n_runs, 100) if n_others == 100 else np.array([0, *[n_others] * (n_runs - 1)])
    return ItemRunSums(N_EXAMPLES, differ, varied, np.zeros(n_runs, dtype=int), n_flips)


def constant_items(n_others):
    return item_checks_of(source_of(5, Kind.SETS), item_sums(5, n_others=n_others))


def copied_items(n_flips):
    """Of ten pairs: 10·exp(−17) is 4.1 · 10⁻⁷, and 10·exp(−16) is 1.1 · 10⁻⁶."""
    differ = ~np.eye(5, dtype=bool)
    differ[0, 1] = differ[1, 0] = False
    return item_checks_of(
        source_of(5, Kind.SETS), item_sums(5, differ=differ, n_flips=float(n_flips))
    )


def few_trials(n_trials):
    settings = AnswerSettings(are_trials=True)
    source = source_of(n_trials, Kind.SETS, settings=settings, repeats="trials")
    return item_checks_of(source, item_sums(n_trials))


def text_checks(apart, *, n_examples=N_EXAMPLES):
    sums = SimpleNamespace(disagreements=np.asarray(apart), n_examples=n_examples)
    return text_checks_of(source_of(len(apart), Kind.TEXTS), sums)


def distinct(n_different):
    return text_checks(apart_of(5, n_different))


def outlier_of_texts(distance, *, usual=100, n_examples=N_EXAMPLES, n_runs=5):
    return text_checks(apart_of(n_runs, usual, first=distance), n_examples=n_examples)


# ------------------------------------------------------------------------------ stores, logs, order


def log(**counts):
    usual = {"files": (), "errors": {}, "n_incomplete": 0, "n_left_out": 0, "n_cached": 0}
    return checks_of_log(SimpleNamespace(n_samples=100, **usual | counts), None)


def problems(*faults):
    return log(files=(SimpleNamespace(name="log", problems=faults),))


def trend(order):
    """P-values of Kendall's test of six runs: 2/720 for one order, 12/720 for one swap more."""
    values = np.array(order, dtype=float)
    return runs_trend(tuple(map(str, range(len(values)))), "accuracy", values)


CASES = [
    ("duplicate-runs", "error", lambda: copies(9), lambda: copies(8)),
    ("duplicate-runs", "error", lambda: copied_outcomes(16), lambda: copied_outcomes(15)),
    ("duplicate-runs", "error", lambda: copied_items(17), lambda: copied_items(16)),
    ("constant-run", "error", lambda: constant_run(10), lambda: constant_run(9)),
    ("constant-run", "error", lambda: constant_number(10), lambda: constant_number(9)),
    ("constant-run", "error", lambda: constant_items(10), lambda: constant_items(9)),
    ("constant-answers", "error", lambda: constant_answers(10), lambda: constant_answers(9)),
    # An agreement of 0.1 is a distance of 450; 1.5 times the usual distance is 451.5.
    ("outlier-run", "error", lambda: outlier(451), lambda: outlier(449)),
    ("outlier-run", "error", lambda: outlier(452, usual=301), lambda: outlier(451, usual=301)),
    ("outlier-run", "error", lambda: outlier(460, n_runs=3), lambda: outlier(460, n_runs=2)),
    # Half of the examples by chance: 30 and 29.
    ("outlier-run", "error", lambda: outlier(29, usual=5, n_examples=60), lambda: outlier(29, usual=5, n_examples=58)),
    # A random other example differs in 32·30/32 = 30 cases, and in 30·28/30 = 28.
    ("outlier-run", "error", lambda: few_unlike(16), lambda: few_unlike(15)),
    ("outlier-run", "error", lambda: outlier_of_numbers(numbers_against(0.06, 1000)), lambda: outlier_of_numbers(numbers_against(0.14, 1000))),
    # The others agree by 0.36, or by 0.31: a lonely run is 1.5 times as far from its nearest.
    ("outlier-run", "error", lambda: outlier_of_numbers(numbers_against(0.0, 1000, usual=0.7)), lambda: outlier_of_numbers(numbers_against(0.0, 1000, usual=0.5))),
    ("outlier-run", "error", lambda: outlier_of_texts(901), lambda: outlier_of_texts(899)),
    ("outlier-run", "error", lambda: outlier_of_texts(907, usual=604), lambda: outlier_of_texts(905, usual=604)),
    ("outlier-run", "error", lambda: outlier_of_texts(30, usual=3, n_examples=30), lambda: outlier_of_texts(29, usual=3, n_examples=29)),
    ("outlier-run", "error", lambda: outlier_of_texts(950, n_runs=3), lambda: outlier_of_texts(950, n_runs=2)),
    ("identical-arms", "error", lambda: equal_arms(14), lambda: equal_arms(13)),
    ("missing-runs", "error", lambda: [missing_arm("new")], list),
    ("missing-runs", "warning", lambda: [missing_runs(MissingRuns(("3",), 5))], list),
    ("unexpected-classes", "warning", lambda: unexpected(1), lambda: unexpected(0)),
    ("few-runs", "warning", lambda: few_runs(4), lambda: few_runs(5)),
    ("few-trials", "warning", lambda: few_trials(4), lambda: few_trials(5)),
    ("runs-trend", "note", lambda: trend([1, 2, 3, 4, 5, 6]), lambda: trend([1, 2, 3, 4, 6, 5])),
    ("runs-trend", "note", lambda: trend([1, 2, 3, 4, 5, 6]), lambda: trend([1, 2, 3, 4, 5])),
    ("transposed", "warning", lambda: transposed(5), lambda: transposed(6)),
    ("not-categorical", "warning", lambda: numbers(20), lambda: numbers(19)),
    ("not-categorical", "warning", lambda: rounded(0.32), lambda: rounded(0.35)),
    ("not-categorical", "warning", lambda: texts_as_classes(39), lambda: texts_as_classes(40)),
    ("not-categorical", "warning", lambda: lists(2), lambda: lists(1)),
    ("not-categorical", "warning", lambda: tags("B-LOC O"), lambda: tags("B-LOC X")),
    ("distinct-answers", "warning", lambda: distinct(900), lambda: distinct(899)),
    ("failed-samples", "warning", lambda: log(errors={"timeout": 1}), log),
    ("failed-samples", "warning", lambda: log(n_incomplete=1), log),
    ("cached-repeats", "error", lambda: log(n_cached=1), log),
    ("trials-depend-on-outcomes", "error", lambda: trials_that_differ(15), lambda: trials_that_differ(14)),
    ("incomplete-log", "error", lambda: problems("cancelled"), problems),
]  # fmt: skip


@pytest.mark.parametrize(("name", "severity", "beyond", "within"), CASES)
def test_a_check_reports_what_is_beyond_its_threshold_alone(name, severity, beyond, within):
    assert names_of(beyond()).get(name) == severity
    assert name not in names_of(within())


def test_every_check_is_listed():
    assert {name for name, *_ in CASES} == set(CHECK_NAMES)


def test_agreements_are_on_both_sides_of_chance():
    """Mean rank correlation of the first run with the others, and the p-values of trends."""
    for agreement, is_below in ((0.06, True), (0.14, False)):
        sample = numbers_against(agreement, 1000)
        mean = np.mean([spearmanr(sample[0], x).statistic for x in sample[1:]])
        assert (mean < 0.1) == is_below
        assert mean == pytest.approx(0.1, abs=0.06)
    assert trend_p(np.arange(6.0)) < LEVEL < trend_p(np.array([1, 2, 3, 4, 6, 5.0]))
