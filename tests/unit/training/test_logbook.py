"""Logs of a training become one canonical record, or are refused."""

from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import seedproof as sp
from seedproof.errors import (
    ClassesError,
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    InputError,
    MissingValueError,
    OptionError,
    ProbabilityError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.testing.errors import WithFields
from seedproof.training.logbook import Logbook

# Eighths are exact in every precision, so nothing depends on rounding.
PROBS = np.array([[6, 2], [4, 4], [1, 7], [8, 0], [3, 5], [5, 3]]) / 8
IDS = [30, 10, 60, 20, 50, 40]
LABELS = [0, 1, 1, 0, 1, 0]
BY_ID = [1, 3, 0, 5, 4, 2]
NAN = pytest.approx(np.nan, nan_ok=True)


@pytest.fixture
def folder(tmp_path):
    """Folder of a run."""
    return Location.of(tmp_path / "store" / "runs" / "id0")


@pytest.fixture
def log(folder):
    """Logbook of a run in a store."""
    return Logbook("0", folder)


@pytest.fixture
def read(folder, log, read_back):
    """Write the log, and read it back."""

    def read(split="test"):
        return read_back(folder, log.write(), split)

    return read


def add(log, split="test", **given):
    """Log predictions with the given columns only."""
    names = ("ids", "probs", "predictions", "labels", "classes")
    log.add_predictions(split, **dict.fromkeys(names) | given)


def explain(log, split="test", method="lime", **given):
    """Log two explanations; replace the given columns."""
    rows = {"ids": [1, 2], "tokens": [["a", "b"], ["c"]], "scores": [[1.0, 2.0], [3.0]], "draw": 0}
    log.add_explanations(split, method, **rows | given)


def as_tensors(values):
    """Return tensors; those of floats still require a gradient."""
    tensor = torch.tensor(np.asarray(values))
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, as_tensors])
@pytest.mark.parametrize("sizes", [[6], [1, 2, 3], [3, 3], [0, 5, 0, 1]])
def test_batches_of_any_size_and_order_make_one_record(form, sizes, log, read):
    """Rows are sorted by id over all batches, each with its own label and values."""
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        rows = slice(start, end)
        probs = form(PROBS[rows]) if end > start else PROBS[rows]
        add(log, ids=form(np.array(IDS)[rows]), probs=probs, labels=form(np.array(LABELS)[rows]))

    record = read()

    assert record.kind is Kind.PROBS
    assert record.classes == ("0", "1")
    assert record.ids == [10, 20, 30, 40, 50, 60]
    assert record.labels == [LABELS[i] for i in BY_ID]
    assert record.values == PROBS[BY_ID].tolist()


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, as_tensors])
@pytest.mark.parametrize("sizes", [[6], [1, 2, 3]])
def test_batches_of_numbers_make_one_record(form, sizes, log, read):
    numbers, targets = PROBS[:, 0] * 10, np.array(LABELS) / 3
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        rows = slice(start, end)
        ids, values = form(np.array(IDS)[rows]), form(numbers[rows])
        add(log, ids=ids, values=values, targets=form(targets[rows]))

    record = read()

    assert record.kind is Kind.NUMBERS
    assert record.ids == [10, 20, 30, 40, 50, 60]
    assert record.labels == targets[BY_ID].tolist()
    assert record.values == numbers[BY_ID].tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "float"),
        ([True, False], "float"),
        ([0.5, 0.25], "float"),
        ([0.1, 0.25], "double"),
        (np.array([0.1, 0.2], dtype=np.float32), "float"),
        (np.array([0.1, 0.2], dtype=np.float16), "float"),
        ([1e36 / 3, 0.0], "double"),
    ],
)
def test_numbers_take_four_bytes_if_these_keep_them_exactly(values, kind, log, read, folder):
    add(log, values=values, targets=[None, 0.1])

    record = read()

    assert record.values == [float(value) for value in values]
    assert record.labels == [None, 0.1]
    (part,) = Path(folder.path).rglob("*.parquet")
    assert str(pq.read_schema(part).field("value").type) == kind


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_numbers_are_written_in_batches(dtype, log, read, monkeypatch):
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 20)
    numbers = np.arange(12, dtype=dtype)
    numbers[-1] = 0.1  # which single precision would change
    for rows in (slice(0, 5), slice(5, 10), slice(10, 12)):
        add(log, values=numbers[rows])

    assert read().values == numbers.tolist()


