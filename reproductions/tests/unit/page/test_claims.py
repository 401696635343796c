from seedproof_reproductions.page.claims import Check, CheckedClaim, folded, summed_up
from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN

CLAIM = {"name": "a", "says": "It falls.", "where": "1"}


def check(verdict, group=""):
    """A comparison with this verdict."""
    return Check("sst", "SST", "lower", "−1", verdict, group)


def test_groups_of_checks_have_verdicts_of_their_own():
    """In the order in which they come; without groups there is one line for all."""
    apart = CheckedClaim(CLAIM, (check(HOLDS, "one"), check(FAILS, "other"), check(HOLDS, "one")))
    together = CheckedClaim(CLAIM, (check(HOLDS), check(FAILS), check(HOLDS)))

    assert apart.summary == "one: holds here, in both comparisons; other: does not hold here"
    assert together.summary == "holds here in 2 of 3; does not hold here in 1 of 3"


def test_what_the_tables_give_follows_what_the_text_says():
    """Where there is such a sentence."""
    assert (
        CheckedClaim(CLAIM, (), tables="The tables give 3.").says == "It falls. The tables give 3."
    )
    assert CheckedClaim(CLAIM, ()).says == "It falls."


def test_no_verdict_is_no_coverage():
    """One verdict stands alone."""
    assert summed_up([]) == CheckedClaim(CLAIM, ()).summary == "not covered by our runs"
    assert summed_up([OPEN]) == "not shown here"


def test_a_folded_part_is_indented():
    """Or it would not belong to its title."""
    assert folded("Title", "a\nb") == '??? quote "Title"\n\n    a\n    b'
