"""Budgets of lines and statements: `benchmarks/size.py` on small trees."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "size.py"
MODULE = '''"""Docstring."""


def total(values):
    """Docstring
    of two lines.
    """
    if not values:
        ...
    return sum(values)
'''


@pytest.fixture(scope="module")
def size():
    spec = importlib.util.spec_from_file_location("size_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path, size):
    """A checkout with budgets of today, committed."""
    for name in ("src/seedproof/stats/mean.py", "src/seedproof/errors.py", "tests/unit/test_a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODULE, encoding="utf-8")
    size.main(["--root", str(tmp_path), "--lower"])
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(tree, *arguments):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", *name, *arguments]
    subprocess.run(command, cwd=tree, check=True)


def commit(tree):
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "All")


def grow(tree, name="src/seedproof/stats/mean.py"):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(content + "MORE = 1\n", encoding="utf-8")


def refusal(size, tree):
    """Return what `--check` prints when it refuses."""
    with pytest.raises(SystemExit) as refused:
        size.main(["--root", str(tree), "--check"])
    return str(refused.value.code)


def test_physical_lines_and_statements_without_docstrings_are_counted(size, tree):
    """def, if and return; `...` and docstrings are no statements."""
    sizes = size.sizes_of(tree)

    assert sizes == {
        "src": (20, 6),
        "src/seedproof/*.py": (10, 3),
        "src/seedproof/stats": (10, 3),
        "tests": (10, 3),
        "tests/unit": (10, 3),
    }


def test_sizes_of_today_are_within_their_budgets(size, tree, capsys):
    size.main(["--root", str(tree), "--check"])

    assert "5 folders are within their budgets" in capsys.readouterr().out


def test_a_folder_over_its_budget_is_refused(size, tree):
    """The sum it belongs to as well."""
    grow(tree)

    message = refusal(size, tree)

    assert "src/seedproof/stats has 11 lines, 1 over its budget." in message
    assert "src has 7 statements, 1 over its budget." in message


def test_a_checkout_without_budgets_is_refused(size, tree):
    (tree / "budgets.toml").unlink()

    assert "budgets.toml is missing" in refusal(size, tree)


def test_a_folder_without_a_budget_is_refused(size, tree):
    grow(tree, "tests/truth/test_b.py")

    assert "tests/truth has no budget" in refusal(size, tree)


def test_a_budget_that_rises_is_refused_even_if_the_rise_was_committed(size, tree):
    """Every earlier version counts, not only the last."""
    grow(tree)
    file = tree / "budgets.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("lines = 10", "lines = 99"), encoding="utf-8")
    commit(tree)

    assert "stats rose from 10 to 99 lines" in refusal(size, tree)


def test_an_allowance_admits_growth_and_is_taken_back_when_it_is_not_needed(size, tree):
    """New folders as well; budgets stay as they are."""
    grow(tree)
    grow(tree, "tests/truth/test_b.py")
    before = size.parsed((tree / "budgets.toml").read_text(encoding="utf-8"))

    size.main(["--root", str(tree), "--allow", "issue-7", "--because", 'A "reason".'])
    size.main(["--root", str(tree), "--check"])
    after = size.parsed((tree / "budgets.toml").read_text(encoding="utf-8"))
    (tree / "src/seedproof/stats/mean.py").write_text("A = 1\n", encoding="utf-8")
    size.main(["--root", str(tree), "--lower"])
    lowered = size.parsed((tree / "budgets.toml").read_text(encoding="utf-8"))

    growth = dict.fromkeys(("src", "src/seedproof/stats", "tests", "tests/truth"), (1, 1))
    assert after.budget == before.budget
    assert after.allowances == {"issue-7": ('A "reason".', growth)}
    assert lowered.budget == before.budget | {"src": (11, 4), "src/seedproof/stats": (1, 1)}
    assert lowered.allowances["issue-7"][1] == {"tests": (1, 1), "tests/truth": (1, 1)}


def test_lowering_never_raises(size, tree):
    grow(tree)
    before = (tree / "budgets.toml").read_text(encoding="utf-8")

    size.main(["--root", str(tree), "--lower"])

    assert (tree / "budgets.toml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("options", [[], ["--because", ""]])
def test_an_allowance_needs_a_reason(size, tree, options):
    with pytest.raises(SystemExit):
        size.main(["--root", str(tree), "--allow", "issue-7", *options])


def test_an_allowance_without_a_reason_in_the_file_is_refused(size, tree):
    with (tree / "budgets.toml").open("a", encoding="utf-8") as file:
        file.write('[allowance.issue-7]\n"tests/unit" = { lines = 9, statements = 9 }\n')

    assert "no reason" in refusal(size, tree)
