from dataclasses import replace

import pytest

from seedproof.errors import UnknownNameError
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, GROUPS, arm_of
from seedproof_reproductions.findings2023.names import BASELINE


def test_every_arm_has_a_training_and_a_title_of_its_own():
    """The control comes first."""
    titles = {arm.title for arm in ARMS.values()}

    assert len(titles) == len(set(ARMS.values())) == len(ARMS)
    assert [name for group in GROUPS.values() for name in group.arms] == list(ARMS)
    assert next(iter(ARMS)) == BASELINE
    assert arm_of(BASELINE) == CONTROL
    with pytest.raises(UnknownNameError):
        arm_of("magic")


def test_arms_that_train_alike_are_equal_whatever_their_title():
    """Trainings are found again by their arm; a draw is its arm with another draw."""
    other = replace(CONTROL, title="something else")

    assert (other, hash(other)) == (CONTROL, hash(CONTROL))
    assert replace(other, width=8) != CONTROL
    assert GROUPS["redrawn"].arms
    for name, arm in GROUPS["redrawn"].arms.items():
        first, number = name.split("-draw-")
        assert arm == replace(ARMS[first], draw=int(number) - 1)
        assert arm.title == f"{ARMS[first].title} draw {number}"
