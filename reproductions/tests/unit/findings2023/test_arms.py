from dataclasses import replace

import pytest

from seedproof.errors import UnknownNameError
from seedproof_reproductions.findings2023 import recipe
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, GROUPS, arm_of


def test_every_arm_has_a_training_and_a_title_of_its_own():
    """Titles stand in one sentence: only numbers have commas. The control comes first."""
    titles = [arm.title for arm in ARMS.values()]

    assert all(titles)
    assert len(set(titles)) == len(set(ARMS.values())) == len(ARMS)
    assert not any(", " in title for title in titles)
    assert [name for group in GROUPS.values() for name in group.arms] == list(ARMS)
    assert next(iter(ARMS)) == "none"
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


@pytest.mark.parametrize("name", ARMS)
def test_a_title_names_all_levers_of_an_arm(name):
    """Otherwise "linear head" would hide decay, zeros and epochs."""
    arm = ARMS[name]
    words = {"decay": "decay", "zero_last": "zero last", "fixed_init": "fixed init"}

    for lever, word in words.items():
        assert (word in arm.title) == getattr(arm, lever)
    assert (arm.epochs == 2) == any(word in arm.title for word in ("2× ", "twice"))
    assert (arm.width == 0) == ("linear" in arm.title)
    assert (arm.width == 1024) == ("width 1,024" in arm.title)
    assert (arm.n_heads > 1) == (f"{arm.n_heads} heads" in arm.title)


@pytest.mark.parametrize(
    ("arms", "engine", "numbers"),
    [
        (recipe.ARMS_OF_TRACK["head"], "serial", {"16", "10"}),
        (("none", "heads-4"), "serial", {"4"}),
        # Its 200 teachers are trained once per process, for all of its runs.
        (("none", "ensemble-shared", "label-smoothing-0.1"), "serial", set()),
        (("none", "ensemble-shared"), "processes", {"200"}),
    ],
)
def test_what_makes_arms_slow_are_heads_and_teachers_of_a_run(arms, engine, numbers):
    """The most of each among the arms."""
    assert {word for word in recipe._slow(arms, engine).split() if word.isdigit()} == numbers
