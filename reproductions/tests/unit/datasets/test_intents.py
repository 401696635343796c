import json
import os

import numpy as np
import pytest

from seedproof.errors import (
    EmptyInputError,
    NotFoundError,
    ShapeError,
    UnknownLabelError,
    UnreadableError,
)
from seedproof_reproductions.datasets.intents import Utterances, load_clinc150, load_massive

needs_data = pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="needs the data sets")
CLINC = {
    "train": [["what is my balance", "balance"], ["wake me at six", "alarm"]],
    "val": [["set an alarm", "alarm"]],
    "test": [["how much money is left", "balance"], ["alarm at noon", "alarm"]],
    "oos_train": [["who are you", "oos"]],
}
MASSIVE = {
    "train": [("7", "alarm_set", "wake me"), ("9", "play_music", "a song")],
    "validation": [("11", "play_game", "a game")],
    "test": [("2", "alarm_query", "which alarms")],
}


@pytest.fixture
def clinc150(data_folder):
    """Two intents, and requests out of scope."""
    (data_folder / "clinc150").mkdir()
    path = data_folder / "clinc150" / "data_full.json"
    path.write_text(json.dumps(CLINC), encoding="utf-8")
    return path


@pytest.fixture
def massive(data_folder):
    """A few utterances of two domains."""
    (data_folder / "massive").mkdir()
    for split, rows in MASSIVE.items():
        lines = [json.dumps({"id": i, "text": t, "label_text": n}) for i, n, t in rows]
        path = data_folder / "massive" / f"{split}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return data_folder / "massive" / "train.jsonl"


def test_intents_of_clinc150_are_classes_in_the_order_of_their_names(clinc150):
    """Without those out of scope; ids go on from split to split; other bytes are noted."""
    data = load_clinc150()

    assert data.classes == ("alarm", "balance")
    assert data.train.labels.tolist() == [1, 0]
    assert data.test.texts == ("how much money is left", "alarm at noon")
    ids = [split.ids.tolist() for split in (data.train, data.dev, data.test)]
    assert ids == [[0, 1], [2], [3, 4]]
    assert str(clinc150) in data.notes[0]


@pytest.mark.usefixtures("massive")
def test_the_domain_of_massive_is_the_first_word_of_the_intent():
    """Ids are those of the source; each of the three files is noted."""
    data = load_massive()

    assert data.classes == ("alarm", "play")
    assert data.train.labels.tolist() == [0, 1]
    assert data.dev.labels.tolist() == [1]
    assert (data.test.ids.tolist(), data.test.labels.tolist()) == ([2], [0])
    assert len(data.notes) == 3


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"{junk", UnreadableError),
        (b"\xff\xfe", UnreadableError),
        (b"[1, 2]", UnreadableError),
        (b'{"train": []}', UnreadableError),
        (b'{"train": [["a"]], "val": [], "test": []}', UnreadableError),
        (b'{"train": [["a", "x"]], "val": [], "test": []}', EmptyInputError),
        (b'{"train": [["a", "x"]], "val": [["b", "x"]], "test": [["c", "y"]]}', UnknownLabelError),
    ],
)
def test_a_damaged_copy_of_clinc150_is_refused_by_its_name(clinc150, content, error):
    """Not JSON, not laid out as published, an empty split, a class that is not trained on."""
    clinc150.write_bytes(content)
    with pytest.raises(error) as raised:
        load_clinc150()
    assert str(clinc150) in str(raised.value)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"id": "7", "te', UnreadableError),
        ('{"id": "7", "text": "wake me"}', UnreadableError),
        ('{"id": "seven", "text": "a", "label_text": "b"}', UnreadableError),
        ('{"id": "7", "text": 1, "label_text": "b"}', UnreadableError),
        ("7", UnreadableError),
        ("", EmptyInputError),
        ('{"id": "7", "text": "wake me", "label_text": "alarm_set"}', UnknownLabelError),
    ],
)
def test_a_damaged_copy_of_massive_is_refused_by_its_name(massive, line, error):
    """A missing field, a wrong type, no rows, a class that is not trained on."""
    massive.write_text(line, encoding="utf-8")
    with pytest.raises(error) as raised:
        load_massive()
    assert str(massive) in str(raised.value)


def test_a_file_that_cannot_be_fetched_is_an_error(data_folder, monkeypatch):
    """Of ours, with exit code 2."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(data_folder / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(NotFoundError):
        load_clinc150()


@needs_data
@pytest.mark.parametrize(
    ("load", "sizes"),
    [(load_clinc150, (150, 15_000, 3_000, 4_500)), (load_massive, (18, 11_514, 2_033, 2_974))],
)
def test_the_published_files_have_the_papers_sizes(load, sizes):
    """Classes, and utterances of each split; nothing is noted."""
    data = load()

    assert (data.n_classes, len(data.train), len(data.dev), len(data.test)) == sizes
    assert data.notes == ()


def test_a_sample_is_the_same_each_time():
    """In the order of the whole, with its ids."""
    texts = Utterances(np.arange(100), tuple(map(str, range(100))), np.zeros(100, dtype=int))

    part = texts.sample(10, seed=3)

    assert part.texts == texts.sample(10, seed=3).texts
    assert part.ids.tolist() == sorted(part.ids.tolist()) == [int(text) for text in part.texts]
    assert texts.sample(None, seed=3) is texts.sample(500, seed=3) is texts
    with pytest.raises(ShapeError):
        Utterances(np.arange(2), ("a",), np.zeros(2, dtype=int))
