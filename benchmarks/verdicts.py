"""Error rates and price of verdicts in simulated studies, printed as Markdown.

    PYTHONPATH=tests python benchmarks/verdicts.py gate --studies 1000 > gate.md

Tables: `gate` and `compare` under repeated looks, next to a number of runs that is known
beforehand; `rows`, `arms` and `equivalent` for comparisons of one look. Each takes 10 to 30 minutes
on one core. The docs page on comparing shows their output.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

import seedproof as sp
from seedproof.metrics.batch import Batch
from seedproof.stats.looks import LOOKS
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
ALLOWED = ("constant-run", "outlier-run", "duplicate-runs")


def predictions(batch: Batch, simulation: Simulation, n_runs: int) -> sp.Predictions:
    """Return the first runs of a simulated study."""
    return sp.Predictions.from_arrays(
        batch.predictions[:n_runs], labels=batch.labels, clusters=simulation.clusters
    )


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
        last = ["investigate"]

        def outcome(n_runs: int, declared: int | None, batch: Batch = batch) -> str:
            given = predictions(batch, simulation, n_runs)
            rules = {"flip_rate": limit}
            return sp.gate(given, max=rules, declared_runs=declared, allow=ALLOWED).outcome

        def judge(n_runs: int, last: list[str] = last) -> bool:
            last[0] = outcome(n_runs, None)
            return last[0] != "investigate"

        decided.append(until_decided(judge))
        outcomes.append(last[0])
        for n_runs in JUDGED:
            fixed[n_runs] += outcome(n_runs, n_runs) != "investigate"
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
            ("steadier runs", replace(base, run_sd=base.run_sd / 2)),
        ):
            for metric in ("flip_rate", "accuracy"):
                yield _compare_row(
                    name, label, base, arm, metric=metric, n_studies=n_studies, rng=rng
                )


def _compare_row(
    name: str,
    label: str,
    base: Simulation,
    arm: Simulation,
    *,
    metric: str,
    n_studies: int,
    rng: np.random.Generator,
) -> str:
    decided = []
    fixed = dict.fromkeys(JUDGED, 0)
    for _ in range(n_studies):
        pair = base.draw_pair(arm, rng)

        def is_shown(n_runs: int, *, sequential: bool, pair: tuple[Batch, Batch] = pair) -> bool:
            arms = {
                side: predictions(batch, base, n_runs)
                for side, batch in zip(("none", "arm"), pair, strict=True)
            }
            report = sp.compare(
                arms,
                baseline="none",
                primary=metric,
                metrics=["flip_rate", "accuracy"],
                sequential=sequential,
            )
            return report.effect("arm", metric).verdict in SHOWN

        decided.append(until_decided(lambda n: is_shown(n, sequential=True)))
        for n_runs in JUDGED:
            fixed[n_runs] += is_shown(n_runs, sequential=False)
    known = " / ".join(f"{100 * fixed[n] / n_studies:.0f}" for n in JUDGED)
    return f"| {name} | {label} | `{metric}` | {shares_by_look(decided)} | {known} |"


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
    for n_arms in (1, 3, 6):
        for n_runs in (5, 10, 20):
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


def equivalent_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of the table of arms whose true change is the margin, or none."""
    yield "| metric | runs | examples | true change | called equivalent |"
    yield "|---|---|---|---|---|"
    for n_runs, n_examples in ((5, 600), (10, 600), (10, 5_000), (20, 5_000)):
        base = replace(USUAL, n_runs=n_runs, n_examples=n_examples, run_sd=0.2)
        truths = base.truth(np.random.default_rng(1))
        arm = replace(base, run_sd=0.4)
        changed = arm.truth(np.random.default_rng(1))
        margins = {
            "flip_rate": changed["flip_rate"] / truths["flip_rate"] - 1,
            "accuracy": abs(changed["accuracy"] - truths["accuracy"]),
        }
        for metric, margin in margins.items():
            if margin <= 0:
                continue
            for label, other in (("the margin", arm), ("none", base)):
                hits = 0
                for _ in range(n_studies):
                    first, second = base.draw_pair(other, rng)
                    arms = {
                        "none": predictions(first, base, n_runs),
                        "arm": predictions(second, base, n_runs),
                    }
                    report = sp.compare(
                        arms,
                        baseline="none",
                        primary=metric,
                        metrics=["flip_rate", "accuracy"],
                        margins={metric: margin},
                    )
                    hits += report.effect("arm", metric).verdict == "equivalent"
                yield (
                    f"| `{metric}` (margin {margin:.3f}) | {n_runs} | {n_examples:,} | {label} | "
                    f"{percent(hits / n_studies)} |"
                )


TABLES = {
    "gate": gate_table,
    "compare": compare_table,
    "rows": rows_table,
    "equivalent": equivalent_table,
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
