"""Run every command and Python block of the docs, and compare their output with the page.

Also check that every metric card and every error code is on its page.

In a `console` block, lines that begin with `$ ` are commands, with their output below. A command
without output must succeed. The `python` blocks of a page run in one namespace; a `text` block
directly below must equal the output. A block with a `title` is the content of that file, and a
`diff` block with a title edits it. Blocks in other languages, such as `sh`, are not run. Each page
has a fresh folder with `examples/`.

In an output, `…` matches any text, including several lines. Below the comment
`<!-- numbers vary -->`, numbers are not compared, because training differs between machines.

Usage: python docs/scripts/check_docs.py [--write] [PAGE...]

With `--write`, outputs that differ are replaced by the actual output: read the diff, then commit.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from difflib import unified_diff
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<varies><!-- numbers vary -->\n+)?"
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# MLflow keeps its runs in the folder of the page, without a server, and sends nothing.
MLFLOW = {
    "MLFLOW_TRACKING_URI": "file:mlruns",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str | None
    text: str
    varies: bool


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(match["language"], match["title"], match["text"], match["varies"] is not None)
        for match in FENCE.finditer(page.read_text(encoding="utf-8"))
    ]


def plain(text: str) -> list[str]:
    """Return the lines without trailing spaces, no-break spaces and blank lines at both ends."""
    spaced = text.replace("\N{NO-BREAK SPACE}", " ").strip("\n")
    return [line.rstrip() for line in spaced.splitlines()]


def agrees(shown: str, printed: str, *, varies: bool) -> bool:
    """Return True if the output on a page matches the actual output."""
    page, truth = ("\n".join(plain(text)) for text in (shown, printed))
    if varies:
        # A number of another width changes the alignment and the line breaks.
        page, truth = (" ".join(NUMBER.sub("0", text).split()) for text in (page, truth))
    return re.fullmatch(re.escape(page).replace("…", ".*"), truth, re.DOTALL) is not None


# Outputs that differ, by page: as shown and as printed.
CORRECTIONS: dict[Path, list[tuple[str, str]]] = {}


def difference(shown: str, printed: str, page: Path, *, varies: bool, above: str) -> str | None:
    """Return the diff between the page and the actual output; None if they match.

    The line above the output identifies its position on the page.
    """
    if agrees(shown, printed, varies=varies):
        return None
    truth = "\n".join(plain(printed)) + "\n"
    CORRECTIONS.setdefault(page, []).append((f"{above}\n{shown}", f"{above}\n{truth}"))
    lines = unified_diff(plain(shown), plain(printed), "page", "truth", lineterm="")
    return "\n".join(lines)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def check_console(block: Block, page: Path) -> Iterator[str]:
    """Run the commands of a block in order, and yield problems."""
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {
        "PATH": scripts + os.pathsep + os.environ["PATH"],
        "COLUMNS": "80",  # help texts are as wide as the terminal
    }
    for command, shown in commands(block.text):
        done = subprocess.run(  # noqa: S602 - the docs are ours
            command,
            shell=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if shown.strip():
            above = f"$ {command}"
            wrong = difference(shown, done.stdout, page, varies=block.varies, above=above)
        else:
            wrong = f"exit code {done.returncode}\n{done.stdout}" if done.returncode else None
        if wrong:
            yield f"$ {command}\n{wrong}"


def check_python(block: Block, below: Block | None, page: Path, names: dict[str, object]) -> str:
    """Run a block; return the problem with it or its output, empty if there is none."""
    printed, errors = StringIO(), StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(errors):
            exec(compile(block.text, page.name, "exec"), names)  # noqa: S102 - the docs are ours
    except Exception as error:  # noqa: BLE001 - report every exception
        return f"{block.text}\n{errors.getvalue()}{type(error).__name__}: {error}"
    if below is None or below.language != "text":
        return ""
    wrong = difference(below.text, printed.getvalue(), page, varies=below.varies, above="```text")
    return f"{block.text}\n{wrong}" if wrong else ""


def edit(title: str, changes: str) -> str:
    """Apply a `diff` block to a file; return the problem, empty if there is none."""
    lines = [f"{line or ' '}\n" for line in changes.splitlines()]
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    file = Path(title)
    text = file.read_text(encoding="utf-8")
    if text.count(before) != 1:
        return f"{title} does not contain these lines exactly once:\n{before}"
    file.write_text(text.replace(before, after), encoding="utf-8")
    return ""


def check_page(page: Path) -> list[str]:
    """Return all problems of a page."""
    blocks = blocks_of(page)
    # Functions of a page are sent to other processes like those of a main program.
    names: dict[str, object] = {"__name__": "__main__"}
    problems: list[str] = []
    with TemporaryDirectory() as name, chdir(name):
        shutil.copytree(ROOT / "examples", "examples")
        for block, below in zip_longest(blocks, blocks[1:]):
            if block.language == "console":
                problems += check_console(block, page)
            elif block.language == "diff" and block.title is not None:
                problems.append(edit(block.title, block.text))
            elif block.title is not None:
                file = Path(block.title)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                problems.append(check_python(block, below, page, names))
    return [problem for problem in problems if problem]


def check_lists() -> Iterator[str]:
    """Yield metric cards, summary keys and error codes that are missing from their pages."""
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


def check_pages(pages: list[Path]) -> list[list[str]]:
    """Return the problems of each page; check two in parallel unless corrections are collected."""
    if "--write" in sys.argv[1:] or len(pages) == 1:
        return [check_page(page) for page in pages]
    with ProcessPoolExecutor(max_workers=2) as pool:
        return list(pool.map(check_page, pages))


def main() -> None:
    """Check all pages, or the given ones; exit with code 1 if there is a problem."""
    os.environ.update(MLFLOW)
    chosen = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    pages = chosen or PAGES
    problems = [] if chosen else list(check_lists())
    for page, page_problems in zip(pages, check_pages(pages), strict=True):
        problems += [f"{page.relative_to(ROOT)}\n{problem}" for problem in page_problems]
    if "--write" in sys.argv[1:]:
        for page, corrections in CORRECTIONS.items():
            text = page.read_text(encoding="utf-8")
            for shown, truth in corrections:
                text = text.replace(shown, truth)
            page.write_text(text, encoding="utf-8")
    for problem in problems:
        print(f"\n{problem}", file=sys.stderr)
    if problems:
        sys.exit(f"\n{len(problems)} problem(s) in the docs.")
    print(f"{len(pages)} pages, all snippets match")


if __name__ == "__main__":
    main()
