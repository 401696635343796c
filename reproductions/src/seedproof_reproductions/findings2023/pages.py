"""Both pages of the paper: gather their data, render the templates, write all files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from seedproof_reproductions import page
from seedproof_reproductions.claims import summarize
from seedproof_reproductions.figures import UNDETERMINED, listed
from seedproof_reproductions.findings2023 import decision_data, page_data, reading, selection
from seedproof_reproductions.findings2023.charts import cell_chart, mitigation_chart
from seedproof_reproductions.findings2023.details import (
    details,
    exponent_cases,
    studies_of_details,
)
from seedproof_reproductions.findings2023.names import BASELINE, layout, title_of
from seedproof_reproductions.findings2023.page_data import Data
from seedproof_reproductions.findings2023.planned import plan, replaced_studies, stored_studies
from seedproof_reproductions.findings2023.preferences import preferences, with_preferences
from seedproof_reproductions.findings2023.reading import SettingResults, by_setting, published
from seedproof_reproductions.findings2023.recipe import USUAL_ARMS
from seedproof_reproductions.findings2023.remaining import fine_tuned, missing_costs, of_replaced
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.retraining import (
    control_ece,
    retraining,
    under_new_data,
)
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.results import shared_versions

PAGE = "docs/results/findings2023.md"
# The page that helps to choose, next to the one that reports.
DECISION = "which-mitigation.md"
# Parts of a setting that an option of the command changes.
OPTIONS = {"epochs", "n_train", "n_test", "seed"}


def build_data(
    results: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str] = PAGE,
    retrained: Sequence[Mapping[str, Any]] | None = None,
) -> Data:
    """Return all names that the template of the results page uses, except its charts."""
    settings = by_setting(results)
    ordered = page_data.like_for_like_first(settings)
    compared = [setting for setting in ordered if BASELINE in setting.arms]
    described = [setting_data(setting) for setting in ordered]
    studies = retrained_with(settings, retrained)
    replaced = replaced_by(settings)
    detailed = studies_of_details(studies)
    cases = {"details": tuple(exponent_cases(detailed))}
    claims = page_data.checked_claims(compared, cases) if compared else ()
    data: Data = {
        "paper": published()["paper"],
        "printed": {name: row["tgtss"] for name, row in published()["table3"].items()},
        "title": "Findings of ACL 2023, reproduced",
        "titles": lambda arms: listed([title_of(arm) for arm in arms]),
        "folder": Path(path).stem,
        "decision": decision_name(path),
        "settings": described,
        "finetuned": fine_tuned(settings),
        "replaced": of_replaced(replaced, page_data.FRESH_TEACHER, "label_entropy"),
        "n_trained": {
            "main": sum(sum(each.n_each) for each in settings),
            "further": sum(sum(each.n_each) for each in (*studies, *replaced)),
        },
        "answers": page_data.short_answer(compared) if compared else {},
        "retraining": retraining(compared, studies, {}),
        "details": details(compared, detailed),
        "goal": (goal := page_data.goal(compared)),
        "new_data": under_new_data(goal["honest"]["arms"] if goal else (), studies),
        "control_ece": control_ece(studies),
        "not_reached": missing_costs(studies),
        **page.claims_data(claims),
        "checked": {item.claim.name: item for item in claims},
        "overall": {item.claim.name: summarize(item.verdicts) for item in claims},
        "tables": page_data.paper_tables(compared),
        "redraws": page_data.redraws(compared),
        "all_arms": {setting.title: page_data.all_arms(setting) for setting in ordered},
        "differences": differences(described),
        "versions": shared_versions(setting.content["versions"] for setting in settings),
        "hours": page.hours_table(
            [study.content for study in (*settings, *studies, *replaced)],
            lambda content: purpose_of(content, settings, replaced),
        ),
        "commands": [train_command(setting) for setting in settings],
        "command": page_command(settings, path),
        "is_packaged": is_packaged(settings),
    }
    return data | {"undetermined": UNDETERMINED if UNDETERMINED in repr(data) else ""}


def build_decision(
    results: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str] = PAGE,
    retrained: Sequence[Mapping[str, Any]] | None = None,
) -> Data:
    """Return all names of the template of the decision page, except its chart.

    If results on new data are omitted, those of the package go with the results of the package.
    """
    settings = by_setting(results)
    studies = retrained_with(settings, retrained)
    compared = [setting for setting in settings if BASELINE in setting.arms]
    frozen = reading.heads(compared)
    names = [setting.short_title for setting in frozen]
    can_advise = all(setting.n_runs >= selection.ENOUGH["head"] for setting in frozen) and names
    planned = selection.by_budget(compared, studies) if can_advise else {}
    preferred = preferences(planned, selection.candidates(compared, studies), studies)
    budgets = with_preferences(planned, preferred)
    chosen = {budget: arm for budget, arm in budgets.items() if arm is not None}
    resampled = reading.studies(studies, "bootstrap", root=0)
    replaced = replaced_by(settings)
    advice = decision_data.advice(compared, chosen, resampled, replaced) if can_advise else {}
    return {
        "retraining": retraining(compared, studies, planned, preferred) if can_advise else {},
        "page": Path(path).name,
        "titles": lambda arms: listed([title_of(arm) for arm in arms]),
        "folder": Path(path).stem,
        "settings": [setting_data(setting) for setting in settings],
        "on": names,
        "seeds": list(dict.fromkeys(setting.seeds for setting in frozen)),
        "flips": decision_data.levels(frozen, BASELINE, "flip_rate"),
        "points": decision_data.pareto_points(compared) if can_advise else (),
        "recommended": [arm.arm for arm in chosen.values()],
        "can_advise": bool(can_advise),
        "enough": selection.ENOUGH,
        "advice": advice,
        "choices": decision_data.choices_table(budgets) if chosen else None,
        "command": page_command(settings, path),
    }


def purpose_of(
    content: Mapping[str, Any],
    settings: Sequence[SettingResults],
    replaced: Sequence[SettingResults] = (),
) -> str:
    """Return the purpose of a study; `settings` are those of the main study."""
    purposes, root = layout()["titles"]["purposes"], content["setting"].get("seed")
    for purpose, studies in (("main", settings), ("replaced", replaced)):
        if any(content is study.content for study in studies):
            return str(purposes[purpose])
    for part in ("confirmation", "details"):
        if root == plan()[part]["root"]:
            return str(purposes[part])
    is_resampled = content["setting"]["train_data"] == "bootstrap"
    return str(purposes["data" if is_resampled else "more"])


def retrained_with(
    settings: Sequence[SettingResults], retrained: Sequence[Mapping[str, Any]] | None
) -> tuple[SettingResults, ...]:
    """Return results on new data: those given, or the package's if `settings` are the package's."""
    if retrained is None:
        retrained = stored_studies() if is_packaged(settings) else ()
    return by_setting(retrained) if retrained else ()


def replaced_by(settings: Sequence[SettingResults]) -> tuple[SettingResults, ...]:
    """Return the studies that were replaced, if `settings` are those of the package."""
    return by_setting(replaced_studies()) if is_packaged(settings) else ()


def write_page(
    results: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str],
    retrained: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[Path, ...]:
    """Write the results page, the decision page next to it, and their charts into a folder.

    Return all files that were written, the pages first.
    """
    data, choice = (build(results, path, retrained) for build in (build_data, build_decision))
    compared = [setting for setting in by_setting(results) if BASELINE in setting.arms]
    cells = {name: cell_chart(name, compared) for name in published()["figures"]}
    pareto = mitigation_chart(choice["points"], choice["recommended"], choice["on"])
    charts = [chart for chart in (*cells.values(), pareto) if chart is not None]
    text = page.render("findings2023/page.md.jinja", {**data, "charts": cells})
    first, *images = page.write(text, charts, path)
    decision = first.with_name(decision_name(path))
    text = page.render("findings2023/decision.md.jinja", {**choice, "chart": pareto})
    decision.write_text(text, encoding="utf-8")
    return first, decision, *images


def decision_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the decision page, so that two pages in one folder do not share it."""
    name = Path(path)
    return DECISION if name.name == Path(PAGE).name else f"{name.stem}-{DECISION}"


