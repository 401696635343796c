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
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.parts import RESIDUAL
from seedproof.metrics.numbers.variance import Variances
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.levels import refuse_unequal
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
        has_same_judges: The same judges grade every answer, so that they are not drawn per answer.
    """

    sizes: Mapping[str, int]
    repeats: str
    mean: Estimate
    standard_error: float
    parts: tuple[VariancePart, ...]
    more: tuple[More, ...]
    weights: ExampleWeights | None = None
    has_same_judges: bool = False

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
    refuse_unequal(source.settings, "Parts of the variance are")
    whole = NumberAccumulators(source, (RESIDUAL,))
    for part in map_shards(ShardSums(source), source.n_shards, engine=engine, progress=progress):
        whole.merge(part)
    family = next((family for family in whole.families if isinstance(family, Variances)), None)
    if family is None:
        raise _no_parts(source, whole)
    statistics, sizes = whole.result(), {**family.tree.sizes, EXAMPLE: source.n_examples}
    variances = {part.name: part.value for part in family.parts()}
    if not sum(variances.values()) > 0.0:
        raise InputError(
            "All numbers are equal, or there is only one example: there is no variance to explain.",
            n_examples=source.n_examples,
        )
    is_crossed = family.tree.has_same_judges
    units = {name: _units(name, family.tree) for name in variances}
    weights = source.settings.weights
    # What examples add to the squared error of a weighted mean grows with unequal weights.
    design_effect = 1.0 if weights is None else source.n_examples / weights.n_effective
    drawn = {
        name: variance * (design_effect if EXAMPLE in units[name] else 1.0)
        for name, variance in variances.items()
    }
    # A part is drawn once per unit: of an inner level, in each unit of the outer ones, and of
    # judges who grade every answer, once for all.
    levels = family.tree.names
    counted = {
        name: of_part
        if is_crossed
        else (*levels[: _depth(of_part, levels)], *(x for x in of_part if x == EXAMPLE))
        for name, of_part in units.items()
    }
    squared = _squared_error(drawn, counted, sizes)
    parts = [
        VariancePart(
            metric=name,
            units=units[name],
            share=estimate(statistics[name]),
            sd=variance**0.5,
            of_mean=_squared_error({name: drawn[name]}, counted, sizes) / squared,
        )
        for name, variance in variances.items()
    ]
    more = [
        More(
            unit,
            n_now,
            1 - (_squared_error(drawn, counted, {**sizes, unit: 2 * n_now}) / squared) ** 0.5,
        )
        for unit, n_now in sizes.items()
        # A single trial shows nothing about the luck of an answer.
        if n_now > 1 or unit == EXAMPLE
    ]
    return NumberBlame(
        sizes=sizes,
        repeats=source.repeats,
        mean=estimate(statistics["mean"]),
        standard_error=squared**0.5,
        parts=tuple(sorted(parts, key=lambda part: -part.of_mean)),
        more=tuple(sorted(more, key=lambda option: -option.narrower)),
        weights=weights,
        has_same_judges=is_crossed,
    )


def _no_parts(source: ShardSource, accumulators: NumberAccumulators) -> InputError:
    """Return the error for numbers whose variance has no parts."""
    if source.settings.levels is not None and source.settings.levels.judges:
        return InputError(
            "Judges who grade the trials of several runs have no parts of the variance. Pass the "
            "trials of one run, or one trial of each run.",
            n_levels=len(source.settings.levels.names),
        )
    if source.settings.are_trials:
        return TooFewRunsError(
            "There is only one trial: {run!r}. Pass at least 2: parts of the variance need "
            "repeats.",
            run=accumulators.run_names(source)[0],
            n_runs=1,
        )
    return TooFewRunsError(
        "There is only one run: {run!r}. Pass at least 2, or its trials alone.",
        run=accumulators.run_names(source)[0],
        n_runs=1,
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


def _units(metric: str, tree: Tree) -> tuple[str, ...]:
    """Return the units that draw a part: the residual is drawn by the innermost, per example."""
    if metric != RESIDUAL:
        return tuple(metric.removeprefix("variance_").split("_"))
    are_crossed = tree.has_same_judges and tree.n_runs > 1
    return (*(tree.names if are_crossed else tree.names[-1:]), EXAMPLE)


def _depth(units: tuple[str, ...], levels: tuple[str, ...]) -> int:
    """Return the number of levels down to the innermost of these units."""
    return max((levels.index(unit) + 1 for unit in units if unit in levels), default=0)


def _squared_error(
    variances: Mapping[str, float], units: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int]
) -> float:
    """Return the squared standard error of the mean, given the units that draw each part."""
    return sum(
        variance / prod(sizes[unit] for unit in units[metric])
        for metric, variance in variances.items()
    )
