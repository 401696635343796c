"""`seedproof reproduce` from the command line: smoke runs, resumed, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest

import seedproof as sp
from seedproof.records.location import Location
from seedproof.records.reader import Store

NAME = "sst-cnn-additive-epochs-2-n-train-400-n-dev-200-n-test-200"
CONLL = ("reproduce", "conll2019", "--smoke", "--engine", "serial")
THESIS = ("reproduce", "thesis2019", "--smoke", "--engine", "serial")
FINDINGS = ("reproduce", "findings2023", "--dataset=massive", "--smoke", "--engine", "serial")


def smoke(seedproof, folder, *command):
    """Train, and train again: what is shown and kept, once it is clear that no run is repeated."""
    code, out, err = seedproof(*command, "--results", "kept")
    made = {path: path.stat().st_mtime_ns for path in folder.rglob("run.json")}
    again = seedproof(*command, "--results", "kept")

    assert code == again[0] == 0, err
    assert out == again[1]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("run.json")} == made
    (kept,) = (folder / "kept").iterdir()
    return len(made), out.splitlines(), err, json.loads(kept.read_bytes())


@pytest.mark.usefixtures("made_sst")
def test_conll2019_smoke_run_trains_prints_and_resumes(seedproof, tmp_path):
    """Three seeds of two arms are trained once; the second call only prints the same table."""
    n_runs, lines, _, kept = smoke(seedproof, tmp_path, *CONLL)

    assert n_runs == 6
    assert [line.split()[0] for line in lines[2:5]] == ["arm", "none", "aswa"]
    assert kept["name"] == NAME
    assert kept["arms"]["aswa"]["runs"] == ["0", "1", "2"]
    assert (tmp_path / "runs" / "conll2019" / NAME).is_dir()


@pytest.mark.usefixtures("made_sst")
def test_conll2019_explains_models_and_writes_a_page(seedproof, tmp_path):
    """An LSTM with dot attention and Adagrad; explanations have their own store."""
    model = ("--encoder", "lstm", "--attention", "dot", "--optimizer", "adagrad")
    model = (*model, "--learning-rate", 0.05, "--epochs", 1, "--seeds", 2)
    command = (*CONLL, *model, "--store", "mine", "--results", "kept")
    stored = ("reproduce", "conll2019", "--from-results", "--results", "kept")

    code, out, err = seedproof(*command, "--arms", "none, ema", "--explain", "--lime-examples", 5)
    page = seedproof(*stored, "--page", "page.md")
    shown = seedproof(*stored)

    assert code == page[0] == shown[0] == 0, err + page[2]
    arms = ["ema", "ema", "none", "none"]
    for store in ("mine", "mine-explained"):
        assert [run.arm for run in Store(Location.of(tmp_path / store)).runs] == arms
    name = f"{NAME}-explained.json".replace(
        "cnn-additive-epochs-2", "lstm-dot-epochs-1-optimizer-adagrad-learning-rate-0.05"
    )
    kept = json.loads((tmp_path / "kept" / name).read_text(encoding="utf-8"))
    assert kept["explaining"] == {"n_lime": 5, "n_samples": 100, "n_draws": 2}
    assert shown[1].split() == out.split()
    assert (tmp_path / "page.md").is_file()


@pytest.mark.usefixtures("made_massive")
@pytest.mark.parametrize(
    ("track", "n_runs", "arms"),
    [
        ("head", 15, ["none", "tgtss-shared*", "tgtss", "linear", "heads-4"]),
        pytest.param("finetune", 6, ["none", "tgtss-free", "ema"], marks=pytest.mark.full),
    ],
)
def test_findings2023_smoke_run_trains_prints_and_resumes(seedproof, tmp_path, track, n_runs, arms):
    """Every arm has a line; the second time nothing is trained, and the table stays."""
    n_made, lines, err, kept = smoke(seedproof, tmp_path, *FINDINGS, "--track", track)

    assert n_made == n_runs
    assert [line.split()[0] for line in lines[3 : 3 + len(arms)]] == arms
    assert all(len(line) <= 80 for line in lines)
    assert err.count("train.jsonl") == 1  # it is not the published file
    assert kept["sizes"] == {"train": 60, "test": 26}
    costs = {name: arm["costs"]["training"] for name, arm in kept["arms"].items()}
    # With a frozen encoder a teacher is nearly free; fine-tuned, it costs as much again.
    student = "tgtss" if track == "head" else "tgtss-free"
    assert costs[student] == pytest.approx(1 if track == "head" else 2, abs=0.1)


@pytest.mark.usefixtures("made_movielens")
@pytest.mark.parametrize("model", ["deepicf", pytest.param("neumf", marks=pytest.mark.full)])
def test_thesis2019_smoke_run_trains_prints_and_resumes(seedproof, tmp_path, model):
    """Runs keep probabilities, lists, attention and weights; a second call trains nothing."""
    command = (*THESIS, "--model", model, "--arms", "none,class-balanced", "--store", "mine")
    n_runs, lines, _, kept = smoke(seedproof, tmp_path, *command)

    assert n_runs == 4
    assert [line.split()[0] for line in lines[1:]] == ["arm", "none", "class-balanced"]
    assert kept["setting"]["model"] == model
    scalars = kept["arms"]["none"]["scalars"]
    assert {"cpu_seconds", "train_loss"} < set(scalars)
    # Sixty users with thirty candidates, of which one was dropped.
    measured = sp.measure(str(tmp_path / "mine"), arm="none", split="test")
    assert (measured.measurement.n_runs, measured.measurement.n_examples) == (2, 1799)
    assert ("attention" in measured.measurement.explanations) == (model == "deepicf")
    for part in ("candidates", "catalog"):
        lists = sp.measure(str(tmp_path / "mine"), arm="none", split=part)
        stored = kept["arms"]["none"][part]["metrics"]
        assert lists.measurement.n_examples == 60
        # Stored with six digits.
        for name in ("first_item_flips", "hit_rate@10", "ndcg@10"):
            assert lists[name].value == pytest.approx(stored[name][0], rel=1e-5)
        for name in ("hit_rate", "ndcg"):
            logged = np.mean(scalars[f"{name}_10_{part}"])
            assert lists[f"{name}@10"].value == pytest.approx(logged, rel=1e-5)
        assert "first_item_flips" in kept["arms"]["class-balanced"][part]["effects"]
    page = seedproof(
        "reproduce", "thesis2019", "--from-results", "--results=kept", "--page=page.md"
    )
    assert page[0] == 0, page[2]
    assert (tmp_path / "page" / "first-item.svg").is_file()
    is_explained = kept["arms"]["none"]["attention"] is not None
    assert is_explained == (model == "deepicf")
    assert len(list((tmp_path / "mine").rglob("weights.pt"))) == 4


@pytest.mark.parametrize("paper", ["conll2019", "findings2023", "thesis2019"])
def test_stored_results_are_shown_without_torch(paper, tmp_path):
    """The verb imports neither torch nor the code that draws pages."""
    code = (
        "import sys; from seedproof.cli import main\n"
        "heavy = {'torch', 'transformers', 'altair', 'pooch'}; assert not heavy & set(sys.modules)\n"
        "sys.modules.update(dict.fromkeys(heavy))\n"
        f"sys.argv = ['seedproof', 'reproduce', '{paper}', '--from-results']; main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert len(done.stdout.splitlines()) > 8


@pytest.mark.parametrize(
    "arguments",
    [
        "conll2020", "conll2019 --track head", "conll2019 --from-results --dataset sst",
        "conll2019 --from-results --results nowhere", "conll2019 --results note",
        "conll2019 --store note", "conll2019 --dataset sts", "conll2019 --arms none,awsa",
        "conll2019 --optimizer adamw", "conll2019 --seeds 0", "conll2019 --smoke --seeds 1",
        "conll2019 --page page.md", "conll2019 --learning-rate 0", "thesis2019 --learning-rate 1",
        "conll2019 --from-results --page page", "conll2019 --from-results --page mine.md",
        "conll2019 --from-results --encoder cnn", "conll2019 --lime-samples 10",
        "conll2019 --dataset diabetes", "findings2023 --explain", "findings2023 --lime-samples 10",
        "findings2023 --dataset sst", "findings2023 --track heads",
        "findings2023 --arms none,awsa", "findings2023 --track finetune --arms knn",
        "findings2023 --epochs 0", "findings2023 --smoke --seeds 1",
        "findings2023 --from-results --page page.html",
        "findings2023 --from-results --results conll", "thesis2019", "thesis2019 --model mlp",
        "thesis2019 --output linear", "thesis2019 --dataset sst", "thesis2019 --n-train 10",
        "thesis2019 --arms none,aswa", "thesis2019 --model gmf --arms shared-pretraining",
        "thesis2019 --n-users 1", "conll2019 --n-users 10",
        "thesis2019 --from-results --model gmf",
    ],
)  # fmt: skip
def test_invalid_commands_are_refused_before_any_file_is_written(
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
