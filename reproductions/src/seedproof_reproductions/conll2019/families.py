"""Which arms are compared together: intervals widen with the number of questions asked.

The paper asks about two averages. What else was trained beside them must not make its answers
harder to show, so that ASWA and NASWA are compared with `none` as if they were alone. Where all
arms stand side by side they are compared once more, among all of them, as `seedproof compare` does
with the store.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from seedproof.comparison.arms.compare import Side, compare_sides
from seedproof.comparison.arms.result import ComparedArm
from seedproof.records.location import Location
from seedproof_reproductions.conll2019.names import BASELINE, PAPER_ARMS
from seedproof_reproductions.sides import sides_of


@dataclass(frozen=True, eq=False)
class Families:
    """Arms beside the baseline.

    Args:
        asked: Every arm, the baseline too: the paper's two compared by themselves, the others among
            all. Empty without a baseline and another arm.
        of_all: The paper's two, compared among all; empty if there is no further arm.
    """

    asked: Mapping[str, ComparedArm] = field(default_factory=dict)
    of_all: Mapping[str, ComparedArm] = field(default_factory=dict)


def open_arms(store: str | os.PathLike[str], arms: Sequence[str], *, split: str) -> list[Side]:
    """The arms of a store, to be compared.

    Args:
        store: The store of a study.
        arms: Its arms with at least two runs.
        split: Which split.

    Returns:
        The baseline first; nothing without it, or with it alone.
    """
    if BASELINE not in arms or len(arms) < 2:
        return []
    return sides_of(store, baseline=BASELINE, split=split)


def compared_families(sides: Sequence[Side]) -> Families:
    """What each arm changes against the baseline.

    Args:
        sides: The baseline, then the others.

    Returns:
        Both readings of it.
    """
    papers = [side for side in sides if side.name in (BASELINE, *PAPER_ARMS)]
    if len(sides) < 2:
        return Families()
    if len(papers) == len(sides):
        return Families(_compared(sides))
    among_all = _compared(sides)
    if len(papers) == 1:
        return Families(among_all)
    found = _compared(papers)
    of_all = {arm: among_all[arm] for arm in found if arm != BASELINE}
    return Families({**among_all, **found}, of_all)


def compared_rivals(sides: Sequence[Side]) -> ComparedArm | None:
    """What NASWA changes against ASWA; None unless both are there."""
    found = {side.name: side for side in sides}
    if not set(PAPER_ARMS) <= set(found):
        return None
    return _compared([found[arm] for arm in PAPER_ARMS])[PAPER_ARMS[1]]


def _compared(sides: Sequence[Side]) -> dict[str, ComparedArm]:
    """All arms against the first of them."""
    with TemporaryDirectory(prefix="seedproof-") as working:
        result = compare_sides(sides, Location.of(working))
    return {one.name: one for one in (result.baseline, *result.arms)}
