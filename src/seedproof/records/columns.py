"""Columns of a user's table: their roles, and suggestions where a name is missing."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.records.levels import LEVELS

# Limit of the columns of a table, for each of which DuckDB takes time and memory.
MAX_COLUMNS = 20_000
# Also read as example ids, if there is no column `example`.
ID = "id"
# Roles of a table of texts, after the answers themselves.
TEXT_ROLES = ("equivalent", "reference", "correct")
# Usual names by role, the likeliest first.
SYNONYMS = {
    role: tuple(names.split())
    for role, names in {
        "run": "run run_id run_name seed random_seed trial repeat fold model",
        "example": "example id example_id sample_id sample uid guid qid doc_id item item_id task "
        "task_id question question_id case case_id idx index utterance text_id row user user_id "
        "query query_id document document_id",
        "label": "label labels gold gold_label target truth y_true true y",
        "prediction": "prediction predictions pred predicted predicted_label y_pred yhat answer "
        "output guess",
        "value": "value score reward grade rating points passed success correct",
        "target": "target y_true truth",
        "trial": "trial attempt repeat epoch",
        "judge": "judge grader rater",
        "item": "item item_id product product_id docid doc_id document movie movie_id track asin",
        "rank": "rank position place",
        "score": "score similarity rating prediction",
        "relevance": "relevance relevant grade",
        "set": "set labels predicted_labels label_set predictions prediction",
        "tags": "tags ner_tags predicted_tags predictions prediction",
        "answer": "answer text response completion output generation reply prediction",
        "equivalent": "equivalent equivalence meaning group",
        "reference": "reference references gold expected label",
        "correct": "correct is_correct right",
    }.items()
}
PROBABILITY = re.compile(
    r"^(p|prob|probs|proba|probability|softmax|score|conf)[_ .:-]?$", re.IGNORECASE
)
# Names of columns that are one run each, before and after their number.
RUN_LIKE = re.compile(
    r"^((pred|preds|prediction|predictions|answer|output)[_ .-]?)?"
    r"(seed|run|model|fold|trial|rep|repeat|replicate|init|s|r|m)?[_ .-]?$",
    re.IGNORECASE,
)
ANSWER_LIKE = re.compile(
    r"^([_ .-]?(pred|preds|prediction|predictions|answer|output|class))?$", re.IGNORECASE
)
# A name with a number at its end, or a number between separators: seed_3, run-3, seed3_pred.
NUMBERED = re.compile(r"^(?P<prefix>.*?)(?P<number>\d+)(?P<suffix>\D*)$")


@dataclass(frozen=True)
class Columns:
    """Names of the columns in a user's table.

    Args:
        run: Column with the run of each row.
        example: Column of the example ids; `id` is read as well, if there is no `example`.
        label: Column of the gold classes, or of the right labels of sets; it may be absent.
        prediction: Column of the predicted classes.
        probs: Prefix of the probability columns; the class follows.
        wide: With one column per run: the prefix of their names, or all names with commas between.
            If omitted, columns such as seed_0, seed_1, … are recognized.
        positive: The class whose probability the predictions are, if they are not classes.
        value: Column of a number per row, such as a score, in place of predicted classes. With one
            column of numbers per run: the prefix of their names, or all names with commas between.
        target: Column of the right numbers; it may be absent.
        trial: Column with the trial of each row, if one model was asked several times.
        judge: Column with the judge of each row, if each answer was scored several times.
        item: Column with an item of a ranked list per row; the example is a user or a query.
        rank: Column with the rank of the item, the best first.
        score: Column with the score of the item, the highest first, if there are no ranks.
        relevance: Column with the grade of the item, above 0 if it is right; it may be absent.
        set: Column with a set of labels per row: a list, or names with | between.
        tags: Column with the tags of all tokens per row, such as B-PER and O, read as spans.
        answer: Column of the answers as free texts, in place of predicted classes. With one column
            of answers per run: the prefix of their names, or all names with commas between.
        equivalent: Column that names answers of an example with the same meaning in the same way;
            if absent, answers with the same text are the same.
        reference: Column of the right answer, or of a list of them; it may be absent.
        correct: Column that says whether an answer is right, in place of references.

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
    value: str = "value"
    target: str = "target"
    trial: str = "trial"
    judge: str = "judge"
    item: str = "item"
    rank: str = "rank"
    score: str = "score"
    relevance: str = "relevance"
    set: str = "set"
    tags: str = "tags"
    answer: str = "answer"
    equivalent: str = "equivalent"
    reference: str = "reference"
    correct: str = "correct"

    def have_texts(self, names: Sequence[str]) -> bool:
        """Return whether a table with these columns has free texts in place of classes."""
        if "answer" in self.changed():
            return True
        others = (self.prediction, self.value, self.label)
        is_other = any(name in others or name.startswith(self.probs) for name in names)
        return self.answer in names and not is_other

    def have_numbers(self, names: Sequence[str]) -> bool:
        """Return whether a table with these columns has numbers in place of classes."""
        if "value" in self.changed():
            return True
        if self.prediction in names or any(name.startswith(self.probs) for name in names):
            return False
        has_targets = self.target in names and self.label not in names
        return self.value in names or (has_targets and len(self.wide_numbers(names)) > 1)

    def wide_numbers(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of numbers that are one run each."""
        if self.value in names:
            return ()
        prefix = self.value if "value" in self.changed() else self.wide
        others = [name for name in names if name not in {self.example, ID, self.target}]
        return matching(others, prefix) if prefix else wide_family(others)

    def wide_texts(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of answers that are one run each."""
        if self.answer in names:
            return ()
        others = [name for name in names if name not in {self.example, ID, self.reference}]
        return matching(others, self.answer)

    def changed(self) -> dict[str, str]:
        """Return the names that are not the default ones."""
        usual = vars(Columns())
        return {role: name for role, name in vars(self).items() if name != usual[role]}


def check_names(names: Sequence[str], table: str) -> None:
    """Raise an error if there are too many columns, or two of the same name."""
    if len(names) > MAX_COLUMNS:
        raise ColumnError(
            "{table} has {n_columns:,} columns; at most {at_most:,} are read. Keep those with ids, "
            "labels and predictions, or write one row per run and example.",
            table=table,
            n_columns=len(names),
            at_most=MAX_COLUMNS,
        )
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ColumnError(
                "{table} has two columns named {column!r} (case is ignored). Rename one.",
                table=table,
                column=name,
            )
        seen.add(name.lower())


def matching(names: Sequence[str], given: str) -> tuple[str, ...]:
    """Return the columns that begin with a prefix, or that a list with commas names."""
    if "," in given:
        listed = {name.strip() for name in given.split(",")}
        return tuple(name for name in names if name in listed)
    return tuple(name for name in names if name.startswith(given) and name != given)


def are_several(wide: Sequence[str], given: str) -> bool:
    """Return whether there are at least two columns, and all that a list names."""
    return len(wide) > given.count(",") and len(wide) > 1


def unusable_column(column: str, known: Sequence[str], use: str) -> ColumnError:
    """Return the error for a further column that does not exist, or in which runs differ."""
    near = get_close_matches(column, known, n=1)
    return ColumnError(
        "Column {column!r} cannot be used for {use}.{meant} Such a column must have the same value "
        "in all runs of an example. Available: {listed}.",
        column=column,
        use=use,
        meant=f" Did you mean {near[0]!r}?" if near else "",
        nearest=near[0] if near else None,
        listed=shown(known) or "none",
        known=tuple(known),
    )


def shown(names: Sequence[str]) -> str:
    """Return the first column names of a table, and their number."""
    more = f", … ({len(names)} in all)" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more


def wide_family(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are one run each: at least two that differ only in their number.

    Their names must show that they are runs, such as seed_0 or run3_pred. Empty if there is none
    or more than one such family, or another column that looks like predictions or runs.

    >>> wide_family(["text", "seed_0", "seed_1", "seed_10"])
    ('seed_0', 'seed_1', 'seed_10')
    >>> wide_family(["text", "annotator_1", "annotator_2"])
    ()
    """
    known = {*SYNONYMS["prediction"], *SYNONYMS["run"]}
    if any(name.lower() in known for name in names):
        return ()
    families = [
        family
        for (prefix, suffix), family in _families(names).items()
        if RUN_LIKE.match(prefix) and ANSWER_LIKE.match(suffix)
    ]
    return tuple(families[0]) if len(families) == 1 else ()


def _families(names: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Return the columns that differ only in their number, by the text before and after it."""
    families: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if match := NUMBERED.match(name):
            families.setdefault((match["prefix"], match["suffix"]), []).append(name)
    return {
        (prefix, suffix): family
        for (prefix, suffix), family in families.items()
        if len(family) > 1 and not PROBABILITY.match(prefix)
    }


def suggested(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the likely names by role, except default ones; None if they cannot be guessed."""
    if not {"answer", *TEXT_ROLES}.isdisjoint(given):
        likely = _suggested_repeats(
            ("example", "answer", "trial", "run", *TEXT_ROLES), names, given
        )
    else:
        are_numbers = not {"value", "target", "trial", "judge"}.isdisjoint(given)
        of_classes = None if are_numbers else _suggested_classes(names, given)
        likely = of_classes or _suggested_repeats(
            ("example", "value", "trial", "run", "judge", "target"), names, given
        )
    if likely is None:
        return None
    usual = vars(Columns())
    return {role: name for role, name in likely.items() if name != usual[role]}


def likely_columns(
    roles: Sequence[str], names: Sequence[str], given: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the likely column of each role, each column once, and the other columns."""
    free, likely = list(names), {}
    for role in roles:
        name = _likely_column(role, given.get(role), free)
        if name is not None:
            likely[role] = name
            free.remove(name)
    return likely, free


def _suggested_repeats(
    roles: Sequence[str], names: Sequence[str], given: Mapping[str, str]
) -> dict[str, str] | None:
    """Return likely columns of numbers or texts: ids, answers, and a level of repetition."""
    likely, _ = likely_columns(roles, names, given)
    if "trial" in likely and "run" not in given:
        likely.pop("run", None)  # such as the name of the only model
    is_complete = {*roles[:2]} <= likely.keys() and not likely.keys().isdisjoint(LEVELS)
    return likely if is_complete else None


def _suggested_classes(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str] | None:
    likely, free = likely_columns(("example", "run", "label", "prediction"), names, given)
    if "example" not in likely:
        return None
    prefix = _likely_prefix(free, given.get("probs", "p_"))
    if prefix is not None:
        likely.pop("prediction", None)
        likely["probs"] = prefix
    elif "prediction" not in likely:
        families = list(_families(free).items())
        if len(families) != 1 or "run" in likely:
            return None
        (prefix, _), family = families[0]
        is_exact = [name for name in names if name.startswith(prefix)] == family
        likely["wide"] = prefix if is_exact and prefix else ",".join(family)
    return likely


def advice(suggestion: Mapping[str, str] | None, options: str) -> Message:
    """Return advice on a wrong column name: the call that works, if the table shows it."""
    if suggestion is None:
        return Message(
            "name-columns",
            "Name yours with {options}, or in Python with columns=sp.Columns(…).",
            options=options,
        )
    if not suggestion:
        return Message("columns-usual", "It has the usual names: omit `columns`.")
    names = ", ".join(f"{role}={name!r}" for role, name in suggestion.items())
    return Message("columns-suggested", "Try columns=sp.Columns({names}).", names=names)


def measure_as(role: str) -> dict[str, str | Message]:
    """Return the fields of an error whose predictions belong into another role, with advice."""
    text = "Name their column with --{role}, or columns=sp.Columns({role}=…) in Python."
    return {"role": role, "advice": Message("measure-as", text, role=role)}


def _likely_column(role: str, wrong: str | None, free: Sequence[str]) -> str | None:
    by_lower = {name.lower().replace(" ", "_").replace("-", "_"): name for name in free}
    if wrong is not None and wrong in free:
        return wrong
    first = role if wrong is None else wrong.lower()
    for word in (first, *SYNONYMS[role]):
        if word in by_lower:
            return by_lower[word]
    close = get_close_matches(first, list(by_lower), n=1, cutoff=0.75)
    return by_lower[close[0]] if close else None


def _likely_prefix(free: Sequence[str], usual: str) -> str | None:
    if sum(name.startswith(usual) and name != usual for name in free) > 1:
        return usual
    matches = [re.match(r"^(.*?[_ .:-])[^_ .:-]+$", name) for name in free]
    counts = Counter(m[1] for m in matches if m and PROBABILITY.match(m[1]))
    several = [prefix for prefix, count in counts.items() if count > 1]
    return several[0] if len(several) == 1 else None
