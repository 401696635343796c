"""Running means in memory and on disk, against a dense store of everything that was given."""

import gc

import numpy as np
import pytest
import torch

from seedproof.errors import (
    DamagedStoreError,
    NotFoundError,
    OptionError,
    ProbabilityError,
    RunError,
    ShapeError,
    UnreadableError,
)
from seedproof.stabilize import RunningMean
from seedproof.testing.errors import WithFields
from seedproof.testing.trainings import is_same_data, through_a_file

N_EXAMPLES, N_CLASSES = 9, 3
HALF_WRITTEN = WithFields(reason="half-written")
PLACES = pytest.mark.parametrize("on_disk", [False, True])


def stream(n_updates, *, seed=0, replace=False):
    """Batches of rows with their probabilities; some rows come often, one never."""
    rng = np.random.default_rng(seed)
    for _ in range(n_updates):
        rows = rng.choice(N_EXAMPLES - 1, size=5, replace=replace)
        yield rows, rng.dirichlet(np.ones(N_CLASSES), size=5)


def slowly(batches):
    """The mean of each row, from a list of all that came for it."""
    came = {}
    for rows, probs in batches:
        for row, one in zip(rows, probs, strict=True):
            came.setdefault(int(row), []).append(one)
    mean = np.full((N_EXAMPLES, N_CLASSES), np.nan)
    for row, all_of_it in came.items():
        mean[row] = np.cumsum(all_of_it, axis=0)[-1] / len(all_of_it)  # in order, one by one
    return mean


def make(tmp_path, *, on_disk, name="mean"):
    """An empty mean."""
    return RunningMean(N_EXAMPLES, N_CLASSES, path=tmp_path / name if on_disk else None)


def feed(mean, batches):
    """Take in all batches."""
    for rows, probs in batches:
        mean.update(probs, rows=rows)
    return mean


@PLACES
@pytest.mark.parametrize("replace", [False, True])
def test_it_equals_a_brute_force_mean_by_row(tmp_path, on_disk, replace):
    """Bit by bit, each row by its own count, also if a batch has a row twice; unseen is NaN."""
    mean = feed(make(tmp_path, on_disk=on_disk), stream(40, replace=replace))

    expected = slowly(stream(40, replace=replace))

    np.testing.assert_array_equal(mean.mean(), expected)
    np.testing.assert_array_equal(mean.rows([7, 2, 2]), expected[[7, 2, 2]])
    assert mean.counts.sum() == 40 * 5
    assert mean.counts[N_EXAMPLES - 1] == 0
    assert mean.mean().dtype == torch.float64


@PLACES
def test_all_rows_at_once_are_all_rows_by_number(tmp_path, on_disk):
    """Without rows, all examples in order."""
    rng = np.random.default_rng(1)
    whole = make(tmp_path, on_disk=on_disk)
    numbered = make(tmp_path, on_disk=on_disk, name="other")
    for _ in range(5):
        probs = rng.dirichlet(np.ones(N_CLASSES), size=N_EXAMPLES)
        whole.update(probs)
        numbered.update(torch.from_numpy(probs), rows=torch.arange(N_EXAMPLES))

    assert torch.equal(whole.mean(), numbered.mean())
    assert whole.counts.tolist() == [5] * N_EXAMPLES


@PLACES
def test_a_resumed_mean_equals_an_uninterrupted_one(tmp_path, on_disk):
    """After any update, bit by bit, through a file that holds plain data only."""
    batches = list(stream(8))
    expected = feed(make(tmp_path, on_disk=on_disk, name="whole"), batches).mean()

    for n_done in range(len(batches) + 1):
        first = feed(make(tmp_path, on_disk=on_disk, name=f"{n_done}"), batches[:n_done])
        state = through_a_file(first.state_dict())
        feed(first, batches[n_done : n_done + 3])  # which a checkpoint knows nothing of
        first.close()
        resumed = make(tmp_path, on_disk=on_disk, name=f"{n_done}")
        resumed.load_state_dict(state)
        feed(resumed, batches[n_done:])

        np.testing.assert_array_equal(resumed.mean(), expected)
        resumed.close()


@PLACES
def test_what_was_saved_does_not_change_any_more(tmp_path, on_disk):
    """A state in memory is as good as a file."""
    mean = feed(make(tmp_path, on_disk=on_disk), stream(3))
    kept = mean.mean()
    state = mean.state_dict()
    copy = through_a_file(state)

    feed(mean, stream(3, seed=9))

    assert is_same_data(state, copy)
    mean.load_state_dict(state)
    np.testing.assert_array_equal(mean.mean(), kept)


