"""Plain data on the exponent of TGTSS and on late steps, from the studies of `plan.toml`."""

from collections.abc import Iterator

from seedproof.stats.effect import Effect
from seedproof_reproductions.claims import Case
from seedproof_reproductions.figures import change, cut
from seedproof_reproductions.findings2023 import reading
from seedproof_reproductions.findings2023.arms import arm_of
from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page_data import (
    FRESH_TEACHER,
    PROTOCOLS,
    SMOOTHING,
    Data,
    Settings,
    changes,
)
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.reading import SettingResults, published
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import lookup
from seedproof_reproductions.rules import Evidence

LATE = "single_run_effects.all"


def studies_of_details(retrained: Settings) -> tuple[SettingResults, ...]:
    """Return the studies of the exponent and of late steps."""
    return reading.studies(retrained, "fixed", root=plan()["details"]["root"])


def exponent_cases(studies: Settings) -> Iterator[Case]:
    """Return a case per pair of arms with and without the exponent, where the paper has a figure.

    The first draw of a shared teacher comes first.
    """
    for study in studies:
        percents = published()["exponent"].get(study.dataset)
        if percents is None:
            continue
        used, plain = (1 - percent / 100 for percent in percents)
        whole = cut(100 * (1 - used / plain), digits=0)
        stated = f"{whole} ({cut(percents[0])}; {cut(percents[1])} without)"
        for arm, effect in _pairs(study):
            evidence = Evidence(
                effect, published=100 * (1 - used / plain), n_runs=study.of(arm, "n_runs")
            )
            group = next(name for name in PROTOCOLS if str(arm_of(arm).teacher) in name)
            yield Case(
                study.dataset, f"{study.title}: {title_of(arm)}", evidence, stated, group=group
            )


def details(settings: Settings, studies: Settings) -> Data:
    """Return tables of the exponent and of late steps; empty without their studies."""
    if not studies:
        return {}
    exponent = [
        (f"**{study.short_title}**: {title_of(arm)}", change(effect), _accuracy(study, arm))
        for study in studies
        for arm, effect in _pairs(study)
    ]
    late = [
        (f"**{study.short_title}**: {title_of(arm)}", *_late_row(study, whole, arm))
        for study in studies
        for whole in settings
        if (whole.dataset, whole.track) == (study.dataset, study.track)
        for arm in plan()["details"]["late"]
    ]
    return {
        "seeds": list(dict.fromkeys(study.seeds for study in studies)),
        "of_shared": _first_pairs(studies, "shared"),
        "of_fresh": _first_pairs(studies, "fresh"),
        "exponent": Table.of(("", "LE_m, with against without", "accuracy"), exponent),
        "late": Table.of(("", "published", "all steps", "late steps"), late),
        "of_late": changes(studies, FRESH_TEACHER, LATE),
        "of_all": changes(reading.heads(settings), FRESH_TEACHER, LATE),
        "steps": [{"on": s.short_title, "n": s.of(s.arms[0], "n_steps")} for s in studies],
    }


def _pairs(study: SettingResults) -> Iterator[tuple[str, Effect]]:
    for arm in study.content["exponent"]:
        stored = lookup(study.content["exponent"], f"{arm}.label_entropy")
        yield arm, Effect("label_entropy", **stored)


def _first_pairs(studies: Settings, teacher: str) -> list[Data]:
    """Return the effect of the exponent in the first pair with a kind of teacher, by study."""
    pairs = (
        (study, next(effect for arm, effect in _pairs(study) if arm_of(arm).teacher == teacher))
        for study in studies
    )
    return [
        {"on": study.short_title, "dataset": study.dataset, "text": change(effect), "value": effect}
        for study, effect in pairs
    ]


def _accuracy(study: SettingResults, arm: str) -> str:
    return change(Effect("accuracy", **study.content["exponent"][arm]["accuracy"]))


def _late_row(study: SettingResults, whole: SettingResults, arm: str) -> tuple[str, ...]:
    methods = {
        "tgtss": "tgtss",
        "tgtss-shared": "tgtss",
        SMOOTHING[study.dataset]: "label-smoothing",
    }
    row = study.published("table4", methods[arm]) if arm in methods else {}
    return (
        cut(row["cut"]) if row else "",
        change(whole.effect(arm, LATE)),
        change(study.effect(arm, LATE)),
    )
