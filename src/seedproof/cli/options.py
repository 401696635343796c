"""Options that several verbs share, and what verbs do with results."""

import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.logs.hydra import Sweep
    from seedproof.logs.samples import Log
    from seedproof.records.reader import Store
    from seedproof.report.report import Report
    from seedproof.report.result import Result

Targets: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET",
        help="A table (CSV, TSV, Parquet, JSONL, .npz), several tables with one run each, a "
        "folder or glob pattern of tables, a store, a log of an evaluation tool, or runs of "
        "MLflow (mlflow:EXPERIMENT).",
        show_default=False,
    ),
]
Training: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A script, or a function that takes a run object: package.module:train.",
        show_default=False,
    ),
]
Arguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- ARGUMENT",
        help="Arguments passed to the script. {seed}, {run} and {arm} are filled in.",
        show_default=False,
    ),
]
StudyStore: TypeAlias = Annotated[
    str, typer.Argument(metavar="STORE", help="The store of a study.", show_default=False)
]
Show: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Also show this column, such as text, for the least stable examples."),
]
Title: TypeAlias = Annotated[
    str | None, typer.Option(help="Title of the page, such as the name of the model.")
]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Compute only these metrics, such as flip_rate,accuracy."),
]
Lower: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC",
        help="Of one number per run: this metric is better when lower.  [default: names such as "
        "loss, error or cost]",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON and nothing else.")
]

_CLASS_COLUMNS = ("run", "example", "label", "prediction", "probs", "wide")
_NUMBER_COLUMNS = ("value", "target", "trial", "judge")
_ITEM_COLUMNS = ("item", "rank", "score", "relevance", "set", "tags")
_TEXT_COLUMNS = ("answer", "equivalent", "reference", "correct")
_COLUMNS = (*_CLASS_COLUMNS, *_NUMBER_COLUMNS, *_ITEM_COLUMNS, *_TEXT_COLUMNS)
TABLES = (*_COLUMNS, "positive", "memory")
STORES = ("arm", "split", "common_examples", "skip_damaged")
LOGS = ("tool", "task", "failed_as")
READING = (
    *(*_CLASS_COLUMNS, "positive", "classes", "clusters", "slices", *STORES, *LOGS, "memory"),
)
NUMBERS = (*_NUMBER_COLUMNS, "tolerance", "thresholds", "lower_is_better", "weight")
ITEMS = (*_ITEM_COLUMNS, "relevant", "keep", "depth")
TEXTS = (*_TEXT_COLUMNS, "distinguish")
# Options of the kinds of answers that are not classes.
OTHER_KINDS = (*NUMBERS, *ITEMS, *TEXTS)
ENGINE = ("engine", "workers", "address")
# Headings of the help; all other options come first.
_HEADINGS = {
    "Tables": (*(*_CLASS_COLUMNS, "positive", "classes", "clusters", "slices", "common_examples"),),
    "Numbers": NUMBERS,
    "Ranked lists and sets": ITEMS,
    "Texts": TEXTS,
    "Stores": STORES,
    "Logs of evaluation tools": LOGS,
    "Memory and engines": ("memory", *ENGINE),
}
# Options that have the same name and meaning in every verb: type, default, help, names.
_SHARED: dict[str, tuple[Any, ...]] = {
    "run": (str, "run", "Column that names the run."),
    "example": (str, "example", "Column with the example ids.", "--example", "--ids"),
    "label": (str, "label", "Column with the correct classes.", "--label", "--labels"),
    "prediction": (str, "prediction", "Column with the predicted classes."),
    "probs": (str, "p_", "Prefix of the columns with probabilities."),
    "wide": (str, "", "Prefix of the run columns, if there is one column per run."),
    "positive": (
        str | None,
        None,
        "Positive class, if there is a single probability column.",
    ),
    "value": (str, "value", "Column of scores or other numbers, or the prefix of one per run."),
    "target": (str, "target", "Column with the correct numbers.", "--target", "--targets"),
    "trial": (str, "trial", "Column that names the trial, if one model was asked repeatedly."),
    "judge": (str, "judge", "Column that names the judge, if each answer was scored repeatedly."),
    "answer": (str, "answer", "Column of answers in free text, or the prefix of one per run."),
    "equivalent": (
        *(str, "equivalent", "Column with the same name for answers of the same meaning."),
    ),
    "reference": (
        *(str, "reference", "Column with the right answer, or a list of them."),
        *("--reference", "--references"),
    ),
    "correct": (str, "correct", "Column that says whether an answer is right."),
    "distinguish": (
        list[str] | None,
        None,
        "Differences between texts that count: case, spaces, punctuation, numbers.",
    ),
    "tolerance": (
        str | None,
        None,
        "Largest difference of two numbers that does not count, such as 0.05 or 5%.",
    ),
    "thresholds": (
        *(
            list[float] | None,
            None,
            "Count two numbers on different sides of this limit as a flip.",
        ),
        *("--threshold", "--thresholds"),
    ),
    "lower_is_better": (bool, False, "Lower numbers are better, as for losses and errors."),
    "item": (str, "item", "Column with an item of a ranked list, such as a product or a page."),
    "rank": (str, "rank", "Column with the rank of the item, the best first."),
    "score": (str, "score", "Column with the score of the item, the highest first."),
    "relevance": (str, "relevance", "Column with the grade of the item, above 0 if it is right."),
    "set": (str, "set", "Column with a set of labels: a list, or names with | between."),
    "tags": (str, "tags", "Column with the tags of all tokens, such as B-PER and O."),
    "relevant": (
        str | None,
        None,
        "Table with the right items: example, item and optional grade, or TREC qrels.",
    ),
    "keep": (int | None, None, "Number of items kept of each ranked list.  [default: 1000]"),
    "depth": (
        int | None,
        None,
        "Number of first items that figures of lists such as ndcg@10 are of.  [default: 10]",
    ),
    "classes": (str | None, None, "Names of the classes, such as no,yes for 0 and 1."),
    "clusters": (
        *(str | None, None, "Column that identifies groups of related examples."),
        *("--cluster", "--clusters"),
    ),
    "weight": (
        *(str | None, None, "Column with the weights of the examples, for numbers."),
        *("--weight", "--weights"),
    ),
    "slices": (
        *(list[str] | None, None, "Also report results for each value of this column."),
        *("--slice", "--slices"),
    ),
    "arm": (str | None, None, "Arm to read from the store, or model of a log."),
    "split": (str | None, None, "Split to read from the store."),
    "tool": (
        *(str | None, None, "Tool that wrote a log: inspect, lm_eval, promptfoo."),
        "--from",
    ),
    "task": (str | None, None, "Task of a log."),
    "failed_as": (float | None, None, "Score of failed samples in a log, such as 0."),
    "common_examples": (
        bool,
        False,
        "Drop examples that are missing from some runs, and report how many.",
    ),
    "skip_damaged": (bool, False, "Skip damaged parts of a store, and report them."),
    "memory": (str, "2GB", "Memory limit for reading files."),
    "engine": (str, "serial", "Where to compute: serial, processes or ray."),
    "workers": (int | None, None, "Number of parallel workers (processes, ray)."),
    "address": (str | None, None, "Address of a Ray cluster, such as auto."),
}


