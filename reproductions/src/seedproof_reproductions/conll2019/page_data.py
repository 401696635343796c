"""Stored results as plain data for the page: texts, tables, charts and checked claims."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from seedproof.comparison.effect import Effect
from seedproof.errors import EmptyInputError
from seedproof.report.reasons.words import is_computed
from seedproof_reproductions.conll2019.cases import (
    ELSEWHERE,
    checked_claims,
    other_readings,
    printed,
    stated,
)
from seedproof_reproductions.conll2019.charts import (
    Panel,
    draw_figure,
    points,
    read_figures,
)
from seedproof_reproductions.conll2019.names import (
    ARMS,
    BASELINE,
    DATASETS,
    ENCODERS,
    JACCARD,
    KL,
    METHODS,
    OVERLAP,
    PAPER_ARMS,
)
from seedproof_reproductions.conll2019.published import published, published_accuracy
from seedproof_reproductions.conll2019.reading import SettingResults, by_setting
from seedproof_reproductions.figures import (
    MISSING,
    UNDETERMINED,
    figure,
    judged_change,
    listed,
    median_and_range,
)
from seedproof_reproductions.page import Table, claims_table, counts_table, render, write
from seedproof_reproductions.results import shared_versions

TEMPLATE = "conll2019/page.md.jinja"
COMMAND = "seedproof reproduce conll2019 --from-results --page docs/results/conll2019.md"
# Data sets that may not be passed on.
PRIVATE = ("adr", "diabetes", "anemia")
# Defaults of the command line.
USUAL = {"encoder": "cnn", "attention": "additive", "epochs": 20, "n_train": None, "n_test": None}
LIME_OPTIONS = {"n_lime": ("--lime-examples", 200), "n_samples": ("--lime-samples", 5000)}

Settings: TypeAlias = Sequence[SettingResults]
Cell: TypeAlias = Callable[[SettingResults, str], str]


@dataclass(frozen=True)
class Measured:
    """A figure of every arm, and its change: of predictions, or by a method of explanations."""

    metric: str
    method: str | None = None
    is_matched: bool = False

    def value(self, setting: SettingResults, arm: str) -> str:
        """The figure of an arm, as text."""
        part = "matched" if self.is_matched else "metrics"
        return figure(self.metric, setting.estimate(arm, self.metric, self.method, part=part))

    def effect(
        self, setting: SettingResults, arm: str, *, among_all: bool = False
    ) -> Effect | None:
        """The change of an arm against the baseline."""
        how = {"is_matched": self.is_matched, "among_all": among_all}
        return setting.effect(arm, self.metric, self.method, **how)

    def change(self, setting: SettingResults, arm: str, *, among_all: bool = False) -> str:
        """The change with its verdict, as text; empty for the baseline itself."""
        effect = self.effect(setting, arm, among_all=among_all)
        return "" if arm == BASELINE else judged_change(effect)


ACCURACY, SD, FLIPS = Measured("accuracy"), Measured("accuracy_sd"), Measured("flip_rate")
ALONE, PROBABILITY = Measured("accuracy_sd_independent"), Measured("probability_sd")
SAME_ACCURACY, SAME_SD, SAME_FLIPS = (
    Measured(name, is_matched=True) for name in ("accuracy", "accuracy_sd", "flip_rate")
)
PREDICTIONS = {
    "sd of accuracy": SD,
    "flip rate": FLIPS,
    "sd of accuracy, same share": SAME_SD,
    "flip rate, same share": SAME_FLIPS,
    "sd of the probability": PROBABILITY,
}
COMPARED = ("sd of accuracy", "flip rate", "flip rate, same share")


def _of_explanations(method: str) -> dict[str, Measured]:
    parts = {"KL": KL, "top words": JACCARD}
    return {f"{METHODS[method]}: {name}": Measured(of, method) for name, of in parts.items()}


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the page, and its charts into a folder next to it.

    Args:
        results: Stored results of all studies.
        path: The page, such as `docs/results/conll2019.md`.

    Returns:
        All files that were written, the page first.
    """
    data = page_data(results)
    charts = [part["chart"] for part in data["figures"]]
    return write(render(TEMPLATE, {**data, "folder": Path(path).stem}), charts, path)


