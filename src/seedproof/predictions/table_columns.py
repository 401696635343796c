"""Columns of tables that options name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seedproof.errors import OptionError
from seedproof.records.columns import Columns

# Options that name a column of a table, with its role.
ROLES = {
    "labels": "label",
    "ids": "example",
    "targets": "target",
    "references": "reference",
    "equivalent": "equivalent",
}


def columns_of(options: Mapping[str, Any]) -> Columns:
    """Return the names of the columns, including those of single options."""
    columns: Columns = options.get("columns") or Columns()
    for option, role in ROLES.items():
        name = options.get(option)
        if name is not None and not isinstance(name, str):
            raise OptionError(
                "`{option}` of a table is the name of a column, not a {type_name}. Put the values "
                "into the table.",
                option=option,
                type_name=type(name).__name__,
            )
        if name is not None:
            columns = replace(columns, **{role: name})
    if options.get("positive") is not None:
        columns = replace(columns, positive=str(options["positive"]))
    return columns


def names_in(option: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that an option names."""
    value = options.get(option)
    names = () if value is None else [value] if isinstance(value, str) else value
    if isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise OptionError(
            "`{option}` takes names of columns here, not values. Put the values into the table.",
            option=option,
        )
    return tuple(names)


def further_columns(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of slices, clusters and weights."""
    named = (names_in(option, options) for option in ("slices", "clusters", "weight"))
    return tuple(name for names in named for name in names)
