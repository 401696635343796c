"""Small studies with a known truth: coverage, wrong verdicts, width and power, as Markdown.

    python benchmarks/small_studies.py --studies 1000 --out studies/
    python benchmarks/small_studies.py --out studies/ --table small.json --summary after
    python benchmarks/small_studies.py --table small.json > small.md

Most studies have few runs or few examples, and rates near 0 or 1. Each cell draws such studies
and judges them through the public API alone, so that two commits can be compared. A study has its
own seed: a run that was interrupted goes on where it stopped. The docs page on intervals shows the
table.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
from scipy.special import expit

import seedproof as sp

Outcome: TypeAlias = dict[str, float | bool | None]
# Draws one study and returns what was seen: `covers …` and `shown …` are shares, all others are
# numbers whose median is printed.
Cell: TypeAlias = Callable[[np.random.Generator], Outcome]

SHOWN = frozenset({"steadier", "less steady", "better", "worse", "higher", "lower"})
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
load = sp.Predictions.from_arrays


def covered(report: Mapping[str, Any], truths: Mapping[str, float]) -> Outcome:
    """Return whether each interval covers the truth, and its width."""
    seen: Outcome = {}
    for name, truth in truths.items():
        estimate = report.get(name)
        has_interval = estimate is not None and estimate.low is not None
        seen[f"none {name}"] = not has_interval
        if estimate is None or estimate.low is None or estimate.high is None:
            continue
        seen[f"covers {name}"] = bool(estimate.low - 1e-12 <= truth <= estimate.high + 1e-12)
        seen[f"width {name}"] = estimate.high - estimate.low
    return seen


# ------------------------------------------------------------------------------------------ rates


def beta_truths(a: float, b: float, n_trials: int) -> dict[str, float]:
    """Return true figures of trials whose chance of a pass is beta-distributed over tasks."""
    rates = np.random.default_rng(1).beta(a, b, 2_000_000)
    return {
        "mean": a / (a + b),
        "flip_rate": float((2 * rates * (1 - rates)).mean()),
        "pass^2": float((rates**2).mean()),
        "flaky_share": float((1 - rates**n_trials - (1 - rates) ** n_trials).mean()),
    }


true_rates = cache(beta_truths)


def trials(
    rng: np.random.Generator, *, a: float, b: float, n_trials: int, n: int, size: int = 1
) -> Outcome:
    """Tasks of one model, whose chances of a pass are beta-distributed; `size` of them share it."""
    rates = np.repeat(rng.beta(a, b, n // size), size)
    passed = (rng.random((n_trials, n)) < rates).astype(float)
    clusters = {} if size == 1 else {"clusters": [f"c{i // size}" for i in range(n)]}
    report = sp.measure(load(passed, trials=True, **clusters))
    truths = dict(true_rates(a, b, n_trials))
    if n_trials < 2:
        truths = {"mean": truths["mean"]}
    return covered(report, truths)


def unequal_trials(rng: np.random.Generator, n: int) -> Outcome:
    """Tasks with two to five trials each."""
    rates = rng.beta(2, 1, n)
    counts = rng.integers(2, 6, n)
    task = np.repeat(np.arange(n), counts)
    trial = np.concatenate([np.arange(count) for count in counts])
    score = (rng.random(len(task)) < rates[task]).astype(float)
    table = pa.table({"task": task, "trial": trial, "score": score})
    report = sp.measure(table, columns=sp.Columns(example="task", value="score"))
    return covered(report, {name: true_rates(2, 1, 2)[name] for name in ("mean", "flip_rate")})


def runs_near_one(rng: np.random.Generator, n_runs: int, n: int, quality_sd: float) -> Outcome:
    """Models that were trained again: a pass is likelier for a better run and an easier task."""
    mean, spread = 5.0, 1.5
    latent = mean + spread * rng.standard_normal(n) + quality_sd * rng.standard_normal((n_runs, 1))
    passed = (rng.random((n_runs, n)) < expit(latent)).astype(float)
    report = sp.measure(load(passed))
    return covered(report, logistic_truths(mean, spread, quality_sd))


@cache
def logistic_truths(mean: float, spread: float, quality_sd: float) -> dict[str, float]:
    """Return the true mean and flip rate; two runs are independent given the task."""
    task = mean + spread * NODES
    rates = expit(task[:, np.newaxis] + quality_sd * NODES) @ WEIGHTS
    return {
        "mean": float(WEIGHTS @ rates),
        "flip_rate": float(WEIGHTS @ (2 * rates * (1 - rates))),
    }


def scores(rng: np.random.Generator, n: int) -> Outcome:
    """Scores from 0 to 1: nine of ten tasks always get 1, the others a uniform score."""
    is_full = rng.random(n) < 0.9
    level = rng.random(n)
    noise = 0.1 * (rng.random((3, n)) - 0.5) * np.minimum(level, 1 - level)
    report = sp.measure(load(np.where(is_full, 1.0, level + noise), trials=True))
    return covered(report, {"mean": 0.95})


# ----------------------------------------------------------------------------------------- judges


def graded(
    rng: np.random.Generator, skill: np.ndarray, strict: np.ndarray, n_trials: int
) -> pa.Table:
    """Return scores of all answers by the same judges."""
    n, n_judges = len(skill), len(strict)
    answer = skill + 0.8 * rng.standard_normal((n_trials, n))
    score = answer[:, np.newaxis] + strict[:, np.newaxis]
    score = score + 0.9 * rng.standard_normal((n_trials, n_judges, n))
    trial, judge, task = (x.ravel() for x in np.indices(score.shape))
    return pa.table(
        {
            "task": task,
            "trial": trial,
            "judge": [f"judge{j}" for j in judge],
            "score": score.ravel(),
        }
    )


def judges(rng: np.random.Generator, n_judges: int, strictness: float, n_trials: int) -> Outcome:
    """The same judges grade every answer to 40 tasks."""
    skill = 6 + 1.2 * rng.standard_normal(40)
    table = graded(rng, skill, strictness * rng.standard_normal(n_judges), n_trials)
    report = sp.measure(table, columns=sp.Columns(example="task", value="score"))
    return covered(report, {"mean": 6.0})


def judges_of_arms(rng: np.random.Generator) -> Outcome:
    """Two equal models, graded by the same three judges."""
    skill, strict = 6 + 1.2 * rng.standard_normal(40), 0.4 * rng.standard_normal(3)
    arms = {name: graded(rng, skill, strict, 3) for name in ("a", "b")}
    columns = sp.Columns(example="task", value="score")
    result = sp.compare(arms, baseline="a", primary="mean", columns=columns)
    effect = result.effect("b", "mean")
    width = None if effect.low is None or effect.high is None else effect.high - effect.low
    return {"wrong mean": effect.verdict in SHOWN, "width mean": width}


# ---------------------------------------------------------------------------------------- classes


def few_examples(rng: np.random.Generator, n: int) -> Outcome:
    """Two models that are nearly always right, and 1 point apart: runs hardly ever differ."""
    accuracies, noise = (0.98, 0.97), 0.004
    labels = labels_of(n)
    arms = {}
    for name, accuracy in zip("ab", accuracies, strict=True):
        wrong = rng.random(n) >= accuracy
        flipped = rng.random((5, n)) < noise
        arms[name] = load(np.where(wrong ^ flipped, 1 - labels, labels), labels=labels)
    effect = sp.compare(arms, baseline="a", primary="accuracy").effect("b", "accuracy")
    truth = (accuracies[1] - accuracies[0]) * (1 - 2 * noise)
    seen: Outcome = {"wrong equivalent": effect.verdict == "equivalent", "none accuracy": True}
    if effect.low is not None and effect.high is not None:
        seen["none accuracy"] = False
        seen["covers accuracy"] = bool(effect.low - 1e-12 <= truth <= effect.high + 1e-12)
        seen["width accuracy"] = effect.high - effect.low
    return seen


def answers(
    rng: np.random.Generator,
    ease: np.ndarray,
    n_runs: int,
    *,
    quality: float = 0.0,
    noise: float = 1.0,
    run_sd: float = 0.25,
) -> np.ndarray:
    """Return answers to examples of two classes in turn; less noise makes them steadier."""
    latent = ease + quality + run_sd * noise * rng.standard_normal((n_runs, 1))
    labels, is_wrong = (
        labels_of(len(ease)),
        latent + noise * rng.logistic(size=(n_runs, len(ease))) < 0,
    )
    return np.where(is_wrong, 1 - labels, labels)


def labels_of(n: int) -> np.ndarray:
    """Return the labels of examples of two classes in turn."""
    return np.arange(n) % 2


def two_arms(
    rng: np.random.Generator, n_runs: int, n: int = 300, *, quality: float = 0.0, noise: float = 1.0
) -> Outcome:
    """An arm against a baseline with the usual primary metric; both are primary with labels."""
    ease, labels = 1.5 + 2.0 * rng.standard_normal(n), labels_of(n)
    base = load(answers(rng, ease, n_runs), labels=labels)
    arm = load(answers(rng, ease, n_runs, quality=quality, noise=noise), labels=labels)
    effects = sp.compare({"none": base, "arm": arm}, baseline="none").effects("arm")
    primary = [effects[name].verdict in SHOWN for name in ("flip_rate", "accuracy")]
    others = [x.verdict in SHOWN for name, x in effects.items() if name not in PRIMARY]
    return {
        "shown flips": primary[0],
        "shown accuracy": primary[1],
        "shown either": any(primary),
        "shown others": any(others),
    }


PRIMARY = frozenset({"flip_rate", "accuracy"})


def three_arms(rng: np.random.Generator) -> Outcome:
    """Two arms that equal the baseline."""
    ease, labels = 1.5 + 2.0 * rng.standard_normal(300), labels_of(300)
    arms = {name: load(answers(rng, ease, 10), labels=labels) for name in ("none", "a", "b")}
    result = sp.compare(arms, baseline="none")
    effects = [result.effect(arm, metric) for arm in "ab" for metric in PRIMARY]
    return {"shown either": any(effect.verdict in SHOWN for effect in effects)}


def at_looks(rng: np.random.Generator, noise: float = 1.0) -> Outcome:
    """Runs are added until a difference shows, at 5, 10 and 20 runs per arm."""
    ease, labels = 1.5 + 2.0 * rng.standard_normal(300), labels_of(300)
    base, arm = answers(rng, ease, 20), answers(rng, ease, 20, noise=noise)
    seen = dict.fromkeys(("shown flips", "shown accuracy", "shown either"), False)
    for n_runs in (5, 10, 20):
        arms = {
            "none": load(base[:n_runs], labels=labels),
            "arm": load(arm[:n_runs], labels=labels),
        }
        result = sp.compare(arms, baseline="none", sequential=True)
        flips, accuracy = (
            result.effect("arm", name).verdict in SHOWN for name in ("flip_rate", "accuracy")
        )
        seen["shown flips"] |= flips
        seen["shown accuracy"] |= accuracy
        seen["shown either"] |= flips or accuracy
    return dict(seen)


def decided(rng: np.random.Generator, quality: float, noise: float) -> Outcome:
    """Is a candidate kept for its flip rate, after 5, 10 or 20 runs?"""
    ease, labels = 1.5 + 2.0 * rng.standard_normal(300), labels_of(300)
    base, arm = answers(rng, ease, 20), answers(rng, ease, 20, quality=quality, noise=noise)
    for n_runs in (5, 10, 20):
        sides = load(base, labels=labels), load(arm[:n_runs], labels=labels)
        with TemporaryDirectory() as folder:
            answer = sp.decide(*sides, metric="flip_rate", ledger=f"{folder}/loop.jsonl").answer
        if answer != "run more":
            break
    return {"shown keep": answer == "keep"}


def versions(
    rng: np.random.Generator, n_runs: int, *, quality: float = 0.0, size: int = 1
) -> Outcome:
    """Two versions of a model; is a change beyond noise, or of accuracy, shown?"""
    n = 300
    ease = 1.5 + 2.0 * np.repeat(rng.standard_normal(n // size), size)
    labels, clusters = labels_of(n), {}
    if size > 1:
        clusters = {"clusters": [f"c{i // size}" for i in range(n)]}
    old = load(answers(rng, ease, n_runs), labels=labels, **clusters)
    new = load(answers(rng, ease, n_runs, quality=quality), labels=labels, **clusters)
    result = sp.compare_versions(old, new)
    change = result["accuracy_change"]
    is_shown = change.low is not None and (change.low > 0 or (change.high or 0.0) < 0)
    is_beyond = bool(result.comparison.is_beyond)
    return {
        "shown beyond": is_beyond,
        "shown accuracy": is_shown,
        "shown either": is_beyond or is_shown,
        "width accuracy": None if change.low is None else (change.high or 0.0) - change.low,
    }


def errors_of_numbers(rng: np.random.Generator) -> Outcome:
    """Two equal regressions, ten runs each: the spread on one example is primary."""
    target = rng.standard_normal(200)
    arms = {}
    for name in ("none", "arm"):
        shift = 0.1 * rng.standard_normal((10, 1))
        numbers = target + shift + 0.5 * rng.standard_normal((10, 200))
        arms[name] = load(numbers, targets=target)
    effects = sp.compare(arms, baseline="none", primary="example_sd").effects("arm")
    shown = [effects[name].verdict in SHOWN for name in ("example_sd", "mae")]
    return {"shown spread": shown[0], "shown mae": shown[1], "shown either": any(shown)}


# -------------------------------------------------------------------------------- numbers per run


def normal_runs(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return values with a mean of 0 and an sd of 1."""
    return rng.standard_normal(size)


