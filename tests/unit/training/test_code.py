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
    """Load a program, each time from its own file: linecache caches by path."""
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
    """Return the definitions that an edit changes."""

    def edited(program, old, new):
        assert old in program
        before = definitions(load(program).train)
        after = definitions(load(program.replace(old, new)).train)
        names = before.keys() | after.keys()
        return {name for name in names if before.get(name) != after.get(name)}

    return edited


def test_definitions_are_all_that_a_function_uses(load):
    """Functions, classes and constants of its own module, by name."""
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
def test_change_of_used_code_is_detected(old, new, changed, edited):
    """The function itself, a helper, a class or a constant."""
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
def test_change_of_unused_code_is_ignored(old, new, edited):
    """Comments, blank lines and unrelated functions."""
    assert edited(PROGRAM, old, new) == set()


def test_replaced_helper_is_detected(edited):
    """Both the old and the new one are reported."""
    before, after = "return scale(x)", "return unrelated()"

    assert edited(PROGRAM, before, after) == {
        "Net",
        "scale",
        "RATE",
        "unrelated",
        "UNUSED",
    }


def test_recursive_functions_are_followed_once(load):
    """A cycle has an end."""
    program = "def train(run):\n    return other(run)\n\n\ndef other(run):\n    return train(run)\n"

    assert definitions(load(program).train).keys() == {"train", "other"}


def test_functions_of_other_modules_are_ignored(load):
    """Files of the user are recorded as a whole."""
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
def test_indirect_change_is_detected(program, old, new, edited):
    """Settings in a dictionary, defaults, closures, base classes and decorated helpers."""
    assert edited(program, old, new)


def test_function_without_a_source_has_a_digest():
    """Typed into a prompt, or created by `exec`."""
    digests = []
    for rate in ("0.1", "0.2"):
        names = {"__name__": "typed"}
        exec(f"def train(run):\n    return {rate}\n", names)  # noqa: S102 - our own text
        digests.append(definitions(names["train"]))

    assert digests[0].keys() == {"train"}
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    "program",
    [
        "class Train:\n    def __call__(self, run):\n        return 1\ntrain = Train()\n",
        "import functools\ndef fit(run, rate):\n    return rate\ntrain = functools.partial(fit, rate=1)\n",
    ],
    ids=["object", "partial"],
)
def test_digest_of_a_callable_object_is_stable(program, load):
    """It does not depend on the address in memory."""
    kept = load(program)  # alive, so that the second one lies elsewhere

    assert definitions(kept.train) == definitions(load(program).train)


def test_digest_of_a_file_depends_on_its_bytes(tmp_path):
    """A missing file has no digest."""
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")

    assert file_digest(path) == digest(b"x = 1\n")
    assert file_digest(tmp_path / "gone.py") == ""
    assert file_digest(tmp_path) == ""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Create a folder of user code with two loaded files, and another file."""
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
    """By their path below it; files that are not loaded do not count."""
    digests = loaded_files(project, since=time.time())

    assert digests == {
        "sp_package/__init__.py": digest(b""),
        "sp_package/inner.py": digest(b"y = 2\n"),
        "sp_single.py": digest(b"x = 1\n"),
    }


def test_libraries_are_not_user_code(project):
    """Python's own files, installed packages and ours, even below the root."""
    root = Path(project.anchor)

    digests = {root / name for name in loaded_files(root, since=time.time())}

    assert project / "sp_single.py" in digests
    ours = [Path(module.__file__) for module in (functools, pytest, code)]
    assert not set(ours) & digests


def test_file_that_was_saved_after_loading_has_no_digest(project):
    """Its bytes differ from the loaded code."""
    began = time.time()
    os.utime(project / "sp_single.py", (began + 5, began + 5))

    digests = loaded_files(project, since=began)

    assert digests["sp_single.py"] == EDITED
    assert digests["sp_package/inner.py"] == digest(b"y = 2\n")


def test_clock_that_was_set_back_by_a_day_is_not_an_edit(project):
    """Then all files are from the future."""
    tomorrow = time.time() + 86_400
    os.utime(project / "sp_single.py", (tomorrow, tomorrow))

    digests = loaded_files(project, since=time.time())

    assert digests["sp_single.py"] == digest(b"x = 1\n")


@pytest.mark.parametrize(("before", "after"), [(9, 5), (0, 0)])
def test_file_that_was_saved_between_two_runs_has_another_digest(project, before, after):
    """Even with the same size, or within the resolution of time stamps."""
    file, now = project / "sp_single.py", time.time()
    digests = []
    for text, age in (("x = 1\n", before), ("x = 2\n", after)):
        file.write_text(text, encoding="utf-8")
        os.utime(file, (now - age, now - age))
        digests.append(loaded_files(project, since=now + 1)["sp_single.py"])

    assert digests == [digest(b"x = 1\n"), digest(b"x = 2\n")]


def test_main_program_is_not_a_file_of_the_training(project, monkeypatch):
    """Its definitions are compared: more seeds are not a change."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["sp_single"])
    monkeypatch.delitem(sys.modules, "sp_single")

    digests = loaded_files(project, since=time.time())

    monkeypatch.undo()
    assert digests.keys() == {"sp_package/__init__.py", "sp_package/inner.py"}


def test_deleted_file_is_ignored(project):
    """It cannot be read."""
    (project / "sp_single.py").unlink()

    assert "sp_single.py" not in loaded_files(project, since=time.time())


def test_changed_link_is_followed_again(tmp_path, monkeypatch):
    """Releases are often switched by a link."""
    for name in ("v1", "v2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sp_linked.py").write_text(f"x = {name!r}\n", encoding="utf-8")
    current = tmp_path / "current"
    monkeypatch.syspath_prepend(str(current))
    digests = []
    for name in ("v1", "v2"):
        current.unlink(missing_ok=True)
        current.symlink_to(tmp_path / name)
        monkeypatch.delitem(sys.modules, "sp_linked", raising=False)
        importlib.invalidate_caches()
        importlib.import_module("sp_linked")
        digests.append(loaded_files(current, since=time.time() + 1))

    assert digests == [
        {"sp_linked.py": digest(f"x = {name!r}\n".encode())} for name in ("v1", "v2")
    ]
