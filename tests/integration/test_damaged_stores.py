"""Damaged data are refused with an error that names them, or skipped with a note."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    DamagedStoreError,
    EmptyInputError,
    MissingExampleError,
    OptionError,
    TooFewRunsError,
)
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields
from support.explained import write_explained

N_RUNS, N_EXAMPLES, ROWS_PER_GROUP = 4, 60, 20
# Index of the column that is damaged, in files of predictions and of explanations.
COLUMN = 2
LAYOUT = Layout(Kind.PROBS, ("no", "yes"))


def byte_range(file, row_group):
    """Return where the damaged column of a row group is in its file."""
    chunk = pq.read_metadata(file).row_group(row_group).column(COLUMN)
    return slice(chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size)


def change_bytes(file, *, row_group):
    """Invert the last four bytes of the damaged column of a row group."""
    stop = byte_range(file, row_group).stop
    content = bytearray(file.read_bytes())
    content[stop - 4 : stop] = bytes(byte ^ 255 for byte in content[stop - 4 : stop])
    file.write_bytes(content)


class StoreToDamage:
    """A store of four runs in three row groups, and ways to damage run 2."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 2, N_EXAMPLES).astype(np.int32)
        yes = rng.random((N_RUNS, N_EXAMPLES))
        self.probs = np.stack([1 - yes, yes], axis=2).astype(np.float32)
        StudyManifest("small", ROWS_PER_GROUP).write(Location.of(path))
        for run in range(N_RUNS):
            self.write(run, np.arange(N_EXAMPLES))

    def write(self, run: int, ids: np.ndarray) -> None:
        """Write a run with predictions for these examples."""
        manifest = RunManifest(f"id{run}", str(run))
        with RunWriter(
            Location.of(self.path), manifest, LAYOUT, rows_per_group=ROWS_PER_GROUP
        ) as writer:
            writer.write(pa.array(ids), self.labels[: len(ids)], self.probs[run, : len(ids)])

    @property
    def file(self) -> Path:
        """Return the only file of run 2."""
        return next((self.path / "runs" / "id2").rglob("*.parquet"))

    def truncate(self) -> None:
        self.file.write_bytes(self.file.read_bytes()[:-100])

    def remove(self) -> None:
        self.file.unlink()

    def change_row_group(self) -> None:
        """Change bytes of row group 1."""
        change_bytes(self.file, row_group=1)

    def swap_row_groups(self) -> None:
        """Swap the probabilities of row groups 0 and 1, with every page intact."""
        content = bytearray(self.file.read_bytes())
        first, second = (byte_range(self.file, row_group) for row_group in range(2))
        content[first], content[second] = content[second], content[first]
        self.file.write_bytes(content)

    def write_again(self, ids: np.ndarray) -> None:
        self.file.unlink()
        (self.path / "runs" / "id2" / "run.json").unlink()
        self.write(2, ids)

    def replace_examples(self) -> None:
        self.write_again(np.arange(1000, 1000 + N_EXAMPLES))

    def drop_examples(self) -> None:
        self.write_again(np.arange(50))


@pytest.fixture
def store(tmp_path):
    return StoreToDamage(tmp_path / "store")


# The error and its fields, by the method that damages a run.
RUN_DAMAGE = {
    "truncate": (DamagedStoreError, {"run": "2"}),
    "remove": (DamagedStoreError, {"run": "2"}),
    "replace_examples": (MissingExampleError, {}),
    "drop_examples": (MissingExampleError, {}),
}


def left_out(note):
    """Return the number of examples that a note reports as skipped, and their row group."""
    assert note.code == "examples-left-out"
    return note.fields["n_examples"], note.fields["row_group"]


@pytest.mark.parametrize("damage", RUN_DAMAGE)
def test_damaged_run_is_refused_or_skipped(store, damage):
    """The error names a run that cannot be read; the other runs are measured as usual."""
    error, fields = RUN_DAMAGE[damage]
    expected = sp.measure(store.probs[[0, 1, 3]], labels=store.labels, runs=["0", "1", "3"])
    getattr(store, damage)()

    with pytest.raises(error, check=WithFields(**fields)):
        sp.measure(store.path)
    report = sp.measure(store.path, skip_damaged=True)

    (note,) = report.measurement.notes
    assert (note.code, note.fields["run"]) == ("run-left-out", "2")
    assert str(store.path) not in str(note)
    assert report.measurement.runs == ("0", "1", "3")
    for name, estimate in expected.metrics.items():
        assert report[name].value == pytest.approx(estimate.value)


