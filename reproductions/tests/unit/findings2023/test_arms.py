from dataclasses import replace

import pytest

from seedproof.errors import UnknownNameError
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, GROUPS, arm_of
from seedproof_reproductions.findings2023.names import BASELINE


def test_arms_have_unique_trainings_and_titles():
    """The control comes first."""
    titles = {arm.title for arm in ARMS.values()}

    assert len(titles) == len(set(ARMS.values())) == len(ARMS)
    assert [name for group in GROUPS.values() for name in group.arms] == list(ARMS)
    assert next(iter(ARMS)) == BASELINE
    assert arm_of(BASELINE) == CONTROL
    with pytest.raises(UnknownNameError):
        arm_of("magic")


def test_arms_with_the_same_training_are_equal():
    """The title does not matter; a repeated draw is the same arm with another draw."""
    other = replace(CONTROL, title="something else")

    assert (other, hash(other)) == (CONTROL, hash(CONTROL))
    assert replace(other, width=8) != CONTROL
    assert GROUPS["redrawn"].arms
    for name, arm in GROUPS["redrawn"].arms.items():
        first, number = name.split("-draw-")
        assert arm == replace(ARMS[first], draw=int(number) - 1)
        assert arm.title == f"{ARMS[first].title} draw {number}"
