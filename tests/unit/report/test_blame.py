"""Report of blame: sentences and tables follow from the shares."""

import re

import pytest

from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.variance_shares import Share, Shares
from seedproof.report.blame import BlameReport

SURE = Share(0.3, 0.2, 0.4)


def report(*, n_blocks=10, **changes):
    """Ten unremarkable blocks with some changes."""
    shares = {
        "apart": 0.067,
        "first": {"init": SURE, "order": SURE},
        "total": {"init": Share(0.7, 0.6, 0.8), "order": Share(0.7, 0.6, 0.8)},
        "interaction": Share(0.1, 0.0, 0.3),
        "most": None,
    }
    flips = Shares(**(shares | changes))
    return BlameReport(Blame(("init", "order"), 4 * n_blocks, n_blocks, 500, flips))


def _codes(messages):
    return [message.code for message in messages]


def _row(result, name):
    """The cells of a row of the table, with ordinary spaces."""
    line = next(line for line in str(result).splitlines() if line.startswith(f"{name} "))
    return [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in re.split("  +", line)[1:]]


def test_text_starts_with_the_size_and_the_flip_rate():
    """Runs, blocks and examples, then the share of flips."""
    result = report()

    size = [int(number) for number in re.findall(r"\d+", str(result).splitlines()[0])]
    assert size == [40, 10, 500]
    assert result.sentences()[0].code == "runs-apart"
    assert result.sentences()[0].fields["apart"].value == 0.067


def test_source_is_named_only_if_it_causes_most_flips():
    """Otherwise the sentence reports that none does."""
    named = report(most="order").sentences()[1]

    assert (named.code, named.fields["source"]) == ("source-to-blame", "order")
    assert named.fields["share"].share == Share(0.7, 0.6, 0.8)
    assert report().sentences()[1].code == "no-source-to-blame"


@pytest.mark.parametrize("unsure", [Share(0.4, 0.1, 0.8), Share(0.4)])
def test_unresolved_shares_are_marked(unsure):
    """In the sentence and in the table, which still has value and interval."""
    result = report(first={"init": unsure, "order": SURE})

    assert result.sentences()[1].code == "source-not-resolvable"
    interval = "" if unsure.low is None else " [10, 80]"
    unsure_cell, sure_cell = _row(result, "init")[0], _row(result, "order")[0]
    assert unsure_cell.startswith(f"40 %{interval} ")
    assert sure_cell == "30 % [20, 40]"


@pytest.mark.parametrize(
    ("interaction", "is_reported"),
    [
        (Share(0.4, 0.3, 0.5), True),
        (Share(0.4, 0.0, 0.5), False),
        (Share(0.4, 0.1, 0.9), False),
        (Share(0.4), False),
        (None, False),
    ],
)
def test_interaction_has_a_sentence_if_it_is_shown(interaction, is_reported):
    """Its interval must exclude 0 and be narrow; the table always has it."""
    result = report(interaction=interaction)

    assert ("interaction" in _codes(result.sentences())) is is_reported
    assert "\ninteraction" in str(result)


@pytest.mark.parametrize(("n_blocks", "code"), [(1, "one-block"), (4, "few-blocks")])
def test_few_blocks_are_noted_with_a_remedy(n_blocks, code):
    """A grid has a single block; a few blocks need more runs."""
    note = report(n_blocks=n_blocks).notes()[0]

    assert (note.code, note.fields["useful"]) == (code, 10)
    assert code not in _codes(report().notes())


def test_training_that_ignores_its_sources_is_noted():
    """Runs that share all sources but one differ as much as unrelated runs."""
    ignored = {"init": Share(0.95, 0.9, 1.0), "order": Share(1.0, 0.9, 1.0)}

    assert "sources-unheeded" in _codes(report(total=ignored).notes())
    assert "sources-unheeded" not in _codes(report().notes())


def test_missing_shares_of_accuracy_are_noted():
    """A note explains why there are none."""
    assert _codes(report().notes()) == ["no-shares-of-accuracy"]


def test_unknown_share_has_no_number():
    """For example if a run failed."""
    first = _row(report(first={"init": None, "order": SURE}), "init")[0]

    assert not any(sign.isdigit() for sign in first)


def test_shares_that_are_cut_off_are_noted():
    """Shares need not add up to 1, and one whose interval begins at 0 says so."""
    result = report(first={"init": SURE, "order": Share(0.0, 0.0, 0.12)})

    assert _row(result, "order")[0].startswith("0 % [0, 12]")
    assert "shares-cut" in _codes(result.notes())
    assert "shares-cut" not in _codes(report().notes())