@pytest.mark.parametrize(
    "given",
    [
        {"values": [0.5], "labels": [1]},
        {"values": [0.5], "classes": ["a", "b"]},
        {"predictions": [0], "targets": [0.5]},
    ],
)
def test_numbers_and_classes_are_not_mixed(given, log):
    with pytest.raises(OptionError):
        add(log, **given)


def test_positions_are_used_if_ids_are_omitted(log, read):
    """Positions continue over the batches of a split."""
    for rows in (slice(0, 4), slice(4, 6)):
        add(log, probs=PROBS[rows])

    record = read()

    assert record.ids == [0, 1, 2, 3, 4, 5]
    assert record.values == PROBS.tolist()
    assert record.labels == [None] * 6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_every_precision_are_taken(dtype, log, read):
    """Including types that numpy lacks, and tensors that require a gradient."""
    tensor = torch.tensor(PROBS, dtype=dtype, requires_grad=True)

    add(log, probs=tensor * 1)

    assert read().values == PROBS.tolist()
    assert tensor.requires_grad


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_half_precision_have_a_larger_tolerance(dtype, log, read):
    """A sum of 1.005 is rounding in half precision, and an error in single precision."""
    probs = torch.tensor([[0.5, 0.505]]).to(dtype)

    add(log, probs=probs)
    add(log, "single", probs=probs.float())

    with pytest.raises(ProbabilityError, check=WithFields(tolerance=0.001)):
        log._predictions.pop("single").write()
    assert read().values == probs.float().tolist()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_tensors_on_a_device_are_taken(log, read):
    """They are moved to the CPU."""
    add(log, probs=torch.tensor(PROBS, device="cuda"))

    assert read().values == PROBS.tolist()


@pytest.mark.parametrize(
    ("batches", "ids", "order"),
    [
        ([["b", "é", "B"]], ["B", "b", "é"], [2, 0, 1]),
        ([[10, 9], ["a"]], ["10", "9", "a"], [0, 1, 2]),
        ([["10", "9"]], [9, 10], [1, 0]),
    ],
    ids=["bytes", "text-in-one-batch", "digits"],
)
def test_ids_are_numbers_if_all_are_and_sorted_texts_otherwise(batches, ids, order, log, read):
    """Texts are sorted by their bytes; all batches together decide the type."""
    rows = iter(PROBS)
    for batch in batches:
        add(log, ids=batch, probs=[next(rows) for _ in batch])

    record = read()

    assert record.ids == ids
    assert record.values == PROBS[order].tolist()


@pytest.mark.parametrize(
    "labels",
    [[0, None, 1], [0, -1, 1], [0.0, float("nan"), 1.0], ["0", None, "1"]],
    ids=["none", "negative", "nan", "text"],
)
def test_some_labels_may_be_unknown(labels, log, read):
    """The record has no label there, for every notation."""
    add(log, probs=PROBS[:3], labels=labels)

    assert read().labels == [0, None, 1]


def test_predicted_classes_may_be_names(log, read):
    """Classes are the sorted names of predictions and labels."""
    add(log, predictions=["fox", "cat", "fox"], labels=["dog", "cat", None])

    record = read()

    assert record.kind is Kind.LABELS
    assert record.classes == ("cat", "dog", "fox")
    assert record.values == [2, 0, 2]
    assert record.labels == [1, 0, None]


def test_named_classes_are_sorted_with_their_columns(log, read):
    """Runs with different orders of columns give the same record."""
    add(log, probs=PROBS[:2], labels=["dog", "cat"], classes=["dog", "cat"])

    record = read()

    assert record.classes == ("cat", "dog")
    assert record.values == PROBS[:2, ::-1].tolist()
    assert record.labels == [1, 0]


def test_run_may_be_wrong_everywhere(log, read):
    """This is a result, not a spelling mistake of the classes."""
    add(log, predictions=[0, 0], labels=[1, 1])

    assert read().labels == [1, 1]


@pytest.mark.parametrize("what", ["probs", "predictions", "ids", "labels"])
def test_arrays_may_be_reused_for_the_next_batch(what, log, read):
    """A training loop that refills its buffers does not change the log."""
    key = "predictions" if what == "predictions" else "probs"
    batch = {"ids": np.array([1, 2]), "labels": np.array([0, 1])}
    batch[key] = np.array([1, 0]) if key == "predictions" else PROBS[:2].copy()
    add(log, **batch)
    expected = {name: values.tolist() for name, values in batch.items()}

    batch[what][:] = batch[what][::-1].copy()

    record = read()
    assert (record.ids, record.labels, record.values) == tuple(
        expected[name] for name in ("ids", "labels", key)
    )


