import lzma
import os

import numpy as np
import pytest
from seedproof_reproductions.datasets import agnews

TEST = [
    ("1", "t", "World peace"),
    ("2", "t", "Sports"),
    ("3", "t", "Oil price"),
    ("4", "t", "Chip"),
]


def test_world_is_0_and_business_is_1_by_the_description(write_csv):
    """Sports and science are left out; ids are places in the file."""
    write_csv("agnews/test.csv", TEST)
    write_csv("agnews/train.csv", [(kind, "title", "text") for kind in "1313" * 10])

    data = agnews.load()

    assert data.test.tokens == (("world", "peace"), ("oil", "price"))
    assert data.test.labels.tolist() == [0, 1]
    assert data.test.ids.tolist() == [0, 2]
    assert (len(data.train), len(data.dev)) == (36, 4)
    assert agnews.PARTIAL_NOTE not in data.notes


def test_the_partial_file_stands_in_and_is_told(data_folder, write_csv):
    """Without the official file the part is used, and a note says so."""
    write_csv("agnews/test.csv", TEST)
    text = "class,title,description,source\n" + "1,,War,x\n3,,Trade,x\n2,,Goal,x\n" * 5
    packed = data_folder / "agnews" / "agnews_train_partial.csv.xz"
    packed.write_bytes(lzma.compress(text.encode()))

    data = agnews.load()

    assert len(data.train) + len(data.dev) == 10
    assert agnews.PARTIAL_NOTE in data.notes


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
def test_the_real_test_file_has_the_sizes_of_the_paper():
    """Table 1: 1900 of each class."""
    assert np.bincount(agnews.load().test.labels).tolist() == [1900, 1900]
