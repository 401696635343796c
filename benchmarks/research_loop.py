"""Simulated research loops: true and false keeps of `decide` and of usual rules.

    python benchmarks/research_loop.py --loops 200 --out docs/explanation/research-loops.json
    python benchmarks/research_loop.py --page docs/explanation/research-loops.md

The first command simulates (about ten minutes on one core), the second writes the tables and the
figure of the docs page from the stored results.

The score of a run is normal with an sd of 1. A loop tries 200 candidates one after the other, each
a change of the current baseline. Of these, 10 gain 0.5 to 2 sd; of all others, half change nothing
and half lose up to 2 sd, in random order. A kept candidate becomes the baseline.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from seedproof.comparison.decide.judge import judge
from seedproof.comparison.decide.level import next_level
from seedproof.comparison.decide.schedule import Schedule
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.stats.families import MetricContrast

N_CANDIDATES, N_BETTER = 200, 10
GAINS, LOSSES = (0.5, 2.0), (0.0, 2.0)
FALSE_KEEPS = 0.1
MEASURED = ("true_keeps", "false_keeps", "runs", "gain")
# Share of the candidates without a gain that lose, and number of candidates that gain.
SCENARIOS = {
    "half of the others lose": (0.5, N_BETTER),
    "all others change nothing": (0.0, N_BETTER),
    "none is better, all change nothing": (0.0, 0),
}


@dataclass
class Loop:
    """A loop in progress: the truth, and what a rule has spent and kept."""

    rng: np.random.Generator
    truth: float = 0.0  # mean score of the current baseline
    n_runs: int = 0
    kept: list[float] = field(default_factory=list)  # true gain of each keep

    def train(self, gain: float, n_runs: int) -> np.ndarray:
        """Return the scores of new runs of the baseline (no gain) or of a candidate."""
        self.n_runs += n_runs
        return self.truth + gain + self.rng.normal(size=n_runs)

    def keep(self, gain: float) -> None:
        """Replace the baseline by a candidate."""
        self.truth += gain
        self.kept.append(gain)


def one_run_each(loop: Loop, gains: np.ndarray) -> None:
    """Keep a candidate whose run is better than a new run of the baseline."""
    for gain in gains:
        if loop.train(gain, 1) > loop.train(0.0, 1):
            loop.keep(gain)


def best_so_far(loop: Loop, gains: np.ndarray) -> None:
    """Keep a candidate whose run is better than the best run so far."""
    best = loop.train(0.0, 1)
    for gain in gains:
        score = loop.train(gain, 1)
        if score > best:
            best = score
            loop.keep(gain)


def two_deviations(loop: Loop, gains: np.ndarray) -> None:
    """Keep a candidate whose run is two sd above the mean of five runs of the baseline."""
    runs = loop.train(0.0, 5)
    for gain in gains:
        if loop.train(gain, 1) > runs.mean() + 2 * runs.std(ddof=1):
            loop.keep(gain)
            runs = loop.train(0.0, 5)


def welch(loop: Loop, gains: np.ndarray) -> None:
    """Keep a candidate whose three runs are better by Welch's test at 0.05."""
    runs = loop.train(0.0, 3)
    for gain in gains:
        scores = loop.train(gain, 3)
        test = stats.ttest_ind(scores, runs, equal_var=False)
        if test.statistic > 0 and test.pvalue < 0.05:
            loop.keep(gain)
            runs = scores


def decide(loop: Loop, gains: np.ndarray, *, new_runs: bool = True) -> None:
    """Keep as `seedproof decide` does; baselines get new runs when a candidate needs them."""
    schedule = Schedule.of_runs(20)
    runs, n_selecting, keeps = loop.train(0.0, 5), 0, []
    for n_before, gain in enumerate(gains):
        level = next_level(n_before, keeps, FALSE_KEEPS)
        scores, answer = np.empty(0), "run more"
        while answer == "run more":
            _, step = schedule.at(len(scores))
            scores = np.append(scores, loop.train(gain, step - len(scores)))
            missing = schedule.baseline_runs(step) + (n_selecting if new_runs else 0) - len(runs)
            runs = np.append(runs, loop.train(0.0, max(missing, 0)))
            row = contrast(runs, scores)
            answer = judge(row, schedule, level=level, min_gain=0.0).answer
        if answer == "keep":
            loop.keep(gain)
            keeps.append(n_before + 1)
            runs, n_selecting = scores, len(scores)


def contrast(base: np.ndarray, arm: np.ndarray) -> MetricContrast:
    """Return scores as the accuracies of runs, on so many examples that only runs matter."""
    means = [
        MeanOverExamples(
            value=float(scores.mean()),
            n_examples=10**9,
            without=(scores.sum() - scores) / (len(scores) - 1) if len(scores) > 2 else None,
            example_variance=0.0,
            interaction_variance=0.0,
        )
        # Differences of accuracies are below 1.
        for scores in (base / 1000, arm / 1000)
    ]
    counts = len(base), len(arm)
    return MetricContrast("accuracy", "candidate", *means, is_paired=False, n_runs=counts)


