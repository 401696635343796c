"""The same examples of several arms, for any size of their shards."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from seedproof.errors import LabelConflictError, MissingExampleError, OptionError, WeightError
from seedproof.measurement.selection import answers_of
from seedproof.records.answer_settings import AnswerSettings, ExampleWeights
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.typing import IntArray


def rows_of(
    source: ShardSource, first: int, last: int, read: Callable[[int], Shard] | None = None
) -> Shard:
    """Return the rows of a source from position `first` to before `last`, across its shards."""
    size, read = source.rows_per_shard, read or source.shard
    pieces = []
    for index in range(first // size, (last - 1) // size + 1):
        shard, start = read(index), index * size
        cut = slice(max(first - start, 0), min(last - start, len(shard)))
        is_whole = (cut.start, cut.stop) == (0, len(shard))
        pieces.append(shard if is_whole else shard.rows(cut))
    return Shard.joined(pieces)


@dataclass(frozen=True, eq=False)
class ArmAlignment:
    """Several arms that predict the same examples, shard by shard of the first."""

    names: tuple[str, ...]
    sources: tuple[ShardSource, ...]
    _kept: dict[int, tuple[int, Shard]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        n_first = self.sources[0].n_examples
        for name, source in zip(self.names, self.sources, strict=True):
            self._check_kind(name, source)
            if source.n_examples != n_first:
                raise MissingExampleError(
                    "{name!r} has {n_first:,} examples and {other_name!r} has {n_here:,}. "
                    "Compare predictions of the same examples.",
                    name=self.names[0],
                    n_first=n_first,
                    other_name=name,
                    n_here=source.n_examples,
                )

    def _check_kind(self, name: str, source: ShardSource) -> None:
        """Refuse answers of another kind, and those that are measured in different ways."""
        first = self.sources[0]
        kind, other_kind = answers_of(first.kind), answers_of(source.kind)
        if kind != other_kind:
            raise OptionError(
                "{name!r} has {kind} and {other_name!r} has {other_kind}. Compare answers of one "
                "kind.",
                name=self.names[0],
                other_name=name,
                kind=kind,
                other_kind=other_kind,
            )
        if kind != "classes" and _shared(source) != _shared(first):
            raise OptionError(
                "{name!r} and {other_name!r} are read with different tolerances, thresholds, "
                "depths, directions, weights, ways to compare texts, or units of repetition (runs "
                "or trials). Read both in the same way.",
                name=self.names[0],
                other_name=name,
                settings=first.settings,
                other_settings=source.settings,
            )
        self._check_levels(name, source)

    def _check_levels(self, name: str, source: ShardSource) -> None:
        """Refuse texts of which some runs have trials: texts differ inside runs, or between."""
        if source.kind is not Kind.TEXTS:
            return
        has_trials = [x.settings.levels is not None for x in (self.sources[0], source)]
        if has_trials[0] != has_trials[1]:
            names = self.names[0], name
            raise OptionError(
                "The runs of {name!r} have several trials each, and those of {other_name!r} do "
                "not. Texts are compared between trials of a run, or between runs. Keep the rows "
                "of one trial per run of {name!r}, or give both several trials.",
                option="trial",
                name=names[has_trials.index(True)],
                other_name=names[has_trials.index(False)],
            )

    @property
    def n_shards(self) -> int:
        """Number of shards of the first arm."""
        return self.sources[0].n_shards

    def shard(self, index: int) -> Shard:
        """Read shard `index` of the first arm."""
        return self.sources[0].shard(index)

    def match(self, arm_idx: int, first: Shard) -> Shard:
        """Read the examples of a shard of the first arm from another arm, and check them."""
        start = first.index * self.sources[0].rows_per_shard
        read = partial(self._read, arm_idx)
        shard = rows_of(self.sources[arm_idx], start, start + len(first), read)
        if not shard.ids.equals(first.ids):
            raise self._different_examples(arm_idx, first, shard)
        self._check_labels(arm_idx, first, shard)
        self._check_weights(arm_idx, first, shard)
        return shard

    def _read(self, arm_idx: int, index: int) -> Shard:
        """Read a shard of an arm; keep the last one if shards of the first arm are smaller."""
        source = self.sources[arm_idx]
        if source.rows_per_shard <= self.sources[0].rows_per_shard:
            return source.shard(index)
        if self._kept.get(arm_idx, (-1, None))[0] != index:
            self._kept[arm_idx] = index, source.shard(index)
        return self._kept[arm_idx][1]

    def _different_examples(self, arm_idx: int, first: Shard, shard: Shard) -> MissingExampleError:
        names = {"name": self.names[0], "other_name": self.names[arm_idx]}
        if shard.ids.type != first.ids.type:
            return MissingExampleError(
                "{name!r} and {other_name!r} have ids of different types ({id_type} and "
                "{other_id_type}). Use the same ids in both.",
                **names,
                id_type=first.ids.type,
                other_id_type=shard.ids.type,
            )
        pairs = zip(first.ids.to_pylist(), shard.ids.to_pylist(), strict=True)
        here, there = next(pair for pair in pairs if pair[0] != pair[1])
        return MissingExampleError(
            "{name!r} and {other_name!r} hold different examples: {example!r} in the first is "
            "{other_example!r} in the second. Compare predictions of the same examples.",
            **names,
            example=here,
            other_example=there,
        )

    def _check_weights(self, arm_idx: int, first: Shard, shard: Shard) -> None:
        """Refuse weights that differ from those of the first arm."""
        weights, others = (
            of_arm.weights(self.sources[index].settings.weights)
            for index, of_arm in ((0, first), (arm_idx, shard))
        )
        if weights is None or others is None or np.allclose(weights, others, rtol=1e-9, atol=0.0):
            return
        place = int(np.argmax(np.abs(weights - others)))
        raise WeightError(
            "Example {example!r} has different weights in {name!r} and {other_name!r}: it is to "
            "{share:.4g} and {other_share:.4g} of the mean weight. Give it the same weight "
            "everywhere.",
            example=first.ids[place].as_py(),
            name=self.names[0],
            other_name=self.names[arm_idx],
            share=float(weights[place]),
            other_share=float(others[place]),
        )

    def _check_labels(self, arm_idx: int, first: Shard, shard: Shard) -> None:
        """Refuse labels or targets that differ from those of the first arm."""
        if first.targets is not None and shard.targets is not None:
            noun, labels, others = "target", first.targets, shard.targets
            differs = (labels != others) & ~(np.isnan(labels) & np.isnan(others))
        elif first.answers is not None:
            return  # each arm may decide in its own way which answers are right
        elif first.labels is not None and shard.labels is not None:
            noun, labels = "label", _names(first.labels, self.sources[0].classes)
            others = _names(shard.labels, self.sources[arm_idx].classes)
            differs = labels != others
        else:
            return
        if not differs.any():
            return
        place = int(np.flatnonzero(differs)[0])
        label, other = (_known(x[place]) for x in (labels, others))
        here, there = (f"no {noun}" if x is None else f"the {noun} {x!r}" for x in (label, other))
        raise LabelConflictError(
            "Example {example!r} has {here} in {name!r} and {there} in {other_name!r}. Give "
            "each example the same {noun} everywhere.",
            example=first.ids[place].as_py(),
            here=here,
            name=self.names[0],
            there=there,
            other_name=self.names[arm_idx],
            noun=noun,
            label=label,
            other_label=other,
        )


def _shared(source: ShardSource) -> AnswerSettings:
    """Return the settings that arms have in common; their levels may differ.

    Weights are compared example by example.
    """
    weights = None if source.settings.weights is None else ExampleWeights("")
    return replace(source.settings, levels=None, weights=weights, are_unequal=False)


def _known(label: str | np.floating) -> str | float | None:
    """Return a label or target; None if it is unknown."""
    if isinstance(label, str):
        return label or None
    return None if np.isnan(label) else float(label)


def _names(labels: IntArray, classes: tuple[str, ...]) -> np.ndarray:
    """Class names of labels; an empty one where unknown."""
    return np.where(labels == UNLABELED, "", np.array(classes, dtype=object)[labels])