def test_splits_are_separate(log, folder, read_back):
    """Each has its own ids, classes and kind."""
    add(log, "dev", probs=PROBS[:1])
    add(log, "test", ids=["a"], predictions=[2])

    parts = log.write()

    assert [part.path.split("/")[:2] for part in parts] == [
        ["predictions", "dev"],
        ["predictions", "test"],
    ]
    assert read_back(folder, parts, "dev").ids == [0]
    assert read_back(folder, parts, "test").ids == ["a"]


def test_duplicate_ids_are_refused(log):
    """Also in different batches."""
    add(log, ids=[1, 2], probs=PROBS[:2])
    add(log, ids=[3, 1], probs=PROBS[2:4])

    with pytest.raises(DuplicateExampleError, check=WithFields(twice=1)):
        log.write()


@pytest.mark.parametrize("what", ["ids", "labels"])
@pytest.mark.parametrize("column", [[0], [0, 1, 2, 3], [[0], [1], [2]], 5])
def test_ids_and_labels_of_wrong_length_are_refused(what, column, log):
    """The error comes at once, with the expected length."""
    fields = {"n_examples": 3, "column": what, "shape": np.asarray(column).shape}

    with pytest.raises(ShapeError, check=WithFields(**fields)):
        add(log, probs=PROBS[:3], **{what: column})


@pytest.mark.parametrize(
    ("later", "aspect"),
    [
        ({"probs": np.full((2, 4), 0.25), "ids": [8, 9], "labels": [0, 1]}, "axes"),
        ({"predictions": [0, 1], "ids": [8, 9], "labels": [0, 1]}, "axes"),
        ({"probs": PROBS[:2], "ids": [8, 9]}, "labels"),
        ({"probs": PROBS[:2], "labels": [0, 1]}, "ids"),
        ({"probs": PROBS[:2], "ids": [8, 9], "labels": [0, 1], "classes": ["a", "b"]}, "classes"),
    ],
    ids=["more-classes", "predictions", "no-labels", "no-ids", "names"],
)
def test_batches_with_different_columns_are_refused(later, aspect, log):
    """The error names the difference."""
    add(log, probs=PROBS[:2], ids=[1, 2], labels=[0, 1])

    with pytest.raises(ShapeError, check=WithFields(split="test", aspect=aspect)):
        add(log, **later)


@pytest.mark.parametrize(
    ("given", "shape", "n_axes"),
    [
        ({"probs": np.array([0.5, 0.5])}, (2,), 2),
        ({"probs": np.ones((1, 2, 2)) / 2}, (1, 2, 2), 2),
        ({"probs": 0.5}, (), 2),
        ({"predictions": np.zeros((2, 1), dtype=int)}, (2, 1), 1),
        ({"values": np.zeros((2, 1))}, (2, 1), 1),
    ],
    ids=["binary", "three", "none", "column", "numbers"],
)
def test_wrong_number_of_axes_is_refused(given, shape, n_axes, log):
    """The single column of a binary model gets its own hint."""
    with pytest.raises(ShapeError, check=WithFields(shape=shape, n_axes=n_axes)) as caught:
        add(log, **given)

    assert caught.value.fields["is_binary"] == (shape == (2,))
    assert ("np.stack" in str(caught.value)) == (shape == (2,))


def test_rows_of_different_lengths_are_refused(log):
    """The error is ours, not numpy's."""
    with pytest.raises(ShapeError):
        add(log, probs=[[0.5, 0.5], [1.0]])


def test_exactly_one_kind_of_predictions_is_needed(log):
    """Not none, and not several."""
    top = {"top_classes": [[0]], "top_probs": [[1.0]]}
    for given in (
        {},
        {"probs": PROBS[:1], "predictions": [0]},
        {"predictions": [0], **top},
        {"predictions": [0], "values": [0.5]},
    ):
        names = tuple(name for name in given if name != "top_classes")
        with pytest.raises(OptionError, check=WithFields(given=names)):
            add(log, **given)