@PLACES
def test_what_is_refused_changes_nothing(tmp_path, on_disk):
    """Rows and probabilities are checked before the first of them is taken in."""
    mean = feed(make(tmp_path, on_disk=on_disk), stream(2))
    before = mean.mean()
    good = [[0.2, 0.3, 0.5]]

    for rows, probs, error, fields in (
        ([9], good, OptionError, {"row": 9, "highest": 8}),
        ([-1], good, OptionError, {"row": -1}),
        ([0, 1], good, ShapeError, {"shape": (1, 3), "n_examples": 2}),
        ([0], [[0.5, 0.5]], ShapeError, {"n_examples": 1, "n_classes": 3}),
        (None, good, ShapeError, {"n_examples": 9}),
        ([0, 1], [*good, [0.2, 0.3, 0.6]], ProbabilityError, {"sum": pytest.approx(1.1)}),
        ([0], [[2.0, -1.0, 0.0]], ProbabilityError, {"probability": -1.0}),
        (
            [0],
            [[0.5, 0.5, float("nan")]],
            ProbabilityError,
            {"probability": pytest.approx(float("nan"), nan_ok=True)},
        ),
    ):
        with pytest.raises(error, check=WithFields(**fields)):
            mean.update(probs, rows=rows)

    np.testing.assert_array_equal(mean.mean(), before)


@pytest.mark.parametrize("shape", [(0, 3), (3, 1), (2.0, 3), (True, 3)])
def test_sizes_that_are_none_are_refused(shape):
    """An example and two classes are the least."""
    with pytest.raises(OptionError) as caught:
        RunningMean(*shape)

    option, number = caught.value.fields["option"], caught.value.fields["number"]
    assert shape[("n_examples", "n_classes").index(option)] is number


@PLACES
def test_states_of_others_are_refused(tmp_path, on_disk):
    """Of another size, or from memory to disk and back."""
    mean = make(tmp_path, on_disk=on_disk)
    state = mean.state_dict()

    with pytest.raises(OptionError, check=WithFields(n_stored=9, n_stored_classes=3, n_examples=4)):
        RunningMean(4, 3).load_state_dict(state)
    with pytest.raises(OptionError, check=WithFields(option="path", is_in_file=not on_disk)):
        make(tmp_path, on_disk=not on_disk, name="other").load_state_dict(state)


@PLACES
def test_clearing_begins_anew(tmp_path, on_disk):
    """As if nothing had ever come."""
    mean = feed(make(tmp_path, on_disk=on_disk), stream(3, seed=4))

    mean.clear()
    feed(mean, stream(3))

    np.testing.assert_array_equal(mean.mean(), slowly(stream(3)))


# ----------------------------------------------------------------------------------------- on disk


def test_another_process_can_read_what_was_flushed(tmp_path):
    """A student reads what its teacher has left; two students at once do."""
    feed(make(tmp_path, on_disk=True), stream(4)).flush()

    students = [make(tmp_path, on_disk=True) for _ in range(2)]

    for student in students:
        np.testing.assert_array_equal(student.mean(), slowly(stream(4)))


def test_what_may_be_half_written_is_not_read(tmp_path):
    """Before it is flushed, nobody else can take it for a mean."""
    teacher = feed(make(tmp_path, on_disk=True), stream(4))

    student = make(tmp_path, on_disk=True)

    for look in (student.mean, lambda: student.rows([0]), lambda: student.counts):
        with pytest.raises(RunError, check=HALF_WRITTEN):
            look()
    with pytest.raises(RunError, check=HALF_WRITTEN):
        student.state_dict()
    np.testing.assert_array_equal(teacher.mean(), slowly(stream(4)))


def test_a_second_training_is_not_added_to_the_first(tmp_path):
    """A script that is run again would otherwise average two teachers without a word."""
    feed(make(tmp_path, on_disk=True), stream(4)).close()
    again = make(tmp_path, on_disk=True)

    with pytest.raises(RunError, check=WithFields(path=tmp_path / "mean", reason="not-empty")):
        feed(again, stream(1))

    again.clear()
    np.testing.assert_array_equal(feed(again, stream(2)).mean(), slowly(stream(2)))


def test_two_trainings_cannot_share_a_file(tmp_path):
    """The second is told so when it begins to write."""
    first, second = make(tmp_path, on_disk=True), make(tmp_path, on_disk=True)
    feed(first, stream(1))

    with pytest.raises(RunError, check=WithFields(reason="in-use")):
        feed(second, stream(1))

    np.testing.assert_array_equal(first.mean(), slowly(stream(1)))
    first.close()
    with pytest.raises(RunError, check=WithFields(reason="not-empty")):
        feed(second, stream(1))


