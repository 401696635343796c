"""The recipe of CoNLL 2019 on the command line."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from seedproof_reproductions.cli.request import Request, show_sentence, show_table
from seedproof_reproductions.conll2019.names import BLOCKS, CROSSED, EXPLAINED
from seedproof_reproductions.conll2019.recipe import USUAL_ARMS, check_data, complete, study
from seedproof_reproductions.conll2019.settings import Setting

MISSING = "–"
SEEDS, SMOKE_SEEDS, SMOKE_ARMS = 10, 3, ("none", "aswa")
# Examples that LIME explains, and perturbed copies of each.
LIME, SMOKE_LIME = (200, 5000), (20, 100)


def make(request: Request) -> str:
    """Make the runs, show their table, keep the results, and return where the records are."""
    setting = request.setting(Setting)
    store = request.store or f"runs/conll2019/{setting.name}"
    seeds = request.or_usual("seeds", SMOKE_SEEDS if request.smoke else SEEDS)
    arms = request.arm_names or (SMOKE_ARMS if request.smoke else USUAL_ARMS)
    trained = study(setting, store=store, seeds=seeds, arms=arms)
    engine, workers = request.engine, request.workers
    request.finish(complete(trained, setting, engine=engine, workers=workers), show, store)
    if request.explain:
        from seedproof_reproductions.conll2019 import explaining

        n_lime, n_samples = SMOKE_LIME if request.smoke else LIME
        explainer = explaining.Explaining(
            store,
            n_lime=request.or_usual("lime_examples", n_lime),
            n_samples=request.or_usual("lime_samples", n_samples),
        )
        arms, place = explaining.arms_to_explain(arms), f"{store}{EXPLAINED}"
        explained = explaining.explain_study(
            setting, explainer, store=place, seeds=seeds, arms=arms
        )
        results = complete(explained, setting, engine=engine, workers=workers, follow=None)
        request.finish(results, show)
    if request.cross:
        _cross(request, setting, store, seeds)
    if request.blocks is not None:
        _blame(request, setting, store)
    return store


def _cross(request: Request, setting: Setting, store: str, seeds: int) -> None:
    """Compare none and ASWA at each other's epochs, in a store of its own."""
    from seedproof_reproductions.conll2019.crossing import crossed_study

    crossed = crossed_study(setting, source=store, store=f"{store}{CROSSED}", seeds=seeds)
    engine, workers = request.engine, request.workers
    request.finish(complete(crossed, setting, engine=engine, workers=workers, follow=None), show)


def _blame(request: Request, setting: Setting, store: str) -> None:
    """Train blocks of runs that share a source, in a store of its own."""
    from seedproof_reproductions.conll2019.sources import blocks_study, collect_sources
    from seedproof_reproductions.runs import make_runs

    place, blocks = f"{store}{BLOCKS}", request.or_usual("blocks", 1)
    study = blocks_study(setting, store=place, blocks=blocks)
    engine, workers = request.engine, request.workers
    make_runs(study, check=partial(check_data, setting), engine=engine, workers=workers)
    request.finish(collect_sources(place), show_sources)


def show_sources(results: Mapping[str, Any]) -> None:
    """Print the share of the flips that each source causes."""
    # Not above, as below.
    from seedproof_reproductions.figures import share
    from seedproof_reproductions.reading import as_estimate

    header = ("arm", "source", "alone", "in total")
    rows = [
        (arm, source, *(share(as_estimate(figures[kind][source])) for kind in ("first", "total")))
        for arm, figures in results["arms"].items()
        for source in figures["first"]
    ]
    show_table(f"{results['name']}: share of the flips that a source causes", header, rows)


def show(results: Mapping[str, Any]) -> None:
    """Print the table of one setting's results: accuracy, in percent as mean ± sd, or distances."""
    if results["name"].endswith(BLOCKS):
        show_sources(results)
        return
    # Not above: a study refuses runs of other code, and this changes no run.
    from seedproof_reproductions.conll2019.reading import SettingResults
    from seedproof_reproductions.figures import listed

    arms: Mapping[str, Any] = results["arms"]
    if results["explaining"] is not None:
        title = "share of the top 20 % of the words that two seeds do not have in common"
        header: tuple[str, ...] = ("arm", "method", "between seeds", "noise")
        rows: list[tuple[str, ...]] = [
            (arm, method, _percent(explained["metrics"]), _percent(explained["noise"]))
            for arm, figures in arms.items()
            for method, explained in figures["explanations"].items()
        ]
        show_table(f"{results['name']}: {title}", header, rows)
        return
    setting, rows, header = SettingResults(results), [], ("arm", "accuracy, ours", "published")
    for arm, figures in arms.items():
        mean, sd = (100 * figures["metrics"][name][0] for name in ("accuracy", "accuracy_sd"))
        published = setting.published(arm)
        rows.append(
            (arm, f"{mean:.1f} ±{sd:.2f}", MISSING if published is None else str(published))
        )
    title = (
        f"{results['name']}: {setting.n_runs} runs per arm, {results['n_examples']} test examples\n"
        f"word vectors {results['setting']['vectors']}, trained like all other weights"
    )
    show_table(title, header, rows)
    if setting.departures:
        caution = " Published values cannot be compared with this." if setting.is_elsewhere else ""
        show_sentence(f"Not the paper's setting: {listed(setting.departures)}.{caution}")


def _percent(figures: Mapping[str, Any] | None) -> str:
    if figures is None:
        return MISSING
    value, *ends = (100 * number for number in figures["explanation_jaccard_20"])
    return f"{value:.1f} %" + (f" [{ends[0]:.1f}, {ends[1]:.1f}]" if ends else "")
