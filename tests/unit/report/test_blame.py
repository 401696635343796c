"""What is said of shares: only what the figures support."""

import pytest

from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.shares import Share, Shares
from seedproof.report.blame import BlameReport

SURE = Share(0.3, 0.2, 0.4)


def report(*, n_blocks=10, **changes):
    """Ten blocks in which nothing is remarkable, but for what is changed."""
    shares = {
        "apart": 0.067,
        "first": {"init": SURE, "order": SURE},
        "total": {"init": Share(0.7, 0.6, 0.8), "order": Share(0.7, 0.6, 0.8)},
        "interaction": Share(0.1, 0.0, 0.3),
        "most": None,
    }
    flips = Shares(**(shares | changes))
    return BlameReport(Blame(("init", "order"), 4 * n_blocks, n_blocks, 500, flips, None))


def text_of(found):
    """What a terminal shows, on one line and with ordinary spaces."""
    return " ".join(str(found).replace("\N{NO-BREAK SPACE}", " ").split())


def test_the_flips_that_are_shared_out_stand_first():
    """With the size of the study above."""
    text = str(report()).splitlines()

    assert text[0] == "40 runs in 10 blocks · 500 examples · init, order vary"
    assert text[2].startswith("Two runs that share none of these seeds disagree on 6.7")


def test_a_source_is_named_only_if_it_stands_out():
    """Otherwise it is said that none does."""
    named = report(most="order").sentences()[1]

    assert named.startswith("order is to blame most: varied alone, it leaves 70\N{NO-BREAK SPACE}%")
    assert report().sentences()[1] == "No source is shown to be more to blame than all others."


@pytest.mark.parametrize("unsure", [Share(0.4, 0.1, 0.8), Share(0.4)])
def test_what_is_not_resolvable_is_called_so(unsure):
    """In the sentence and in the table, with value and interval all the same."""
    found = report(first={"init": unsure, "order": SURE})

    assert "not resolvable with this many runs" in found.sentences()[1]
    interval = "" if unsure.low is None else " [10, 80]"
    assert f"init 40 %{interval} not resolvable" in text_of(found)


@pytest.mark.parametrize(
    ("interaction", "is_said"),
    [
        (Share(0.4, 0.3, 0.5), True),
        (Share(0.4, 0.0, 0.5), False),
        (Share(0.4, 0.1, 0.9), False),
        (Share(0.4), False),
        (None, False),
    ],
)
def test_interaction_is_said_where_it_is_shown_and_always_in_the_table(interaction, is_said):
    """Where its interval excludes nothing and is narrow enough."""
    found = report(interaction=interaction)

    assert any("do not add up" in sentence for sentence in found.sentences()) is is_said
    assert "\ninteraction" in str(found)


@pytest.mark.parametrize(
    ("n_blocks", "word"),
    [(1, "no independent blocks and no intervals"), (4, "4 blocks are too few for intervals")],
)
def test_few_blocks_are_noted_with_what_to_do(n_blocks, word):
    """One block, as of a grid, and a plan that is not finished are two different things."""
    found = report(n_blocks=n_blocks)

    assert any(word in note and "--blame 10" in note for note in found.notes())
    assert not any(word in note for note in report().notes())


def test_trainings_that_ignore_their_sources_are_sent_to_the_doctor():
    """Runs that share all but one source, and differ like strangers."""
    heedless = {"init": Share(0.95, 0.9, 1.0), "order": Share(1.0, 0.9, 1.0)}

    assert any("seedproof doctor" in note for note in report(total=heedless).notes())
    assert not any("seedproof doctor" in note for note in report().notes())


def test_shares_of_accuracy_are_said_to_be_out_of_reach():
    """So that nobody misses them."""
    assert "accuracy's variance are not resolvable below about 100 runs" in text_of(report())


def test_a_share_that_no_runs_tell_is_named():
    """Such as those of a run that failed."""
    assert "init no such runs" in text_of(report(first={"init": None, "order": SURE}))


def test_estimates_below_0_are_shown_and_called_chance():
    """Rounded up to 0 they would no longer add up to 1 with the others."""
    found = report(first={"init": SURE, "order": Share(-0.02, -0.14, 0.1)})

    assert "order \N{MINUS SIGN}2 % [\N{MINUS SIGN}14, 10]" in text_of(found)
    assert any("what lies beyond is chance" in note for note in found.notes())
    assert not any("what lies beyond is chance" in note for note in report().notes())
