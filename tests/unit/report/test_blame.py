"""What is said of shares: only what the figures support."""

import re

import pytest

from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.variance_shares import Share, Shares
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


def codes(messages):
    """Their codes."""
    return [message.code for message in messages]


def row(found, name):
    """The cells of a row of the table, with ordinary spaces."""
    line = next(line for line in str(found).splitlines() if line.startswith(f"{name} "))
    return [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in re.split("  +", line)[1:]]


def test_the_flips_that_are_shared_out_stand_first():
    """With the size of the study above."""
    found = report()

    size = [int(number) for number in re.findall(r"\d+", str(found).splitlines()[0])]
    assert size == [40, 10, 500]
    assert found.sentences()[0].code == "runs-apart"
    assert found.sentences()[0].fields["apart"].value == 0.067


def test_a_source_is_named_only_if_it_stands_out():
    """Otherwise it is said that none does."""
    named = report(most="order").sentences()[1]

    assert (named.code, named.fields["source"]) == ("source-to-blame", "order")
    assert named.fields["share"].share == Share(0.7, 0.6, 0.8)
    assert report().sentences()[1].code == "no-source-to-blame"


@pytest.mark.parametrize("unsure", [Share(0.4, 0.1, 0.8), Share(0.4)])
def test_what_is_not_resolvable_is_called_so(unsure):
    """In the sentence and in the table, with value and interval all the same."""
    found = report(first={"init": unsure, "order": SURE})

    assert found.sentences()[1].code == "source-not-resolvable"
    interval = "" if unsure.low is None else " [10, 80]"
    unsure_cell, sure_cell = row(found, "init")[0], row(found, "order")[0]
    assert unsure_cell.startswith(f"40 %{interval} ")
    assert sure_cell == "30 % [20, 40]"


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

    assert ("interaction" in codes(found.sentences())) is is_said
    assert "\ninteraction" in str(found)


@pytest.mark.parametrize(
    ("n_blocks", "code"),
    [(1, "one-block"), (4, "few-blocks")],
)
def test_few_blocks_are_noted_with_what_to_do(n_blocks, code):
    """One block, as of a grid, and a plan that is not finished are two different things."""
    note = report(n_blocks=n_blocks).notes()[0]

    assert (note.code, note.fields["useful"]) == (code, 10)
    assert code not in codes(report().notes())


def test_trainings_that_ignore_their_sources_are_sent_to_the_doctor():
    """Runs that share all but one source, and differ like strangers."""
    heedless = {"init": Share(0.95, 0.9, 1.0), "order": Share(1.0, 0.9, 1.0)}

    assert "sources-unheeded" in codes(report(total=heedless).notes())
    assert "sources-unheeded" not in codes(report().notes())


def test_shares_of_accuracy_are_said_to_be_out_of_reach():
    """A reader who looks for them finds why there are none."""
    assert codes(report().notes()) == ["no-shares-of-accuracy"]


def test_a_share_that_no_runs_tell_is_named():
    """Such as those of a run that failed."""
    first = row(report(first={"init": None, "order": SURE}), "init")[0]

    assert not any(sign.isdigit() for sign in first)


def test_estimates_below_0_are_shown_and_called_chance():
    """Rounded up to 0 they would no longer add up to 1 with the others."""
    found = report(first={"init": SURE, "order": Share(-0.02, -0.14, 0.1)})

    assert row(found, "order")[0] == "\N{MINUS SIGN}2 % [\N{MINUS SIGN}14, 10]"
    assert "shares-out-of-range" in codes(found.notes())
    assert "shares-out-of-range" not in codes(report().notes())
