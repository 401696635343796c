"""Functions, named functions and scripts are trained alike, without side effects."""

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from seedproof.errors import TargetError
from seedproof.records.schema import digest
from seedproof.testing.errors import WithFields
from seedproof.training.run import current_run
from seedproof.training.target import (
    FunctionTarget,
    NamedTarget,
    ScriptTarget,
    as_target,
    find_target,
    importable,
    loaded_afresh,
)


def train(run):
    """Train in a module."""
    run.log_scalar("loss", 0.5)


class Trainer:
    """An object that trains."""

    def __call__(self, run):
        """Train."""
        run.log_scalar("loss", 0.25)


@pytest.fixture(autouse=True)
def _forget_modules(tmp_path):
    """Forget the modules of a test's folder."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def run(make_run):
    """Return a run whose records are dropped."""
    return make_run(1, kept=False, arms=("none", "aswa"))


@pytest.fixture
def script(tmp_path):
    """Create a script in its own folder."""

    def script(text, *arguments):
        path = tmp_path / "code" / "fit.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return ScriptTarget(str(path), arguments)

    return script


def test_function_is_called_with_the_run(run):
    """Its code is known before."""
    FunctionTarget(train)(run)

    assert run.scalars == {"loss": 0.5}
    assert FunctionTarget(train).code().keys() == {"train"}


def test_function_is_named_with_its_module():
    """Except in the main program and notebooks."""

    def of_a_notebook(run):
        del run

    of_a_notebook.__module__ = "__main__"
    of_a_notebook.__qualname__ = "of_a_notebook"

    assert FunctionTarget(train).name == f"{__name__}:train"
    assert FunctionTarget(of_a_notebook).name == "of_a_notebook"
    assert FunctionTarget(Trainer()).name == f"{__name__}:Trainer"


def test_code_of_a_function_is_below_the_folder_of_its_outermost_package(tmp_path, monkeypatch):
    """Or below the current folder, for a main program."""
    package = tmp_path / "sp_outer" / "inner"
    package.mkdir(parents=True)
    for name in ("../__init__.py", "__init__.py", "fit.py"):
        (package / name).write_text("def train(run):\n    pass\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("sp_outer", "sp_outer.inner", "sp_outer.inner.fit"):
        module = __import__(name, fromlist=["train"])
        assert FunctionTarget(module.train).root == tmp_path

    module.train.__module__ = "__main__"
    monkeypatch.chdir(package)
    assert FunctionTarget(module.train).root == package


@pytest.mark.parametrize("thing", [None, 3, "train.py", Path("train.py")])
def test_target_that_is_not_callable_is_refused(thing):
    """A path is a common mistake: the command line takes one, a study a function."""
    with pytest.raises(TargetError, check=WithFields(type_name=type(thing).__name__)):
        as_target(thing)


def test_targets_are_not_wrapped_again(script):
    """Functions and other callables are wrapped."""
    target = script("")

    assert as_target(target) is target
    assert as_target(train) == FunctionTarget(train)


def test_named_function_is_loaded_where_it_is_trained(tmp_path, run):
    """Its folder is searched first, but only while it trains."""
    (tmp_path / "sp_named.py").write_text(
        "import sys\ndef train(run):\n    run.log_scalar('n_folders', len(sys.path))\n"
    )
    before = list(sys.path)

    target = NamedTarget("sp_named:train", str(tmp_path))
    assert "sp_named" not in sys.modules
    target(run)

    assert run.scalars == {"n_folders": len(before) + 1}
    assert sys.path == before
    assert target.root == tmp_path
    assert target.code() == {"sp_named.py": digest((tmp_path / "sp_named.py").read_bytes())}


@pytest.mark.parametrize(
    "name",
    ["sp_nowhere:train", "sp_nowhere.inner:train", "json:", ":train", "json:not a name", ":"],
)
def test_unknown_functions_are_refused_at_once(name, tmp_path):
    """Before any run is planned; the error names the folder."""
    with pytest.raises(TargetError, check=WithFields(name=name, folder=str(tmp_path))):
        NamedTarget(name, str(tmp_path))


def test_module_without_the_function_is_refused_in_training(run, tmp_path):
    """An earlier check would run the user's module in the coordinator."""
    target = NamedTarget("json:train", str(tmp_path))

    with pytest.raises(TargetError, check=WithFields(module="json", function="train")):
        target(run)


REPORT = """
import json, pathlib, sys
import sp_beside_the_script
facts = {"argv": sys.argv, "name": __name__, "path": sys.path[0], "file": __file__}
pathlib.Path(sys.argv[1]).write_text(json.dumps(facts))
"""


