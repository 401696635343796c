from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.names import BASELINE, title_of


def test_a_title_stands_for_a_name():
    """Also of a draw; an unknown name stays as it is."""
    assert title_of("tgtss-shared-draw-2") == "TGTSS (shared teacher) draw 2"
    assert title_of("something-new") == "something-new"


def test_the_baseline_is_the_control():
    """And no other arm trains as it does."""
    assert [name for name, arm in ARMS.items() if arm == CONTROL] == [BASELINE]