def page_data(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Everything that the template shows.

    Args:
        results: Stored results of all studies.

    Returns:
        Texts, numbers, tables, charts, checked claims, and the settings themselves.

    Raises:
        EmptyInputError: There are no results.
    """
    settings = by_setting(results)
    if not settings:
        raise EmptyInputError("There are no results to make a page of. Collect some first.")
    claims = checked_claims(settings)
    covered = {check.dataset for claim in claims for check in claim.checks}
    nowhere = [name for name in DATASETS if name not in covered]
    largest = _largest(settings)
    return {
        "title": "CoNLL 2019, reproduced",
        "paper": published()["paper"],
        "paper_training": published()["training"],
        "command": COMMAND,
        "settings": settings,
        "n_trained": sum(sum(setting.n_each) for setting in settings),
        "elsewhere": ELSEWHERE,
        "undetermined": UNDETERMINED,
        "headline": headline(settings[0]),
        "counts": counts_table(claims),
        "claims": claims,
        "claims_table": claims_table(claims, stated(claims)),
        "nowhere": [DATASETS[name] for name in nowhere],
        "not_covered": {
            claim.claim.name: [DATASETS[name] for name in claim.missing if name not in nowhere]
            for claim in claims
        },
        "readings": other_readings(settings, claims),
        "accuracy": {
            f"{number}: {ENCODERS[encoder]} models": _table(chosen, ACCURACY_COLUMNS)
            for encoder, number in {"cnn": "Table 2", "lstm": "Table 3"}.items()
            if (chosen := [setting for setting in settings if setting.encoder == encoder])
        },
        "flips": _table(settings, FLIP_COLUMNS),
        "matched": _table(
            [setting for setting in settings if len(setting.own["classes"]) == 2], MATCHED_COLUMNS
        ),
        "figures": list(_figures(settings)),
        "further": _further(max(settings, key=lambda setting: len(setting.arms))),
        "sizes": _sizes(settings),
        "largest": largest,
        "smaller": list(
            dict.fromkeys(DATASETS[each.dataset] for each in settings if each.is_smaller)
        ),
        "private": [DATASETS[name] for name in PRIVATE if name not in largest],
        "versions": shared_versions(setting.own["versions"] for setting in settings),
        "commands": [_command(setting) for setting in settings],
    }


def headline(setting: SettingResults) -> dict[str, Any]:
    """Figures of the setting that answers the question of the paper.

    Args:
        setting: The first setting.

    Returns:
        Texts by row of the table, and what the sentences above it quote.
    """
    asked = dict(PREDICTIONS)
    for method in setting.methods:
        asked |= _of_explanations(method)
    arms = (BASELINE, *setting.paper_arms)
    rows: dict[str, dict[str, Any]] = {
        name: {
            "none": of.value(setting, BASELINE),
            "changes": {ARMS[arm]: of.change(setting, arm) for arm in setting.paper_arms},
            "noise": _noise(setting, of),
        }
        for name, of in asked.items()
        if not of.is_matched or of.value(setting, BASELINE) != MISSING
    }
    chosen = [setting.scalars(arm, "epoch_chosen") for arm in arms]
    return {
        "setting": setting,
        "arms": [ARMS[arm] for arm in setting.paper_arms],
        "rows": rows,
        "table": Table.of(
            ("", "none", *(ARMS[arm] for arm in setting.paper_arms), "explainer noise"),
            (
                (name, row["none"], *row["changes"].values(), row["noise"])
                for name, row in rows.items()
            ),
        ),
        "accuracy": {ARMS[arm]: ACCURACY.change(setting, arm) for arm in setting.paper_arms},
        "overlaps": {
            METHODS[method]: Measured(OVERLAP, method).value(setting, BASELINE)
            for method in setting.methods
        },
        "is_computed": {METHODS[method]: is_computed(method) for method in setting.methods},
        "spreads": {
            arm: {"sd": SD.value(setting, arm), "alone": ALONE.value(setting, arm)}
            for arm in arms
            if setting.of_arm(arm)
        },
        "learning": {ARMS[arm]: _learning(setting, arm) for arm in arms},
        # If every averaged model trained for longer, both effects go together.
        "trained_longer": len(arms) > 1
        and all(chosen)
        and all(max(chosen[0]) < min(epochs) for epochs in chosen[1:]),
        "is_over_runs": setting.is_over_runs(BASELINE),
        "is_demo": setting.own["name"] == "sst-cnn-additive",
    }


def _noise(setting: SettingResults, of: Measured) -> str:
    """Distance between two explanations of one model; empty for predictions."""
    if of.method is None or is_computed(of.method):
        return "" if of.method is None else "0"
    return figure(of.metric, setting.estimate(BASELINE, of.metric, of.method, part="noise"))


def _learning(setting: SettingResults, arm: str) -> tuple[str, str]:
    """Mean training loss of the chosen models, and the epochs that were chosen."""
    losses = setting.scalars(arm, "train_loss")
    loss = f"{sum(losses) / len(losses):.3f}" if losses else MISSING
    return loss, median_and_range(setting.scalars(arm, "epoch_chosen"))


def _arms(settings: Settings) -> Iterator[tuple[SettingResults, str, str]]:
    """Settings, arms of the paper and their titles; the first of a setting bears its name."""
    for setting in settings:
        yield setting, BASELINE, f"**{setting.title}**, {setting.seeds} seeds: {ARMS[BASELINE]}"
        yield from ((setting, arm, ARMS[arm]) for arm in setting.paper_arms)


def _table(settings: Settings, columns: Sequence[tuple[str, Cell]]) -> Table:
    """A table with a row per setting and arm of the paper."""
    return Table.of(
        ("", *(name for name, _ in columns)),
        (
            (title, *(cell(setting, arm) for _, cell in columns))
            for setting, arm, title in _arms(settings)
        ),
    )


def _published(setting: SettingResults, arm: str) -> str:
    """Mean and sd of accuracy in the paper's tables."""
    is_tabled = setting.is_as_tabled
    paper = published_accuracy(setting.dataset, setting.encoder, arm) if is_tabled else None
    return MISSING if paper is None else printed(setting, f"{paper.mean:.1f} ±{paper.sd:.2f}")


ACCURACY_COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("published", _published),
    ("ours: accuracy", ACCURACY.value),
    ("ours: sd", SD.value),
    ("accuracy, change", ACCURACY.change),
    ("sd, change", SD.change),
)
FLIP_COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("flip rate", FLIPS.value),
    ("change", FLIPS.change),
    ("sd of accuracy", SD.value),
    ("sd if texts flipped independently", ALONE.value),
)
MATCHED_COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("flip rate", SAME_FLIPS.value),
    ("change", SAME_FLIPS.change),
    ("sd of accuracy", SAME_SD.value),
    ("change", SAME_SD.change),
    ("accuracy", SAME_ACCURACY.value),
)


