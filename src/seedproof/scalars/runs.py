"""Runs that have single numbers, such as a return or a loss, and no examples."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations

import numpy as np

from seedproof.errors import UnknownNameError
from seedproof.measurement.trend import runs_trend
from seedproof.messages import Message
from seedproof.metrics.statistic import MeanOverRuns, SpreadOverRuns, Statistic
from seedproof.predictions.checks import Check, by_severity, named, of_arms, unfinished_runs
from seedproof.predictions.input_checks import few_runs
from seedproof.records.location import Location
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import FloatArray

# The spread of a metric over runs has the name of the metric and this ending.
SPREAD = "_sd"
# A gate takes limits of the median over runs as well, by the name of the metric and this ending.
MEDIAN = "_median"
# Two different runs hardly have the same number to more digits than this.
USUAL_DIGITS = 6


@dataclass(frozen=True, eq=False)
class ScalarArm:
    """The runs of one arm, with a number per metric."""

    name: str
    runs: tuple[str, ...]  # in natural order
    values: Mapping[str, FloatArray]  # of each run, by metric
    seeds: tuple[str, ...] | None = None  # of each run; None if they are unknown

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.runs)

    @cached_property
    def statistics(self) -> Mapping[str, Statistic]:
        """The mean of each metric over runs, and its spread."""
        statistics: dict[str, Statistic] = {}
        for metric, values in self.values.items():
            statistics[metric] = MeanOverRuns(values, least=-np.inf)
            statistics[metric + SPREAD] = SpreadOverRuns(values)
        return statistics

    @cached_property
    def metrics(self) -> Mapping[str, Estimate]:
        """The same with 95 % intervals; runs that do not vary have none."""
        return {
            name: figure if varies(statistic) else Estimate(figure.value)
            for name, statistic in self.statistics.items()
            for figure in [estimate(statistic)]
        }

    def first(self, n_runs: int) -> "ScalarArm":
        """Return the first runs."""
        return self._at(range(min(n_runs, self.n_runs)))

    def in_order_of(self, seeds: Sequence[str]) -> "ScalarArm":
        """Return the runs in the order of seeds, which must be the same ones."""
        place = {seed: row for row, seed in enumerate(self.seeds or ())}
        return self._at([place[seed] for seed in seeds])

    def paired_by_name(self) -> "ScalarArm":
        """Return the runs with their names as seeds."""
        return replace(self, seeds=self.runs)

    def _at(self, rows: Sequence[int]) -> "ScalarArm":
        return ScalarArm(
            self.name,
            tuple(self.runs[row] for row in rows),
            {metric: values[list(rows)] for metric, values in self.values.items()},
            None if self.seeds is None else tuple(self.seeds[row] for row in rows),
        )


@dataclass(frozen=True, eq=False)
class Scalars:
    """Runs of one or more arms with the same metrics."""

    arms: Mapping[str, ScalarArm]
    notes: tuple[Message, ...] = ()
    location: Location | None = None  # of a store
    failed: tuple[str, ...] = ()  # runs that did not finish, which are in no arm

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(next(iter(self.arms.values())).values)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, each with the name of its arm if there are several."""
        checks = {arm.name: tuple(_checks(arm)) for arm in self.arms.values()}
        unfinished = [unfinished_runs(self.failed)] if self.failed else []
        if len(checks) == 1:
            return (*next(iter(checks.values())), *unfinished)
        identical = _identical_arms(list(self.arms.values()))
        return by_severity([*identical, *of_arms(checks), *unfinished])

    def arm(self, name: str) -> ScalarArm:
        """Return an arm by its name."""
        if name not in self.arms:
            raise unknown_name("arm", name, self.arms)
        return self.arms[name]

    def only(self, name: str) -> "Scalars":
        """Return one arm alone."""
        return replace(self, arms={name: self.arm(name)})


def varies(statistic: Statistic) -> bool:
    """Return whether the runs behind a figure have different numbers."""
    values = statistic.values if isinstance(statistic, MeanOverRuns | SpreadOverRuns) else ()
    return len(set(values)) > 1


def unknown_name(noun: str, name: str, known: Collection[str]) -> UnknownNameError:
    """Return the error that names the nearest arm or metric, and lists the known ones."""
    near = get_close_matches(name, list(known), n=1)
    return UnknownNameError(
        "There is no {noun} {name!r}.{meant} Known: {known}.",
        noun=noun,
        name=name,
        meant=f" Did you mean {near[0]!r}?" if near else "",
        nearest=near[0] if near else None,
        known=tuple(known),
    )


def base_of(name: str, known: Collection[str]) -> str:
    """Return the metric that a figure such as `loss_sd` or `loss_median` is of."""
    bases = (name.removesuffix(ending) for ending in (SPREAD, MEDIAN) if name.endswith(ending))
    return name if name in known else next((base for base in bases if base in known), name)


def check_metrics(
    names: Iterable[str], known: Sequence[str], endings: Sequence[str] = (SPREAD,)
) -> None:
    """Refuse names that are neither a metric nor one with an ending, such as that of its spread."""
    figures = [metric + ending for metric in known for ending in ("", *endings)]
    for name in names:
        if name not in figures:
            raise unknown_name("metric", name, figures)


def _identical_arms(arms: Sequence[ScalarArm]) -> Iterator[Check]:
    for first, second in combinations(arms, 2):
        pairs = ((first.values[metric], second.values[metric]) for metric in first.values)
        if all(np.array_equal(own, other) for own, other in pairs):
            yield Check(
                "identical-arms",
                "error",
                (),
                f"{first.name} and {second.name} have the same numbers in every run.",
                "Check that no arm is given twice, and that the arms differ in their training.",
                arms=(first.name, second.name),
            )


def _checks(arm: ScalarArm) -> Iterator[Check]:
    yield from few_runs(arm.n_runs)
    first = next(iter(arm.values))
    yield from runs_trend(arm.runs, first, arm.values[first])
    table = np.array(list(arm.values.values()))
    rows: dict[tuple[float, ...], list[str]] = {}
    for run, numbers in zip(arm.runs, table.T.tolist(), strict=True):
        rows.setdefault(tuple(numbers), []).append(run)
    for numbers, runs in rows.items():
        n_long = sum(float(f"{x:.{USUAL_DIGITS}g}") != x for x in numbers)
        are_all = len(runs) == arm.n_runs
        if len(runs) == 1 or not (are_all or n_long):
            continue
        # A score on few examples has few values, so that one of them may occur twice.
        is_copy = are_all or n_long > 1
        yield Check(
            "duplicate-runs",
            "error" if is_copy else "warning",
            tuple(runs),
            f"{'All runs' if are_all else f'Runs {named(runs)}'} have the same numbers. Copies "
            "are not evidence of stability.",
            "Check that no run is given twice, and that the training obeys its seed.",
        )
