"""A store returns exactly what was written, or an error."""

import copy
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.errors import (
    DamagedStoreError,
    InputError,
    LabelConflictError,
    MissingExampleError,
    NotFoundError,
    OptionError,
    SchemaVersionError,
    StoreError,
    TooFewRunsError,
)
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.records.reader import RunReader, Store
from seedproof.records.schema import VALUE_COLUMNS, Kind, Layout
from seedproof.testing.errors import WithFields

CLASSES = ("cat", "dog", "fox")
WORDS = ("Cat.", "", "füchse 🦊")


def _values(shard):
    """Return predictions, probabilities, numbers or items of a shard."""
    if shard.items is not None:
        return shard.items
    if shard.numbers is not None:
        return shard.numbers
    if shard.texts is not None:
        return shard.texts.texts
    return shard.predictions if shard.probs is None else shard.probs


def _gold(shard):
    """Labels, targets, or the first right item or text of each example."""
    if shard.texts is not None and shard.labels is not None:
        return np.array([WORDS.index(right[0]) if right else -1 for right in shard.texts.right])
    if shard.relevance is not None:
        return shard.relevance.items[:, 0]
    return shard.labels if shard.targets is None else shard.targets


def joined(shards):
    """All shards of a source as one: ids, labels or targets, and values by run."""
    all_shards = [shards.shard(index) for index in range(shards.n_shards)]
    ids = [example for shard in all_shards for example in shard.ids.to_pylist()]
    golds = [_gold(shard) for shard in all_shards]
    labels = None if golds[0] is None else np.concatenate(golds)
    values = [
        np.concatenate([_values(shard)[run] for shard in all_shards])
        for run in range(len(shards.runs))
    ]
    return ids, labels, values


# ---------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("labeled", ["all", "some", "none"])
@pytest.mark.parametrize("text_ids", [False, True], ids=["integers", "texts"])
@pytest.mark.parametrize("kind", list(VALUE_COLUMNS))
def test_a_store_gives_back_what_was_written(make_store, kind, text_ids, labeled):
    """Every kind, integer and text ids, labels for all, some or none of the examples."""
    store = make_store(kind, text_ids=text_ids, labeled=labeled)

    shards = store.open().shards()
    ids, labels, values = joined(shards)

    assert shards.kind is kind
    assert shards.classes == (() if kind in {Kind.NUMBERS, Kind.TEXTS} else CLASSES)
    assert shards.runs == ("0", "1")
    assert (shards.n_examples, shards.n_shards) == (50, 3)
    assert shards.n_labeled == int((store.labels >= 0).sum())
    assert ids == store.ids.to_pylist()
    if labeled == "none":
        assert labels is None
    else:
        np.testing.assert_array_equal(labels, store.labels)
    for read, written in zip(values, store.values, strict=True):
        expected = written[0][:, 0] if kind is Kind.TOP else written  # the most probable class
        expected = written["text"].to_pylist() if kind is Kind.TEXTS else expected
        np.testing.assert_array_equal(read, expected)


def test_extras_come_back_under_their_own_names(make_store):
    """Text and numbers, in the order of the examples."""
    store = make_store(with_extras=True)

    shard = store.open().shards().shard(1)

    assert shard.extras.column_names == ["text", "size"]
    assert shard.extras.column("text").to_pylist() == [f"text {i}" for i in range(20, 40)]
    assert shard.extras.column("size").to_pylist() == store.extras[1].to_pylist()[20:40]
    assert make_store(name="bare").open().shards().shard(0).extras is None


def test_several_parts_are_one_run(make_store, monkeypatch):
    """Groups are counted over all files."""
    monkeypatch.setattr("seedproof.records.writer.GROUPS_PER_PART", 2)
    store = make_store(n_examples=90)

    _, _, values = joined(store.open().shards())

    assert len(store.parts(0)) == 3
    np.testing.assert_array_equal(values[0], store.values[0])
    np.testing.assert_array_equal(values[1], store.values[1])
    named = RunReader(store.place, store.open().runs[0], "all").name_of(3).fields
    assert (named["row_group"], named["path"].name) == (1, store.parts(0)[1].name)


