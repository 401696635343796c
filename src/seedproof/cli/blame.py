"""`seedproof blame`: which randomness is to blame?"""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions


@partial(options.reads_predictions, only=options.OF_STORES)
def blame(
    store: Annotated[str, typer.Argument(help="The store of a study.", show_default=False)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    engine: options.Engine = "serial",
    workers: options.Workers = None,
    address: options.Address = None,
    reading: "LoadOptions",
) -> None:
    """Find which source of randomness causes the flips.

    The runs must share some of their seeds, as those of seedproof run --blame 10 do.
    """
    from rich.console import Console

    from seedproof.api import blame as api
    from seedproof.cli.progress import watching

    with watching(Console(stderr=True)) as reading["progress"]:
        found = api.blame(store, engine=engine, workers=workers, address=address, **reading)
    if as_json:
        sys.stdout.write(found.to_json())
    elif sys.stdout.isatty():
        Console().print(found)
    else:
        typer.echo(str(found))
