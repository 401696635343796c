import json
import os

import numpy as np
import pytest

from seedproof.errors import EmptyInputError, UnknownLabelError, UnreadableError
from seedproof_reproductions.datasets.intents import Utterances, load_clinc150, load_massive

FILE, LINES = "clinc150/data_full.json", "massive/train.jsonl"
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


def test_clinc150_intents_are_classes_sorted_by_name(write):
    """Out-of-scope utterances are dropped; ids continue over splits; other bytes are noted."""
    path = write(FILE, json.dumps(CLINC))

    data = load_clinc150()

    assert (data.classes, data.train.labels.tolist()) == (("alarm", "balance"), [1, 0])
    assert data.test.texts == tuple(text for text, _ in CLINC["test"])
    assert [*data.train.ids, *data.dev.ids, *data.test.ids] == [0, 1, 2, 3, 4]
    assert str(path) in data.notes[0]


def test_massive_domain_is_the_first_word_of_the_intent(write_massive):
    """Ids are those of the source; changes in each of the three files are noted."""
    write_massive(**MASSIVE)

    data = load_massive()

    assert (data.classes, data.train.labels.tolist()) == (("alarm", "play"), [0, 1])
    assert data.dev.labels.tolist() == [1]
    assert (data.test.ids.tolist(), data.test.labels.tolist()) == ([2], [0])
    assert len(data.notes) == 3


@pytest.mark.parametrize(
    ("path", "content", "error"),
    [
        (FILE, b"\xff\xfe", UnreadableError),
        (FILE, "[1, 2]", UnreadableError),
        (FILE, json.dumps({"train": CLINC["train"]}), UnreadableError),
        (FILE, json.dumps(CLINC | {"val": [["a", 1]]}), UnreadableError),
        (FILE, json.dumps(CLINC | {"val": []}), EmptyInputError),
        (FILE, json.dumps(CLINC | {"val": [["a", "b"]]}), UnknownLabelError),
        (LINES, '{"id": "7", "te', UnreadableError),
        (LINES, '{"id": "7", "text": "wake me"}', UnreadableError),
        (LINES, '{"id": "x", "text": "a", "label_text": "b"}', UnreadableError),
        (LINES, '{"id": "7", "text": 1, "label_text": "b"}', UnreadableError),
        (LINES, "", EmptyInputError),
        (LINES, '{"id": "7", "text": "a", "label_text": "b"}', UnknownLabelError),
    ],
)
def test_damaged_copy_is_refused_by_name(write, write_massive, path, content, error):
    """Not JSON, another layout, an empty split, or a class without training examples."""
    write_massive(**MASSIVE)
    damaged = write(path, content)
    with pytest.raises(error) as raised:
        (load_massive if path == LINES else load_clinc150)()
    assert any(str(damaged) in str(value) for value in raised.value.fields.values())


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="needs the data sets")
def test_real_intent_files_have_the_published_sizes():
    """Number of classes, and of utterances per split, without notes."""
    for data, *sizes in (
        (load_clinc150(), 150, 15_000, 3_000, 4_500), (load_massive(), 18, 11_514, 2_033, 2_974),
    ):  # fmt: skip
        assert [data.n_classes, len(data.train), len(data.dev), len(data.test)] == sizes
        assert data.notes == ()


def test_sample_is_the_same_each_time():
    """It keeps the order and the ids."""
    texts = Utterances(np.arange(100), tuple(map(str, range(100))), np.zeros(100, dtype=int))
    part, again = (texts.sample(10, seed=3) for _ in range(2))

    assert part.texts == again.texts
    assert part.ids.tolist() == sorted(part.ids.tolist()) == [int(text) for text in part.texts]
    assert texts.sample(None, seed=3) is texts.sample(500, seed=3) is texts
