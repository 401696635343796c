"""`seedproof reproduce` from the command line: a smoke run, gone on with, and what is refused."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from seedproof.records.location import Location
from seedproof.records.reader import Store

GOOD, BAD = ("fine", "warm", "clever"), ("dull", "cold", "clumsy")
FILLER = ("the", "film", "is", "a", "story", "of", "two", "people")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "conll2019.md"
NAME = "sst-cnn-additive-epochs-2-n-train-400-n-dev-200-n-test-200"


@pytest.fixture
def made_sst(tmp_path_factory, monkeypatch):
    """A folder of one's own copies, with made sentences in place of SST."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("data")
    rows = [("text", "label", "exp_split")]
    for split, n_rows in (("train", 80), ("dev", 30), ("test", 30)):
        for i in range(n_rows):
            words = [*rng.choice(FILLER, 6), *rng.choice(GOOD if i % 2 else BAD, 2)]
            rows.append((" ".join(rng.permutation(words)), i % 2, split))
        rows.append((" ".join(FILLER * 2), 0, split))  # the longest is left out
    (folder / "sst").mkdir()
    with (folder / "sst" / "sst_dataset.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    (folder / "word_vectors").mkdir()
    np.savez(
        folder / "word_vectors" / "glove6b_100d_subset_f16.npz",
        words=np.frombuffer("\n".join((*GOOD, *BAD, *FILLER)).encode(), dtype=np.uint8),
        vectors=rng.normal(0, 0.4, (14, 100)).astype(np.float16),
    )
    monkeypatch.setenv("SEEDPROOF_DATA", str(folder))
    return folder


@pytest.mark.usefixtures("made_sst")
def test_a_smoke_run_trains_shows_and_goes_on(seedproof, tmp_path):
    """Three seeds and two arms are made once; the second time nothing is, and the table stays."""
    command = ("reproduce", "conll2019", "--smoke", "--engine", "serial", "--results", "kept")

    code, out, err = seedproof(*command)
    again = seedproof(*command)

    assert code == again[0] == 0, err
    assert out == again[1]
    assert "6 of 6 are finished" in again[2]
    lines = out.splitlines()
    assert lines[0] == f"{NAME}: 3 runs an arm, 30 test examples"
    assert [line.split()[0] for line in lines[2:5]] == ["arm", "none", "aswa"]
    assert lines[5:] == [
        "Not the paper's setting: 80 of 6,355 training texts, 30 of 1,305 test texts, 2",
        "of 20 epochs and 3 of 10 seeds. What is published cannot be compared with this.",
    ]
    assert lines[3].endswith("82.0 ±1.01")
    kept = json.loads((tmp_path / "kept" / f"{NAME}.json").read_text(encoding="utf-8"))
    assert kept["arms"]["aswa"]["runs"] == ["0", "1", "2"]
    assert len(Store(Location.of(tmp_path / "runs" / "conll2019" / NAME)).runs) == 6


@pytest.mark.usefixtures("made_sst")
def test_arms_seeds_and_model_are_as_asked_for(seedproof, tmp_path):
    """An LSTM with dot attention, two seeds, one arm; runs can be added later."""
    command = ("reproduce", "conll2019", "--smoke", "--engine", "serial", "--store", "mine")
    model = ("--encoder", "lstm", "--attention", "dot", "--epochs", "1", "--seeds", "2")

    first = seedproof(*command, *model, "--arms", "none")
    second = seedproof(*command, *model, "--arms", "none, ema")

    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    assert first[1].startswith("sst-lstm-dot-epochs-1-")
    assert [run.arm for run in Store(Location.of(tmp_path / "mine")).runs] == ["ema", "ema", "none", "none"]  # fmt: skip


def files_below(folder):
    """The bytes of each file, by its name."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.*")}


@pytest.mark.usefixtures("made_sst")
def test_models_are_explained_and_a_page_is_made(seedproof, tmp_path):
    """Gradients and LIME go into a store beside the first; the page is made without training."""
    command = ("reproduce", "conll2019", "--smoke", "--engine", "serial", "--results", "kept")
    how = ("--epochs", 1, "--seeds", 2, "--explain", "--lime-examples", 5, "--store", "mine")

    code, out, err = seedproof(*command, *how)
    pages = [
        seedproof("reproduce", "conll2019", "--from-results", "--results", "kept", "--page", name)
        for name in ("one/page.md", "two/page.md")
    ]
    shown = seedproof("reproduce", "conll2019", "--from-results", "--results", "kept")

    assert code == 0, err
    explained = Store(Location.of(tmp_path / "mine-explained")).runs
    assert {run.arm for run in explained} == {"none", "aswa"}
    name = NAME.replace("epochs-2", "epochs-1")
    kept = json.loads((tmp_path / "kept" / f"{name}-explained.json").read_text(encoding="utf-8"))
    assert kept["explaining"] == {"n_lime": 5, "n_samples": 100, "n_draws": 2}
    assert [line.split()[:2] for line in out.splitlines()[-4:]] == [
        ["none", "gradient"], ["none", "lime"], ["aswa", "gradient"], ["aswa", "lime"],
    ]  # fmt: skip
    assert [page[0] for page in pages] == [0, 0], pages[0][2]
    first, second = (files_below(tmp_path / folder) for folder in ("one", "two"))
    assert first == second
    assert "lime-top-words.svg" in first
    assert "> **Not the paper's setting:** this has less than it had." in first["page.md"].decode()
    assert (shown[0], shown[1]) == (0, out.replace("\nsst-cnn", "\n\nsst-cnn"))


def test_the_committed_page_is_rebuilt_on_the_command_line(seedproof, tmp_path):
    """Byte for byte, from the results in the package."""
    code, out, err = seedproof("reproduce", "conll2019", "--from-results", "--page", "conll2019.md")

    assert (code, out) == (0, ""), err
    assert (tmp_path / "conll2019.md").read_bytes() == PAGE.read_bytes()
    for image in PAGE.with_suffix("").iterdir():
        assert (tmp_path / "conll2019" / image.name).read_bytes() == image.read_bytes()


def test_a_folder_without_results_is_told_of(seedproof):
    """Exit code 2, and what to do."""
    code, out, err = seedproof("reproduce", "conll2019", "--from-results", "--results", "nowhere")

    assert (code, out) == (2, "")
    assert "'nowhere' holds no results" in err


def test_results_of_the_other_paper_are_told_apart(seedproof, tmp_path):
    """Neither taken for another version nor shown."""
    (tmp_path / "mixed").mkdir()
    content = {"format": 1, "paper": "findings2023", "name": "one", "setting": {}, "arms": {}}
    (tmp_path / "mixed" / "one.json").write_text(json.dumps(content), encoding="utf-8")

    code, out, err = seedproof("reproduce", "conll2019", "--from-results", "--results", "mixed")

    assert (code, out) == (2, "")
    assert "one.json holds results of another paper, findings2023" in err


@pytest.mark.parametrize("paper", ["conll2019", "findings2023"])
def test_files_and_folders_are_not_taken_for_each_other(seedproof, tmp_path, paper):
    """A page is a file, a store and results are folders: told first, and nothing is touched."""
    (tmp_path / "mine.md").mkdir()
    (tmp_path / "note").write_text("keep me")

    for options, message in (
        (("--from-results", "--page", "mine.md"), "which is a folder"),
        (("--store", "note"), "--store is 'note', which is a file. Name a folder."),
        (("--results", "note"), "--results is 'note', which is a file. Name a folder."),
    ):
        code, out, err = seedproof("reproduce", paper, *options)

        assert (code, out) == (2, "")
        assert message in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.md", "note"]
    assert not list((tmp_path / "mine.md").iterdir())
    assert (tmp_path / "note").read_text() == "keep me"


@pytest.mark.parametrize("paper", ["conll2019", "findings2023"])
def test_one_seed_is_refused_before_it_is_trained(seedproof, tmp_path, paper):
    """There would be nothing to compare: one line, and no store."""
    code, out, err = seedproof("reproduce", paper, "--smoke", "--seeds", 1)

    assert (code, out) == (2, "")
    assert "SP105" in err
    assert "Give --seeds 2 or more" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
@pytest.mark.parametrize(("dataset", "encoder"), [("sst", "cnn"), ("snli", "lstm")])
def test_real_data_sets_are_trained_on(seedproof, dataset, encoder):
    """The files as they are: two seeds, one epoch, one text or two."""
    code, out, err = seedproof(
        "reproduce", "conll2019", "--smoke", "--engine", "serial", "--dataset", dataset,
        "--encoder", encoder, "--epochs", 1, "--seeds", 2, "--arms", "none",
    )  # fmt: skip

    assert code == 0, err
    assert f"{dataset}-{encoder}-additive" in out
    assert "200 test examples" in out


def test_own_copies_are_asked_for_once_and_first(seedproof, tmp_path, monkeypatch):
    """Clinical notes that are not there: one line, exit code 2, and no run is planned."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path / "data"))

    code, out, err = seedproof("reproduce", "conll2019", "--dataset", "diabetes")

    assert (code, out) == (2, "")
    assert "MIMIC-III may not be passed on, and mimic/diabetes.csv is not below the folder" in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("conll2020",), "Known: conll2019, findings2023"),
        (("conll2019", "--track", "head"), "--track goes with findings2023, not with conll2019"),
        (("conll2019", "--from-results", "--dataset", "sst"), "--dataset is about training"),
        (("findings2023", "--explain"), "--explain goes with conll2019"),
        (("findings2023", "--lime-samples", 10), "--lime-samples goes with conll2019"),
        (("findings2023", "--dataset", "sst"), "Known: clinc150, massive"),
        (("findings2023", "--track", "heads"), "Known: head, finetune"),
        (("findings2023", "--arms", "none,awsa"), "There is no arm 'awsa'"),
        (("findings2023", "--track", "finetune", "--arms", "knn"), "has no arm 'knn'"),
        (("findings2023", "--epochs", 0), "epochs is 0"),
        (("conll2019", "--dataset", "sts"), "Known: sst, imdb"),
        (("conll2019", "--arms", "none,awsa"), "There is no stabilizer 'awsa'"),
        (("conll2019", "--seeds", 0), "0"),
        (("conll2019", "--page", "page.md"), "Add --from-results"),
        (("conll2019", "--from-results", "--page", "page"), "ends in .md"),
        (("findings2023", "--from-results", "--page", "page.html"), "ends in .md"),
        (("conll2019", "--lime-samples", 10), "go with --explain"),
    ],
)
def test_what_is_unknown_is_refused_in_one_line(seedproof, tmp_path, arguments, message):
    """Exit code 2, the known names, and nothing is made."""
    code, out, err = seedproof("reproduce", *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
