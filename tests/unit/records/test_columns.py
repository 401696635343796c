"""Roles of the columns of a table."""

import pytest

from seedproof.errors import ColumnError
from seedproof.records.columns import Columns
from seedproof.records.roles import Roles
from seedproof.testing.errors import WithFields


def find(*names: str, **called: str) -> Roles:
    """Return the roles of some columns."""
    return Roles.find(names, Columns(**called), table="t.csv")


@pytest.mark.parametrize(
    ("names", "called", "expected"),
    [
        ("run example label p_no p_yes", {}, {"run": "run", "example": "example", "label": "label", "prediction": None, "probs": ("p_no", "p_yes"), "classes": ("no", "yes"), "extras": (), "wide": (), "positive": None}),
        ("example prediction", {}, {"run": None, "label": None, "prediction": "prediction", "probs": (), "classes": ()}),
        ("run example prediction p_a p_b", {}, {"prediction": None, "extras": ("prediction",)}),
        ("example p_10 p_9 p_-1", {}, {"probs": ("p_-1", "p_9", "p_10")}),
        ("example p_b p_a", {}, {"classes": ("a", "b")}),
        ("seed id gold answer label", {"run": "seed", "example": "id", "label": "gold", "prediction": "answer"}, {"run": "seed", "example": "id", "label": "gold", "prediction": "answer", "extras": ("label",)}),
        ("run example prediction pa pb", {"probs": "p"}, {"classes": ("a", "b")}),
        ("run example label cat dog", {"probs": ""}, {"classes": ("cat", "dog")}),
        ("example p_ p_a p_b", {}, {"extras": ("p_",)}),
        ("example p_yes text", {}, {"positive": "yes", "probs": ("p_yes",), "classes": (), "extras": ("text",)}),
    ],
    ids=[
        "default-names", "predictions", "probabilities-before-predictions", "numbered-classes-by-value",
        "classes-in-canonical-order", "named-by-the-user", "prefix-of-a-column-with-a-role",
        "empty-prefix-takes-all-others", "prefix-is-not-a-class", "one-probability-is-of-its-class",
    ],
)  # fmt: skip
def test_roles_follow_from_the_names(names, called, expected):
    """Columns without a role are further columns."""
    roles = find(*names.split(), **called)

    assert {role: getattr(roles, role) for role in expected} == expected


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
def test_missing_and_duplicate_columns_are_named(names, called, fields):
    """With all columns of the table, and the option that helps."""
    with pytest.raises(ColumnError, check=WithFields(table="t.csv", **fields)):
        find(*names, **called)


def test_long_lists_of_columns_are_shortened():
    """To twelve and their number."""
    names = [f"c{i}" for i in range(40)]

    with pytest.raises(
        ColumnError, check=WithFields(column="example", columns=tuple(names))
    ) as error:
        find(*names)

    assert "'c12'" not in str(error.value)
