"""A function, a function by name and a script are trained alike, and leave no trace."""

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
    """A training in a module."""
    run.log_scalar("loss", 0.5)


class Trainer:
    """An object that trains."""

    def __call__(self, run):
        """Train."""
        run.log_scalar("loss", 0.25)


@pytest.fixture(autouse=True)
def _forget_modules(tmp_path):
    """Modules of one test's folder are unknown to the next test."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def run(make_run):
    """A run whose records are dropped."""
    return make_run(1, kept=False, arms=("none", "aswa"))


@pytest.fixture
def script(tmp_path):
    """Makes a script in a folder of its own."""

    def script(text, *arguments):
        path = tmp_path / "code" / "fit.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return ScriptTarget(str(path), arguments)

    return script


def test_a_function_is_called_with_the_run(run):
    """That is all it needs to know."""
    FunctionTarget(train)(run)

    assert run.scalars == {"loss": 0.5}


def test_a_function_is_named_with_its_module():
    """But for the main program and notebooks, whose module's name says nothing."""

    def of_a_notebook(run):
        del run

    of_a_notebook.__module__ = "__main__"
    of_a_notebook.__qualname__ = "of_a_notebook"

    assert FunctionTarget(train).name == f"{__name__}:train"
    assert FunctionTarget(of_a_notebook).name == "of_a_notebook"
    assert FunctionTarget(Trainer()).name == f"{__name__}:Trainer"


def test_code_of_a_function_is_below_the_folder_of_its_outermost_package(tmp_path, monkeypatch):
    """Digests of files are by their path from there; a main program's is the current folder."""
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


def test_code_of_a_function_is_known_before_it_runs():
    """Its own definition, by name."""
    assert FunctionTarget(train).code().keys() == {"train"}


@pytest.mark.parametrize("thing", [None, 3, "train.py", Path("train.py")])
def test_what_cannot_be_called_is_refused(thing):
    """A path is a common mistake: the command line takes one, a study a function."""
    with pytest.raises(TargetError, check=WithFields(type_name=type(thing).__name__)):
        as_target(thing)


def test_targets_stay_as_they_are(script):
    """Functions and other callables become one."""
    target = script("")

    assert as_target(target) is target
    assert as_target(train) == FunctionTarget(train)


def test_a_named_function_is_loaded_where_it_is_trained(tmp_path, run):
    """The folder is searched first, and only for as long as it trains."""
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
def test_functions_that_cannot_be_found_are_refused_at_once(name, tmp_path):
    """Before any run is planned; the error says where was searched."""
    with pytest.raises(TargetError, check=WithFields(name=name, folder=str(tmp_path))):
        NamedTarget(name, str(tmp_path))


def test_a_module_without_the_function_is_refused_when_it_is_trained(run, tmp_path):
    """Looking sooner would run the user's module in the coordinator."""
    target = NamedTarget("json:train", str(tmp_path))

    with pytest.raises(TargetError, check=WithFields(module="json", function="train")):
        target(run)


TELL = """
import json, pathlib, sys
import sp_beside_the_script
facts = {"argv": sys.argv, "name": __name__, "path": sys.path[0], "file": __file__}
pathlib.Path(sys.argv[1]).write_text(json.dumps(facts))
"""


def test_a_script_runs_as_the_main_program(script, run, tmp_path):
    """With its own arguments and its own folder before all others; both are put back."""
    target = script(TELL, str(tmp_path / "told.json"), "--lr", "0.1")
    (tmp_path / "code" / "sp_beside_the_script.py").write_text("")
    argv, path = list(sys.argv), list(sys.path)

    target(run)

    told = json.loads((tmp_path / "told.json").read_text())
    assert told["argv"] == [target.path, str(tmp_path / "told.json"), "--lr", "0.1"]
    assert told["name"] == "__main__"
    assert told["path"] == str(tmp_path / "code")
    assert told["file"] == target.path
    assert (sys.argv, sys.path) == (argv, path)