def test_top_classes_may_be_in_any_order(tmp_path, write_run):
    """The prediction is the most probable of them."""
    layout = Layout(Kind.TOP, CLASSES, n_top=2)
    StudyManifest("top", 20).write(Location.of(tmp_path))
    top = (np.array([[0, 2], [1, 0]]), np.array([[0.3, 0.6], [0.5, 0.4]]))
    for name in "01":
        write_run(Location.of(tmp_path), layout, pa.array([1, 2]), np.array([0, 1]), top, name=name)

    _, _, values = joined(Store(Location.of(tmp_path)).shards())

    assert values[0].tolist() == [2, 1]


def test_probabilities_of_all_runs_are_one_array(make_store):
    """Axes (runs, rows, classes), so that a batch is a slice of it."""
    shards = make_store().open().shards()

    shard = shards.shard(0)

    assert shard.probs.shape == (len(shards.runs), len(shard), len(shards.classes))
    assert shard.probs.dtype == np.float32


def test_a_copied_source_opens_its_files_anew(make_store):
    """Open files stay behind when a source travels to another process."""
    shards = make_store().open().shards()
    before = shards.shard(0)

    travelled = copy.deepcopy(shards)

    np.testing.assert_array_equal(travelled.shard(0).probs[1], before.probs[1])


# -------------------------------------------------------------------------- which runs there are


def test_runs_come_in_canonical_order(tmp_path, write_run):
    """By arm, then by name, numbers by value."""
    layout = Layout(Kind.LABELS, CLASSES)
    StudyManifest("order", 20).write(Location.of(tmp_path))
    ids, values = pa.array([1]), np.array([0])
    for arm, name in (("none", "10"), ("aswa", "9"), ("none", "9"), ("aswa", "10")):
        write_run(
            Location.of(tmp_path), layout, ids, values, values,
            name=name, run_id=f"{arm}-{name}", arm=arm,
        )  # fmt: skip

    runs = Store(Location.of(tmp_path)).runs

    assert [run.run_id for run in runs] == ["aswa-9", "aswa-10", "none-9", "none-10"]


def test_two_runs_of_one_name_are_both_kept(make_store, write_run):
    """A run is never dropped because another one is called the same."""
    store = make_store()
    write_run(
        store.place, store.layout, store.ids, store.labels, store.values[0], name="0", run_id="z"
    )

    assert [run.run_id for run in store.open().runs] == ["id0", "z", "id1"]


def test_a_run_without_its_commit_does_not_exist(make_store):
    """Whatever else is in its folder."""
    store = make_store(n_runs=3)
    (store.run_folder(1) / "run.json").unlink()

    assert [run.name for run in store.open().runs] == ["0", "2"]
    assert store.open().shards().runs == ("0", "2")


def test_files_that_are_not_listed_do_not_exist(make_store):
    """The file of a crashed attempt, and foreign files."""
    store = make_store()
    before = store.read()
    (part,) = store.parts(0)
    shutil.copy(part, part.with_name("part-deadbeef-00000.parquet"))
    (part.parent / "notes.txt").write_text("hello")
    (store.path / "runs" / "stray.txt").write_text("hello")

    assert store.read() == before


def test_only_finished_runs_are_measured(make_store, write_run):
    """A failed run is in the store, not in the figures."""
    store = make_store()
    write_run(
        store.place, store.layout, store.ids, store.labels, store.values[0],
        name="2", status="failed",
    )  # fmt: skip

    assert [run.status for run in store.open().runs] == ["finished", "finished", "failed"]
    assert store.open().shards().runs == ("0", "1")


def test_fewer_than_two_finished_runs_are_refused(make_store):
    """The error counts them, or names the empty store."""
    with pytest.raises(TooFewRunsError, check=WithFields(arm="none", study="small", n_runs=1)):
        make_store(n_runs=1).open().shards()
    store = make_store(n_runs=0, name="empty")
    with pytest.raises(TooFewRunsError, check=WithFields(location=store.place)):
        store.open().shards()


