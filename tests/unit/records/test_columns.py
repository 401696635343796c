"""Roles of the columns of a table."""

import pytest

from seedproof.errors import ColumnError
from seedproof.records.columns import Columns, Roles
from seedproof.testing.errors import WithFields


def find(*names: str, **called: str) -> Roles:
    """Roles of some columns."""
    return Roles.find(names, Columns(**called), table="t.csv")


def test_the_usual_names_need_no_options():
    """Run, example, label and one probability a class."""
    roles = find("run", "example", "label", "p_no", "p_yes")

    assert roles == Roles(
        run="run",
        example="example",
        label="label",
        prediction=None,
        probs=("p_no", "p_yes"),
        classes=("no", "yes"),
        extras=(),
    )


def test_predictions_alone():
    """Without probabilities the predicted class is used."""
    roles = find("example", "prediction")

    assert (roles.run, roles.label, roles.prediction) == (None, None, "prediction")
    assert roles.probs == roles.classes == ()


def test_probabilities_win_over_predictions():
    """The prediction becomes a further column."""
    roles = find("run", "example", "prediction", "p_a", "p_b")

    assert roles.prediction is None
    assert roles.extras == ("prediction",)


def test_classes_come_in_canonical_order():
    """However the columns are arranged; numbers by value."""
    assert find("example", "p_10", "p_9", "p_-1").probs == ("p_-1", "p_9", "p_10")
    assert find("example", "p_b", "p_a").classes == ("a", "b")


def test_other_names_by_option():
    """Named by the user; the default names become further columns then."""
    roles = find(
        "seed", "id", "gold", "answer", "label",
        run="seed", example="id", label="gold", prediction="answer",
    )  # fmt: skip

    assert (roles.run, roles.example, roles.label, roles.prediction) == (
        "seed",
        "id",
        "gold",
        "answer",
    )
    assert roles.extras == ("label",)


def test_a_prefix_takes_no_column_that_has_a_role():
    """`--probs p` does not take `prediction` for a class."""
    roles = find("run", "example", "prediction", "pa", "pb", probs="p")

    assert roles.classes == ("a", "b")


def test_an_empty_prefix_takes_all_other_columns():
    """Columns that are named like the classes."""
    assert find("run", "example", "label", "cat", "dog", probs="").classes == ("cat", "dog")


def test_the_prefix_alone_is_no_class():
    """`p_` names no class."""
    assert find("example", "p_", "p_a", "p_b").extras == ("p_",)


@pytest.mark.parametrize(
    ("names", "called", "fields"),
    [
        (["run", "prediction"], {}, {"column": "example", "columns": ("run", "prediction"), "option": "--example"}),
        (["run", "example"], {}, {"prediction": "prediction", "probs": "p_", "columns": ("run", "example")}),
        (["run", "example", "prediction"], {"run": "seed"}, {"column": "seed", "option": "--run"}),
        (["run", "example", "prediction"], {"label": "gold"}, {"column": "gold", "option": "--label"}),
        (["run", "example", "p_a", "p_b"], {"prediction": "y"}, {"column": "y", "option": "--prediction"}),
        (["example", "run", "Run", "prediction"], {}, {"column": "Run"}),
        (["example", "a", "a", "prediction"], {}, {"column": "a"}),
        ([], {}, {"column": "example", "columns": ()}),
    ],
    ids=["no-id", "no-value", "no-run", "no-label", "no-prediction", "by-case", "twice", "nothing"],
)  # fmt: skip
def test_what_is_missing_or_twice_is_named(names, called, fields):
    """With the columns that there are, and the option that helps."""
    with pytest.raises(ColumnError, check=WithFields(table="t.csv", **fields)):
        find(*names, **called)


def test_one_probability_is_that_of_its_class():
    """The other class is named when the labels are known."""
    roles = find("example", "p_yes", "text")

    assert (roles.positive, roles.probs, roles.classes) == ("yes", ("p_yes",), ())
    assert roles.extras == ("text",)


def test_long_lists_of_columns_are_cut():
    """Twelve of them, and how many there are."""
    names = [f"c{i}" for i in range(40)]

    with pytest.raises(
        ColumnError, check=WithFields(column="example", columns=tuple(names))
    ) as error:
        find(*names)

    assert "'c12'" not in str(error.value)
