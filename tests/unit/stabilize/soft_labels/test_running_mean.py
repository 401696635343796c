"""Running means in memory and on disk, compared with a list of all updates."""

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
    """Yield batches of rows with probabilities; the last row never occurs."""
    rng = np.random.default_rng(seed)
    for _ in range(n_updates):
        rows = rng.choice(N_EXAMPLES - 1, size=5, replace=replace)
        yield rows, rng.dirichlet(np.ones(N_CLASSES), size=5)


def slowly(batches):
    """Return the mean of each row from a list of its updates."""
    updates = {}
    for rows, probs in batches:
        for row, row_probs in zip(rows, probs, strict=True):
            updates.setdefault(int(row), []).append(row_probs)
    mean = np.full((N_EXAMPLES, N_CLASSES), np.nan)
    for row, row_updates in updates.items():
        mean[row] = np.cumsum(row_updates, axis=0)[-1] / len(row_updates)  # in order, one by one
    return mean


def make(tmp_path, *, on_disk, name="mean"):
    return RunningMean(N_EXAMPLES, N_CLASSES, path=tmp_path / name if on_disk else None)


def feed(mean, batches):
    for rows, probs in batches:
        mean.update(probs, rows=rows)
    return mean


@PLACES
@pytest.mark.parametrize("replace", [False, True])
def test_mean_equals_a_brute_force_mean_by_row(tmp_path, on_disk, replace):
    """Bit for bit, even if a batch has a row twice; rows without updates are NaN."""
    mean = feed(make(tmp_path, on_disk=on_disk), stream(40, replace=replace))

    expected = slowly(stream(40, replace=replace))

    np.testing.assert_array_equal(mean.mean(), expected)
    np.testing.assert_array_equal(mean.rows([7, 2, 2]), expected[[7, 2, 2]])
    assert mean.counts.sum() == 40 * 5
    assert mean.counts[N_EXAMPLES - 1] == 0
    assert mean.mean().dtype == torch.float64


@PLACES
def test_omitted_rows_are_all_rows_in_order(tmp_path, on_disk):
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
def test_resumed_mean_equals_an_uninterrupted_one(tmp_path, on_disk):
    """After any update, bit for bit, through a file with plain data only."""
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
def test_saved_state_is_a_copy(tmp_path, on_disk):
    mean = feed(make(tmp_path, on_disk=on_disk), stream(3))
    kept = mean.mean()
    state = mean.state_dict()
    copy = through_a_file(state)

    feed(mean, stream(3, seed=9))

    assert is_same_data(state, copy)
    mean.load_state_dict(state)
    np.testing.assert_array_equal(mean.mean(), kept)


@PLACES
def test_refused_update_changes_nothing(tmp_path, on_disk):
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
def test_bad_sizes_are_refused(shape):
    with pytest.raises(OptionError) as caught:
        RunningMean(*shape)

    option, number = caught.value.fields["option"], caught.value.fields["number"]
    assert shape[("n_examples", "n_classes").index(option)] is number


@PLACES
def test_states_of_other_means_are_refused(tmp_path, on_disk):
    """Of another size, or from memory to disk and back."""
    mean = make(tmp_path, on_disk=on_disk)
    state = mean.state_dict()

    with pytest.raises(OptionError, check=WithFields(n_stored=9, n_stored_classes=3, n_examples=4)):
        RunningMean(4, 3).load_state_dict(state)
    with pytest.raises(OptionError, check=WithFields(option="path", is_in_file=not on_disk)):
        make(tmp_path, on_disk=not on_disk, name="other").load_state_dict(state)


@PLACES
def test_clearing_resets_the_mean(tmp_path, on_disk):
    mean = feed(make(tmp_path, on_disk=on_disk), stream(3, seed=4))

    mean.clear()
    feed(mean, stream(3))

    np.testing.assert_array_equal(mean.mean(), slowly(stream(3)))


