"""Whatever a training logs becomes one canonical record, or is refused with what to do."""

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
    """Where a run's records go."""
    return Location.of(tmp_path / "store" / "runs" / "id0")


@pytest.fixture
def log(folder):
    """The logbook of a run in a store."""
    return Logbook("0", folder)


@pytest.fixture
def read(folder, log, read_back):
    """Writes what was logged, and reads it."""

    def read(split="test"):
        return read_back(folder, log.write(), split)

    return read


def add(log, split="test", **given):
    """Log predictions; what is not given is left out."""
    names = ("ids", "probs", "predictions", "labels", "classes")
    log.add_predictions(split, **dict.fromkeys(names) | given)


def explain(log, split="test", method="lime", **given):
    """Log two explanations, but for what is given."""
    rows = {"ids": [1, 2], "tokens": [["a", "b"], ["c"]], "scores": [[1.0, 2.0], [3.0]], "draw": 0}
    log.add_explanations(split, method, **rows | given)


def as_arrays(values):
    """Arrays as they are."""
    return values


def as_lists(values):
    """Plain lists of Python numbers."""
    return np.asarray(values).tolist()


def as_tensors(values):
    """Tensors of torch; those of floats are still on their graph."""
    tensor = torch.tensor(np.asarray(values))
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


@pytest.mark.parametrize("form", [as_arrays, as_lists, as_tensors])
@pytest.mark.parametrize("sizes", [[6], [1, 2, 3], [3, 3], [0, 5, 0, 1]])
def test_batches_of_any_size_and_order_make_one_record(form, sizes, log, read):
    """Rows are sorted by id over all batches, each with its own label and values."""
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        rows = slice(start, end)
        probs = form(PROBS[rows]) if end > start else PROBS[rows]
        add(log, ids=form(np.array(IDS)[rows]), probs=probs, labels=form(np.array(LABELS)[rows]))

    found = read()

    assert found.kind is Kind.PROBS
    assert found.classes == ("0", "1")
    assert found.ids == [10, 20, 30, 40, 50, 60]
    assert found.labels == [LABELS[i] for i in BY_ID]
    assert found.values == PROBS[BY_ID].tolist()


def test_positions_are_ids_where_none_are_given(log, read):
    """They count on over the batches of a split."""
    for rows in (slice(0, 4), slice(4, 6)):
        add(log, probs=PROBS[rows])

    found = read()

    assert found.ids == [0, 1, 2, 3, 4, 5]
    assert found.values == PROBS.tolist()
    assert found.labels == [None] * 6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_every_precision_are_taken(dtype, log, read):
    """Also those that numpy has no type for, and those that still need a gradient."""
    tensor = torch.tensor(PROBS, dtype=dtype, requires_grad=True)

    add(log, probs=tensor * 1)

    assert read().values == PROBS.tolist()
    assert tensor.requires_grad


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float16,
        pytest.param(torch.bfloat16),
    ],
)
def test_probabilities_of_half_precision_may_stray(dtype, log, read):
    """A sum that is off by less than half a percent is rounding there, and a mistake elsewhere."""
    probs = torch.tensor([[0.5, 0.505]]).to(dtype)

    add(log, probs=probs)
    add(log, "single", probs=probs.float())

    with pytest.raises(ProbabilityError, check=WithFields(tolerance=0.001)):
        log._predictions.pop("single").write()
    assert read().values == probs.float().tolist()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_tensors_on_a_device_are_taken(log, read):
    """They are brought to the CPU."""
    add(log, probs=torch.tensor(PROBS, device="cuda"))

    assert read().values == PROBS.tolist()


def test_text_ids_are_sorted_by_their_bytes(log, read):
    """Capital letters come before small ones, and both before accented ones."""
    add(log, ids=["b", "é", "B"], probs=PROBS[:3])

    found = read()

    assert found.ids == ["B", "b", "é"]
    assert found.values == PROBS[[2, 0, 1]].tolist()


def test_ids_that_are_numbers_in_one_batch_only_are_text(log, read):
    """All batches together decide."""
    add(log, ids=[10, 9], probs=PROBS[:2])
    add(log, ids=["a"], probs=PROBS[2:3])

    assert read().ids == ["10", "9", "a"]


