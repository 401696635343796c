"""Plain data of the results page, from stored results: claims, tables, answers and the goal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from seedproof.report.numbers import NO_BREAK
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate
from seedproof_reproductions import figures, rules
from seedproof_reproductions.claims import Case, CheckedClaim, Claim, evaluate, read_claims
from seedproof_reproductions.deciding import forecast_claim
from seedproof_reproductions.figures import MISSING, change, cut, figure, multiple, share
from seedproof_reproductions.findings2023 import selection
from seedproof_reproductions.findings2023.arms import GROUPS, arm_of
from seedproof_reproductions.findings2023.names import BASELINE, IN_COMMON, layout, title_of
from seedproof_reproductions.findings2023.reading import (
    ACCURACY,
    ALL_ACCURACY,
    ALL_FLIPS,
    ENTROPY,
    FLIPS,
    SettingResults,
)
from seedproof_reproductions.findings2023.selection import Candidate, candidates
from seedproof_reproductions.page import Table
from seedproof_reproductions.rules import Evidence, share_of_cut

Data: TypeAlias = dict[str, Any]
Settings: TypeAlias = Sequence[SettingResults]

# If predicting after every step was too expensive, every tenth step stands for it.
FRESH_TEACHER = ("tgtss", "tgtss-every-10")
SHARED_TEACHER = ("tgtss-shared", "tgtss-every-10-shared")
PROTOCOLS = {
    "with a shared teacher": SHARED_TEACHER,
    "with fresh teachers": FRESH_TEACHER,
}
ENSEMBLES = ("ensemble-shared", "ensemble-controls")
EXPONENTS = ("tgtss", "tgtss-power-1")
UNDECIDABLE = "if our figures are the truth, no number of seeds decides"
# The strength of label smoothing that the paper chose on each data set.
SMOOTHING = {"clinc150": "label-smoothing-0.5", "massive": "label-smoothing-0.1"}
METHODS = ("control", "ensemble", "l2", "swa", "label-smoothing", "tgtss")
MOST_NAMED = 4
# Runs from which on the effect where LE_m is high has a verdict: three choose, and three measure.
ENOUGH_HIGH = 6


def arms_of(setting: SettingResults, method: str) -> tuple[str, ...]:
    """Return the trained arms of a method of the paper: one, or two for TGTSS by protocol."""
    return tuple(arm for arm in _possible_arms(setting, method) if arm in setting.arms)


def _possible_arms(setting: SettingResults, method: str) -> tuple[str, ...]:
    """Return the arms of a method; of several that do the same, one that was trained."""
    return {
        "control": (BASELINE,),
        "ensemble": (setting.first_of(ENSEMBLES) or ENSEMBLES[0],),
        "label-smoothing": (SMOOTHING[setting.dataset],),
        "tgtss": tuple(setting.first_of(arms) or arms[0] for arms in PROTOCOLS.values()),
    }.get(method, (method,))


def checked_claims(
    settings: Settings, studies: Mapping[str, Iterable[Case]] | None = None
) -> tuple[CheckedClaim, ...]:
    """Return every claim of the paper with a verdict for each result that it is about.

    Args:
        settings: Results of the paper's study.
        studies: Cases of other studies, by the name that a claim calls them.

    Returns:
        The claims as listed.
    """
    cases = partial(_cases, like_for_like_first(settings), studies or {})
    checked = evaluate(read_claims(__package__), cases)
    return tuple(
        replace(item, checks=tuple(_with_our_runs(item.claim.rule, case) for case in item.checks))
        for item in checked
    )


def _with_our_runs(rule: str, case: Case) -> Case:
    """Return a case that says if all that is known is that our runs are too few."""
    n_runs = case.evidence.n_runs
    if case.verdict in {rules.Verdict.HOLDS, rules.Verdict.FAILS} or n_runs is None:
        return case
    effects, needed = (
        (case.evidence.effect, case.evidence.also),
        forecast_claim(rule, case.evidence),
    )
    unknown = [arm for arm, other in case.evidence.others.items() if other.value is None]
    if unknown:
        return replace(case, to_decide=f"needs runs of {figures.listed(unknown)}")
    if any(effect is not None and effect.verdict == "too few runs" for effect in effects):
        return replace(case, to_decide=f"our {n_runs} runs are too few; {ENOUGH_HIGH} are enough")
    also = case.evidence.also
    if also is not None and also.value is not None and also.value >= 1:
        return replace(case, to_decide=UNDECIDABLE)
    if needed.above == n_runs and needed.is_bound:
        return replace(case, to_decide=f"more than our {n_runs:,} seeds would be needed")
    return case


def like_for_like_first(settings: Settings) -> list[SettingResults]:
    """Return settings with those of fine-tuned encoders, the paper's kind of model, first."""
    return sorted(settings, key=lambda setting: setting.track != "finetune")


