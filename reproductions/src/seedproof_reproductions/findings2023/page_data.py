"""Plain data of the results page: tables, answers, claims and departures, from stored results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.claims import Case, CheckedClaim, Claim, evaluate, read_claims
from seedproof_reproductions.figures import (
    MISSING,
    change,
    cut,
    figure,
    judged_change,
    multiple,
    share,
)
from seedproof_reproductions.findings2023.arms import GROUPS
from seedproof_reproductions.findings2023.names import BASELINE, IN_COMMON, title_of
from seedproof_reproductions.findings2023.published import published, published_cut, published_row
from seedproof_reproductions.findings2023.reading import (
    ACCURACY,
    ENTROPY,
    FLIPS,
    SettingResults,
)
from seedproof_reproductions.page import Table
from seedproof_reproductions.rules import (
    Evidence,
    has_verdict,
    is_below,
    share_of_cut,
)

Data: TypeAlias = dict[str, Any]

# If predicting after every step was too expensive, every tenth step stands for it.
SHARED_TEACHER = ("tgtss-shared", "tgtss-every-10-shared")
FRESH_TEACHER = ("tgtss", "tgtss-every-10")
PROTOCOLS = {"with a shared teacher": SHARED_TEACHER, "with fresh teachers": FRESH_TEACHER}
ENSEMBLE, PLAIN_EXPONENT = "ensemble-shared", "tgtss-power-1"
# The strength of label smoothing that the paper chose on each data set.
SMOOTHING = {"clinc150": "label-smoothing-0.5", "massive": "label-smoothing-0.1"}
METHODS = ("control", "ensemble", "l2", "swa", "label-smoothing", "tgtss")
# Columns of Tables 4 to 6: paths of effects.
FURTHER_TABLES = {
    "table4": {"ours": "single_run_effects.all"},
    "table5": {
        "ours, cross-fitted": "high.cross_fitted",
        "chosen by the arm": "high.by_arm",
        "ours, as published": "high.naive",
    },
    "table6": {
        "ours": "single_run_effects.high",
        "ours, as published": "single_run_effects.high_naive",
    },
}
MOST_NAMED = 4


def arms_of(setting: SettingResults, method: str) -> tuple[str, ...]:
    """Return the trained arms of a method of the paper: one, or two for TGTSS by protocol."""
    known = {
        "control": (BASELINE,),
        "ensemble": (ENSEMBLE,),
        "label-smoothing": (SMOOTHING[setting.dataset],),
        "tgtss": tuple(setting.first_of(arms) or "" for arms in PROTOCOLS.values()),
        # The exponent was changed only with a teacher that predicts after every step.
        "tgtss-exponent": FRESH_TEACHER[:1],
    }.get(method, (method,))
    return tuple(arm for arm in known if setting.of(arm))


# Claims ---------------------------------------------------------------------------------------


def checked_claims(settings: Sequence[SettingResults]) -> tuple[CheckedClaim, ...]:
    """Return every claim of the paper with a verdict for each result that it is about."""

    def cases(claim: Claim) -> Iterator[Case]:
        for setting in settings:
            yield from claim_cases(setting, claim)

    return evaluate(read_claims("seedproof_reproductions.findings2023"), cases)


def claim_cases(setting: SettingResults, claim: Claim) -> Iterator[Case]:
    """Yield the evidence of one setting for a claim; nothing if it was not measured."""
    if claim.rule == "correlation":
        estimate = setting.of_control(claim.more["figure"])
        ceiling = setting.of_control("stand_in.reference")
        if estimate is not None:
            evidence = Evidence(estimate=estimate, ceiling=ceiling)
            yield Case(setting.dataset, setting.title, evidence)
        return
    for method in claim.arms:
        for arm in arms_of(setting, method):
            texts = _evidence(setting, claim, method, arm)
            if texts is not None:
                evidence, printed, ours = texts
                where, group = f"{setting.title}: {title_of(arm)}", ""
                if arm in (*SHARED_TEACHER, *FRESH_TEACHER):
                    group = next(name for name, arms in PROTOCOLS.items() if arm in arms)
                yield Case(setting.dataset, where, evidence, printed, ours, group)


def _evidence(
    setting: SettingResults, claim: Claim, method: str, arm: str
) -> tuple[Evidence, str | None, str | None] | None:
    """Evidence, and the published and our figure as text where they are not the usual ones."""
    effect = setting.effect(arm, claim.more.get("effect", ENTROPY))
    row = published_row(setting.dataset, method)
    match claim.rule:
        case "cut":
            percent = published_cut(claim.method, setting.dataset, method)
            if effect is None or percent is None:
                return None
            also = setting.effect(arm, claim.more["also"]) if "also" in claim.more else None
            ours = (
                None
                if also is None
                else f"{change(effect)}; {change(also)} where it is high in the arm"
            )
            return Evidence(effect, published=percent, also=also), None, ours
        case "share":
            reference = setting.effect(claim.more["reference"], claim.more["effect"])
            if reference is None or "share" not in row:
                return None
            part = share_of_cut(effect, reference)
            printed = share(Estimate(row["share"] / 100))
            return Evidence(estimate=part, published=row["share"]), printed, None
        case "cost":
            cost = setting.cost(arm, "training")
            whole = setting.cost(claim.more["reference"], "training")
            if cost is None or whole is None:
                return None
            ours = f"{multiple(cost)} of one training, the ensemble {multiple(whole)}"
            return Evidence(cost=cost, other_cost=whole), None, ours
        case "accuracy":
            control = published_row(setting.dataset, "control")
            if effect is None or not row or not control:
                return None
            gain = row["accuracy"][0] - control["accuracy"][0]
            return Evidence(effect), f"+{gain:.1f}\N{NO-BREAK SPACE}pts", None
    return _better(setting, claim, effect)


def _better(
    setting: SettingResults, claim: Claim, effect: Effect | None
) -> tuple[Evidence, str | None, str | None] | None:
    """Evidence that an arm beats other methods; None unless every one of them was run."""
    arms = [arms_of(setting, method) for method in claim.more["others"]]
    effects = {arm: setting.effect(arm, claim.more["effect"]) for group in arms for arm in group}
    known = {title_of(arm): other for arm, other in effects.items() if other is not None}
    if effect is None or len(known) < len(effects) or not all(arms):
        return None
    evidence = Evidence(effect, others=known)
    if PLAIN_EXPONENT not in effects:
        return evidence, None, None
    stated = published()["exponent"].get(setting.dataset)
    printed = stated and f"{cut(stated['with'])}; {cut(stated['without'])} without"
    return evidence, printed, f"{change(effect)}; {change(effects[PLAIN_EXPONENT])} without"


# Tables ---------------------------------------------------------------------------------------


def table_3(settings: Sequence[SettingResults]) -> Table:
    """Table 3 of the paper next to our figures."""
    header = (
        "", "accuracy, published", "accuracy, ours", "its sd, ours", "LE_m, published",
        "LE_m, ours", "of the ensemble, published", "of the ensemble, ours",
    )  # fmt: skip
    return Table.of(header, [_row_3(*row) for row in _method_rows(settings)])


def _method_rows(settings: Sequence[SettingResults]) -> Iterator[tuple[SettingResults, str, str]]:
    for setting in settings:
        for method in METHODS:
            for arm in arms_of(setting, method):
                yield setting, method, arm


def _row_3(setting: SettingResults, method: str, arm: str) -> tuple[str, ...]:
    row, effect = published_row(setting.dataset, method), setting.effect(arm, ENTROPY)
    accuracy = row.get("accuracy")
    is_control = arm == BASELINE
    part = share(share_of_cut(effect, setting.effect(ENSEMBLE, ENTROPY)))
    entropy = figure("label_entropy", setting.estimate(arm, "metrics.label_entropy"))
    return (
        _name(setting, arm, is_first=is_control),
        MISSING if accuracy is None else f"{accuracy[0]:.1f} ±{accuracy[1]:.1f}",
        *(
            figure(metric, setting.estimate(arm, f"metrics.{metric}"))
            for metric in ("accuracy", "accuracy_sd")
        ),
        "" if is_control else _published(row.get("cut")),
        entropy if is_control else judged_change(effect),
        share(Estimate(row["share"] / 100)) if "share" in row else "",
        "" if arm in (BASELINE, ENSEMBLE) else part,
    )


def _name(setting: SettingResults, arm: str, *, is_first: bool) -> str:
    """Title of the arm; the first of a setting has the setting's title, too."""
    prefix = f"**{setting.title}**, {setting.seeds} runs: " if is_first else ""
    return f"{prefix}{title_of(arm)}"


