"""Damaged data are refused by name, or skipped with a note."""

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

N_RUNS, N_EXAMPLES, ROWS = 4, 60, 20
LAYOUT = Layout(Kind.PROBS, ("no", "yes"))


class Damaged:
    """A store of four runs in three row groups, and ways to damage run 2."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 2, N_EXAMPLES).astype(np.int32)
        yes = rng.random((N_RUNS, N_EXAMPLES))
        self.probs = np.stack([1 - yes, yes], axis=2).astype(np.float32)
        StudyManifest("small", ROWS).write(Location.of(path))
        for run in range(N_RUNS):
            self.write(run, np.arange(N_EXAMPLES))

    def write(self, run: int, ids: np.ndarray) -> None:
        manifest = RunManifest(f"id{run}", str(run))
        with RunWriter(Location.of(self.path), manifest, LAYOUT, rows_per_group=ROWS) as writer:
            writer.write(pa.array(ids), self.labels[: len(ids)], self.probs[run, : len(ids)])

    @property
    def part(self) -> Path:
        """Return the only file of run 2."""
        return next((self.path / "runs" / "id2").rglob("*.parquet"))

    def chunk(self, group: int) -> tuple[int, int]:
        """Return where the probabilities of a row group are in that file."""
        chunk = pq.read_metadata(self.part).row_group(group).column(2)
        return chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size

    def truncate(self) -> None:
        self.part.write_bytes(self.part.read_bytes()[:-100])

    def remove(self) -> None:
        self.part.unlink()

    def change_a_group(self) -> None:
        """Change bytes of row group 1."""
        change_a_group(self.part, 2, 1)

    def swap_groups(self) -> None:
        """Swap the probabilities of row groups 0 and 1, with every page intact."""
        content = bytearray(self.part.read_bytes())
        first, second = (slice(*self.chunk(group)) for group in range(2))
        content[first], content[second] = content[second], content[first]
        self.part.write_bytes(content)

    def write_again(self, ids: np.ndarray) -> None:
        self.part.unlink()
        (self.path / "runs" / "id2" / "run.json").unlink()
        self.write(2, ids)

    def of_another_data_set(self) -> None:
        self.write_again(np.arange(1000, 1000 + N_EXAMPLES))

    def shorter(self) -> None:
        self.write_again(np.arange(50))


@pytest.fixture
def store(tmp_path):
    return Damaged(tmp_path / "store")


RUN_DAMAGE = {
    "truncate": (DamagedStoreError, {"run": "2"}),
    "remove": (DamagedStoreError, {"run": "2"}),
    "of_another_data_set": (MissingExampleError, {}),
    "shorter": (MissingExampleError, {}),
}


def left_out(note):
    """Return the number of examples that a note reports as skipped, and their row group."""
    assert note.code == "examples-left-out"
    return note.fields["n_examples"], note.fields["row_group"]


@pytest.mark.parametrize("damage", RUN_DAMAGE)
def test_damaged_run_is_refused_or_skipped(store, damage):
    """The error names run, file and, if known, row group."""
    error, fields = RUN_DAMAGE[damage]
    without = sp.measure(store.probs[[0, 1, 3]], labels=store.labels, runs=["0", "1", "3"])
    getattr(store, damage)()

    with pytest.raises(error, check=WithFields(**fields)):
        sp.measure(store.path)
    report = sp.measure(store.path, skip_damaged=True)

    (note,) = report.measurement.notes
    assert (note.code, note.fields["run"]) == ("run-left-out", "2")
    assert str(store.path) not in str(note)
    assert report.measurement.runs == ("0", "1", "3")
    for name, value in without.metrics.items():
        assert report[name].value == pytest.approx(value.value)


@pytest.mark.parametrize("damage", ["change_a_group", "swap_groups"])
def test_damaged_row_group_is_refused_or_skipped(store, damage):
    """In all runs, since they are compared on the same examples; also by other processes."""
    getattr(store, damage)()
    lost = {"change_a_group": [1], "swap_groups": [0, 1]}[damage]
    rest = np.concatenate([np.arange(20) + 20 * i for i in range(3) if i not in lost])

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=lost[0], run="2")):
        sp.measure(store.path)
    report = sp.measure(store.path, skip_damaged=True)
    there = sp.measure(store.path, skip_damaged=True, engine="processes", workers=1)

    assert report.measurement.n_examples == report.measurement.n_labeled == len(rest)
    assert report.examples.column("example").to_pylist() == rest.tolist()
    assert [left_out(note) for note in report.measurement.notes] == [(20, index) for index in lost]
    assert report["flip_rate"].value == pytest.approx(
        sp.measure(store.probs[:, rest], labels=store.labels[rest])["flip_rate"].value
    )
    assert there.to_json() == report.to_json()


def test_report_lists_skipped_data(store, seedproof):
    """In the text and in the summary."""
    store.truncate()
    (note,) = sp.measure(store.path, skip_damaged=True).measurement.notes

    code, out, _ = seedproof("measure", store.path, "--skip-damaged")
    _, summary, _ = seedproof("measure", store.path, "--skip-damaged", "--json")

    assert code == 0
    assert "".join(str(note).split()) in "".join(out.split())
    assert json.loads(summary)["notes"] == [str(note)]


def test_command_skips_a_damaged_manifest(store, seedproof):
    """Although it counts the arms first."""
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
    """Predictions are measured all the same."""
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
    """Return arms "none" and "calm" of four explained runs, in two row groups of four."""
    rng = np.random.default_rng(0)
    yes = rng.random((2, 4, 8)).astype(np.float32)
    probs = np.stack([1 - yes, yes], axis=3)
    place = Location.of(tmp_path / "store")
    for arm, of_arm in zip(("none", "calm"), probs, strict=True):
        write_explained(place, range(8), list(rng.random((8, 4, 1, 6))), arm=arm, probs=of_arm)
    return tmp_path / "store", probs


def part_of(store, run, kind="predictions"):
    return next((store / "runs" / run / kind).rglob("*.parquet"))


def change_a_group(file, column, group):
    chunk = pq.read_metadata(file).row_group(group).column(column)
    stop = chunk.data_page_offset + chunk.total_compressed_size
    content = bytearray(file.read_bytes())
    content[stop - 4 : stop] = bytes(byte ^ 255 for byte in content[stop - 4 : stop])
    file.write_bytes(content)


def test_damaged_run_of_an_arm_is_refused_or_skipped(two_arms, seedproof):
    """The others are compared, and the report says so."""
    store, probs = two_arms
    part_of(store, "calm-2").unlink()

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
    """The message names run, file and row group."""
    store, probs = two_arms
    change_a_group(part_of(store, "calm-2"), 2, 1)

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=1, run="2")):
        sp.compare(store)
    report = sp.compare(store, skip_damaged=True)

    for name, values in zip(("none", "calm"), probs, strict=True):
        measurement = report.arm(name).measurement
        expected = sp.measure(values[:, :4])
        assert measurement.n_examples == 4
        assert measurement.metrics["flip_rate"].value == pytest.approx(expected["flip_rate"].value)
    (note,) = (note for note in report.comparison.notes if note.code == "examples-left-out")
    assert left_out(note) == (4, 1)
    assert "runs/calm-2/predictions/" in str(note)


def test_rates_are_matched_on_the_remaining_row_groups(two_arms):
    """The note contains no path."""
    store, probs = two_arms
    change_a_group(part_of(store, "calm-2"), 2, 1)

    with pytest.raises(DamagedStoreError):
        sp.compare(store, match_rates=True)
    report = sp.compare(store, match_rates=True, skip_damaged=True)

    expected = sp.compare(
        dict(zip(("none", "calm"), probs[:, :, :4], strict=True)), match_rates=True
    )
    for name in ("none", "calm"):
        arm, alone = report.arm(name), expected.arm(name)
        assert arm.measurement.n_examples == 4
        assert (arm.matched_rate.lowest_before, arm.matched_rate.after) == (
            alone.matched_rate.lowest_before,
            alone.matched_rate.after,
        )
        for metric, estimate in arm.measurement.metrics.items():
            assert estimate.value == pytest.approx(alone.measurement.metrics[metric].value)
    (note,) = (note for note in report.comparison.notes if note.code == "examples-left-out")
    assert left_out(note) == (4, 1)
    assert not any(str(store) in str(note) for note in report.comparison.notes)


def test_error_lists_the_reasons_if_all_row_groups_are_damaged(two_arms):
    store, _ = two_arms
    for group in (0, 1):
        change_a_group(part_of(store, "calm-2"), 2, group)

    for match_rates in (False, True):
        with pytest.raises(EmptyInputError):
            sp.compare(store, match_rates=match_rates, skip_damaged=True)


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_answers_are_compared_although_explanations_are_damaged(two_arms, damage):
    """The note names run and file."""
    store, _ = two_arms
    file = part_of(store, "calm-2", "explanations")
    if damage == "missing":
        file.unlink()
    else:
        change_a_group(file, 2, 0)

    with pytest.raises(DamagedStoreError, check=WithFields(run="2")):
        sp.compare(store)
    report = sp.compare(store, skip_damaged=True)

    assert report.arm("calm").explanations == {}
    assert report.arm("calm").effects["flip_rate"].value is not None
    (note,) = report.comparison.notes
    assert (note.code, note.fields["method"]) == ("explanations-left-out", "lime")
    assert str(store) not in str(note)


def test_arm_with_too_few_runs_left_is_skipped(two_arms):
    """Two arms must remain."""
    store, _ = two_arms
    for run in (0, 1, 2):
        part_of(store, f"calm-{run}").unlink()

    with pytest.raises(TooFewRunsError):
        sp.compare(store, skip_damaged=True)


def test_skipping_does_not_apply_to_reports(two_arms, tmp_path):
    store, _ = two_arms
    for arm in ("none", "calm"):
        sp.measure(store, arm=arm).save(tmp_path / arm)

    with pytest.raises(OptionError):
        sp.compare([tmp_path / "none", tmp_path / "calm"], skip_damaged=True)
