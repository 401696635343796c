"""The whole page: the short answer, claims, tables, figures, and how it was made."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.errors import EmptyInputError
from seedproof_reproductions.conll2019.names import DATASETS
from seedproof_reproductions.conll2019.page.claims import checked_claims
from seedproof_reproductions.conll2019.page.departures import banner
from seedproof_reproductions.conll2019.page.differences import differences
from seedproof_reproductions.conll2019.page.figures import READING, drawn_figures
from seedproof_reproductions.conll2019.page.further import further_arms
from seedproof_reproductions.conll2019.page.headline import headline
from seedproof_reproductions.conll2019.page.made import COMMAND, how_made
from seedproof_reproductions.conll2019.page.reading import SettingResults, by_setting
from seedproof_reproductions.conll2019.page.tables import accuracy_tables, flip_table, matched_table
from seedproof_reproductions.conll2019.page.top_words import other_readings
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.page.claims import (
    CheckedClaim,
    checks_table,
    claims_table,
    folded,
    tally,
)
from seedproof_reproductions.page.document import Page, assembled, write_files
from seedproof_reproductions.page.words import UNTOLD_MEANS, listed, paragraphs

RULES = """\
A verdict follows from an interval by a rule, never by hand.
A cut of a stated size *holds here* if a cut is shown, its interval reaches that size, and both \
its ends are within a factor of two of the ratio that we found.
If they are not, *a cut is shown, its size is open*.
It *does not hold here* if the interval ends short of that size.
A direction holds if the whole interval lies on that side.
It does not if the whole interval lies on the other.
"Almost no loss" is a loss of less than half a point.
A value holds if it is in an interval that is known to a factor of two, and a range if it contains \
the interval; neither holds if the interval lies outside.
A published sd is an estimate from ten seeds, too, which is allowed for before it does not hold.
With two runs an interval is over texts alone, and says nothing of a value or a range.
That tokens "differ" is judged by the Jaccard distance: of the words that either of two seeds \
names, the share that only one of them names.
Two other readings stand beside it, with their figures: the top 10 % in place of 20 %, and of one \
seed's top words the share that another does not name.
Everything else is *not shown here*: the interval tells how much is still possible."""

# The claim that can be read in several ways.
DIFFER = "top-tokens-differ"


def build_page(results: Sequence[Mapping[str, Any]], *, folder: str = "conll2019") -> Page:
    """The page of the reproduction; the same bytes from the same results.

    Args:
        results: What `collect` gave, of all stores.
        folder: Where the page finds its images.

    Returns:
        Text and images.

    Raises:
        EmptyInputError: There are no results.
    """
    settings = by_setting(results)
    if not settings:
        raise EmptyInputError("There are no results to make a page of. Collect some first.")
    figures, claims = drawn_figures(settings, folder=folder), checked_claims(settings)
    sections = {
        "The short answer": paragraphs((headline(settings[0]), tally(claims))),
        "The claims, one by one": _claims(claims, settings),
        "Accuracy and flips": _accuracy(settings),
        "Curves": paragraphs((READING, *(one.text for one in figures))),
        "Further averages": further_arms(max(settings, key=lambda one: len(one.arms))),
        "What differs from the paper": differences(settings),
        "How this was made": how_made(settings),
    }
    opening = ("# CoNLL 2019, reproduced", banner(settings), _about(settings))
    return assembled(opening, sections, command=COMMAND, figures=figures)


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the page, and its images into a folder beside it.

    Args:
        results: What `collect` gave, of all stores.
        path: The page, such as `docs/results/conll2019.md`.

    Returns:
        All files that were written, the page first.
    """
    return write_files(build_page(results, folder=Path(path).stem), path)


def _about(settings: Sequence[SettingResults]) -> str:
    paper = published()["paper"]
    n_settings = "one setting" if len(settings) == 1 else f"{len(settings)} settings"
    n_runs = sum(arm["n_runs"] for one in settings for arm in one.own["arms"].values())
    return (
        f"[*{paper['title']}*]({paper['url']}) ({paper['authors']}, {paper['venue']}) trained text "
        "classifiers again and again, with nothing but the random seed changed.\n"
        "Accuracy moved, and so did the words that the models gave as their reasons.\n"
        "Two ways to average weights in training, ASWA and NASWA, were to make both steadier.\n"
        f"We trained {n_runs} models by the same recipe, in {n_settings}, and measured "
        "them with seedproof.\n"
        "Here is what the paper printed, what we found, and which of its claims hold.\n"
        "*None* means training without an average, and an *arm* is one way to train."
    )


def _claims(claims: Sequence[CheckedClaim], settings: Sequence[SettingResults]) -> str:
    covered = {check.dataset for one in claims for check in one.checks}
    nowhere = [title for name, title in DATASETS.items() if name not in covered]
    return paragraphs(
        (
            claims_table(claims),
            RULES,
            f"{listed(nowhere)} are covered nowhere on this page." if nowhere else "",
            "The comparisons behind each verdict:",
            *(_claim(one, nowhere, settings) for one in claims if one.checks),
        )
    )


def _claim(one: CheckedClaim, nowhere: Sequence[str], settings: Sequence[SettingResults]) -> str:
    """The comparisons behind a claim's verdict, to be unfolded."""
    missing = [title for title in one.missing if title not in nowhere]
    content = paragraphs(
        (
            checks_table(one.checks),
            f"Not covered: {listed(missing)}." if missing else "",
            other_readings(settings, *one.claim["value"]) if one.claim["name"] == DIFFER else "",
        )
    )
    return folded(one.claim["says"], content)


def _accuracy(settings: Sequence[SettingResults]) -> str:
    published_first = (
        "Published is mean ±sd over ten seeds, in percent, without an interval.\n"
        "Changes are against *none*, with the verdicts of `seedproof compare`.\n" + UNTOLD_MEANS
    )
    flips = (
        "The flip rate is the share of texts on which two seeds disagree.\n"
        "The last column is the sd that accuracy would have if every text flipped by itself.\n"
        "An sd whose whole interval is above it shows that texts move together."
    )
    return paragraphs(
        (
            published_first,
            accuracy_tables(settings),
            "### Flips, which the paper does not count",
            flips,
            flip_table(settings),
            *_same_share(settings),
        )
    )


def _same_share(settings: Sequence[SettingResults]) -> tuple[str, ...]:
    rows = matched_table(settings)
    if not rows:
        return ()
    about = (
        "Here all runs of an arm give the second class, which is “positive” on SST, to equally "
        "many texts, as told in the short answer."
    )
    return "### Flips and sd with the same share of positive answers", about, rows
