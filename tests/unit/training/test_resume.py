"""The store alone decides what is finished, what is left, and which code trained it."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from seedproof.errors import CodeChangedError, NotFoundError, StudyChangedError
from seedproof.records.location import Location
from seedproof.records.locks import locked, plan_locked
from seedproof.records.manifest import FailureManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import digest
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training import resume
from seedproof.training.code import EDITED
from seedproof.training.resume import check_code, check_one_code, enter, planned, status_of
from seedproof.training.run import Run
from seedproof.training.spec import StudySpec
from seedproof.training.target import FunctionTarget, NamedTarget, ScriptTarget

STUDY = StudySpec("small", "train.py", SeedPlan.all(3), ("none", "aswa"))


def helper():
    """Be used by the training."""
    return 1


def train(run):
    """Train in a module."""
    run.log_scalar("loss", helper())


@pytest.fixture
def store(tmp_path):
    """Return an empty store."""
    store = Location.of(tmp_path / "store")
    enter(store, STUDY)
    return store


REASON, TRACEBACK = "It failed.", "Traceback: …"


def folder_of(store, index):
    """Return the folder of a run."""
    return store / "runs" / STUDY.runs()[index].run_id


def finish(store, index, *, loss=0.5, **facts):
    """Commit one run."""
    run = Run(STUDY.runs()[index], folder_of(store, index))
    run.log_scalar("loss", loss)
    run.commit(facts)


def fail(store, index, status):
    """Record that a run failed."""
    spec = STUDY.runs()[index]
    failure = FailureManifest(
        spec.run_id, spec.name, spec.arm, status, REASON, TRACEBACK, attempts=3
    )
    failure.write(folder_of(store, index))


def statuses(store):
    """Return the status of each run, in order."""
    return [run.status for run in status_of(store).runs]


def test_every_planned_run_is_waiting_at_first(store):
    """In the order of the plan, with its index for `--only`."""
    status = status_of(store)

    assert status.study == "small"
    assert [run.spec for run in status.runs] == list(STUDY.runs())
    assert [run.index for run in status.runs] == [0, 1, 2, 3, 4, 5]
    assert status.counts == {"waiting": 6}
    assert not status.is_done
    assert str(status) == "Study 'small': 6 waiting"


def test_every_status_is_distinguished(store):
    """Finished, failed, killed, timed out, running and waiting."""
    finish(store, 0, seconds=1.5)
    for index, status in enumerate(("failed", "killed", "timeout"), start=1):
        fail(store, index, status)

    with locked(folder_of(store, 4)):
        status = status_of(store)

    assert [run.status for run in status.runs] == [
        "finished",
        "failed",
        "killed",
        "timeout",
        "running",
        "waiting",
    ]
    assert [run.index for run in status.failed] == [1, 2, 3]
    assert str(status) == (
        "Study 'small': 1 failed, 1 finished, 1 killed, 1 running, 1 timeout, 1 waiting"
    )  # fmt: skip
    assert not status.is_done


def test_status_has_the_facts_of_the_run(store):
    """Seconds and scalars of a finished run, message and traceback of a failed one."""
    finish(store, 0, seconds=1.5, loss=0.25)
    fail(store, 1, "failed")

    done, failed, waiting = status_of(store).runs[:3]

    assert (done.seconds, done.scalars, done.message) == (1.5, {"loss": 0.25}, "")
    assert (failed.message, failed.traceback) == (REASON, TRACEBACK)
    assert (failed.seconds, failed.scalars) == (None, {})
    assert (waiting.seconds, waiting.message) == (None, "")


def test_last_event_decides_the_status(store):
    """A released lock counts for nothing; a failed run that is retried is running, then finished."""
    for index in (0, 1):
        with locked(folder_of(store, index)):
            pass
    fail(store, 1, "killed")
    assert statuses(store)[:2] == ["waiting", "killed"]

    with locked(folder_of(store, 1)):
        assert statuses(store)[1] == "running"
        finish(store, 1)
        assert statuses(store)[1] == "finished"
    assert statuses(store)[1] == "finished"


def test_study_is_done_when_every_run_is_finished(store):
    """Not before."""
    for index in range(6):
        assert not status_of(store).is_done
        finish(store, index)

    assert status_of(store).is_done
    assert status_of(store).failed == ()


def test_entering_creates_the_store(tmp_path):
    """Also the folders above it."""
    store = Location.of(tmp_path / "a" / "b")

    assert enter(store, STUDY) == STUDY
    assert planned(StudyManifest.load(store), store) == STUDY


def test_entering_again_adds_seeds_and_arms(store):
    """Finished runs stay finished."""
    finish(store, 0)
    more = replace(STUDY, seeds=SeedPlan.all(4), arms=("ema",))

    joined = enter(store, more)

    assert joined == replace(STUDY, seeds=SeedPlan.all(4), arms=("none", "aswa", "ema"))
    assert planned(StudyManifest.load(store), store) == joined
    assert status_of(store).counts == {"finished": 1, "waiting": 11}


def test_entering_with_fewer_runs_keeps_the_plan(store, tmp_path):
    """Runs of other coordinators are not dropped."""
    before = (tmp_path / "store" / "study.json").stat()

    joined = enter(store, replace(STUDY, seeds=SeedPlan.all(1), arms=("none",)))

    assert joined == STUDY
    after = (tmp_path / "store" / "study.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_store_of_another_study_is_refused(store):
    """It does not change, once a run is finished."""
    finish(store, 0)
    with pytest.raises(
        StudyChangedError, check=WithFields(setting="target", stored="train.py", requested="fit.py")
    ):
        enter(store, replace(STUDY, target="fit.py"))

    assert planned(StudyManifest.load(store), store) == STUDY


def test_store_without_finished_runs_takes_another_study(store):
    """A typo in the first command must not block it."""
    fail(store, 0, "failed")
    other = replace(STUDY, arguments=("--lr", "0.1"))

    assert enter(store, other) == other
    assert planned(StudyManifest.load(store), store) == other


def test_study_that_is_being_trained_is_not_replaced(store):
    """Its coordinator would lose its plan."""
    other = replace(STUDY, arguments=("--lr", "0.1"))

    with locked(folder_of(store, 0)), pytest.raises(StudyChangedError):
        enter(store, other)

    assert planned(StudyManifest.load(store), store) == STUDY


def test_plan_that_changed_before_the_lock_is_kept(store, monkeypatch):
    """Another coordinator has added an arm between the look and the lock."""
    finish(store, 0)

    @contextmanager
    def lock_late(place):
        with monkeypatch.context() as patch:
            patch.setattr(resume, "plan_locked", plan_locked)
            enter(store, replace(STUDY, arms=("ema",)))
        with plan_locked(place):
            yield

    monkeypatch.setattr(resume, "plan_locked", lock_late)
    joined = enter(store, replace(STUDY, seeds=SeedPlan.all(4)))

    assert joined == replace(STUDY, seeds=SeedPlan.all(4), arms=("none", "aswa", "ema"))
    assert planned(StudyManifest.load(store), store) == joined


def test_entering_a_complete_plan_locks_nothing(store, tmp_path):
    """A store may be read-only."""
    finish(store, 0)
    enter(store, STUDY)
    (tmp_path / "store" / "claim").unlink()

    assert enter(store, replace(STUDY, seeds=SeedPlan.all(1))) == STUDY
    assert not (tmp_path / "store" / "claim").exists()


def test_store_that_no_study_wrote_is_refused(tmp_path):
    """Ingested predictions and plans of older versions have no runs to train."""
    for name, plan in (("bare", None), ("old", {"vary": ["init"], "runs": 2})):
        store = Location.of(tmp_path / name)
        StudyManifest("ingested", 10, plan).write(store)
        for use in (status_of, lambda store: enter(store, STUDY)):
            with pytest.raises(StudyChangedError, check=WithFields(store=store)):
                use(store)


def test_missing_store_has_no_status(tmp_path):
    """The error names the missing file."""
    with pytest.raises(NotFoundError):
        status_of(Location.of(tmp_path / "nowhere"))


@pytest.fixture
def script(tmp_path):
    """Create a script with a module next to it."""
    (tmp_path / "train.py").write_text("import lib\n")
    (tmp_path / "lib.py").write_text("x = 1\n")
    return ScriptTarget(str(tmp_path / "train.py"))


def code_of(script):
    """Return the code that a run of the script records."""
    return {"lib.py": digest(b"x = 1\n"), **script.code()}


@pytest.mark.parametrize(
    "has_further",
    [[], [None], [False, False], [False, True]],
    ids=["no-runs", "no-code", "same", "further-file"],
)
def test_same_code_is_accepted(has_further, store, script, tmp_path):
    """Also runs without recorded code, and an arm that needs another module."""
    (tmp_path / "aswa.py").write_text("y = 1\n")
    further = {"aswa.py": digest(b"y = 1\n")}
    for index, has_file in enumerate(has_further):
        code = None if has_file is None else code_of(script) | (further if has_file else {})
        finish(store, index, **({} if code is None else {"code": code}))

    check_code(Store(store).runs, script)
    check_one_code(Store(store).runs)


@pytest.mark.parametrize("name", ["train.py", "lib.py"])
@pytest.mark.parametrize("text", ["x = 2\n", None], ids=["edited", "removed"])
def test_changed_file_is_refused(name, text, store, script, tmp_path):
    """The script itself or an import; the error names run, arm and file."""
    finish(store, 1, code=code_of(script))
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)

    change = "gone" if text is None else "changed"
    changed = WithFields(run="0", arm="aswa", name=name, change=change)
    with pytest.raises(CodeChangedError, check=changed) as caught:
        check_code(Store(store).runs, script)
    assert "--allow-changed-code" in str(caught.value)


def test_file_that_was_edited_during_a_run_is_refused(store, script):
    """It is unknown which version the run used, so no code matches it."""
    finish(store, 0, code=code_of(script) | {"lib.py": EDITED})

    edited = WithFields(run="0", arm="none", name="lib.py", change="edited")
    with pytest.raises(CodeChangedError, check=edited):
        check_code(Store(store).runs, script)
    with pytest.raises(CodeChangedError, check=WithFields(name="lib.py", other_run="0", run="0")):
        check_one_code(Store(store).runs)


def test_named_function_is_compared_by_its_files(store, tmp_path):
    """Only these are known before it is loaded."""
    (tmp_path / "lib.py").write_text("x = 1\n")
    target = NamedTarget("lib:train", str(tmp_path))
    finish(store, 0, code={"lib.py": digest(b"x = 1\n")})
    check_code(Store(store).runs, target)

    (tmp_path / "lib.py").write_text("x = 2\n")

    changed = WithFields(run="0", arm="none", name="lib.py", change="changed")
    with pytest.raises(CodeChangedError, check=changed):
        check_code(Store(store).runs, target)


@pytest.mark.parametrize(
    ("recorded", "fields"),
    [
        ({}, None),
        ({"train": "other"}, {"name": "train", "change": "changed"}),
        ({"helper": "other"}, {"name": "helper", "change": "changed"}),
        ({"removed": "other"}, {"name": "removed", "change": "gone"}),
    ],
    ids=["same", "train", "helper", "removed"],
)
def test_changed_definition_is_refused(recorded, fields, store):
    """For functions, the used definitions are compared."""
    target = FunctionTarget(train)
    assert target.code().keys() == {"train", "helper"}
    finish(store, 0, code=dict(target.code()) | recorded)

    if fields is None:
        check_code(Store(store).runs, target)
        return
    with pytest.raises(CodeChangedError, check=WithFields(run="0", arm="none", **fields)):
        check_code(Store(store).runs, target)


def test_runs_of_different_code_are_detected(store):
    """A file was saved during the study."""
    finish(store, 0, code={"train.py": "aa", "lib.py": "bb"})
    finish(store, 2, code={"train.py": "aa", "lib.py": "cc"})

    with pytest.raises(CodeChangedError, check=WithFields(name="lib.py", other_run="0", run="1")):
        check_one_code(Store(store).runs)