def _cases(
    settings: Settings, studies: Mapping[str, Iterable[Case]], claim: Claim
) -> Iterator[Case]:
    yield from studies.get(claim.more.get("study", ""), ())
    for setting in settings:
        if claim.rule == "correlation":
            paths = claim.more["figure"], "stand_in.reference"
            estimate, ceiling = map(setting.of_control, paths)
            if estimate is not None:
                n_runs = setting.of(BASELINE, "n_runs")
                evidence = Evidence(estimate=estimate, ceiling=ceiling, n_runs=n_runs)
                yield Case(setting.dataset, setting.title, evidence)
        for method in claim.arms:
            cases = (_case(setting, claim, method, arm) for arm in arms_of(setting, method))
            yield from (case for case in cases if case is not None)


def _case(setting: SettingResults, claim: Claim, method: str, arm: str) -> Case | None:
    """Return the case of an arm; None if the paper or our runs do not have it."""
    group = next((name for name, arms in PROTOCOLS.items() if arm in arms), "")
    row, reference = setting.published(claim.method, method), claim.more.get("reference", "")
    both = (arm, next(iter(arms_of(setting, reference)), ""))
    named = f"{setting.title}: {title_of(arm)}" + (f", {title_of(both[1])}" if both[1] else "")
    case = partial(Case, setting.dataset, named, group=group)
    effect = setting.effect(arm, claim.more.get("effect", ENTROPY))
    changed = partial(Evidence, effect, n_runs=setting.of(arm, "n_runs"))
    match claim.rule:
        case "cut" if effect is not None and "cut" in row:
            also = setting.effect(arm, claim.more.get("also", ""))
            ours = f"{change(effect)}; {change(also)} where it is high in the arm"
            evidence = changed(published=row["cut"], also=also)
            return case(evidence, ours=ours if also else "")
        case "share" if "share" in row and (whole := setting.effect(both[1], ENTROPY)):
            part, percent = share_of_cut(effect, whole), row["share"]
            evidence = Evidence(estimate=part, published=percent, n_runs=setting.of(arm, "n_runs"))
            return case(evidence, share(Estimate(percent / 100)))
        case "accuracy" if effect is not None and "accuracy" in row:
            before = setting.published(claim.method, "control")["accuracy"]
            gain = row["accuracy"][0] - before[0]
            return case(changed(), f"+{gain:.1f}{NO_BREAK}pts")
        case "cost" if None not in (costs := [setting.cost(x, "training") for x in both]):
            ours = "{} of one training, the ensemble {}".format(*map(multiple, costs))
            return case(Evidence(cost=costs[0], other_cost=costs[1]), ours=ours)
        case "better" if effect is not None:
            return _against(_others(setting, claim), changed, case)
    return None


