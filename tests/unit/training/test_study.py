"""Studies: engines, loops with `ask` and `tell`, and runs that fail."""

import cloudpickle
import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import CodeChangedError, OptionError, StudyChangedError, TooFewRunsError
from seedproof.records.location import Location
from seedproof.records.locks import is_locked
from seedproof.records.reader import Store
from seedproof.testing.errors import WithFields
from seedproof.training import study as study_module
from seedproof.training.run import Run

N_EXAMPLES = 30


def train(run):
    """Draw from a source and from the global stream, as trainings do."""
    answers = run.rng("init").dirichlet([2, 2], size=N_EXAMPLES)
    run.log_scalar("loss", float(np.random.rand()))  # noqa: NPY002, TID251 - the run's own stream
    run.log_predictions("test", probs=answers)


def study_in(store, function=train, seeds=3, **settings):
    """Return a study in two arms."""
    return sp.Study("small", function, seeds=seeds, arms=["none", "aswa"], store=store, **settings)


@pytest.fixture
def study(tmp_path):
    """Return a study with three seeds in two arms."""
    return study_in(tmp_path / "runs")


def finish(study):
    """Finish every run in a loop."""
    names = []
    while (run := study.ask()) is not None:
        with run.active():
            train(run)
        study.tell(run)
        names.append((run.arm, run.name))
    return names


def test_ask_returns_every_run_once(study):
    """All arms of a seed together, as in the plan, and then None."""
    assert finish(study) == [(arm, str(seed)) for seed in range(3) for arm in ("none", "aswa")]

    assert study.ask() is None
    assert study.status().counts == {"finished": 6}


def test_runs_of_ask_equal_those_of_an_engine(study, tmp_path):
    """The same predictions and scalars, bit by bit."""
    finish(study)
    other = study_in(tmp_path / "other")

    status = other.run("serial", progress=False)

    assert study.measure_arms().to_json() == other.measure_arms().to_json()
    assert [r.scalars for r in study.status().runs] == [r.scalars for r in status.runs]


def test_second_program_gets_only_unfinished_runs(study):
    """The store decides."""
    study.run("serial", only=0, progress=False)
    again = study_in(study.store)

    assert (again.ask().arm, again.ask().name) == ("aswa", "1")


def test_failed_run_is_recorded_and_retried(study):
    """With its message; another program gets it again."""
    reason = "no such luck"
    study.tell(study.ask(), error=ValueError(reason))

    state = study.status().runs[0]

    assert (state.status, state.message) == ("failed", f"ValueError: {reason}")
    again = study_in(study.store)
    assert again.ask().spec == state.spec


def test_commit_of_a_finished_run_changes_nothing(study):
    """The first commit is kept."""
    run = study.ask()
    rival = Run(run.spec, run.folder)
    train(rival)
    rival.commit({})
    before = Store(Location.of(study.store)).runs

    train(run)
    study.tell(run)

    assert Store(Location.of(study.store)).runs == before


def test_run_is_handed_to_one_program_at_a_time(study):
    """Until `tell`; another program gets the next one, and then those that failed."""
    other = study_in(study.store)
    runs = [study.ask(), other.ask()]

    assert [(run.arm, run.name) for run in runs] == [("none", "0"), ("aswa", "0")]
    assert [state.status for state in study.status().runs[:3]] == ["running", "running", "waiting"]
    study.tell(runs[0], error=ValueError("no such luck"))

    assert study_in(study.store).ask().spec == runs[0].spec


def test_run_that_was_finished_meanwhile_is_not_handed_out(study, monkeypatch):
    """It ended between the look at its commit and the lock."""
    claim = study_module.claim
    rival = study_in(study.store)

    def claim_late(folder):
        monkeypatch.setattr(study_module, "claim", claim)
        run = rival.ask()
        train(run)
        rival.tell(run)
        return claim(folder)

    monkeypatch.setattr(study_module, "claim", claim_late)

    assert (study.ask().arm, study.ask().arm) == ("aswa", "none")


def test_runs_of_a_loop_are_left_to_it(study):
    """`run` neither trains them nor waits for them."""
    run = study.ask()

    status = study.run("serial", progress=False)

    assert [state.status for state in status.runs] == ["running", *["finished"] * 5]
    train(run)
    study.tell(run)
    assert study.status().is_done


def test_study_can_be_pickled_between_ask_and_tell(study):
    """A training function may refer to its study; the lock stays here."""
    run = study.ask()

    copy = cloudpickle.loads(cloudpickle.dumps(study))

    assert copy.store == study.store
    assert is_locked(run.folder)


def test_ask_with_different_code_is_refused(study):
    """Like `run`."""
    finish(study)

    def other(run):
        run.log_scalar("loss", 1.0)

    other.__module__, other.__qualname__ = train.__module__, train.__qualname__
    changed = study_in(study.store, other, seeds=4)
    refused = WithFields(run="0", arm="aswa", name="train", change="changed")
    with pytest.raises(CodeChangedError, check=refused):
        changed.ask()


