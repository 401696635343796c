"""Predictions from every kind of input: the same runs, examples and figures."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    LabelConflictError,
    MissingExampleError,
    NotFoundError,
    OptionError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.records.resumable_ingest import ingest_tables
from seedproof.testing.errors import WithFields

ANSWERS = np.array([["a", "b", "b", "a"], ["a", "a", "b", "a"], ["a", "b", "b", "b"]])
LABELS = ["a", "b", "b", "a"]
IDS = [11, 12, 13, 14]
NAMES = ["seed_2", "seed_10", "seed_3"]
GOLDEN = Path(__file__).parents[2] / "golden" / "store-1.1"


def long_table(runs=NAMES, answers=ANSWERS, **further) -> pa.Table:
    """One row per run and example."""
    n_runs, n_examples = np.shape(answers)
    return pa.table(
        {
            "run": np.repeat(runs, n_examples),
            "example": np.tile(IDS[:n_examples], n_runs),
            "label": np.tile(LABELS[:n_examples], n_runs),
            "prediction": np.ravel(answers),
            **{name: np.tile(values, n_runs) for name, values in further.items()},
        }
    )


def wide_table() -> pa.Table:
    """One column per run."""
    answers = dict(zip(NAMES, ANSWERS, strict=True))
    return pa.table({"id": IDS, "label": LABELS, **answers})


def frames() -> list[pa.Table]:
    """One table per run."""
    return [
        pa.table({"example": IDS, "label": LABELS, "prediction": answers}) for answers in ANSWERS
    ]


def figures(predictions: sp.Predictions) -> dict[str, float]:
    """All figures, whatever the names of the runs."""
    return {name: value.value for name, value in sp.measure(predictions).metrics.items()}


@pytest.fixture
def files(tmp_path) -> Path:
    """A folder with one CSV per run, all of one name, as Hydra lays them out."""
    for name, answers in zip(NAMES, ANSWERS, strict=True):
        folder = tmp_path / "multirun" / name
        folder.mkdir(parents=True)
        lines = [f"{i},{la},{a}" for i, la, a in zip(IDS, LABELS, answers, strict=True)]
        text = "\n".join(["example,label,prediction", *lines, ""])
        (folder / "preds.csv").write_text(text, encoding="utf-8")
    return tmp_path / "multirun"


# ------------------------------------------------------------------------------------- every shape


SHAPES = {
    "arrays": lambda: sp.Predictions.from_arrays(ANSWERS, labels=LABELS, ids=IDS, runs=NAMES),
    "dict-of-arrays": lambda: sp.Predictions.load(
        dict(zip(NAMES, ANSWERS, strict=True)), labels=LABELS, ids=IDS
    ),
    "long-table": lambda: sp.Predictions.from_table(long_table()),
    "wide-table": lambda: sp.Predictions.from_table(wide_table()),
    "wide-table-by-prefix": lambda: sp.Predictions.from_table(
        wide_table(), columns=sp.Columns(wide="seed_", example="id")
    ),
    "list-of-frames": lambda: sp.Predictions.load(frames()),
    "dict-of-frames": lambda: sp.Predictions.load(dict(zip(NAMES, frames(), strict=True))),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_figures(shape):
    """Arrays, tables of both shapes, and one part per run."""
    predictions = SHAPES[shape]()

    assert predictions.n_examples == predictions.n_labeled == 4
    assert predictions.ids.to_pylist() == IDS
    assert predictions.labels.to_pylist() == LABELS
    assert figures(predictions) == figures(SHAPES["arrays"]())


def test_folder_and_pattern_have_one_run_per_file(files):
    """Runs are named after the folders where the files have one name."""
    for target in (files, str(files), str(files / "*" / "preds.csv")):
        predictions = sp.Predictions.load(target)
        assert predictions.runs == ("seed_2", "seed_3", "seed_10")
        assert figures(predictions) == figures(SHAPES["arrays"]())


def test_folder_with_two_kinds_of_tables_is_refused(files):
    """The error suggests a pattern for one of them."""
    (files / "seed_2" / "metrics.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    with pytest.raises(NotFoundError) as caught:
        sp.Predictions.load(files)

    pattern = caught.value.fields["pattern"]
    assert sp.Predictions.load(pattern).runs == ("seed_2", "seed_3", "seed_10")


@pytest.mark.parametrize("name", ["empty", "report", "nothing*.csv"])
def test_path_without_tables_is_refused(name, tmp_path):
    """An empty folder, a report, a pattern without a match."""
    (tmp_path / "empty").mkdir()
    sp.measure(ANSWERS).save(tmp_path / "report")

    with pytest.raises(NotFoundError, check=WithFields(path=str(tmp_path / name))):
        sp.Predictions.load(tmp_path / name)


def test_predictions_of_a_store_are_those_of_its_arm():
    """In the order of the plan, repeated over seeds."""
    predictions = sp.Predictions.from_store(GOLDEN, arm="probs", split="test")

    assert predictions.repeats == "seeds"
    shards = Store(predictions.source.location).shards(arm="probs", split="test")
    assert predictions.runs == shards.runs
    metrics = sp.measure(GOLDEN, arm="probs", split="test").metrics
    assert figures(predictions) == {name: value.value for name, value in metrics.items()}


def test_results_say_what_repeats(tmp_path):
    """Seeds if they are recorded; a saved report keeps it, and an older one has runs."""
    seeded = sp.Predictions.from_store(GOLDEN, arm="probs", split="test")
    table = sp.Predictions.from_arrays(ANSWERS)
    sp.measure(seeded).save(tmp_path / "new")
    sp.measure(seeded).save(tmp_path / "old")
    place = tmp_path / "old" / "summary.json"
    summary = json.loads(place.read_text(encoding="utf-8"))
    del summary["repeats"]
    place.write_text(json.dumps(summary), encoding="utf-8")

    assert sp.measure(table).summary()["repeats"] == "runs"
    assert sp.compare_versions(seeded, seeded).summary()["repeats"] == "seeds"
    assert load_saved(Location.of(tmp_path / "new")).repeats == "seeds"
    assert load_saved(Location.of(tmp_path / "old")).repeats == "runs"


# --------------------------------------------------------------------------- probability of a class


RISKS = np.array([[0.2, 0.9, 0.6], [0.4, 0.8, 0.3]])
ILL = ["well", "ill", "ill"]
RISK_ROWS = {"run": ["0"] * 3 + ["1"] * 3, "example": [0, 1, 2] * 2, "label": ILL * 2}
RISK_COLUMNS = {"id": [0, 1, 2], "label": ILL, "s0": RISKS[0], "s1": RISKS[1]}


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (RISKS, {"positive": "ill", "labels": ILL}),
        (pa.table(RISK_ROWS | {"p_ill": RISKS.ravel()}), {}),
        (
            pa.table(RISK_ROWS | {"risk": RISKS.ravel()}),
            {"columns": sp.Columns(prediction="risk"), "positive": "ill"},
        ),
        (pa.table(RISK_COLUMNS), {"positive": "ill"}),
    ],
    ids=["arrays", "prefix", "name", "wide"],
)
def test_single_probability_is_that_of_one_class(target, options):
    """The other class has the rest."""
    predictions = sp.Predictions.load(target, **options)

    assert (predictions.classes, predictions.kind) == (("ill", "well"), "probs")
    np.testing.assert_allclose(predictions.source.shard(0).probs[..., 0], RISKS, rtol=1e-6)
    np.testing.assert_allclose(predictions.source.shard(0).probs[..., 1], 1 - RISKS, rtol=1e-6)


def test_other_class_has_a_name_without_labels():
    """A number's opposite, or "not"."""
    assert sp.Predictions.from_arrays(RISKS, positive=1).classes == ("0", "1")
    first, other = sp.Predictions.from_arrays(RISKS, positive="ill").classes
    assert first == "ill" != other
    named = sp.Predictions.from_arrays(RISKS, positive=1, classes=["well", "ill"])
    np.testing.assert_allclose(named.source.shard(0).probs[..., 0], RISKS, rtol=1e-6)


