"""The short answer: what the paper asks, and what we found, with a verdict each."""

from collections.abc import Sequence

from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.page.beyond import goal_in_short, levers
from seedproof_reproductions.findings2023.page.methods import (
    ENSEMBLE,
    FRESH_TEACHER,
    PLAIN_EXPONENT,
    SHARED_TEACHER,
)
from seedproof_reproductions.findings2023.page.phrases import changes, effects_of, pairs, verdict
from seedproof_reproductions.findings2023.page.reading import ENTROPY, SettingResults, heads
from seedproof_reproductions.findings2023.page.rules import (
    judge_below,
    judge_share,
    judge_strong,
    recovered,
)
from seedproof_reproductions.findings2023.page.telling import (
    correlation,
    cut,
    joined,
    multiple,
    outcome,
    share,
)
from seedproof_reproductions.findings2023.published import published_cut, published_row
from seedproof_reproductions.page.claims import summed_up
from seedproof_reproductions.page.verdicts import judge_cut
from seedproof_reproductions.page.words import figure, listed, paragraphs

PROTOCOLS = {
    "With one teacher for all runs": SHARED_TEACHER,
    "With a fresh teacher for each run, as a retraining has it": FRESH_TEACHER,
}


def short_answer(settings: Sequence[SettingResults]) -> str:
    """A paragraph for each question, those of the paper first.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading; questions that no run answers are left out.
    """
    about = (
        "LE_m is the label entropy over runs: how much they disagree on an utterance. "
        "LE_s is the same over the steps of one run.\n"
        "Changes are against the control, each with its 95 % interval as if it were asked alone."
    )
    bullets = (
        _cuts(settings),
        _recovers(settings),
        _price(settings),
        _stands_in(settings),
        _exponent(settings),
        levers(heads(settings)),
        goal_in_short(settings),
    )
    return paragraphs((about, "\n".join(f"- {one}" for one in bullets if one)))


def _cuts(settings: Sequence[SettingResults]) -> str:
    def printed(one: SettingResults) -> str:
        found = published_cut("table3", one.dataset, "tgtss")
        return "" if found is None else f" (published {cut(found)})"

    told, verdicts, sizes = [], [], []
    for words, arms in PROTOCOLS.items():
        found = changes(settings, arms, ENTROPY, printed)
        if not found:
            continue
        told.append(f"{words}, LE_m changes by {found}.")
        verdicts.append(f"{_protocol(arms)} {outcome(effects_of(settings, arms, ENTROPY))}")
        sizes += [
            judge_cut(one.effect(arm, ENTROPY), theirs)
            for one, arm in pairs(settings, arms)
            if (theirs := published_cut("table3", one.dataset, "tgtss")) is not None
        ]
    if not told:
        return ""
    verdicts.append(f"the published size: {summed_up(sizes)}")
    return joined(
        ("**Does TGTSS cut the label entropy over runs?**", verdict("; ".join(verdicts)), *told)
    )


def _protocol(arms: Sequence[str]) -> str:
    return "with a shared teacher" if arms is SHARED_TEACHER else "with fresh teachers"


def _recovers(settings: Sequence[SettingResults]) -> str:
    whole = changes(settings, (ENSEMBLE,), ENTROPY)
    told, verdicts = [], []
    for arms in PROTOCOLS.values():
        parts, judged = [], []
        for one, arm in pairs(settings, arms):
            reference = one.effect(ENSEMBLE, ENTROPY)
            theirs = published_row(one.dataset, "tgtss").get("share")
            if reference is None or theirs is None:
                continue
            ours = recovered(one.effect(arm, ENTROPY), reference)
            judged.append(judge_share(ours, theirs))
            if ours is not None:
                parts.append(f"{share(ours)} on {one.short_title} (published {theirs}{NO_BREAK}%)")
        if judged:
            verdicts.append(f"{_protocol(arms)}: {summed_up(judged)}")
        if parts:
            told.append(f"{_protocol(arms)} {listed(parts)}")
    if not verdicts:
        return ""
    return joined(
        (
            "**Does it recover 90 % of what the ensemble cuts?**",
            verdict("; ".join(verdicts)),
            f"Learning from an ensemble of 200, which all runs share, changes LE_m by {whole}.",
            f"Of that cut, TGTSS recovers {'; '.join(told)}." if told else "",
        )
    )


def _price(settings: Sequence[SettingResults]) -> str:
    """What TGTSS takes beside what it gives: accuracy, calibration, computation."""
    accuracy = changes(settings, FRESH_TEACHER, "accuracy")
    if not accuracy:
        return ""
    calibration = listed(
        [
            f"from {figure('ece', one.estimate(BASELINE, 'ece'))} to "
            f"{figure('ece', one.estimate(arm, 'ece'))} on {one.short_title}"
            for one, arm in pairs(settings, FRESH_TEACHER)
            if one.estimate(arm, "ece") is not None
        ]
    )
    costs = listed(
        [
            f"{multiple(one.cost(arm, 'training'))} as much on {one.short_title}"
            for one, arm in pairs(settings, FRESH_TEACHER)
            if one.cost(arm, "training") is not None
        ]
    )
    return joined(
        (
            "**What does TGTSS cost?**",
            verdict(outcome(effects_of(settings, FRESH_TEACHER, "accuracy"))),
            f"With fresh teachers accuracy changes by {accuracy}.",
            f"Calibration, the ECE, goes {calibration}." if calibration else "",
            f"Training takes {costs}, the encoder counted." if costs else "",
        )
    )


def _stands_in(settings: Sequence[SettingResults]) -> str:
    known = [one for one in settings if one.stand_in("pearson") is not None]
    if not known:
        return ""
    found = listed(
        [f"{correlation(one.stand_in('pearson'))} on {one.short_title}" for one in known]
    )
    others = [
        f"{correlation(one.stand_in('reference'))} on {one.short_title}"
        for one in known
        if one.stand_in("reference") is not None
    ]
    caught = [
        f"{figure('single_run_precision', one.stand_in('precision'))} on {one.short_title}"
        for one in known
        if one.stand_in("precision") is not None
    ]
    verdicts = [judge_strong(one.stand_in("pearson"), one.stand_in("reference")) for one in known]
    return joined(
        (
            "**Can one run stand in for many?**",
            verdict(f"a strong relationship, of 0.7 or more: {summed_up(verdicts)}"),
            f"LE_s of one run and LE_m of the others correlate by {found}.",
            f"LE_m of as many other runs would correlate by {listed(others)}." if others else "",
            f"Of the least stable utterances, at most a tenth of all, {listed(caught)} are among "
            "as many that one run wavers on most."
            if caught
            else "",
        )
    )


def _exponent(settings: Sequence[SettingResults]) -> str:
    known = [
        one
        for one in settings
        if one.effect(FRESH_TEACHER[0], ENTROPY) is not None
        and one.effect(PLAIN_EXPONENT, ENTROPY) is not None
    ]
    if not known:
        return ""
    with_it = changes(known, FRESH_TEACHER[:1], ENTROPY)
    verdicts = [
        judge_below(one.effect(FRESH_TEACHER[0], ENTROPY), [one.effect(PLAIN_EXPONENT, ENTROPY)])
        for one in known
    ]
    return joined(
        (
            "**Does the exponent matter?**",
            verdict(f"a larger cut with the exponent: {summed_up(verdicts)}"),
            f"With the exponent 0.5, which flattens, and fresh teachers LE_m changes by {with_it}.",
            f"Without it, it changes by {changes(known, (PLAIN_EXPONENT,), ENTROPY)}.",
        )
    )
