"""Answers to the questions of the plan, as tables of the page."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from seedproof.stats.effect import Effect
from seedproof_reproductions.conll2019.names import ARMS, AT_LAST, layout
from seedproof_reproductions.conll2019.plan import Question, plan, planned_seeds, questions
from seedproof_reproductions.conll2019.reading import Contrast, SettingResults
from seedproof_reproductions.deciding import forecast
from seedproof_reproductions.figures import MISSING, change, figure, share
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import as_estimate, lookup
from seedproof_reproductions.rules import Evidence, has_verdict

# Question of the plan about averaging and longer training.
CROSSED_QUESTION = "averaging-or-longer"
OPEN = "open"
# Metrics whose verdicts are part of sentences.
PARTS = {"verdicts": "flip_rate", "spreads": "accuracy_sd", "accuracies": "accuracy"}
# Verdicts that show a change.
SHOWN = {"steadier", "less steady", "better", "worse"}


def answered(setting: SettingResults) -> dict[str, dict[str, Any]]:
    """Return the answers that our runs of a setting give, by the name of the question."""
    answers = ((question.name, _answer(setting, question)) for question in questions())
    return {name: answer for name, answer in answers if answer is not None}


def _answer(setting: SettingResults, question: Question) -> dict[str, Any] | None:
    """Return the changes of each contrast: as texts by title and metric, and as a table.

    None if a contrast is not stored, or is not a column of the page because a claim covers it.
    """
    titles, metrics = layout()["answers"]["contrasts"], layout()["answers"]["metrics"]
    contrasts: dict[str, Contrast] = {}
    for pair in question.contrasts:
        title, contrast = titles.get("/".join(pair)), setting.contrast(question.name, *pair)
        if title is None or contrast is None:
            return None
        contrasts[title] = contrast
    changes = {
        title: {metric: judged(contrast, path) for metric, path in metrics.items()}
        for title, contrast in contrasts.items()
    }
    rows = ((metric, *(texts[metric] for texts in changes.values())) for metric in metrics)
    return {
        "asks": question.asks,
        "n_runs": min(contrast.n_runs for contrast in contrasts.values()),
        "planned": planned_seeds(setting.content["setting"]),
        "changes": changes,
        **{
            part: {
                "/".join(pair): verdict_of(contrast.effect(f"effects.{metric}"))
                for pair, contrast in zip(question.contrasts, contrasts.values(), strict=True)
            }
            for part, metric in PARTS.items()
        },
        "table": Table.of(("", *changes), rows),
    }


def elsewhere(settings: Sequence[SettingResults]) -> dict[str, Any] | None:
    """Return the main changes at both epochs in further settings; None without one.

    As a table, and as counts of the verdicts on the flip rate for each contrast.
    """
    answers = {setting.title: answered(setting).get(CROSSED_QUESTION) for setting in settings}
    kept = {title: answer for title, answer in answers.items() if answer is not None}
    if not kept:
        return None
    rows = []
    for title, answer in kept.items():
        for place, metric in enumerate(layout()["answers"]["metrics"]):
            named = metric if place else f"**{title}**, {answer['n_runs']} seeds: {metric}"
            rows.append((named, *(texts[metric] for texts in answer["changes"].values())))
    pairs = next(iter(kept.values()))["verdicts"]
    return {
        "n_settings": len(kept),
        "table": Table.of(("", *next(iter(kept.values()))["changes"]), rows),
        "counts": {
            pair: Counter(answer["verdicts"][pair] for answer in kept.values()) for pair in pairs
        },
    }


def by_half(halves: Sequence[SettingResults]) -> Table | None:
    """Return the changes in each half of a study that was trained in two; None if it was not."""
    answers = [answered(half).get(CROSSED_QUESTION) for half in halves]
    if len(answers) < 2 or None in answers:
        return None
    kept = [answer for answer in answers if answer is not None]
    rows = [
        (f"{metric}, {half} {answer['n_runs']}", *(texts[metric] for texts in changes))
        for metric in layout()["answers"]["metrics"]
        for half, answer in zip(("first", "second"), kept, strict=True)
        for changes in [answer["changes"].values()]
    ]
    return Table.of(("", *kept[0]["changes"]), rows)


def change_of_spread(setting: SettingResults) -> str:
    """Return the change of the sd of accuracy by ASWA, each arm at its own epoch."""
    contrast = setting.contrast("headline", "aswa", "none")
    return MISSING if contrast is None else judged(contrast, "effects.accuracy_sd")


def judged(contrast: Contrast, path: str) -> str:
    """Return a change with its verdict: shown, none within the margin of the plan, or open.

    An open one is followed by what would decide it.
    """
    effect = contrast.effect(path)
    if effect is None:
        return MISSING
    verdict = verdict_of(effect)
    if verdict == OPEN:
        from_texts = contrast.from_texts(path)
        evidence = Evidence(effect, n_runs=contrast.n_runs, from_texts=from_texts)
        needed = forecast(lambda later: verdict_of(later.effect) != OPEN, evidence).short
        verdict += f" ({needed})" if needed else ""
    return f"{change(effect)}, {verdict}"


def verdict_of(effect: Effect | None) -> str:
    """Return the verdict on a change by the rule of the plan."""
    if effect is None or not has_verdict(effect) or effect.low is None or effect.high is None:
        return OPEN
    if effect.verdict in SHOWN:
        return effect.verdict
    is_ratio = effect.scale == "ratio"
    margin, none = plan()["relative_margin" if is_ratio else "accuracy_margin"], float(is_ratio)
    is_none = effect.low > none - margin and effect.high < none + margin
    return "no change beyond the margin" if is_none else OPEN


def crossed_values(setting: SettingResults) -> Table | None:
    """Return the figures of both arms at both epochs; None if they were not crossed."""
    arms = lookup(setting.content, "crossed.arms")
    if not arms:
        return None
    arms = {name: arm for name, arm in arms.items() if not name.endswith(AT_LAST)}
    places = {
        "flip rate": ("flip_rate", "metrics.flip_rate"),
        "flip rate, same share": ("flip_rate", "matched.metrics.flip_rate"),
        "sd of accuracy": ("accuracy_sd", "metrics.accuracy_sd"),
        "attention: KL": (
            "explanation_kl",
            "explanations.attention.metrics.explanation_kl",
        ),
        "accuracy": ("accuracy", "metrics.accuracy"),
    }
    rows = (
        (title, *(figure(metric, as_estimate(lookup(arm, path))) for arm in arms.values()))
        for title, (metric, path) in places.items()
    )
    return Table.of(("", *(ARMS[arm] for arm in arms)), rows)


def source_shares(setting: SettingResults) -> dict[str, Any] | None:
    """Return the share of the flips that each source of randomness causes; None if not trained."""
    arms = setting.content["sources"].get("arms")
    if not arms:
        return None
    titles = layout()["answers"]["sources"]
    rows = [
        (title, *(share(as_estimate(arm["first"][source])) for arm in arms.values()))
        for source, title in titles.items()
    ]
    needs_both = {ARMS[arm]: share(as_estimate(each["interaction"])) for arm, each in arms.items()}
    rows.append(("only if both are fixed", *needs_both.values()))
    return {
        "table": Table.of(("fixed", *needs_both), rows),
        "needs_both": needs_both,
        "most": {ARMS[arm]: titles.get(stored["most"]) for arm, stored in arms.items()},
        "n_blocks": min(int(stored["n_blocks"]) for stored in arms.values()),
    }
