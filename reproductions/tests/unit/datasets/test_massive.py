import json
import os

import pytest
from seedproof_reproductions.datasets import massive

from seedproof.errors import EmptyInputError, UnknownLabelError, UnreadableError

ROWS = {
    "train": [("7", "alarm_set", "wake me"), ("9", "play_music", "a song")],
    "validation": [("11", "play_game", "a game")],
    "test": [("2", "alarm_query", "which alarms")],
}


@pytest.fixture
def made_massive(data_folder):
    """A few utterances of two domains."""
    (data_folder / "massive").mkdir()
    for split, rows in ROWS.items():
        lines = [json.dumps({"id": i, "label": 0, "text": t, "label_text": n}) for i, n, t in rows]
        path = data_folder / "massive" / f"{split}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.usefixtures("made_massive")
def test_the_domain_is_the_first_word_of_the_intent():
    """Ids are those of the source."""
    data = massive.load()

    assert data.classes == ("alarm", "play")
    assert data.train.labels.tolist() == [0, 1]
    assert data.dev.labels.tolist() == [1]
    assert (data.test.ids.tolist(), data.test.labels.tolist()) == ([2], [0])


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ('{"id": "7", "te', UnreadableError, "Line 1 of .*train.jsonl is no JSON"),
        ('{"id": "7", "text": "wake me"}', UnreadableError, "Line 1 of .*label_text"),
        ('{"id": "seven", "text": "a", "label_text": "b"}', UnreadableError, "a number as id"),
        ('{"id": "7", "text": 1, "label_text": "b"}', UnreadableError, "texts as text"),
        ("7", UnreadableError, "Line 1 of .*train.jsonl is not laid out"),
        ("", EmptyInputError, "train.jsonl has no utterances"),
        (
            '{"id": "7", "text": "wake me", "label_text": "alarm_set"}',
            UnknownLabelError,
            "validation.jsonl has the class 'play', and .*train.jsonl has not",
        ),
    ],
)
@pytest.mark.usefixtures("made_massive")
def test_a_damaged_part_to_train_on_is_refused(data_folder, line, error, message):
    """By its name, with what is wrong and what to do."""
    (data_folder / "massive" / "train.jsonl").write_text(line, encoding="utf-8")

    with pytest.raises(error, match=message + r".*Put the published file in its place"):
        massive.load()


@pytest.mark.usefixtures("made_massive")
def test_each_file_of_other_bytes_is_noted():
    """Made files are none of the published ones."""
    notes = massive.load().notes

    assert ["train.jsonl" in notes[0], "validation.jsonl" in notes[1]] == [True, True]
    assert len(notes) == 3


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="needs the data sets")
def test_the_published_files_have_the_papers_sizes():
    """11,514 and 2,974 utterances of 18 domains."""
    data = massive.load()

    assert (data.n_classes, len(data.train), len(data.test)) == (18, 11_514, 2_974)
    assert data.notes == ()