RULES: Mapping[str, Callable[[Loop, np.ndarray], None]] = {
    "one run each": one_run_each,
    "best so far": best_so_far,
    "two sd of five baseline runs": two_deviations,
    "Welch's test at 0.05, three runs": welch,
    "`decide`": decide,
    "`decide`, no new runs of a kept baseline": lambda loop, gains: decide(
        loop, gains, new_runs=False
    ),
}


def simulated_gains(rng: np.random.Generator, lose: float, n_better: int) -> np.ndarray:
    """Return the true gain of each candidate, in random order."""
    n_losing = int(lose * (N_CANDIDATES - n_better))
    better, worse = rng.uniform(*GAINS, n_better), -rng.uniform(*LOSSES, n_losing)
    rest = np.zeros(N_CANDIDATES - n_better - n_losing)
    return rng.permutation(np.concatenate([better, worse, rest]))


def simulate(rule: str, scenario: str, n_loops: int, seed: int) -> dict[str, Any]:
    """Return the mean of each measure over loops, with its standard error."""
    rows = []
    for index in range(n_loops):
        rng = np.random.default_rng([seed, index])
        gains = simulated_gains(rng, *SCENARIOS[scenario])
        loop = Loop(rng)
        RULES[rule](loop, gains)
        n_true = sum(gain > 0 for gain in loop.kept)
        n_false = len(loop.kept) - n_true
        share = n_false / max(len(loop.kept), 1)
        rows.append([n_true, n_false, loop.n_runs, loop.truth, share])
    values = np.array(rows, dtype=float)
    names = (*MEASURED, "false_share")
    errors = values.std(axis=0, ddof=1) / np.sqrt(n_loops)
    return {
        name: {"mean": round(float(mean), 4), "error": round(float(error), 4)}
        for name, mean, error in zip(names, values.mean(axis=0), errors, strict=True)
    }


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the results of one scenario as a Markdown table."""
    lines = [
        "| rule | true keeps | false keeps | share of false keeps | runs | final gain, sd |",
        "|---|---|---|---|---|---|",
    ]
    for rule, row in results.items():
        cells = [
            f"{row['true_keeps']['mean']:.1f}",
            f"{row['false_keeps']['mean']:.2f}",
            f"{100 * row['false_share']['mean']:.1f} ± {100 * row['false_share']['error']:.1f} %",
            f"{row['runs']['mean']:,.0f}",
            f"{row['gain']['mean']:.1f} ± {row['gain']['error']:.1f}".replace("-", "−"),
        ]
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_page(page: Path) -> None:
    """Write the tables between their marks, and the figure next to the page."""
    stored = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    for index, scenario in enumerate(SCENARIOS):
        start, end = f"<!-- table {index} -->", f"<!-- end of table {index} -->"
        before, after = text.split(start)[0], text.split(end)[1]
        text = f"{before}{start}\n\n{table(stored['results'][scenario])}\n\n{end}{after}"
    page.write_text(text, encoding="utf-8")
    page.with_suffix(".svg").write_text(figure(stored["results"]), encoding="utf-8")


def figure(results: Mapping[str, Any]) -> str:
    """Return the keeps of each rule as stacked bars, in SVG."""
    import altair as alt

    from seedproof_reproductions.charts import ACCENT, WARNING, draw

    rows = [
        {"rule": rule.replace("`", ""), "keeps": kind, "n": row[key]["mean"]}
        for rule, row in results[next(iter(SCENARIOS))].items()
        for kind, key in (("true", "true_keeps"), ("false", "false_keeps"))
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows), width=420, height=alt.Step(24))
        .mark_bar()
        .encode(
            y=alt.Y("rule:N", sort=None, title=None, axis=alt.Axis(labelLimit=300)),
            x=alt.X("n:Q", title="keeps of 200 candidates, 10 of which are better"),
            color=alt.Color(
                "keeps:N", scale=alt.Scale(domain=["true", "false"], range=[ACCENT, WARNING])
            ),
            order=alt.Order("keeps:N", sort="descending"),
        )
    )
    return draw(chart, name="research-loops", title="True and false keeps of each rule.").svg


def main() -> None:
    """Simulate, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page is not None:
        write_page(options.page)
        return
    results: dict[str, dict[str, Any]] = {}
    for scenario in SCENARIOS:
        results[scenario] = {}
        for rule in RULES:
            results[scenario][rule] = simulate(rule, scenario, options.loops, options.seed)
        print(f"\n{scenario}, {options.loops} loops\n\n{table(results[scenario])}", flush=True)
    if options.out is not None:
        content = {"loops": options.loops, "seed": options.seed, "results": results}
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
