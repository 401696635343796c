"""Verbs of other packages."""

from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from seedproof.cli import plugins
from seedproof.cli.plugins import add_plugins

PLUGIN = """
import typer


def shout(word: str, *, times: int = 1) -> None:
    '''Print a word loudly.'''
    typer.echo(" ".join([word.upper()] * times))
"""


@pytest.fixture
def app():
    """A command line with one verb of its own."""
    app = typer.Typer()

    @app.command()
    def measure() -> None:
        typer.echo("measured")

    return app


@pytest.fixture
def announce(tmp_path, monkeypatch):
    """Make entry points lead to a module of another package."""
    (tmp_path / "loud_package.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def make(**values):
        points = [EntryPoint(name, value, plugins.GROUP) for name, value in values.items()]
        monkeypatch.setattr(plugins, "entry_points", lambda *, group: points if group else None)

    return make


def test_verb_of_another_package_takes_arguments_and_options(app, announce):
    """It is called by the name of its entry point."""
    announce(louder="loud_package:shout")
    add_plugins(app)

    result = CliRunner().invoke(app, ["louder", "hey", "--times", "2"])

    assert (result.exit_code, result.stdout) == (0, "HEY HEY\n")


@pytest.mark.parametrize("value", ["no_such_package:verb", "loud_package:no_such_verb"])
def test_verb_that_cannot_be_loaded_is_skipped_with_a_warning(app, announce, capsys, value):
    """A broken package must not break every command."""
    announce(broken=value, louder="loud_package:shout")

    add_plugins(app)

    assert "'broken'" in capsys.readouterr().err
    assert {command.name for command in app.registered_commands} == {None, "louder"}


def test_verb_of_the_library_is_not_replaced(app, announce, capsys):
    """Otherwise an installed package could change what `measure` means."""
    announce(measure="loud_package:shout", louder="loud_package:shout")

    add_plugins(app)

    assert CliRunner().invoke(app, ["measure"]).stdout == "measured\n"
    assert "'measure'" in capsys.readouterr().err