def _against(
    others: Mapping[str, Effect | None],
    evidence: Callable[..., Evidence],
    case: Callable[..., Case],
) -> Case | None:
    """Return the case of an arm against others, by name; None if no other was trained.

    Against an arm that was not trained there is no verdict: the claim may fail, and cannot hold.
    """
    untrained = [title_of(name) for name, other in others.items() if other is None]
    if len(untrained) == len(others):
        return None
    unknown = Effect("label_entropy", "ratio", None)
    judged = case(evidence(others={title_of(name): x or unknown for name, x in others.items()}))
    note = f"; not trained: {figures.listed(untrained)}" if untrained else ""
    return replace(judged, where=f"{judged.where}{note}")


def _others(setting: SettingResults, claim: Claim) -> dict[str, Effect | None]:
    """Return the effects of the arms to beat; None for methods that were not trained."""
    return {
        arm: setting.effect(arm, ENTROPY)
        for method in claim.more["others"]
        for arm in arms_of(setting, method) or _possible_arms(setting, method)[:1]
    }


def paper_tables(settings: Settings) -> dict[str, Table]:
    """Return Tables 3 to 6 of the paper next to our figures."""
    trained = [
        (setting, method, arm)
        for setting in like_for_like_first(settings)
        for method in METHODS
        for arm in arms_of(setting, method)
    ]
    tables = {"table3": Table.of(layout()["headers"]["table3"], (_row_3(*row) for row in trained))}
    for name, columns in layout()["columns"].items():
        rows, last = [], None
        for setting, method, arm in trained:
            effects = [setting.effect(arm, path) for path in columns.values()]
            if arm != BASELINE and any(effects):
                printed = _printed_cut(setting.published(name, method))
                title = _name(setting, arm, is_first=setting is not last)
                rows.append((title, printed, *map(figures.judged_change, effects)))
                last = setting
        tables[name] = Table.of(("", "published", *columns), rows)
    return tables


def _row_3(setting: SettingResults, method: str, arm: str) -> tuple[str, ...]:
    row, effect = setting.published("table3", method), setting.effect(arm, ENTROPY)
    mean, sd = row.get("accuracy", (None, None))
    is_control = arm == BASELINE
    part = share(share_of_cut(effect, _cut_by_ensemble(setting)))
    return (
        _name(setting, arm, is_first=is_control),
        MISSING if mean is None else f"{mean:.1f} ±{sd:.1f}",
        _figure(setting, arm, "accuracy"),
        _figure(setting, arm, "accuracy_sd"),
        "" if is_control else _printed_cut(row),
        _figure(setting, arm, "label_entropy") if is_control else figures.judged_change(effect),
        share(Estimate(row["share"] / 100)) if "share" in row else "",
        "" if arm in (BASELINE, *ENSEMBLES) else part,
    )


def _cut_by_ensemble(setting: SettingResults) -> Effect | None:
    """Return the effect of the ensemble on LE_m; None if there is none."""
    arm = setting.first_of(ENSEMBLES)
    return None if arm is None else setting.effect(arm, ENTROPY)


def _name(setting: SettingResults, arm: str, *, is_first: bool) -> str:
    """Title of an arm, after the title of the setting if it is the first."""
    prefix = f"**{setting.title}**, {setting.seeds} runs: " if is_first else ""
    return f"{prefix}{title_of(arm)}"


def _printed_cut(row: Mapping[str, Any]) -> str:
    return cut(row["cut"]) if "cut" in row else MISSING


def _figure(setting: SettingResults, arm: str, metric: str) -> str:
    return figure(metric, setting.estimate(arm, f"metrics.{metric}"))


def all_arms(setting: SettingResults) -> Table:
    """Return every arm of a setting in groups: quality, stability and costs."""
    header = layout()["headers"]["all_arms"]
    if has_plain_ece(setting):
        header = ["plain ECE" if title == "ECE" else title for title in header]
    rows: list[Sequence[str]] = []
    for name, group in GROUPS.items():
        arms = [arm for arm in setting.arms if setting.of(arm, "group") == name]
        if arms:
            rows.append((f"**{group.title}**", *[""] * (len(header) - 1)))
        rows += [_arm_row(setting, arm) for arm in arms]
    return Table.of(header, rows)


