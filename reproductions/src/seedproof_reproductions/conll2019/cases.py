"""The results that each claim of the paper is about."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from seedproof.report.numbers import NO_BREAK
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.claims import Case, CheckedClaim, Claim, evaluate, read_claims
from seedproof_reproductions.conll2019 import names
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, METHODS
from seedproof_reproductions.conll2019.plan import plan
from seedproof_reproductions.conll2019.reading import SettingResults
from seedproof_reproductions.figures import MISSING, cut, figure
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import lookup
from seedproof_reproductions.rules import Evidence, judge

# Mark of a published figure that is of another setting than ours.
ELSEWHERE = "(not this setting)"


def checked_claims(settings: Sequence[SettingResults]) -> tuple[CheckedClaim, ...]:
    """Judge every claim of the paper on our results, in the order of `claims.toml`."""
    return evaluate(read_claims(__package__), partial(_cases, settings))


def _cases(settings: Sequence[SettingResults], claim: Claim) -> Iterator[Case]:
    """The cases of a claim, by setting, arm and method of the explanations."""
    for setting in settings:
        is_tabled = setting.is_as_tabled and setting.encoder == claim.more.get("tabled")
        if setting.dataset in claim.datasets and (is_tabled or "tabled" not in claim.more):
            methods = [claim.method]
            if claim.method == "all":
                methods = list(setting.of(BASELINE, "explanations") or ())
            arms = [arm for arm in claim.arms if arm in (BASELINE, *setting.paper_arms)]
            cases = [_case(setting, claim, arm, method) for arm in arms for method in methods]
            known = [case for case in cases if case is not None]
            # A claim about two arms says so where only one was trained or explained.
            parts = {case.part for case in known}
            absent = [ARMS[arm] for arm in claim.arms if ARMS[arm] not in parts]
            is_of_arms = claim.rule != "range" and "rivals" not in claim.more
            yield from (replace(x, absent=tuple(absent) if is_of_arms else ()) for x in known)


def _case(setting: SettingResults, claim: Claim, arm: str, method: str) -> Case | None:
    """The case of an arm; None if the paper or our runs do not have it."""
    title = setting.title
    part = METHODS[method] if claim.rule == "range" else ARMS[arm]
    where = partial(Case, setting.dataset, setting=title, part=part)
    before, after = (setting.published(name) for name in (BASELINE, arm))
    at = f"explanations.{method}." if method else ""
    effect, named = setting.effect(arm, f"{at}effects.{claim.metric}"), f"{title}, {ARMS[arm]}"
    if "rivals" in claim.more:
        effect, named = setting.rival(claim.metric, method), title
    planned = setting.contrast(claim.more.get("question", ""), arm, BASELINE)
    if planned is not None:
        # Its interval holds together with those of the other contrasts of the question.
        effect = planned.effect(f"effects.{claim.metric}")
    n_runs = setting.of(arm, "n_runs" if not method else f"explanations.{method}.n_runs")
    from_texts = setting.of(arm, f"{at}from_texts.{claim.metric}")
    if "rivals" in claim.more:
        from_texts = lookup(setting.content["rivals"], f"from_texts.{method}.{claim.metric}")
    changed = partial(Evidence, effect, n_runs=n_runs, from_texts=from_texts)
    ours = partial(
        Evidence,
        n_runs=n_runs,
        from_texts=from_texts,
        estimate=setting.estimate(arm, f"{at}metrics.{claim.metric}"),
        is_over_runs=setting.is_over_runs(arm, method or None),
    )
    match claim.rule:
        case "range":
            low, high = (end / 100 for end in claim.published)
            return where(f"{title}, {METHODS[method]}", ours(between=(low, high)))
        case "value":
            if after is None:
                return None
            text = printed(setting, f"{after.sd:.2f}{NO_BREAK}pts")
            return where(title, ours(published=after.sd / 100), text)
        case "cut" if "tabled" in claim.more:
            if before is None or after is None:
                return None
            percent = 100 * (1 - after.sd / before.sd)
            text = printed(setting, cut(percent, digits=0))
            evidence = changed(published=percent, published_error=plan()["published_log_error"])
            return where(named, evidence, text)
    evidence = changed(published=next(iter(claim.published), None))
    return None if effect is None else where(named, evidence)


def printed(setting: SettingResults, text: str) -> str:
    """A published figure, marked if it is of another setting than ours."""
    return f"{text} {ELSEWHERE}" if setting.is_elsewhere else text


def other_readings(settings: Sequence[SettingResults], claims: Sequence[CheckedClaim]) -> Table:
    """Other readings of the claim that top tokens differ, each with the verdict that it gets."""
    between = next(checked.claim.published for checked in claims if checked.claim.rule == "range")
    low, high = (end / 100 for end in between)

    def cell(setting: SettingResults, method: str, metric: str) -> str:
        is_over_runs = setting.is_over_runs(BASELINE, method)
        estimate = setting.estimate(BASELINE, f"explanations.{method}.metrics.{metric}")
        estimate = _lost(estimate) if metric == names.OVERLAP else estimate
        evidence = Evidence(estimate=estimate, between=(low, high), is_over_runs=is_over_runs)
        words = judge("range", evidence).words
        return MISSING if estimate is None else f"{figure(names.JACCARD, estimate)}, {words}"

    header = ("", "top 10 %, in one list of two", "top 20 %, of one list missing in the other")
    rows = []
    for setting in settings:
        for method in setting.of(BASELINE, "explanations") or ():
            cells = (cell(setting, method, of) for of in (names.JACCARD_10, names.OVERLAP))
            rows.append((f"{setting.title}, {METHODS[method]}", *cells))
    return Table.of(header, rows)


def _lost(kept: Estimate | None) -> Estimate | None:
    """Of the top words of one seed, the share that another does not name."""
    if kept is None or kept.low is None or kept.high is None:
        return None if kept is None else Estimate(1 - kept.value)
    return Estimate(1 - kept.value, 1 - kept.high, 1 - kept.low)