@pytest.mark.parametrize(
    ("given", "error", "fields"),
    [
        (
            {"probs": [[2.0, -1.0]]},
            ProbabilityError,
            {"example": 0, "run": "0", "probability": -1.0},
        ),
        ({"probs": [[0.5, 0.25]]}, ProbabilityError, {"sum": 0.75}),
        ({"probs": [[np.nan, 1.0]]}, ProbabilityError, {"probability": NAN}),
        ({"probs": [[1.0]]}, ClassesError, {"n_classes": 1}),
        ({"probs": [[1, 0]]}, DtypeError, {"dtype": "int64"}),
        ({"probs": PROBS[:1], "labels": [2]}, UnknownLabelError, {"label": "2", "n_classes": 2}),
        ({"probs": PROBS[:1], "classes": ["a"]}, ClassesError, {"n_names": 1, "n_needed": 2}),
        ({"probs": PROBS[:2], "ids": ["a", None]}, MissingValueError, {"position": 1}),
        ({"predictions": [0.5]}, ShapeError, {"shape": (1, 1)}),
        ({"values": [1.0, np.nan], "ids": [7, 8]}, MissingValueError, {"example": 8, "run": "0", "number": NAN}),
        ({"values": [1.0, np.inf]}, DtypeError, {"example": 1, "number": np.inf}),
        ({"values": ["good"]}, ShapeError, {"shape": (1, 1)}),
        ({"values": [1.0], "targets": [np.inf]}, DtypeError, {"example": 0, "number": np.inf}),
        ({"values": [1.0], "targets": ["high"]}, DtypeError, {"dtype": "<U4"}),
        ({"values": [1.0, 2.0], "ids": [3, 3]}, DuplicateExampleError, {"twice": 3}),
    ],
    ids=[
        "logits", "sum", "nan", "one-class", "integers", "label", "names", "no-id",
        "float-prediction", "nan-number", "infinite-number", "text-number", "infinite-target",
        "text-target", "number-twice",
    ],
)  # fmt: skip
def test_invalid_predictions_are_refused(given, error, fields, log):
    """By the same checks as predictions from a file."""
    add(log, **given)

    with pytest.raises(error, check=WithFields(**fields)):
        log.write()


def test_split_without_examples_is_refused(log):
    """A loop over an empty loader is an error, not a result."""
    add(log, probs=np.zeros((0, 2)))

    with pytest.raises(EmptyInputError, check=WithFields(split="test")):
        log.write()


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\n", "a:b", "*"]
)
def test_names_that_cannot_be_a_folder_are_refused(name, log):
    """The name of a split or method becomes a folder on any filesystem."""
    with pytest.raises(OptionError, check=WithFields(noun="split")):
        add(log, name, probs=PROBS)
    with pytest.raises(OptionError, check=WithFields(noun="split")):
        explain(log, name)
    with pytest.raises(OptionError, check=WithFields(noun="method")):
        explain(log, method=name)
    assert log.write() == ()


@pytest.mark.parametrize("name", ["test", "val-2", "test_1.5", "größe", "+"])
def test_ordinary_names_are_taken(name, log, read):
    """Letters of any script, digits, and a few symbols."""
    add(log, name, probs=PROBS)

    assert len(read(name).ids) == 6


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([float("nan"), float("inf"), -np.inf, torch.tensor(float("nan"))], InputError),
        (["0.5", None, [1.0, 2.0], [], np.zeros((2, 2)), True], DtypeError),
    ],
    ids=["not-finite", "not-a-number"],
)
def test_scalars_that_are_not_one_finite_number_are_refused(values, error, log):
    """JSON cannot hold NaN, and it would spoil every mean."""
    for value in values:
        with pytest.raises(error, check=WithFields(scalar="loss")):
            log.add_scalar("loss", value)
    assert log.scalars == {}


