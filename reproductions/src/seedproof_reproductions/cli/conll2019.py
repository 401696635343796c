"""The recipe of CoNLL 2019 on the command line."""

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
from seedproof_reproductions.conll2019.recipe import USUAL_ARMS, complete, study
from seedproof_reproductions.conll2019.results import stored_results
from seedproof_reproductions.conll2019.settings import Setting

__all__ = ["make", "show", "stored_results", "write_page"]
MISSING = "–"
SEEDS, SMOKE_SEEDS, SMOKE_ARMS = 10, 3, ("none", "aswa")
# Examples that LIME explains, and perturbed copies of each.
LIME, SMOKE_LIME = (200, 5000), (20, 100)


def make(request: Request) -> str:
    """Make the runs, show their table, keep the results, and return where the records are."""
    setting = Setting(**request.choose("dataset", "encoder", "attention"))
    sizes = request.choose("epochs", "n_train", "n_test")
    setting = replace(setting.smoke() if request.smoke else setting, **sizes)
    store = request.store or f"runs/conll2019/{setting.name}"
    seeds = request.seeds
    if seeds is None:
        seeds = SMOKE_SEEDS if request.smoke else SEEDS
    arms = request.arm_names
    if arms is None:
        arms = SMOKE_ARMS if request.smoke else USUAL_ARMS
    trained = study(setting, store=store, seeds=seeds, arms=arms)
    results = complete(trained, setting, engine=request.engine, workers=request.workers)
    show(results)
    show_incomplete(store, results["arms"])
    keep(results, request.results)
    if request.explain:
        _explain(request, setting, store, seeds, arms)
    return store


def _explain(
    request: Request, setting: Setting, store: str, seeds: int, arms: tuple[str, ...]
) -> None:
    """Explain the models that were chosen, in another store."""
    from seedproof_reproductions.conll2019.explaining import (
        Explaining,
        arms_to_explain,
        explain_study,
    )

    n_lime, n_samples = SMOKE_LIME if request.smoke else LIME
    explaining = Explaining(
        store,
        n_lime=n_lime if request.lime_examples is None else request.lime_examples,
        n_samples=n_samples if request.lime_samples is None else request.lime_samples,
    )
    explained = explain_study(
        setting, explaining, store=f"{store}-explained", seeds=seeds, arms=arms_to_explain(arms)
    )
    results = complete(
        explained, setting, engine=request.engine, workers=request.workers, follow=None
    )
    show(results)
    keep(results, request.results)


def write_page(results: Sequence[Mapping[str, Any]], page: str) -> tuple[Path, ...]:
    """Write the page of stored results, and return all files that were written."""
    from seedproof_reproductions.conll2019.page_data import write_page

    return write_page(results, page)


def show(results: Mapping[str, Any]) -> None:
    """Print the table of one setting's results."""
    # Not above: a study refuses runs of other code, and this changes no run.
    from seedproof_reproductions.conll2019.reading import SettingResults
    from seedproof_reproductions.figures import listed

    if results["explaining"] is not None:
        typer.echo(
            f"{results['name']}: share of the top 20 % of the words that two seeds do not have in "
            "common"
        )
        show_table([("arm", "method", "between seeds", "noise"), *explanation_table(results)])
        return
    n_runs = max(len(arm["runs"]) for arm in results["arms"].values())
    typer.echo(f"{results['name']}: {n_runs} runs per arm, {results['n_examples']} test examples")
    typer.echo(f"word vectors {results['setting']['vectors']}, trained like all other weights")
    show_table([("arm", "accuracy, ours", "published"), *accuracy_table(results)])
    setting = SettingResults(results)
    if setting.departures:
        caution = " Published values cannot be compared with this." if setting.is_elsewhere else ""
        show_sentence(f"Not the paper's setting: {listed(setting.departures)}.{caution}")


def accuracy_table(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return arm, our accuracy and the published one, in percent as mean ± sd."""
    from seedproof_reproductions.conll2019.published import published_accuracy

    setting, rows = results["setting"], []
    for arm, figures in results["arms"].items():
        mean, sd = (100 * figures["metrics"][name][0] for name in ("accuracy", "accuracy_sd"))
        # The paper's tables have additive attention.
        theirs = None
        if setting["attention"] == "additive":
            theirs = published_accuracy(setting["dataset"], setting["encoder"], arm)
        published = MISSING if theirs is None else f"{theirs.mean:.1f} ±{theirs.sd:.2f}"
        rows.append((arm, f"{mean:.1f} ±{sd:.2f}", published))
    return rows


def explanation_table(results: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return arm, method, and the Jaccard distance of the top 20 % of the words."""
    return [
        (
            arm,
            method,
            _percent(explained["metrics"]),
            MISSING if explained["noise"] is None else _percent(explained["noise"]),
        )
        for arm, figures in results["arms"].items()
        for method, explained in figures["explanations"].items()
    ]


def _percent(figures: Mapping[str, Any]) -> str:
    value, *ends = (100 * number for number in figures["explanation_jaccard_20"])
    return f"{value:.1f} %" + (f" [{ends[0]:.1f}, {ends[1]:.1f}]" if ends else "")
