"""Keep the language plain: words and patterns that do not pass, each with the reason.

The list is short on purpose. CONTRIBUTING.md and the glossary say how to write instead.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Not ours to word, or not prose: recorded results, licenses, and the files that list the words.
EXCLUDED = ("tests/golden/outputs", "docs/results", "LICENSE", "tests/meta/test_language.py")

# Pattern: (reason, how many lines may have it because no other word fits).
PATTERNS = {
    r"\bbeside\b": ("Say next to, along with or besides.", 0),
    r"\b(?:somebody|nobody|whoever)\b": ("Name the user, the caller or another process.", 0),
    # Not `tell` of files, nor of `ask` and `tell`, as optimizers call them.
    r"(?<![.`])(?<!def )(?<!ask, )\b(?:tells?|told)\b(?![(`])": (
        "Say report, distinguish, notify or warn.",
        0,
    ),
    r"\bwithout it\b": ('Say "If omitted, …".', 0),
    r"(?<!there )\bis no (?!longer\b|more\b|less\b|better\b|worse\b|stronger\b|such\b)[a-z]+": (
        'Say "is not a …".',
        0,
    ),
    r"\b(?:row|line|value|seed|seeds|file|test|minute|second)s? an? (?:run|arm|example|class|test)\b": (
        'Say "per run".',
        0,
    ),
    r"\b(?:obviously|simply)\b": ("Leave it out.", 0),
}
# Names that say nothing about what they hold.
VAGUE_NAMES = frozenset({"found", "one", "told", "said", "asked", "theirs"})
OPENING = re.compile(r"(?:What|How|Whether|Which)\b")


def tracked(*suffixes):
    """Return the project's own text files."""
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607 - whichever git there is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [
        ROOT / name for name in listed if name.endswith(suffixes) and not name.startswith(EXCLUDED)
    ]


def lines_with(pattern, paths):
    """Return the lines that have a pattern, with their files."""
    regex = re.compile(pattern, re.IGNORECASE)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:90]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if regex.search(line)
    ]


@pytest.fixture(scope="module")
def texts():
    """Return everything that people read: code, docs, pages and configuration."""
    return tracked(".py", ".md", ".toml", ".yml", ".jinja", ".js", ".css", "run", "justfile")


@pytest.fixture(scope="module")
def trees():
    """Return the syntax trees of all Python files."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in tracked(".py")}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern_is_not_used(pattern, texts):
    """Each line is one to reword; the reason is next to the pattern."""
    reason, allowed = PATTERNS[pattern]

    lines = lines_with(pattern, texts)

    assert len(lines) <= allowed, "\n".join([reason, *lines])


def test_docstrings_open_with_a_verb_or_a_noun(trees):
    """Questions make readers guess what they get."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

    questions = [
        f"{path.relative_to(ROOT)}: {docstring.splitlines()[0]}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        and (docstring := ast.get_docstring(node))
        and OPENING.match(docstring)
    ]

    assert questions == []


def test_variables_have_names_of_what_they_hold(trees):
    """A noun of the domain, such as run, arm or estimate."""
    vague = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        for name in [
            getattr(node, "id", None)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else node.arg
            if isinstance(node, ast.arg)
            else None
        ]
        if name in VAGUE_NAMES
    ]

    assert vague == []
