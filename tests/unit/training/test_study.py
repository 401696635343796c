import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import CodeChangedError, OptionError, StudyChangedError, TooFewRunsError
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.testing.errors import WithFields

N_EXAMPLES = 30


def train(run):
    """Draws from a source and from the global stream, as trainings do."""
    answers = run.rng("init").dirichlet([2, 2], size=N_EXAMPLES)
    run.log_scalar("loss", float(np.random.rand()))  # noqa: NPY002, TID251 - the run's own stream
    run.log_predictions("test", probs=answers)


@pytest.fixture
def study(tmp_path):
    """Three seeds in two arms, not made yet."""
    return sp.Study("asked", train, seeds=3, arms=["none", "aswa"], store=tmp_path / "runs")


def finish(study):
    """Make every run in a loop of one's own."""
    names = []
    while (run := study.ask()) is not None:
        with run.active():
            train(run)
        study.tell(run)
        names.append((run.arm, run.name))
    return names


def test_asking_gives_every_run_once(study):
    """All arms of a seed together, as in the plan; then there is nothing left."""
    assert finish(study) == [(arm, str(seed)) for seed in range(3) for arm in ("none", "aswa")]

    assert study.ask() is None
    assert study.status().counts == {"finished": 6}


def test_runs_that_were_asked_for_are_those_that_an_engine_makes(study, tmp_path):
    """The same seeds inside `active`, so the same predictions and scalars, bit by bit."""
    finish(study)
    other = sp.Study("asked", train, seeds=3, arms=["none", "aswa"], store=tmp_path / "other")

    status = other.run("serial", progress=False)

    assert study.measure_arms().to_json() == other.measure_arms().to_json()
    assert [r.scalars for r in study.status().runs] == [r.scalars for r in status.runs]


def test_a_second_program_is_given_only_what_is_not_finished(study, tmp_path):
    """The store tells, nobody remembers."""
    study.run("serial", only=0, progress=False)
    again = sp.Study("asked", train, seeds=3, arms=["none", "aswa"], store=tmp_path / "runs")

    assert (again.ask().arm, again.ask().name) == ("aswa", "1")


def test_a_run_that_is_told_to_have_failed_is_recorded_and_tried_again(study, tmp_path):
    """With its message; another program gets it anew."""
    reason = "no such luck"
    study.tell(study.ask(), error=ValueError(reason))

    state = study.status().runs[0]

    assert (state.status, state.message) == ("failed", f"ValueError: {reason}")
    again = sp.Study("asked", train, seeds=3, arms=["none", "aswa"], store=tmp_path / "runs")
    assert again.ask().spec == state.spec


def test_telling_of_a_run_that_somebody_else_made_changes_nothing(study):
    """The first commit stays."""
    run = study.ask()
    study.run("serial", only=0, progress=False)
    before = Store(Location.of(study.store)).runs

    train(run)
    study.tell(run)

    assert Store(Location.of(study.store)).runs == before


def test_asking_with_other_code_is_refused(study, tmp_path):
    """As running is."""
    finish(study)

    def other(run):
        run.log_scalar("loss", 1.0)

    other.__module__, other.__qualname__ = train.__module__, train.__qualname__
    changed = sp.Study("asked", other, seeds=4, arms=["none", "aswa"], store=tmp_path / "runs")
    refused = WithFields(run="0", arm="aswa", name="train", change="changed")
    with pytest.raises(CodeChangedError, check=refused):
        changed.ask()


def test_looking_at_a_study_writes_nothing(study, tmp_path):
    """Not even its folder; and a larger plan that is only looked at is not planned."""
    assert study.status().counts == {"waiting": 6}
    assert not (tmp_path / "runs").exists()

    study.run("serial", only=0, progress=False)
    larger = sp.Study("asked", train, seeds=9, arms=["none", "aswa"], store=tmp_path / "runs")

    assert larger.status().counts == {"finished": 1, "waiting": 17}
    assert study.status().counts == {"finished": 1, "waiting": 5}


def test_a_refused_study_changes_no_plan(study, tmp_path):
    """Other arguments could not be measured together with what is there."""
    study.run("serial", progress=False)
    other = sp.Study("asked", train, seeds=9, arguments=["--lr", "1"], store=tmp_path / "runs")

    with pytest.raises(
        StudyChangedError, check=WithFields(setting="arguments", stored=[], requested=["--lr", "1"])
    ):
        other.run("serial", progress=False)

    assert study.status().is_done