def test_an_arm_is_chosen_by_name(make_store, write_run):
    """With several arms one must be named, and it must exist."""
    store = make_store()
    for name in "23":
        write_run(
            store.place, store.layout, store.ids, store.labels, store.values[0],
            name=name, arm="ema",
        )  # fmt: skip

    assert store.open().shards(arm="ema").runs == ("2", "3")
    with pytest.raises(OptionError, check=WithFields(n_known=2, noun="arm", known=("ema", "none"))):
        store.open().shards()
    with pytest.raises(
        OptionError, check=WithFields(noun="arm", given="sam", known=("ema", "none"))
    ):
        store.open().shards(arm="sam")


def test_a_split_is_chosen_by_name(tmp_path, write_run):
    """Runs may hold predictions for several splits."""
    place, layout = Location.of(tmp_path), Layout(Kind.LABELS, CLASSES)
    StudyManifest("splits", 20).write(place)
    for name, split in (("0", "dev"), ("1", "dev"), ("2", "test")):
        write_run(
            place, layout, pa.array([1]), np.array([0]), np.array([1]), name=name, split=split
        )
    store = Store(place)

    assert store.splits() == ("dev", "test")
    with pytest.raises(
        OptionError, check=WithFields(n_known=2, noun="split", known=("dev", "test"))
    ):
        store.shards()
    with pytest.raises(NotFoundError, check=WithFields(run="2", split="dev")):
        store.shards(split="dev")


def test_store_is_recognized_by_its_study(tmp_path, make_store):
    """A folder without `study.json` is not a store."""
    assert Store.is_at(make_store().place)
    assert not Store.is_at(Location.of(tmp_path))
    with pytest.raises(NotFoundError):
        Store(Location.of(tmp_path))


# ------------------------------------------------------------------------------------ alignment


@pytest.mark.parametrize(
    ("change", "error", "fields"),
    [
        ({"ids": lambda _: pa.array(np.arange(50) * 3 - 29)}, MissingExampleError, {}),
        ({"ids": lambda ids: ids[:40]}, MissingExampleError, {}),
        ({"labels": lambda labels: (labels + 1) % 3}, LabelConflictError, {}),
        ({"labels": lambda labels: np.full_like(labels, -1)}, LabelConflictError, {}),
        ({"classes": ("cat", "dog", "emu")}, InputError, {"classes": CLASSES, "other_classes": ("cat", "dog", "emu")}),
        ({"kind": Kind.LABELS}, InputError, {"kind": Kind.PROBS, "other_kind": Kind.LABELS}),
    ],
    ids=["other-ids", "fewer-ids", "other-labels", "no-labels", "other-classes", "other-kind"],
)  # fmt: skip
def test_runs_that_do_not_fit_together_are_refused(
    make_store, write_run, draw_values, *, change, error, fields
):
    """Alignment is checked from the footers; both runs are named."""
    store = make_store(n_runs=1)
    kind = change.get("kind", Kind.PROBS)
    ids = change.get("ids", lambda ids: ids)(store.ids)
    labels = change.get("labels", lambda labels: labels)(store.labels)[: len(ids)]
    values = draw_values(kind, len(ids), np.random.default_rng(0))
    layout = Layout(kind, change.get("classes", CLASSES))
    write_run(store.place, layout, ids, labels, values, name="1")

    with pytest.raises(error, check=WithFields(run="0", other_run="1", **fields)) as refused:
        store.open().shards()

    assert type(refused.value) is error


@pytest.mark.parametrize(
    ("ids", "labels", "code"),
    [
        (lambda ids: ids, lambda labels: (labels + 1) % 3, None),
        (lambda ids: ids[:40], lambda labels: labels, "no-counterpart"),
        (lambda ids: ids[:35], lambda labels: labels, "fewer-examples"),
        (lambda _: pa.array(np.arange(50) + 1000), lambda labels: labels, "no-common-example"),
        (lambda ids: pa.concat_arrays([ids[:49], pa.array([9999], ids.type)]), lambda labels: labels, "other-examples"),
    ],
    ids=["labels", "groups", "fewer", "apart", "other"],
)  # fmt: skip
def test_a_run_that_does_not_fit_is_left_out_with_a_note(
    make_store, write_run, draw_values, *, ids, labels, code
):
    """The reason has no path above the store, and no label or example is mixed."""
    store = make_store(n_runs=2)
    other = ids(store.ids)
    values = draw_values(Kind.PROBS, len(other), np.random.default_rng(0))
    gold = labels(store.labels)[: len(other)]
    write_run(store.place, Layout(Kind.PROBS, CLASSES), other, gold, values, name="2")

    opened = Store(store.place, skip_damaged=True)

    assert opened.shards().runs == ("0", "1")
    (note,) = opened.left_out
    why = note.fields["why"]
    assert (note.code, note.fields["run"]) == ("run-left-out", "2")
    assert (why.fields["run"], why.fields["other_run"]) == ("0", "2")
    assert code is None or why.fields["difference"].code == code
    assert why.fields["row_group"].fields["path"].startswith("runs/")
    assert str(store.place) not in str(note)


