import pytest
from seedproof_reproductions.making import left_out, make_runs

from seedproof.errors import TooFewRunsError
from seedproof.study.study import Study


def train(run):
    """Nothing to learn: two examples, as the seed has it."""
    probs = run.rng("init").dirichlet([1.0, 1.0], 2)
    run.log_predictions("test", ids=[0, 1], probs=probs, labels=[0, 1], classes=["a", "b"])


def study(store, *, seeds, arms=("none",)):
    """A study of a moment."""
    return Study("made", train, seeds=seeds, arms=arms, store=store)


def make(one, **options):
    """Its runs, one after the other; how often the data were read."""
    checked = []
    make_runs(one, check=lambda: checked.append(1), engine="serial", **options)
    return len(checked)


def test_one_run_alone_is_refused_before_it_is_made(tmp_path):
    """No other seed, nothing to compare: nothing is written, nothing is read."""
    with pytest.raises(TooFewRunsError, match="Give --seeds 2 or more"):
        make(study(tmp_path / "store", seeds=1))

    assert not (tmp_path / "store").exists()


def test_a_store_that_has_more_runs_may_be_asked_for_one(tmp_path):
    """Of the arm that has them; another arm would still be alone."""
    make(study(tmp_path, seeds=2), progress=False)

    assert make(study(tmp_path, seeds=1), progress=False) == 0
    with pytest.raises(TooFewRunsError, match="'ema' would have one run"):
        make(study(tmp_path, seeds=1, arms=("none", "ema")))


def test_arms_that_no_table_shows_are_named(tmp_path):
    """As they were planned."""
    make(study(tmp_path, seeds=2, arms=("none", "ema", "swa")), progress=False)

    assert left_out(tmp_path, {"none", "swa"}) == ("ema",)
    assert left_out(tmp_path, ["swa", "ema", "none"]) == ()


def test_very_many_runs_are_announced(tmp_path, capsys, monkeypatch):
    """Those that are missing, after the data were read; never without progress."""
    monkeypatch.setattr("seedproof_reproductions.making.MANY_RUNS", 3)
    said = "4 runs in 2 arms; some arms are slow: this takes hours. --arms and --seeds make it"

    assert make(study(tmp_path / "a", seeds=2, arms=("x", "y")), slow="some arms are slow") == 1
    assert capsys.readouterr().err.startswith(said)

    make(study(tmp_path / "a", seeds=3, arms=("x", "y")), slow="some arms are slow")
    make(study(tmp_path / "b", seeds=4), progress=False)
    assert "hours" not in capsys.readouterr().err