def test_one_probability_of_three_classes_is_refused():
    """And so is a positive class of whole distributions."""
    with pytest.raises(UnknownLabelError, check=WithFields(positive="ill")):
        sp.Predictions.from_arrays(RISKS, positive="ill", labels=["well", "dead", "ill"])
    with pytest.raises(ShapeError, check=WithFields(option="positive")):
        sp.Predictions.from_arrays(np.full((2, 3, 2), 0.5), positive="1")


def test_indices_get_the_names_of_classes():
    """In arrays and in tables, for labels, predictions and columns of probabilities."""
    codes = np.array([[0, 1, 1, 0], [0, 0, 1, 0]])
    table = long_table(runs=["0", "1"], answers=codes).set_column(
        2, "label", pa.array([0, 1, 1, 0] * 2)
    )
    probs = pa.table(
        {"run": [0, 0, 1, 1], "example": [1, 2, 1, 2], "label": [0, 1, 0, 1],
         "p_0": [0.9, 0.2, 0.8, 0.6], "p_1": [0.1, 0.8, 0.2, 0.4]}
    )  # fmt: skip

    for predictions in (
        sp.Predictions.from_arrays(codes, labels=[0, 1, 1, 0], classes=["no", "maybe"]),
        sp.Predictions.from_table(table, classes=["no", "maybe"]),
        sp.Predictions.from_table(probs, classes=["no", "maybe"]),
    ):
        assert predictions.classes == ("maybe", "no")
        assert set(predictions.labels.to_pylist()) == {"maybe", "no"}