def test_a_mean_that_is_forgotten_lets_go_of_its_file(tmp_path):
    """As a cell of a notebook that is run again does."""
    mean = feed(make(tmp_path, on_disk=True), stream(1))
    state = mean.state_dict()
    del mean
    gc.collect()

    again = make(tmp_path, on_disk=True)
    again.load_state_dict(state)

    np.testing.assert_array_equal(feed(again, []).mean(), slowly(stream(1)))


def test_the_last_two_snapshots_are_kept(tmp_path):
    """So that one is left if a kill comes between a snapshot and the checkpoint that names it."""
    mean = make(tmp_path, on_disk=True)
    states = []
    for seed in range(4):
        feed(mean, stream(1, seed=seed))
        states.append(mean.state_dict())
        assert mean.state_dict() == states[-1]  # nothing has changed: no other snapshot

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mean", "mean.000003", "mean.000004",
    ]  # fmt: skip
    with pytest.raises(NotFoundError, check=WithFields(snapshots=[3, 4])):
        mean.load_state_dict(states[1])


def test_the_snapshot_that_a_training_goes_on_from_is_kept(tmp_path):
    """The newest may belong to a checkpoint that was never saved; however often that happens."""
    mean = feed(make(tmp_path, on_disk=True), stream(1))
    saved = mean.state_dict()
    expected = mean.mean()
    for seed in range(3):
        feed(mean, stream(1, seed=seed))
        mean.state_dict()  # and then killed, before the checkpoint is written
        mean.close()
        mean = make(tmp_path, on_disk=True)
        mean.load_state_dict(saved)

        np.testing.assert_array_equal(mean.mean(), expected)


def test_a_damaged_snapshot_is_refused_and_leaves_nothing_to_read(tmp_path):
    """What was copied before the checksum was known is no mean."""
    mean = feed(make(tmp_path, on_disk=True), stream(1))
    state = mean.state_dict()
    snapshot = tmp_path / "mean.000001"
    damaged = bytearray(snapshot.read_bytes())
    damaged[100] ^= 1
    snapshot.write_bytes(damaged)
    mean.close()

    again = make(tmp_path, on_disk=True)
    with pytest.raises(DamagedStoreError, check=WithFields(actual=2946797558, checksum=1791564640)):
        again.load_state_dict(state)
    again.close()

    with pytest.raises(RunError):
        make(tmp_path, on_disk=True).mean()


def test_what_an_interrupt_has_left_is_not_gone_on_with(tmp_path, monkeypatch):
    """Half of an update may be there, also for the process itself; a state mends it."""
    mean = feed(make(tmp_path, on_disk=True), stream(2))
    state = mean.state_dict()

    def add_half(rows, values):
        mean._sums[rows[:2]] += values[:2]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mean, "_add", add_half)
        with pytest.raises(KeyboardInterrupt):
            feed(mean, stream(1))

    for look in (mean.mean, mean.state_dict, lambda: feed(mean, stream(1))):
        with pytest.raises(RunError, check=HALF_WRITTEN):
            look()
    mean.close()
    with pytest.raises(RunError, check=HALF_WRITTEN):
        make(tmp_path, on_disk=True).mean()
    mean.load_state_dict(state)
    np.testing.assert_array_equal(mean.mean(), slowly(stream(2)))


def test_the_folder_of_a_file_is_made(tmp_path):
    """As that of a store is."""
    RunningMean(2, 3, path=tmp_path / "means" / "of" / "teacher.mean").flush()

    assert (tmp_path / "means" / "of" / "teacher.mean").is_file()


def test_files_of_others_are_refused(tmp_path):
    """They stay as they are."""
    make(tmp_path, on_disk=True)
    (tmp_path / "notes").write_text("mine")

    with pytest.raises(UnreadableError, check=WithFields(path=tmp_path / "notes")):
        make(tmp_path, on_disk=True, name="notes")
    with pytest.raises(
        UnreadableError, check=WithFields(n_stored_classes=3, n_examples=9, n_classes=4)
    ):
        RunningMean(9, 4, path=tmp_path / "mean")

    assert (tmp_path / "notes").read_text() == "mine"


def test_who_only_reads_takes_no_snapshot_away(tmp_path):
    """A second process looks at a mean that the first goes on with: all states can be loaded."""
    writer = make(tmp_path, on_disk=True)
    states = []
    for batch in stream(2):
        feed(writer, [batch])
        states.append(writer.state_dict())
    writer.flush()

    states.append(make(tmp_path, on_disk=True).state_dict())

    for state in states:
        writer.load_state_dict(state)
