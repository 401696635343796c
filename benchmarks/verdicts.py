"""Error rates and price of verdicts in simulated studies, printed as Markdown.

    PYTHONPATH=tests python benchmarks/verdicts.py gate --studies 1000 > gate.md

Tables: `gate` and `compare` under repeated looks, next to a number of runs that is known
beforehand; `rows` and `equivalent` for comparisons of one look; `numbers` and `trials` for numbers
in place of classes, at one look and after each trial. Each takes 10 to 30 minutes on one
core. The docs page on comparing shows their output.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.optimize import brentq

import seedproof as sp
from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.clusters import ClusterKeys
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import Statistic
from seedproof.stats.effect import scale_of, usual_margin
from seedproof.stats.intervals import PLAIN, Level, estimate
from seedproof.stats.looks import AT_LOOK, LOOKS, MOST_TRIAL_LOOKS
from support.comparisons import contrasts
from support.simulation import Simulation

# Looks beyond are rare in practice, and would double the time.
JUDGED = LOOKS[:4]
SHOWN = frozenset({"steadier", "less steady", "better", "worse"})
USUAL = Simulation(JUDGED[-1], 600, logit_sd=3.0)
DESIGNS: dict[str, Simulation] = {
    "normal runs": USUAL,
    "skewed (a moving threshold)": replace(USUAL, effect="threshold", run_sd=1.0),
    "one bad run in ten": replace(USUAL, bad_share=0.1),
    "clusters of 20": replace(USUAL, cluster_size=20, shared=0.6),
    "one stuck run in ten, allowed": replace(USUAL, stuck_share=0.1),
}
# True flip rate as a share of the limit.
TRUTHS = {"at the limit": 1.0, "0.7 of the limit": 0.7, "1.3 of the limit": 1.3}


def first_runs(batch: Batch, n_runs: int) -> Batch:
    """Return the first runs of a simulated study."""
    return Batch(batch.predictions[:n_runs], n_classes=batch.n_classes, labels=batch.labels)


def until_decided(judge: Callable[[int], bool]) -> tuple[int, bool]:
    """Return the number of runs at which a study is decided, or the last one, and whether it is."""
    for n_runs in JUDGED:
        if judge(n_runs):
            return n_runs, True
    return JUDGED[-1], False


def percent(share: float) -> str:
    """Return a share as text."""
    return f"{100 * share:.1f} %"


def shares_by_look(decided: list[tuple[int, bool]]) -> str:
    """Return the shares that are decided by each look, and the mean number of runs."""
    shares = [np.mean([done and n <= look for n, done in decided]) for look in JUDGED]
    cells = " / ".join(f"{100 * share:.0f}" for share in shares)
    return f"{cells} | {np.mean([n for n, _ in decided]):.1f}"


def flip_rate(batch: Batch, simulation: Simulation) -> Statistic:
    """Return the flip rate of a study, as the gate measures it."""
    accumulators = MetricAccumulators(batch.n_runs, batch.n_classes, frozenset({"labels"}))
    clusters = simulation.clusters
    if clusters is not None:
        accumulators.open(ClusterKeys(np.arange(clusters.max() + 1), clusters))
    accumulators.add(batch)
    return accumulators.result()["flip_rate"]


def outcome(figure: Statistic, limit: float, level: Level) -> str:
    """Return what the gate decides about an upper limit."""
    interval = estimate(figure, level)
    if interval.low is None or interval.high is None:
        return "investigate"
    return "pass" if interval.high <= limit else "fail" if interval.low > limit else "investigate"


def gate_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of gates."""
    looks = " / ".join(map(str, JUDGED))
    yield (
        "| design | true flip rate | wrong pass | wrong fail | "
        f"decided by {looks} runs, % | mean runs | decided with {looks} runs declared, % |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, simulation in DESIGNS.items():
        truth = simulation.truth(np.random.default_rng(1))["flip_rate"]
        for label, ratio in TRUTHS.items():
            yield _gate_row(
                name, label, simulation, limit=truth / ratio, n_studies=n_studies, rng=rng
            )


def _gate_row(
    name: str,
    label: str,
    simulation: Simulation,
    *,
    limit: float,
    n_studies: int,
    rng: np.random.Generator,
) -> str:
    decided, outcomes = [], []
    fixed = dict.fromkeys(JUDGED, 0)
    for _ in range(n_studies):
        batch = simulation.draw(rng)
        figures = {n: flip_rate(first_runs(batch, n), simulation) for n in JUDGED}
        by_look = {n: outcome(figure, limit, AT_LOOK) for n, figure in figures.items()}
        decided.append(until_decided(lambda n, known=by_look: known[n] != "investigate"))
        outcomes.append(by_look[decided[-1][0]])
        for n_runs, figure in figures.items():
            fixed[n_runs] += outcome(figure, limit, PLAIN) != "investigate"
    wrong = [percent(np.mean([x == kind for x in outcomes])) for kind in ("pass", "fail")]
    if label != "at the limit":
        right = "pass" if label.startswith("0.7") else "fail"
        wrong = [
            "" if kind == right else cell
            for kind, cell in zip(("pass", "fail"), wrong, strict=True)
        ]
    known = " / ".join(f"{100 * fixed[n] / n_studies:.0f}" for n in JUDGED)
    return f"| {name} | {label} | {' | '.join(wrong)} | {shares_by_look(decided)} | {known} |"


def compare_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of comparisons that are looked at again."""
    looks = " / ".join(map(str, JUDGED))
    yield (
        f"| design | arm | metric | shown by {looks} runs, % | mean runs | "
        f"shown with {looks} runs declared, % |"
    )
    yield "|---|---|---|---|---|---|"
    for name, base in DESIGNS.items():
        if base.stuck_share:
            continue
        for label, arm in (
            ("identical", base),
            ("surer", replace(base, logit_sd=1.5 * base.logit_sd)),
        ):
            yield from _compare_rows(name, label, base, arm, n_studies=n_studies, rng=rng)


def _compare_rows(
    name: str,
    label: str,
    base: Simulation,
    arm: Simulation,
    *,
    n_studies: int,
    rng: np.random.Generator,
) -> Iterator[str]:
    metrics = ("flip_rate", "accuracy")
    decided: dict[str, list[tuple[int, bool]]] = {metric: [] for metric in metrics}
    fixed = {metric: dict.fromkeys(JUDGED, 0) for metric in metrics}
    for _ in range(n_studies):
        pair = base.draw_pair(arm, rng)
        known = {
            n: contrasts(
                *(first_runs(batch, n) for batch in pair), is_paired=True, clusters=base.clusters
            )
            for n in JUDGED
        }
        for metric in metrics:
            by_look = {n: known[n][metric].effect(AT_LOOK).is_shown for n in JUDGED}
            decided[metric].append(until_decided(by_look.__getitem__))
            for n_runs in JUDGED:
                fixed[metric][n_runs] += known[n_runs][metric].effect().is_shown
    for metric in metrics:
        shares = " / ".join(f"{100 * fixed[metric][n] / n_studies:.0f}" for n in JUDGED)
        yield f"| {name} | {label} | `{metric}` | {shares_by_look(decided[metric])} | {shares} |"


def probabilities(n_arms: int, n_runs: int, n: int, rng: np.random.Generator) -> dict[str, object]:
    """Return arms that differ by luck alone, with probabilities of three classes."""
    shared = 1.5 * rng.standard_normal((n, 3))
    logits = (
        shared
        + 0.5 * rng.standard_normal((n_arms * n_runs, n, 3))
        + 0.3 * rng.standard_normal((n_arms * n_runs, 1, 3))
    )
    raised = np.exp(logits)
    probs = (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)
    drawn = rng.random(n)[:, None] > np.cumsum(probs.mean(axis=0), axis=1)
    labels = np.minimum(drawn.sum(axis=1), 2)
    return {
        f"arm {i}": sp.Predictions.from_arrays(probs[i * n_runs : (i + 1) * n_runs], labels=labels)
        for i in range(n_arms)
    }


def rows_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of identical arms: primary and other verdicts."""
    yield "| arms besides the baseline | runs | treated | primary row | any other row |"
    yield "|---|---|---|---|---|"
    for n_arms in (1, 6):
        for n_runs in (5, 10):
            for paired in (False, True):
                hits = np.zeros(2)
                for _ in range(n_studies):
                    arms = probabilities(n_arms + 1, n_runs, 300, rng)
                    report = sp.compare(arms, baseline="arm 0", paired=paired)
                    shown = [
                        (effect.exploratory, effect.verdict in SHOWN)
                        for arm in list(arms)[1:]
                        for effect in report.effects(arm).values()
                    ]
                    hits += [
                        any(is_shown and is_other == kind for is_other, is_shown in shown)
                        for kind in (False, True)
                    ]
                treated = "paired" if paired else "unpaired"
                cells = " | ".join(percent(x) for x in hits / n_studies)
                yield f"| {n_arms} | {n_runs} | {treated} | {cells} |"


def changed(base: Simulation, metric: str) -> Simulation:
    """Return an arm whose true change of a metric is the usual margin: its runs are worse."""
    scale, margin = scale_of(metric), usual_margin(metric)

    def truth(simulation: Simulation) -> float:
        return simulation.truth(np.random.default_rng(1), n_population=50_000)[metric]

    before = truth(base)

    def missing(shift: float) -> float:
        after = truth(replace(base, bad_share=1.0, bad_shift=shift))
        return (after / before - 1 if scale == "ratio" else before - after) - margin

    return replace(base, bad_share=1.0, bad_shift=float(brentq(missing, -1.0, 0.0, xtol=1e-4)))


def equivalent_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of arms whose true change is the margin, or none."""
    yield "| metric | runs | examples | true change | called equivalent |"
    yield "|---|---|---|---|---|"
    for metric in ("flip_rate", "accuracy"):
        for n_runs, n_examples in ((5, 600), (10, 2_000), (20, 10_000)):
            base = replace(USUAL, n_runs=n_runs, n_examples=n_examples, run_sd=0.05)
            for label, arm in (("the margin", changed(base, metric)), ("none", base)):
                hits = 0
                for _ in range(n_studies):
                    contrast = contrasts(*base.draw_pair(arm, rng), is_paired=True)[metric]
                    hits += contrast.effect().verdict == "equivalent"
                cells = f"{n_runs} | {n_examples:,} | {label} | {percent(hits / n_studies)}"
                yield f"| `{metric}` | {cells} |"


def numbers(
    kind: str,
    shape: tuple[int, int],
    rng: np.random.Generator,
    *,
    run_sd: float,
    example_sd: float = 0.0,
) -> dict[str, np.ndarray]:
    """Return two arms of numbers (runs, examples) that differ by luck alone.

    With `example_sd`, each arm does better than the other on some kinds of examples, and as well on
    all of them together.
    """
    n_runs, n_examples = shape
    difficulty = rng.standard_normal(n_examples)
    arms = {}
    for arm in ("old", "new"):
        latent = difficulty + example_sd * rng.standard_normal(n_examples)
        latent = latent + run_sd * rng.standard_normal((n_runs, 1))
        if kind == "pass":
            chance = 1 / (1 + np.exp(-2.0 * latent))
            arms[arm] = (rng.random(shape) < chance).astype(np.float64)
            continue
        noisy = latent + 0.5 * rng.standard_normal(shape)
        arms[arm] = np.exp(noisy) if kind == "skewed" else 1 / (1 + np.exp(-2.0 * noisy))
    return arms


def numbers_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of identical arms of numbers: primary and other verdicts."""
    yield "| numbers | repeats | examples | arms | primary row | any other row |"
    yield "|---|---|---|---|---|---|"
    repeats = [(1, 0.0), (3, 0.0), (5, 0.2), (10, 0.2)]
    for kind, (n_runs, run_sd), n_examples, example_sd in product(
        ("pass", "bounded", "skewed"), repeats, (50, 500), (0.0, 0.5)
    ):
        hits = np.zeros(2)
        for _ in range(n_studies):
            arms = numbers(kind, (n_runs, n_examples), rng, run_sd=run_sd, example_sd=example_sd)
            effects = sp.compare(arms, trials=run_sd == 0.0).effects("new").values()
            hits += [
                any(x.verdict in SHOWN and x.exploratory == is_other for x in effects)
                for is_other in (False, True)
            ]
        noun = ("trials" if run_sd == 0.0 else "runs").removesuffix("s" * (n_runs == 1))
        differ = "with their own strengths" if example_sd else "identical"
        cells = " | ".join(percent(x) for x in hits / n_studies)
        yield f"| {kind} | {n_runs} {noun} | {n_examples} | {differ} | {cells} |"


def trials_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of trials that are added until a difference shows."""
    yield "| numbers | examples | arms | shown after any of 20 trials | of 20 declared |"
    yield "|---|---|---|---|---|"
    for kind, n_examples, example_sd in product(("pass", "skewed"), (50, 500), (0.0, 0.5)):
        hits = np.zeros(2)
        for _ in range(n_studies):
            arms = numbers(
                kind, (MOST_TRIAL_LOOKS, n_examples), rng, run_sd=0.0, example_sd=example_sd
            )
            looks = (
                sp.compare(
                    {name: x[:n_trials] for name, x in arms.items()},
                    trials=True,
                    sequential=True,
                    metrics=["mean"],
                )
                for n_trials in range(1, MOST_TRIAL_LOOKS + 1)
            )
            declared = sp.compare(arms, trials=True, metrics=["mean"])
            hits += [
                any(look.effect("new", "mean").is_shown for look in looks),
                declared.effect("new", "mean").is_shown,
            ]
        differ = "with their own strengths" if example_sd else "identical"
        cells = " | ".join(percent(x) for x in hits / n_studies)
        yield f"| {kind} | {n_examples} | {differ} | {cells} |"


TABLES = {
    "gate": gate_table,
    "compare": compare_table,
    "rows": rows_table,
    "equivalent": equivalent_table,
    "numbers": numbers_table,
    "trials": trials_table,
}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for row in TABLES[options.table](options.studies, np.random.default_rng(options.seed)):
        print(row, flush=True)


if __name__ == "__main__":
    main()
