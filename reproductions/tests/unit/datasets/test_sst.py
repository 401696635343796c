import os

import numpy as np
import pytest
from seedproof_reproductions.datasets import sst


def test_the_filter_keeps_more_than_five_and_fewer_than_the_longest(write_csv):
    """Of 5, 6, 7 and 8 tokens, those of 6 and 7 stay; ids are places in the file."""
    rows = [("text", "label", "exp_split")]
    for split in ("dev", "train", "test"):
        rows += [(" ".join("w" * n), n % 2, split) for n in (5, 6, 7, 8)]
    write_csv("sst/sst_dataset.csv", rows)

    data = sst.load()

    assert [len(words) for words in data.train.tokens] == [6, 7]
    assert data.train.ids.tolist() == [5, 6]
    assert data.train.labels.tolist() == [0, 1]
    assert data.test.ids.tolist() == [9, 10]


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
def test_the_real_file_has_the_sizes_of_the_paper():
    """Table 1: 3034 and 3321 sentences to train on."""
    data = sst.load()

    assert np.bincount(data.train.labels).tolist() == [3034, 3321]
    assert np.bincount(data.dev.labels).tolist() == [397, 424]
    assert np.bincount(data.test.labels).tolist() == [863, 862]
