"""Answers to the questions of the plan, as tables of the page."""

from typing import Any

from seedproof.stats.effect import Effect
from seedproof_reproductions.conll2019.names import ARMS, AT_LAST, layout
from seedproof_reproductions.conll2019.plan import Question, plan, planned_seeds, questions
from seedproof_reproductions.conll2019.reading import Contrast, SettingResults
from seedproof_reproductions.figures import MISSING, change, figure, share
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import as_estimate, lookup
from seedproof_reproductions.rules import has_verdict

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
        title: {metric: judged(contrast.effect(path)) for metric, path in metrics.items()}
        for title, contrast in contrasts.items()
    }
    rows = ((metric, *(texts[metric] for texts in changes.values())) for metric in metrics)
    return {
        "asks": question.asks,
        "n_runs": min(contrast.n_runs for contrast in contrasts.values()),
        "planned": planned_seeds(setting.content["setting"]),
        "changes": changes,
        "table": Table.of(("", *changes), rows),
    }


def judged(effect: Effect | None) -> str:
    """Return a change with its verdict: shown, none within the margin of the plan, or open."""
    if effect is None:
        return MISSING
    return f"{change(effect)}, {verdict_of(effect)}"


def verdict_of(effect: Effect) -> str:
    """Return the verdict on a change by the rule of the plan."""
    if not has_verdict(effect) or effect.low is None or effect.high is None:
        return "open"
    if effect.verdict in SHOWN:
        return effect.verdict
    if effect.scale == "ratio":
        margin = plan()["relative_margin"]
        is_none = effect.low > 1 - margin and effect.high < 1 + margin
    else:
        margin = plan()["accuracy_margin"]
        is_none = effect.low > -margin and effect.high < margin
    return "no change beyond the margin" if is_none else "open"


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
    header = ("", *(f"{ARMS[arm]}: {kind}" for arm in arms for kind in ("alone", "in total")))
    rows = (
        (
            title,
            *(
                share(as_estimate(arm[kind][source]))
                for arm in arms.values()
                for kind in ("first", "total")
            ),
        )
        for source, title in titles.items()
    )
    return {
        "table": Table.of(header, rows),
        "most": {ARMS[arm]: titles.get(stored["most"]) for arm, stored in arms.items()},
        "n_blocks": min(int(stored["n_blocks"]) for stored in arms.values()),
    }