def add_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb shared options, which it gets as the keywords of its argument `reading`."""
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[
                kind,
                typer.Option(
                    *_flags(name, kind, flags), help=text, rich_help_panel=_heading_of(name)
                ),
            ],
        )
        for name, (kind, default, text, *flags) in _SHARED.items()
        if name in names
    ]

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb).parameters.values()

        @functools.wraps(verb)
        def call(*positional: object, **given: Any) -> None:  # noqa: ANN401 - whatever typer passes
            reading = {name: _SHARED[name][1] for name in (*READING, *OTHER_KINDS)}
            reading |= {parameter.name: given.pop(parameter.name) for parameter in shared}
            verb(*positional, **given, reading=_as_in_python(reading))

        parameters = [*(parameter for parameter in own if parameter.name != "reading"), *shared]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # for typer
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def _heading_of(name: str) -> str | None:
    return next((heading for heading, names in _HEADINGS.items() if name in names), None)


def _flags(name: str, kind: object, flags: Sequence[str]) -> Sequence[str]:
    """Return the names of an option; typer would add --no-… to a flag without a name."""
    return flags or ([f"--{name.replace('_', '-')}"] if kind is bool else [])


def _as_in_python(given: dict[str, Any]) -> dict[str, Any]:
    from seedproof.records.columns import Columns

    columns = Columns(**{name: given.pop(name) for name in _COLUMNS})
    given["classes"] = split_names([given["classes"]] if given["classes"] else None)
    given["slices"] = split_names(given["slices"])
    given["distinguish"] = split_names(given["distinguish"])
    given["positive"] = given["positive"] or None
    return {"columns": columns, **given}


def split_names(values: Sequence[str] | None) -> list[str] | None:
    """Return names that were given one at a time or separated by commas."""
    return [name.strip() for value in values for name in value.split(",")] if values else None


def measured(
    targets: "Sequence[str] | Store",
    reading: dict[str, Any],
    **options: Any,  # noqa: ANN401 - passed on
) -> "Report":
    """Measure the targets, with a progress bar on a terminal."""
    from seedproof.api.measure import measure
    from seedproof.cli.progress import progress_bar

    with progress_bar() as reading["progress"]:
        return measure(targets, **options, **reading)


def print_result(result: "Result", *, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - results differ in what `text` takes
    """Print a result: as JSON, in color on a terminal, or as plain text; options are `text`'s."""
    if as_json:
        sys.stdout.write(result.to_json())
    elif sys.stdout.isatty():
        result.show(**options)
    else:
        typer.echo(result.text(**options))


