"""The recipe of the thesis' recommenders on the command line."""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from seedproof_reproductions.cli.request import Request, show_table
from seedproof_reproductions.thesis2019.arms import BASELINE
from seedproof_reproductions.thesis2019.recipe import complete, study
from seedproof_reproductions.thesis2019.settings import Setting

SEEDS, SMOKE_SEEDS = 10, 2
# Metrics in percent, and what their columns are called.
COLUMNS = {
    "hit_rate_10_candidates": "HR@10",
    "ndcg_10_candidates": "NDCG@10",
    "hit_rate_10_catalog": "HR@10, all items",
}
COSTS = ("cpu_seconds", "cpu_seconds_answering")


def make(request: Request) -> str:
    """Make the runs, show their table, keep the results, and return where the records are."""
    setting = request.setting(Setting)
    store = request.store or f"runs/thesis2019/{setting.name}"
    seeds = request.or_usual("seeds", SMOKE_SEEDS if request.smoke else SEEDS)
    trained = study(setting, store=store, seeds=seeds, arms=request.arm_names or (BASELINE,))
    results = complete(trained, setting, engine=request.engine, workers=request.workers)
    request.finish(results, show, store)
    return store


def show(results: Mapping[str, Any]) -> None:
    """Print the table of one setting's results: metrics in percent, as mean ± sd over runs."""
    rows = [_row(arm, figures["scalars"]) for arm, figures in results["arms"].items()]
    n_runs = max(arm["n_runs"] for arm in results["arms"].values())
    title = f"{results['name']}: up to {n_runs} runs per arm, mean ± sd over runs"
    show_table(title, ("arm", *COLUMNS.values(), "CPU s per run"), rows)


def _row(arm: str, scalars: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    metrics = (
        f"{100 * mean(scalars[name]):.2f} ±{100 * stdev(scalars[name]):.2f}" for name in COLUMNS
    )
    seconds = sum(mean(scalars[name]) for name in COSTS)
    return (arm, *metrics, f"{seconds:.0f}")
