"""Run every command and every Python block of the docs, and compare what they print.

Also see that every metric card and every error code is on its page.

In a `console` block the lines that begin with `$ ` are run and the lines below must be their
output; a command without output shown must succeed. `python` blocks of a page run one after the
other in one namespace; a `text` block right below one must be what it prints. A block whose fence
has any other language, such as `sh`, is not run. Each page has a fresh folder with `examples/`.

Usage: python docs/scripts/check_docs.py [--write]

With `--write` outputs that differ are replaced by what was printed: read the diff, then commit.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from difflib import unified_diff
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def plain(text: str) -> list[str]:
    """Lines without trailing space, with ordinary spaces, without blank ends."""
    spaced = text.replace("\N{NO-BREAK SPACE}", " ").strip("\n")
    return [line.rstrip() for line in spaced.splitlines()]


# Outputs as shown and as printed, by page, where they differ.
CORRECTIONS: dict[Path, list[tuple[str, str]]] = {}


def difference(shown: str, printed: str, page: Path) -> str | None:
    """What differs between the page and the truth; None if nothing does."""
    lines = list(unified_diff(plain(shown), plain(printed), "page", "truth", lineterm=""))
    if lines:
        truth = "\n".join(plain(printed)) + "\n"
        CORRECTIONS.setdefault(page, []).append((shown, truth))
    return "\n".join(lines) or None


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def check_console(block: str, folder: Path, page: Path) -> Iterator[str]:
    """Run the commands of a block, in order."""
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {
        "PATH": scripts + os.pathsep + os.environ["PATH"],
        "COLUMNS": "80",  # help texts are as wide as the terminal
    }
    for command, shown in commands(block):
        done = subprocess.run(  # noqa: S602 - the docs are ours
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if shown.strip():
            wrong = difference(shown, done.stdout, page)
        else:
            wrong = done.stdout if done.returncode else None
        if wrong:
            yield f"$ {command}\n{wrong}"


def check_page(page: Path) -> list[str]:
    """Everything on a page that is not as shown."""
    found = list(FENCE.finditer(page.read_text(encoding="utf-8")))
    namespace: dict[str, object] = {}
    problems: list[str] = []
    with TemporaryDirectory() as name, chdir(name):
        shutil.copytree(ROOT / "examples", Path(name) / "examples")
        for index, match in enumerate(found):
            language, block = match.groups()
            if language == "console":
                problems += check_console(block, Path(name), page)
            elif language == "python":
                printed = StringIO()
                try:
                    with redirect_stdout(printed):
                        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102 - ours too
                except Exception as error:  # noqa: BLE001 - whatever a page raises is a finding
                    problems.append(f"{block}\n{type(error).__name__}: {error}")
                    continue
                below = found[index + 1] if index + 1 < len(found) else None
                if below is not None and below.group(1) == "text":
                    wrong = difference(below.group(2), printed.getvalue(), page)
                    problems += [f"{block}\n{wrong}"] if wrong else []
    return problems


def check_lists() -> Iterator[str]:
    """Cards and error codes that their page lacks."""
    metrics = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for card in sorted((ROOT / "src/seedproof/metrics/cards").glob("*.md")):
        if f'"{card.name}:' not in metrics:
            yield f"reference/metrics.md lacks the card {card.name}"
    summary = (ROOT / "docs/reference/summary-json.md").read_text(encoding="utf-8")
    import seedproof

    report = seedproof.measure(ROOT / "examples" / "predictions.csv")
    three = seedproof.measure([[0, 1, 2], [1, 1, 2]])
    for key in {**report.summary()["detail"], **three.summary()["detail"]}:
        if f"`{key}`" not in summary:
            yield f"reference/summary-json.md lacks {key}"
    codes = (ROOT / "docs/how-to/error-codes.md").read_text(encoding="utf-8")
    errors = (ROOT / "src/seedproof/errors.py").read_text(encoding="utf-8")
    for code in sorted(set(re.findall(r"SP\d{3}", errors))):
        if code not in codes:
            yield f"how-to/error-codes.md lacks {code}"


def main() -> None:
    """Check all pages; exit code 1 if one of them is wrong."""
    problems = list(check_lists())
    for page in PAGES:
        problems += [f"{page.relative_to(ROOT)}\n{problem}" for problem in check_page(page)]
    if "--write" in sys.argv[1:]:
        for page, corrections in CORRECTIONS.items():
            text = page.read_text(encoding="utf-8")
            for shown, truth in corrections:
                text = text.replace(shown, truth)
            page.write_text(text, encoding="utf-8")
    for problem in problems:
        print(f"\n{problem}", file=sys.stderr)
    if problems:
        sys.exit(f"\n{len(problems)} place(s) in the docs are not true.")
    print(f"{len(PAGES)} pages, every snippet as shown")


if __name__ == "__main__":
    main()
