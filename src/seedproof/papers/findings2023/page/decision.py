"""Which mitigation should I use? A page for one screen."""

from collections.abc import Mapping, Sequence
from typing import Any

from seedproof.papers.findings2023.page.advice import advice
from seedproof.papers.findings2023.page.choices import choices, choices_table
from seedproof.papers.findings2023.page.made import COMMAND
from seedproof.papers.findings2023.page.pareto import draw_pareto, points_of
from seedproof.papers.findings2023.page.reading import by_setting, heads
from seedproof.papers.page.document import Page
from seedproof.papers.page.words import listed, paragraphs

FILE_NAME = "which-mitigation.svg"
# Without the side bars, and with close rows, all of it is on a screen of 1280 × 800.
FRONT = "---\nhide:\n  - navigation\n  - toc\n---"
STYLE = """\
<style>
.md-main__inner { margin-top: 0; }
.md-typeset h1 { margin: 0 0 .2em; }
.md-typeset p, .md-typeset ul { margin: .4em 0; font-size: .66rem; line-height: 1.4; }
.md-typeset ul li { margin-bottom: .35em; }
.md-typeset__scrollwrap { clear: both; margin: 0 -.8rem; }
.md-typeset__table { margin-bottom: 0; }
.md-typeset table:not([class]) { font-size: .61rem; }
.md-typeset table:not([class]) th { min-width: 0; padding: .3em .6em; }
.md-typeset table:not([class]) td { padding: .3em .6em; white-space: nowrap; }
</style>"""
RULE = (
    "Each row has, of what one can afford, the arm with the largest cut on the data set where it "
    "cuts less; intervals hold together for all arms. Unless a row says otherwise, everything is "
    "trained anew in each run and no loss of accuracy is shown."
)
CODE = (
    "Code: [several heads](../how-to/several-heads.md), [soft labels](../how-to/soft-labels.md), "
    "[averages of weights](../how-to/average-weights.md); width, decay and a last layer of zeros "
    "are lines of your own model. Everything else: [the whole page]({page})."
)


def build_decision(
    results: Sequence[Mapping[str, Any]],
    *,
    folder: str = "findings2023",
    page: str = "findings2023.md",
) -> Page:
    """The page; the same bytes from the same results.

    Args:
        results: What `collect` gave, of all stores.
        folder: Where the page finds its image.
        page: The page with all figures.

    Returns:
        Text and image; little more than a link where no head was trained.
    """
    settings = by_setting(results)
    found = heads(settings)
    chosen, points = choices(settings), points_of(settings)
    names = [one.short_title for one in found]
    sentences = advice(found, chosen)
    seeds = listed(list(dict.fromkeys(one.seeds for one in found)))
    start = (
        f"From [our own table]({page}#all-arms): heads on a frozen encoder, {listed(names)}, "
        f"{seeds} runs an arm. The *flip rate* is the share of requests on which two trainings "
        "disagree; costs are multiples of one training, with the encoder."
        if found
        else f"No head was trained yet; see [what was]({page})."
    )
    title = f"Change of the flip rate against the extra cost of training, on {listed(names)}."
    text = paragraphs(
        (
            FRONT,
            "# Which mitigation should I use?",
            STYLE,
            start,
            f"![{title}]({folder}/{FILE_NAME}){{ align=right width=620 }}" if points else "",
            "\n".join(f"- {one}" for one in sentences),
            RULE if chosen else "No arm is shown to cut the flip rate on each data set.",
            CODE.format(page=page),
            choices_table(chosen, names),
            f"<!-- Made by `{COMMAND}`: do not edit. -->",
        )
    )
    return Page(text + "\n", {FILE_NAME: draw_pareto(points, title)} if points else {})
