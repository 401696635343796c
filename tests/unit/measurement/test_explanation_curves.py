"""Predictions are walked through beside the explanations."""

import numpy as np
import pyarrow as pa
import pytest

from seedproof.measurement.explanation_curves import CurveSums
from seedproof.records.arrays import ArrayShards


class Watched:
    """Shards of one example each, of which we see which were read."""

    def __init__(self, second, *, n_classes=2):
        probs = np.zeros((2, len(second), n_classes))
        probs[:, :, 1] = second
        probs[:, :, 0] = 1 - probs[:, :, 1]
        self._whole = ArrayShards(probs).shard(0)
        self.classes = tuple(map(str, range(n_classes)))
        self.n_shards = len(second)
        self.read = []

    def shard(self, index):
        """One example."""
        self.read.append(index)
        whole = self._whole
        return type(whole)(
            index, whole.ids[index : index + 1], None, whole.probs[:, index : index + 1], None
        )


def test_each_shard_of_predictions_is_read_once():
    """Both are in the order of ids; what comes after the last explanation is not read."""
    source = Watched([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    sums = CurveSums(source)

    sums.update(pa.array([0, 2]), {"kl": np.array([1.0, 2.0])})
    sums.update(pa.array([2, 4]), {"kl": np.array([1.0, 2.0])})

    assert source.read == [0, 1, 2, 3, 4]


def test_an_id_that_was_not_predicted_does_not_lead_through_all_shards():
    """Ids beyond it are not there either."""
    source = Watched([0.1, 0.2, 0.3, 0.4])
    sums = CurveSums(source)

    sums.update(pa.array([-5, 1]), {"kl": np.array([1.0, 2.0])})

    assert source.read == [0, 1]
    assert sums.result(source.classes).counts.sum() == 1


def test_a_probability_of_one_belongs_to_the_last_bin():
    """There is no eleventh."""
    sums = CurveSums(Watched([0.0, 1.0]))

    sums.update(pa.array([0, 1]), {"kl": np.array([3.0, 5.0])})

    curves = sums.result(("0", "1"))
    assert curves.counts.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0, 0, 1]]
    assert curves.means["kl"][0][[0, 9]].tolist() == [3.0, 5.0]


def test_no_example_is_no_curve_yet():
    """An empty shard adds nothing."""
    sums = CurveSums(Watched([0.5]))

    sums.update(pa.array([], pa.int64()), {"kl": np.array([])})

    assert sums.result(("0", "1")).counts.sum() == 0


def test_the_class_alone_is_refused():
    """A bin needs a probability."""
    sums = CurveSums(ArrayShards([[0, 1], [1, 1]]))

    with pytest.raises(ValueError, match="probabilities"):
        sums.update(pa.array([0]), {"kl": np.array([1.0])})