@pytest.fixture
def _small_groups(monkeypatch):
    """Three rows of two classes per row group, and fixed file names."""
    monkeypatch.setattr("seedproof.records.schema.GROUP_BYTES", 3 * 2 * 4)
    monkeypatch.setattr("seedproof.records.writer.uuid4", lambda: UUID(int=0))


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize("batch", [1, 7, 50])
@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"ids": np.arange(50) * 2 - 9, "labels": np.arange(50) % 2},
        {"ids": [f"n{i:03}" for i in range(50)], "labels": [0, None] * 25},
    ],
    ids=["bare", "numbers", "text"],
)
def test_streamed_records_have_the_same_bytes(columns, batch, tmp_path, monkeypatch, read_back):
    """Beyond the buffer, batches are written at once, and the record is the same."""
    probs = np.random.default_rng(5).dirichlet([1, 1], 50)
    written = {}
    for limit in (2**30, 100):
        monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", limit)
        # Both folders have the same name, as the run's id is in the footer.
        folder = Location.of(tmp_path / str(limit) / "runs" / "id0")
        log = Logbook("0", folder)
        for start in range(0, 50, batch):
            rows = slice(start, start + batch)
            taken = {name: column[rows] for name, column in columns.items()}
            add(log, probs=probs[rows], **taken)
        streamed = (tmp_path / str(limit)).exists()
        assert streamed is (limit == 100)
        written[limit] = log.write()

    assert written[100] == written[2**30]  # sizes and digests of all bytes
    record = read_back(folder, written[100])
    assert record.groups == [3] * 16 + [2]
    assert record.values == probs.astype(np.float32).tolist()


@pytest.mark.usefixtures("_small_groups")
def test_full_buffer_is_emptied(log, monkeypatch):
    """Written batches are not kept in memory."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 100)

    for start in range(0, 120, 6):
        add(log, ids=np.arange(start, start + 6), probs=PROBS)
        (split,) = log._predictions.values()
        assert split._n_bytes <= 100
        assert sum(batch["values"].nbytes for batch in split._batches) <= 100


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize(
    ("ids", "error", "fields"),
    [
        ([11], InputError, {"example": 11, "run": "0"}),
        ([12, 13], DuplicateExampleError, {"example": 12, "run": "0"}),
        (["a"], InputError, {"split": "test"}),
    ],
    ids=["order", "duplicate", "type"],
)
def test_streamed_ids_must_ascend_and_keep_their_type(ids, error, fields, log, monkeypatch):
    """They cannot be sorted any more, and a file has one type of ids."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 10)
    add(log, ids=[10, 12], probs=PROBS[:2])

    with pytest.raises(error, check=WithFields(**fields)):
        add(log, ids=ids, probs=PROBS[: len(ids)])


@pytest.mark.parametrize(
    "given",
    [{"ids": [1]}, {"tokens": [["a", "b"]]}, {"scores": [[1.0, 2.0]]}, {"ids": []}],
    ids=["ids", "tokens", "scores", "none"],
)
def test_explanations_of_different_numbers_of_examples_are_refused(given, log):
    """Ids, tokens and scores go together."""
    numbers = {f"n_{name}": len(values) for name, values in given.items()}

    with pytest.raises(ShapeError, check=WithFields(**numbers)):
        explain(log, **given)


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0], [2.0]], 1.0])
def test_number_of_scores_must_match_the_tokens(scores, log):
    """The error names the example."""
    with pytest.raises(ShapeError, check=WithFields(example=1, n_tokens=2)):
        explain(log, scores=[scores, [3.0]])


def test_duplicate_explanation_is_refused(log):
    """Another draw of the same example is another explanation."""
    explain(log)
    explain(log, draw=1)
    explain(log)

    with pytest.raises(DuplicateExampleError, check=WithFields(key=1, method="lime", row=0)):
        log.write()


def test_ids_of_explanations_are_those_of_predictions(log, folder, read_back):
    """Both are normalized in the same way."""
    add(log, ids=np.array([1.0, 2.0]), probs=PROBS[:2])
    explain(log, ids=np.array([1.0, 2.0]))

    parts = log.write()

    explained = pq.read_table(Path(folder.path) / parts[1].path).column("example")
    assert explained.to_pylist() == read_back(folder, parts).ids == [1, 2]


def test_explanations_have_a_file_per_split_and_method(log):
    """Batches of one method share a file."""
    explain(log)
    explain(log, ids=[3, 4])
    explain(log, method="attention", scores=[torch.ones(2, requires_grad=True), np.ones(1)])
    explain(log, split="dev")

    parts = log.write()

    assert [(part.path.rsplit("/", 1)[0], part.rows) for part in parts] == [
        ("explanations/test/lime", 4),
        ("explanations/test/attention", 2),
        ("explanations/dev/lime", 2),
    ]


@pytest.fixture
def train_study(tmp_path):
    """Train a study; return its store."""

    def train(function, seeds=2, arms=("none",), name="store"):
        store = tmp_path / name
        sp.Study("top", function, seeds=seeds, arms=arms, store=store).run("serial", progress=False)
        return store

    return train


