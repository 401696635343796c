"""Both pages of the paper: gather their data, render the templates, write all files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from seedproof.errors import EmptyInputError
from seedproof_reproductions.claims import summarize
from seedproof_reproductions.figures import UNDETERMINED, cut, listed
from seedproof_reproductions.findings2023.answers import goal, short_answer
from seedproof_reproductions.findings2023.charts import cell_chart, pareto_chart
from seedproof_reproductions.findings2023.decision_data import (
    advice,
    choices_table,
    levels,
    pareto_points,
)
from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page_data import (
    FURTHER_TABLES,
    Data,
    all_arms,
    checked_claims,
    further_table,
    redraws,
    table_3,
)
from seedproof_reproductions.findings2023.published import published
from seedproof_reproductions.findings2023.reading import SettingResults, by_setting, heads
from seedproof_reproductions.findings2023.recipe import ARMS_OF_TRACK
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.selection import ENOUGH, choices
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.keeping import shared_versions
from seedproof_reproductions.page import Chart, Table, claims_table, counts_table, render, write

START = "seedproof reproduce findings2023"
PAGE = "docs/results/findings2023.md"
# The page that helps to choose, next to the one that reports.
DECISION = "which-mitigation.md"
# Parts of a setting that an option of the command changes.
OPTIONS = {"epochs", "n_train", "n_test"}
# Titles of the charts for readers who cannot see them, by the name of the stored counts.
CHART_TITLES = {
    "entropy_sigma": "LE_m of each utterance and the sd over runs of the probability of its gold "
    "label",
    "one_run_many": "LE_s of each utterance in one run and LE_m over the others, for each traced "
    "run",
    "map": "Mean and sd over runs of the probability of each utterance's gold label",
}
# The whole training is shorter than LAWA's window of so many epochs.
LAWA_WINDOW = 5
# From so many arms on, some look good by chance.
MANY_ARMS = 10


def page_data(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str] = PAGE
) -> tuple[Data, list[Chart]]:
    """Return the data and charts of the results page.

    Args:
        results: Stored results of all settings.
        path: Where the page will be; its charts are in a folder of the same name.

    Returns:
        Names that the template uses, and the charts in their order.

    Raises:
        EmptyInputError: There are no results.
    """
    settings = by_setting(results)
    if not settings:
        raise EmptyInputError("There are no results to make a page of. Collect some first.")
    compared = [setting for setting in settings if setting.has_control]
    claims = checked_claims(compared) if compared else ()
    names = "; ".join(setting.title for setting in compared)
    drawn = {
        name: cell_chart(name, compared, title=f"{title}, for {names}.")
        for name, title in CHART_TITLES.items()
    }
    data: Data = {
        **published(),
        "title": "Findings of ACL 2023, reproduced",
        "folder": Path(path).stem,
        "decision": decision_name(path),
        "settings": [setting_data(setting) for setting in settings],
        "without_control": [setting.title for setting in settings if not setting.has_control],
        "answers": short_answer(compared) if compared else None,
        "goal": goal(compared),
        "claims": claims,
        "checked": {item.claim.name: item for item in claims},
        "overall": {item.claim.name: summarize(item.verdicts) for item in claims},
        "printed": {
            dataset: {"cut": cut(row["tgtss"]["cut"]), "share": f"{row['tgtss']['share']} %"}
            for dataset, row in published()["table3"].items()
        },
        "counts": counts_table(claims),
        "claims_table": claims_table(claims),
        "table3_rows": table_3(compared),
        "further": {name: further_table(name, compared) for name in FURTHER_TABLES},
        "charts": drawn,
        "redraws": redraws(compared),
        "all_arms": {setting.title: all_arms(setting) for setting in settings},
        "differences": differences(settings),
        "is_short": max(s.content["setting"]["epochs"] for s in settings) <= LAWA_WINDOW,
        "has_many": max(len(setting.treatments) for setting in settings) >= MANY_ARMS,
        "versions": shared_versions(setting.content["versions"] for setting in settings),
        "commands": [train_command(setting) for setting in settings],
        "command": page_command(settings, path),
        "is_packaged": is_packaged(settings),
    }
    data["undetermined"] = UNDETERMINED if UNDETERMINED in repr(data) else ""
    return data, [chart for chart in drawn.values() if chart is not None]


def decision_data(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str] = PAGE
) -> tuple[Data, list[Chart]]:
    """Return the data and the chart of the decision page; no advice if runs are too few."""
    settings = by_setting(results)
    compared = [setting for setting in settings if setting.has_control]
    frozen, names = heads(compared), [setting.short_title for setting in heads(compared)]
    can_advise = bool(frozen) and all(setting.n_runs >= ENOUGH["head"] for setting in frozen)
    chosen = choices(compared) if can_advise else {}
    points = pareto_points(compared) if can_advise else ()
    title = f"Change of the flip rate against the extra cost of training, on {listed(names)}."
    recommended = [arm.arm for arm in chosen.values()]
    chart = pareto_chart(points, recommended, title=title) if points else None
    data = {
        "page": Path(path).name,
        "folder": Path(path).stem,
        "reduced": [setting_data(setting) for setting in settings if not is_full(setting)],
        "without_control": [s.title for s in heads(settings) if not s.has_control],
        "on": names,
        "seeds": list(dict.fromkeys(setting.seeds for setting in frozen)),
        "flips": levels(frozen, BASELINE, "flip_rate"),
        "chart": chart,
        "can_advise": can_advise,
        "enough": ENOUGH,
        "advice": advice(compared, chosen) if can_advise else {},
        "choices": choices_table(chosen, names) if chosen else None,
        "command": page_command(settings, path),
    }
    return data, [] if chart is None else [chart]


def write_page(
    results: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> tuple[Path, ...]:
    """Write the results page, the decision page next to it, and their charts into a folder.

    Args:
        results: Stored results of all settings.
        path: The results page, such as `docs/results/findings2023.md`.

    Returns:
        All files that were written, the pages first.
    """
    data, charts = page_data(results, path)
    choice, more = decision_data(results, path)
    first, *images = write(render("findings2023/page.md.jinja", data), [*charts, *more], path)
    decision = first.with_name(decision_name(path))
    decision.write_text(render("findings2023/decision.md.jinja", choice), encoding="utf-8")
    return first, decision, *images


def decision_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the decision page, so that two pages in one folder do not share it."""
    page = Path(path)
    return DECISION if page.name == Path(PAGE).name else f"{page.stem}-{DECISION}"


