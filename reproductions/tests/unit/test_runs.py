import numpy as np
import pytest

from seedproof.errors import OptionError, TooFewRunsError
from seedproof.study.study import Study
from seedproof_reproductions.runs import arms_of, incomplete_arms, make_runs, open_study


def train(run):
    """Log random predictions of two examples."""
    if (run.arm, run.name) == ("crashes", "1"):
        raise RuntimeError(run.arm)
    probs = run.rng("init").dirichlet([1.0, 1.0], 2)
    run.log_predictions(
        "test", ids=[0, 1], probs=probs, labels=np.array([0, 1]), classes=["a", "b"]
    )


def study(store, *, seeds, arms=("none",)):
    """A study that takes a moment."""
    return Study("made", train, seeds=seeds, arms=arms, store=store)


def make(a_study, **options):
    """Make its runs, and count how often the data were checked."""
    checked = []
    make_runs(a_study, check=lambda: checked.append(1), engine="serial", **options)
    return len(checked)


def test_a_single_run_is_refused_before_it_is_made(tmp_path):
    """There is nothing to compare it with: nothing is written, nothing is read."""
    with pytest.raises(TooFewRunsError):
        make(study(tmp_path / "store", seeds=1))
    assert not (tmp_path / "store").exists()


def test_one_seed_is_enough_where_the_store_has_more(tmp_path):
    """The data are checked only if a run is missing; another arm would still be single."""
    assert make(study(tmp_path, seeds=2), progress=False) == 1
    assert make(study(tmp_path, seeds=1), progress=False) == 0
    with pytest.raises(TooFewRunsError):
        make(study(tmp_path, seeds=1, arms=("none", "ema")))


def test_many_runs_are_announced(tmp_path, capsys, monkeypatch):
    """With their number, if they are missing; never without progress."""
    monkeypatch.setattr("seedproof_reproductions.runs.MANY_RUNS", 3)

    make(study(tmp_path / "a", seeds=2, arms=("x", "y")), slow="some arms are slow")
    announced = capsys.readouterr().err.splitlines()[0]
    make(study(tmp_path / "a", seeds=3, arms=("x", "y")))
    make(study(tmp_path / "b", seeds=4), progress=False)

    assert announced.startswith("4 runs in 2 arms; some arms are slow")
    assert "hours" not in capsys.readouterr().err


def test_arms_are_opened_with_the_baseline_first(tmp_path):
    """The others follow as planned; those with a single run are left out, and reported."""
    arms = ("a", "b", "crashes")
    study(tmp_path, seeds=2, arms=arms).run("serial", progress=False)

    sides = arms_of(tmp_path, baseline="b", split="test")

    assert [side.name for side in sides] == ["b", "a"]
    assert sides[1].is_paired_with(sides[0])
    assert [side.name for side in arms_of(tmp_path, baseline=None, split="test")] == ["a", "b"]
    assert incomplete_arms(tmp_path, {"a", "b"}) == ("crashes",)
    with pytest.raises(OptionError):  # it is not the study of a recipe
        open_study(tmp_path, "conll2019")