@pytest.mark.parametrize(
    "given", [{"workers": 2}, {"timeout": 1.0}, {"retries": 1}, {"settings": {"gpus": 1}}]
)
def test_settings_beside_an_engine_that_is_made_already_are_refused(given, study):
    """They would do nothing."""
    from seedproof.engines import SerialEngine

    with pytest.raises(OptionError, check=WithFields(options=tuple(given))):
        study.run(SerialEngine(), progress=False, **given)


@pytest.mark.parametrize("only", [-1, 6])
def test_a_run_that_is_not_planned_cannot_be_made_alone(only, study):
    """The message says which there are."""
    with pytest.raises(OptionError, check=WithFields(highest=5)):
        study.run("serial", only=only, progress=False)


def train_with_a_long_name(run):
    """Follows a scalar that makes lines long."""
    train(run)
    run.log_scalar("accuracy_on_what_was_held_out", 0.5 + int(run.name) / 64)


def test_lines_of_a_log_fit_80_columns(tmp_path, capsys):
    """A line that is longer goes on in the next, and nothing of it is lost."""
    study = sp.Study(
        "lines", train_with_a_long_name, seeds=2, arms=["switch-ema"], store=tmp_path / "runs"
    )

    study.run("serial", follow="accuracy_on_what_was_held_out")

    told = capsys.readouterr().err
    assert max(len(line) for line in told.splitlines()) <= 80
    joined = " ".join(told.split())
    assert "accuracy_on_what_was_held_out 0.5078 ± 0.011" in joined


# ---------------------------------------------------------------------------------- runs that fail


def stumble(run):
    """Some seeds raise."""
    if run.name in run.arguments:
        raise ValueError("the loss is not a number")
    train(run)


def make(tmp_path, *failing, seeds=4, arms=("none",)):
    """A study whose runs of these names fail, as far as it comes."""
    study = sp.Study(
        "stumbles", stumble, seeds=seeds, arms=arms, arguments=failing, store=tmp_path / "runs"
    )
    study.run("serial", progress=False)
    return study


def test_failures_are_reported_even_without_progress(tmp_path, capsys):
    """One line: otherwise fewer runs would be measured, and nothing would show it."""
    study = make(tmp_path, "1")

    (line,) = capsys.readouterr().err.splitlines()
    (state,) = study.status().failed
    assert state.spec.name == "1"
    assert line.endswith(state.message)


def test_without_progress_runs_that_finish_say_nothing(tmp_path, capsys):
    """Nobody asked."""
    make(tmp_path)

    assert capsys.readouterr().err == ""


def test_measuring_tells_which_planned_runs_have_not_finished(tmp_path):
    """Fewer runs than planned, or others, would be another study."""
    measurement = make(tmp_path, "1", "3").measure().measurement

    assert measurement.runs == ("0", "2")
    (note,) = measurement.notes
    assert note.code == "planned-runs-missing"
    assert (note.fields["runs"], note.fields["n_planned"]) == (("1", "3"), 4)


def test_a_finished_study_has_no_such_note(tmp_path):
    """Nothing is missing."""
    assert make(tmp_path).measure().measurement.notes == ()


def test_comparing_tells_it_for_each_arm(tmp_path):
    """With the arm's name, and the names of all runs that are missing."""
    names = tuple(str(index) for index in range(2, 9))
    comparison = make(tmp_path, *names, seeds=9, arms=("none", "aswa")).compare().comparison

    notes = [note for note in comparison.notes if note.code == "planned-runs-missing"]
    assert [note.fields["arm"] for note in notes] == ["none", "aswa"]
    assert [(note.fields["runs"], note.fields["n_planned"]) for note in notes] == [(names, 9)] * 2


def test_a_study_of_which_every_run_failed_says_so(tmp_path):
    """That it must be finished first would leave one wondering."""
    study = make(tmp_path, "0", "1", seeds=2, arms=("none", "aswa"))

    for asked in (study.measure, study.measure_arms):
        with pytest.raises(TooFewRunsError, check=WithFields(location=Location.of(study.store))):
            asked()


def test_one_finished_run_is_too_few_and_the_others_are_told_of(tmp_path):
    """They are what is missing."""
    with pytest.raises(TooFewRunsError, check=WithFields(arm="none", study="stumbles", n_runs=1)):
        make(tmp_path, "1", seeds=2).measure()


def test_single_arm_may_be_given_as_text(tmp_path):
    """It is not split into letters."""
    study = sp.Study("arms", print, seeds=1, arms="aswa", store=tmp_path)

    assert [run.arm for run in study.planned()] == ["aswa"]
