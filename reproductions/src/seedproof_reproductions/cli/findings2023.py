"""The recipe of Findings of ACL 2023 on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from seedproof_reproductions.cli.request import (
    Request,
    keep,
    show_incomplete,
    show_sentence,
    show_table,
)
from seedproof_reproductions.findings2023.recipe import complete, study
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.settings import Setting

__all__ = ["make", "show", "stored_results", "write_page"]
SEEDS = {"head": 50, "finetune": 5}
SMOKE_SEEDS = {"head": 3, "finetune": 2}
SMOKE_ARMS = {
    "head": ("none", "tgtss", "tgtss-shared", "linear", "heads-4"),
    "finetune": ("none", "ema", "tgtss-free"),
}


def make(request: Request) -> str:
    """Make the runs, show their table, keep the results, and return where the records are."""
    setting = Setting(**request.choose("dataset", "track"))
    sizes = request.choose("epochs", "n_train", "n_test")
    setting = replace(setting.smoke() if request.smoke else setting, **sizes)
    store = request.store or f"runs/findings2023/{setting.name}"
    seeds = (SMOKE_SEEDS if request.smoke else SEEDS)[setting.track]
    arms = request.arm_names
    if request.smoke and arms is None:
        arms = SMOKE_ARMS[setting.track]
    trained = study(
        setting, store=store, seeds=seeds if request.seeds is None else request.seeds, arms=arms
    )
    results = complete(trained, setting, engine=request.engine, workers=request.workers)
    show(results)
    show_incomplete(store, results["arms"])
    keep(results, request.results)
    return store


def write_page(results: Sequence[Mapping[str, Any]], page: str) -> tuple[Path, ...]:
    """Write the page of stored results, and return all files that were written."""
    from seedproof_reproductions.findings2023.pages import write_page

    return write_page(results, page)


def show(results: Mapping[str, Any]) -> None:
    """Print the table of one setting's results."""
    # Not above: a study refuses runs of other code, and this changes no run.
    from seedproof_reproductions.findings2023.summary import HEADER, summary_notes, summary_table

    n_runs = max(arm["n_runs"] for arm in results["arms"].values())
    sizes = results["sizes"]
    typer.echo(results["name"])
    typer.echo(
        f"up to {n_runs} runs per arm, {sizes['train']:,} utterances to train on, "
        f"{sizes['test']:,} to test on"
    )
    show_table([HEADER, *summary_table(results)])
    for note in summary_notes(results):
        show_sentence(note)
