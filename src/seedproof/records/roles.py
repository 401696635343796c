"""Roles of the columns of a user's table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seedproof.errors import ColumnError, OptionError
from seedproof.records.columns import (
    ID,
    TEXT_ROLES,
    Columns,
    advice,
    are_several,
    check_names,
    matching,
    shown,
    suggested,
    wide_family,
)
from seedproof.records.levels import LEVELS
from seedproof.records.shards import canonical_order

PURPOSES = {
    "example": "the ids of the examples",
    "run": "the runs",
    "label": "the labels",
    "prediction": "the predictions",
    "value": "the numbers",
    "target": "the right numbers",
    "trial": "the trials",
    "judge": "the judges",
    "item": "the items of the ranked lists",
    "rank": "the ranks of the items",
    "score": "the scores of the items",
    "relevance": "the grades of the items",
    "set": "the sets of labels",
    "tags": "the tags of the tokens",
    "answer": "the answers",
    "equivalent": "the answers that are the same",
    "reference": "the right answers",
    "correct": "whether answers are right",
}


@dataclass(frozen=True)
class Roles:
    """Roles of the columns of one table."""

    run: str | None  # None if the table is one run
    example: str
    label: str | None  # None without labels
    prediction: str | None  # None if probabilities are used
    probs: tuple[str, ...]  # probability columns in the order of the classes
    classes: tuple[str, ...]  # class names of the probability columns
    extras: tuple[str, ...]  # all other columns
    wide: tuple[str, ...] = ()  # columns that are one run each
    # The class whose probability the only column of `probs` holds; `classes` are then named once
    # the labels are known.
    positive: str | None = None
    value: str | None = None  # numbers in place of classes; a prefix or unused if `wide`
    target: str | None = None  # None without right numbers
    # For numbers: levels of repetition with their columns, the outermost first; `run` is the first.
    levels: tuple[tuple[str, str], ...] = ()
    answer: str | None = None  # free texts in place of classes; a prefix or unused if `wide`
    equivalent: str | None = None  # None if equal texts are the same answer
    reference: str | None = None  # None without right answers
    correct: str | None = None  # None if references decide which answers are right

    @property
    def names(self) -> list[str]:
        """All columns that have a role, each once."""
        value, answer = (None, None) if self.wide else (self.value, self.answer)
        single = (self.run, self.example, self.label, self.prediction, value, self.target)
        of_texts = (answer, self.equivalent, self.reference, self.correct)
        several = (*self.probs, *self.wide, *(column for _, column in self.levels), *self.extras)
        names = (*single, *of_texts, *several)
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def repeated(self) -> str:
        """Column of the numbers or texts, if they have levels of repetition."""
        return str(self.answer if self.value is None else self.value)

    @classmethod
    def find(cls, names: Sequence[str], columns: Columns, *, table: str) -> "Roles":
        """Return the roles of a table's columns."""
        check_names(names, table)
        example = columns.example
        if example == Columns.example and example not in names and ID in names:
            example = ID
        if columns.have_texts(names):
            return cls._find_texts(names, columns, example, table)
        if columns.have_numbers(names):
            return cls._find_numbers(names, columns, example, table)
        for role in ("example", "run", "label", "prediction"):
            name = example if role == "example" else getattr(columns, role)
            if name not in names and (role == "example" or role in columns.changed()):
                raise _missing(name, role, names, columns, table)
        taken = {columns.run, example, columns.label, columns.prediction}
        by_class = {
            name.removeprefix(columns.probs): name
            for name in names
            if name.startswith(columns.probs) and name != columns.probs and name not in taken
        }
        wide = _wide(names, columns, example, table, has_answers=bool(by_class))
        is_confidence = len(by_class) == 1 and columns.prediction in names and not columns.positive
        if wide or is_confidence:
            # One number next to predictions is how sure a model is, not a probability of a class.
            by_class = {}
        elif not by_class and columns.prediction not in names:
            raise _missing_answers(names, columns, table)
        positive = next(iter(by_class)) if len(by_class) == 1 else columns.positive
        if columns.positive and (len(by_class) > 1 or positive != columns.positive):
            raise OptionError(
                "`{option}` is {positive!r}, but {table} has probabilities for {classes}. "
                "Remove the option.",
                option="positive",
                positive=columns.positive,
                table=table,
                classes=tuple(by_class),
            )
        is_binary = bool(positive) and len(by_class) <= 1
        classes = () if is_binary else tuple(canonical_order(sorted(by_class)))
        answer = None if by_class or wide else columns.prediction
        used = {columns.run, example, columns.label, answer, *by_class.values(), *wide}
        if is_binary:
            probs = tuple(by_class.values()) or ((answer,) if answer else ())
        else:
            probs = tuple(by_class[name] for name in classes)
        return cls(
            run=columns.run if columns.run in names else None,
            example=example,
            label=columns.label if columns.label in names else None,
            prediction=None if is_binary else answer,
            probs=probs,
            classes=classes,
            extras=tuple(name for name in names if name not in used),
            wide=wide,
            positive=positive if is_binary else None,
        )

    @classmethod
    def _find_numbers(
        cls, names: Sequence[str], columns: Columns, example: str, table: str
    ) -> "Roles":
        wide = columns.wide_numbers(names)
        roles_of = ("value", *LEVELS, "target")
        known = _known(roles_of, names, columns, example=example, table=table, wide=wide)
        roles = cls._of_repeats(example, wide, known, LEVELS)
        roles = replace(roles, value=columns.value, target=known.get("target"))
        return roles.with_extras(names)

    @classmethod
    def _find_texts(
        cls, names: Sequence[str], columns: Columns, example: str, table: str
    ) -> "Roles":
        wide, levels = columns.wide_texts(names), LEVELS[:2]
        roles_of = ("answer", *levels, *TEXT_ROLES)
        known = _known(roles_of, names, columns, example=example, table=table, wide=wide)
        roles = cls._of_repeats(example, wide, known, levels)
        roles = replace(
            roles,
            answer=columns.answer,
            equivalent=known.get("equivalent"),
            reference=known.get("reference"),
            correct=known.get("correct"),
        )
        return roles.with_extras(names)

    @classmethod
    def _of_repeats(
        cls,
        example: str,
        wide: tuple[str, ...],
        known: Mapping[str, str],
        levels: Sequence[str],
    ) -> "Roles":
        """Return roles of answers that have several levels of repetition."""
        # A column that is named for trials has no runs.
        by_column = {known[level]: level for level in levels if level in known and not wide}
        present = [(level, column) for column, level in by_column.items()]
        return cls(
            run=present[0][1] if present else None,
            example=example,
            label=None,
            prediction=None,
            probs=(),
            classes=(),
            extras=(),
            wide=wide,
            levels=tuple(present),
        )

    def with_extras(self, names: Sequence[str]) -> "Roles":
        """Return the same roles, with all columns that have none as further columns."""
        used = {*self.names}
        return replace(self, extras=tuple(name for name in names if name not in used))