def _figures(settings: Settings) -> Iterator[dict[str, Any]]:
    """Each figure of the paper that our runs cover, with a table over all texts."""
    for drawn in read_figures():
        panels = {setting: group for setting in settings if (group := drawn.panels(setting))}
        if not panels:
            continue
        of = Measured(drawn.metric, drawn.method)
        every = [panel for group in panels.values() for panel in group]
        effects = [of.effect(setting, arm) for setting in panels for arm in setting.paper_arms]
        yield {
            "figure": drawn,
            "chart": draw_figure(drawn, every),
            "lower": {ARMS[arm]: _n_lower(every, arm) for arm in PAPER_ARMS},
            "verdicts": Counter(effect.verdict for effect in effects if effect is not None),
            "table": _over_all_texts(of, panels),
        }


def _n_lower(panels: Sequence[Panel], arm: str) -> tuple[int, int]:
    """Bins in which the curve of an arm is below that of the baseline, of all with both."""
    pairs = []
    for panel in (panel for panel in panels if arm in panel.curves):
        base = {place: mean for place, mean, _ in points(panel.curves[BASELINE])}
        pairs += [(mean, base[at]) for at, mean, _ in points(panel.curves[arm]) if at in base]
    return sum(mean < base for mean, base in pairs), len(pairs)


def _over_all_texts(of: Measured, panels: Mapping[SettingResults, Sequence[Panel]]) -> Table:
    arms = [arm for arm in PAPER_ARMS if any(of.effect(setting, arm) for setting in panels)]
    return Table.of(
        ("over all texts", "none", *(ARMS[arm] for arm in arms), "none is highest at"),
        (
            (
                setting.title,
                of.value(setting, BASELINE),
                *(of.change(setting, arm) for arm in arms),
                listed([_peak(panel) for panel in group]),
            )
            for setting, group in panels.items()
        ),
    )


