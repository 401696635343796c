"""Made data sets in a folder of the user's own copies."""

import csv
import json

import numpy as np
import pytest

GOOD, BAD = ("fine", "warm", "clever"), ("dull", "cold", "clumsy")
FILLER = ("the", "film", "is", "a", "story", "of", "two", "people")
REQUESTS = {
    "alarm_set": ("wake me up at", ("six", "seven", "noon", "nine")),
    "weather_query": ("will it rain in", ("paris", "rome", "oslo", "lima")),
    "music_play": ("please play a song by", ("queen", "abba", "adele", "prince")),
    "email_send": ("write an email to", ("anna", "bob", "carla", "dan")),
}
DAYS = ("today", "tomorrow", "on monday", "on friday", "this week", "next week")


@pytest.fixture
def made_data(tmp_path_factory, monkeypatch):
    """Sentences in place of SST, with word vectors, and requests in place of MASSIVE."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("data")
    for name in ("sst", "word_vectors", "massive"):
        (folder / name).mkdir()
    rows = [("text", "label", "exp_split")]
    for split, n_rows in (("train", 80), ("dev", 30), ("test", 30)):
        for i in range(n_rows):
            words = [*rng.choice(FILLER, 6), *rng.choice(GOOD if i % 2 else BAD, 2)]
            rows.append((" ".join(rng.permutation(words)), i % 2, split))
        rows.append((" ".join(FILLER * 2), 0, split))  # the longest is left out
    with (folder / "sst" / "sst_dataset.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    np.savez(
        folder / "word_vectors" / "glove6b_100d_subset_f16.npz",
        words=np.frombuffer("\n".join((*GOOD, *BAD, *FILLER)).encode(), dtype=np.uint8),
        vectors=rng.normal(0, 0.4, (14, 100)).astype(np.float16),
    )
    requests = [
        {"text": f"{words} {name} {day}", "label_text": intent}
        for intent, (words, names) in REQUESTS.items()
        for name in names
        for day in DAYS
    ]
    order = [requests[i] | {"id": str(i)} for i in rng.permutation(len(requests))]
    for split, part in {
        "train": order[:60],
        "validation": order[60:70],
        "test": order[70:],
    }.items():
        lines = "".join(json.dumps(row) + "\n" for row in part)
        (folder / "massive" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("SEEDPROOF_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder
