"""Digests change with the code that trains, and with nothing else."""

import functools
import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from seedproof.records.schema import digest
from seedproof.training import code
from seedproof.training.code import EDITED, definitions, file_digest, loaded_files

PROGRAM = '''
import math

RATE = 0.1
UNUSED = 1


def scale(x):
    """Make it smaller."""
    return math.sqrt(x) * RATE


class Net:
    def forward(self, x):
        return scale(x)


def shift(x):
    return x + 1


def unrelated():
    return UNUSED


def train(run):
    net = Net()
    return list(map(lambda i: net.forward(shift(i)), range(3)))
'''


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a program, each time from a file of its own: linecache knows files by their path."""
    count = iter(range(100))

    def load(text):
        path = tmp_path / str(next(count)) / "program.py"
        path.parent.mkdir()
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("program", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "program", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def edited(load):
    """The definitions that an edit changes."""

    def edited(program, old, new):
        assert old in program
        before = definitions(load(program).train)
        after = definitions(load(program.replace(old, new)).train)
        names = before.keys() | after.keys()
        return {name for name in names if before.get(name) != after.get(name)}

    return edited


def test_definitions_are_what_a_function_reaches(load):
    """Functions, classes and constants of its own module, by name; nothing that it never uses."""
    assert definitions(load(PROGRAM).train).keys() == {"train", "Net", "scale", "shift", "RATE"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("range(3)", "range(4)", {"train"}),
        ("net = Net()", "net = Net(); net = net", {"train"}),
        ("* RATE", "+ RATE", {"scale"}),
        ("return scale(x)", "return -scale(x)", {"Net"}),
        ("x + 1", "x + 2", {"shift"}),
        ("RATE = 0.1", "RATE = 0.2", {"RATE"}),
        ("RATE = 0.1", "RATE = '0.1'", {"RATE"}),
    ],
    ids=["function", "statement", "helper", "method", "in-a-lambda", "constant", "type"],
)
def test_a_change_of_what_trains_is_seen(old, new, changed, edited):
    """The function itself, a helper, a class or a constant: named, so that a message can say it."""
    assert edited(PROGRAM, old, new) == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    net = Net()", "    # A small one.\n    net = Net()  # really"),
        ("net = Net()", "\n    net  =  Net(  )\n"),
        ("return UNUSED", "return UNUSED + 1"),
        ("UNUSED = 1", "UNUSED = 2"),
        ("def unrelated", "def more():\n    pass\n\n\ndef unrelated"),
    ],
    ids=["comment", "layout", "unrelated", "unused", "new"],
)
def test_a_change_of_anything_else_is_not_seen(old, new, edited):
    """Comments, blank lines and unrelated functions train nothing."""
    assert edited(PROGRAM, old, new) == set()


def test_a_helper_that_is_replaced_by_another_is_seen(edited):
    """What was reached before and is no more, and what is new."""
    before, after = "return scale(x)", "return unrelated()"

    assert edited(PROGRAM, before, after) == {
        "Net",
        "scale",
        "RATE",
        "unrelated",
        "UNUSED",
    }


def test_functions_that_call_each_other_are_followed_once(load):
    """A circle has an end."""
    program = "def train(run):\n    return other(run)\n\n\ndef other(run):\n    return train(run)\n"

    assert definitions(load(program).train).keys() == {"train", "other"}


def test_functions_of_other_modules_are_left_to_their_files(load):
    """A library's function is not the user's; a file of the user's is recorded as a whole."""
    program = "from textwrap import dedent\n\n\ndef train(run):\n    return dedent('a')\n"

    assert definitions(load(program).train).keys() == {"train"}


@pytest.mark.parametrize(
    ("program", "old", "new"),
    [
        pytest.param(
            "CONFIG = {'rate': 0.1}\ndef train(run):\n    return CONFIG['rate']\n", "0.1", "0.2",
            id="dict",
        ),
        pytest.param(
            "SIZES = [1, 2]\ndef train(run):\n    return SIZES\n", "[1, 2]", "[1, 3]", id="list"
        ),
        pytest.param(
            "RATE = 0.1\ndef train(run, rate=RATE):\n    return rate\n", "0.1", "0.2", id="default"
        ),
        pytest.param(
            "def make(rate):\n    def train(run):\n        return rate\n    return train\n"
            "train = make(0.1)\n", "0.1", "0.2", id="closure",
        ),
        pytest.param(
            "class Base:\n    rate = 0.1\nclass Net(Base):\n    pass\n"
            "def train(run):\n    return Net().rate\n", "0.1", "0.2", id="base-class",
        ),
        pytest.param(
            "import functools\n@functools.cache\ndef rate():\n    return 0.1\n"
            "def train(run):\n    return rate()\n", "0.1", "0.2", id="cached",
        ),
        pytest.param(
            "from contextlib import contextmanager\nRATE = 0.1\n@contextmanager\ndef rate():\n"
            "    yield RATE\ndef train(run):\n    with rate() as r:\n        return r\n",
            "0.1", "0.2", id="decorated",
        ),
    ],
)  # fmt: skip
def test_a_change_further_in_is_seen(program, old, new, edited):
    """Settings in a dictionary, defaults, closures, base classes and decorated helpers."""
    assert edited(program, old, new)


def test_a_function_without_a_source_is_still_told_apart():
    """What was typed into a prompt, or came out of `exec`."""
    found = []
    for rate in ("0.1", "0.2"):
        names = {"__name__": "typed"}
        exec(f"def train(run):\n    return {rate}\n", names)  # noqa: S102 - our own text
        found.append(definitions(names["train"]))

    assert found[0].keys() == {"train"}
    assert found[0] != found[1]


@pytest.mark.parametrize(
    "program",
    [
        "class Train:\n    def __call__(self, run):\n        return 1\ntrain = Train()\n",
        "import functools\ndef fit(run, rate):\n    return rate\ntrain = functools.partial(fit, rate=1)\n",
    ],
    ids=["object", "partial"],
)
def test_an_object_that_is_called_is_the_same_in_every_process(program, load):
    """Where it lies in memory is no part of its definition."""
    kept = load(program)  # alive, so that the second one lies elsewhere

    assert definitions(kept.train) == definitions(load(program).train)


def test_a_file_is_digested_by_its_bytes(tmp_path):
    """One that is gone has no digest."""
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")

    assert file_digest(path) == digest(b"x = 1\n")
    assert file_digest(tmp_path / "gone.py") == ""
    assert file_digest(tmp_path) == ""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of user's code, of which two files are loaded, and one beside it."""
    root = tmp_path / "project"
    files = {
        "project/sp_single.py": "x = 1\n",
        "project/sp_package/__init__.py": "",
        "project/sp_package/inner.py": "y = 2\n",
        "project/sp_never_loaded.py": "",
        "sp_beside.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sys, "path", [str(root), str(tmp_path), *sys.path])
    names = ("sp_single", "sp_package", "sp_package.inner", "sp_beside")
    for name in names:
        importlib.import_module(name)
    yield root
    for name in names:
        del sys.modules[name]


def test_loaded_files_are_those_below_the_root(project):
    """By their path below it, whoever imported them; a file that nobody loaded plays no part."""
    found = loaded_files(project, since=time.time())

    assert found == {
        "sp_package/__init__.py": digest(b""),
        "sp_package/inner.py": digest(b"y = 2\n"),
        "sp_single.py": digest(b"x = 1\n"),
    }


def test_libraries_are_not_the_users(project):
    """Neither Python's own files, nor installed packages, nor ours, even below the root."""
    root = Path(project.anchor)

    found = {root / name for name in loaded_files(root, since=time.time())}

    assert project / "sp_single.py" in found
    ours = [Path(module.__file__) for module in (functools, pytest, code)]
    assert not set(ours) & found


def test_a_file_that_was_saved_after_it_was_loaded_has_no_digest(project):
    """Its bytes are not those that the run was made by."""
    began = time.time()
    os.utime(project / "sp_single.py", (began + 5, began + 5))

    found = loaded_files(project, since=began)

    assert found["sp_single.py"] == EDITED
    assert found["sp_package/inner.py"] == digest(b"y = 2\n")


@pytest.mark.parametrize(("before", "after"), [(9, 5), (0, 0)])
def test_a_file_that_was_saved_between_two_runs_has_another_digest(project, before, after):
    """Of the same size, seconds ago; or so lately that its time may say the same."""
    file, now = project / "sp_single.py", time.time()
    found = []
    for text, age in (("x = 1\n", before), ("x = 2\n", after)):
        file.write_text(text, encoding="utf-8")
        os.utime(file, (now - age, now - age))
        found.append(loaded_files(project, since=now + 1)["sp_single.py"])

    assert found == [digest(b"x = 1\n"), digest(b"x = 2\n")]


def test_the_main_program_is_no_file_of_the_training(project, monkeypatch):
    """What it defines is compared by definition: to ask for more seeds in it is no change."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["sp_single"])
    monkeypatch.delitem(sys.modules, "sp_single")

    found = loaded_files(project, since=time.time())

    monkeypatch.undo()
    assert found.keys() == {"sp_package/__init__.py", "sp_package/inner.py"}


def test_a_file_that_is_gone_is_left_out(project):
    """There is nothing left to digest."""
    (project / "sp_single.py").unlink()

    assert "sp_single.py" not in loaded_files(project, since=time.time())


def test_a_link_that_leads_elsewhere_by_now_is_followed_anew(tmp_path, monkeypatch):
    """Releases are often switched so; a module that is loaded again is of the new one."""
    for name in ("v1", "v2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sp_linked.py").write_text(f"x = {name!r}\n", encoding="utf-8")
    current = tmp_path / "current"
    monkeypatch.syspath_prepend(str(current))
    found = []
    for name in ("v1", "v2"):
        current.unlink(missing_ok=True)
        current.symlink_to(tmp_path / name)
        monkeypatch.delitem(sys.modules, "sp_linked", raising=False)
        importlib.invalidate_caches()
        importlib.import_module("sp_linked")
        found.append(loaded_files(current, since=time.time() + 1))

    assert found == [{"sp_linked.py": digest(f"x = {name!r}\n".encode())} for name in ("v1", "v2")]
