import json
import os

import pytest

from seedproof.papers.datasets import massive

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


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="needs the data sets")
def test_the_published_files_have_the_papers_sizes():
    """11,514 and 2,974 utterances of 18 domains."""
    data = massive.load()

    assert (data.n_classes, len(data.train), len(data.test)) == (18, 11_514, 2_974)
