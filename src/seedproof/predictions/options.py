"""Options for reading predictions, and the inputs to which each applies."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy.typing as npt

from seedproof.errors import OptionError
from seedproof.records.columns import Columns
from seedproof.typing import Progress

DEFAULT_MEMORY = "2GB"


class LoadOptions(TypedDict, total=False):
    """Options that every verb takes, in Python and on the command line.

    Attributes:
        labels: Gold class of each example, with arrays; the name of their column, with tables. Of
            sets: a list of labels per example, or a 0/1 matrix (examples, labels).
        ids: Id of each example, with arrays; the name of their column, with tables.
        classes: Names of the classes, in the order of their indices.
        runs: Names of the runs, with arrays.
        positive: The class whose probability is given, where there is one probability per example:
            floats (runs, examples), or a single column.
        targets: Right number of each example, with arrays; the name of their column, with tables.
        trials: Runs are independent trials of one model, not models of their own; for numbers and
            texts. A table says so by its column `trial`.
        tolerance: Numbers that differ by no more than this count as equal, such as 0.05 or "5%".
        thresholds: Limits of a decision: two numbers on different sides of one are a flip. Of
            probabilities (runs, examples, labels), and of several columns of probabilities in a
            table: labels from this probability on are in the set.
        lower_is_better: Lower numbers are better, as for losses and errors; higher ones if omitted.
        kind: "rankings" or "sets", where lists of items could be either.
        relevant: Right items of ranked lists. With arrays, a list per example: items, or grades by
            item; None where unknown. With tables, a file or table with the columns example, item
            and optional grade, or a file of qrels.
        keep: Number of items that are kept of each ranked list; 1,000 if omitted.
        depth: Number of the first items that figures of ranked lists such as `ndcg@10` are of; 10
            if omitted.
        texts: Arrays hold free texts, not names of classes; any of the next three says so, too.
        references: Right answer of each example, or a list of them, with arrays of texts; the name
            of their column, with tables.
        equivalent: Names of answers with the same meaning, one for each text, with arrays; the name
            of their column, with tables. If omitted, answers with the same text are the same.
        distinguish: Differences between texts that make them different answers: some of case,
            spaces, punctuation and numbers; none if omitted.
        columns: Names of the columns, with tables.
        clusters: Examples that belong together: one value per example, with arrays; the name of a
            column, with anything else.
        weight: Weights of the examples, for numbers: one value per example, with arrays; the name
            of a column, with anything else. Every mean over examples becomes a weighted one.
        slices: Groups of examples to report on: values per example by name, with arrays; names of
            columns, with anything else.
        arm: Arm of a store or a log; may be omitted if there is only one.
        split: Split of a store; may be omitted if there is only one.
        task: Task of a log; may be omitted if there is only one.
        tool: Tool that wrote a log: inspect, lm_eval or promptfoo; recognized by the content of the
            files if omitted.
        failed_as: Score of samples in a log that failed, such as 0; their examples are left out,
            with a check, if omitted.
        common_examples: Drop and count examples that some run lacks, instead of raising an
            error.
        memory: Limit for reading files, such as "4GB"; larger tables are sorted on disk, and larger
            .npz files are refused.
        skip_damaged: Leave out what is damaged in a store, with a note, instead of raising an
            error: a run that cannot be read or does not fit, a row group of all runs if it is
            damaged in one, and explanations by a method that are damaged in some run.
        progress: Called as the work proceeds.

    Examples:
        >>> import seedproof as sp
        >>> options: sp.LoadOptions = {"labels": [0, 1, 1], "classes": ["no", "yes"]}
        >>> sp.measure([[0, 1, 1], [0, 1, 1]], **options)["accuracy"].value
        1.0
    """

    labels: npt.ArrayLike | str | None
    ids: npt.ArrayLike | str | None
    classes: Sequence[str] | None
    runs: Sequence[str] | None
    positive: str | int | None
    targets: npt.ArrayLike | str | None
    trials: bool
    tolerance: float | str | None
    thresholds: Sequence[float] | float | None
    lower_is_better: bool
    kind: str | None
    relevant: Any
    keep: int | None
    depth: int | None
    texts: bool
    references: Sequence[Any] | str | None
    equivalent: npt.ArrayLike | Sequence[npt.ArrayLike] | str | None
    distinguish: Sequence[str] | None
    columns: Columns | None
    clusters: npt.ArrayLike | str | None
    weight: npt.ArrayLike | str | None
    slices: Mapping[str, npt.ArrayLike] | Sequence[str] | None
    arm: str | None
    split: str | None
    task: str | None
    tool: str | None
    failed_as: float | None
    common_examples: bool
    memory: str | int
    skip_damaged: bool
    progress: Progress | None


# Settings that apply to any input.
SETTINGS = frozenset({"memory", "skip_damaged", "progress"})
# Options for the metrics of numbers.
NUMBERS = frozenset({"tolerance", "thresholds", "lower_is_better"})
# Options for ranked lists and sets.
ITEMS = frozenset({"relevant", "keep", "depth"})
# Options for texts.
TEXTS = frozenset({"references", "equivalent", "distinguish"})
# Columns of further facts about examples, or their values with arrays.
FURTHER = frozenset({"clusters", "slices", "weight"})
TAKEN_BY: dict[str, frozenset[str]] = {
    "array": frozenset(
        {
            "labels",
            "ids",
            "classes",
            "runs",
            "positive",
            "targets",
            "trials",
            "texts",
            *FURTHER,
            *TEXTS,
            *NUMBERS,
            *ITEMS,
            "kind",
        }
    ),
    "npz": frozenset({"classes", "positive", "common_examples", "trials", *FURTHER, *NUMBERS}),
    "table": frozenset(
        {
            "labels",
            "ids",
            "classes",
            "positive",
            "columns",
            "common_examples",
            "targets",
            *FURTHER,
            *TEXTS,
            *NUMBERS,
            *ITEMS,
        }
    ),
    "log": frozenset(
        {"arm", "task", "tool", "failed_as", "columns", "common_examples", *FURTHER, *NUMBERS}
    ),
    "store": frozenset(
        {"arm", "split", "common_examples", "trials", "distinguish", "depth", *FURTHER, *NUMBERS}
    ),
    "predictions": frozenset({"common_examples"}),
    "report": frozenset({"lower_is_better"}),
    "nothing": frozenset(),
}
INPUTS = ("array", "npz", "table", "log", "store")
NAMES = {
    "array": "arrays",
    "npz": ".npz files",
    "table": "tables",
    "log": "logs",
    "store": "stores",
    "predictions": "Predictions",
    "report": "reports",
    "nothing": "no predictions",
}


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""

    def is_default(value: object) -> bool:
        return (
            value is None or value is False or (isinstance(value, Columns) and value == Columns())
        )

    return {name: value for name, value in options.items() if not is_default(value)}


def check_options(kinds: Collection[str], options: Mapping[str, Any]) -> None:
    """Reject options that apply to none of the inputs."""
    for name in given(options):
        if name not in LoadOptions.__annotations__:
            close = get_close_matches(name, LoadOptions.__annotations__, n=1)
            raise OptionError(
                "There is no option `{option}`.{meant}",
                option=name,
                meant=f" Did you mean `{close[0]}`?" if close else "",
                known=tuple(LoadOptions.__annotations__),
            )
        if name in SETTINGS or any(name in TAKEN_BY[kind] for kind in kinds):
            continue
        applies_to = [NAMES[kind] for kind in INPUTS if name in TAKEN_BY[kind]]
        raise OptionError(
            "`{option}` only applies to {applies_to}, not to {inputs}. Remove it.",
            option=name,
            applies_to=" and ".join(applies_to),
            inputs=" and ".join(NAMES[kind] for kind in dict.fromkeys(kinds)),
            kinds=tuple(kinds),
        )
    if isinstance(options.get("classes"), str):
        raise OptionError(
            "`{option}` is a single string. Pass a list of names.",
            option="classes",
            type_name="str",
        )
    columns = options.get("columns")
    if columns is not None and not isinstance(columns, Columns):
        raise OptionError(
            "`{option}` is a {type_name}. Pass sp.Columns(run=…, example=…, …).",
            option="columns",
            type_name=type(columns).__name__,
        )


def options_for(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that apply to one kind of input."""
    return {name: value for name, value in given(options).items() if name in TAKEN_BY[kind]}