def _arm_row(setting: SettingResults, arm: str) -> tuple[str, ...]:
    high, changes = setting.effect(arm, "high.cross_fitted"), []
    if high is not None and not rules.has_verdict(high):
        high = replace(high, low=None, high=None)  # its interval is over utterances alone
    for metric in ("accuracy", "flip_rate", "label_entropy"):
        effect = change(setting.effect(arm, f"of_all.{metric}"))
        changes += [_figure(setting, arm, metric), "" if arm == BASELINE else effect]
    return (
        f"{title_of(arm)}<br>`{arm}`",
        IN_COMMON.get(setting.of(arm, "shares"), ""),
        str(setting.of(arm, "n_runs")),
        *changes,
        "" if arm == BASELINE else change(high),
        figure("single_run_entropy", setting.estimate(arm, "single_run")),
        _figure(setting, arm, setting.ece),
        *(multiple(setting.cost(arm, kind)) for kind in ("training", "serving")),
    )


def has_plain_ece(setting: SettingResults) -> bool:
    """Return whether only the ECE without correction is stored; its intervals are over runs."""
    effects = (setting.effect(arm, "effects.ece") for arm in setting.treatments)
    return setting.ece == "ece" and any(effect is not None for effect in effects)


def redraws(settings: Settings) -> Data:
    """Return each draw of what runs share next to the others; empty if nothing was redrawn."""
    rows, notes = [], []
    for setting in settings:
        for first, draws in setting.redraws.items():
            effects = [effect for arm in draws if (effect := setting.effect(arm, FLIPS))]
            span = " to ".join(spanned(effects))
            for arm in draws:
                prefix, suffix = (f"**{setting.title}**: ", " draw 1") if arm == first else ("", "")
                cells = (change(setting.effect(arm, path)) for path in (FLIPS, ENTROPY, ACCURACY))
                rows.append((f"{prefix}{title_of(arm)}{suffix}", *cells, span if prefix else ""))
            differ = any(rules.is_below(left, right) for left in effects for right in effects)
            cuts = sum(map(selection.is_cut, effects))
            note = {"arm": first, "on": setting.title, "span": span, "differ": differ}
            notes += [note | {"draws": len(effects), "cuts": cuts}] if len(effects) > 1 else []
    table = Table.of(layout()["headers"]["redraws"], rows)
    return {"table": table, "notes": notes} if rows else {}


def spanned(effects: Iterable[Effect | None]) -> list[str]:
    """Return the smallest and the largest change as text, without intervals."""
    known = sorted((e.value, e.metric, e.scale) for e in effects if e and e.value is not None)
    texts = [change(Effect(metric, scale, value)) for value, metric, scale in known]
    return [texts[0], texts[-1]] if texts else [MISSING]


def goal(settings: Settings) -> Data:
    """Return the arms that reach the goal under each protocol; empty without head settings."""
    ranked = candidates(settings)
    if not ranked:
        return {}
    paper = [arm for arm in ranked if arm.is_published]
    return {
        "on": [setting.short_title for setting in ranked[0].settings],
        "honest": _reached([arm for arm in ranked if arm.is_honest]),
        "shared": _reached([arm for arm in ranked if not arm.is_honest]),
        "published": goal_table(paper) if paper else None,
    }


def _reached(ranked: Sequence[Candidate]) -> Data:
    reached, near = [arm for arm in ranked if arm.reaches], selection.closest(ranked)
    settings, arms = ranked[0].settings if ranked else (), [arm.arm for arm in reached]
    return {
        "of": len(ranked),
        "arms": arms,
        "table": goal_table(reached) if reached else None,
        "flips": changes(settings, arms[:1], ALL_FLIPS),
        "accuracy": changes(settings, arms[:1], ALL_ACCURACY),
        "closest": near and {"arm": near.arm, "shortfalls": shortfalls(near)},
    }