# ------------------------------------------------------------------------------- order, clusters


def test_runs_of_tables_are_in_natural_order_and_those_of_arrays_as_given():
    """seed_3 comes before seed_10."""
    assert sp.Predictions.from_table(long_table()).runs == ("seed_2", "seed_3", "seed_10")
    assert SHAPES["arrays"]().runs == tuple(NAMES)


def test_clusters_and_slices_are_carried_along():
    """From arrays by value, from tables by name; they are in the table of examples."""
    where, what = ["x", "x", "y", "y"], ["p", "q", "q", "p"]
    of_arrays = sp.Predictions.from_arrays(ANSWERS, clusters=where, slices={"kind": what})
    of_table = sp.Predictions.from_table(
        long_table(document=where, kind=what), clusters="document", slices=["kind"]
    )

    assert (of_arrays.clusters, of_arrays.slices) == ("cluster", ("kind",))
    assert (of_table.clusters, of_table.slices) == ("document", ("kind",))
    assert sp.measure(of_arrays).examples["cluster"].to_pylist() == where
    assert sp.measure(of_table).examples["document"].to_pylist() == where


@pytest.mark.parametrize("options", [{"clusters": "documnet"}, {"slices": ["documnet"]}])
def test_a_misspelled_cluster_or_slice_gets_the_nearest_name(options):
    with pytest.raises(ColumnError, check=WithFields(column="documnet", nearest="document")):
        sp.Predictions.from_table(long_table(document=["x", "x", "y", "y"]), **options)


def test_wrong_clusters_and_slices_are_refused():
    """A column that is not there, one that runs differ in, values of another length or type."""
    table = long_table().append_column("time", pa.array(range(12)))
    for columns in ({"clusters": "document"}, {"slices": ["time"]}):
        (name,) = columns.values()
        wanted = name if isinstance(name, str) else name[0]
        with pytest.raises(ColumnError, check=WithFields(column=wanted)):
            sp.Predictions.from_table(table, **columns)
    with pytest.raises(ShapeError, check=WithFields(name="cluster", shape=(2,))):
        sp.Predictions.from_arrays(ANSWERS, clusters=["x", "y"])
    for wrong in ({"clusters": "document"}, {"slices": ["kind"]}):
        with pytest.raises(OptionError, check=WithFields(option=next(iter(wrong)))):
            sp.Predictions.from_arrays(ANSWERS, **wrong)
    with pytest.raises(OptionError, check=WithFields(option="slices")):
        sp.Predictions.load(long_table(), slices={"kind": [1, 2, 3, 4]})


# --------------------------------------------------------------------------------- common examples


