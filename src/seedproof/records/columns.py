"""Which column of a table plays which role."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.errors import ColumnError, OptionError
from seedproof.records.column_names import advice, suggested, wide_family
from seedproof.records.shards import canonical_order

# Taken for the ids of examples where no column is called `example`.
ID = "id"
PURPOSES = {
    "example": "the ids of the examples",
    "run": "the runs",
    "label": "the labels",
    "prediction": "the predictions",
}


@dataclass(frozen=True)
class Columns:
    """Names of the columns in a user's table.

    Args:
        run: Column that says which training a row is from.
        example: Column of the example ids; `id` is taken as well, where there is no `example`.
        label: Column of the gold classes; it may be absent.
        prediction: Column of the predicted classes.
        probs: Prefix of the probability columns; the class follows.
        wide: With one column per run: the prefix of their names, or all names with commas between.
            If omitted, columns such as seed_0, seed_1, … are recognized.
        positive: The class whose probability the predictions are, where they are no classes.

    Examples:
        >>> import pyarrow as pa
        >>> import seedproof as sp
        >>> table = pa.table(
        ...     {"seed": [0, 0, 1, 1], "id": [1, 2, 1, 2], "answer": list("abba")}
        ... )
        >>> report = sp.measure(table, columns=sp.Columns(run="seed", prediction="answer"))
        >>> report["flip_rate"].value
        1.0
    """

    run: str = "run"
    example: str = "example"
    label: str = "label"
    prediction: str = "prediction"
    probs: str = "p_"
    wide: str = ""
    positive: str = ""

    def changed(self) -> dict[str, str]:
        """The names that are not the usual ones."""
        usual = vars(Columns())
        return {role: name for role, name in vars(self).items() if name != usual[role]}


@dataclass(frozen=True)
class Roles:
    """What the columns of one table were found to be."""

    run: str | None  # column of the run; None if the table is one run
    example: str  # column of the example id
    label: str | None  # column of the gold class; None without labels
    prediction: str | None  # column of the predicted class; None where probabilities are used
    probs: tuple[str, ...]
    classes: tuple[str, ...]  # class names of the probability columns
    extras: tuple[str, ...]  # all other columns
    wide: tuple[str, ...] = ()
    positive: str | None = None

    @classmethod
    def find(cls, names: Sequence[str], columns: Columns, *, table: str) -> "Roles":
        """The roles of a table's columns."""
        _refuse_doubles(names, table)
        example = columns.example
        if example == Columns.example and example not in names and ID in names:
            example = ID
        if example not in names:
            raise _without(example, "example", names, columns, table)
        for role in ("run", "label", "prediction"):
            if role in columns.changed() and getattr(columns, role) not in names:
                raise _without(getattr(columns, role), role, names, columns, table)
        taken = {columns.run, example, columns.label, columns.prediction}
        by_class = {
            name.removeprefix(columns.probs): name
            for name in names
            if name.startswith(columns.probs) and name != columns.probs and name not in taken
        }
        wide = _wide(names, columns, example, table, has_answers=bool(by_class))
        is_beside = len(by_class) == 1 and columns.prediction in names and not columns.positive
        if wide or is_beside:
            # One number next to predictions is how sure a model is, not a probability of a class.
            by_class = {}
        elif not by_class and columns.prediction not in names:
            raise _without_answers(names, columns, table)
        positive = next(iter(by_class)) if len(by_class) == 1 else columns.positive
        if columns.positive and (len(by_class) > 1 or positive != columns.positive):
            raise OptionError(
                "`{option}` is {positive!r}, and {table} has the probabilities of {classes}. "
                "Remove it.",
                option="positive",
                positive=columns.positive,
                table=table,
                classes=tuple(by_class),
            )
        is_binary = bool(positive) and len(by_class) <= 1
        classes = () if is_binary else tuple(canonical_order(sorted(by_class)))
        answer = None if by_class or wide else columns.prediction
        used = {columns.run, example, columns.label, *by_class.values(), *wide}
        return cls(
            run=columns.run if columns.run in names else None,
            example=example,
            label=columns.label if columns.label in names else None,
            prediction=None if is_binary else answer,
            probs=(
                tuple(by_class.values() or ([answer] if answer else []))
                if is_binary
                else tuple(by_class[name] for name in classes)
            ),
            classes=classes,
            extras=tuple(name for name in names if name not in used and name != answer),
            wide=wide,
            positive=positive if is_binary else None,
        )


def _refuse_doubles(names: Sequence[str], table: str) -> None:
    if len({name.lower() for name in names}) < len(names):
        twice = next(n for i, n in enumerate(names) if n.lower() in map(str.lower, names[:i]))
        raise ColumnError(
            "{table} has two columns named {column!r} (case does not count). Rename one.",
            table=table,
            column=twice,
        )


def _wide(
    names: Sequence[str], columns: Columns, example: str, table: str, *, has_answers: bool
) -> tuple[str, ...]:
    """The columns that are one run each; empty if the table has a row per run and example."""
    if not columns.wide:
        if has_answers or columns.run in names or columns.prediction in names:
            return ()
        return wide_family([name for name in names if name not in {example, columns.label}])
    listed = [name.strip() for name in columns.wide.split(",")]
    found = tuple(
        name
        for name in names
        if name in listed or (name.startswith(columns.wide) and name != columns.wide)
    )
    found = tuple(name for name in found if name not in {example, columns.label})
    if len(found) < 2 or (len(listed) > 1 and set(listed) != set(found)):
        raise ColumnError(
            "{table} has {n_columns} columns that --wide {prefix!r} names. It has: {listed}. "
            "Give the prefix of the columns that are one run each, or all their names.",
            table=table,
            n_columns=len(found),
            prefix=columns.wide,
            listed=shown(names),
            columns=tuple(names),
        )
    return found


def _without_answers(names: Sequence[str], columns: Columns, table: str) -> ColumnError:
    better = suggested(names, columns.changed())
    return ColumnError(
        "{table} has neither a column {prediction!r} nor columns '{probs}<class>'. "
        "It has: {listed}. {advice}",
        table=table,
        prediction=columns.prediction,
        probs=columns.probs,
        listed=shown(names),
        columns=tuple(names),
        suggestion=better,
        advice=advice(better, "--prediction NAME, --probs PREFIX or --wide PREFIX"),
    )


def _without(
    wanted: str, role: str, names: Sequence[str], columns: Columns, table: str
) -> ColumnError:
    better = suggested(names, columns.changed())
    return ColumnError(
        "{table} has no column {column!r} for {purpose}. It has: {listed}. {advice}",
        table=table,
        column=wanted,
        purpose=PURPOSES[role],
        listed=shown(names),
        columns=tuple(names),
        option=f"--{role}",
        suggestion=better,
        advice=advice(better, f"--{role} NAME"),
    )


def shown(names: Sequence[str]) -> str:
    """The first names of a table's columns, and how many there are."""
    more = f", … ({len(names)} in all)" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more