def paired_header(settings: Settings) -> list[str]:
    """Return titles of the columns with flips and accuracy in each setting."""
    names = [setting.short_title for setting in settings]
    return [f"{metric}, {name}" for metric in ("flip rate", "accuracy") for name in names]


def goal_table(arms: Sequence[Candidate]) -> Table:
    """Return flips, accuracy and costs of arms."""
    pairs, rows = paired_header(arms[0].settings), []
    for arm in arms:
        costs = [
            " / ".join(dict.fromkeys(multiple(each.cost(arm.arm, kind)) for each in arm.settings))
            for kind in ("training", "serving")
        ]
        effects = (*arm.effects(ALL_FLIPS), *arm.effects(ALL_ACCURACY))
        rows.append((title_of(arm.arm), *map(change, effects), *costs))
    return Table.of(("", *pairs, "training", "serving"), rows)


def shortfalls(arm: Candidate) -> list[Data]:
    """Return what keeps an arm from the goal, one entry per reason and setting."""
    reasons: list[Data] = [] if arm.affords(selection.MOST_TRAINING) else [{"reason": "cost"}]
    for setting in arm.settings:
        flips, accuracy = (setting.effect(arm.arm, path) for path in (ALL_FLIPS, ALL_ACCURACY))
        on = setting.short_title
        if not rules.has_verdict(flips):
            reasons.append({"reason": "runs", "on": on})
            continue
        if not selection.halves(flips):
            reasons.append({"reason": "flips", "on": on, "change": change(flips)})
        if not rules.excludes_loss(accuracy, rules.MARGIN):
            reasons.append({"reason": "accuracy", "on": on, "change": change(accuracy)})
    return reasons


def each(
    settings: Settings,
    arms: Sequence[str],
    read: Callable[[SettingResults, str], Any],
    write: Callable[[Any], str],
) -> list[Data]:
    """Return a figure of the first of several arms in each setting that has one."""
    names = ((setting, setting.first_of(arms)) for setting in settings)
    return [
        {"on": s.short_title, "dataset": s.dataset, "text": write(value), "value": value}
        for s, arm in names
        if arm is not None and (value := read(s, arm)) is not None
    ]


def changes(settings: Settings, arms: Sequence[str], path: str) -> list[Data]:
    """Return the change of the first of several arms in each setting that has one."""
    return each(settings, arms, lambda setting, arm: setting.effect(arm, path), change)


def together(settings: Settings, arms: Sequence[str], metric: str) -> list[Data]:
    """Return changes whose intervals hold simultaneously for all arms, where those are stored."""

    def read(setting: SettingResults, arm: str) -> Effect | None:
        return setting.effect(arm, f"of_all.{metric}") or setting.effect(arm, f"effects.{metric}")

    return each(settings, arms, read, change)


def standards(settings: Settings, metric: str) -> list[Data]:
    """Return changes by TGTSS that are shown for the arm alone, and not simultaneously for all."""
    differing = []
    for setting in settings:
        for arm in filter(None, map(setting.first_of, PROTOCOLS.values())):
            alone, of_all = (
                setting.effect(arm, f"{kind}.{metric}") for kind in ("effects", "of_all")
            )
            if alone is not None and of_all is not None and alone.verdict != of_all.verdict:
                texts = {"alone": change(alone), "of_all": change(of_all)}
                sizes = {"n_arms": len(setting.treatments), "n_runs": setting.of(arm, "n_runs")}
                differing.append({"arm": arm, "on": setting.short_title, **texts, **sizes})
    return differing


