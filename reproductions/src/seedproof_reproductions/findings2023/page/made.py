"""How the results were made: commands and versions."""

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from seedproof_reproductions.findings2023.page.reading import SettingResults, by_setting
from seedproof_reproductions.findings2023.recipe import ARMS_OF_TRACK
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.keeping import shared_versions
from seedproof_reproductions.page.words import listed, paragraphs

START = "seedproof reproduce findings2023"
PAGE = "docs/results/findings2023.md"
COMMAND = f"{START} --from-results --page {PAGE}"
# The page that helps to choose, beside the one that reports.
DECISION = "which-mitigation.md"
# What a setting may have otherwise by an option of the command.
OPTIONS = {"epochs", "n_train", "n_test"}


def decision_name(path: str | os.PathLike[str]) -> str:
    """Name of the decision page, so that two pages in one folder do not share it.

    Args:
        path: The page that reports.

    Returns:
        `which-mitigation.md` beside `findings2023.md`; otherwise the page's name goes before it.
    """
    place = Path(path)
    return DECISION if place.name == Path(PAGE).name else f"{place.stem}-{DECISION}"


def is_packaged(settings: Sequence[SettingResults]) -> bool:
    """Whether these are the results that come with the package."""
    theirs = by_setting(stored_results())
    return [one.own for one in settings] == [one.own for one in theirs]


def rebuild(settings: Sequence[SettingResults], path: str | os.PathLike[str]) -> str:
    """The command that makes the pages again.

    Args:
        settings: Our results.
        path: Where the page is written.

    Returns:
        That of the documentation for the results that come with the package.
    """
    if is_packaged(settings):
        return COMMAND
    return f"{START} --from-results --results FOLDER --page {Path(path).as_posix()}"


def how_made(settings: Sequence[SettingResults], path: str | os.PathLike[str] = PAGE) -> str:
    """The commands that train the runs and rebuild the page.

    Args:
        settings: Our results.
        path: Where the page is written.

    Returns:
        Markdown without a heading.
    """
    found = shared_versions(one.own["versions"] for one in settings)
    versions = listed([f"{name} {value}" for name, value in found.items()])
    about = (
        f"Each run had one thread{f', with {versions}' if versions else ''}.\n"
        "These commands make them again; what is finished is never repeated."
    )
    commands = "\n".join(_command(one) for one in settings)
    pages = f"this page and [its decision page]({decision_name(path)}) are made from"
    kept = (
        f"Ours are in `reproductions/src/seedproof_reproductions/findings2023/results`, and {pages} them"
        if is_packaged(settings)
        else f"With all of them in one `FOLDER`, {pages} it"
    )
    more = (
        "See [how to reproduce a paper](../how-to/reproduce-a-paper.md), "
        "[soft labels](../how-to/soft-labels.md), [averages of weights]"
        "(../how-to/average-weights.md), [how to watch one run](../how-to/dynamics.md) and "
        "[what the figures mean](../reference/metrics.md)."
    )
    return paragraphs(
        (
            about,
            f"```sh\n{commands}\n```",
            f"Each leaves a small file with `--results`.\n{kept}, without training:",
            f"```sh\n{rebuild(settings, path)}\n```",
            more,
        )
    )


def _command(one: SettingResults) -> str:
    """What trains a setting; a comment where no command does."""
    known = {field.name for field in fields(Setting)}
    kept = {name: value for name, value in one.own["setting"].items() if name in known}
    usual = Setting(one.dataset, one.track)
    names = f"--dataset {one.dataset} --track {one.track}"
    for begun, is_smoke in ((usual, False), (usual.smoke(), True)):
        other = _other(kept, begun)
        if set(other) <= OPTIONS and None not in other.values():
            given = {**other, "seeds": one.n_runs}
            options = [f"--{name.replace('_', '-')} {value}" for name, value in given.items()]
            # A smoke run has few arms unless it is told which.
            if is_smoke or not set(ARMS_OF_TRACK[one.track]) <= set(one.arms):
                options.append(f"--arms {','.join(one.arms)}")
            # One process trains a teacher that runs share once.
            options.append("--engine serial")
            return " ".join((START, names, *(["--smoke"] if is_smoke else []), *options))
    told = listed([f"{name}={value!r}" for name, value in _other(kept, usual).items()])
    return f"# {one.own['name']} was made from Python, with {told}: no option gives that."


def _other(kept: dict[str, object], begun: Setting) -> dict[str, object]:
    """What was kept of a setting and is not as another has it."""
    return {name: value for name, value in kept.items() if value != getattr(begun, name)}