def setting_data(setting: SettingResults) -> Data:
    """Return sizes, departures and traced arms of a setting."""
    scalars = setting.of(BASELINE).get("scalars") or {}
    head, encoder = (scalars.get(f"{part}_multiplications") for part in ("head", "encoder"))
    has_parts = setting.is_head and head is not None and encoder is not None
    traced = [arm for arm in setting.treatments if setting.n_traced(arm)]
    return {
        "title": setting.title,
        "short_title": setting.short_title,
        "track": setting.track,
        "departures": departures(setting),
        "sizes": setting.content["sizes"],
        "n_classes": setting.content["n_classes"],
        "seeds": setting.seeds,
        "n_runs": sum(arm["n_runs"] for arm in setting.content["arms"].values()),
        "n_arms": len(setting.treatments),
        "head_share": 100 * head / (head + encoder) if has_parts else None,
        "n_traced_control": setting.n_traced(),
        "n_traced": max(map(setting.n_traced, traced), default=0),
        "other_steps": [
            title_of(arm)
            for arm in setting.treatments
            if setting.estimate(arm, "single_run")
            and not setting.effect(arm, "single_run_effects.all")
        ],
        "untraced": [title_of(arm) for arm in setting.treatments if arm not in traced],
    }


def departures(setting: SettingResults) -> list[Data]:
    """Return what differs from the paper's setting: ours, published, and the noun."""
    paper, ours = published()["training"], setting.content["setting"]
    sizes, size = published()["sizes"][setting.dataset], setting.content["sizes"]
    rows = [
        ("runs", setting.n_runs, paper["seeds"], setting.seeds),
        ("training utterances", size["train"], sizes["train"], None),
        ("test utterances", size["test"], sizes["test"], None),
        ("epochs", ours["epochs"], paper["epochs"], None),
        ("utterances per batch", ours["batch_size"], paper["batch_size"], None),
        ("learning rate", ours["learning_rate"], paper["learning_rate"], None),
    ]
    return [
        {"noun": noun, "ours": text or f"{value:,}", "published": f"{stated:,}", "less": value < stated}
        for noun, value, stated, text in rows
        if (value != stated and not (value > stated and noun in {"runs", "training utterances"}))
        or text not in (None, f"{value}")
    ]  # fmt: skip


