"""Predictions are read along with the explanations."""

import numpy as np
import pyarrow as pa

from seedproof.measurement.explanations.curves import CurveSums
from seedproof.measurement.explanations.explained_predictions import PredictionWalk
from seedproof.records.arrays import ArrayShards


class RecordingSource:
    """Shards of one example each, with a list of those that were read."""

    def __init__(self, second, *, n_classes=2):
        probs = np.zeros((2, len(second), n_classes))
        probs[:, :, 1] = second
        probs[:, :, 0] = 1 - probs[:, :, 1]
        self._whole = ArrayShards(probs).shard(0)
        self.classes = tuple(map(str, range(n_classes)))
        self.runs = ("0", "1")
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
    """Both are in the order of ids; shards after the last explanation are not read."""
    source = RecordingSource([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    walk = PredictionWalk(source)

    first, second = walk.of(pa.array([0, 2])), walk.of(pa.array([2, 4]))

    assert source.read == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(first.means, [[0.1, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(second.means, [[0.3, 0.5]], rtol=1e-6)


def test_unpredicted_id_does_not_read_all_shards():
    """Reading stops at the first larger id."""
    source = RecordingSource([0.1, 0.2, 0.3, 0.4])

    predicted = PredictionWalk(source).of(pa.array([-5, 1]))

    assert source.read == [0, 1]
    assert predicted.is_known.tolist() == [False, True]
    assert np.isnan(predicted.means[0][0])


def test_runs_agree_where_all_predict_the_same_class():
    """Not on an example without a prediction; each run has its own confidence."""
    probs = [[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.8, 0.2]]]
    predicted = PredictionWalk(ArrayShards(probs)).of(pa.array([0, 1, 7]))

    assert predicted.classes.tolist() == [[0, 1, -1], [0, 0, -1]]
    assert predicted.is_agreed.tolist() == [True, False, False]
    np.testing.assert_allclose(predicted.confidences[:, :2], [[0.9, 0.6], [0.7, 0.8]], rtol=1e-6)


def test_classes_alone_have_no_probabilities():
    """Agreement is known all the same."""
    predicted = PredictionWalk(ArrayShards([[0, 1], [1, 1]])).of(pa.array([0, 1]))

    assert predicted.is_agreed.tolist() == [False, True]
    assert (predicted.confidences, predicted.means) == (None, None)


def test_probability_of_one_belongs_to_the_last_bin():
    """Not to an eleventh."""
    sums = CurveSums(("1",))

    sums.update(np.array([[0.0, 1.0]]), {"kl": np.array([3.0, 5.0])})

    curves = sums.result()
    assert curves.counts.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0, 0, 1]]
    assert curves.means["kl"][0][[0, 9]].tolist() == [3.0, 5.0]


def test_empty_shard_has_no_predictions():
    """Nor a curve."""
    predicted = PredictionWalk(RecordingSource([0.5])).of(pa.array([], pa.int64()))

    assert (predicted.classes.shape, predicted.means) == ((2, 0), None)