def _peak(panel: Panel) -> str:
    """The bin in which the curve of the baseline is highest."""
    bins = points(panel.curves[BASELINE])
    if not bins:
        return MISSING
    place, _, _ = max(bins, key=lambda point: point[1])
    return f"{place / 10:.1f}–{(place + 1) / 10:.1f}"


def _further(setting: SettingResults) -> dict[str, Any] | None:
    """All arms of the setting that has most, compared together; None without a further setting."""
    arms = [arm for arm in setting.arms if arm != BASELINE]
    if set(arms) <= set(PAPER_ARMS):
        return None
    compared = {name: PREDICTIONS[name] for name in COMPARED} | _of_explanations("attention")

    def verdict(of: Measured, arm: str, *, among_all: bool = True) -> str | None:
        effect = of.effect(setting, arm, among_all=among_all)
        return None if effect is None else effect.verdict

    return {
        "title": setting.title,
        "others": [ARMS[arm] for arm in arms if arm not in PAPER_ARMS],
        "paper_arms": [ARMS[arm] for arm in setting.paper_arms],
        "n_arms": len(arms),
        "table": Table.of(
            ("change against none", *compared),
            (
                (ARMS[arm], *(of.change(setting, arm, among_all=True) for of in compared.values()))
                for arm in arms
            ),
        ),
        "steadier": {
            name: [ARMS[arm] for arm in arms if verdict(of, arm) == "steadier"]
            for name, of in compared.items()
        },
        "differ": [
            f"{name} of {ARMS[arm]}"
            for name, of in {**compared, "accuracy": ACCURACY}.items()
            for arm in setting.paper_arms
            if verdict(of, arm) != verdict(of, arm, among_all=False)
        ],
        "learning": Table.of(
            ("", "accuracy", "change", "training loss", "epoch chosen: median (range)"),
            (
                (
                    ARMS[arm],
                    ACCURACY.value(setting, arm),
                    ACCURACY.change(setting, arm, among_all=True),
                    *_learning(setting, arm),
                )
                for arm in (BASELINE, *arms)
            ),
        ),
    }


def _sizes(settings: Settings) -> Table:
    paper = published()["training"]
    return Table.of(
        ("", "training texts", "dev texts", "test texts", "epochs", "seeds", "vocabulary"),
        (
            (
                setting.title,
                f"{setting.own['sizes']['train']:,} ({setting.published_size('train'):,})",
                f"{setting.own['sizes']['dev']:,}",
                f"{setting.own['sizes']['test']:,} ({setting.published_size('test'):,})",
                f"{setting.own['setting']['epochs']} ({paper['epochs']})",
                f"{setting.seeds} ({paper['seeds']})",
                f"words seen {setting.own['setting']['min_count']} times or more",
            )
            for setting in settings
        ),
    )


def _largest(settings: Settings) -> dict[str, SettingResults]:
    """The setting with the most texts, of each data set."""
    order = sorted(settings, key=_n_texts, reverse=True)
    return {setting.dataset: setting for setting in reversed(order)}


def _n_texts(setting: SettingResults) -> tuple[int, int]:
    return setting.own["sizes"]["test"], setting.own["sizes"]["train"]


def _command(setting: SettingResults) -> str:
    """The command that trains a setting, and explains its models if ours were explained."""
    chosen = setting.own["setting"]
    given: dict[str, Any] = {"dataset": setting.dataset}
    given |= {name: chosen[name] for name, usual in USUAL.items() if chosen[name] != usual}
    given |= {"arms": ",".join(setting.arms), "seeds": max(setting.n_each)}
    options = [f"--{name.replace('_', '-')} {value}" for name, value in given.items()]
    if setting.explained is not None:
        how = setting.explained["explaining"]
        options.append("--explain")
        options += [
            f"{option} {how[name]}"
            for name, (option, usual) in LIME_OPTIONS.items()
            if how.get(name, usual) != usual
        ]
    return " ".join(["seedproof reproduce conll2019", *options])
