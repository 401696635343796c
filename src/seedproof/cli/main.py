"""`seedproof`: the verbs, and how errors leave the house."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from seedproof.errors import SeedproofError

# In the order in which people come to them. Each is a module of this folder.
VERBS = (
    "demo",
    "plan",
    "doctor",
    "run",
    "status",
    "ingest",
    "measure",
    "compare",
    "gate",
    "blame",
    "report",
)


class _Converter:
    """Conversion of an option's words, which for texts is none: typer would load pydantic for it.

    Args:
        param: The option, as typer made it.
    """

    def __init__(self, param: Any) -> None:  # noqa: ANN401 - of a private class of typer's
        self._kind = param.type_descriptor.annotation
        self._of_typer = param.get_runtime_param

    def __call__(self) -> "_Converter":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """The value itself if its type is right already; what typer makes of it otherwise."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is self._kind:
            return value
        if self._kind == list[str] and all(type(word) is str for word in value):
            return list(value)
        return self._of_typer().coerce(value, param=param, ctx=ctx)


def _with_converters(params: list[Any]) -> list[Any]:
    for param in params:
        of_typer = getattr(param, "get_runtime_param", None)
        # Older versions of typer have none, and need no pydantic.
        if of_typer is not None and not isinstance(of_typer, _Converter):
            param.get_runtime_param = _Converter(param)
    return params


class _Verb(TyperCommand):
    """A verb that loads no pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        return _with_converters(super().get_params(ctx))


class _Verbs(TyperGroup):
    """All verbs."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        return _with_converters(super().get_params(ctx))


@cache
def _app(verb: str | None = None) -> typer.Typer:
    """The command line with one verb; if omitted, with all, and those of other packages."""
    app = typer.Typer(
        name="seedproof",
        cls=_Verbs,
        help="Find out what your model owes to its random seed.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in VERBS if verb is None else (verb,):
        app.command(cls=_Verb)(getattr(import_module(f"seedproof.cli.{name}"), name))
    if verb is None:
        from seedproof.cli.plugins import add_plugins

        add_plugins(app)
    return app


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),  # noqa: FBT001, FBT003
) -> None:
    if version:
        import seedproof

        typer.echo(seedproof.__version__)
        raise typer.Exit


def __getattr__(name: str) -> typer.Typer:
    """The whole command line, as `app`."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _app()


@cache
def _command(verb: str | None) -> Callable[..., object]:
    """What runs a verb: made once, for who calls `main` more than once."""
    return typer.main.get_command(_app(verb))


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 2."""
    verb = next((word for word in sys.argv[1:2] if word in VERBS), None)
    try:
        _command(verb)(prog_name="seedproof")
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
