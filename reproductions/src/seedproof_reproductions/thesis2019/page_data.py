"""Stored results as plain data for the page: texts, tables, charts and checked claims."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.claims import Case, CheckedClaim, Claim, evaluate, read_claims
from seedproof_reproductions.figures import (
    MISSING,
    UNDETERMINED,
    figure,
    judged_change,
    median_and_range,
    multiple,
)
from seedproof_reproductions.page import Table, claims_data, command, render, write
from seedproof_reproductions.results import shared_versions
from seedproof_reproductions.rules import Evidence
from seedproof_reproductions.thesis2019 import charts, inside_charts, inside_tables
from seedproof_reproductions.thesis2019.arms import BASELINE
from seedproof_reproductions.thesis2019.reading import (
    ARMS,
    MODELS,
    PARTS,
    SettingResults,
    by_setting,
    layout,
    published,
)
from seedproof_reproductions.thesis2019.settings import CANDIDATES, CATALOG, SCHEDULES

TEMPLATE = "thesis2019/page.md.jinja"
COMMAND = "seedproof reproduce thesis2019 --from-results --page docs/results/thesis2019.md"
# Parts of a setting that an option of the command changes.
OPTIONS = ("epochs", "n_users", "held_out")
ATTENDED = "explanation_jaccard_10"
# Charts of a setting, by the topic that they belong to.
DRAWN = {
    "attention": charts.draw_attention,
    "confidence": inside_charts.draw_confidence,
    "vectors": inside_charts.draw_users,
}

Settings: TypeAlias = Sequence[SettingResults]


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the page of all settings, and its charts into a folder next to it.

    Return all files that were written, the page first.
    """
    settings = by_setting(results)
    drawn = {
        "lists": [charts.draw_lists(settings)],
        **{
            topic: [chart for chart in map(draw, settings) if chart is not None]
            for topic, draw in DRAWN.items()
        },
    }
    data = page_data(results)
    text = render(TEMPLATE, {**data, "charts": drawn, "folder": Path(path).stem})
    return write(text, [chart for topic in drawn.values() for chart in topic], path)


