"""Options that several verbs share: what the targets are, and what their columns are called."""

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions
    from seedproof.records.reader import Store
    from seedproof.report.report import Report

Targets: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET...",
        help="A table (CSV, TSV, Parquet, JSONL, .npz), several with one run each, a folder or "
        "pattern of them, or a store.",
        show_default=False,
    ),
]
Training: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A script, or a function that takes the run: package.module:train.",
        show_default=False,
    ),
]
Arguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- ARGUMENT...]",
        help="The script's own; {seed}, {run} and {arm} are filled in.",
        show_default=False,
    ),
]
Show: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A further column, such as text, to show for the least stable examples."),
]
Arm: TypeAlias = Annotated[str | None, typer.Option(help="Arm of a store.")]
Split: TypeAlias = Annotated[str | None, typer.Option(help="Split of a store.")]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Only these metrics, such as flip_rate,accuracy, with flips and entropies."),
]
Engine: TypeAlias = Annotated[
    str, typer.Option(help="Where a store is measured: serial, processes or ray.")
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(help="How many shards at a time, with processes or ray.")
]
Address: TypeAlias = Annotated[
    str | None, typer.Option(help="An existing Ray cluster, such as auto.")
]
# Options for reading predictions, the same in every verb: name, type, default, option.
_READING: tuple[tuple[str, object, object, typer.models.OptionInfo], ...] = (
    ("run", str, "run", typer.Option(help="Column that says which training a row is from.")),
    ("example", str, "example", typer.Option("--example", "--ids", help="Column of example ids.")),
    ("label", str, "label", typer.Option("--label", "--labels", help="Column of gold classes.")),
    ("prediction", str, "prediction", typer.Option(help="Column of predicted classes.")),
    ("probs", str, "p_", typer.Option(help="Prefix of probability columns.")),
    ("wide", str, "", typer.Option(help="Prefix of the columns, if each is one run.")),
    (
        "positive",
        str | None,
        None,
        typer.Option(help="Class whose probability is given, if there is one per example."),
    ),
    ("classes", str | None, None, typer.Option(help="Names of the classes: no,yes for 0 and 1.")),
    (
        "clusters",
        str | None,
        None,
        typer.Option("--cluster", "--clusters", help="Column of examples that belong together."),
    ),
    (
        "slices",
        list[str] | None,
        None,
        typer.Option("--slice", "--slices", help="Column of groups to report on (--old, --new)."),
    ),
    ("arm", str | None, None, typer.Option(help="Arm of a store.")),
    ("split", str | None, None, typer.Option(help="Split of a store.")),
    (
        "common_examples",
        bool,
        False,
        typer.Option(
            "--common-examples", help="Drop examples that some run lacks, and count them."
        ),
    ),
    ("memory", str, "2GB", typer.Option(help="Limit for reading tables.")),
    (
        "skip_damaged",
        bool,
        False,
        typer.Option("--skip-damaged", help="Leave out what is damaged in a store, and say so."),
    ),
)
_COLUMNS = ("run", "example", "label", "prediction", "probs", "wide")
# Those that name or limit what is read of tables, and of stores.
OF_TABLES = (*_COLUMNS, "positive", "memory")
OF_STORES = ("arm", "split", "common_examples", "skip_damaged")


def reads_predictions(
    verb: Callable[..., None], *, only: Collection[str] | None = None
) -> Callable[..., None]:
    """Give a verb the options for reading predictions, as its argument `reading`."""
    own = [one for one in inspect.signature(verb).parameters.values() if one.name != "reading"]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, option],
        )
        for name, kind, default, option in _READING
        if only is None or name in only
    ]
    usual = {name: default for name, _, default, _ in _READING}

    @functools.wraps(verb)
    def call(*positional: object, **given: Any) -> None:  # noqa: ANN401 - whatever typer passes
        read = usual | {parameter.name: given.pop(parameter.name) for parameter in shared}
        verb(*positional, **given, reading=_reading(read))

    signature = inspect.Signature([*own, *shared])
    call.__signature__ = signature  # type: ignore[attr-defined] # what typer reads
    call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    return call


def _reading(given: dict[str, Any]) -> "LoadOptions":
    """The options as Python takes them."""
    from seedproof.records.columns import Columns

    columns = Columns(**{name: given.pop(name) for name in _COLUMNS})
    given["classes"] = listed([given["classes"]] if given["classes"] else None)
    given["slices"] = listed(given["slices"])
    given["positive"] = given["positive"] or None
    return {"columns": columns, **given}  # type: ignore[typeddict-item] # by the table above


def listed(values: Sequence[str] | None) -> list[str] | None:
    """Names that are given one by one, or with commas between them."""
    return None if not values else [name.strip() for one in values for name in one.split(",")]


def measured(
    targets: "Sequence[str] | Store",
    reading: "LoadOptions",
    **options: Any,  # noqa: ANN401 - passed on
) -> "Report":
    """Measure the targets, with a progress bar on a terminal."""
    from rich.console import Console

    from seedproof.api.measure import measure
    from seedproof.cli.progress import watching

    with watching(Console(stderr=True)) as reading["progress"]:
        return measure(targets, **options, **reading)


def store_of(targets: Sequence[str], *, skip_damaged: bool = False) -> "Store | None":
    """Open the store that the targets are; None if they are anything else."""
    from seedproof.predictions.targets import is_store
    from seedproof.records.location import Location
    from seedproof.records.reader import Store

    if len(targets) != 1 or not is_store(targets[0]):
        return None
    return Store(Location.of(targets[0]), skip_damaged=skip_damaged)


def command_with(suggestion: Mapping[str, str]) -> str:
    """The command as it was typed, with other names of columns."""
    words, is_value = [], False
    for word in sys.argv[1:]:
        option, sign, _ = word.partition("=")
        is_role = option.removeprefix("--") in {*_COLUMNS, "ids", "labels"} and "--" in option
        if not is_role and not is_value:
            words.append(word)
        is_value = is_role and not sign
    roles = [text for role, name in suggestion.items() for text in (f"--{role}", name)]
    return shlex.join(["seedproof", *words, *roles])


def command_line() -> str:
    """The command as it was typed, for the page's box on how it was made."""
    words = shlex.join(["seedproof", *sys.argv[1:]])
    # An argument may be the name of a file that is not UTF-8.
    return words.encode(errors="backslashreplace").decode()