def softmax(logits):
    """Return probabilities."""
    raised = np.exp(logits)
    return raised / raised.sum(axis=-1, keepdims=True)


def top(probs, n):
    """Return the most probable classes, as they are logged."""
    classes = np.argsort(-probs, axis=1)[:, :n]
    return {"top_classes": classes, "top_probs": np.take_along_axis(probs, classes, axis=1)}


# --------------------------------------------------------------------------- half precision


def test_half_precision_halves_the_bytes_on_disk(train_study):
    """Metrics change within the precision, 0.05 % of a probability."""
    rng = np.random.default_rng(0)
    sizes, reports = {}, {}
    runs = [rng.dirichlet(np.ones(10), 5000) for _ in range(3)]
    labels = rng.integers(0, 10, 5000)
    for dtype in ("float32", "float16"):

        def train(run, dtype=dtype):
            run.log_predictions("test", probs=runs[int(run.name)].astype(dtype), labels=labels)

        store = train_study(train, seeds=3, name=dtype)
        sizes[dtype] = sum(path.stat().st_size for path in store.rglob("*.parquet"))
        reports[dtype] = sp.measure(store)

    # Ids, labels and footers are not halved.
    assert sizes["float16"] < 0.62 * sizes["float32"]
    for name, value in reports["float32"].metrics.items():
        tolerance = {"flip_rate": 1e-3, "ambiguity": 1e-3}.get(name, 2e-3)
        assert reports["float16"][name].value == pytest.approx(value.value, abs=tolerance)


def test_batches_of_one_split_have_one_precision(log):
    """A file has one type of probabilities."""
    add(log, probs=np.full((2, 2), 0.5, np.float16))

    with pytest.raises(ShapeError, check=WithFields(split="test")):
        add(log, probs=np.full((2, 2), 0.5, np.float32))


# ------------------------------------------------------------------------------ top classes


def test_top_classes_are_measured(train_study):
    """Metrics that need only the top five of 1,000 classes equal those of all classes."""
    rng = np.random.default_rng(0)
    runs = softmax(rng.normal(0, 3, (200, 1000)) + rng.normal(0, 1, (3, 200, 1000)))
    labels = rng.integers(0, 1000, 200)

    def train(run):
        for rows in (slice(0, 150), slice(150, 200)):
            run.log_predictions(
                "test",
                ids=np.arange(200)[rows],
                labels=labels[rows],
                classes=range(1000),
                **top(runs[int(run.name)][rows], 5),
            )

    report, whole = sp.measure(train_study(train, seeds=3)), sp.measure(runs, labels=labels)

    assert report.measurement.kind == "top"
    for name in ("flip_rate", "label_entropy", "accuracy", "ece", "ece_corrected", "mce"):
        assert report[name].value == pytest.approx(whole[name].value, rel=1e-6)
    error = report["probability_sd_error"].value
    assert 0 < error < 0.05
    assert abs(report["probability_sd"].value - whole["probability_sd"].value) <= error + 1e-6
    assert "predictive_kl" not in report.metrics


def test_arms_with_top_classes_are_compared(train_study):
    """By metrics that need only the top classes."""
    usual = np.random.default_rng(1).normal(0, 3, (100, 50))

    def train(run):
        noise = 1.0 if run.arm == "none" else 0.2
        probs = softmax(usual + noise * run.rng("init").normal(size=usual.shape))
        run.log_predictions("test", labels=usual.argmax(axis=1), classes=range(50), **top(probs, 5))

    arm = sp.compare(train_study(train, seeds=5, arms=("none", "calm"))).comparison.arms[0]

    assert arm.effects["flip_rate"].high < 1
    assert arm.effects["probability_sd"].high < 1
    assert "predictive_kl" not in arm.effects


def test_truncation_is_not_a_difference_between_arms(train_study):
    """The same models with their top ten and their top two classes show no difference."""
    rng = np.random.default_rng(2)
    usual = rng.normal(0, 1.5, (100, 40))
    labels = rng.integers(0, 40, 100)

    def train(run):
        probs = softmax(usual + run.rng("init").normal(size=usual.shape))
        n_top = 10 if run.arm == "none" else 2
        run.log_predictions("test", labels=labels, classes=range(40), **top(probs, n_top))

    store = train_study(train, seeds=8, arms=("none", "two"))
    arm = sp.compare(store).arms[0]
    measured = sp.measure(store, arm="two")

    assert not arm.effects["probability_sd"].is_shown
    spread, error = measured["probability_sd"], measured["probability_sd_error"].value
    assert spread.high - spread.low >= min(spread.value, error) + error
    assert arm.effects["flip_rate"].value == pytest.approx(1.0)


