import json
import os

import numpy as np
import pytest

from seedproof.papers.datasets import clinc150
from seedproof.papers.datasets.intents import Utterances


@pytest.fixture
def made_clinc(data_folder):
    """Two intents, and requests out of scope."""
    content = {
        "train": [["what is my balance", "balance"], ["wake me at six", "alarm"]],
        "val": [["set an alarm", "alarm"]],
        "test": [["how much money is left", "balance"], ["alarm at noon", "alarm"]],
        "oos_train": [["who are you", "oos"]],
    }
    (data_folder / "clinc150").mkdir()
    (data_folder / "clinc150" / "data_full.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.usefixtures("made_clinc")
def test_intents_are_classes_in_the_order_of_their_names():
    """Without those that are out of scope; ids go on from split to split."""
    data = clinc150.load()

    assert data.classes == ("alarm", "balance")
    assert data.train.labels.tolist() == [1, 0]
    assert data.test.texts == ("how much money is left", "alarm at noon")
    assert [split.ids.tolist() for split in (data.train, data.dev, data.test)] == [
        [0, 1],
        [2],
        [3, 4],
    ]


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="needs the data sets")
def test_the_published_file_has_the_papers_sizes():
    """15,000, 3,000 and 4,500 utterances of 150 intents, 30 of each to test on."""
    data = clinc150.load()

    assert (data.n_classes, len(data.train), len(data.dev), len(data.test)) == (
        150,
        15_000,
        3_000,
        4_500,
    )
    assert np.bincount(data.test.labels).tolist() == [30] * 150


def test_a_part_is_the_same_each_time():
    """In the order of the whole, with its ids."""
    texts = Utterances(np.arange(100), tuple(map(str, range(100))), np.zeros(100, dtype=int))

    part = texts.smaller(10, seed=3)

    assert part.texts == texts.smaller(10, seed=3).texts
    assert part.ids.tolist() == sorted(part.ids.tolist()) == [int(text) for text in part.texts]
    assert texts.smaller(None, seed=3) is texts
    assert texts.smaller(500, seed=3) is texts
