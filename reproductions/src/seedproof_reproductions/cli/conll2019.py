"""The recipe of CoNLL 2019, as the command line runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from seedproof_reproductions.cli.asked import Asked, show_left_out, show_sentence, show_table

if TYPE_CHECKING:
    from seedproof_reproductions.conll2019.settings import Setting

USUAL_DATASET = "sst"
SMOKE_SEEDS, SMOKE_ARMS = 3, ("none", "aswa")
DEFAULT_SEEDS, DEFAULT_ARMS = 10, ("none", "aswa", "naswa")
LIME_EXAMPLES, LIME_SAMPLES = 200, 5000
SMOKE_LIME_EXAMPLES, SMOKE_LIME_SAMPLES = 20, 100


@dataclass(frozen=True)
class Explained:
    """How models are explained; None is the usual number.

    Args:
        n_lime: Test examples that LIME explains.
        n_samples: Perturbed copies of each.
    """

    n_lime: int | None
    n_samples: int | None

    def filled(self, *, smoke: bool) -> tuple[int, int]:
        """Both numbers."""
        usual = (
            (SMOKE_LIME_EXAMPLES, SMOKE_LIME_SAMPLES) if smoke else (LIME_EXAMPLES, LIME_SAMPLES)
        )
        return (
            usual[0] if self.n_lime is None else self.n_lime,
            usual[1] if self.n_samples is None else self.n_samples,
        )


def make_conll2019(
    asked: Asked, *, encoder: str, attention: str, explained: Explained | None
) -> str:
    """Make the runs, show their table, and keep the results.

    Args:
        asked: Which of them.
        encoder: `cnn` or `lstm`.
        attention: `additive` or `dot`.
        explained: How the models are explained afterwards; None if they are not.

    Returns:
        Where the records are.
    """
    from seedproof_reproductions.conll2019.recipe import reproduce
    from seedproof_reproductions.conll2019.settings import Setting

    setting = Setting(
        dataset=USUAL_DATASET if asked.dataset is None else asked.dataset,
        encoder=encoder,
        attention=attention,
    )
    setting = replace(setting.smoke() if asked.smoke else setting, **asked.sizes())
    store = asked.store or f"runs/conll2019/{setting.name}"
    usual = (SMOKE_SEEDS, SMOKE_ARMS) if asked.smoke else (DEFAULT_SEEDS, DEFAULT_ARMS)
    seeds = usual[0] if asked.seeds is None else asked.seeds
    arms = usual[1] if asked.arms is None else asked.arms
    found = reproduce(
        setting,
        store=store,
        seeds=seeds,
        arms=arms,
        engine=asked.engine,
        workers=asked.workers,
    )
    show_conll2019(found)
    show_left_out(store, found["arms"])
    _keep(found, asked)
    if explained is not None:
        _explain(setting, explained, asked, store=store, seeds=seeds, arms=arms)
    return store


def _explain(
    setting: "Setting",
    explained: Explained,
    asked: Asked,
    *,
    store: str,
    seeds: int,
    arms: tuple[str, ...],
) -> None:
    """Explain the models that were chosen, in a store beside the first."""
    from seedproof_reproductions.conll2019.explaining import (
        Explaining,
        arms_to_explain,
        explain_study,
    )
    from seedproof_reproductions.conll2019.recipe import made

    n_lime, n_samples = explained.filled(smoke=asked.smoke)
    reasons = explain_study(
        setting,
        Explaining(store, n_lime=n_lime, n_samples=n_samples),
        store=f"{store}-explained",
        seeds=seeds,
        arms=arms_to_explain(arms),
    )
    found = made(reasons, setting, engine=asked.engine, workers=asked.workers)
    show_conll2019(found)
    _keep(found, asked)


def _keep(found: Mapping[str, Any], asked: Asked) -> None:
    from seedproof_reproductions.keeping import write_results

    if asked.results is not None:
        typer.echo(f"Written: {write_results(found, asked.results)}", err=True)


def show_conll2019(found: Mapping[str, Any]) -> None:
    """Print the table of one setting's results.

    Args:
        found: What `collect` gave.
    """
    if found["explaining"] is None:
        _show_trained(found)
    else:
        _show_explained(found)


def _show_trained(found: Mapping[str, Any]) -> None:
    from seedproof_reproductions.conll2019.page.departures import TITLE, departures, is_elsewhere
    from seedproof_reproductions.conll2019.page.reading import SettingResults
    from seedproof_reproductions.conll2019.results import accuracy_table
    from seedproof_reproductions.page.words import listed

    setting = found["setting"]
    n_runs = max(len(arm["runs"]) for arm in found["arms"].values())
    typer.echo(f"{found['name']}: {n_runs} runs an arm, {found['n_examples']} test examples")
    typer.echo(f"word vectors {setting['vectors']}, trained like all other weights")
    show_table([("arm", "accuracy, ours", "published"), *accuracy_table(found)])
    ours = SettingResults(found)
    less = departures(ours)
    if less:
        caution = " What is published cannot be compared with this." if is_elsewhere(ours) else ""
        show_sentence(f"{TITLE} {listed(less)}.{caution}")


def _show_explained(found: Mapping[str, Any]) -> None:
    from seedproof_reproductions.conll2019.results import explanation_table

    typer.echo(f"{found['name']}: of the top 20 % of the words, how many two seeds do not share")
    show_table([("arm", "method", "between seeds", "noise"), *explanation_table(found)])
