"""Stored results as plain data for the page: texts, tables, charts and checked claims."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from seedproof.report.explanations.sentences import is_computed
from seedproof.stats.effect import Effect
from seedproof_reproductions import figures
from seedproof_reproductions.conll2019 import answering, cases, charts, names
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, METHODS, PAPER_ARMS, layout
from seedproof_reproductions.conll2019.plan import plan
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.conll2019.reading import SettingResults, by_setting
from seedproof_reproductions.figures import MISSING, UNDETERMINED, figure, judged_change, listed
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.page import Table, claims_data, command, hours_table, render, write
from seedproof_reproductions.results import shared_versions

TEMPLATE = "conll2019/page.md.jinja"
COMMAND = "seedproof reproduce conll2019 --from-results --page docs/results/conll2019.md"
# Defaults of the command line.
USUAL = {"encoder": "cnn", "attention": "additive", "epochs": 20, "n_train": None, "n_test": None}
LIME_OPTIONS = {"n_lime": ("lime_examples", 200), "n_samples": ("lime_samples", 5000)}

Settings: TypeAlias = Sequence[SettingResults]


@dataclass(frozen=True)
class Measured:
    """A figure of every arm, and its change; `at` is where both are stored.

    It is empty for predictions, `matched` for runs that all give one answer equally often, or a
    method of explanations.
    """

    metric: str
    at: str = ""

    def value(self, setting: SettingResults, arm: str) -> str:
        """The figure of an arm, as text."""
        path = f"{self.at}.metrics.{self.metric}".removeprefix(".")
        return figure(self.metric, setting.estimate(arm, path))

    def effect(self, setting: SettingResults, arm: str, *, of_all: bool = False) -> Effect | None:
        """The change of an arm against the baseline.

        With `of_all`, its interval holds together with those of all arms, where those are stored.
        """
        together = {"": "of_all.effects", "matched": "matched.of_all"}.get(
            self.at, f"of_all.{self.at}"
        )
        effect = setting.effect(arm, f"{together}.{self.metric}") if of_all else None
        alone = f"{self.at}.effects.{self.metric}".removeprefix(".")
        return setting.effect(arm, alone) if effect is None else effect

    def published(self, setting: SettingResults, arm: str) -> str:
        """Mean and sd of accuracy in the paper's tables, as text."""
        paper = setting.published(arm)
        return MISSING if paper is None else cases.printed(setting, str(paper))

    def change(self, setting: SettingResults, arm: str, *, of_all: bool = False) -> str:
        """The change with its verdict, as text; empty for the baseline itself."""
        return "" if arm == BASELINE else judged_change(self.effect(setting, arm, of_all=of_all))


ACCURACY, SD, ALONE = map(Measured, ("accuracy", "accuracy_sd", "accuracy_sd_independent"))
PREDICTIONS = {name: Measured(*of) for name, of in layout()["predictions"].items()}
COMPARED = ("sd of accuracy", "flip rate", "flip rate, same share")


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the page of all studies, and its charts into a folder next to it.

    Return all files that were written, the page first.
    """
    data = page_data(results)
    text = render(TEMPLATE, {**data, "folder": Path(path).stem})
    drawn = [charts.draw_figure(part["figure"], part["panels"]) for part in data["figures"]]
    return write(text, drawn, path)


def page_data(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Everything that the template shows; without results, an `EmptyInputError`."""
    settings = by_setting(results)
    claims = cases.checked_claims(settings)
    covered = {check.dataset for claim in claims for check in claim.checks}
    accuracy = {
        title: _table([each for each in settings if each.encoder == encoder], "accuracy")
        for encoder, title in layout()["titles"]["tables"].items()
    }
    return {
        "title": "CoNLL 2019, reproduced",
        "paper": published()["paper"],
        "paper_training": published()["training"],
        "command": COMMAND,
        "settings": settings,
        "n_trained": sum(sum(setting.n_each) for setting in settings),
        "elsewhere": cases.ELSEWHERE,
        "undetermined": UNDETERMINED,
        "headline": headline(settings[0]),
        "answers": answering.answered(settings[0]),
        "crossed": answering.crossed_values(settings[0]),
        "sources": answering.source_shares(settings[0]),
        "decayed_epoch": figures.median_and_range(
            settings[0].scalars("none-decayed", "epoch_chosen")
        ),
        "plan": plan(),
        **claims_data(claims),
        "titles": lambda datasets: listed([names.DATASETS[name] for name in datasets]),
        "nowhere": [name for name in names.DATASETS if name not in covered],
        "readings": cases.other_readings(settings, claims),
        "accuracy": {title: table for title, table in accuracy.items() if table.rows},
        "flips": _table(settings, "flips"),
        "matched": _table([x for x in settings if len(x.content["classes"]) == 2], "matched"),
        "figures": list(_figures(settings)),
        "further": _further(max(settings, key=lambda each: len(each.content["arms"]))),
        "sizes": _sizes(settings),
        "versions": shared_versions(setting.content["versions"] for setting in settings),
        "hours": hours_table(results),
        "commands": [_command(setting) for setting in settings],
    }


