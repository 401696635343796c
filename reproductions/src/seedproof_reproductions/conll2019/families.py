"""Arms that are compared together: intervals widen with the number of comparisons.

The paper asks about two averages. Further arms must not make its claims harder to show, so ASWA and
NASWA are compared with `none` as if they were alone. They are compared once more among all arms, as
`seedproof compare` does with the store. Each metric is judged alone, as the paper names it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seedproof.comparison.arms.compare import ArmData
from seedproof.comparison.arms.result import ComparedArm
from seedproof.records.schema import Kind
from seedproof_reproductions.conll2019.names import BASELINE, PAPER_ARMS, UNPAIRED
from seedproof_reproductions.runs import compare_with_first


class Families(NamedTuple):
    """Arms compared with the baseline: the paper's two by themselves, and among all arms."""

    alone: Mapping[str, ComparedArm] = {}
    of_all: Mapping[str, ComparedArm] = {}


def compared_families(sides: Sequence[ArmData], *, match_rates: bool = False) -> Families:
    """Compare each arm with the baseline, which comes first; nothing without another arm.

    Rates are matched where arms have probabilities of two classes; other arms are left out.
    """
    if match_rates:
        sides = [side for side in sides if has_one_threshold(side)]
    papers = [side for side in sides if side.name in (BASELINE, *PAPER_ARMS)]
    if len(sides) < 2:
        return Families()
    among_all = compare_with_first(sides, match_rates=match_rates, unpaired=UNPAIRED)
    if len(papers) in (1, len(sides)):
        return Families(among_all)
    alone = compare_with_first(papers, match_rates=match_rates, unpaired=UNPAIRED)
    of_all = {arm: among_all[arm] for arm in alone if arm != BASELINE}
    return Families({**among_all, **alone}, of_all)


def has_one_threshold(side: ArmData) -> bool:
    """Return True for probabilities of two classes, whose threshold can be moved."""
    return len(side.source.classes) == 2 and side.source.kind is Kind.PROBS


def compared_rivals(sides: Sequence[ArmData]) -> ComparedArm | None:
    """Compare NASWA with ASWA; None unless both are there."""
    named = {side.name: side for side in sides}
    if not set(PAPER_ARMS) <= set(named):
        return None
    return compare_with_first([named[arm] for arm in PAPER_ARMS], unpaired=UNPAIRED)[PAPER_ARMS[1]]
