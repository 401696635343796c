from dataclasses import replace

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, GROUPS


def test_every_arm_has_a_title_without_a_comma_between_words():
    """Several stand in one sentence; only numbers have commas."""
    titles = [arm.title for arm in ARMS.values()]

    assert all(titles)
    assert len(set(titles)) == len(ARMS)
    assert not any(", " in title for title in titles)


def test_every_arm_is_in_one_group():
    """The control in the first."""
    grouped = [name for group in GROUPS.values() for name in group.arms]

    assert grouped == list(ARMS)
    assert grouped[0] == "none"


def test_no_two_arms_train_alike():
    """Two names of the same arm would be trained twice."""
    assert len(set(ARMS.values())) == len(ARMS)


def test_arms_that_train_alike_are_equal_whatever_they_are_called():
    """Trainings are found again by their arm."""
    other = replace(CONTROL, title="something else")

    assert other == CONTROL
    assert hash(other) == hash(CONTROL)
    assert replace(other, width=8) != CONTROL


def test_a_draw_is_its_arm_with_another_draw():
    """And is called so."""
    assert GROUPS["redrawn"].arms
    for name, arm in GROUPS["redrawn"].arms.items():
        first, number = name.split("-draw-")
        assert arm == replace(ARMS[first], draw=int(number) - 1)
        assert arm.title == f"{ARMS[first].title} draw {number}"


def test_titles_tell_all_levers_of_an_arm():
    """Whoever reads "linear head" alone would take decay, zeros and epochs for its doing."""
    words = {"decay": "decay", "zero_last": "zero last", "fixed_init": "fixed init"}

    for arm in ARMS.values():
        for lever, told in words.items():
            assert (told in arm.title) == getattr(arm, lever)
        assert (arm.epochs == 2) == any(told in arm.title for told in ("2× ", "twice"))
        assert (arm.width == 0) == ("linear" in arm.title)
        assert (arm.width == 1024) == ("width 1,024" in arm.title)
        assert (arm.n_heads > 1) == (f"{arm.n_heads} heads" in arm.title)
