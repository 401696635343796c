"""`seedproof`: the verbs, and how errors leave the house."""

import sys
from collections.abc import Callable
from functools import cache

import typer

from seedproof.cli.blame import blame
from seedproof.cli.compare import compare
from seedproof.cli.demo import demo
from seedproof.cli.doctor import doctor
from seedproof.cli.gate import gate
from seedproof.cli.ingest import ingest
from seedproof.cli.measure import measure
from seedproof.cli.plan import plan
from seedproof.cli.plugins import add_plugins
from seedproof.cli.report import report
from seedproof.cli.run import run
from seedproof.cli.status import status
from seedproof.errors import SeedproofError

app = typer.Typer(
    name="seedproof",
    help="Find out what your model owes to its random seed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),  # noqa: FBT001, FBT003
) -> None:
    if version:
        import seedproof

        typer.echo(seedproof.__version__)
        raise typer.Exit


# In the order in which people come to them.
for verb in (
    demo,
    plan,
    doctor,
    run,
    status,
    ingest,
    measure,
    compare,
    gate,
    blame,
    report,
):
    app.command()(verb)
add_plugins(app)


@cache
def _command() -> Callable[..., object]:
    """All verbs with their options: made once, for who calls `main` more than once."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 2."""
    try:
        _command()(prog_name="seedproof")
    except SeedproofError as error:
        from seedproof.messages import Message, printable

        suggestion = error.fields.get("suggestion")
        if isinstance(suggestion, dict):
            from seedproof.cli.options import command_with

            command = command_with(suggestion)
            error = error.replace(advice=Message("try", "Try: {command}", command=command))
        typer.echo(f"error {error.code}: {printable(str(error))}", err=True)
        sys.exit(2)
    except OSError as error:
        # A full disk, a lost network, a folder that may not be read: nobody's bug.
        typer.echo(f"error {SeedproofError.code}: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