def uneven(*, label="b") -> pa.Table:
    """The third run lacks an example and has one more."""
    return pa.table(
        {
            "run": ["r", "r", "r", "s", "s", "s", "t", "t", "t"],
            "example": [1, 2, 3, 1, 2, 3, 1, 3, 4],
            "label": ["a", "b", "b", "a", "b", "b", "a", label, "a"],
            "prediction": ["a", "b", "b", "a", "a", "b", "a", "a", "a"],
            "text": ["one", "two", "three", "one", "two", "three", "one", "three", "four"],
        }
    )


def test_examples_that_a_run_lacks_are_refused_or_dropped_and_counted():
    """By name, with how many there are."""
    with pytest.raises(MissingExampleError, check=WithFields(run="r", n_missing=1, n_examples=4)):
        sp.Predictions.from_table(uneven())

    predictions = sp.Predictions.from_table(uneven(), common_examples=True, slices=["text"])

    assert predictions.ids.to_pylist() == [1, 3]
    assert [(note.code, note.fields["n_dropped"]) for note in predictions.notes] == [
        ("examples-dropped", 2)
    ]
    report = sp.measure(predictions)
    assert report["flip_rate"].value == pytest.approx(1 / 3)
    assert report.examples["text"].to_pylist() == ["one", "three"]
    assert [note.code for note in report.measurement.notes] == ["examples-dropped"]


def test_labels_that_differ_are_refused_among_common_examples():
    """An example has one right answer."""
    with pytest.raises(LabelConflictError, check=WithFields(example=3)):
        sp.measure(uneven(label="a"), common_examples=True)


def test_arms_are_compared_on_the_examples_that_all_have():
    """Arrays with ids of their own; nothing in common is refused."""
    rng = np.random.default_rng(0)
    base, arm = rng.integers(0, 2, (2, 6, 50))
    arms = {
        "none": sp.Predictions.from_arrays(base, ids=range(50)),
        "other": sp.Predictions.from_arrays(arm, ids=range(5, 55)),
    }
    with pytest.raises(MissingExampleError):
        sp.compare(arms)

    report = sp.compare(arms, common_examples=True)

    assert report.baseline.measurement.n_examples == report.arms[0].measurement.n_examples == 45
    expected = sp.compare([base[:, 5:], arm[:, :45]]).arms[0].effects["flip_rate"].value
    assert report.effect("other", "flip_rate").value == pytest.approx(expected)
    far = sp.Predictions.from_arrays(arm, ids=range(100, 150))
    with pytest.raises(MissingExampleError, check=WithFields(n_examples=100)):
        sp.compare({"none": arms["none"], "other": far}, common_examples=True)


def test_npz_files_with_other_ids_are_measured_on_common_examples(tmp_path):
    """One file per run."""
    paths = []
    for name, ids, answers in (("a", [1, 2, 3], [0, 1, 1]), ("b", [2, 3, 4], [1, 0, 0])):
        paths.append(tmp_path / f"{name}.npz")
        np.savez(paths[-1], predictions=np.array(answers), ids=np.array(ids))

    predictions = sp.Predictions.load(paths, common_examples=True)

    assert (predictions.runs, predictions.ids.to_pylist()) == (("a", "b"), [2, 3])
    assert figures(predictions)["flip_rate"] == 0.5


# ------------------------------------------------------------------------------- the same everywhere


def test_every_verb_takes_labels_ids_and_classes_with_arrays():
    """In one object, or as options."""
    options = {"labels": LABELS, "ids": IDS, "classes": ["a", "b"]}
    other = ANSWERS[::-1]
    p, q = (sp.Predictions.from_arrays(answers, **options) for answers in (ANSWERS, other))

    for verb in (
        lambda a, b, **options: sp.compare({"x": a, "y": b}, **options),
        lambda a, _, **options: sp.gate(a, max={"flip_rate": 0.5}, **options),
        sp.compare_versions,
    ):
        assert verb(p, q).to_json() == verb(ANSWERS, other, **options).to_json()
    accuracy = sp.compare({"x": p, "y": q}).effect("y", "accuracy")
    assert accuracy.value == pytest.approx(0.0)


def test_only_requested_metrics_are_compared():
    """With those that share their counts."""
    report = sp.compare([ANSWERS, ANSWERS], labels=LABELS, metrics=["flip_rate"])

    assert "accuracy" not in report.arms[0].effects
    assert "flip_rate" in report.arms[0].effects