def headline(setting: SettingResults) -> dict[str, Any]:
    """Figures that answer the question of the paper: rows of the table, and those in sentences."""
    paper_arms, arms = setting.paper_arms, (BASELINE, *setting.paper_arms)
    methods = setting.of(BASELINE, "explanations") or {}
    measured = PREDICTIONS | {
        name: of for method in methods for name, of in _of_explanations(method).items()
    }
    rows: dict[str, dict[str, Any]] = {
        name: {
            "none": of.value(setting, BASELINE),
            "changes": {ARMS[arm]: of.change(setting, arm) for arm in paper_arms},
            "noise": _noise(setting, of),
        }
        for name, of in measured.items()
        if of.at != "matched" or of.value(setting, BASELINE) != MISSING
    }
    chosen = [setting.scalars(arm, "epoch_chosen") for arm in arms]
    trained = setting.content["arms"]
    return {
        "setting": setting,
        "arms": [ARMS[arm] for arm in paper_arms],
        "rows": rows,
        "table": Table.of(
            ("", "none", *(ARMS[arm] for arm in paper_arms), "explainer noise"),
            ((name, x["none"], *x["changes"].values(), x["noise"]) for name, x in rows.items()),
        ),
        "accuracy": {ARMS[arm]: ACCURACY.change(setting, arm) for arm in paper_arms},
        "overlaps": {
            METHODS[x]: Measured(names.OVERLAP, f"explanations.{x}").value(setting, BASELINE)
            for x in methods
        },
        "is_computed": {METHODS[method]: is_computed(method) for method in methods},
        "spreads": [
            (x, ARMS[x], SD.value(setting, x), ALONE.value(setting, x))
            for x in arms
            if x in trained
        ],
        "learning": {ARMS[arm]: _learning(setting, arm) for arm in arms},
        # If every averaged model trained for longer, both effects go together.
        "trained_longer": bool(paper_arms)
        and all(chosen)
        and all(max(chosen[0]) < min(epochs) for epochs in chosen[1:]),
        "is_paired": all(trained[arm]["is_paired"] for arm in trained if arm != BASELINE),
        "is_over_runs": setting.is_over_runs(BASELINE),
        "is_demo": setting.content["name"] == "sst-cnn-additive",
    }


def _of_explanations(method: str) -> dict[str, Measured]:
    at, metrics = f"explanations.{method}", {"KL": names.KL, "top words": names.JACCARD}
    return {f"{METHODS[method]}: {name}": Measured(metric, at) for name, metric in metrics.items()}


def _noise(setting: SettingResults, of: Measured) -> str:
    """Distance between two explanations of one model; empty for predictions."""
    method = of.at.removeprefix("explanations.")
    if method not in METHODS or is_computed(method):
        return "0" if method in METHODS else ""
    return figure(of.metric, setting.estimate(BASELINE, f"{of.at}.noise.{of.metric}"))


def _learning(setting: SettingResults, arm: str) -> tuple[str, str]:
    """Mean training loss of the chosen models, and the epochs that were chosen."""
    losses = setting.scalars(arm, "train_loss")
    loss = f"{sum(losses) / len(losses):.3f}" if losses else MISSING
    return loss, figures.median_and_range(setting.scalars(arm, "epoch_chosen"))


def _table(settings: Settings, name: str) -> Table:
    """A row per setting and arm of the paper; the first of a setting bears its name."""
    columns, rows = layout()["columns"][name], []
    for setting in settings:
        for arm in (BASELINE, *setting.paper_arms):
            title = f"**{setting.title}**, {setting.seeds} seeds: " if arm == BASELINE else ""
            cells = (getattr(Measured(of, at), text)(setting, arm) for _, at, of, text in columns)
            rows.append((f"{title}{ARMS[arm]}", *cells))
    return Table.of(("", *(column[0] for column in columns)), rows)


