"""Run every command and every Python block of the docs, and compare what they print.

Also see that every metric card and every error code is on its page.

In a `console` block the lines that begin with `$ ` are run and the lines below must be their
output; a command without output shown must succeed. `python` blocks of a page run one after the
other in one namespace; a `text` block right below one must be what it prints. A block with a
`title` is the content of a file of that name, and a `diff` block with one is an edit of that file.
A block whose fence has any other language, such as `sh`, is not run. Each page has a fresh folder
with `examples/`.

In an output `…` stands for whatever is there, be it several lines. Below the comment
`<!-- numbers vary -->` numbers are not compared: a training gives others on another machine.

Usage: python docs/scripts/check_docs.py [--write] [PAGE...]

With `--write` outputs that differ are replaced by what was printed: read the diff, then commit.
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
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str | None
    text: str
    varies: bool


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(match["language"], match["title"], match["text"], match["varies"] is not None)
        for match in FENCE.finditer(page.read_text(encoding="utf-8"))
    ]


def plain(text: str) -> list[str]:
    """Lines without trailing space, with ordinary spaces, without blank ends."""
    spaced = text.replace("\N{NO-BREAK SPACE}", " ").strip("\n")
    return [line.rstrip() for line in spaced.splitlines()]


def agrees(shown: str, printed: str, *, varies: bool) -> bool:
    """Whether the text on a page stands for the text that was printed."""
    page, truth = ("\n".join(plain(text)) for text in (shown, printed))
    if varies:
        # A number of another width moves what is right of it, or onto the next line.
        page, truth = (" ".join(NUMBER.sub("0", text).split()) for text in (page, truth))
    return re.fullmatch(re.escape(page).replace("…", ".*"), truth, re.DOTALL) is not None


# Outputs as shown and as printed, by page, where they differ.
CORRECTIONS: dict[Path, list[tuple[str, str]]] = {}


def difference(shown: str, printed: str, page: Path, *, varies: bool, above: str) -> str | None:
    """What differs between the page and the truth; None if nothing does.

    The line above the output says where on the page it is.
    """
    if agrees(shown, printed, varies=varies):
        return None
    truth = "\n".join(plain(printed)) + "\n"
    CORRECTIONS.setdefault(page, []).append((f"{above}\n{shown}", f"{above}\n{truth}"))
    lines = unified_diff(plain(shown), plain(printed), "page", "truth", lineterm="")
    return "\n".join(lines)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def check_console(block: Block, page: Path) -> Iterator[str]:
    """Run the commands of a block, in order."""
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
    """Run a block; what is wrong with it or with the output below it, empty if nothing is."""
    printed, complaints = StringIO(), StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(complaints):
            exec(compile(block.text, page.name, "exec"), names)  # noqa: S102 - the docs are ours
    except Exception as error:  # noqa: BLE001 - whatever a page raises is a finding
        return f"{block.text}\n{complaints.getvalue()}{type(error).__name__}: {error}"
    if below is None or below.language != "text":
        return ""
    wrong = difference(below.text, printed.getvalue(), page, varies=below.varies, above="```text")
    return f"{block.text}\n{wrong}" if wrong else ""


def edit(title: str, changes: str) -> str:
    """Replace the lines of a `diff` block in a file; what is wrong, empty if nothing is."""
    lines = [f"{line or ' '}\n" for line in changes.splitlines()]
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    file = Path(title)
    text = file.read_text(encoding="utf-8")
    if text.count(before) != 1:
        return f"{title} does not hold these lines once:\n{before}"
    file.write_text(text.replace(before, after), encoding="utf-8")
    return ""


def check_page(page: Path) -> list[str]:
    """Everything on a page that is not as shown."""
    blocks = blocks_of(page)
    # Functions of a page travel to other processes as those of a main program do.
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
                Path(block.title).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                problems.append(check_python(block, below, page, names))
    return [problem for problem in problems if problem]


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


def check_pages(pages: list[Path]) -> list[list[str]]:
    """What is wrong on each page; two at a time, unless corrections are to be kept."""
    if "--write" in sys.argv[1:] or len(pages) == 1:
        return [check_page(page) for page in pages]
    with ProcessPoolExecutor(max_workers=2) as pool:
        return list(pool.map(check_page, pages))


def main() -> None:
    """Check all pages, or those that are named; exit code 1 if one of them is wrong."""
    chosen = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    pages = chosen or PAGES
    problems = [] if chosen else list(check_lists())
    for page, found in zip(pages, check_pages(pages), strict=True):
        problems += [f"{page.relative_to(ROOT)}\n{problem}" for problem in found]
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
    print(f"{len(pages)} pages, every snippet as shown")


if __name__ == "__main__":
    main()