def test_texts_of_digits_are_numbers(log, read):
    """A loader that reads ids from a CSV gives the same record as one that counts."""
    add(log, ids=["10", "9"], probs=PROBS[:2])

    assert read().ids == [9, 10]


@pytest.mark.parametrize(
    "labels",
    [[0, None, 1], [0, -1, 1], [0.0, float("nan"), 1.0], ["0", None, "1"]],
    ids=["none", "negative", "nan", "text"],
)
def test_some_labels_may_be_unknown(labels, log, read):
    """Whatever people write for it, the record has no label there."""
    add(log, probs=PROBS[:3], labels=labels)

    assert read().labels == [0, None, 1]


def test_predicted_classes_may_be_names(log, read):
    """Classes are those that are predicted or right, sorted."""
    add(log, predictions=["fox", "cat", "fox"], labels=["dog", "cat", None])

    found = read()

    assert found.kind is Kind.LABELS
    assert found.classes == ("cat", "dog", "fox")
    assert found.values == [2, 0, 2]
    assert found.labels == [1, 0, None]


def test_named_classes_are_put_in_order_with_their_columns(log, read):
    """Another order of columns in another run still makes the same record."""
    add(log, probs=PROBS[:2], labels=["dog", "cat"], classes=["dog", "cat"])

    found = read()

    assert found.classes == ("cat", "dog")
    assert found.values == PROBS[:2, ::-1].tolist()
    assert found.labels == [1, 0]


def test_a_run_may_be_wrong_everywhere(log, read):
    """A single run whose predictions are never right is a result, not a spelling mistake."""
    add(log, predictions=[0, 0], labels=[1, 1])

    assert read().labels == [1, 1]


@pytest.mark.parametrize("what", ["probs", "predictions", "ids", "labels"])
def test_arrays_may_be_reused_for_the_next_batch(what, log, read):
    """A training loop that fills the same buffers again changes nothing that was logged."""
    key = "predictions" if what == "predictions" else "probs"
    batch = {"ids": np.array([1, 2]), "labels": np.array([0, 1])}
    batch[key] = np.array([1, 0]) if key == "predictions" else PROBS[:2].copy()
    add(log, **batch)
    expected = {name: values.tolist() for name, values in batch.items()}

    batch[what][:] = batch[what][::-1].copy()

    found = read()
    assert (found.ids, found.labels, found.values) == tuple(
        expected[name] for name in ("ids", "labels", key)
    )


def test_splits_are_kept_apart(log, folder, read_back):
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


def test_ids_that_come_twice_are_refused(log):
    """Within a batch or over two of them."""
    add(log, ids=[1, 2], probs=PROBS[:2])
    add(log, ids=[3, 1], probs=PROBS[2:4])

    with pytest.raises(DuplicateExampleError, check=WithFields(twice=1)):
        log.write()


@pytest.mark.parametrize("what", ["ids", "labels"])
@pytest.mark.parametrize("column", [[0], [0, 1, 2, 3], [[0], [1], [2]], 5])
def test_ids_and_labels_of_another_length_are_refused(what, column, log):
    """At once, where the mistake was made, with the length that is needed."""
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
def test_batches_that_are_not_alike_are_refused(later, aspect, log):
    """A split is logged in one way, and the error says what differs."""
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
    ],
    ids=["binary", "three", "none", "column"],
)
def test_other_axes_are_refused(given, shape, n_axes, log):
    """A binary model's single column is the usual case, and gets a hint of its own."""
    with pytest.raises(ShapeError, check=WithFields(shape=shape, n_axes=n_axes)) as caught:
        add(log, **given)

    assert caught.value.fields["is_binary"] == (shape == (2,))
    assert ("np.stack" in str(caught.value)) == (shape == (2,))


def test_rows_of_different_lengths_are_refused(log):
    """An error of ours, with what to do, as for arrays that are measured."""
    with pytest.raises(ShapeError):
        add(log, probs=[[0.5, 0.5], [1.0]])