def test_integer_and_text_ids_are_different_examples(make_store, write_run):
    """1 and "1" are not the same id."""
    store = make_store(n_runs=1, n_examples=3)
    ids = pa.array([str(i) for i in store.ids.to_pylist()])
    order = np.argsort(ids.to_pylist())
    write_run(
        store.place, Layout(Kind.PROBS, CLASSES, text_ids=True), ids.take(pa.array(order)),
        store.labels[order], store.values[0][order], name="1",
    )  # fmt: skip

    with pytest.raises(MissingExampleError):
        store.open().shards()


def test_uneven_groups_are_refused(make_store):
    """The study sets the number of rows per group."""
    store = make_store()
    (store.path / "study.json").unlink()
    StudyManifest("other", 30).write(store.place)

    with pytest.raises(StoreError, check=WithFields(rows_per_group=30)):
        store.open().shards()


def test_predictions_with_other_class_lists_are_matched_by_name(tmp_path, write_run):
    """Answers of a language model: every run has its own list of classes."""
    place = Location.of(tmp_path)
    StudyManifest("answers", 20).write(place)
    ids = pa.array([1, 2, 3])
    first, second = Layout(Kind.LABELS, ("oslo", "rome")), Layout(Kind.LABELS, ("rome", "bergen"))
    write_run(place, first, ids, np.array([1, -1, 1]), np.array([0, 1, 1]), name="0")
    write_run(place, second, ids, np.array([0, -1, 0]), np.array([1, 0, 0]), name="1")

    shards = Store(place).shards()
    shard = shards.shard(0)

    assert shards.classes == ("bergen", "oslo", "rome")
    assert shard.predictions[0].tolist() == [1, 2, 2]
    assert shard.predictions[1].tolist() == [0, 2, 2]
    assert shard.labels.tolist() == [2, -1, 2]


@pytest.mark.parametrize("labels", [[1, -1, 0], [-1, -1, -1]], ids=["other", "none"])
def test_labels_under_other_class_lists_are_compared_by_name(tmp_path, write_run, labels):
    """Equal indices may be different names; a label in one run only is a conflict, too."""
    place = Location.of(tmp_path)
    StudyManifest("answers", 20).write(place)
    ids, values = pa.array([1, 2, 3]), np.array([0, 0, 0])
    first, second = Layout(Kind.LABELS, ("oslo", "rome")), Layout(Kind.LABELS, ("rome", "bergen"))
    write_run(place, first, ids, np.array(labels), values, name="0")
    write_run(place, second, ids, np.array([1, -1, 0]), values, name="1")

    with pytest.raises(LabelConflictError, check=WithFields(run="0", other_run="1")):  # noqa: PT012
        shards = Store(place).shards()
        shards.shard(0)


# --------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("kind", list(VALUE_COLUMNS))
def test_no_flipped_byte_changes_a_value(make_store, kind):
    """Each byte of a part, one at a time: refused, or nothing a reader sees has changed."""
    store = make_store(kind, n_examples=12, rows_per_group=8, with_extras=True)
    (part,) = store.parts(0)
    before, content = store.read(), part.read_bytes()
    n_refused = 0

    for position in range(0, len(content), 3):
        changed = bytearray(content)
        changed[position] ^= 0x01 if position % 2 else 0xFF
        part.write_bytes(bytes(changed))
        try:
            content_read = store.read()
        except DamagedStoreError:
            n_refused += 1
        else:
            assert content_read == before, position

    assert n_refused > 0.9 * len(content) / 3


