"""The whole page: the short answer, the goal, claims, tables, figures, and all arms."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.errors import EmptyInputError
from seedproof_reproductions.findings2023.page.all_arms import all_arms
from seedproof_reproductions.findings2023.page.answers import short_answer
from seedproof_reproductions.findings2023.page.claims import RULES, checked_claims
from seedproof_reproductions.findings2023.page.decision import build_decision
from seedproof_reproductions.findings2023.page.departures import banner, differences
from seedproof_reproductions.findings2023.page.figures import READING, drawn_figures
from seedproof_reproductions.findings2023.page.goal import goal
from seedproof_reproductions.findings2023.page.made import PAGE, decision_name, how_made, rebuild
from seedproof_reproductions.findings2023.page.notes import how_counted, limits
from seedproof_reproductions.findings2023.page.phrases import without_control
from seedproof_reproductions.findings2023.page.reading import SettingResults, by_setting
from seedproof_reproductions.findings2023.page.redraws import redraws
from seedproof_reproductions.findings2023.page.tables import printed_tables
from seedproof_reproductions.findings2023.published import published
from seedproof_reproductions.page.claims import (
    CheckedClaim,
    checks_table,
    claims_table,
    folded,
    tally,
)
from seedproof_reproductions.page.document import Page, assembled, write_files
from seedproof_reproductions.page.words import UNTOLD, UNTOLD_MEANS, paragraphs

LIMITS = "What limits these figures"


def build_page(
    results: Sequence[Mapping[str, Any]], *, path: str | os.PathLike[str] = PAGE
) -> Page:
    """The page of the reproduction; the same bytes from the same results.

    Args:
        results: What `collect` gave, of all stores.
        path: Where it will be; its images are in a folder beside it of the same name.

    Returns:
        Text and images.

    Raises:
        EmptyInputError: There are no results.
    """
    settings = by_setting(results)
    if not settings:
        raise EmptyInputError("There are no results to make a page of. Collect some first.")
    compared = [one for one in settings if one.has_control]
    figures = drawn_figures(compared, folder=Path(path).stem)
    claims = checked_claims(compared)
    answers = (short_answer(compared), tally(claims)) if compared else ()
    sections = {
        "The short answer": paragraphs((without_control(settings), *answers)),
        "The goal beyond the paper": goal(compared),
        "The claims, one by one": _claims(claims) if compared else "",
        "The paper's tables": printed_tables(compared) if compared else "",
        "The paper's figures": paragraphs((READING, *(one.text for one in figures)))
        if figures
        else "",
        "What runs share, drawn again": redraws(compared),
        "All arms": all_arms(settings),
        "How costs are counted": how_counted(settings),
        LIMITS: limits(settings),
        "What differs from the paper": differences(settings),
        "How this was made": how_made(settings, path),
    }
    if any(UNTOLD in content for content in sections.values()):
        sections[LIMITS] = paragraphs((sections[LIMITS], UNTOLD_MEANS))
    opening = (
        "# Findings of ACL 2023, reproduced",
        banner(settings),
        _about(settings, decision_name(path)),
    )
    return assembled(opening, sections, command=rebuild(settings, path), figures=figures)


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the page, the decision page beside it, and their images into a folder.

    Args:
        results: What `collect` gave, of all stores.
        path: The page, such as `docs/results/findings2023.md`.

    Returns:
        All files that were written, the pages first.
    """
    place = Path(path)
    page, decision = (build(results, path=path) for build in (build_page, build_decision))
    first, *images = write_files(Page(page.text, {**page.images, **decision.images}), place)
    beside = place.with_name(decision_name(path))
    beside.write_text(decision.text, encoding="utf-8")
    return first, beside, *images


def _about(settings: Sequence[SettingResults], decision: str) -> str:
    paper = published()["paper"]
    n_settings = "one setting" if len(settings) == 1 else f"{len(settings)} settings"
    n_runs = sum(arm["n_runs"] for one in settings for arm in one.own["arms"].values())
    return (
        f"[*{paper['title']}*]({paper['url']}) ({paper['authors']}, {paper['venue']}) trained "
        "classifiers of short requests again and again, with nothing but the random seed changed, "
        "and counted on which requests they disagree.\n"
        "To make them agree, it trains a student on what a teacher said from step to step: TGTSS.\n"
        f"We made {n_runs:,} runs in {n_settings}, by its methods and by others, and measured them "
        "with seedproof.\n"
        "Here is what the paper printed, what we found, and which of its claims hold.\n"
        "The *control* is training as usual, an *arm* is one way to train, and *fresh* and "
        "*shared* tell whether each run trained its own teacher.\n"
        f"To choose a method for your own model, see [which mitigation should I use?]({decision})."
    )


def _claims(claims: Sequence[CheckedClaim]) -> str:
    return paragraphs(
        (
            claims_table(claims),
            RULES,
            "The comparisons behind each verdict:",
            *(folded(one.claim["says"], checks_table(one.checks)) for one in claims if one.checks),
        )
    )