def short_answer(settings: Settings) -> Data:
    """Return figures by question; a question that no run answers is empty.

    Changes have intervals that hold simultaneously for all arms, as on the decision page.
    """
    both = [s for s in settings if all(s.effect(arm, ENTROPY) for arm in EXPONENTS)]
    corrected = [setting for setting in settings if not has_plain_ece(setting)]
    either_teacher = (*FRESH_TEACHER, *SHARED_TEACHER)  # they cost the same
    teachers = [
        soft.n_teachers
        for setting in settings
        if (arm := setting.first_of(ENSEMBLES)) and (soft := arm_of(arm).soft)
    ]

    def part(setting: SettingResults, arm: str) -> Estimate | None:
        return share_of_cut(setting.effect(arm, ENTROPY), _cut_by_ensemble(setting))

    def ece(setting: SettingResults, arm: str) -> str | None:
        is_known = setting.estimate(arm, f"metrics.{setting.ece}") is not None
        texts = [_figure(setting, name, setting.ece) for name in (BASELINE, arm)]
        return " to ".join(texts) if is_known else None

    def control(name: str, write: Callable[[Any], str]) -> list[Data]:
        return each(settings, [BASELINE], lambda s, _: s.of_control(f"stand_in.{name}"), write)

    return {
        "cuts": {x: together(settings, arms, "label_entropy") for x, arms in PROTOCOLS.items()},
        "ensemble": [
            item | {"text": f"{item['text']} ({n} teachers)"}
            for item, n in zip(
                together(settings, ENSEMBLES, "label_entropy"), teachers, strict=True
            )
        ],
        "shares": {name: each(settings, arms, part, share) for name, arms in PROTOCOLS.items()},
        "accuracy": together(settings, FRESH_TEACHER, "accuracy"),
        "shared_accuracy": together(settings, SHARED_TEACHER, "accuracy"),
        "standards": {
            metric: standards(settings, metric) for metric in ("label_entropy", "accuracy")
        },
        "ece": each(settings, FRESH_TEACHER, ece, str),
        "shared_ece": each(corrected, SHARED_TEACHER, ece, str),
        "plain_ece": any(map(has_plain_ece, settings)),
        "costs": each(settings, either_teacher, lambda s, arm: s.cost(arm, "training"), multiple),
        "pearson": control("pearson", figures.correlation),
        "ceiling": control("reference", figures.correlation),
        "exponent": [together(both, [arm], "label_entropy") for arm in EXPONENTS] if both else [],
        "levers": levers(settings),
    }


def levers(settings: Settings) -> Data:
    """Return the cheap honest arms that cut LE_m by more than each published one.

    Winners are picked out of many, so their intervals are simultaneous over all arms.
    """
    honest = [arm for arm in candidates(settings) if arm.is_honest]
    cheap = [arm for arm in honest if arm.affords(selection.MOST_TRAINING)]
    paper = [arm for arm in cheap if arm.is_published]
    ours = [arm for arm in cheap if not arm.is_published and arm.keeps_accuracy]
    if not ours or not paper:
        return {}
    frozen = ours[0].settings
    name, *_ = ENSEMBLES
    ensemble, has_ensemble = Candidate(name, frozen), all(name in s.arms for s in frozen)

    def beats(arm: Candidate, other: Candidate) -> bool:
        pairs = zip(*(side.effects("of_all.label_entropy") for side in (arm, other)), strict=True)
        return all(rules.is_below(*pair) for pair in pairs)

    def least_cut(arm: Candidate) -> float:
        return max(effect.value or 0.0 for effect in arm.effects(ENTROPY) if effect is not None)

    winners = [arm for arm in ours if all(beats(arm, other) for other in paper)]
    largest = [arm.arm for arm in sorted(winners, key=least_cut)[:MOST_NAMED]]
    return {
        "published": [arm.arm for arm in paper],
        "winners": len(winners),
        "of": len(ours),
        "largest": {arm: together(frozen, [arm], "label_entropy") for arm in largest},
        "beat_ensemble": sum(beats(arm, ensemble) for arm in winners) if has_ensemble else None,
    }