@pytest.mark.parametrize("column", ["example", "label", "probs"])
def test_a_changed_page_is_refused(make_store, flip_byte, column):
    """Page checksums are written and verified; the run and the file are named."""
    store = make_store()
    (part,) = store.parts(1)
    group = pq.read_metadata(part).row_group(1)
    chunk = next(group.column(i) for i in range(3) if group.column(i).path_in_schema == column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    flip_byte(part, start + chunk.total_compressed_size - 1)
    reader = RunReader(store.place, store.open().runs[1], "all")

    reader.read(0, [column])
    with pytest.raises(DamagedStoreError, check=WithFields(row_group=1, run="1")):
        reader.read(1, [column])


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("probs", {"rows": 19}),
        ("example", {"ids_digest": "0" * 32}),
        ("label", {"labels_digest": "0" * 32}),
        ("probs", {"values_digest": "0" * 32}),
        ("prediction", {"predictions_digest": "0" * 32}),
    ],
    ids=["rows", "ids", "labels", "values", "predictions"],
)
def test_row_group_that_differs_from_its_footer_is_refused(make_store, column, change):
    """Page headers have no checksum, and whole pages or files may be swapped."""
    store = make_store()
    reader = RunReader(store.place, store.open().runs[1], "all")
    reader.groups[0] = reader.groups[0]._replace(**change)

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="1")):
        reader.read(0, [column])


@pytest.mark.parametrize("name", ["run.json", "../../study.json"])
def test_a_changed_manifest_is_refused(make_store, flip_byte, name):
    """The JSON files carry a digest of themselves."""
    store = make_store()
    flip_byte((store.run_folder(0) / name).resolve(), 25)

    with pytest.raises(StoreError):
        store.open().shards()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-30] + bytes([content[-30] ^ 255]) + content[-29:],
        lambda content: content[:0],
        lambda content: content[:1],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        None,
    ],
    ids=["footer", "empty", "one-byte", "half", "shorter", "longer", "missing"],
)
def test_damaged_or_missing_part_is_refused(make_store, damage):
    """Before any of it is read."""
    store = make_store()
    (part,) = store.parts(0)
    content = part.read_bytes()
    part.unlink()
    if damage is not None:
        part.write_bytes(damage(content))

    with pytest.raises(DamagedStoreError, check=WithFields(run="0")):
        store.open().shards()


@pytest.mark.parametrize("within", ["run", "study"])
def test_swapped_parts_are_refused(make_store, monkeypatch, within):
    """Files of one shape may have equal sizes, and groups may not change their order."""
    if within == "run":
        monkeypatch.setattr("seedproof.records.writer.GROUPS_PER_PART", 1)
        first, second = (store := make_store(n_examples=40)).parts(0)
    else:
        (first,), (second,) = map((store := make_store(Kind.LABELS)).parts, (0, 1))
        assert first.stat().st_size == second.stat().st_size
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])

    with pytest.raises(DamagedStoreError):
        store.open().shards()


def test_a_copied_run_folder_is_refused(make_store):
    """The same run twice would look like two runs that always agree."""
    store = make_store()
    shutil.copytree(store.run_folder(0), store.path / "runs" / "copy")

    with pytest.raises(DamagedStoreError, check=WithFields(run_id="id0")):
        _ = store.open().runs


def test_a_part_of_a_newer_schema_is_refused(make_store, write_run, monkeypatch):
    """The error names the file that is too new."""
    store = make_store(n_runs=1)
    with monkeypatch.context() as later:
        later.setattr("seedproof.records.writer.version_text", lambda: "1.9")
        write_run(store.place, store.layout, store.ids, store.labels, store.values[0], name="1")

    with pytest.raises(SchemaVersionError, check=WithFields(version="1.9", newest="1.6")):
        store.open().shards()


def test_a_store_of_an_older_minor_schema_is_read(make_store, monkeypatch):
    """A later seedproof reads the same values."""
    store = make_store()
    before = store.read()
    monkeypatch.setattr("seedproof.records.schema.SCHEMA_VERSION", (1, 9))

    assert store.read() == before