def _known(
    roles: Sequence[str],
    names: Sequence[str],
    columns: Columns,
    *,
    example: str,
    table: str,
    wide: Sequence[str],
) -> dict[str, str]:
    """Return the columns of roles that a table has; the first role may be one column per run."""
    for role in ("example", *roles):
        name = example if role == "example" else getattr(columns, role)
        is_needed = role == "example" or role in columns.changed()
        is_wide = role == roles[0] and are_several(wide, name)
        if name not in names and is_needed and not is_wide:
            raise _missing(name, role, names, columns, table)
    return {role: name for role in roles if (name := getattr(columns, role)) in names}


def _wide(
    names: Sequence[str], columns: Columns, example: str, table: str, *, has_answers: bool
) -> tuple[str, ...]:
    """Return the columns that are one run each."""
    others = [name for name in names if name not in {example, columns.label}]
    if not columns.wide:
        if has_answers or columns.run in names or columns.prediction in names:
            return ()
        return wide_family(others)
    wide = matching(others, columns.wide)
    if not are_several(wide, columns.wide):
        raise ColumnError(
            "{table} has {n_columns} columns that match --wide {prefix!r}. It has: {listed}. "
            "Pass the prefix of the columns with one run each, or all their names.",
            table=table,
            n_columns=len(wide),
            prefix=columns.wide,
            listed=shown(names),
            columns=tuple(names),
        )
    return wide


def _missing_answers(names: Sequence[str], columns: Columns, table: str) -> ColumnError:
    suggestion = suggested(names, columns.changed())
    return ColumnError(
        "{table} has neither a column {prediction!r} nor columns '{probs}<class>'. "
        "It has: {listed}. {advice}",
        table=table,
        prediction=columns.prediction,
        probs=columns.probs,
        listed=shown(names),
        columns=tuple(names),
        suggestion=suggestion,
        advice=advice(suggestion, "--prediction NAME, --probs PREFIX or --wide PREFIX"),
    )


def _missing(
    name: str, role: str, names: Sequence[str], columns: Columns, table: str
) -> ColumnError:
    suggestion = suggested(names, columns.changed())
    return ColumnError(
        "{table} has no column {column!r} for {purpose}. It has: {listed}. {advice}",
        table=table,
        column=name,
        purpose=PURPOSES[role],
        listed=shown(names),
        columns=tuple(names),
        option=f"--{role}",
        suggestion=suggestion,
        advice=advice(suggestion, f"--{role} NAME"),
    )