def test_probs_or_predictions_but_not_both(log):
    """Otherwise it is unclear which of them is meant."""
    top = {"top_classes": [[0]], "top_probs": [[1.0]]}
    for given in ({}, {"probs": PROBS[:1], "predictions": [0]}, {"predictions": [0], **top}):
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
    ],
    ids=[
        "logits", "sum", "nan", "one-class", "integers", "label", "names", "no-id",
        "float-prediction",
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused(given, error, fields, log):
    """By the checks that predictions from a file go through, too."""
    add(log, **given)

    with pytest.raises(error, check=WithFields(**fields)):
        log.write()


def test_a_split_without_examples_is_refused(log):
    """A loop over an empty loader is a mistake that should not look like a result."""
    add(log, probs=np.zeros((0, 2)))

    with pytest.raises(EmptyInputError, check=WithFields(split="test")):
        log.write()


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\n", "a:b", "*"]
)
def test_names_that_are_no_folder_are_refused(name, log):
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
    """Letters of any script, digits, and a few signs."""
    add(log, name, probs=PROBS)

    assert len(read(name).ids) == 6


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, torch.tensor(float("nan"))])
def test_scalars_that_are_not_finite_are_refused(value, log):
    """JSON has no word for them, and they would swallow every mean."""
    with pytest.raises(InputError, check=WithFields(scalar="loss")):
        log.add_scalar("loss", value)
    assert log.scalars == {}


@pytest.mark.parametrize("value", ["0.5", None, [1.0, 2.0], [], np.zeros((2, 2)), True])
def test_scalars_that_are_no_number_are_refused(value, log):
    """Text, nothing, several numbers, or a truth value."""
    with pytest.raises(DtypeError, check=WithFields(scalar="loss")):
        log.add_scalar("loss", value)


@pytest.fixture
def _small_groups(monkeypatch):
    """Three rows of two classes a row group, and names without chance."""
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
def test_what_is_written_as_it_comes_has_the_same_bytes(
    columns, batch, tmp_path, monkeypatch, read_back
):
    """Beyond the buffer nothing is held back, and nobody can tell from the record."""
    probs = np.random.default_rng(5).dirichlet([1, 1], 50)
    written = {}
    for limit in (2**30, 100):
        monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", limit)
        # The run's id is in the footer, so both have the same.
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
    found = read_back(folder, written[100])
    assert found.groups == [3] * 16 + [2]
    assert found.values == probs.astype(np.float32).tolist()


@pytest.mark.usefixtures("_small_groups")
def test_a_full_buffer_is_emptied(log, monkeypatch):
    """What was written is not kept in memory."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 100)

    for start in range(0, 120, 6):
        add(log, ids=np.arange(start, start + 6), probs=PROBS)
        (kept,) = log._predictions.values()
        assert kept._n_bytes <= 100
        assert sum(batch.values.nbytes for batch in kept._batches) <= 100


@pytest.mark.usefixtures("_small_groups")
def test_what_is_written_as_it_comes_must_come_in_order(log, monkeypatch):
    """It cannot be sorted any more; the error says which example it is."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 10)
    add(log, ids=[10, 12], probs=PROBS[:2])

    with pytest.raises(InputError, check=WithFields(example=11, run="0")):
        add(log, ids=[11], probs=PROBS[:1])