def page_data(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return all names that the template uses, except its charts and their folder."""
    settings = by_setting(results)
    several = [setting for setting in settings if len(setting.content["arms"]) > 1]
    return {
        "paper": published()["paper"],
        "title": "Recommenders of a thesis, reproduced",
        "command": COMMAND,
        "settings": settings,
        "n_trained": sum(map(sum, (setting.n_each for setting in settings))),
        "undetermined": UNDETERMINED,
        **claims_data(checked_claims(settings)),
        "answers": [_answer(setting) for setting in settings],
        "inside": [_inside(setting) for setting in settings],
        "steadier": {setting.title: _steadier(setting) for setting in several},
        "levels": _levels(settings),
        "lists": {title: _lists(settings, part) for part, title in PARTS.items()},
        "changes": {
            setting.title: {title: _changes(setting, part) for part, title in PARTS.items()}
            for setting in several
        },
        "attention": _attention(settings),
        "confidence": inside_tables.over_confidence(settings),
        "calibration": inside_tables.calibration(settings),
        "permutation": inside_tables.permutation(settings),
        "n_shuffles": inside_tables.n_shuffles(settings),
        "compared": inside_tables.compared(settings),
        "vectors": inside_tables.vectors(settings),
        "schedules": _schedules(settings),
        "tried": _tried(),
        "versions": shared_versions(setting.content["versions"] for setting in settings),
        "commands": [line for setting in settings for line in _commands(setting)],
    }


def checked_claims(settings: Settings) -> tuple[CheckedClaim, ...]:
    """Judge every claim of the thesis on our results, in the order of `claims.toml`."""
    return evaluate(read_claims(__package__), partial(_cases, settings))


def _cases(settings: Settings, claim: Claim) -> Iterator[Case]:
    """Return a case per setting and arm; only the output of the thesis' own figures counts."""
    for setting in settings:
        if setting.dataset in claim.datasets and setting.output == "softmax":
            for arm in claim.arms:
                if claim.rule == "positive":
                    yield from _differences(setting, claim, arm)
                    continue
                evidence = _evidence(setting, claim, arm)
                if evidence.estimate is not None or evidence.effect is not None:
                    value = f"{claim.published[0]:g}{NO_BREAK}pts" if claim.rule == "value" else ""
                    yield Case(setting.dataset, setting.named(arm), evidence, value)


def _differences(setting: SettingResults, claim: Claim, arm: str) -> Iterator[Case]:
    """Return a case per difference that a claim is about."""
    for words, path in claim.more["shown_by"].items():
        estimate = setting.estimate(arm, path)
        if estimate is not None:
            evidence = Evidence(estimate=estimate, is_over_runs=setting.is_over_runs(arm))
            where = f"{setting.named(arm)}: {words}"
            yield Case(setting.dataset, where, evidence, ours=inside_tables.amount(path, estimate))


def _evidence(setting: SettingResults, claim: Claim, arm: str) -> Evidence:
    if arm not in setting.content["arms"]:
        return Evidence()
    at = claim.method
    if claim.rule == "loss":
        return Evidence(setting.effect(arm, f"{at}.effects.{claim.metric}"))
    low, high = claim.published[0] / 100, claim.published[-1] / 100
    return Evidence(
        estimate=setting.estimate(arm, f"{at}.metrics.{claim.metric}"),
        published=low,
        between=(low, high),
        is_over_runs=setting.is_over_runs(arm),
    )


def _figure(setting: SettingResults, arm: str, part: str, metric: str) -> str:
    return figure(metric, setting.estimate(arm, f"{part}.metrics.{metric}"))


def _answer(setting: SettingResults) -> dict[str, Any]:
    """Figures of the baseline for the summary."""
    of = partial(_figure, setting, BASELINE)
    return {
        "title": setting.title,
        "seeds": setting.of(BASELINE, "n_runs"),
        "level": of(CANDIDATES, "hit_rate@10"),
        "sd": of(CANDIDATES, "hit_rate@10_sd"),
        "first": {part: of(part, "first_item_flips") for part in (CANDIDATES, CATALOG)},
        "changed": {part: of(part, "jaccard_distance@10") for part in (CANDIDATES, CATALOG)},
    }


def _inside(setting: SettingResults) -> dict[str, Any]:
    """Differences of the baseline for the summary, by place; empty if they were not measured."""
    paths = layout()["summary"]
    estimates = {name: setting.estimate(BASELINE, path) for name, path in paths.items()}
    return {"title": setting.title} | {
        name: "" if estimate is None else inside_tables.amount(paths[name], estimate)
        for name, estimate in estimates.items()
    }


def _others(setting: SettingResults) -> list[str]:
    return [arm for arm in setting.content["arms"] if arm != BASELINE]


def _steadier(setting: SettingResults) -> dict[str, list[str]]:
    """Arms that are steadier than the baseline, by what is ranked."""

    def is_steadier(arm: str, part: str) -> bool:
        effect = setting.effect(arm, f"{part}.effects.first_item_flips")
        return effect is not None and effect.verdict == "steadier"

    return {
        f"{title[0].lower()}{title[1:]}": [
            ARMS[arm] for arm in _others(setting) if is_steadier(arm, part)
        ]
        for part, title in PARTS.items()
    }


def _levels(settings: Settings) -> Table:
    """Hit rate and NDCG of the candidates next to the printed ones, with an interval over seeds."""
    rows = []
    for setting in settings:
        for arm in setting.content["arms"]:
            paper, cells = setting.published(arm), []
            for name in ("hit_rate", "ndcg"):
                cells += [_level(setting, arm, name), _printed(paper, name)]
            minutes = f"{setting.cpu_minutes(arm):.1f}"
            n_runs = str(setting.of(arm, "n_runs"))
            rows.append((setting.named(arm), n_runs, *cells, minutes))
    header = "", "seeds", "HR@10", "published", "NDCG@10", "published", "CPU min per run"
    return Table.of(header, rows)


def _level(setting: SettingResults, arm: str, name: str) -> str:
    mean = setting.level(arm, name)
    sd = setting.estimate(arm, f"{CANDIDATES}.metrics.{name}@10_sd")
    text = f"{100 * mean.value:.2f}" + ("" if sd is None else f" ±{100 * sd.value:.2f}")
    if mean.low is None or mean.high is None:
        return text
    return f"{text} [{100 * mean.low:.2f}, {100 * mean.high:.2f}]"


def _printed(paper: Mapping[str, Any], name: str) -> str:
    if not paper:
        return MISSING
    text = " ±".join(f"{number:.2f}" for number in paper[name])
    return f"{text} ({paper['source']})" if "source" in paper else text


def _lists(settings: Settings, part: str) -> Table:
    """Lists of all settings without any mitigation."""
    columns = layout()["lists"]
    rows = (
        (setting.title, *(_figure(setting, BASELINE, part, metric) for metric in columns.values()))
        for setting in settings
    )
    return Table.of(("", *columns), rows)


def _changes(setting: SettingResults, part: str) -> Table:
    """Changes of each arm against the baseline, with the cost of its training."""
    columns = layout()["changes"]
    rows = []
    for arm in _others(setting):
        effects = (setting.effect(arm, f"{part}.effects.{metric}") for metric in columns.values())
        rows.append((ARMS[arm], *map(judged_change, effects), multiple(setting.cost(arm))))
    return Table.of(("", *columns, "training cost"), rows)


def _attention(settings: Settings) -> Table:
    """Share of the top 10 % of the attended items that only one of two seeds has."""
    rows = []
    for setting in settings:
        for arm in setting.content["arms"]:
            if setting.of(arm, "attention") is not None:
                change = setting.effect(arm, f"attention.effects.{ATTENDED}")
                share = _figure(setting, arm, "attention", ATTENDED)
                text = "" if arm == BASELINE else judged_change(change)
                rows.append((setting.named(arm), share, text))
    return Table.of(("", "in only one of two seeds", "change"), rows)


def _schedules(settings: Settings) -> Table:
    rows = []
    for setting in settings:
        content, schedule = setting.content, setting.content["schedule"]
        losses = [of["scalars"]["train_loss"] for of in content["arms"].values()]
        rows.append(
            (
                setting.title,
                f"{content['n_users']:,}",
                str(schedule["n_factors"]),
                str(schedule["epochs"]),
                f"{schedule['learning_rate']:g}",
                f"{schedule['batch_size']:,}",
                "all" if schedule["n_positives"] is None else f"{schedule['n_positives']} per user",
                median_and_range([round(loss, 3) for loss in losses[0]]),
            )
        )
    header = (
        "", "users", "dimensions", "epochs", "learning rate", "batch", "positives per epoch",
        "training loss: median (range)",
    )  # fmt: skip
    return Table.of(header, rows)


def _tried() -> Table:
    """Schedules that were tried on held-out items, and which is used."""
    rows = []
    for model, rate, epochs, hit_rate, ndcg in layout()["tried"]:
        used = SCHEDULES[model]
        is_used = (used.learning_rate, used.epochs) == (rate, epochs)
        cells = f"{rate:g}", str(epochs), f"{hit_rate:.2f}", f"{ndcg:.2f}"
        rows.append((MODELS[model], *cells, "yes" if is_used else ""))
    return Table.of(("", "learning rate", "epochs", "HR@10", "NDCG@10", "used"), rows)


def _commands(setting: SettingResults) -> list[str]:
    """Return the commands that train a setting, one per number of seeds."""
    chosen = setting.content["setting"]
    given: dict[str, Any] = {"model": setting.dataset, "output": setting.output}
    given |= {name: chosen[name] for name in OPTIONS if chosen[name] is not None}
    arms: dict[int, list[str]] = {}
    for arm, content in setting.content["arms"].items():
        arms.setdefault(content["n_runs"], []).append(arm)
    return [
        command("thesis2019", given | {"arms": ",".join(names), "seeds": n_runs})
        for n_runs, names in arms.items()
    ]
