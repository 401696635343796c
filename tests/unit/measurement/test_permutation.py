from itertools import permutations

import numpy as np
import pytest

from seedproof.measurement.permutation import Changes
from seedproof.metrics.calibration import N_BINS
from seedproof.records.permutation import PermutedAttention

N_RUNS, N_EXAMPLES = 4, 120


@pytest.fixture
def runs():
    """Return results of four runs with three classes."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(N_EXAMPLES, 3))
    results = []
    for _ in range(N_RUNS):
        odds = np.exp(base + rng.normal(size=base.shape))
        names = ("probability_change", "probability_floor", "logit_change", "logit_floor")
        changes = {name: rng.random(N_EXAMPLES) for name in names}
        probs = odds / odds.sum(axis=1, keepdims=True)
        results.append(PermutedAttention(probs=probs, **changes, n_shuffles=10))
    return results


@pytest.fixture
def gold():
    """Return gold classes, some of them unknown."""
    return np.random.default_rng(1).integers(-1, 3, N_EXAMPLES)


def test_groups_are_all_answers_then_each_class(runs, gold):
    """By predicted and by gold class; each answer is in one group of each."""
    groups = list(Changes.of(runs, None).groups(gold))

    expected = [
        ("all", None),
        *(("answer", i) for i in range(3)),
        *(("label", i) for i in range(3)),
    ]
    assert [(group.part, group.class_idx) for group in groups] == expected
    n_answers = [group.n_answers for group in groups]
    assert n_answers[0] == sum(n_answers[1:4]) == N_RUNS * N_EXAMPLES
    assert sum(n_answers[4:]) == N_RUNS * (gold >= 0).sum()


def test_many_classes_have_no_groups_of_their_own(runs, gold):
    """With seven classes, all answers are the only group."""
    wide = [
        PermutedAttention(**{**vars(run), "probs": np.pad(run.probs, ((0, 0), (0, 4)))})
        for run in runs
    ]

    assert [group.part for group in Changes.of(wide, None).groups(gold)] == ["all"]


def test_means_equal_a_loop(runs, gold):
    """Changes, their excess over floors, and distances between runs, in each group and bin."""
    for group in Changes.of(runs, None).groups(gold):
        cells = [
            (run, example)
            for run in range(N_RUNS)
            for example in range(N_EXAMPLES)
            if group.part == "all"
            or group.class_idx
            == (runs[run].probs[example].argmax() if group.part == "answer" else gold[example])
        ]
        check_means(runs, cells, group.metrics, has_floor=group.part != "answer")
        by_bin = {}
        for run, example in cells:
            confidence = runs[run].probs[example].max()
            by_bin.setdefault(int(confidence * N_BINS), []).append((run, example))
        full = {
            place: cells
            for place, cells in by_bin.items()
            if sum(sum(run == x for x, _ in cells) >= 10 for run in range(N_RUNS)) >= 2
        }
        assert len(full) == len(group.bins)
        for place, of_bin in zip(sorted(full), group.bins, strict=True):
            confidences = [runs[run].probs[example].max() for run, example in full[place]]
            assert of_bin.confidence == pytest.approx(np.mean(confidences))
            assert of_bin.n_answers == len(full[place])
            check_means(runs, full[place], of_bin.metrics, has_floor=False)


def check_means(runs, cells, metrics, *, has_floor):
    """Compare the means over some cells with a loop over them."""
    for scale in ("probability", "logit"):
        change, floor = (
            np.mean([getattr(runs[run], f"{scale}_{name}")[example] for run, example in cells])
            for name in ("change", "floor")
        )
        assert metrics[f"{scale}_change"].value == pytest.approx(change)
        if has_floor:
            assert metrics[f"{scale}_floor"].value == pytest.approx(floor)
            assert metrics[f"{scale}_excess"].value == pytest.approx(change - floor)
    apart = []
    for run, example in cells:
        answer = runs[run].probs[example].argmax()
        p, *others = (
            runs[x].probs[example, answer] for x in (run, *(x for x in range(N_RUNS) if x != run))
        )
        apart += [(abs(q - p), abs(np.log(q / (1 - q)) - np.log(p / (1 - p)))) for q in others]
    expected = np.mean(apart, axis=0)
    assert metrics["probability_other_run"].value == pytest.approx(expected[0])
    assert metrics["logit_other_run"].value == pytest.approx(expected[1])


def test_order_of_runs_does_not_matter(runs, gold):
    """Estimates and intervals stay the same."""
    first, *others = (
        next(Changes.of(order, None).groups(gold)).metrics for order in permutations(runs[:3])
    )

    for metrics in others:
        for name, estimate in metrics.items():
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
                (first[name].value, first[name].low, first[name].high)
            )


def test_certain_answers_have_finite_log_odds(runs, gold):
    """Probabilities of 0 and 1 are as far apart as in single precision."""
    certain = [
        PermutedAttention(**{**vars(run), "probs": np.eye(3)[run.probs.argmax(axis=1)]})
        for run in runs
    ]

    group = next(Changes.of(certain, None).groups(gold))

    assert np.isfinite(group.metrics["logit_other_run"].value)


def test_groups_that_depend_on_the_weights_have_no_floor(runs, gold):
    """Answers and confidences of shuffled weights would be in other groups."""
    groups = list(Changes.of(runs, None).groups(gold))

    assert [group.part for group in groups if "logit_floor" not in group.metrics] == ["answer"] * 3
    assert all("logit_floor" not in x.metrics for group in groups for x in group.bins)