def is_full(setting: SettingResults) -> bool:
    """Return whether a setting is trained as the recipe has it by default."""
    usual = Setting(setting.dataset, setting.track)
    names = ("epochs", "batch_size", "dropout", "n_train", "n_test")
    return all(setting.content["setting"][name] == getattr(usual, name) for name in names)


def differences(settings: Sequence[SettingResults]) -> Table:
    """Return data and training next to the paper's, in brackets."""
    header = (
        "", "encoder", "to train on", "to test on", "epochs", "batch", "learning rate", "runs",
        "traced runs of the control",
    )  # fmt: skip
    encoders = {
        "head": "a head trained on frozen features of MiniLM-L6",
        "finetune": "a fine-tuned MiniLM-L6",
    }
    paper, rows = published()["training"], []
    for setting in settings:
        ours, size = setting.content["setting"], setting.content["sizes"]
        sizes = published()["sizes"][setting.dataset]
        pairs = (
            (size["train"], sizes["train"]),
            (size["test"], sizes["test"]),
            (ours["epochs"], paper["epochs"]),
            (ours["batch_size"], paper["batch_size"]),
        )
        rows.append(
            (
                setting.title,
                encoders[setting.track],
                *(f"{value:,} ({stated:,})" for value, stated in pairs),
                f"{ours['learning_rate']:g} ({paper['learning_rate']:g})",
                f"{setting.seeds} ({paper['seeds']})",
                f"{setting.n_traced()}",
            )
        )
    return Table.of(header, rows)


def is_packaged(settings: Sequence[SettingResults]) -> bool:
    """Return whether these are the results that come with the package."""
    packaged = by_setting(stored_results())
    return [setting.content for setting in settings] == [other.content for other in packaged]


def page_command(settings: Sequence[SettingResults], path: str | os.PathLike[str]) -> str:
    """Return the command that builds the pages again."""
    if is_packaged(settings):
        return f"{START} --from-results --page {PAGE}"
    return f"{START} --from-results --results FOLDER --page {Path(path).as_posix()}"


def train_command(setting: SettingResults) -> str:
    """Return the command that trains a setting; a comment if no command does."""
    known = {field.name for field in fields(Setting)}
    kept = {key: value for key, value in setting.content["setting"].items() if key in known}
    usual = Setting(setting.dataset, setting.track)

    def unusual(base: Setting) -> dict[str, object]:
        return {key: value for key, value in kept.items() if value != getattr(base, key)}

    for base, smoke in ((usual, []), (usual.smoke(), ["--smoke"])):
        changed = unusual(base)
        if set(changed) <= OPTIONS and None not in changed.values():
            given = {**changed, "seeds": setting.n_runs}
            options = [f"--{key.replace('_', '-')} {value}" for key, value in given.items()]
            # By default a smoke run has few arms.
            if smoke or not set(ARMS_OF_TRACK[setting.track]) <= set(setting.arms):
                options.append(f"--arms {','.join(setting.arms)}")
            # One process trains a teacher that runs share once.
            options.append("--engine serial")
            names = f"--dataset {setting.dataset} --track {setting.track}"
            return " ".join((START, names, *smoke, *options))
    values = listed([f"{key}={value!r}" for key, value in unusual(usual).items()])
    return f"# {setting.content['name']} was made from Python, with {values}: no option gives that."