def setting_data(setting: SettingResults) -> Data:
    """Return sizes, training, published values and traced arms of a setting."""
    content, usual = setting.content, Setting(setting.dataset, setting.track)
    paths = (f"scalars.{part}_multiplications" for part in ("head", "encoder"))
    parts = [setting.of(BASELINE, path) or 0.0 for path in paths]
    traced = {arm: setting.of(arm, "n_traced") or 0 for arm in setting.arms}
    return {
        "title": setting.title,
        "short_title": setting.short_title,
        "is_head": setting.track == "head",
        "has_control": BASELINE in setting.arms,
        "encoder": layout()["titles"]["encoders"][setting.track],
        "is_full": all(
            content["setting"][name] == getattr(usual, name)
            for name in ("epochs", "batch_size", "dropout", "n_train", "n_test")
        ),
        "pairs": _pairs(setting),
        "n_classes": content["n_classes"],
        "seeds": setting.seeds,
        "n_runs": sum(arm["n_runs"] for arm in content["arms"].values()),
        "n_arms": len(setting.treatments),
        "head_share": parts[0] / sum(parts) if all(parts) else None,
        "traced": traced.pop(BASELINE, 0),
        "most_traced": max(traced.values(), default=0),
        "untraced": [arm for arm, n_runs in traced.items() if not n_runs],
        "other_steps": [
            arm
            for arm in setting.treatments
            if setting.estimate(arm, "single_run")
            and setting.effect(arm, "single_run_effects.all") is None
        ],
    }


