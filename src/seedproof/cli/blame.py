"""`seedproof blame`: which randomness is to blame?"""

import sys
from typing import Annotated

import typer

from seedproof.cli import options


def blame(
    store: Annotated[str, typer.Argument(help="The store of a study.", show_default=False)],
    *,
    arm: options.Arm = None,
    split: options.Split = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Find out which source of randomness the flips come with.

    The runs must share some of their seeds, as those of seedproof run --blame 10 do.
    """
    from rich.console import Console

    from seedproof.cli.progress import watching
    from seedproof.report import blame as api

    with watching(Console(stderr=True)) as progress:
        found = api.blame(store, arm=arm, split=split, progress=progress)
    if as_json:
        sys.stdout.write(found.to_json())
    elif sys.stdout.isatty():
        Console().print(found)
    else:
        typer.echo(str(found))
