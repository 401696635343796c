"""Parts of the uncertainty of a mean, and what more repeats or examples would remove of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

from seedproof.engines import Engine
from seedproof.errors import InputError, TooFewRunsError
from seedproof.measurement.clusters import blocks_in
from seedproof.measurement.engines import map_shards
from seedproof.measurement.numbers import NumberAccumulators
from seedproof.metrics.numbers.variance import RESIDUAL, Variances
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.shards import ShardSource
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import Progress

FORMAT = 1
EXAMPLE = "example"


@dataclass(frozen=True)
class VariancePart:
    """A part of the variance of numbers.

    Args:
        metric: Its metric, such as variance_trial.
        units: What draws it: a level of repetition, examples, or both.
        share: Share of the variance of a single number.
        sd: Its standard deviation, in the unit of the numbers.
        of_mean: Share of the squared standard error of the mean.
    """

    metric: str
    units: tuple[str, ...]
    share: Estimate
    sd: float
    of_mean: float


@dataclass(frozen=True)
class More:
    """The effect of twice as many runs, trials, judges or examples.

    Args:
        unit: What there would be more of.
        n_now: How many there are, of an inner level in each unit of the outer one.
        narrower: Share of its width that the interval of the mean would lose.
    """

    unit: str
    n_now: int
    narrower: float


@dataclass(frozen=True)
class NumberBlame:
    """Parts of the uncertainty of a mean.

    Args:
        sizes: Number of units of each level, in each unit of the outer one, and of examples.
        repeats: Unit of repetition: `trials` of one model, `seeds`, or `runs`.
        mean: The mean over all numbers.
        standard_error: Its standard error by the parts.
        parts: All parts, the largest part of the standard error first.
        more: The effect of twice as many of each unit, the largest first.
        weights: Weights of the examples; None if all count equally.
    """

    sizes: Mapping[str, int]
    repeats: str
    mean: Estimate
    standard_error: float
    parts: tuple[VariancePart, ...]
    more: tuple[More, ...]
    weights: ExampleWeights | None = None

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data, without path, time, host or version."""
        plain = {"format": FORMAT, **asdict(replace(self, weights=None))}
        del plain["weights"]
        return plain if self.weights is None else {**plain, "weights": self.weights.summary()}

    def to_json(self) -> str:
        """Return the summary as JSON text."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def blame_numbers(
    source: ShardSource, *, engine: Engine | None = None, progress: Progress | None = None
) -> NumberBlame:
    """Return the parts of the uncertainty of the mean."""
    whole = NumberAccumulators(source, (RESIDUAL,))
    for part in map_shards(ShardSums(source), source.n_shards, engine=engine, progress=progress):
        whole.merge(part)
    family = next((family for family in whole.families if isinstance(family, Variances)), None)
    if family is None:
        raise TooFewRunsError(
            "There is only one run: {run!r}. Pass at least 2, or its trials alone.",
            run=whole.run_names(source)[0],
            n_runs=1,
        )
    statistics, sizes = whole.result(), {**family.tree.sizes, EXAMPLE: source.n_examples}
    variances = {part.name: part.value for part in family.parts()}
    if not sum(variances.values()) > 0.0:
        raise InputError(
            "All numbers are equal, or there is only one example: there is no variance to explain.",
            n_examples=source.n_examples,
        )
    units = {name: _units(name, family.tree.names) for name in variances}
    weights = source.settings.weights
    # What examples add to the squared error of a weighted mean grows with unequal weights.
    design_effect = 1.0 if weights is None else source.n_examples / weights.n_effective
    drawn = {
        name: variance * (design_effect if EXAMPLE in units[name] else 1.0)
        for name, variance in variances.items()
    }
    squared = _squared_error(drawn, units, sizes)
    parts = [
        VariancePart(
            metric=name,
            units=units[name],
            share=estimate(statistics[name]),
            sd=variance**0.5,
            of_mean=_squared_error({name: drawn[name]}, units, sizes) / squared,
        )
        for name, variance in variances.items()
    ]
    more = [
        More(
            unit,
            n_now,
            1 - (_squared_error(drawn, units, {**sizes, unit: 2 * n_now}) / squared) ** 0.5,
        )
        for unit, n_now in sizes.items()
    ]
    return NumberBlame(
        sizes=sizes,
        repeats=source.repeats,
        mean=estimate(statistics["mean"]),
        standard_error=squared**0.5,
        parts=tuple(sorted(parts, key=lambda part: -part.of_mean)),
        more=tuple(sorted(more, key=lambda option: -option.narrower)),
        weights=weights,
    )


@dataclass(frozen=True, eq=False)
class ShardSums:
    """Sums over one shard; frozen, so that it can be sent to another process."""

    source: ShardSource

    def __call__(self, index: int) -> NumberAccumulators:
        """Return sums for the mean and the parts of its variance."""
        accumulators, shard = NumberAccumulators(self.source, (RESIDUAL,)), self.source.shard(index)
        blocks = blocks_in(shard, None, self.source.rows_per_shard)
        accumulators.update(shard, (), blocks=blocks)
        return accumulators


def _units(metric: str, levels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the units that draw a part: the residual is drawn by the innermost, per example."""
    if metric == RESIDUAL:
        return levels[-1], EXAMPLE
    name = metric.removeprefix("variance_")
    level = name.removesuffix(f"_{EXAMPLE}")
    return (level,) if name in (*levels, EXAMPLE) else (level, EXAMPLE)


def _squared_error(
    variances: Mapping[str, float], units: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int]
) -> float:
    """Return the squared standard error of the mean of so many units.

    A part is drawn once per unit: of an inner level, in each unit of the outer ones.
    """
    levels = [name for name in sizes if name != EXAMPLE]
    total = 0.0
    for metric, variance in variances.items():
        depth = max((levels.index(unit) + 1 for unit in units[metric] if unit in levels), default=0)
        n_drawn = prod(sizes[level] for level in levels[:depth])
        total += variance / (n_drawn * (sizes[EXAMPLE] if EXAMPLE in units[metric] else 1))
    return total