@pytest.mark.usefixtures("_small_groups")
def test_duplicates_are_found_in_what_is_written_as_it_comes(log, monkeypatch):
    """Next to each other or apart."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 10)
    add(log, ids=[10, 12], probs=PROBS[:2])

    with pytest.raises(DuplicateExampleError, check=WithFields(example=12, run="0")):
        add(log, ids=[12, 13], probs=PROBS[:2])


@pytest.mark.usefixtures("_small_groups")
def test_ids_of_two_types_are_refused_once_some_are_written(log, monkeypatch):
    """A file has one type of ids."""
    monkeypatch.setattr("seedproof.training.logbook.BUFFER_BYTES", 10)
    add(log, ids=[10, 12], probs=PROBS[:2])

    with pytest.raises(InputError, check=WithFields(split="test")):
        add(log, ids=["a"], probs=PROBS[:1])


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
def test_a_score_for_each_token_is_needed(scores, log):
    """The message names the example."""
    with pytest.raises(ShapeError, check=WithFields(example=1, n_tokens=2)):
        explain(log, scores=[scores, [3.0]])


def test_an_explanation_that_comes_twice_is_refused(log):
    """The same example and draw; another draw of it is another explanation."""
    explain(log)
    explain(log, draw=1)
    explain(log)

    with pytest.raises(DuplicateExampleError, check=WithFields(key=1, method="lime", row=0)):
        log.write()


def test_ids_of_explanations_are_those_of_predictions(log, folder, read_back):
    """Otherwise nobody can tell which example an explanation belongs to."""
    add(log, ids=np.array([1.0, 2.0]), probs=PROBS[:2])
    explain(log, ids=np.array([1.0, 2.0]))

    parts = log.write()

    explained = pq.read_table(Path(folder.path) / parts[1].path).column("example")
    assert explained.to_pylist() == read_back(folder, parts).ids == [1, 2]


def test_explanations_are_a_part_for_each_split_and_method(log):
    """Batches of one method go into one file."""
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


# --------------------------------------------------------------------------- half precision


def test_half_precision_stays_half_on_disk(tmp_path):
    """Half the bytes, and figures within what half precision hides: 0.05 % of a probability."""
    rng = np.random.default_rng(0)
    sizes, found = {}, {}
    runs = [rng.dirichlet(np.ones(10), 5000) for _ in range(3)]
    labels = rng.integers(0, 10, 5000)
    for dtype in ("float32", "float16"):
        store = tmp_path / dtype
        study = sp.Study("precision", _logged(runs, labels, dtype), seeds=3, store=store)
        study.run("serial", progress=False)
        sizes[dtype] = sum(path.stat().st_size for path in store.rglob("*.parquet"))
        found[dtype] = sp.measure(store)

    # Ids, labels and footers are not halved.
    assert sizes["float16"] < 0.62 * sizes["float32"]
    for name, value in found["float32"].metrics.items():
        tolerance = {"flip_rate": 1e-3, "ambiguity": 1e-3}.get(name, 2e-3)
        assert found["float16"][name].value == pytest.approx(value.value, abs=tolerance)


def _logged(runs, labels, dtype):
    """A training whose outcome is known beforehand."""

    def train(run):
        run.log_predictions("test", probs=runs[int(run.name)].astype(dtype), labels=labels)

    return train


def test_batches_of_one_split_have_one_precision(log):
    """Half of them would lose digits, or the other half would pretend to have them."""
    add(log, probs=np.full((2, 2), 0.5, np.float16))

    with pytest.raises(ShapeError, check=WithFields(split="test")):
        add(log, probs=np.full((2, 2), 0.5, np.float32))


# ------------------------------------------------------------------------------ top classes


def test_top_classes_are_kept_and_measured(tmp_path):
    """A thousand classes, the top five of each: what needs no more is what all of them give."""
    rng = np.random.default_rng(0)
    raised = np.exp(rng.normal(0, 3, (200, 1000)) + rng.normal(0, 1, (3, 200, 1000)))
    runs = raised / raised.sum(axis=2, keepdims=True)
    labels = rng.integers(0, 1000, 200)

    def train(run):
        probs = runs[int(run.name)]
        top = np.argsort(-probs, axis=1)[:, :5]
        for rows in (slice(0, 150), slice(150, 200)):
            run.log_predictions(
                "test",
                ids=np.arange(200)[rows],
                top_classes=top[rows],
                top_probs=np.take_along_axis(probs, top, axis=1)[rows],
                labels=labels[rows],
                classes=range(1000),
            )

    study = sp.Study("top", train, seeds=3, store=tmp_path / "store")
    study.run("serial", progress=False)
    found, whole = sp.measure(tmp_path / "store"), sp.measure(runs, labels=labels)

    assert found.measurement.kind == "top"
    for name in ("flip_rate", "label_entropy", "accuracy", "ece", "mce"):
        assert found[name].value == pytest.approx(whole[name].value, rel=1e-6)
    error = found["probability_sd_error"].value
    assert 0 < error < 0.05
    assert abs(found["probability_sd"].value - whole["probability_sd"].value) <= error + 1e-6
    assert "predictive_kl" not in found.metrics


def test_arms_with_top_classes_are_compared(tmp_path):
    """By what the top classes tell."""
    rng = np.random.default_rng(1)
    usual = rng.normal(0, 3, (100, 50))

    def train(run):
        noise = 1.0 if run.arm == "none" else 0.2
        raised = np.exp(usual + noise * run.rng("init").normal(size=usual.shape))
        probs = raised / raised.sum(axis=1, keepdims=True)
        top = np.argsort(-probs, axis=1)[:, :5]
        given = {"top_classes": top, "top_probs": np.take_along_axis(probs, top, axis=1)}
        run.log_predictions("test", labels=usual.argmax(axis=1), classes=range(50), **given)

    arms = ("none", "calm")
    sp.Study("top", train, seeds=5, arms=arms, store=tmp_path / "store").run(
        "serial", progress=False
    )

    found = sp.compare(tmp_path / "store").comparison.arms[0]

    assert found.effects["flip_rate"].high < 1
    assert found.effects["probability_sd"].high < 1
    assert "predictive_kl" not in found.effects


def test_what_truncation_hides_is_no_difference_between_arms(tmp_path):
    """The same models, kept by their top ten and by their top two: nothing is shown."""
    rng = np.random.default_rng(2)
    usual = rng.normal(0, 1.5, (100, 40))
    labels = rng.integers(0, 40, 100)

    def train(run):
        raised = np.exp(usual + run.rng("init").normal(size=usual.shape))
        probs = raised / raised.sum(axis=1, keepdims=True)
        top = np.argsort(-probs, axis=1)[:, : 10 if run.arm == "none" else 2]
        given = {"top_classes": top, "top_probs": np.take_along_axis(probs, top, axis=1)}
        run.log_predictions("test", labels=labels, classes=range(40), **given)

    arms = ("none", "two")
    sp.Study("top", train, seeds=8, arms=arms, store=tmp_path / "store").run(
        "serial", progress=False
    )

    found = sp.compare(tmp_path / "store").arms[0]
    measured = sp.measure(tmp_path / "store", arm="two")

    assert not found.effects["probability_sd"].is_shown
    spread, error = measured["probability_sd"], measured["probability_sd_error"].value
    assert spread.high - spread.low >= min(spread.value, error) + error
    assert found.effects["flip_rate"].value == pytest.approx(1.0)


def test_equal_top_classes_are_no_flip(tmp_path):
    """Whatever the order in which a run lists them: the smallest index counts."""

    def train(run):
        order = [[3, 1]] if run.name == "0" else [[1, 3]]
        run.log_predictions("test", top_classes=order, top_probs=[[0.4, 0.4]], classes=range(5))

    sp.Study("top", train, seeds=2, store=tmp_path / "store").run("serial", progress=False)

    assert sp.measure(tmp_path / "store")["flip_rate"].value == 0
    assert sp.measure(tmp_path / "store", metrics=["flip_rate"])["flip_rate"].value == 0


def test_runs_that_keep_other_numbers_of_classes_are_refused(tmp_path):
    """By name."""

    def train(run):
        n = 2 + int(run.name)
        run.log_predictions(
            "test", top_classes=[range(n)], top_probs=[[1 / n] * n], classes=range(5)
        )

    sp.Study("top", train, seeds=2, store=tmp_path / "store").run("serial", progress=False)

    with pytest.raises(InputError, check=WithFields(n_top=2, other_n_top=3)):
        sp.measure(tmp_path / "store")


def test_top_classes_follow_the_order_of_class_names(tmp_path):
    """Classes are recorded in canonical order; indices that were given follow them."""

    def train(run):
        run.log_predictions(
            "test", top_classes=[[2, 0]], top_probs=[[0.6, 0.3]], classes=["b", "c", "a"]
        )

    sp.Study("top", train, seeds=2, store=tmp_path / "store").run("serial", progress=False)

    found = sp.measure(tmp_path / "store")
    assert found.measurement.classes == ("a", "b", "c")
    assert found.examples["consensus"].to_pylist() == ["a"]
    assert found.examples["probability_mean"].to_pylist() == pytest.approx([0.6])


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
def test_top_classes_that_cannot_be_are_refused(log, given, error, fields):
    """With the values that were given."""

    def keep():
        add(log, **{"classes": ("a", "b", "c")} | given)
        log.write()

    with pytest.raises(error, check=WithFields(**fields)):
        keep()