def _pairs(setting: SettingResults) -> dict[str, tuple[float, float]]:
    """Our value and the paper's, by name."""
    ours, sizes = setting.content["setting"], setting.content["sizes"]
    training, stated = published()["training"], published()["sizes"][setting.dataset]
    return {
        "runs": (setting.n_runs, training["seeds"]),
        "training utterances": (sizes["train"], stated["train"]),
        "test utterances": (sizes["test"], stated["test"]),
        "epochs": (ours["epochs"], training["epochs"]),
        "utterances per batch": (ours["batch_size"], training["batch_size"]),
        "learning rate": (ours["learning_rate"], training["learning_rate"]),
    }


def differences(settings: Sequence[Data]) -> page.Table:
    """Return data and training next to the paper's, in brackets."""
    rows = []
    for setting in settings:
        (_, n_runs), *pairs = setting["pairs"].values()
        values = [f"{ours:,} ({stated:,})" for ours, stated in pairs]
        runs = f"{setting['seeds']} ({n_runs})"
        rows.append((setting["title"], setting["encoder"], *values, runs, str(setting["traced"])))
    return page.Table.of(layout()["headers"]["differences"], rows)


def is_packaged(settings: Sequence[SettingResults]) -> bool:
    """Return whether these are the results that come with the package."""
    packaged = by_setting(stored_results())
    return [setting.content for setting in settings] == [other.content for other in packaged]


def page_command(settings: Sequence[SettingResults], path: str | os.PathLike[str]) -> str:
    """Return the command that builds the pages again."""
    places = {"results": "FOLDER", "page": Path(path).as_posix()}
    given = {"page": PAGE} if is_packaged(settings) else places
    return page.command("findings2023", {"from_results": True, **given})


def train_command(setting: SettingResults) -> str:
    """Return the command that trains a setting; a comment if no command does."""
    known = {field.name for field in fields(Setting)}
    kept = {key: value for key, value in setting.content["setting"].items() if key in known}
    usual = Setting(setting.dataset, setting.track)

    def unusual(base: Setting) -> dict[str, object]:
        return {key: value for key, value in kept.items() if value != getattr(base, key)}

    for base in (usual, usual.smoke()):
        changed = unusual(base)
        if set(changed) <= OPTIONS and None not in changed.values():
            smoke = {} if base is usual else {"smoke": True}
            given = {"dataset": setting.dataset, "track": setting.track, **smoke, **changed}
            given["seeds"] = setting.n_runs
            # By default a smoke run has few arms.
            if smoke or not set(USUAL_ARMS[setting.track]) <= set(setting.arms):
                given["arms"] = ",".join(setting.arms)
            # One process trains a head that arms share once; encoders are in the cache folder.
            engine = {"engine": "serial"} if setting.track == "head" else {}
            return page.command("findings2023", given | engine)
    values = listed([f"{key}={value!r}" for key, value in unusual(usual).items()])
    return f"# {setting.content['name']} was made from Python, with {values}: no option gives that."