def skewed_runs(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return values with a long tail to the left, a mean of 0 and an sd of 1."""
    values = rng.lognormal(0.0, 0.75, size)
    mean = np.exp(0.75**2 / 2)
    return np.asarray(-(values - mean) / (mean * np.sqrt(np.exp(0.75**2) - 1)))


def bad_runs(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return values of which one in ten is bad, with a mean of 0 and an sd of 1."""
    values = rng.standard_normal(size) - 6.0 * (rng.random(size) < 0.1)
    return np.asarray((values + 0.6) / np.sqrt(1 + 36 * 0.09))


RUNS = {"normal": normal_runs, "skewed": skewed_runs, "bad": bad_runs}


def spread(rng: np.random.Generator, kind: str, n_runs: int) -> Outcome:
    """The standard deviation over runs of one number per run."""
    table = pa.table({"seed": np.arange(n_runs), "score": 80 + RUNS[kind](rng, n_runs)})
    (arm,) = sp.measure_scalars(table, metrics=["score"]).values()
    estimate = arm["score_sd"]
    if estimate.low is None or estimate.high is None:
        return {"none sd": True}
    return {
        "none sd": False,
        "covers sd": bool(estimate.low <= 1.0 <= estimate.high),
        "ratio of ends": estimate.high / estimate.low,
    }


def gate_of_scalars(rng: np.random.Generator, kind: str, n_runs: int, margin: float) -> Outcome:
    """A limit of the mean; with a margin of 0 it is the truth, and every pass is wrong."""
    table = pa.table({"seed": np.arange(n_runs), "score": 80 + RUNS[kind](rng, n_runs)})
    result = sp.gate(table, min={"score": 80 - margin}, declared_runs=n_runs)
    return {"shown pass": result.outcome == "pass", "shown fail": result.outcome == "fail"}


def costs(rng: np.random.Generator, n: int) -> Outcome:
    """Costs of trials with heavy tails: the mean difference of two trials, and their sd."""
    level = rng.lognormal(0.0, 0.8, n)
    report = sp.measure(load(level * rng.lognormal(0.0, 0.8, (5, n)), trials=True))
    return covered(report, cost_truths())


@cache
def cost_truths() -> dict[str, float]:
    """Return the true figures of costs."""
    rng = np.random.default_rng(1)
    level = np.exp(0.8**2 / 2)
    first, second = rng.lognormal(0.0, 0.8, (2, 4_000_000))
    variance = (np.exp(0.64) - 1) * np.exp(0.64)
    return {
        "mean": level * np.exp(0.32),
        "mean_difference": float(level * np.abs(first - second).mean()),
        "example_sd": float(np.sqrt(np.exp(2 * 0.64) * variance)),
    }


# Named before they were run; 40 at most.
CELLS: dict[str, Cell] = {
    "rates: 3 trials of 30 tasks, most pass": partial(trials, a=2, b=0.1, n_trials=3, n=30),
    "rates: 3 trials of 100 tasks": partial(trials, a=4, b=2, n_trials=3, n=100),
    "rates: 3 trials of 300 tasks, 1 % never pass": partial(
        trials, a=0.099, b=0.001, n_trials=3, n=300
    ),
    "rates: 3 trials of 300 tasks, 1 % fail anywhere": partial(
        trials, a=990, b=10, n_trials=3, n=300
    ),
    "rates: 5 trials of 100 tasks, all or none": partial(trials, a=0.3, b=0.3, n_trials=5, n=100),
    "rates: 5 trials of 50 tasks, few pass": partial(trials, a=0.05, b=2, n_trials=5, n=50),
    "rates: 3 trials of 100 tasks in 20 clusters": partial(
        trials, a=2, b=0.1, n_trials=3, n=100, size=5
    ),
    "rates: 1 trial of 60 tasks": partial(trials, a=4, b=2, n_trials=1, n=60),
    "rates: 2 to 5 trials of 100 tasks": partial(unequal_trials, n=100),
    "rates: 5 runs of 300 tasks, most pass": partial(
        runs_near_one, n_runs=5, n=300, quality_sd=0.4
    ),
    "rates: 10 runs of 100 tasks, most pass": partial(
        runs_near_one, n_runs=10, n=100, quality_sd=0.4
    ),
    "scores: 3 trials of 40 tasks, most have 1": partial(scores, n=40),
    "judges: 3, 3 trials": partial(judges, n_judges=3, strictness=0.4, n_trials=3),
    "judges: 3 equally strict, 3 trials": partial(judges, n_judges=3, strictness=0.0, n_trials=3),
    "judges: two equal arms": judges_of_arms,
    "accuracy: 20 examples": partial(few_examples, n=20),
    "accuracy: 50 examples": partial(few_examples, n=50),
    "accuracy: 300 examples": partial(few_examples, n=300),
    "arms: equal, 5 runs": partial(two_arms, n_runs=5),
    "arms: equal, 10 runs": partial(two_arms, n_runs=10),
    "arms: two that equal the baseline, 10 runs": three_arms,
    "arms: steadier, 10 runs": partial(two_arms, n_runs=10, noise=0.7),
    "arms: 6 points worse, 5 runs": partial(two_arms, n_runs=5, quality=-0.35),
    "arms: equal, at looks": at_looks,
    "arms: steadier, at looks": partial(at_looks, noise=0.7),
    "decide: equal": partial(decided, quality=0.0, noise=1.0),
    "decide: steadier and 5 points worse": partial(decided, quality=-0.5, noise=0.6),
    "versions: equal, 5 runs": partial(versions, n_runs=5),
    "versions: equal, 10 runs, 60 clusters": partial(versions, n_runs=10, size=5),
    "versions: 6 points worse, 10 runs": partial(versions, n_runs=10, quality=-0.35),
    "numbers: equal, 10 runs": errors_of_numbers,
    "spread: 5 normal runs": partial(spread, kind="normal", n_runs=5),
    "spread: 8 normal runs": partial(spread, kind="normal", n_runs=8),
    "spread: 5 skewed runs": partial(spread, kind="skewed", n_runs=5),
    "spread: 5 runs, one in ten bad": partial(spread, kind="bad", n_runs=5),
    "gate: 5 skewed runs at the limit": partial(
        gate_of_scalars, kind="skewed", n_runs=5, margin=0.0
    ),
    "gate: 10 skewed runs at the limit": partial(
        gate_of_scalars, kind="skewed", n_runs=10, margin=0.0
    ),
    "gate: 10 normal runs at the limit": partial(
        gate_of_scalars, kind="normal", n_runs=10, margin=0.0
    ),
    "gate: 10 normal runs, 1 sd above the limit": partial(
        gate_of_scalars, kind="normal", n_runs=10, margin=1.0
    ),
    "costs: 5 trials of 50 tasks": partial(costs, n=50),
}


def seen_in(cell: Cell, name: str, index: int) -> Outcome:
    """Return the outcome of one study; a refusal is an outcome as well."""
    rng = np.random.default_rng([crc32(name.encode()), index])
    try:
        return cell(rng)
    except sp.SeedproofError:
        return {"refused": True}


def run(name: str, n_studies: int, folder: Path) -> None:
    """Draw the studies of a cell that are not in its file yet."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{crc32(name.encode()):08x}.jsonl"
    n_done = len(place.read_text(encoding="utf-8").splitlines()) if place.exists() else 0
    with place.open("a", encoding="utf-8") as file:
        for index in range(n_done, n_studies):
            outcome = seen_in(CELLS[name], name, index)
            file.write(json.dumps({k: plain(x) for k, x in outcome.items()}) + "\n")
            file.flush()


def plain(value: Any) -> float | bool | None:  # noqa: ANN401 - numpy scalars of any type
    """Return a number as JSON has it."""
    if value is None or isinstance(value, bool):
        return value
    return bool(value) if isinstance(value, np.bool_) else float(f"{float(value):.6g}")


def summary(folder: Path) -> dict[str, dict[str, float]]:
    """Return shares in percent and medians of each cell that is in a folder."""
    cells = {}
    for name in CELLS:
        place = folder / f"{crc32(name.encode()):08x}.jsonl"
        if place.exists():
            lines = place.read_text(encoding="utf-8").splitlines()
            cells[name] = {"studies": len(lines)} | figures([json.loads(line) for line in lines])
    return cells


def figures(studies: list[dict[str, Any]]) -> dict[str, float]:
    """Return the share, or the median, of each outcome."""
    seen = {}
    for key in dict.fromkeys(key for study in studies for key in study):
        values = [study[key] for study in studies if study.get(key) is not None]
        if key == "refused":
            values = [bool(study.get(key)) for study in studies]
        if not values:
            continue
        is_share = isinstance(values[0], bool)
        seen[key] = (
            round(100 * np.mean(values), 1) if is_share else float(f"{np.median(values):.3g}")
        )
    return seen


def table(summaries: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return summaries, such as those of two commits, side by side as Markdown."""
    lines = [f"| studies | seen | {' | '.join(summaries)} |", "|---|---|" + "---|" * len(summaries)]
    for name in CELLS:
        rows = [cells.get(name, {}) for cells in summaries.values()]
        keys = dict.fromkeys(key for row in rows for key in row if key != "studies")
        for key in keys:
            if key.startswith("none ") and not any(row.get(key) for row in rows):
                continue
            unit = " %" if key.split()[0] in {"covers", "shown", "wrong", "none", "refused"} else ""
            cells = " | ".join(f"{row[key]:g}{unit}" if key in row else "–" for row in rows)
            lines.append(f"| {name} | {key} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Run cells, or print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="folder of the studies")
    parser.add_argument("--cells", help="part of their names; all if omitted", default="")
    parser.add_argument("--share", default="0/1", help="such as 1/2: every second cell")
    parser.add_argument("--table", type=Path, help="file of summaries; print them, and run nothing")
    parser.add_argument("--summary", help="add a summary of --out to --table, under this name")
    options = parser.parse_args()
    if options.table is not None:
        place = options.table
        summaries = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
        if options.summary is not None:
            summaries[options.summary] = summary(options.out)
            place.write_text(json.dumps(summaries, indent=1) + "\n", encoding="utf-8")
        print(table(summaries))
        return
    part, n_parts = map(int, options.share.split("/"))
    names = [name for name in CELLS if options.cells in name]
    for name in names[part::n_parts]:
        run(name, options.studies, options.out)
        print(name, flush=True)


if __name__ == "__main__":
    main()
