import math

import numpy as np
import pytest
import torch
from torchmetrics.functional.regression import mean_squared_error

from seedproof.metrics.batch import Batch
from seedproof.metrics.scores import Scores, brier, nll
from seedproof.stats.intervals import estimate

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


def test_nll_equals_the_cross_entropy_of_torch():
    """Logarithms of probabilities are logits."""
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
    """Torchmetrics averages over classes, the Brier score sums over them."""
    probs, labels = random_study(2)
    gold = torch.from_numpy(np.eye(5)[labels])

    expected = [5 * mean_squared_error(torch.from_numpy(run), gold).item() for run in probs]

    by_run = scores_of(probs, labels).detail()["brier_by_run"]
    np.testing.assert_allclose(by_run, expected, rtol=1e-12)


def test_proper_scores_reach_their_bounds():
    """Certain and correct is 0; certain and wrong is 2 for Brier and -ln 1e-10 = 23.03 for NLL."""
    certain = np.array([[[1.0, 0.0], [0.0, 1.0]]])

    assert brier(certain, np.array([0, 0])).tolist() == [[0, 2]]
    # Twice the score of the one-column definition.
    assert brier(np.array([[[0.3, 0.7]]]), np.array([1]))[0, 0] == pytest.approx(2 * 0.3**2)
    losses = nll(np.array([[1.0, 0.0]]))
    assert losses[0, 0] == 0
    assert losses[0, 1] == pytest.approx(23.03, abs=5e-3)


@pytest.mark.parametrize(
    "batch",
    [Batch.from_probs(SMALL), Batch(SMALL.argmax(axis=2), n_classes=3, labels=LABELS)],
    ids=["without labels", "without probabilities"],
)
def test_missing_labels_or_probabilities_are_refused(batch):
    """Scores compare probabilities with labels."""
    with pytest.raises(ValueError):
        Scores(2, 3).update(batch)
