from dataclasses import replace

import pytest

from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.claims import (
    Case,
    CheckedClaim,
    Claim,
    evaluate,
    read_claims,
    summarize,
)
from seedproof_reproductions.rules import RULES, Evidence, Verdict

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
CLAIM = Claim("a", "It falls.", "a fall", "1", "cut", metric="flip_rate", datasets=("sst", "imdb"))
CUT = Effect("flip_rate", "ratio", 0.5, 0.3, 0.7, verdict="steadier")
WIDE = Effect("flip_rate", "ratio", 0.5, 0.2, 1.25, verdict="no difference shown")
CASE = Case("sst", "SST", Evidence(CUT, published=60.0))


def checked(*verdicts, groups=None):
    """A claim whose checks have these verdicts."""
    names = [""] * len(verdicts) if groups is None else groups
    pairs = zip(verdicts, names, strict=True)
    return CheckedClaim(CLAIM, tuple(replace(CASE, verdict=x, group=name) for x, name in pairs))


@pytest.mark.parametrize("paper", ["conll2019", "findings2023"])
def test_claims_of_a_paper_are_complete(paper):
    """Names are unique, rules are known, and every claim has a statement, a topic and a place."""
    claims = read_claims(f"seedproof_reproductions.{paper}")

    assert len({claim.name for claim in claims}) == len(claims) > 10
    assert {claim.rule for claim in claims} <= set(RULES)
    assert all(claim.says and claim.topic and claim.where for claim in claims)


def test_case_gets_a_verdict_and_texts():
    """Texts follow from claim and evidence; data sets without a case are missing."""
    (done,) = evaluate([CLAIM], lambda _: [CASE])

    texts = {"published": "−60\xa0%", "ours": "−50\xa0% [−70, −30]"}
    assert done.checks == (replace(CASE, **texts, verdict=HOLDS),)
    assert done.missing == ("imdb",)


@pytest.mark.parametrize(
    ("rule", "evidence", "ours"),
    [
        ("range", Evidence(estimate=Estimate(0.5, 0.4, 0.6)), "50.0\xa0% [40.0, 60.0]"),
        ("share", Evidence(estimate=Estimate(0.5, 0.4, 0.6)), "50\xa0% [40, 60]"),
        ("correlation", Evidence(estimate=Estimate(0.5, 0.4, 0.6)), "0.50 [0.40, 0.60]"),
        (
            "better",
            Evidence(CUT, others={"SWA": CUT}),
            "−50\xa0% [−70, −30]; −50\xa0% [−70, −30] with SWA",
        ),
    ],
)
def test_our_figure_is_formatted_by_its_rule(rule, evidence, ours):
    """Given texts replace the default ones."""
    claim, given = replace(CLAIM, rule=rule, expected="lower"), {"published": "x", "ours": "y"}
    cases = [Case("sst", "SST", evidence), Case("sst", "SST", evidence, **given)]

    first, second = evaluate([claim], lambda _: cases)[0].checks

    assert (first.published, first.ours) == ("lower", ours)
    assert (second.published, second.ours) == ("x", "y")


def test_summary_gives_the_first_verdict_and_then_the_others():
    """The others are counted by group; an open case says what would decide it."""
    apart = checked(HOLDS, FAILS, HOLDS, HOLDS, groups=["fresh", "shared", "fresh", "fresh"])
    first, _, others = apart.decision.partition(". ")

    assert first == f"**{HOLDS.words}** (SST)"
    assert others.endswith(f"shared: {FAILS.words}; fresh: {summarize([HOLDS] * 2)}")
    assert summarize([FAILS, HOLDS, HOLDS]) == f"{HOLDS.words} in 2 of 3, {FAILS.words} in 1 of 3"
    alike = [checked(*[OPEN] * n).decision for n in (0, 1, 2, 3, 4)]
    assert len(set(alike)) == 5
    wide = Case("sst", "SST", replace(CASE.evidence, effect=WIDE, n_runs=10))
    (done,) = evaluate([CLAIM], lambda _: [wide])
    assert done.checks[0].to_decide
    assert done.checks[0].to_decide in done.decision


def test_verdicts_are_summarized_by_group():
    """In the order of the codes; without groups there is one line for all."""
    apart = checked(HOLDS, FAILS, HOLDS, groups=["fresh", "shared", "fresh"])

    assert apart.summary == f"fresh: {summarize([HOLDS] * 2)}; shared: {FAILS.words}"
    assert checked(FAILS, HOLDS, HOLDS).summary == summarize([FAILS, HOLDS, HOLDS])
    assert checked().summary == summarize([])


def test_other_parts_of_a_claim_are_named_in_the_setting_that_decides():
    """A claim about two arms says so if only one of them shows it, or was trained."""
    case = replace(CASE, setting="SST", verdict=HOLDS)
    both = [replace(case, part="ASWA"), replace(case, part="NASWA", verdict=OPEN)]
    alone = replace(case, part="ASWA", absent=("NASWA",))
    elsewhere = replace(case, setting="IMDB", part="NASWA", verdict=OPEN)

    for checks, words in (((*both, elsewhere), OPEN.words), ((alone,), summarize([]))):
        claim = CheckedClaim(CLAIM, checks)
        assert claim.outcome == "hold"
        assert claim.exception == f"NASWA: {words}"
        assert f"; NASWA: {words})" in claim.decision
    assert CheckedClaim(CLAIM, (both[0], replace(both[1], verdict=HOLDS))).exception == ""


@pytest.mark.parametrize(
    ("verdicts", "n_contrary"),
    [
        ([HOLDS, FAILS, OPEN, FAILS], 2),
        ([FAILS, HOLDS], 1),
        ([HOLDS, OPEN], 0),
        ([OPEN, FAILS], 0),
        ([HOLDS], 0),
    ],
)
def test_contrary_comparisons_are_counted(verdicts, n_contrary):
    """Those that contradict the first; an open claim has none."""
    exception = checked(*verdicts).exception
    assert (str(n_contrary) in exception) if n_contrary else (exception == "")


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([HOLDS, HOLDS], "hold"),
        ([HOLDS, FAILS, OPEN], "hold"),
        ([FAILS, HOLDS, HOLDS], "fail"),
        ([OPEN, HOLDS], "open"),
        ([Verdict.SIZE_OPEN, HOLDS], "open"),
        ([], "missing"),
    ],
)
def test_first_check_decides_a_claim(verdicts, outcome):
    """Further comparisons do not change it, and an open size does not hold."""
    assert checked(*verdicts).outcome == outcome