def test_placeholders_are_filled_in(script, run, tmp_path):
    """`{seed}`, `{run}` and `{arm}` wherever they are; other braces are the user's."""
    told = tmp_path / "told.json"
    arguments = ("--seed={seed}", "{run}-{arm}", "{other} {}", "{seed")
    target = script(
        "import json, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))",
        str(told), *arguments,
    )  # fmt: skip

    target(run)

    assert json.loads(told.read_text()) == [f"--seed={run.seed}", "0-aswa", "{other} {}", "{seed"]


@pytest.mark.parametrize(
    "end", ["", "import sys; sys.exit()", "import sys; sys.exit(0)", "exit(0)"]
)
def test_a_script_may_end_itself_in_peace(end, script, run):
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
def test_a_script_that_fails_is_no_training(end, error, script, run):
    """What it raised goes on; arguments and search path are put back all the same."""
    argv, path = list(sys.argv), list(sys.path)

    with pytest.raises(error):
        script(end)(run)

    assert (sys.argv, sys.path) == (argv, path)


def test_a_script_learns_its_run(script, run):
    """With one line, wherever it needs it."""
    target = script("import seedproof as sp\nsp.current_run().log_scalar('loss', 0.125)\n")

    with run.active():
        target(run)

    assert run.scalars == {"loss": 0.125}


def test_every_run_of_a_script_begins_anew(script, run):
    """Nothing that one left in its globals is there for the next."""
    target = script("assert 'seen' not in globals()\nseen = True\n")

    target(run)
    target(run)

    assert not hasattr(sys.modules["__main__"], "seen")


def test_every_run_of_a_script_loads_its_modules_anew(make_run, script, tmp_path):
    """What a module draws or builds when it is loaded follows each run's own seeds."""
    target = script(
        "import seedproof as sp, sp_drawn\nsp.current_run().log_scalar('drawn', sp_drawn.x)\n"
    )
    (tmp_path / "code" / "sp_drawn.py").write_text("import torch\nx = torch.rand(1)\n")
    runs = [make_run(index, kept=False) for index in range(2)]

    for run in runs:
        with run.active(), loaded_afresh(target.root):
            target(run)

    assert runs[0].scalars["drawn"] != runs[1].scalars["drawn"]


def test_a_script_is_known_by_its_name_and_bytes(script, tmp_path):
    """Where it lies makes no difference."""
    target = script("x = 1\n")

    assert target.name == "fit.py"
    assert target.root == tmp_path / "code"
    assert target.code() == {"fit.py": digest(b"x = 1\n")}


def test_a_script_that_is_not_there_is_refused(tmp_path):
    """Also a folder."""
    for path in (tmp_path / "gone.py", tmp_path):
        with pytest.raises(TargetError, check=WithFields(path=str(path))):
            ScriptTarget(str(path))


def test_the_command_line_tells_scripts_from_functions(script, tmp_path, monkeypatch):
    """A script's path is made whole, so that it is found from wherever it is trained."""
    path = Path(script("").path)
    (tmp_path / "sp_named.py").write_text("")
    monkeypatch.chdir(tmp_path)

    assert find_target("code/fit.py", ("-v",)) == ScriptTarget(str(path), ("-v",))
    assert find_target("sp_named:train") == NamedTarget("sp_named:train", str(tmp_path))
    for text in ("gone.py", "gone", "code/gone:train"):
        with pytest.raises(TargetError):
            find_target(text)


@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_is_importable_for_a_while(fails, tmp_path):
    """Also if what is imported changes the search path itself."""
    before = list(sys.path)
    with suppress(ZeroDivisionError), importable(tmp_path):
        assert sys.path[0] == str(tmp_path)
        if fails:
            sys.path.remove(str(tmp_path))
            raise ZeroDivisionError

    assert sys.path == before


def test_a_script_of_one_run_is_not_the_current_run_of_another(make_run, script):
    """Two runs of one script log each for itself."""
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
