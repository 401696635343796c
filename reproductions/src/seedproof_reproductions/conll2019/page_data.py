"""Stored results as plain data for the page: texts, tables, charts and checked claims."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, stdev
from typing import Any, TypeAlias

from seedproof.report.explanations.sentences import is_computed
from seedproof.stats.effect import Effect
from seedproof_reproductions import figures
from seedproof_reproductions.conll2019 import answering, cases, charts, names
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, METHODS, PAPER_ARMS, layout
from seedproof_reproductions.conll2019.plan import plan, tried_rates
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.conll2019.reading import SettingResults, by_setting
from seedproof_reproductions.conll2019.remaining import not_reached, seeds_text
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.figures import MISSING, UNDETERMINED, figure, judged_change, listed
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.page import Table, claims_data, command, hours_table, render, write
from seedproof_reproductions.results import shared_versions

TEMPLATE = "conll2019/page.md.jinja"
COMMAND = "seedproof reproduce conll2019 --from-results --page docs/results/conll2019.md"
# Defaults of the command line.
USUAL = {
    "encoder": "cnn", "attention": "additive", "optimizer": "adam", "learning_rate": None,
    "epochs": 20, "n_train": None, "n_test": None,
}  # fmt: skip
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
# Averages that are not the paper's own.
FURTHER = frozenset({"aswa-code", "naswa-code", "swa", "ema", "switch-ema", "lawa"})
# A seed is far from the others if its mean distance is more than this multiple of the median.
FAR = 2.0
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
    settings, separate = by_setting(results), by_setting(results, pooled=False)
    halves = [each for each in separate if each.content["name"] in settings[0].halves]
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
        "n_trained": sum(sum(each.n_each) + each.n_in_blocks for each in settings),
        "elsewhere": cases.ELSEWHERE,
        "undetermined": UNDETERMINED,
        "headline": headline(settings[0]),
        "answers": answering.answered(settings[0]),
        "crossed": answering.crossed_values(settings[0]),
        "by_half": answering.by_half(halves),
        "spread_by_half": [answering.change_of_spread(half) for half in halves],
        "crossed_elsewhere": answering.elsewhere(settings[1:]),
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
        "further": [_further(each) for each in settings if FURTHER & each.content["arms"].keys()],
        "rates": _rates(settings),
        "sizes": _sizes(settings),
        "cut_off": _cut_off(settings),
        "not_reached": not_reached(settings),
        "explained_minutes": _explained_minutes(results),
        "versions": shared_versions(setting.content["versions"] for setting in settings),
        # Crossed models were trained before.
        "hours": hours_table(
            (x for x in results if not x["name"].endswith(names.CROSSED)), purpose_of
        ),
        "commands": [line for setting in separate for line in _commands(setting)],
    }


def purpose_of(study: Mapping[str, Any]) -> str:
    """Return what a study is for, as the table of hours says it."""
    is_planned = study["setting"].get("seed") in {plan()["root"], plan()["second_root"]}
    kind = "planned" if is_planned else "first"
    for end in (names.EXPLAINED, names.BLOCKS):
        if study["name"].endswith(end):
            kind = end.removeprefix("-")
    return str(layout()["titles"]["purposes"][kind])


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
        "seeds": seeds_text({arm: setting.of(arm, "n_runs") for arm in arms if arm in trained}),
        "fewer_seeds": [
            ARMS[arm]
            for arm in paper_arms
            if setting.of(arm, "n_runs") < setting.of(BASELINE, "n_runs")
        ],
        "fewer_explained": _fewer_explained(setting),
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
        "rivals": _rivals(setting),
        "lowest": spreads_without_lowest(setting, arms),
        "outlying": _outlying(setting, arms),
        "in_tens": {
            ARMS[arm]: {
                "ends": [figures.cut(100 * (1 - x), digits=0) for x in (min(ratios), max(ratios))],
                "n_groups": len(ratios),
                "n_smaller": sum(x < 1 for x in ratios),
            }
            for arm in paper_arms
            if (ratios := ratios_in_tens(setting, arm))
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


def _fewer_explained(setting: SettingResults) -> list[tuple[list[str], int]]:
    """Methods that explain the models of fewer seeds than there are, with their number."""
    methods: dict[int, list[str]] = {}
    for method in setting.of(BASELINE, "explanations") or ():
        n_runs = int(setting.of(BASELINE, f"explanations.{method}.n_runs"))
        if n_runs < setting.of(BASELINE, "n_runs"):
            methods.setdefault(n_runs, []).append(METHODS[method])
    return [(named, n_runs) for n_runs, named in methods.items()]


def ratios_in_tens(setting: SettingResults, arm: str) -> list[float]:
    """Ratios of the sd of accuracy to that of the baseline in groups of ten seeds, in order.

    The paper has ten seeds per arm. Empty with fewer than two groups.
    """
    n_seeds = published()["training"]["seeds"]
    scalars = {name: setting.scalars(name, names.ACCURACY_OF_RUN) for name in (BASELINE, arm)}
    if not all(scalars.values()):
        return []
    sides = [
        dict(zip(setting.of(name, "runs"), values, strict=True)) for name, values in scalars.items()
    ]
    shared = sorted(set(sides[0]) & set(sides[1]), key=lambda seed: (len(seed), seed))
    groups = [shared[i : i + n_seeds] for i in range(0, len(shared) - n_seeds + 1, n_seeds)]
    spreads = [[stdev(side[seed] for seed in group) for side in sides] for group in groups]
    ratios = [after / before for before, after in spreads if before > 0]
    return ratios if len(ratios) > 1 else []


def _rivals(setting: SettingResults) -> dict[str, Any] | None:
    """Return the changes of NASWA against ASWA under the seeds of both; None if not stored."""
    effects = {metric: setting.rival(metric) for metric in ("flip_rate", SD.metric)}
    if None in effects.values():
        return None
    flips, spread = map(judged_change, effects.values())
    n_runs = min(setting.of(arm, "n_runs") for arm in setting.paper_arms)
    return {"n_runs": n_runs, "flips": flips, "spread": spread, "sds": _spreads_alike(setting)}


def _spreads_alike(setting: SettingResults) -> dict[str, str]:
    """Return the sd of accuracy under the seeds that all arms of the paper have, in points."""
    arms = (BASELINE, *setting.paper_arms)
    sides = {
        arm: dict(zip(setting.of(arm, "runs"), accuracies, strict=True))
        for arm in arms
        if (accuracies := setting.scalars(arm, names.ACCURACY_OF_RUN))
    }
    shared = set.intersection(*map(set, sides.values())) if len(sides) == len(arms) else set()
    if len(shared) < 2:
        return {}
    sds = {arm: stdev(accuracy[run] for run in shared) for arm, accuracy in sides.items()}
    return {ARMS[arm]: f"{100 * sd:.2f}" for arm, sd in sds.items()}


def _cut_off(settings: Settings) -> list[str]:
    """Return the settings in which dev chose the last epoch for ASWA in every run."""
    return [
        setting.title
        for setting in settings
        if (epochs := setting.scalars("aswa", "epoch_chosen"))
        and min(epochs) == setting.content["setting"]["epochs"]
    ]


def spreads_without_lowest(
    setting: SettingResults, arms: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return the sd of accuracy without the lowest twentieth of the seeds, and that of all."""
    spreads = {}
    for arm in arms:
        accuracies = sorted(setting.scalars(arm, names.ACCURACY_OF_RUN))
        n_lowest = len(accuracies) // 20
        if n_lowest:
            sds = (stdev(accuracies[n_lowest:]), stdev(accuracies))
            spreads[ARMS[arm]] = (f"{100 * sds[0]:.2f}", f"{100 * sds[1]:.2f}")
    return spreads


