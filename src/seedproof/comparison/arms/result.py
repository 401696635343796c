"""What comparing arms gives: each arm's measurement, and its effects against the baseline."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from seedproof.errors import UnknownNameError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.stats.effect import Effect
from seedproof.typing import IntArray

FORMAT = 1
# Shares of the runs that give the majority's answer; an example counts at the first it reaches.
VOTE_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.0)


@dataclass(frozen=True)
class HighEntropy:
    """What an arm does to the examples whose baseline entropy is high, above 0.56.

    Choosing examples and measuring them on the same runs shows a reduction where there is none:
    regression to the mean. Both ways are here, each with its name.

    Args:
        reduction: Share by which the entropy falls, chosen on one half of the baseline's runs and
            measured on the other; None where no example was chosen.
        as_published: The same, chosen and measured on the same runs.
        n_chosen: How many examples were chosen, averaged over the halves.
    """

    reduction: float | None
    as_published: float | None
    n_chosen: float


@dataclass(frozen=True)
class MatchedRate:
    """Shares of the examples that runs of one arm give the second of two classes.

    Args:
        answer: Name of the second class.
        lowest_before: Lowest share over runs, by their own thresholds.
        highest_before: Highest share over runs, by their own thresholds.
        after: The share that all runs have at their moved thresholds.
    """

    answer: str
    lowest_before: float
    highest_before: float
    after: float


@dataclass(frozen=True, eq=False)
class ComparedArm:
    """One arm beside the baseline.

    Args:
        name: Its name.
        measurement: What measuring it alone gives.
        effects: What it changes in each metric; empty for the baseline.
        explanations: What it changes in each figure of explanations, by method; empty for the
            baseline, and without explanations of the same examples.
        is_paired: Whether its runs share their seeds with the baseline's.
        high_entropy: What it does to the least stable examples; None for the baseline.
        share_of_gold: Its reduction of label entropy as a share of the gold standard's; None
            without one, or where its gain is not shown.
        costs: What its runs took, the median: `seconds` of training, and what they logged.
        votes: How many examples go from one share of votes under the baseline (columns) to another
            here (rows), by `VOTE_SHARES`; None for the baseline.
        settled: The examples that gain most stability, at most ten, with votes before and after.
        unsettled: Those that lose most.
        matched_rate: How often its runs give the second class, before and after thresholds were
            moved; None if rates are not matched.

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
    matched_rate: MatchedRate | None = None

    def summary(self) -> dict[str, Any]:
        """Figures and effects as plain data, without the examples."""
        matched = {} if self.matched_rate is None else {"matched_rate": asdict(self.matched_rate)}
        return {
            "name": self.name,
            "n_runs": self.measurement.n_runs,
            "is_paired": self.is_paired,
            "metrics": {name: asdict(value) for name, value in self.measurement.metrics.items()},
            "effects": {name: effect.summary() for name, effect in self.effects.items()},
            "explanations": {
                method: {
                    "n_examples": found.n_examples,
                    "metrics": {name: asdict(value) for name, value in found.metrics.items()},
                    "noise": None
                    if found.noise is None
                    else {name: asdict(value) for name, value in found.noise.items()},
                    "effects": {
                        name: effect.summary()
                        for name, effect in self.explanations.get(method, {}).items()
                    },
                }
                for method, found in self.measurement.explanations.items()
            },
            "high_entropy": None if self.high_entropy is None else asdict(self.high_entropy),
            "share_of_gold": self.share_of_gold,
            "costs": dict(self.costs),
            "votes": None if self.votes is None else self.votes.tolist(),
            **matched,
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Arms against a baseline.

    Args:
        baseline: The arm that all others are compared with.
        arms: The others, in the order of the study.
        confidence: What the interval of each effect has, so that those of all arms hold together
            with 95 %.
        notes: What a person should know about how the input was read.
        gold: Name of the arm that is the gold standard, such as an ensemble.
    """

    baseline: ComparedArm
    arms: tuple[ComparedArm, ...]
    confidence: float
    notes: tuple[Message, ...] = ()
    gold: str | None = None

    @property
    def match_rates(self) -> bool:
        """Whether thresholds were moved, so that all runs of an arm answer alike often."""
        return self.baseline.matched_rate is not None

    def arm(self, name: str) -> ComparedArm:
        """An arm by its name."""
        known = {one.name: one for one in (self.baseline, *self.arms)}
        if name not in known:
            raise UnknownNameError(
                "There is no arm {name!r} here. Known: {known}.", name=name, known=tuple(known)
            )
        return known[name]

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data; it holds no path, time, host or version."""
        first = self.baseline.measurement
        return {
            "format": FORMAT,
            "n_examples": first.n_examples,
            "n_labeled": first.n_labeled,
            "n_classes": first.n_classes,
            "confidence": self.confidence,
            "gold": self.gold,
            **({"match_rates": True} if self.match_rates else {}),
            "baseline": self.baseline.summary(),
            "arms": [arm.summary() for arm in self.arms],
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """The summary as it stands in `comparison.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"
