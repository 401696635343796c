"""The recipe of Findings of ACL 2023, as the command line runs it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import typer

from seedproof_reproductions.cli.asked import Asked, show_left_out, show_sentence, show_table

USUAL_DATASET = "clinc150"
USUAL_SEEDS = {"head": 50, "finetune": 5}
SMOKE_SEEDS = {"head": 3, "finetune": 2}
SMOKE_ARMS = {
    "head": ("none", "tgtss", "tgtss-shared", "linear", "heads-4"),
    "finetune": ("none", "ema", "tgtss-free"),
}


def make_findings2023(asked: Asked, *, track: str) -> str:
    """Make the runs, show their table, and keep the results.

    Args:
        asked: Which of them.
        track: `head` or `finetune`.

    Returns:
        Where the records are.
    """
    from seedproof_reproductions.findings2023.recipe import reproduce
    from seedproof_reproductions.findings2023.settings import Setting
    from seedproof_reproductions.keeping import write_results

    setting = Setting(
        dataset=USUAL_DATASET if asked.dataset is None else asked.dataset, track=track
    )
    setting = replace(setting.smoke() if asked.smoke else setting, **asked.sizes())
    seeds = SMOKE_SEEDS[track] if asked.smoke else USUAL_SEEDS[track]
    store = asked.store or f"runs/findings2023/{setting.name}"
    found = reproduce(
        setting,
        store=store,
        seeds=seeds if asked.seeds is None else asked.seeds,
        arms=SMOKE_ARMS[track] if asked.smoke and asked.arms is None else asked.arms,
        engine=asked.engine,
        workers=asked.workers,
    )
    show_findings2023(found)
    show_left_out(store, found["arms"])
    if asked.results is not None:
        typer.echo(f"Written: {write_results(found, asked.results)}", err=True)
    return store


def show_findings2023(found: Mapping[str, Any]) -> None:
    """Print the table of one setting's results.

    Args:
        found: What `collect` gave.
    """
    from seedproof_reproductions.findings2023.summary import HEADER, summary_notes, summary_table

    n_runs = max(arm["n_runs"] for arm in found["arms"].values())
    sizes = found["sizes"]
    typer.echo(found["name"])
    typer.echo(
        f"up to {n_runs} runs an arm, {sizes['train']:,} utterances to train on, "
        f"{sizes['test']:,} to test on"
    )
    show_table([HEADER, *summary_table(found)])
    for note in summary_notes(found):
        show_sentence(note)
