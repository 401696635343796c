"""Which arms are compared together: intervals widen with the number of questions asked.

The paper asks about two averages. What else was trained beside them must not make its answers
harder to show, so that ASWA and NASWA are compared with `none` as if they were alone; further arms
are compared among all of them, as `seedproof compare` does with the store.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from seedproof.comparison.arms.compare import compare_sides
from seedproof.comparison.arms.result import ComparedArm
from seedproof.comparison.sides import Reading, open_sides
from seedproof.records.columns import Columns
from seedproof.records.location import Location

BASELINE = "none"
# The paper says that the second is steadier than the first.
RIVALS = ("aswa", "naswa")
# No table is read here, so that nothing is sorted in it.
MEMORY = 10**9


def compared_arms(
    store: str | os.PathLike[str], arms: Sequence[str], *, split: str
) -> dict[str, ComparedArm]:
    """What each arm changes against the baseline.

    Args:
        store: The store of a study.
        arms: Its arms with at least two runs.
        split: Which split.

    Returns:
        The paper's two, compared by themselves, then the others; nothing without a baseline.
    """
    if BASELINE not in arms:
        return {}
    papers = [arm for arm in RIVALS if arm in arms]
    others = [arm for arm in arms if arm not in (BASELINE, *RIVALS)]
    found = _compared(store, (BASELINE, *papers), split) if papers else {}
    if others:
        of_all = _compared(store, (BASELINE, *papers, *others), split)
        found = {**{arm: of_all[arm] for arm in others}, **found}
    return found


def compared_rivals(
    store: str | os.PathLike[str], arms: Sequence[str], *, split: str
) -> ComparedArm | None:
    """What NASWA changes against ASWA; None unless both are there."""
    if not set(RIVALS) <= set(arms):
        return None
    return _compared(store, RIVALS, split)[RIVALS[1]]


def _compared(
    store: str | os.PathLike[str], arms: Sequence[str], split: str
) -> dict[str, ComparedArm]:
    """All arms against the first of them."""
    with TemporaryDirectory(prefix="seedproof-") as working:
        reading = Reading(columns=Columns(), working=Path(working), memory=MEMORY, split=split)
        sides = [
            side for side in open_sides([os.fspath(store)], arms[0], reading) if side.name in arms
        ]
        result = compare_sides(sides, Location.of(working))
    return {one.name: one for one in result.arms}