@pytest.mark.parametrize("damage", ["change_row_group", "swap_row_groups"])
def test_damaged_row_group_is_refused_or_skipped(store, damage):
    """It is skipped in all runs, as runs are compared on the same examples; any engine does so."""
    getattr(store, damage)()
    damaged = {"change_row_group": [1], "swap_row_groups": [0, 1]}[damage]
    intact = np.concatenate([np.arange(20) + 20 * i for i in range(3) if i not in damaged])

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=damaged[0], run="2")):
        sp.measure(store.path)
    report = sp.measure(store.path, skip_damaged=True)
    of_processes = sp.measure(store.path, skip_damaged=True, engine="processes", workers=1)

    assert report.measurement.n_examples == report.measurement.n_labeled == len(intact)
    assert report.examples.column("example").to_pylist() == intact.tolist()
    assert [left_out(note) for note in report.measurement.notes] == [
        (20, index) for index in damaged
    ]
    assert report["flip_rate"].value == pytest.approx(
        sp.measure(store.probs[:, intact], labels=store.labels[intact])["flip_rate"].value
    )
    assert of_processes.to_json() == report.to_json()


def test_report_lists_skipped_data(store, seedproof):
    """The note is in the text and in the JSON summary."""
    store.truncate()
    (note,) = sp.measure(store.path, skip_damaged=True).measurement.notes

    code, out, _ = seedproof("measure", store.path, "--skip-damaged")
    _, summary, _ = seedproof("measure", store.path, "--skip-damaged", "--json")

    assert code == 0
    assert "".join(str(note).split()) in "".join(out.split())
    assert json.loads(summary)["notes"] == [str(note)]


def test_command_skips_a_damaged_manifest(store, seedproof):
    """Counting the arms, which comes first, skips it as well."""
    (store.path / "runs" / "id2" / "run.json").write_text("{", encoding="utf-8")

    assert seedproof("measure", store.path)[0] == 2
    code, out, _ = seedproof("measure", store.path, "--skip-damaged", "--json")

    assert code == 0
    assert json.loads(out)["n_runs"] == 3
    assert any("runs/id2" in note for note in json.loads(out)["notes"])


def test_too_few_runs_left_are_refused(store):
    for run in ("id0", "id1", "id3"):
        next((store.path / "runs" / run).rglob("*.parquet")).unlink()

    with pytest.raises(TooFewRunsError, check=WithFields(n_runs=4, arm="none", n_readable=1)):
        sp.measure(store.path, skip_damaged=True)


def test_damaged_explanations_are_refused_or_skipped(tmp_path):
    """Predictions are measured nevertheless."""
    place = Location.of(tmp_path / "store")
    rng = np.random.default_rng(0)
    probs = np.tile(np.float32([0.4, 0.6]), (3, 8, 1))
    write_explained(place, range(8), list(rng.random((8, 3, 1, 6))), probs=probs)
    next((tmp_path / "store").rglob("explanations/**/*.parquet")).unlink()

    with pytest.raises(DamagedStoreError, check=WithFields(run="1")):
        sp.measure(place)
    measurement = sp.measure(place, skip_damaged=True).measurement

    assert measurement.explanations == {}
    assert measurement.n_examples == 8
    (note,) = measurement.notes
    assert (note.code, note.fields["method"]) == ("explanations-left-out", "lime")
    assert "runs/none-" in str(note)


@pytest.fixture
def two_arms(tmp_path):
    """Return a store of two arms with four explained runs each, and their probabilities.

    The eight examples are in two row groups.
    """
    rng = np.random.default_rng(0)
    yes = rng.random((2, 4, 8)).astype(np.float32)
    probs = np.stack([1 - yes, yes], axis=3)
    place = Location.of(tmp_path / "store")
    for arm, arm_probs in zip(("none", "calm"), probs, strict=True):
        write_explained(place, range(8), list(rng.random((8, 4, 1, 6))), arm=arm, probs=arm_probs)
    return tmp_path / "store", probs


def file_of(store, run, kind="predictions"):
    """Return the only file of a run with records of a kind."""
    return next((store / "runs" / run / kind).rglob("*.parquet"))


