"""Results of comparing arms: each arm's measurement, and its effects against the baseline."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from seedproof.comparison.arms.compared_runs import ComparedRuns
from seedproof.errors import OptionError, UnknownNameError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.card import Better
from seedproof.predictions.checks import Check, errors_of
from seedproof.records.schema import ITEMS, Kind
from seedproof.stats.effect import Effect, inverted
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import Estimate, Over
from seedproof.typing import IntArray

FORMAT = 1
# Shares of the runs that vote with the majority; an example counts at the first it reaches.
VOTE_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.0)


@dataclass(frozen=True)
class CrossFitted:
    """Share by which the label entropy falls from the baseline to an arm on selected examples.

    Examples are selected on one half of the runs of an arm and measured on the other, because
    runs that select and measure show a reduction where there is none: regression to the mean.
    """

    reduction: float | None  # None if no example was selected
    n_chosen: float  # examples, averaged over the halves
    low: float | None = None  # of the 95 % interval
    high: float | None = None
    over: Over | None = None
    note: Message | None = None  # why there is no interval

    def summary(self) -> dict[str, Any]:
        """Return plain data, with the text of the note."""
        return asdict(self) | {"note": "" if self.note is None else str(self.note)}


@dataclass(frozen=True)
class HighEntropy(CrossFitted):
    """Effect of an arm on the examples of high entropy, above 0.56: of the baseline, and its own.

    Arms that are unsure of different examples show a reduction on those that the baseline
    selects, and an increase on those that the arm selects. An effect shows in both.
    """

    as_published: float | None = None  # selected and measured on the same runs
    by_arm: CrossFitted | None = None  # selected on runs of the arm

    def summary(self) -> dict[str, Any]:
        """Return plain data, with the text of the notes."""
        by_arm = None if self.by_arm is None else self.by_arm.summary()
        return super().summary() | {"by_arm": by_arm}


@dataclass(frozen=True)
class MatchedRate:
    """Share of the examples that get the second of two classes, over the runs of one arm."""

    answer: str  # name of the second class
    lowest_before: float  # over runs, by their own thresholds
    highest_before: float
    after: float  # of all runs, by their moved thresholds


@dataclass(frozen=True, eq=False)
class ComparedArm:
    """One arm of a comparison.

    Args:
        name: Name of the arm.
        measurement: The arm measured alone.
        effects: Effect on each metric, exploratory unless it is the primary one or the quality
            that is judged with it; empty for the baseline.
        explanations: Effect on each figure of explanations, by method; empty for the baseline, and
            if the same examples were not explained.
        is_paired: Whether its runs have the seeds of the baseline's runs.
        high_entropy: Effect on the least stable examples; None for the baseline.
        share_of_gold: Reduction of label entropy as a share of the reference arm's; None without
            a reference arm, or if its gain is not shown.
        costs: Median costs of its runs: `seconds` of training, and what they logged.
        votes: Number of examples by their share of votes under the baseline (columns) and here
            (rows), by `VOTE_SHARES`; None for the baseline.
        settled: At most ten examples that gain most stability, with votes before and after.
        unsettled: At most ten examples that lose most.
        fallen: With numbers, at most ten examples whose mean falls most, with all numbers.
        risen: The same of those whose mean rises most.
        matched_rate: Rate of the second class before and after thresholds were moved; None if
            rates are not matched.
        contrasts: The same metrics of both arms, to be judged at another level.
        explanation_contrasts: The same for explanations, by method.

    Examples:
        >>> import seedproof as sp
        >>> arms = {"none": [[0, 1, 1], [0, 1, 0]], "calm": [[0, 1, 1], [0, 1, 1]]}
        >>> calm = sp.compare(arms).arm("calm")
        >>> calm.name, calm.measurement.metrics["flip_rate"].value
        ('calm', 0.0)
    """

    name: str
    measurement: Measurement
    effects: Mapping[str, Effect] = field(default_factory=dict)
    explanations: Mapping[str, Mapping[str, Effect]] = field(default_factory=dict)
    is_paired: bool = False
    high_entropy: HighEntropy | None = None
    share_of_gold: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    votes: IntArray | None = None
    settled: pa.Table | None = None
    unsettled: pa.Table | None = None
    fallen: pa.Table | None = None
    risen: pa.Table | None = None
    matched_rate: MatchedRate | None = None
    contrasts: Mapping[str, MetricContrast] = field(default_factory=dict, repr=False)
    explanation_contrasts: Mapping[str, Mapping[str, MetricContrast]] = field(
        default_factory=dict, repr=False
    )

    def summary(self) -> dict[str, Any]:
        """Return figures and effects as plain data, without the examples."""
        matched = {} if self.matched_rate is None else {"matched_rate": asdict(self.matched_rate)}
        return {
            "name": self.name,
            "n_runs": self.measurement.n_runs,
            "is_paired": self.is_paired,
            "metrics": _plain(self.measurement.metrics),
            "effects": {name: effect.summary() for name, effect in self.effects.items()},
            "explanations": {
                method: {
                    "n_examples": explained.n_examples,
                    "metrics": _plain(explained.metrics),
                    "noise": None if explained.noise is None else _plain(explained.noise),
                    "effects": {
                        name: effect.summary()
                        for name, effect in self.explanations.get(method, {}).items()
                    },
                }
                for method, explained in self.measurement.explanations.items()
            },
            "high_entropy": None if self.high_entropy is None else self.high_entropy.summary(),
            "share_of_gold": self.share_of_gold,
            "costs": dict(self.costs),
            "votes": None if self.votes is None else self.votes.tolist(),
            **matched,
        }


def _plain(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: asdict(value) for name, value in estimates.items()}


@dataclass(frozen=True, eq=False)
class ArmPair:
    """An arm against another one that is not the baseline, by predictions alone."""

    arm: str
    against: str
    is_paired: bool
    effects: Mapping[str, Effect] = field(default_factory=dict)
    contrasts: Mapping[str, MetricContrast] = field(default_factory=dict, repr=False)

    def summary(self) -> dict[str, Any]:
        """Return the effects as plain data."""
        return {
            "arm": self.arm,
            "against": self.against,
            "is_paired": self.is_paired,
            "effects": {name: effect.summary() for name, effect in self.effects.items()},
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Arms against a baseline."""

    baseline: ComparedArm
    arms: tuple[ComparedArm, ...]
    confidence: float  # of each primary effect, so that all arms hold simultaneously with 95 %
    notes: tuple[Message, ...] = ()
    checks: tuple[Check, ...] = ()  # of all arms
    reference: str | None = None  # arm whose gain counts as 100 %, such as an ensemble
    primary: str = "flip_rate"  # the metric that is judged, alone or with a quality
    quality: str | None = None  # judged together with the primary metric, which says nothing of it
    pairs: tuple[ArmPair, ...] | None = None  # all other pairs of arms, if they are compared
    runs: ComparedRuns | None = None  # the runs that verdicts rest on; None for reports
    better: Better = "neither"  # direction in which the mean of numbers is better

    @property
    def has_numbers(self) -> bool:
        """True if runs give numbers, not classes."""
        return self.baseline.measurement.kind == Kind.NUMBERS

    @property
    def has_texts(self) -> bool:
        """True if runs give free texts, not classes."""
        return self.baseline.measurement.kind == Kind.TEXTS

    @property
    def has_classes(self) -> bool:
        """True if equal answers are counted, as those of classes and texts are."""
        return self.baseline.measurement.kind not in (Kind.NUMBERS, *ITEMS)

    @property
    def match_rates(self) -> bool:
        """True if thresholds were moved, so that all runs of an arm have the same rate."""
        return self.baseline.matched_rate is not None

    @property
    def primaries(self) -> tuple[str, ...]:
        """The metrics that are judged: the primary one, and the quality that guards it."""
        return (self.primary, *(() if self.quality is None else (self.quality,)))

    @property
    def errors(self) -> Mapping[str, Check]:
        """The error that keeps each arm from being judged, by arm."""
        return errors_of(self.checks, [arm.name for arm in self.arms], self.baseline.name)

    def arm(self, name: str) -> ComparedArm:
        """Return an arm by its name."""
        known = {arm.name: arm for arm in (self.baseline, *self.arms)}
        if name not in known:
            raise UnknownNameError(
                "There is no arm {name!r} here. Known: {known}.", name=name, known=tuple(known)
            )
        return known[name]

    def contrast(self, arm: str, against: str) -> Mapping[str, Effect]:
        """Return the effects of an arm against any other one, by metric."""
        first, second = self.arm(arm), self.arm(against)
        pairs = {(pair.arm, pair.against): pair.effects for pair in self.pairs or ()}
        pairs |= {(own.name, self.baseline.name): own.effects for own in self.arms}
        if (arm, against) in pairs:
            return pairs[arm, against]
        if (against, arm) in pairs:
            reverse = pairs[against, arm]
            return {metric: inverted(effect) for metric, effect in reverse.items()}
        if first is second:
            raise OptionError("Arm {arm!r} cannot be compared with itself. Name two arms.", arm=arm)
        raise OptionError(
            "{arm!r} and {against!r} are compared with the baseline only. Compare again with "
            "`all_pairs=True`, or name one of them as the baseline.",
            option="all_pairs",
            arm=arm,
            against=against,
        )

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples as plain data, without path, time, host or version."""
        first = self.baseline.measurement
        return {
            "format": FORMAT,
            "n_examples": first.n_examples,
            "n_labeled": first.n_labeled,
            **({} if first.clusters is None else {"clusters": asdict(first.clusters)}),
            "n_classes": first.n_classes,
            **({} if self.has_classes else {"repeats": first.repeats, "better": self.better}),
            **({"repeats": first.repeats, "kind": first.kind} if self.has_texts else {}),
            "confidence": self.confidence,
            "primary": self.primary,
            "quality": self.quality,
            "gold": self.reference,
            **({"match_rates": True} if self.match_rates else {}),
            "baseline": self.baseline.summary(),
            "arms": [arm.summary() for arm in self.arms],
            **({} if self.pairs is None else {"pairs": [pair.summary() for pair in self.pairs]}),
            **({} if self.runs is None else {"runs": self.runs.summary()}),
            "checks": [check.summary() for check in self.checks],
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """Return the text of `comparison.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"
