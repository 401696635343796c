"""Size of the code by folder, held against `budgets.toml`.

    python benchmarks/size.py            print lines and statements of each folder, and budgets
    python benchmarks/size.py --check    fail if a folder is over its budget or has none, as in CI
    python benchmarks/size.py --lower    write today's figures where they are below the budget
    python benchmarks/size.py --allow issue-12 --because "why it grows"
                                         write an allowance for whatever is over its budget

Lines are physical lines of `.py` files, as `wc -l` counts them. Statements are those of Python's
syntax tree without expressions that are a constant alone: docstrings and `...`.

A budget only goes down. `--check` compares each with all earlier versions of the file in the
history of the branch, and refuses a larger one. A folder that was not there before, or that must
grow, gets an allowance under the name of the issue that asks for it, with a reason. It is added to
the budget:

    [allowance.issue-12]
    reason = "The reader of spreadsheets."
    "src/seedproof/rows" = { lines = 300, statements = 150 }

`src`, `tests` and `reproductions` are sums, so that code that moves needs an allowance for its new
folder alone. `--lower` takes back what is left of allowances. Without the file it writes the first
budgets.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).parents[1]
FILE_NAME = "budgets.toml"
HEADER = """\
# Lines and statements of each folder, at most: see `benchmarks/size.py`, which CI runs. Budgets
# only go down; an allowance names its issue and its reason.
"""


class Size(NamedTuple):
    """Lines and statements."""

    lines: int
    statements: int

    def plus(self, other: "Size") -> "Size":
        """Return the sum."""
        return Size(self.lines + other.lines, self.statements + other.statements)

    def least(self, other: "Size") -> "Size":
        """Return the smaller number of each."""
        return Size(min(self.lines, other.lines), min(self.statements, other.statements))

    def beyond(self, other: "Size") -> "Size":
        """Return what is over a limit, 0 if nothing is."""
        return Size(max(self.lines - other.lines, 0), max(self.statements - other.statements, 0))


NOTHING = Size(0, 0)
Sizes: TypeAlias = dict[str, Size]


class Budgets(NamedTuple):
    """The content of `budgets.toml`."""

    budget: Sizes
    allowances: dict[str, tuple[str, Sizes]]  # reason and additions, by issue

    def limit(self, folder: str) -> Size | None:
        """Return the budget with all allowances; None for a folder without either."""
        parts = [sizes[folder] for _, sizes in self.allowances.values() if folder in sizes]
        parts += [self.budget[folder]] if folder in self.budget else []
        if not parts:
            return None
        return Size(sum(x.lines for x in parts), sum(x.statements for x in parts))


def size_of(path: Path) -> Size:
    """Return the size of a file."""
    content = path.read_bytes()
    return Size(content.count(b"\n"), sum(map(_counts, ast.walk(ast.parse(content)))))


def _counts(node: ast.AST) -> bool:
    """Return whether a node is a statement that is not a constant alone."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not is_constant


def sizes_of(root: Path) -> Sizes:
    """Return the sizes of all folders, and of the three parts that they belong to."""
    sizes: dict[str, Size] = {}
    for part in ("src", "tests", "reproductions"):
        for path in sorted((root / part).rglob("*.py")):
            size = size_of(path)
            for folder in (part, _folder_of(path.relative_to(root))):
                sizes[folder] = sizes.get(folder, NOTHING).plus(size)
    return sizes


def _folder_of(path: Path) -> str:
    """Return what a file counts for: a package, a folder of tests, or the files at a root."""
    depth = {"src": 3, "tests": 2, "reproductions": 2}[path.parts[0]]
    if len(path.parts) > depth:
        return "/".join(path.parts[:depth])
    return path.parent.as_posix() + "/*.py"


def parsed(text: str) -> Budgets:
    """Return budgets and allowances of a file."""
    content = tomllib.loads(text)
    allowances = {}
    for issue, table in content.get("allowance", {}).items():
        reason = table.pop("reason", "")
        if not reason.strip():
            raise SystemExit(f"{FILE_NAME}: the allowance of {issue} has no reason.")
        allowances[issue] = (reason, _sizes(table))
    return Budgets(_sizes(content.get("budget", {})), allowances)


def _sizes(table: Mapping[str, Any]) -> Sizes:
    return {folder: Size(x["lines"], x["statements"]) for folder, x in table.items()}


def written(budgets: Budgets) -> str:
    """Return the text of a file with these budgets."""
    parts = [HEADER, "[budget]\n", *map(_line, sorted(budgets.budget.items()))]
    for issue, (reason, sizes) in budgets.allowances.items():
        parts += [f"\n[allowance.{issue}]\nreason = {json.dumps(reason)}\n"]
        parts += map(_line, sorted(sizes.items()))
    return "".join(parts)


def _line(item: tuple[str, Size]) -> str:
    folder, (lines, statements) = item
    return f'"{folder}" = {{ lines = {lines}, statements = {statements} }}\n'


