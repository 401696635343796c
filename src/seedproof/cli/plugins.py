"""Verbs of other packages: an entry point of the group `seedproof.verbs` is one verb.

It has the name of the verb, and leads to a function as typer takes it: arguments with annotations,
and a docstring for `--help`. Its module is imported with every command, so heavy imports belong
inside the function.
"""

from importlib.metadata import EntryPoint, entry_points

import typer

from seedproof.errors import first_line

GROUP = "seedproof.verbs"


def add_plugins(app: typer.Typer) -> None:
    """Add the verbs of all installed packages; skip those that cannot be loaded."""
    commands = app.registered_commands
    known = {command.name or getattr(command.callback, "__name__", "") for command in commands}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.name in known:
            _warn(point, "seedproof has a verb of that name")
            continue
        try:
            verb = point.load()
        except Exception as error:  # noqa: BLE001 - another package must not break every command
            _warn(point, f"{type(error).__name__}: {first_line(error)}")
            continue
        app.command(point.name)(verb)


def _warn(point: EntryPoint, reason: str) -> None:
    source = "another package" if point.dist is None else point.dist.name
    typer.echo(f"warning: the verb {point.name!r} of {source} is skipped: {reason}.", err=True)