@pytest.mark.parametrize(
    ("target", "option", "value"),
    [
        (ANSWERS, "arm", "none"),
        (ANSWERS, "columns", sp.Columns(run="seed")),
        (long_table(), "runs", ["a", "b", "c"]),
        (GOLDEN, "labels", [0, 1]),
        (SHAPES["arrays"](), "labels", LABELS),
    ],
    ids=["array", "array-columns", "table", "store", "predictions"],
)
@pytest.mark.parametrize("verb", ["measure", "compare", "versions", "gate"])
def test_options_that_do_not_apply_are_refused_in_every_verb(verb, target, option, value):
    """The error names the option."""
    other = GOLDEN / ".." / GOLDEN.name if target is GOLDEN else target
    calls = {
        "measure": lambda **options: sp.measure(target, **options),
        "compare": lambda **options: sp.compare({"a": target, "b": other}, **options),
        "versions": lambda **options: sp.compare_versions(target, other, **options),
        "gate": lambda **options: sp.gate(target, max={"flip_rate": 1.0}, **options),
    }
    with pytest.raises(OptionError, check=WithFields(option=option)):
        calls[verb](**{option: value})


def test_one_run_can_be_loaded_and_compared_but_not_measured():
    """It is enough for one of two versions."""
    single = sp.Predictions.from_arrays(ANSWERS[:1])

    assert len(single.runs) == 1
    assert sp.compare_versions(ANSWERS, single)["flip_rate"].value > 0
    with pytest.raises(TooFewRunsError, check=WithFields(n_runs=1)):
        sp.measure(single)


@pytest.mark.parametrize(
    "target",
    [{}, {"a": 1}, {"a": str(GOLDEN)}, object()],
    ids=["empty", "number", "store", "object"],
)
def test_input_without_predictions_is_refused(target):
    """An empty mapping, numbers, a store as one run, any object."""
    with pytest.raises((DtypeError, NotFoundError)):
        sp.Predictions.load(target)


