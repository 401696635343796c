"""Which mitigation should I use? A page for one screen."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.page.advice import advice, levels
from seedproof_reproductions.findings2023.page.choices import ENOUGH, choices, choices_table
from seedproof_reproductions.findings2023.page.departures import in_short
from seedproof_reproductions.findings2023.page.made import PAGE, rebuild
from seedproof_reproductions.findings2023.page.pareto import draw_pareto, points_of
from seedproof_reproductions.findings2023.page.phrases import without_control
from seedproof_reproductions.findings2023.page.reading import SettingResults, by_setting, heads
from seedproof_reproductions.page.document import Page
from seedproof_reproductions.page.words import listed, paragraphs

FILE_NAME = "which-mitigation.svg"
# Without the side bars, and with close rows, all of it is on a screen of 1280 × 800.
FRONT = "---\nhide:\n  - navigation\n  - toc\n---"
STYLE = """\
<style>
.md-main__inner { margin-top: 0; }
.md-typeset h1 { margin: 0; font-size: 1.3rem; }
.md-typeset p, .md-typeset ul { margin: .35em 0; font-size: .63rem; line-height: 1.35; }
.md-typeset ul li { margin-bottom: .25em; }
.md-typeset__scrollwrap { clear: both; margin: 0 -.8rem; }
.md-typeset__table { margin-bottom: 0; }
.md-typeset table:not([class]) { font-size: .57rem; }
.md-typeset table:not([class]) th { min-width: 0; padding: .2em .5em; }
.md-typeset table:not([class]) td { padding: .2em .5em; white-space: nowrap; }
.md-typeset table:not([class]) code { padding: 0; }
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
    results: Sequence[Mapping[str, Any]], *, path: str | os.PathLike[str] = PAGE
) -> Page:
    """The page; the same bytes from the same results.

    Args:
        results: What `collect` gave, of all stores.
        path: The page with all figures; its folder has the image.

    Returns:
        Text and image; little more than a link where no head was trained, and no advice where
        runs are too few for it.
    """
    settings = by_setting(results)
    compared = [one for one in settings if one.has_control]
    found, place = heads(compared), Path(path)
    can_advise = bool(found) and all(one.n_runs >= ENOUGH["head"] for one in found)
    chosen = choices(compared) if can_advise else ()
    points = points_of(compared) if can_advise else ()
    names = [one.short_title for one in found]
    title = f"Change of the flip rate against the extra cost of training, on {listed(names)}."
    picture = f"![{title}]({place.stem}/{FILE_NAME}){{ align=right width=590 }}"
    text = paragraphs(
        (
            FRONT,
            "# Which mitigation should I use?",
            STYLE,
            in_short(settings),
            _start(settings, found, place.name),
            picture if points else "",
            "\n".join(f"- {one}" for one in (advice(compared, chosen) if can_advise else ())),
            _rule(found, can_advise=can_advise, is_chosen=bool(chosen)),
            CODE.format(page=place.name),
            choices_table(chosen, names),
            f"<!-- Made by `{rebuild(settings, path)}`: do not edit. -->",
        )
    )
    recommended = [one.candidate.arm for one in chosen]
    images = {FILE_NAME: draw_pareto(points, title, recommended)} if points else {}
    return Page(text + "\n", images)


def _start(settings: Sequence[SettingResults], found: Sequence[SettingResults], page: str) -> str:
    """What the page is made from, and its words."""
    missing = without_control(heads(settings))
    if not found:
        return missing or f"No head was trained yet; see [what was]({page})."
    seeds = listed(list(dict.fromkeys(one.seeds for one in found)))
    names = [one.short_title for one in found]
    told = (
        f"From [our own table]({page}#all-arms): heads on a frozen encoder, {listed(names)}, "
        f"{seeds} runs an arm. The *flip rate* is the share of requests on which two trainings "
        f"disagree: {levels(found, BASELINE, 'flip_rate')} with training as usual. Costs are "
        "multiples of one training, with the encoder."
    )
    return paragraphs((missing, told))


def _rule(found: Sequence[SettingResults], *, can_advise: bool, is_chosen: bool) -> str:
    """How rows were chosen, or why there are none."""
    if not found:
        return ""
    if not can_advise:
        return (
            f"With fewer than {ENOUGH['head']} runs an arm nothing is advised here: what looks "
            "best of so few is often luck. Train more seeds."
        )
    return RULE if is_chosen else "No arm is shown to cut the flip rate on each data set."