def problems(sizes: Sizes, budgets: Budgets, earlier: list[Budgets]) -> list[str]:
    """Return what breaks the rule, in words."""
    excesses = []
    for folder, size in sizes.items():
        limit = budgets.limit(folder)
        if limit is None:
            excesses.append(f"{folder} has no budget: {size.lines:,} lines.")
            continue
        for unit, value, most in zip(Size._fields, size, limit, strict=True):
            if value > most:
                excesses.append(f"{folder} has {value:,} {unit}, {value - most:,} over its budget.")
    for folder, size in budgets.budget.items():
        before = [x.budget.get(folder, NOTHING) for x in earlier]
        for unit, value, *others in zip(Size._fields, size, *before, strict=True):
            if others and value > min(others):
                excesses.append(
                    f"The budget of {folder} rose from {min(others):,} to {value:,} {unit}: "
                    "a budget only goes down; write an allowance."
                )
    return excesses


def lowered(sizes: Sizes, budgets: Budgets) -> Budgets:
    """Return the smallest budgets and allowances that hold, none larger than before."""
    budget, left = {}, {}
    for folder, before in budgets.budget.items():
        size = sizes.get(folder, NOTHING)
        if size != NOTHING:
            budget[folder] = before.least(size)
    for folder, size in sizes.items():
        left[folder] = size.beyond(budget.get(folder, NOTHING))
    allowances = {}
    for issue, (reason, additions) in budgets.allowances.items():
        kept: Sizes = {}
        for folder, addition in additions.items():
            kept[folder] = addition.least(left.get(folder, NOTHING))
            left[folder] = left.get(folder, NOTHING).beyond(kept[folder])
        kept = {folder: x for folder, x in kept.items() if x != NOTHING}
        if kept:
            allowances[issue] = (reason, kept)
    return Budgets(budget, allowances)


def allowed(sizes: Sizes, budgets: Budgets, issue: str, reason: str) -> Budgets:
    """Return the budgets with an allowance for all that is over them."""
    before, additions = budgets.allowances.get(issue, ("", {}))
    additions = dict(additions)
    for folder, size in sizes.items():
        over = size.beyond(budgets.limit(folder) or NOTHING)
        if over != NOTHING:
            additions[folder] = additions.get(folder, NOTHING).plus(over)
    allowances = dict(budgets.allowances)
    if additions:
        allowances[issue] = (reason or before, additions)
    return Budgets(budgets.budget, allowances)


def earlier_versions(root: Path) -> list[Budgets]:
    """Return all versions of the file in the history of this commit; none outside of a checkout."""
    commits = _git(root, "log", "--full-history", "--format=%H", "HEAD", "--", FILE_NAME)
    texts = (_git(root, "show", f"{commit}:./{FILE_NAME}") for commit in commits.split())
    return [parsed(text) for text in texts if text]


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],  # noqa: S607 - whichever is on the path
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def table(sizes: Sizes, budgets: Budgets) -> str:
    """Return a table of all folders."""
    width = max(map(len, sizes))
    rows = [f"{'folder':{width}}  {'lines':>7}  {'budget':>7}  {'stmts':>7}  {'budget':>7}"]
    for folder, size in sorted(sizes.items()):
        limit = budgets.limit(folder) or NOTHING
        rows.append(
            f"{folder:{width}}  {size.lines:>7,}  {limit.lines:>7,}  {size.statements:>7,}  "
            f"{limit.statements:>7,}"
        )
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> None:
    """Print, check or write budgets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout (default: this one)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="fail if a budget does not hold")
    action.add_argument("--lower", action="store_true", help="write smaller figures")
    action.add_argument("--allow", metavar="ISSUE", help="write an allowance for what is over")
    parser.add_argument("--because", metavar="REASON", default="", help="reason of the allowance")
    options = parser.parse_args(arguments)
    file = options.root / FILE_NAME
    sizes = sizes_of(options.root)
    if options.check and not file.exists():
        sys.exit(f"{FILE_NAME} is missing: python benchmarks/size.py --lower writes it.")
    budgets = parsed(file.read_text(encoding="utf-8")) if file.exists() else Budgets(sizes, {})
    if options.allow is not None:
        if not re.fullmatch(r"[\w-]+", options.allow):
            parser.error("--allow takes the name of an issue, such as issue-12")
        if not options.because and options.allow not in budgets.allowances:
            parser.error("--allow needs a reason: pass --because")
        budgets = allowed(sizes, budgets, options.allow, options.because)
    elif options.lower:
        budgets = lowered(sizes, budgets)
    if options.lower or options.allow is not None:
        file.write_text(written(budgets), encoding="utf-8")
    if not options.check:
        print(table(sizes, budgets))
        return
    earlier = earlier_versions(options.root)
    excesses = problems(sizes, budgets, earlier)
    if excesses:
        advice = (
            "Leave out something else (a feature or a layer, not a docstring), or write an "
            "allowance that an issue names: "
            "python benchmarks/size.py --allow ISSUE --because REASON."
        )
        sys.exit("\n".join([*excesses, advice]))
    print(
        f"{len(sizes)} folders are within their budgets, which are above none of {len(earlier)} "
        f"earlier versions. src has {sizes['src'].lines:,} lines and "
        f"{sizes['src'].statements:,} statements."
    )


if __name__ == "__main__":
    main()
