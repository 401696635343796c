import math

import numpy as np
import pytest
import torch
from torchmetrics.functional.regression import mean_squared_error

from seedproof.metrics.batch import Batch
from seedproof.metrics.scores import Scores, brier, nll
from seedproof.records.schema import UNLABELED
from seedproof.stats.intervals import estimate
from support import oracles

# Two runs, three examples, all of class 0: sure and right, sure and wrong, hesitant and right.
LABELS = np.array([0, 0, 0])
SMALL = np.array(
    [
        [[0.95, 0.03, 0.02], [0.02, 0.97, 0.01], [0.62, 0.2, 0.18]],
        [[0.80, 0.10, 0.10], [0.70, 0.20, 0.10], [0.62, 0.2, 0.18]],
    ]
)


def scores_of(probs, labels):
    """The family after one batch."""
    family = Scores(len(probs), probs.shape[2])
    family.update(Batch.from_probs(probs, labels))
    return family


def values_of(probs, labels):
    """The value of each figure."""
    result = scores_of(probs, labels).result()
    return {name: estimate(statistic).value for name, statistic in result.items()}


def random_study(seed, shape=(4, 200), n_classes=5):
    """Probabilities and the labels that are drawn from something like them."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(0, 2, (shape[1], n_classes))
    raised = np.exp(usual + rng.normal(0, 0.7, (*shape, n_classes)))
    labels = (usual + rng.gumbel(size=usual.shape)).argmax(axis=1)
    return raised / raised.sum(axis=2, keepdims=True), labels


def test_nll_by_hand():
    """Run 0: -(ln 0.95 + ln 0.02 + ln 0.62)/3 = 1.4805; run 1: 0.3526; mean 0.9165."""
    first = -math.log(0.95 * 0.02 * 0.62) / 3
    second = -math.log(0.8 * 0.7 * 0.62) / 3

    values = values_of(SMALL, LABELS)

    assert first == pytest.approx(1.4805, abs=5e-5)
    assert values["nll"] == pytest.approx((first + second) / 2)
    assert values["nll_sd"] == pytest.approx((first - second) / math.sqrt(2))


def test_brier_by_hand():
    """0.05² + 0.03² + 0.02² = 0.0038; 0.98² + 0.97² + 0.01² = 1.9014; 0.38² + 0.2² + 0.18²."""
    scores = brier(SMALL, LABELS)

    np.testing.assert_allclose(scores[0], [0.0038, 1.9014, 0.2168], rtol=1e-12)
    np.testing.assert_allclose(scores[1], [0.06, 0.14, 0.2168], rtol=1e-12)
    assert values_of(SMALL, LABELS)["brier"] == pytest.approx(scores.mean())


def test_nll_is_the_cross_entropy_of_torch():
    """Torch takes logits; logarithms of probabilities are such."""
    probs, labels = random_study(1)

    expected = [
        torch.nn.functional.cross_entropy(
            torch.from_numpy(np.log(run)), torch.from_numpy(labels)
        ).item()
        for run in probs
    ]

    by_run = scores_of(probs, labels).detail()["nll_by_run"]
    np.testing.assert_allclose(by_run, expected, rtol=1e-12)


def test_brier_is_the_squared_error_of_torchmetrics_times_the_classes():
    """Theirs averages over classes, the Brier score sums over them."""
    probs, labels = random_study(2)
    gold = torch.from_numpy(np.eye(5)[labels])

    expected = [5 * mean_squared_error(torch.from_numpy(run), gold).item() for run in probs]

    by_run = scores_of(probs, labels).detail()["brier_by_run"]
    np.testing.assert_allclose(by_run, expected, rtol=1e-12)


def test_brier_of_two_classes_is_twice_the_one_column_score():
    """Both columns are off by the same."""
    scores = brier(np.array([[[0.3, 0.7]]]), np.array([1]))

    assert scores[0, 0] == pytest.approx(2 * 0.3**2)


def test_proper_scores_reach_their_bounds():
    """Sure and right is 0; sure and wrong is 2 for Brier and -ln 1e-10 = 23.03 for NLL."""
    certain = np.array([[[1.0, 0.0], [0.0, 1.0]]])

    assert brier(certain, np.array([0, 0])).tolist() == [[0, 2]]
    losses = nll(np.array([[1.0, 0.0]]))
    assert losses[0, 0] == 0
    assert losses[0, 1] == pytest.approx(23.03, abs=5e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "n_classes"), [((2, 1), 2), ((3, 60), 2), ((5, 40), 6)])
def test_figures_equal_the_loops(dtype, shape, n_classes):
    """Logarithms and squares, one example at a time."""
    probs, labels = random_study(3, shape, n_classes)
    probs = probs.astype(dtype)
    exact = probs.astype(np.float64)

    values = values_of(probs, labels)

    by_run = {
        "nll": oracles.slow_nll(exact, labels).mean(axis=1),
        "brier": oracles.slow_brier(exact, labels).mean(axis=1),
    }
    for name, expected in by_run.items():
        # Rounding of at most 60 additions.
        assert values[name] == pytest.approx(expected.mean(), rel=1e-12)
        assert values[f"{name}_sd"] == pytest.approx(oracles.slow_sd(expected), abs=1e-13)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_identical_runs_have_no_spread(n_classes):
    """Exactly 0 for both: nobody should read 1e-16 in a table."""
    probs, labels = random_study(4, (1, 50), n_classes)

    values = values_of(np.repeat(probs, 5, axis=0), labels)

    assert (values["nll_sd"], values["brier_sd"]) == (0.0, 0.0)


def test_unlabeled_examples_do_not_count():
    """Nobody knows whether they are right."""
    probs, labels = random_study(7)
    labels[::3] = UNLABELED
    known = labels != UNLABELED

    values = values_of(probs, labels)

    # The same numbers in arrays of another layout: sums may round differently.
    assert values == pytest.approx(values_of(probs[:, known], labels[known]), rel=1e-12)


def test_a_batch_of_unlabeled_examples_adds_nothing():
    """A stretch without labels in a labeled study is passed over."""
    probs, labels = random_study(8)
    family = scores_of(probs, labels)
    before = {name: estimate(value) for name, value in family.result().items()}

    family.update(Batch.from_probs(probs, np.full(len(labels), UNLABELED)))

    assert {name: estimate(value) for name, value in family.result().items()} == before


@pytest.mark.parametrize(
    "batch",
    [
        Batch.from_probs(SMALL),
        Batch(SMALL.argmax(axis=2), n_classes=3, labels=LABELS),
    ],
    ids=["without labels", "without probabilities"],
)
def test_it_refuses_what_it_cannot_judge(batch):
    """Scores compare probabilities with labels."""
    with pytest.raises(ValueError):
        Scores(2, 3).update(batch)
