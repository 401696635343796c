import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score

from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import BlockJackknife
from seedproof.metrics.calibration import N_BLOCKS, blocks_of
from seedproof.metrics.classwise import Classwise, n_blocks_for
from seedproof.metrics.statistic import ValueOnly
from seedproof.records.probabilities import UNLABELED
from seedproof.stats.intervals import estimate

# Two runs, five examples of the classes a, a, a, b, c.
LABELS = np.array([0, 0, 0, 1, 2])
SMALL = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 2]])


def classwise(predictions, labels, n_classes, blocks=None):
    """Return the family after one batch."""
    family = Classwise(len(predictions), n_classes)
    family.update(Batch(predictions, n_classes, labels, blocks=blocks))
    return family


def random_study(seed, shape, n_classes, *, power=1.0):
    """Predictions that are right on most examples, and labels of classes of unlike sizes."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, n_classes + 1) ** -power
    labels = rng.choice(n_classes, shape[1], p=shares / shares.sum())
    common = np.where(rng.random(shape[1]) < 0.8, labels, rng.integers(0, n_classes, shape[1]))
    is_drawn = rng.random(shape) < 0.2
    return np.where(is_drawn, rng.integers(0, n_classes, shape), common), labels


def test_figures_by_hand():
    """Recalls of the first run: 2/3, 1, 0; its F1: 2·2/(3+2), 2·1/(1+3), 0. The second is right."""
    detail = classwise(SMALL, LABELS, 3).detail()

    assert detail["balanced_accuracy_by_run"].tolist() == pytest.approx([5 / 9, 1.0])
    assert detail["macro_f1_by_run"].tolist() == pytest.approx([(4 / 5 + 1 / 2) / 3, 1.0])
    assert detail["gold_count"].tolist() == [3, 1, 1]
    result = classwise(SMALL, LABELS, 3).result()
    assert result["balanced_accuracy"].value == pytest.approx(7 / 9)
    assert estimate(result["balanced_accuracy_sd"]).value == pytest.approx(4 / 9 / np.sqrt(2))


@pytest.mark.parametrize("n_examples", [3, 40, 600])
@pytest.mark.parametrize("n_classes", [2, 5, 30])
@pytest.mark.filterwarnings("ignore:.*y_pred contains classes not in y_true")
def test_figures_are_those_of_scikit_learn(n_examples, n_classes):
    """With few examples some classes have no gold label, no prediction, or neither."""
    predictions, labels = random_study(n_examples, (4, n_examples), n_classes)

    detail = classwise(predictions, labels, n_classes).detail()

    balanced = [balanced_accuracy_score(labels, of_run) for of_run in predictions]
    macro = [f1_score(labels, of_run, average="macro") for of_run in predictions]
    np.testing.assert_allclose(detail["balanced_accuracy_by_run"], balanced, rtol=1e-12)
    np.testing.assert_allclose(detail["macro_f1_by_run"], macro, rtol=1e-12)


@pytest.mark.parametrize("name", ["balanced_accuracy", "macro_f1"])
def test_values_without_a_block_are_those_of_the_other_examples(name):
    """Each block is deleted and everything computed again."""
    predictions, labels = random_study(1, (3, 400), 4)
    labels[::7] = UNLABELED
    blocks = blocks_of(np.arange(400))

    statistic = classwise(predictions, labels, 4, blocks).result()[name]

    assert isinstance(statistic, BlockJackknife)
    for place, block in enumerate(np.unique(blocks[labels != UNLABELED])):
        rest = blocks != block
        expected = classwise(predictions[:, rest], labels[rest], 4, blocks[rest]).result()[name]
        np.testing.assert_allclose(statistic.without_block[:, place], expected.by_run, rtol=1e-12)


def test_class_without_errors_is_not_certain():
    """Five right answers of a rare class do not show that there are never errors."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [195, 5])
    right = np.tile(labels, (6, 1))
    wrong = (rng.random((6, 200)) < 0.05) & (labels == 0)

    figure = estimate(classwise(right ^ wrong, labels, 2).result()["balanced_accuracy"])

    # The true recall of the rare class may well be 0.8.
    assert figure.low < 0.9


def test_rare_class_has_few_degrees_of_freedom():
    """Nearly all of the variance is that of ten examples."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [2000, 10])
    predictions = np.where(rng.random((5, 2010)) < 0.3, 1 - labels, labels)

    rare = classwise(predictions, labels, 2).result()["balanced_accuracy"]
    even = classwise(predictions[:, :2000], np.arange(2000) % 2, 2).result()["balanced_accuracy"]

    assert rare.example_df < 10
    assert even.example_df > 50


def test_memory_of_many_classes_is_bounded_by_fewer_blocks():
    """Too many for any block have a value without an interval."""
    assert n_blocks_for(10, 2) == N_BLOCKS
    assert n_blocks_for(100, 1000) < N_BLOCKS
    assert n_blocks_for(1000, 10_000) == 1


def test_figures_without_blocks_have_no_interval(monkeypatch):
    """The value is the same."""
    predictions, labels = random_study(2, (4, 300), 5)
    expected = classwise(predictions, labels, 5).result()["macro_f1"].value
    monkeypatch.setattr("seedproof.metrics.classwise.MOST_ENTRIES", 1)

    statistic = classwise(predictions, labels, 5).result()["macro_f1"]

    assert statistic == ValueOnly(pytest.approx(expected))


def test_fewer_blocks_give_about_the_same_interval(monkeypatch):
    """Blocks are merged, never split."""
    predictions, labels = random_study(3, (6, 3000), 4)
    blocks = blocks_of(np.arange(3000))
    fine = estimate(classwise(predictions, labels, 4, blocks).result()["macro_f1"])
    monkeypatch.setattr("seedproof.metrics.classwise.MOST_ENTRIES", 6 * 4 * 16)

    family = classwise(predictions, labels, 4, blocks)

    coarse = estimate(family.result()["macro_f1"])
    assert family.n_blocks == 16
    assert coarse.value == pytest.approx(fine.value)
    assert coarse.high - coarse.low == pytest.approx(fine.high - fine.low, rel=0.4)
