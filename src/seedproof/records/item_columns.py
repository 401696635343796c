"""Columns of tables with ranked lists or sets, and suggestions where a name is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seedproof.errors import ColumnError
from seedproof.records.columns import (
    Columns,
    advice,
    check_names,
    likely_columns,
    shown,
    suggested,
    wide_family,
)
from seedproof.records.roles import PURPOSES
from seedproof.records.schema import Kind

# Columns that are read as well, if the usual one is missing, the likeliest first.
ALSO = {
    "example": ("example", "id", "user", "query", "document"),
    "relevance": ("relevance", "relevant", "grade"),
    "set": ("set", "labels"),
    "label": ("label", "gold", "label_set", "gold_tags"),
}
SPAN = ("start", "end", "type")
# Levels of repetition; lists and sets have no judges.
LEVELS = ("run", "trial")
# Column of the documents, by which spans of sentences are clustered.
DOCUMENT = "document"


class Form(StrEnum):
    """Form in which a table has ranked lists or sets."""

    RANKED = "ranked"  # one item of a list per row
    LISTS = "lists"  # one set per row, or one of its labels
    SPANS = "spans"  # one span per row
    TAGS = "tags"  # the tags of all tokens per row

    @property
    def kind(self) -> Kind:
        """Kind of the answers."""
        return Kind.RANKINGS if self is Form.RANKED else Kind.SETS


@dataclass(frozen=True)
class ItemRoles:
    """Roles of the columns of a table of ranked lists or sets."""

    form: Form
    example: str
    levels: tuple[tuple[str, str], ...]  # run and trial with their columns; empty for a single run
    answer: tuple[str, ...]  # the items, sets, tags, or the three columns of spans
    order: str | None = None  # rank or score
    is_score: bool = False  # the highest is the best
    gold: str | None = None  # right labels or tags; grades of the items of ranked lists
    extras: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All columns that have a role, each once."""
        single = (self.example, self.order, self.gold)
        several = (*(name for _, name in self.levels), *self.answer, *self.extras)
        return list(dict.fromkeys(name for name in (*single, *several) if name is not None))

    @classmethod
    def find(cls, names: Sequence[str], columns: Columns, *, table: str) -> "ItemRoles":
        """Return the roles of the columns of a table that `form_of` recognizes."""
        check_names(names, table)
        form = form_of(names, columns)
        if form is None:
            raise ColumnError(
                "{table} has no lists or sets. It has: {listed}. Give all files the same columns.",
                table=table,
                listed=shown(names),
                columns=tuple(names),
            )
        role = {Form.RANKED: "item", Form.LISTS: "set", Form.TAGS: "tags"}.get(form)
        chosen = {name: _column(name, names, columns) for name in ("example", "label", "relevance")}
        if role is not None:
            chosen[role] = _column(role, names, columns)
        given = columns.changed()
        needed = ["example", *([] if role is None else [role])]
        for name in (
            *needed,
            *(x for x in ("run", "trial", "rank", "score", "label") if x in given),
        ):
            if name not in chosen:
                chosen[name] = _column(name, names, columns)
            if chosen[name] is None:
                raise _missing(name, form, names, columns, table)
        is_ranked = form is Form.RANKED
        order = next((x for x in _orders(columns) if x in names), None) if is_ranked else None
        if is_ranked and order is None:
            raise _missing("rank", form, names, columns, table)
        level_columns = [(level, getattr(columns, level)) for level in LEVELS]
        example = str(chosen["example"])
        gold = chosen["relevance"] if is_ranked else chosen["label"]
        roles = cls(
            form=form,
            example=example,
            levels=tuple((level, name) for level, name in level_columns if name in names),
            answer=SPAN if role is None else (str(chosen[role]),),
            order=order,
            is_score=order == columns.score,
            gold=None if form is Form.SPANS else gold,
        )
        used = {*roles.names, *(_orders(columns) if is_ranked else ())}
        extras = tuple(name for name in names if name not in used)
        return cls(**{**vars(roles), "extras": extras})


def form_of(names: Sequence[str], columns: Columns) -> Form | None:
    """Return the form of a table of lists or sets, by its columns; None for any other table."""
    given = columns.changed()
    for roles, form in (
        (("item", "rank", "score", "relevance"), Form.RANKED),
        (("tags",), Form.TAGS),
        (("set",), Form.LISTS),
    ):
        if any(role in given for role in roles):
            return form
    has_numbers = columns.have_numbers(names)
    has_classes = columns.prediction in names or any(n.startswith(columns.probs) for n in names)
    if has_numbers or has_classes or columns.wide or wide_family(names):
        return None
    has_ids = _column("example", names, columns) is not None
    if has_ids and columns.item in names and not {*_orders(columns)}.isdisjoint(names):
        return Form.RANKED
    if has_ids and {*SPAN} <= {*names}:
        return Form.SPANS
    if columns.tags in names:
        return Form.TAGS
    likely = None
    if _column("set", names, columns) is not None:
        likely = Form.LISTS
    elif has_ids and columns.item in names:
        likely = Form.RANKED  # without ranks, which `find` asks for
    # A table of classes whose columns have unusual names may have one called `labels`.
    return likely if suggested(names, given) is None else None


def _orders(columns: Columns) -> tuple[str, str]:
    """Return the columns by which items may be ordered, the first first."""
    if "score" in columns.changed() and "rank" not in columns.changed():
        return columns.score, columns.rank
    return columns.rank, columns.score


def _column(role: str, names: Sequence[str], columns: Columns) -> str | None:
    """Return the column of a role; None if there is none."""
    name: str = getattr(columns, role)
    known = (name,) if role in columns.changed() else ALSO.get(role, (name,))
    return next((other for other in known if other in names), None)


def _missing(
    role: str, form: Form, names: Sequence[str], columns: Columns, table: str
) -> ColumnError:
    suggestion = _suggested(form, names, columns.changed())
    option = "--rank NAME or --score NAME" if role == "rank" else f"--{role} NAME"
    return ColumnError(
        "{table} has no column {column!r} for {purpose}. It has: {listed}. {advice}",
        table=table,
        column=getattr(columns, role),
        purpose=PURPOSES[role],
        listed=shown(names),
        columns=tuple(names),
        option=f"--{role}",
        suggestion=suggestion,
        advice=advice(suggestion, option),
    )


def _suggested(form: Form, names: Sequence[str], given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the likely columns of lists or sets by role; None if they cannot be guessed."""
    answers = {Form.RANKED: ("item", "rank", "score"), Form.LISTS: ("set",), Form.TAGS: ("tags",)}
    gold = () if form in {Form.RANKED, Form.SPANS} else ("label",)
    likely, _ = likely_columns((*answers.get(form, ()), "example", "run", *gold), names, given)
    if "rank" in likely:
        likely.pop("score", None)
    needed = {"example", *answers.get(form, ())[:1]}
    if not needed <= likely.keys() or (
        form is Form.RANKED and {"rank", "score"}.isdisjoint(likely)
    ):
        return None
    usual = vars(Columns())
    return {role: name for role, name in likely.items() if name != usual[role]}