def test_flushed_mean_can_be_read_by_others(tmp_path):
    feed(make(tmp_path, on_disk=True), stream(4)).flush()

    students = [make(tmp_path, on_disk=True) for _ in range(2)]

    for student in students:
        np.testing.assert_array_equal(student.mean(), slowly(stream(4)))


def test_mean_that_may_be_half_written_is_not_read(tmp_path):
    teacher = feed(make(tmp_path, on_disk=True), stream(4))

    student = make(tmp_path, on_disk=True)

    for look in (student.mean, lambda: student.rows([0]), lambda: student.counts):
        with pytest.raises(RunError, check=HALF_WRITTEN):
            look()
    with pytest.raises(RunError, check=HALF_WRITTEN):
        student.state_dict()
    np.testing.assert_array_equal(teacher.mean(), slowly(stream(4)))


def test_second_training_is_not_added_to_the_first(tmp_path):
    """A script that runs again would otherwise average two teachers."""
    feed(make(tmp_path, on_disk=True), stream(4)).close()
    again = make(tmp_path, on_disk=True)

    with pytest.raises(RunError, check=WithFields(path=tmp_path / "mean", reason="not-empty")):
        feed(again, stream(1))

    again.clear()
    np.testing.assert_array_equal(feed(again, stream(2)).mean(), slowly(stream(2)))


def test_two_trainings_cannot_share_a_file(tmp_path):
    first, second = make(tmp_path, on_disk=True), make(tmp_path, on_disk=True)
    feed(first, stream(1))

    with pytest.raises(RunError, check=WithFields(reason="in-use")):
        feed(second, stream(1))

    np.testing.assert_array_equal(first.mean(), slowly(stream(1)))
    first.close()
    with pytest.raises(RunError, check=WithFields(reason="not-empty")):
        feed(second, stream(1))


def test_garbage_collected_mean_unlocks_its_file(tmp_path):
    """As in a notebook cell that runs again."""
    mean = feed(make(tmp_path, on_disk=True), stream(1))
    state = mean.state_dict()
    del mean
    gc.collect()

    again = make(tmp_path, on_disk=True)
    again.load_state_dict(state)

    np.testing.assert_array_equal(feed(again, []).mean(), slowly(stream(1)))


def test_last_two_snapshots_are_kept(tmp_path):
    """One is left if a kill comes between a snapshot and the checkpoint that names it."""
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


def test_snapshot_that_training_resumed_from_is_kept(tmp_path):
    """The newest may belong to a checkpoint that was never saved."""
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


def test_damaged_snapshot_is_refused_and_the_mean_unreadable(tmp_path):
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


def test_interrupted_update_makes_the_mean_unreadable_until_a_state_is_loaded(
    tmp_path, monkeypatch
):
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


def test_folder_of_the_file_is_created(tmp_path):
    RunningMean(2, 3, path=tmp_path / "means" / "of" / "teacher.mean").flush()

    assert (tmp_path / "means" / "of" / "teacher.mean").is_file()


def test_other_files_are_refused_and_unchanged(tmp_path):
    make(tmp_path, on_disk=True)
    (tmp_path / "notes").write_text("mine")

    with pytest.raises(UnreadableError, check=WithFields(path=tmp_path / "notes")):
        make(tmp_path, on_disk=True, name="notes")
    with pytest.raises(
        UnreadableError, check=WithFields(n_stored_classes=3, n_examples=9, n_classes=4)
    ):
        RunningMean(9, 4, path=tmp_path / "mean")

    assert (tmp_path / "notes").read_text() == "mine"


def test_reader_deletes_no_snapshot_of_the_writer(tmp_path):
    writer = make(tmp_path, on_disk=True)
    states = []
    for batch in stream(2):
        feed(writer, [batch])
        states.append(writer.state_dict())
    writer.flush()

    states.append(make(tmp_path, on_disk=True).state_dict())

    for state in states:
        writer.load_state_dict(state)
