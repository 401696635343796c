"""Texts of `seedproof demo`."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.demo.bundle import Bundle
from seedproof.messages import Message
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.text import STYLES
from seedproof.report.comparison.view import ComparisonView
from seedproof.report.numbers import sign
from seedproof.report.text import Prose
from seedproof.report.view import View

BASELINE, ARM = "none", "naswa"
# Sentences of the report that a newcomer understands first.
TOPICS = ("Accuracy", "Explanations")
METRICS = {
    "flip_rate": "answers that flip",
    "explanation_jaccard_20": "top words that vary",
    "probability_sd": "sd of probability",
    "accuracy": "accuracy",
    "accuracy_sd": "sd of accuracy",
}
# Positions of words instead of words, so nothing needs to be hidden.
SHOWN = ("tokens",)
# All runs agree, a few differ, split.
DOTS, DOT_STYLES, DOTS_PER_LINE = "·○●", ("dim", "blue", "bold dark_orange"), 50


def luck(view: View, n_runs: int, n_examples: int) -> Iterator[RenderableType]:
    """Describe the training, and what the seed decides."""
    yield Prose(
        f"These are real runs: we trained a small text classifier {n_runs} times to separate "
        "positive movie reviews from negative ones. Data and code are the same each time; only the "
        f"random seed differs. Then all {n_runs} models classified the same {n_examples:,} "
        "sentences from the test set of SST, the Stanford Sentiment Treebank."
    )
    yield Text()
    yield Prose(view.headline, style="bold")
    yield Text()
    yield from _dots(view.dots)
    yield Text()
    same, some, split = view.dots
    yield Prose(
        f"Of 100 sentences, all models agree on {same} ({DOTS[0]}), a few disagree on {some} "
        f"({DOTS[1]}), and on {split} the models are split more evenly than 3 to 1 ({DOTS[2]})."
    )
    for sentence in view.sentences:
        if sentence.topic in TOPICS:
            yield Text()
            yield Prose(sentence.text)
    yield Text()


def _dots(counts: tuple[int, int, int]) -> Iterator[Text]:
    groups = [group for group, count in enumerate(counts) for _ in range(count)]
    for start in range(0, len(groups), DOTS_PER_LINE):
        line = Text("  ")
        for group in groups[start : start + DOTS_PER_LINE]:
            line.append(DOTS[group], style=DOT_STYLES[group])
        yield line


def _epochs(bundle: Bundle, arm: str) -> str:
    """Return the epochs that were chosen on the dev set for the runs of an arm."""
    chosen = [run.scalars["epoch_chosen"] for run in bundle.runs if run.arm == arm]
    low, high = min(chosen), max(chosen)
    return f"epoch {low:g}" if low == high else f"epochs {low:g} to {high:g}"


def cautions(view: ComparisonView, matched: ComparisonView, bundle: Bundle) -> Message:
    """Return two reasons to read the comparison with care."""
    return Message(
        "demo-cautions",
        "Two cautions. The models of {arm!r} come from {epochs}, those of {baseline!r} from "
        "{baseline_epochs}, so the effects of averaging and longer training are not separated. And "
        "runs differ in how often they predict {class_name!r}: if all runs of an arm predicted it "
        "equally often, flips would change by {matched} instead of {change}.",
        arm=ARM,
        epochs=_epochs(bundle, ARM),
        baseline=BASELINE,
        baseline_epochs=_epochs(bundle, BASELINE),
        class_name=bundle.classes[1],
        matched=_flips(matched),
        change=_flips(view),
    )


def averaging(view: ComparisonView, caution: Message) -> Iterator[RenderableType]:
    """Describe what averaging the weights changes."""
    yield Prose(
        f"Can this be reduced? {ARM} is the same training with the same seeds, but after each "
        "epoch the model continues from a running average of its weights."
    )
    yield Text()
    yield Prose(view.headline, style="bold")
    yield Text()
    yield _effects(view)
    yield Prose(
        "sd: standard deviation over runs. The sd and the change in accuracy are in points. A "
        "change counts if its interval excludes 0. Answers that flip are the primary "
        "metric; the other rows are exploratory, with intervals that hold simultaneously.",
        style="dim",
    )
    yield Text()
    yield Prose(str(caution))
    yield Text()


def _flips(view: ComparisonView) -> str:
    """Return the change of the flip rate, with its interval."""
    cell = dict({block.metric: block for block in view.blocks}["flip_rate"].cells)[ARM]
    return f"{cell.change} {cell.interval}"


def _effects(view: ComparisonView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for name in (BASELINE, ARM, "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("interval", no_wrap=True)
    table.add_column("", no_wrap=True)
    blocks = {block.metric: block for block in view.blocks}
    for metric, words in METRICS.items():
        cell = dict(blocks[metric].cells)[ARM]
        # 80 columns have no room for the unit of points.
        values = (blocks[metric].baseline.value, cell.value, cell.change)
        verdict = Text(cell.verdict, style=STYLES[verdict_kind(cell.verdict)])
        numbers = (value.removesuffix(sign("points")) for value in values)
        table.add_row(words, *numbers, cell.interval, verdict)
    return table


def next_steps(store: str, report: Path, comparison: Path) -> Iterator[RenderableType]:
    """List the pages, and commands to try next."""
    pages = {
        str(report / "report.html"): "how much depends on the seed",
        str(comparison / "comparison.html"): "what averaging changes",
    }
    yield Text("Open the pages in a browser:", style="bold")
    yield from _listed(pages)
    yield Prose(
        "The pages work offline. We are not allowed to distribute the sentences of SST, so "
        "their words are left out: w3 is the third word of a sentence."
    )
    yield Text()
    yield Text("Three commands to try next:", style="bold")
    commands = {
        ("compare", store): "all metrics of the comparison",
        ("plan", "--pilot", store, "--arm", BASELINE, "--detect", "0.01"): (
            "how many seeds are needed to detect a one-point difference in accuracy?"
        ),
        ("gate", store, "--arm", ARM, "--max", "flip_rate=0.1"): (
            "can it ship? CI reads the exit code"
        ),
    }
    yield from _listed({command(*words): meaning for words, meaning in commands.items()})
    yield Text()
    yield Text("With your own predictions, from any framework:", style="bold")
    yield Text("  seedproof measure predictions.csv --out report")


def _listed(lines: dict[str, str]) -> Iterator[Text]:
    """Yield each line to copy, followed by its meaning."""
    for line, meaning in lines.items():
        yield Text(f"  {line}", no_wrap=True, overflow="ignore")
        yield Text(f"      {meaning}", style="dim")


def command(*words: str) -> str:
    """Return a command of seedproof."""
    return shlex.join(["seedproof", *words])
