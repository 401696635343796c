"""Tables with one row per run are recognized by their columns, and tables of examples are not."""

import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import ColumnError, DuplicateExampleError, MissingValueError, UnknownNameError
from seedproof.scalars.read import has_scalars, load_scalars


def table(*names: str) -> pa.Table:
    """Return two rows, numbers in all columns but those of arms."""
    texts = {"arm", "algorithm", "host", "prediction", "label"}
    return pa.table({name: ["a", "b"] if name in texts else [0.5, 1.5] for name in names})


@pytest.mark.parametrize(
    ("names", "is_of_runs"),
    [
        (("seed", "return"), True),
        (("run", "loss"), True),
        (("Seed", "Return"), True),
        (("arm", "seed", "return", "loss"), True),
        (("algorithm", "run_id", "seed", "return"), True),
        (("seed", "value"), True),
        (("seed",), False),
        (("arm", "return"), False),
        (("run", "example", "value"), False),
        (("run", "id", "score"), False),
        (("run", "sample_id", "score"), False),
        (("run", "prediction"), False),
        (("run", "label", "p_a", "p_b"), False),
        (("label", "seed_0", "seed_1"), False),
    ],
)
def test_columns_show_whether_rows_are_runs(names, is_of_runs):
    assert has_scalars(table(*names), {}) == is_of_runs


def test_a_named_column_of_runs_may_be_an_id():
    columns = sp.Columns(run="id")

    assert has_scalars(table("id", "loss"), {"columns": columns})
    assert load_scalars(table("id", "loss"), {"columns": columns}).metrics == ("loss",)


@pytest.mark.parametrize("columns", [sp.Columns(example="seed"), sp.Columns(value="return")])
def test_a_named_column_of_examples_or_values_is_not_of_runs(columns):
    assert not has_scalars(table("seed", "return"), {"columns": columns})


@pytest.mark.parametrize(
    "target", [[[0, 1], [1, 1]], [0.1, 0.2], "missing.csv", [], {}, None, 3, {"a": [0, 1]}]
)
def test_other_inputs_are_not_recognized(target):
    assert not has_scalars(target, {})


def test_columns_have_the_roles_of_their_names():
    rows = {
        "algorithm": ["a", "a", "b", "b"],
        "run_id": ["x10", "x9", "y1", "y2"],
        "seed": [0, 1, 0, 1],
        "host": ["g1", "g2", "g1", "g2"],
        "return": [1, 2, 3, 4],
        "solved": [True, False, True, True],
    }

    scalars = load_scalars(pa.table(rows), {})

    assert list(scalars.arms) == ["a", "b"]
    assert scalars.arms["a"].runs == ("x9", "x10")
    assert scalars.arms["a"].seeds == ("1", "0")
    assert scalars.metrics == ("return", "solved")
    assert scalars.arms["a"].values["return"].tolist() == [2.0, 1.0]
    assert [note.fields["names"] for note in scalars.notes] == [("host",)]


def test_the_only_column_of_text_names_the_arms():
    rows = {"optimizer": list("aabb"), "seed": [0, 1, 0, 1], "loss": [1.0, 2.0, 3.0, 4.0]}

    assert list(load_scalars(pa.table(rows), {}).arms) == ["a", "b"]


def test_a_seed_that_several_runs_share_pairs_none():
    rows = {"run": [0, 1, 2], "seed": [7, 7, 8], "loss": [1.0, 2.0, 3.0]}

    assert next(iter(load_scalars(pa.table(rows), {}).arms.values())).seeds is None


def test_rows_that_differ_in_another_column_name_it():
    rows = {
        "arm": ["a"] * 4,
        "seed": [0, 0, 1, 1],
        "env": ["ant", "hopper"] * 2,
        "return": [1.0, 2.0, 3.0, 4.0],
    }

    with pytest.raises(DuplicateExampleError) as error:
        load_scalars(pa.table(rows), {})

    assert "env" in error.value.fields["columns"]


def test_a_metric_may_be_missing_where_it_is_not_requested():
    rows = pa.table({"seed": [0, 1], "loss": [1.0, 2.0], "return": [None, 2.0]})

    assert load_scalars(rows, {}, ["loss"]).metrics == ("loss",)
    with pytest.raises(MissingValueError):
        load_scalars(rows, {}, ["return"])


def test_tables_have_metrics_in_common():
    first = pa.table({"seed": [0, 1], "loss": [1.0, 2.0], "return": [1.0, 2.0]})
    second = pa.table({"seed": [0, 1], "loss": [1.0, 2.0]})
    other = pa.table({"seed": [0, 1], "accuracy": [1.0, 2.0]})

    both = load_scalars({"a": first, "b": second}, {})

    assert both.metrics == ("loss",)
    assert [note.fields["names"] for note in both.notes] == [("return",)]
    with pytest.raises(ColumnError):
        load_scalars({"a": second, "b": other}, {})


def test_spreads_are_requested_by_their_metric():
    rows = pa.table({"seed": [0, 1], "loss": [1.0, 2.0], "return": [1.0, 2.0]})

    assert load_scalars(rows, {}, ["loss_sd", "loss"]).metrics == ("loss",)
    with pytest.raises(UnknownNameError):
        load_scalars(rows, {}, ["los_sd"])