def test_damaged_run_of_an_arm_is_refused_or_skipped(two_arms, seedproof):
    """The other runs are compared, and a note names the skipped run."""
    store, probs = two_arms
    file_of(store, "calm-2").unlink()

    with pytest.raises(DamagedStoreError, check=WithFields(run="2")):
        sp.compare(store)
    report = sp.compare(store, skip_damaged=True)
    code, out, _ = seedproof("compare", store, "--skip-damaged", "--json")

    assert report.arm("calm").measurement.runs == ("0", "1", "3")
    assert report.arm("calm").measurement.metrics["flip_rate"].value == pytest.approx(
        sp.measure(probs[1, [0, 1, 3]])["flip_rate"].value
    )
    (note,) = (note for note in report.comparison.notes if note.code == "run-left-out")
    assert note.fields["run"] == "2"
    assert code == 0
    assert str(note) in json.loads(out)["notes"]


def test_damaged_row_group_is_skipped_in_all_arms(two_arms):
    """The error names run and row group, and the note names the file."""
    store, probs = two_arms
    change_bytes(file_of(store, "calm-2"), row_group=1)

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=1, run="2")):
        sp.compare(store)
    report = sp.compare(store, skip_damaged=True)

    for name, arm_probs in zip(("none", "calm"), probs, strict=True):
        measurement = report.arm(name).measurement
        expected = sp.measure(arm_probs[:, :4])
        assert measurement.n_examples == 4
        assert measurement.metrics["flip_rate"].value == pytest.approx(expected["flip_rate"].value)
    (note,) = (note for note in report.comparison.notes if note.code == "examples-left-out")
    assert left_out(note) == (4, 1)
    assert "runs/calm-2/predictions/" in str(note)


def test_rates_are_matched_on_the_remaining_row_groups(two_arms):
    """Results equal those of the intact examples alone; notes do not contain the store's path."""
    store, probs = two_arms
    change_bytes(file_of(store, "calm-2"), row_group=1)

    with pytest.raises(DamagedStoreError):
        sp.compare(store, match_rates=True)
    report = sp.compare(store, match_rates=True, skip_damaged=True)

    expected = sp.compare(
        dict(zip(("none", "calm"), probs[:, :, :4], strict=True)), match_rates=True
    )
    for name in ("none", "calm"):
        arm, expected_arm = report.arm(name), expected.arm(name)
        assert arm.measurement.n_examples == 4
        assert (arm.matched_rate.lowest_before, arm.matched_rate.after) == (
            expected_arm.matched_rate.lowest_before,
            expected_arm.matched_rate.after,
        )
        for metric, estimate in arm.measurement.metrics.items():
            assert estimate.value == pytest.approx(expected_arm.measurement.metrics[metric].value)
    (note,) = (note for note in report.comparison.notes if note.code == "examples-left-out")
    assert left_out(note) == (4, 1)
    assert not any(str(store) in str(note) for note in report.comparison.notes)


def test_arm_without_an_intact_row_group_is_refused(two_arms):
    store, _ = two_arms
    for row_group in (0, 1):
        change_bytes(file_of(store, "calm-2"), row_group=row_group)

    for match_rates in (False, True):
        with pytest.raises(EmptyInputError):
            sp.compare(store, match_rates=match_rates, skip_damaged=True)


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_predictions_are_compared_although_explanations_are_damaged(two_arms, damage):
    """The error names the run, and the note the explanation method."""
    store, _ = two_arms
    file = file_of(store, "calm-2", "explanations")
    if damage == "missing":
        file.unlink()
    else:
        change_bytes(file, row_group=0)

    with pytest.raises(DamagedStoreError, check=WithFields(run="2")):
        sp.compare(store)
    report = sp.compare(store, skip_damaged=True)

    assert report.arm("calm").explanations == {}
    assert report.arm("calm").effects["flip_rate"].value is not None
    (note,) = report.comparison.notes
    assert (note.code, note.fields["method"]) == ("explanations-left-out", "lime")
    assert str(store) not in str(note)


def test_comparison_is_refused_if_too_few_runs_of_an_arm_are_left(two_arms):
    """Only one of two arms could still be measured."""
    store, _ = two_arms
    for run in (0, 1, 2):
        file_of(store, f"calm-{run}").unlink()

    with pytest.raises(TooFewRunsError):
        sp.compare(store, skip_damaged=True)


def test_skip_damaged_is_refused_for_reports(two_arms, tmp_path):
    """Reports have no records that could be damaged."""
    store, _ = two_arms
    for arm in ("none", "calm"):
        sp.measure(store, arm=arm).save(tmp_path / arm)

    with pytest.raises(OptionError):
        sp.compare([tmp_path / "none", tmp_path / "calm"], skip_damaged=True)
