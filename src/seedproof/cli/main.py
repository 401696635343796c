"""`seedproof`: the verbs, and how errors are reported."""

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from seedproof.errors import OptionError, SeedproofError
from seedproof.exit_codes import ExitCode
from seedproof.messages import PROBLEMS, problem_of
from seedproof.terminal import safe_output

# Each verb is a module of this folder; its example ends its help.
VERBS = {
    "demo": "seedproof demo",
    "plan": "seedproof plan --pilot runs --detect 0.005",
    "doctor": "seedproof doctor train.py --steps 20",
    "run": "seedproof run train.py --seeds 10 --store runs",
    "status": "seedproof status runs",
    "ingest": "seedproof ingest predictions.csv --out runs",
    "measure": "seedproof measure predictions.csv --out report",
    "compare": "seedproof compare runs --baseline none --out comparison",
    "gate": "seedproof gate runs --max flip_rate=0.05",
    "decide": "seedproof decide runs idea --metric accuracy",
    "blame": "seedproof blame runs",
    "report": "seedproof report runs --figure flip_matrix --out flips.pdf",
}
PLACEHOLDERS = {int: "N", float: "NUMBER", Path: "PATH"}


class _Converter:
    """Converter of an option's value that leaves texts alone: typer would load pydantic."""

    def __init__(self, param: Any) -> None:  # noqa: ANN401 - of a private class of typer's
        self.kind = param.type_descriptor.annotation
        self._of_typer = param.get_runtime_param

    def __call__(self) -> "_Converter":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Return a value of the right type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is self.kind:
            return value
        if self.kind == list[str] and all(type(word) is str for word in value):
            return list(value)
        return self._of_typer().coerce(value, param=param, ctx=ctx)


def _adapted(params: list[Any]) -> list[Any]:
    for param in params:
        of_typer = getattr(param, "get_runtime_param", None)
        # Older versions of typer have none, and need no pydantic.
        if of_typer is not None and not isinstance(of_typer, _Converter):
            param.get_runtime_param = converter = _Converter(param)
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: ""  # noqa: ARG005 - as typer has it
            elif param.metavar is None and not param.is_flag:
                param.metavar = PLACEHOLDERS.get(converter.kind, "TEXT")
    return params


class _Verb(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        return _adapted(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer has it
        """Write the options under their headings: those of the verb itself, then shared ones."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            heading = getattr(param, "rich_help_panel", None) or "Options"
            if param.param_type_name == "argument":
                heading = "Arguments"
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _Verbs(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        return _adapted(super().get_params(ctx))


@cache
def _app(verb: str | None = None) -> typer.Typer:
    """Return the command line with one verb; if omitted, with all and those of other packages."""
    app = typer.Typer(
        name="seedproof",
        cls=_Verbs,
        help="Measure how much of your model's output is just the luck of the seed.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in VERBS if verb is None else (verb,):
        function = getattr(import_module(f"seedproof.cli.{name}"), name)
        app.command(cls=_Verb, epilog=f"Example: {VERBS[name]}")(function)
    if verb is None:
        from seedproof.cli.plugins import add_plugins

        add_plugins(app)
    return app


def _root(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        import seedproof

        typer.echo(seedproof.__version__)
        raise typer.Exit


def __getattr__(name: str) -> typer.Typer:
    """Return the whole command line, as `app`."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _app()


@cache
def _command(verb: str | None) -> Any:  # noqa: ANN401 - of typer's own copy of click
    return typer.main.get_command(_app(verb))


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 2.

    With --json, standard output is one document, also after an error.
    """
    with safe_output(), _termination():
        try:
            _main()
        except Exception as error:  # noqa: BLE001 - printed while control characters are escaped
            sys.excepthook(*sys.exc_info())
            _exit(ExitCode.INTERNAL_ERROR, None, f"{type(error).__name__}: {error}")


@contextmanager
def _termination() -> Iterator[None]:
    """Let SIGTERM end the command like Ctrl-C: drafts and temporary folders are removed."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _main() -> None:
    verb = next((word for word in sys.argv[1:2] if word in VERBS), None)
    try:
        _command(verb)(prog_name="seedproof")
    except SeedproofError as error:
        from seedproof.messages import printable

        _name_as_typed(error, verb)
        typer.echo(f"error {error.code}: {printable(str(error))}", err=True)
        _exit(ExitCode.ERROR, error.code, str(error), error.fields)
    except OSError as error:  # a full disk, a lost network, a folder without permission
        text = str(error)
        if error.errno in PROBLEMS and error.filename is not None:
            text = f"{str(error.filename)!r} cannot be read or written: {problem_of(error)}. "
            text += "Free some space, change its permissions, or choose another folder."
        typer.echo(f"error {SeedproofError.code}: {text}", err=True)
        _exit(ExitCode.ERROR, SeedproofError.code, text)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except SystemExit as left:
        # Typer has printed the usage; its own exceptions have this method.
        message = getattr(left.__context__, "format_message", None)
        if left.code == ExitCode.ERROR and message is not None:
            _exit(ExitCode.ERROR, OptionError.code, message())
        raise


def _exit(
    exit_code: ExitCode, code: str | None, message: str, fields: Mapping[str, object] | None = None
) -> NoReturn:
    """End the command; with --json, print the error as a document first."""
    words = list(takewhile(lambda word: word != "--", sys.argv[1:]))
    if "--json" in words and words[0] in VERBS:
        from seedproof.cli.documents import print_error

        print_error(exit_code, code, message, fields or {})
    sys.exit(exit_code)


def _name_as_typed(error: SeedproofError, verb: str | None) -> None:
    """Make an error name options as they are typed, and suggest the whole command."""
    from seedproof.cli.options import as_typed, command_as, command_with
    from seedproof.messages import Message

    suggestion, option = error.fields.get("suggestion"), error.fields.get("option")
    command = None
    if isinstance(suggestion, dict):
        command = command_with(suggestion)
    elif "advice" in error.fields and isinstance(role := error.fields.get("role"), str):
        command = command_as(role)
    if command is not None:
        error.fields["advice"] = Message("try", "Try: {command}", command=command)
    if isinstance(option, str) and verb is not None:
        flags = {param.name: param.opts[0] for param in _command(verb).commands[verb].params}
        error.fields["typed_option"] = as_typed(option, flags)
        error.template = error.template.replace("{option}", "{typed_option}")