def _outlying(setting: SettingResults, arms: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Seeds whose attention is far from that of the others, by arm; empty if there is none."""
    stored = {arm: setting.of(arm, "explanations.attention.run_kl") for arm in arms}
    outliers = {ARMS[arm]: _far(distances) for arm, distances in stored.items() if distances}
    return outliers if any(each["far"] for each in outliers.values()) else {}


def _far(distances: Sequence[float]) -> dict[str, Any]:
    middle = median(distances)
    far = sorted((x for x in distances if x > FAR * middle), reverse=True)
    return {"median": f"{middle:.3f}", "far": [f"{x:.2f}" for x in far]}


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


def _further(setting: SettingResults) -> dict[str, Any]:
    """All averages of a setting; their intervals hold together with those of all its arms."""
    arms = [arm for arm in setting.content["arms"] if arm in (*PAPER_ARMS, *FURTHER)]
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
        "seeds": setting.seeds,
        "is_even": len({setting.of(arm, "n_runs") for arm in arms}) == 1,
        "others": [ARMS[arm] for arm in arms if arm in FURTHER],
        "paper_arms": [ARMS[arm] for arm in setting.paper_arms],
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
        chosen = {arm: _learning(each, arm)[1] for arm in (BASELINE, *each.paper_arms)}
        epochs = "; ".join(f"{ARMS[arm]} {text}" for arm, text in chosen.items())
        given = {"ours": each, "published": paper, "chosen": epochs}
        cells = (x.format(**each.content, **given) for x in columns.values())
        rows.append((each.title, *cells))
    return Table.of(("", *columns), rows)


def _explained_minutes(results: Sequence[Mapping[str, Any]]) -> str:
    """Return how long it took to explain the models of one run; empty if no study says it."""
    studies = [x for x in results if x["name"].endswith(names.EXPLAINED) and "hours" in x]
    n_runs = sum(arm["n_runs"] for study in studies for arm in study["arms"].values())
    minutes = sum(60 * study["hours"] for study in studies) / n_runs if n_runs else 0.0
    return f"{minutes:.1f}" if minutes else ""


def _rates(settings: Settings) -> dict[str, str]:
    """Learning rates that were tried, the best first, by the title of the optimizer."""
    titles = {name: title.removeprefix(", ") for name, title in names.OPTIMIZERS.items()}
    tried = tried_rates()
    used = dict.fromkeys(each.content["setting"]["optimizer"] for each in settings)
    return {
        titles[optimizer]: ", ".join(
            f"{rate:g} ({score:.3f})"
            for rate, score in sorted(tried[optimizer].items(), key=lambda x: -x[1])
        )
        for optimizer in used
        if optimizer in tried
    }


def _commands(setting: SettingResults) -> Iterator[str]:
    """The commands that train a setting and explain its models, for each number of seeds."""
    chosen = asdict(Setting.from_stored(setting.content["setting"]))
    model: dict[str, Any] = {"dataset": setting.dataset}
    model |= {name: chosen[name] for name, usual in USUAL.items() if chosen[name] != usual}
    model |= {"seed": chosen["seed"]} if chosen["seed"] else {}
    more = {"cross": True} if setting.content["crossed"] else {}
    if blocks := setting.content["sources"].get("arms"):
        more["blocks"] = min(arm["n_blocks"] for arm in blocks.values())
    for n_runs, arms in _by_seeds(setting, "n_runs").items():
        given = {"arms": ",".join(arms), "seeds": n_runs}
        yield command("conll2019", {**model, **given, **(more if BASELINE in arms else {})})
    how = setting.content["explaining"] or {}
    lime = {option: (how.get(x, usual), usual) for x, (option, usual) in LIME_OPTIONS.items()}
    options = {option: value for option, (value, usual) in lime.items() if value != usual}
    for n_runs, arms in _by_seeds(setting, "explanations.gradient.n_runs").items():
        given = {"arms": ",".join(arms), "seeds": n_runs, "explain": True}
        yield command("conll2019", {**model, **given, **options})


def _by_seeds(setting: SettingResults, path: str) -> dict[int, list[str]]:
    """Arms by the number of their runs, the most runs first."""
    arms: dict[int, list[str]] = {}
    for arm in setting.content["arms"]:
        if n_runs := setting.of(arm, path):
            arms.setdefault(n_runs, []).append(arm)
    return dict(sorted(arms.items(), reverse=True))
