"""Error rates of a primary metric and the quality that is judged with it, printed as Markdown.

    python benchmarks/two_primaries.py looks --studies 20000
    python benchmarks/two_primaries.py decide --studies 4000

`looks`: arms that do not differ, judged at planned looks by two metrics that correlate over runs,
each at half the level; the share of studies in which either is ever called different, next to
metrics that are each judged at the whole level. `decide`: candidates that gain nothing, or gain
stability and lose quality, judged as `seedproof decide` does, with and without the guard. Both are
of normal values; each takes a minute or two on one core.
"""

import argparse
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from seedproof.comparison.decide.level import next_level
from seedproof.comparison.decide.schedule import Schedule
from seedproof.stats.distributions import student_quantile
from seedproof.stats.intervals import PLAIN, Level
from seedproof.stats.looks import AT_LOOK, AT_TRIAL_LOOK, LOOKS, MOST_TRIAL_LOOKS

FloatArray = npt.NDArray[np.float64]

# Correlations of the two metrics over runs.
CORRELATIONS = (0.0, 0.5, 0.9)
# Variance from drawing examples, relative to that of a single run.
EXAMPLE_VARIANCES = (0.0, 0.1)
FALSE_KEEPS = 0.1
# True changes of a candidate, in standard deviations of a run: of stability and of quality.
CANDIDATES = {
    "no change": (0.0, 0.0),
    "steadier": (2.0, 0.0),
    "steadier, quality − 1 sd": (2.0, -1.0),
    "steadier, quality − 2 sd": (2.0, -2.0),
    "steadier, quality − 4 sd": (2.0, -4.0),
}


@cache
def quantiles(df: int, level: Level) -> tuple[float, float]:
    """Return the quantiles of the part from runs and of that from examples."""
    return student_quantile(df, 1 - level.tail), student_quantile(np.inf, 1 - level.example_tail)


def half_width(values: FloatArray, level: Level, example_variance: float = 0.0) -> FloatArray:
    """Return half widths of differences of means of runs, axes (..., arms, runs)."""
    n_runs = values.shape[-1]
    of_runs = values.var(axis=-1, ddof=1).sum(axis=-1) / n_runs
    t, z = quantiles(2 * n_runs - 2, level)
    return np.asarray(np.sqrt(t**2 * of_runs + z**2 * example_variance))


def correlated(shape: tuple[int, ...], correlation: float, rng: np.random.Generator) -> FloatArray:
    """Return normal values of two metrics, axes (metrics, ...)."""
    first, second = rng.standard_normal((2, *shape))
    return np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * second])


def looks_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the shares of studies in which a difference is shown where there is none, by look."""
    yield "| judged | correlation | examples | either shown | one metric alone |"
    yield "|---|---|---|---|---|"
    designs = {
        "once, 10 runs": (PLAIN, (10,)),
        f"at {', '.join(map(str, LOOKS))} runs": (AT_LOOK, LOOKS),
        f"after each of {MOST_TRIAL_LOOKS} trials": (
            AT_TRIAL_LOOK,
            tuple(range(1, MOST_TRIAL_LOOKS + 1)),
        ),
    }
    for name, design in designs.items():
        for correlation in CORRELATIONS:
            for variance in EXAMPLE_VARIANCES:
                both, alone = _shown_at(design, correlation, variance, n_studies=n_studies, rng=rng)
                cells = " | ".join(map(with_error, (both, alone)))
                yield f"| {name} | {correlation:g} | {variance:g} | {cells} |"


def _shown_at(
    design: tuple[Level, tuple[int, ...]],
    correlation: float,
    variance: float,
    *,
    n_studies: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the studies in which either metric is ever shown, and in which the first alone is."""
    level, looks = design
    both, alone = np.zeros(n_studies, bool), np.zeros(n_studies, bool)
    for part in np.array_split(np.arange(n_studies), max(n_studies // 2000, 1)):
        values = correlated((len(part), 2, looks[-1]), correlation, rng)
        # Examples are drawn once, for all looks.
        drawn = np.sqrt(variance) * correlated((len(part),), correlation, rng)
        for n_runs in looks:
            first = values[..., :n_runs]
            means = first.mean(axis=-1)
            difference = means[..., 1] - means[..., 0] + drawn
            for judged, at, is_any in ((both, level.divided(2), True), (alone, level, False)):
                width = _width(first, at, variance, are_trials=level is AT_TRIAL_LOOK)
                is_shown = np.abs(difference) > width
                judged[part] |= is_shown.any(axis=0) if is_any else is_shown[0]
    return both.astype(float), alone.astype(float)


def _width(values: FloatArray, level: Level, variance: float, *, are_trials: bool) -> FloatArray:
    """Return half widths: the noise of trials is known from the examples, that of runs is not."""
    if not are_trials:
        return half_width(values, level, variance)
    noise, drawn = (student_quantile(np.inf, 1 - x) for x in (level.tail, level.example_tail))
    width = np.sqrt(noise**2 * 2 / values.shape[-1] + drawn**2 * variance)
    return np.full(values.shape[:-2], width)


def decide_table(n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the shares of candidates that are kept, and that are discarded for lost quality."""
    yield "| candidate | kept without a guard | kept | discarded, quality lost |"
    yield "|---|---|---|---|"
    schedule = Schedule.of_runs(20)
    # The first candidate of a loop, and one that a keep has earned nothing for.
    for position, n_before in (("first", 0), ("tenth", 9)):
        levels = schedule.levels(next_level(n_before, [], FALSE_KEEPS))
        for name, gains in CANDIDATES.items():
            outcomes = [
                np.concatenate(cells)
                for cells in zip(
                    *(
                        _decided(levels, gains, min(2000, n_studies), rng)
                        for _ in range(max(n_studies // 2000, 1))
                    ),
                    strict=True,
                )
            ]
            yield f"| {position}: {name} | {' | '.join(map(with_error, outcomes))} |"


def _decided(
    levels: dict[int, Level], gains: tuple[float, float], n_studies: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return whether candidates are kept without a guard, kept with it, and discarded by it."""
    values = correlated((n_studies, 2, max(levels)), 0.5, rng)
    for metric, gain in enumerate(gains):
        values[metric, :, 1] += gain
    unguarded, kept, lost = (np.zeros(n_studies, bool) for _ in range(3))
    for n_runs, level in levels.items():
        first = values[..., :n_runs]
        means = first.mean(axis=-1)
        difference, width = means[..., 1] - means[..., 0], half_width(first, level)
        is_better = difference[0] > width[0]
        # As `judge`: the plain interval where a candidate would be kept.
        of_guard = np.where(is_better, half_width(first, PLAIN)[1], width[1])
        unguarded |= is_better
        lost |= (difference[1] < -of_guard) & ~kept
        kept |= is_better & ~lost
    return unguarded.astype(float), kept.astype(float), lost.astype(float)


def with_error(hits: FloatArray) -> str:
    """Return a share in percent with its standard error."""
    return f"{100 * hits.mean():.2f} ± {100 * hits.std() / np.sqrt(len(hits)):.2f} %"


TABLES = {"looks": looks_table, "decide": decide_table}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--studies", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for row in TABLES[options.table](options.studies, np.random.default_rng(options.seed)):
        print(row, flush=True)


if __name__ == "__main__":
    main()