def test_tie_of_top_classes_is_not_a_flip(train_study):
    """The smallest index counts, whatever the order in which a run lists them."""

    def train(run):
        order = [[3, 1]] if run.name == "0" else [[1, 3]]
        run.log_predictions("test", top_classes=order, top_probs=[[0.4, 0.4]], classes=range(5))

    store = train_study(train)

    assert sp.measure(store)["flip_rate"].value == 0
    assert sp.measure(store, metrics=["flip_rate"])["flip_rate"].value == 0


def test_runs_with_different_numbers_of_top_classes_are_refused(train_study):
    """The error names both numbers."""

    def train(run):
        n = 2 + int(run.name)
        run.log_predictions(
            "test", top_classes=[range(n)], top_probs=[[1 / n] * n], classes=range(5)
        )

    store = train_study(train)
    with pytest.raises(InputError, check=WithFields(n_top=2, other_n_top=3)):
        sp.measure(store)


def test_top_classes_follow_the_order_of_class_names(train_study):
    """Classes are recorded in canonical order, and the given indices are translated."""

    def train(run):
        run.log_predictions(
            "test", top_classes=[[2, 0]], top_probs=[[0.6, 0.3]], classes=["b", "c", "a"]
        )

    report = sp.measure(train_study(train))

    assert report.measurement.classes == ("a", "b", "c")
    assert report.examples["consensus"].to_pylist() == ["a"]
    assert report.examples["probability_mean"].to_pylist() == pytest.approx([0.6])


@pytest.mark.parametrize(
    ("given", "error", "fields"),
    [
        ({"top_probs": [[1.0]]}, OptionError, {"missing": "top_classes"}),
        ({"top_classes": [[0]]}, OptionError, {"missing": "top_probs"}),
        ({"top_classes": [[0, 1]], "top_probs": [[1.0]]}, ShapeError, {"shape": (1, 2)}),
        ({"top_classes": [[0.0]], "top_probs": [[1.0]]}, DtypeError, {"dtype": "float64"}),
        ({"top_classes": [[3]], "top_probs": [[1.0]]}, UnknownLabelError, {"class_idx": 3}),
        (
            {"top_classes": [[1, 1]], "top_probs": [[0.5, 0.5]]},
            ProbabilityError,
            {"classes": [1, 1]},
        ),
        (
            {"top_classes": [[0, 1]], "top_probs": [[0.7, 0.7]]},
            ProbabilityError,
            {"classes": [0, 1], "probs": pytest.approx([0.7, 0.7])},
        ),
        (
            {"top_classes": [[0, 1]], "top_probs": [[0.05, 0.05]]},
            ProbabilityError,
            {"n_hidden": 1, "missing": pytest.approx(0.9)},
        ),
        (
            {"top_classes": [[0]], "top_probs": [[1.0]], "classes": None},
            ClassesError,
            {"option": "classes"},
        ),
    ],
    ids=[
        "no-classes", "no-probs", "shape", "floats", "unknown", "twice", "sum", "rest", "names",
    ],
)  # fmt: skip
def test_invalid_top_classes_are_refused(log, given, error, fields):
    """The error has the given values."""

    def keep():
        add(log, **{"classes": ("a", "b", "c")} | given)
        log.write()

    with pytest.raises(error, check=WithFields(**fields)):
        keep()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"texts": ["a", "b"], "labels": ["a", "b"]}, OptionError),
        ({"texts": ["a", "b"], "predictions": [0, 1]}, OptionError),
        ({"predictions": [0, 1], "references": ["a", "b"]}, OptionError),
        ({"texts": ["a", "b"], "references": ["a"]}, ShapeError),
        ({"texts": ["a", "b"], "equivalent": ["a"]}, ShapeError),
        ({"texts": [["a"], ["b"]]}, DtypeError),
        ({"texts": ["a", "\udc80"]}, DtypeError),
    ],
)
def test_wrong_texts_are_refused(given, error):
    log = Logbook("0", None, checks_at_once=True)

    with pytest.raises(error):
        log.add_predictions("test", **given)
