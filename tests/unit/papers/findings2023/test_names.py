from seedproof.papers.findings2023.arms import ARMS, REDRAWN
from seedproof.papers.findings2023.names import ARMS as TITLES
from seedproof.papers.findings2023.names import title_of


def test_every_arm_has_a_title_without_a_comma_between_words():
    """Several stand in one sentence; only numbers have commas."""
    assert set(TITLES) == set(ARMS) - set(REDRAWN)
    titles = [title_of(arm) for arm in ARMS]
    assert len(set(titles)) == len(ARMS)
    assert not any(", " in title for title in titles)


def test_a_draw_is_named_after_its_arm():
    """An unknown name stays as it is."""
    assert title_of("tgtss-shared-draw-2") == "TGTSS (shared teacher) draw 2"
    assert title_of("something-new") == "something-new"