def test_script_runs_as_the_main_program(script, run, tmp_path):
    """With its own arguments and its folder first; both are restored."""
    target = script(REPORT, str(tmp_path / "record.json"), "--lr", "0.1")
    (tmp_path / "code" / "sp_beside_the_script.py").write_text("")
    argv, path = list(sys.argv), list(sys.path)

    target(run)

    record = json.loads((tmp_path / "record.json").read_text())
    assert record["argv"] == [target.path, str(tmp_path / "record.json"), "--lr", "0.1"]
    assert record["name"] == "__main__"
    assert record["path"] == str(tmp_path / "code")
    assert record["file"] == target.path
    assert (sys.argv, sys.path) == (argv, path)


def test_placeholders_are_filled_in(script, run, tmp_path):
    """`{seed}`, `{run}` and `{arm}` anywhere; other braces are kept."""
    record = tmp_path / "record.json"
    arguments = ("--seed={seed}", "{run}-{arm}", "{other} {}", "{seed")
    target = script(
        "import json, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))",
        str(record), *arguments,
    )  # fmt: skip

    target(run)

    assert json.loads(record.read_text()) == [f"--seed={run.seed}", "0-aswa", "{other} {}", "{seed"]


@pytest.mark.parametrize(
    "end", ["", "import sys; sys.exit()", "import sys; sys.exit(0)", "exit(0)"]
)
def test_script_may_exit_with_success(end, script, run):
    """`sys.exit(main())` is how many scripts end."""
    script(end)(run)


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("import sys; sys.exit(3)", SystemExit),
        ("import sys; sys.exit('no data')", SystemExit),
        ("1 / 0", ZeroDivisionError),
        ("def", SyntaxError),
    ],
)
def test_exception_of_a_script_is_raised(end, error, script, run):
    """Arguments and search path are restored."""
    argv, path = list(sys.argv), list(sys.path)

    with pytest.raises(error):
        script(end)(run)

    assert (sys.argv, sys.path) == (argv, path)


def test_every_run_of_a_script_starts_fresh(script, run):
    """Globals of earlier runs are gone."""
    target = script("assert 'seen' not in globals()\nseen = True\n")

    target(run)
    target(run)

    assert not hasattr(sys.modules["__main__"], "seen")


def test_every_run_of_a_script_reloads_its_modules(make_run, script, tmp_path):
    """Draws at import time follow each run's own seeds."""
    target = script(
        "import seedproof as sp, sp_drawn\nsp.current_run().log_scalar('drawn', sp_drawn.x)\n"
    )
    (tmp_path / "code" / "sp_drawn.py").write_text("import torch\nx = torch.rand(1)\n")
    runs = [make_run(index, kept=False) for index in range(2)]

    for run in runs:
        with run.active(), loaded_afresh(target.root):
            target(run)

    assert runs[0].scalars["drawn"] != runs[1].scalars["drawn"]


def test_script_is_identified_by_its_name_and_bytes(script, tmp_path):
    """Not by its folder."""
    target = script("x = 1\n")

    assert target.name == "fit.py"
    assert target.root == tmp_path / "code"
    assert target.code() == {"fit.py": digest(b"x = 1\n")}


def test_missing_script_is_refused(tmp_path):
    """Also a folder."""
    for path in (tmp_path / "gone.py", tmp_path):
        with pytest.raises(TargetError, check=WithFields(path=str(path))):
            ScriptTarget(str(path))


def test_scripts_and_functions_are_distinguished_by_their_name(script, tmp_path, monkeypatch):
    """The path of a script is made absolute, so that it works in any folder."""
    path = Path(script("").path)
    (tmp_path / "sp_named.py").write_text("")
    monkeypatch.chdir(tmp_path)

    assert find_target("code/fit.py", ("-v",)) == ScriptTarget(str(path), ("-v",))
    assert find_target("sp_named:train") == NamedTarget("sp_named:train", str(tmp_path))
    for text in ("gone.py", "gone", "code/gone:train"):
        with pytest.raises(TargetError):
            find_target(text)


@pytest.mark.parametrize("fails", [False, True])
def test_folder_is_importable_for_a_while(fails, tmp_path):
    """Also if the imported code changes the search path."""
    before = list(sys.path)
    with suppress(ZeroDivisionError), importable(tmp_path):
        assert sys.path[0] == str(tmp_path)
        if fails:
            sys.path.remove(str(tmp_path))
            raise ZeroDivisionError

    assert sys.path == before


def test_two_runs_of_a_script_log_separately(make_run, script):
    """Each has its own current run."""
    target = script(
        "import seedproof as sp\nrun = sp.current_run()\nrun.log_scalar('s', run.seed)\n"
    )
    runs = [make_run(index, kept=False) for index in range(2)]

    for run in runs:
        with run.active():
            assert current_run() is run
            target(run)

    assert [run.scalars["s"] for run in runs] == [run.seed for run in runs]
    assert runs[0].seed != runs[1].seed