def _figures(settings: Settings) -> Iterator[dict[str, Any]]:
    """Each figure of the paper that our runs cover, with a table over all texts."""
    for entry in read_toml(__package__, "figures.toml")["figures"]:
        drawn = charts.Figure(**entry)
        of = Measured(drawn.metric, f"explanations.{drawn.method}" if drawn.method else "")
        panels = {each: group for each in settings if (group := drawn.panels(each))}
        every = [panel for group in panels.values() for panel in group]
        effects = [(arm, of.effect(each, arm)) for each in panels for arm in each.paper_arms]
        shown = [(arm, effect.verdict) for arm, effect in effects if effect is not None]
        arms = [arm for arm in PAPER_ARMS if arm in dict(shown)]
        header = ("over all texts", "none", *(ARMS[arm] for arm in arms), "none is highest at")
        rows = []
        for each, group in panels.items():
            figures_of = of.value(each, BASELINE), *(of.change(each, arm) for arm in arms)
            rows.append((each.title, *figures_of, listed([charts.peak(panel) for panel in group])))
        if every:
            yield {
                "figure": drawn,
                "title": charts.title_of(drawn, every),
                "panels": every,
                "lower": {ARMS[arm]: charts.count_lower(every, arm) for arm in PAPER_ARMS},
                "verdicts": Counter(verdict for _, verdict in shown),
                "table": Table.of(header, rows),
            }


def _further(setting: SettingResults) -> dict[str, Any] | None:
    """All arms of the setting that has most, compared together; None without a further one."""
    arms = [arm for arm in setting.content["arms"] if arm != BASELINE]
    if set(arms) <= set(PAPER_ARMS):
        return None
    compared = {name: PREDICTIONS[name] for name in COMPARED} | _of_explanations("attention")
    changes, learned = [], []
    for arm in (BASELINE, *arms):
        accuracy = ACCURACY.value(setting, arm), ACCURACY.change(setting, arm, of_all=True)
        learned.append((ARMS[arm], *accuracy, *_learning(setting, arm)))
        cells = (of.change(setting, arm, of_all=True) for of in compared.values())
        changes.append((ARMS[arm], *cells))

    def verdict(of: Measured, arm: str, *, of_all: bool = True) -> str | None:
        effect = of.effect(setting, arm, of_all=of_all)
        return None if effect is None else effect.verdict

    header = ("", "accuracy", "change", "training loss", "epoch chosen: median (range)")
    return {
        "title": setting.title,
        "others": [ARMS[arm] for arm in arms if arm not in PAPER_ARMS],
        "paper_arms": [ARMS[arm] for arm in setting.paper_arms],
        "n_arms": len(arms),
        "table": Table.of(("change against none", *compared), changes[1:]),
        "steadier": {
            name: [ARMS[arm] for arm in arms if verdict(of, arm) == "steadier"]
            for name, of in compared.items()
        },
        "differ": [
            f"{name} of {ARMS[arm]}"
            for name, of in {**compared, "accuracy": ACCURACY}.items()
            for arm in setting.paper_arms
            if verdict(of, arm) != verdict(of, arm, of_all=False)
        ],
        "learning": Table.of(header, learned),
    }


def _sizes(settings: Settings) -> Table:
    """Data and training of each setting, with the paper's in brackets."""
    columns, rows = layout()["sizes"], []
    for each in settings:
        paper = published()["training"] | {x: each.published_size(x) for x in ("train", "test")}
        cells = (x.format(**each.content, ours=each, published=paper) for x in columns.values())
        rows.append((each.title, *cells))
    return Table.of(("", *columns), rows)


def _command(setting: SettingResults) -> str:
    """The command that trains a setting, and explains its models if ours were explained."""
    chosen = setting.content["setting"]
    given: dict[str, Any] = {"dataset": setting.dataset}
    given |= {name: chosen[name] for name, usual in USUAL.items() if chosen[name] != usual}
    given |= {"arms": ",".join(setting.content["arms"]), "seeds": setting.n_runs}
    given |= {"seed": chosen["seed"]} if chosen["seed"] else {}
    given |= {"cross": True} if setting.content["crossed"] else {}
    if blocks := setting.content["sources"].get("arms"):
        given["blocks"] = min(arm["n_blocks"] for arm in blocks.values())
    if (how := setting.content["explaining"]) is not None:
        lime = {option: (how.get(x, usual), usual) for x, (option, usual) in LIME_OPTIONS.items()}
        given["explain"] = True
        given |= {option: value for option, (value, usual) in lime.items() if value != usual}
    return command("conll2019", given)
