import json
import os

import numpy as np
import pytest
from seedproof_reproductions.datasets import clinc150
from seedproof_reproductions.datasets.intents import Utterances

from seedproof.errors import EmptyInputError, NotFoundError, UnknownLabelError, UnreadableError


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
    path = data_folder / "clinc150" / "data_full.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


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


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("{junk", UnreadableError, "is no JSON"),
        (b"\xff\xfe", UnreadableError, "is no JSON"),
        ("[1, 2]", UnreadableError, "needs the splits train, val and test"),
        ('{"train": []}', UnreadableError, "needs the splits train, val and test"),
        ('{"train": [["a"]], "val": [], "test": []}', UnreadableError, "pairs of a text"),
        ('{"train": [["a", "x"]], "val": [], "test": []}', EmptyInputError, "'val' .* no utter"),
        (
            '{"train": [["a", "x"]], "val": [["b", "x"]], "test": [["c", "y"]]}',
            UnknownLabelError,
            "'test' of .* has the class 'y', and .*'train' of .* has not",
        ),
    ],
)
def test_a_damaged_copy_of_ones_own_is_refused(made_clinc, content, error, message):
    """By its name, with what is wrong and what to do."""
    made_clinc.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(error, match=message) as raised:
        clinc150.load()

    assert str(made_clinc) in str(raised.value)
    assert "Put the published file in its place" in str(raised.value)


def test_a_copy_of_other_bytes_is_noted(made_clinc):
    """It may be used, and whoever does is told which file it is."""
    (note,) = clinc150.load().notes

    assert note.startswith(f"Caution: {made_clinc} is not the published file")


def test_a_missing_file_is_asked_for_by_its_path(tmp_path, monkeypatch):
    """Below the folder that the variable names, not as that folder."""
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Nobody listens there.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")

    wanted = r"put it at clinc150/data_full\.json below the folder that SEEDPROOF_DATA names"
    with pytest.raises(NotFoundError, match=wanted):
        clinc150.load()


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
    assert data.notes == ()


def test_a_part_is_the_same_each_time():
    """In the order of the whole, with its ids."""
    texts = Utterances(np.arange(100), tuple(map(str, range(100))), np.zeros(100, dtype=int))

    part = texts.smaller(10, seed=3)

    assert part.texts == texts.smaller(10, seed=3).texts
    assert part.ids.tolist() == sorted(part.ids.tolist()) == [int(text) for text in part.texts]
    assert texts.smaller(None, seed=3) is texts
    assert texts.smaller(500, seed=3) is texts