def print_and_save(
    result: "Result",
    out: str | os.PathLike[str] | None,
    *,
    as_json: bool,
    show: Sequence[str],
    title: str | None,
) -> None:
    """Print a result, and write its files if a folder is given."""
    if out is not None:
        result.save(out, show=show, title=title, command=command_line())
    print_result(result, as_json=as_json, show=show)
    if out is not None and not as_json:
        typer.echo(
            f"Wrote {', '.join(result.file_names)} to {os.fspath(out).rstrip('/')}/", err=True
        )


def for_runs(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for reading single numbers per run, which need no engine."""
    return {name: value for name, value in reading.items() if name not in ENGINE}


def refuse(given: Mapping[str, object], applies_to: str = "predictions") -> None:
    """Refuse options that do not apply to the input."""
    for option, value in given.items():
        if value:
            raise OptionError(
                "{option} applies to {applies_to}. Remove it.",
                option=option,
                applies_to=applies_to,
            )


def store_of(targets: Sequence[str], *, skip_damaged: bool = False) -> "Store | None":
    """Open the target if it is a single store; otherwise return None."""
    from seedproof.predictions.targets import is_store
    from seedproof.records.location import Location
    from seedproof.records.reader import Store

    if len(targets) != 1 or not is_store(targets[0]):
        return None
    return Store(Location.of(targets[0]), skip_damaged=skip_damaged)


def several_arms(
    targets: "Sequence[str] | Store", reading: Mapping[str, Any]
) -> "Store | Log | Sweep | None":
    """Return a store, log or sweep with several arms or tasks; None otherwise."""
    from seedproof.predictions.arms import log_among
    from seedproof.records.reader import Store

    if isinstance(targets, Store):
        return targets if len(targets.arms()) > 1 else None
    log = log_among(targets, reading["tool"])
    if log is None:
        return None
    chosen = log.only(arm=reading["arm"], task=reading["task"])
    return chosen if len(chosen.groups()) > 1 else None


def as_typed(option: str, flags: Mapping[str, str]) -> str:
    """Return an option of Python as it is typed: `--slice` for `slices`."""
    if option == "columns":
        words = (word.partition("=")[0] for word in sys.argv[1:])
        return ", ".join(word for word in words if _is_column(word)) or option
    return flags.get(option, option)


def _is_column(word: str) -> bool:
    return word.startswith("--") and word.removeprefix("--") in {*_COLUMNS, "ids", "labels"}


def command_with(suggestion: Mapping[str, str]) -> str:
    """Return the command as it was typed, with other names of columns or a further option."""
    names_columns = not suggestion or any(_is_column(f"--{role}") for role in suggestion)
    words, is_value = [], False
    for word in sys.argv[1:]:
        option, sign, _ = word.partition("=")
        is_replaced = names_columns and _is_column(option)
        if not is_replaced and not is_value:
            words.append(word)
        is_value = is_replaced and not sign
    roles = [text for role, name in suggestion.items() for text in (f"--{role}", name)]
    return shlex.join(["seedproof", *words, *roles])


def command_as(role: str, *, has_labels: bool = False) -> str | None:
    """Return the command as it was typed, with predictions and labels in other roles.

    Columns with one run each, which are recognized by their names, are listed. None if these
    would be sets or tags, of which a table has one row per run and example.
    """
    gold = {"value": "target", "answer": "reference"}.get(role, "label")
    roles = {"--prediction": role, "--wide": role, "--label": gold, "--labels": gold}
    words, named, typed = [], set(), sys.argv[1:]
    for word in typed:
        option, sign, value = word.partition("=")
        if option in roles:
            named.add(roles[option])
        words.append(f"--{roles[option]}{sign}{value}" if option in roles else word)
    wide = () if role in named else _wide_columns()
    if role in ("set", "tags") and (wide or "--wide" in {word.partition("=")[0] for word in typed}):
        return None
    if role not in named:
        words += [f"--{role}", ",".join(wide) or _SHARED["prediction"][1]]
    if has_labels and gold not in {*named, "label"}:
        words += [f"--{gold}", _SHARED["label"][1]]
    return shlex.join(["seedproof", *words])


def _wide_columns() -> tuple[str, ...]:
    """Return the columns with one run each of the first table that was typed, if it has such."""
    from seedproof.records.columns import wide_family
    from seedproof.records.number_tables import column_names

    tables = (Path(word) for word in sys.argv[2:] if not word.startswith("-"))
    table = next((path for path in tables if path.is_file()), None)
    return () if table is None else wide_family(column_names(table))


def command_line() -> str:
    """Return the command as it was typed, for the page; without secrets."""
    from seedproof.training.masking import mask_arguments

    words = shlex.join(["seedproof", *mask_arguments(sys.argv[1:]).arguments])
    # An argument may be the name of a file that is not UTF-8.
    return words.encode(errors="backslashreplace").decode()
