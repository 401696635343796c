"""The recipe of Findings of ACL 2023 on the command line."""

from collections.abc import Mapping
from typing import Any

from seedproof_reproductions.cli.request import Request, show_sentence, show_table
from seedproof_reproductions.findings2023.recipe import complete, study
from seedproof_reproductions.findings2023.settings import Setting

SEEDS = {"head": 50, "finetune": 5}
SMOKE_SEEDS = {"head": 3, "finetune": 2}
SMOKE_ARMS = {
    "head": ("none", "tgtss", "tgtss-shared", "linear", "heads-4"),
    "finetune": ("none", "ema", "tgtss-free"),
}


def make(request: Request) -> str:
    """Make the runs, show their table, keep the results, and return where the records are."""
    setting = request.setting(Setting)
    store = request.store or f"runs/findings2023/{setting.name}"
    usual = (SMOKE_SEEDS if request.smoke else SEEDS)[setting.track]
    arms = request.arm_names or (SMOKE_ARMS[setting.track] if request.smoke else None)
    trained = study(setting, store=store, seeds=request.or_usual("seeds", usual), arms=arms)
    results = complete(trained, setting, engine=request.engine, workers=request.workers)
    request.finish(results, show, store)
    return store


def show(results: Mapping[str, Any]) -> None:
    """Print the table of one setting's results."""
    # Not above: a study refuses runs of other code, and this changes no run.
    from seedproof_reproductions.findings2023.summary import HEADER, summary_notes, summary_table

    n_runs, sizes = max(arm["n_runs"] for arm in results["arms"].values()), results["sizes"]
    title = (
        f"{results['name']}\nup to {n_runs} runs per arm, {sizes['train']:,} utterances to train "
        f"on, {sizes['test']:,} to test on"
    )
    show_table(title, HEADER, summary_table(results))
    for note in summary_notes(results):
        show_sentence(note)