def test_temporary_folder_is_deleted_with_the_predictions(tmp_path, monkeypatch):
    """The store of a large table, and not before."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("seedproof.records.small_tables.MEMORY_PART", 10**9)
    predictions = sp.Predictions.from_table(long_table())
    paired = predictions.paired_by_name()
    del predictions

    assert figures(paired)
    assert any(tmp_path.iterdir())
    del paired
    assert not any(tmp_path.iterdir())


def test_description_is_short():
    """It is shown in notebooks."""
    assert len(repr(SHAPES["arrays"]())) < 80
    assert SHAPES["arrays"]().repeats == "runs"


@pytest.mark.parametrize("last", [float("nan"), float("inf"), None, "4"])
def test_cost_that_some_run_does_not_record_is_left_out(last):
    """Its mean would not be a number, which JSON cannot express."""
    runs = tuple(
        RunManifest(
            str(index), str(index), facts={"seconds": 2.0}, scalars={"forward_passes": cost}
        )
        for index, cost in enumerate([4.0, last])
    )
    costs = sp.Predictions(_WithManifests(runs)).costs

    assert costs == {"seconds": 2.0}
    json.dumps(costs, allow_nan=False)


class _WithManifests:
    """A source that records what its runs took."""

    extras = ()

    def __init__(self, manifests):
        self.manifests = manifests
        self.runs = tuple(run.name for run in manifests)


def test_parquet_file_is_read_like_the_table_in_memory(tmp_path):
    """The figures are the same."""
    path = tmp_path / "wide.parquet"
    pq.write_table(wide_table(), path)

    assert figures(sp.Predictions.load(path)) == figures(SHAPES["wide-table"]())


def test_option_that_does_not_exist_is_answered_with_a_close_one():
    """A typo in a keyword is never ignored."""
    with pytest.raises(OptionError, check=WithFields(option="lables")) as caught:
        sp.measure(ANSWERS, lables=LABELS)

    assert "`labels`" in str(caught.value)


# ------------------------------------------------------------------------- what must not be guessed


def test_ids_of_other_types_are_matched_across_shards(tmp_path):
    """Numbers in one run and text in another are ordered differently; rows must still match."""
    n = 150_000
    answers = np.random.default_rng(0).integers(0, 2, n)
    np.savez(tmp_path / "a.npz", predictions=answers, ids=np.arange(n))
    texts = np.array([*map(str, range(n)), "extra"])
    np.savez(tmp_path / "b.npz", predictions=np.append(answers, 0), ids=texts)

    report = sp.measure([tmp_path / "a.npz", tmp_path / "b.npz"], common_examples=True)

    assert report.measurement.n_examples == n
    assert report["flip_rate"].value == 0


def test_one_number_next_to_predictions_is_not_a_class():
    """A column such as p_max is the confidence of a model."""
    table = long_table().append_column("p_max", pa.array(np.linspace(0.5, 1, 12)))

    assert sp.Predictions.from_table(table).kind == "labels"
    assert figures(sp.Predictions.from_table(table)) == figures(SHAPES["arrays"]())


@pytest.mark.parametrize(
    "names", [("annotator_1", "annotator_2"), ("q1", "q2"), ("label_1", "label_2")]
)
def test_numbered_columns_are_not_taken_for_runs_unless_named_so(names):
    """The error suggests to name them."""
    table = pa.table({"id": IDS, "label": LABELS, **dict.fromkeys(names, LABELS)})

    with pytest.raises(ColumnError) as caught:
        sp.Predictions.from_table(table)

    assert caught.value.fields["suggestion"]["wide"]


def test_wide_reading_is_noted_and_not_done_next_to_predictions():
    """Runs, or a prediction of another name: not both."""
    assert [note.code for note in SHAPES["wide-table"]().notes] == ["columns-are-runs"]
    table = wide_table().append_column("pred", pa.array(LABELS))
    with pytest.raises(ColumnError):
        sp.Predictions.from_table(table)


def test_rounded_probabilities_are_not_classes():
    """A hundred different numbers between 0 and 1."""
    rng = np.random.default_rng(0)
    columns = {f"seed_{i}": np.round(rng.random(500), 2) for i in range(5)}

    with pytest.raises(DtypeError, check=WithFields(option="positive")):
        sp.Predictions.from_table(pa.table({"id": range(500), **columns}))


@pytest.mark.parametrize(
    "options",
    [
        {"positive": "il", "classes": ["well", "ill"]},
        {"positive": "il", "labels": ["well", "ill", "ill"]},
        {"positive": "ill", "classes": "ab"},
        {"positive": "ill", "classes": ["well", "ill", "dead"]},
    ],
    ids=["typo-in-classes", "typo-in-labels", "text", "three"],
)
def test_positive_class_must_be_one_of_two(options):
    """A typo never inverts the probabilities."""
    with pytest.raises(sp.SeedproofError):
        sp.Predictions.from_arrays(RISKS, **options)


def test_positive_class_of_tables_is_a_name_or_an_index():
    """As with arrays."""
    table = pa.table(RISK_COLUMNS | {"label": [0, 1, 1]})
    by_name = sp.Predictions.from_table(table, positive="ill", classes=["well", "ill"])
    by_index = sp.Predictions.from_table(table, positive="1", classes=["well", "ill"])

    for predictions in (by_name, by_index):
        assert predictions.labels.to_pylist() == ["well", "ill", "ill"]
        np.testing.assert_allclose(predictions.source.shard(0).probs[..., 0], RISKS, rtol=1e-6)
    three = long_table().drop_columns("prediction")
    for name in "abc":
        three = three.append_column(f"p_{name}", pa.array([1 / 3] * 12))
    with pytest.raises(OptionError, check=WithFields(option="positive")):
        sp.Predictions.from_table(three, positive="b")


def test_files_with_other_columns_are_refused(tmp_path):
    """Wide files of other runs, and probabilities of other classes."""
    pq.write_table(wide_table(), tmp_path / "a.parquet")
    pq.write_table(wide_table().drop_columns("seed_3"), tmp_path / "b.parquet")

    with pytest.raises(ColumnError):
        sp.Predictions.load(tmp_path)
    with pytest.raises(ColumnError, check=WithFields(n_columns=2)):
        sp.Predictions.from_table(wide_table(), columns=sp.Columns(wide="seed_2,seed_3,seed_4"))


def test_empty_cell_of_a_wide_table_is_a_missing_example():
    """Refused, or dropped on request."""
    table = pa.table({"id": [1, 2, 3], "seed_0": ["a", "b", None], "seed_1": ["a", "a", "b"]})

    with pytest.raises(sp.SeedproofError):
        sp.measure(table)
    assert sp.Predictions.from_table(table, common_examples=True).ids.to_pylist() == [1, 2]


def test_runs_of_several_folders_keep_their_paths(tmp_path):
    """Two sweeps in one folder have different names, with a note."""
    for day in ("monday", "tuesday"):
        for run in ("0", "1"):
            folder = tmp_path / day / run
            folder.mkdir(parents=True)
            pq.write_table(frames()[int(run)], folder / "preds.parquet")

    predictions = sp.Predictions.load(tmp_path)

    assert predictions.runs == ("monday/0", "monday/1", "tuesday/0", "tuesday/1")
    assert [note.code for note in predictions.notes] == ["several-folders"]


def test_runs_are_paired_by_name_whatever_their_order():
    """The second arm has them in reverse order."""
    rng = np.random.default_rng(0)
    base, arm = rng.integers(0, 2, (2, 8, 200))
    names = [f"seed_{i}" for i in range(8)]
    forwards = dict(zip(names, arm, strict=True))
    backwards = dict(reversed(forwards.items()))

    reverse, expected = (
        sp.compare({"a": dict(zip(names, base, strict=True)), "b": other}, paired=True)
        for other in (backwards, forwards)
    )

    assert reverse.arms[0].is_paired
    assert reverse.to_json() == expected.to_json()


def test_swapped_and_missing_axes_are_reported():
    """Labels match the first axis; a single run has no axis of runs."""
    with pytest.raises(ShapeError, check=WithFields(n_labels=4)):
        sp.measure(ANSWERS.T, labels=LABELS)
    with pytest.raises(ShapeError, check=WithFields(shape=(5, 2))):
        sp.measure(np.full((5, 2), 0.5))


@pytest.mark.parametrize("kind", ["arrays", "frames", "files", "stores"])
def test_every_verb_works_with_every_kind_of_input(kind, tmp_path):
    """Labels, ids and classes come with arrays, frames, files and stores."""
    arms = {}
    for name, answers in (("a", ANSWERS), ("b", ANSWERS[::-1])):
        table = long_table(answers=answers)
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path)
        if kind == "stores":
            ingest_tables([path], tmp_path / name)
        arms[name] = {
            "arrays": sp.Predictions.from_arrays(answers, labels=LABELS, ids=IDS, runs=NAMES),
            "frames": table,
            "files": path,
            "stores": tmp_path / name,
        }[kind]

    compared = sp.compare(arms)

    assert compared.effect("b", "accuracy").value == pytest.approx(0.0)
    assert compared.arms[0].measurement.classes == ("a", "b")
    assert sp.gate(arms["a"], max={"ambiguity": 1.0}).outcome == "pass"
    assert sp.compare_versions(arms["a"], arms["b"])["accuracy_change"].value == pytest.approx(0.0)
    assert sp.compare_versions(arms["a"], arms["b"]).examples["example"].to_pylist() == IDS


def test_series_mixed_lists_and_paths_by_name(tmp_path):
    """Columns are arrays; paths may be given by the names of the runs."""
    import pandas as pd

    series = {name: pd.Series(answers) for name, answers in zip(NAMES, ANSWERS, strict=True)}
    assert sp.Predictions.load(series, labels=LABELS).runs == tuple(NAMES)
    assert len(sp.Predictions.load(list(series.values())).runs) == 3
    for name, frame in zip(("z", "b"), frames(), strict=False):
        pq.write_table(frame, tmp_path / f"{name}.parquet")
    paths = {name: tmp_path / f"{name}.parquet" for name in ("z", "b")}
    assert sp.Predictions.load(paths).runs == ("z", "b")
    with pytest.raises(DtypeError):
        sp.Predictions.load([str(paths["z"]), frames()[0]])
    with pytest.raises(ColumnError, check=WithFields(column="run")):
        sp.Predictions.load({"x": long_table(), "y": long_table()})