def _published(percent: float | None) -> str:
    return MISSING if percent is None else cut(percent)


def further_table(name: str, settings: Sequence[SettingResults]) -> Table:
    """Table 4, 5 or 6 of the paper next to our changes; arms without a figure are left out."""
    columns, rows, last = FURTHER_TABLES[name], [], None
    for setting, method, arm in _method_rows(settings):
        effects = [setting.effect(arm, path) for path in columns.values()]
        if arm != BASELINE and any(effects):
            cells = [
                change(effect) if effect is None or effect.verdict == "not tested"
                else judged_change(effect)
                for effect in effects
            ]  # fmt: skip
            printed = _published(published_cut(name, setting.dataset, method))
            rows.append((_name(setting, arm, is_first=setting is not last), printed, *cells))
            last = setting
    return Table.of(("", "published", *columns), rows)


def all_arms(setting: SettingResults) -> Table:
    """Every arm of a setting in groups: quality, stability and costs."""
    header = (
        "arm", "runs share", "runs", "accuracy", "change", "flip rate", "change", "LE_m", "change",
        "LE_m above 0.56, change", "LE_s", "ECE", "training", "serving",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for group, arms in setting.by_group.items():
        rows.append((f"**{GROUPS[group].title}**", *[""] * (len(header) - 1)))
        rows += [_arm_row(setting, arm) for arm in arms]
    return Table.of(header, rows)


def _arm_row(setting: SettingResults, arm: str) -> tuple[str, ...]:
    high = setting.effect(arm, "high.cross_fitted")
    if high is not None and not has_verdict(high):
        # The interval is over utterances alone.
        high = replace(high, low=None, high=None)

    def pair(metric: str) -> tuple[str, str]:
        text = figure(metric, setting.estimate(arm, f"metrics.{metric}"))
        effect = setting.effect(arm, f"of_all.{metric}")
        return text, "" if arm == BASELINE else change(effect)

    return (
        f"{title_of(arm)}<br>`{arm}`",
        IN_COMMON.get(setting.shares(arm) or "", ""),
        str(setting.of(arm)["n_runs"]),
        *pair("accuracy"),
        *pair("flip_rate"),
        *pair("label_entropy"),
        "" if arm == BASELINE else change(high),
        figure("single_run_entropy", setting.estimate(arm, "single_run")),
        figure("ece", setting.estimate(arm, "metrics.ece")),
        *(multiple(setting.cost(arm, kind)) for kind in ("training", "serving")),
    )


def redraws(settings: Sequence[SettingResults]) -> Data | None:
    """Each draw of what runs share next to the others; None if nothing was drawn again."""
    rows, notes = [], []
    for setting in settings:
        for first, draws in setting.redraws.items():
            effects = [effect for arm in draws if (effect := setting.effect(arm, FLIPS))]
            span = " to ".join(spanned(effects))
            for arm in draws:
                prefix, suffix = (f"**{setting.title}**: ", " draw 1") if arm == first else ("", "")
                cells = (change(setting.effect(arm, path)) for path in (FLIPS, ENTROPY, ACCURACY))
                rows.append((f"{prefix}{title_of(arm)}{suffix}", *cells, span if prefix else ""))
            if len(effects) > 1:
                notes.append({
                    "arm": title_of(first), "on": setting.title, "span": span,
                    "draws": len(effects),
                    "differ": any(is_below(left, right) for left in effects for right in effects),
                    "cuts": sum(effect.verdict == "steadier" for effect in effects),
                })  # fmt: skip
    header = ("", "flip rate, change", "LE_m, change", "accuracy, change", "flip rates of draws")
    return {"table": Table.of(header, rows), "notes": notes} if rows else None


def spanned(effects: Iterable[Effect | None]) -> tuple[str, ...]:
    """Smallest and largest change without intervals; one if they read the same, none if unknown."""
    known = [effect for effect in effects if effect is not None and effect.value is not None]
    if not known:
        return (MISSING,)
    ends = (min(known, key=lambda effect: effect.value or 0.0),
            max(known, key=lambda effect: effect.value or 0.0))  # fmt: skip
    texts = (change(Effect(end.metric, end.scale, end.value)) for end in ends)
    return tuple(dict.fromkeys(texts))
