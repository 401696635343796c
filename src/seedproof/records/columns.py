"""Which column of a table plays which role."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.errors import ClassesError, ColumnError
from seedproof.records.shards import canonical_order


@dataclass(frozen=True)
class Columns:
    """Names of the columns in a user's table.

    Args:
        run: Which training the row is from.
        example: Id of the example.
        label: Gold class; the column may be absent.
        prediction: Predicted class.
        probs: What the names of the probability columns begin with; the class follows.
    """

    run: str = "run"
    example: str = "example"
    label: str = "label"
    prediction: str = "prediction"
    probs: str = "p_"


@dataclass(frozen=True)
class Roles:
    """What the columns of one table were found to be.

    Args:
        run: Column of the run; None if the table is one run.
        example: Column of the example id.
        label: Column of the gold class; None without labels.
        prediction: Column of the predicted class; None where probabilities are used.
        probs: Probability columns in the order of the classes; empty for predictions alone.
        classes: Class names of the probability columns.
        extras: All other columns.
    """

    run: str | None
    example: str
    label: str | None
    prediction: str | None
    probs: tuple[str, ...]
    classes: tuple[str, ...]
    extras: tuple[str, ...]

    @classmethod
    def find(cls, names: Sequence[str], columns: Columns, *, table: str) -> "Roles":
        """The roles of a table's columns.

        Args:
            names: The table's columns.
            columns: What the user calls them.
            table: What to call the table in messages.

        Returns:
            The roles.

        Raises:
            ColumnError: A column is missing or there twice.
            ClassesError: There is only one probability column.
        """
        if len({name.lower() for name in names}) < len(names):
            twice = next(n for i, n in enumerate(names) if n.lower() in map(str.lower, names[:i]))
            raise ColumnError(
                "{table} has two columns named {column!r} (case does not count). Rename one.",
                table=table,
                column=twice,
            )
        _require(names, columns.example, "--example", "the ids of the examples", table)
        for wanted, usual, option, what in (
            (columns.run, Columns.run, "--run", "the runs"),
            (columns.label, Columns.label, "--label", "the labels"),
            (columns.prediction, Columns.prediction, "--prediction", "the predictions"),
        ):
            if wanted != usual:
                _require(names, wanted, option, what, table)
        roles = {columns.run, columns.example, columns.label, columns.prediction}
        by_class = {
            name.removeprefix(columns.probs): name
            for name in names
            if name.startswith(columns.probs) and name != columns.probs and name not in roles
        }
        if not by_class and columns.prediction not in names:
            raise ColumnError(
                "{table} has neither a column {prediction!r} nor columns "
                "'{probs}<class>'. It has: {listed}. "
                "Name yours with --prediction NAME or --probs PREFIX.",
                table=table,
                prediction=columns.prediction,
                probs=columns.probs,
                listed=_shown(names),
                columns=tuple(names),
            )
        if len(by_class) == 1:
            raise ClassesError(
                "{table} has one probability column, {column!r}. "
                "Give one for each class; a binary model has two, p and 1 - p.",
                table=table,
                column=next(iter(by_class.values())),
            )
        classes = tuple(canonical_order(sorted(by_class)))
        used = {columns.run, columns.example, columns.label, *by_class.values()}
        if not by_class:
            used.add(columns.prediction)
        return cls(
            run=columns.run if columns.run in names else None,
            example=columns.example,
            label=columns.label if columns.label in names else None,
            prediction=None if by_class else columns.prediction,
            probs=tuple(by_class[name] for name in classes),
            classes=classes,
            extras=tuple(name for name in names if name not in used),
        )


def _require(names: Sequence[str], wanted: str, option: str, what: str, table: str) -> None:
    if wanted not in names:
        raise ColumnError(
            "{table} has no column {column!r} for {purpose}. It has: {listed}. "
            "Name yours with {option} NAME, in Python with Columns({keyword}=NAME).",
            table=table,
            column=wanted,
            purpose=what,
            listed=_shown(names),
            columns=tuple(names),
            option=option,
            keyword=option[2:],
        )


def _shown(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more