def test_status_writes_nothing(study, tmp_path):
    """Not even a folder, and no larger plan."""
    assert study.status().counts == {"waiting": 6}
    assert not (tmp_path / "runs").exists()

    study.run("serial", only=0, progress=False)
    larger = study_in(study.store, seeds=9)

    assert larger.status().counts == {"finished": 1, "waiting": 17}
    assert study.status().counts == {"finished": 1, "waiting": 5}


def test_refused_study_does_not_change_the_plan(study):
    """Other arguments could not be measured together with it."""
    study.run("serial", progress=False)
    other = study_in(study.store, seeds=9, arguments=["--lr", "1"])

    with pytest.raises(
        StudyChangedError, check=WithFields(setting="arguments", stored=[], requested=["--lr", "1"])
    ):
        other.run("serial", progress=False)

    assert study.status().is_done


@pytest.mark.parametrize(
    "given", [{"workers": 2}, {"timeout": 1.0}, {"retries": 1}, {"settings": {"gpus": 1}}]
)
def test_settings_for_an_engine_object_are_refused(given, study):
    """They would have no effect."""
    from seedproof.engines import SerialEngine

    with pytest.raises(OptionError, check=WithFields(options=tuple(given))):
        study.run(SerialEngine(), progress=False, **given)


@pytest.mark.parametrize("only", [-1, 6])
def test_index_without_a_run_is_refused(only, study):
    """The error has the highest index."""
    with pytest.raises(OptionError, check=WithFields(highest=5)):
        study.run("serial", only=only, progress=False)


def train_with_a_long_name(run):
    """Log a scalar that makes lines long."""
    train(run)
    run.log_scalar("accuracy_on_what_was_held_out", 0.5 + int(run.name) / 64)


def test_lines_of_a_log_fit_80_columns(tmp_path, capsys):
    """A longer line is wrapped, and nothing is lost."""
    study = sp.Study(
        "lines", train_with_a_long_name, seeds=2, arms=["switch-ema"], store=tmp_path / "runs"
    )

    study.run("serial", follow="accuracy_on_what_was_held_out")

    output = capsys.readouterr().err
    assert max(len(line) for line in output.splitlines()) <= 80
    joined = " ".join(output.split())
    assert "accuracy_on_what_was_held_out 0.5078 ± 0.011" in joined


# ---------------------------------------------------------------------------------- runs that fail


def stumble(run):
    """Raise for some seeds."""
    if run.name in run.arguments:
        raise ValueError("the loss is not a number")
    train(run)


def make(tmp_path, *failing, seeds=4, arms=("none",)):
    """Train a study in which the runs with these names fail."""
    study = sp.Study(
        "stumbles", stumble, seeds=seeds, arms=arms, arguments=failing, store=tmp_path / "runs"
    )
    study.run("serial", progress=False)
    return study


def test_only_failures_are_printed_without_progress(tmp_path, capsys):
    """In one line per run."""
    study = make(tmp_path, "1")

    (line,) = capsys.readouterr().err.splitlines()
    (state,) = study.status().failed
    assert state.spec.name == "1"
    assert line.endswith(state.message)


def missing_runs(checks):
    """Return the checks of missing runs."""
    return [check for check in checks if check.name == "missing-runs"]


def test_measure_names_unfinished_runs(tmp_path):
    """Fewer runs than planned are measured; a finished study has no such check."""
    assert missing_runs(make(tmp_path / "finished").measure().measurement.checks) == []

    measurement = make(tmp_path, "1", "3").measure().measurement

    assert measurement.runs == ("0", "2")
    (check,) = missing_runs(measurement.checks)
    assert (check.severity, check.runs) == ("warning", ("1", "3"))


def test_compare_names_unfinished_runs_per_arm(tmp_path):
    """With the names of the arm and of all missing runs."""
    names = tuple(str(index) for index in range(2, 9))
    comparison = make(tmp_path, *names, seeds=9, arms=("none", "aswa")).compare().comparison

    checks = missing_runs(comparison.checks)
    assert [(check.arm, check.runs) for check in checks] == [("none", names), ("aswa", names)]


def test_study_with_too_few_finished_runs_is_refused(tmp_path):
    """None, or a single one."""
    study = make(tmp_path / "none", "0", "1", seeds=2, arms=("none", "aswa"))

    for method in (study.measure, study.measure_arms):
        with pytest.raises(TooFewRunsError, check=WithFields(location=Location.of(study.store))):
            method()
    with pytest.raises(TooFewRunsError, check=WithFields(arm="none", study="stumbles", n_runs=1)):
        make(tmp_path / "single", "1", seeds=2).measure()


def test_single_arm_may_be_given_as_text(tmp_path):
    """It is not split into letters."""
    study = sp.Study("arms", print, seeds=1, arms="aswa", store=tmp_path)

    assert [run.arm for run in study.planned()] == ["aswa"]
