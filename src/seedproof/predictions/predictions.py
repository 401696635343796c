"""Aligned predictions of several runs: the object that every verb takes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import NotFoundError, TooFewRunsError
from seedproof.messages import Message
from seedproof.predictions.checks import Check, by_severity
from seedproof.predictions.input_checks import checks_of, run_sums
from seedproof.predictions.item_checks import item_checks_of, item_run_sums
from seedproof.predictions.number_checks import number_checks_of, number_run_sums
from seedproof.predictions.options import (
    DEFAULT_MEMORY,
    SETTINGS,
    LoadOptions,
    check_options,
    options_for,
)
from seedproof.predictions.shared_examples import (
    SubsetShards,
    common_ids,
    example_ids,
    note_on_dropped,
)
from seedproof.predictions.sources import read, read_arm
from seedproof.predictions.targets import Input, Target, recognize
from seedproof.predictions.text_checks import text_checks_of, text_disagreement
from seedproof.records.columns import Columns, unusable_column
from seedproof.records.drafts import TemporaryFolder
from seedproof.records.location import Location
from seedproof.records.probabilities import UNLABELED
from seedproof.records.reader import Store
from seedproof.records.schema import ITEMS, Kind
from seedproof.records.shards import ShardSource, check_run_count
from seedproof.typing import ArrowStream, Progress

# Scalars that a run may log as its costs, in addition to its own seconds.
COSTS = ("forward_passes", "serving_multiplier")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of several runs for the same examples: read, aligned and described.

    Make it with `from_arrays`, `from_table`, `from_store`, or `load`, which recognizes its input.
    Every verb takes it, and everything that `load` takes.

    Args:
        source: Where the rows are read, shard by shard.
        notes: How the input was read.
        clusters: Column of the examples that belong together; None if they do not.
        slices: Columns of the groups to report on.
        pairs: A key per run that pairs it with a run of another arm; None if runs are not paired.
        folder: A temporary folder that is deleted with the predictions.
        read_checks: Checks that reading alone gave, such as missing runs.

    Examples:
        >>> import seedproof as sp
        >>> p = sp.Predictions.from_arrays([[0, 1, 1], [0, 0, 1]], labels=[0, 1, 1])
        >>> p
        <Predictions: 2 runs × 3 examples, labels, 3 with a gold label>
        >>> p.runs
        ('0', '1')
        >>> round(sp.measure(p)["flip_rate"].value, 3)
        0.333
    """

    source: ShardSource
    notes: tuple[Message, ...] = ()
    clusters: str | None = None
    slices: tuple[str, ...] = ()
    pairs: tuple[str, ...] | None = None
    folder: TemporaryFolder | None = field(default=None, repr=False)
    read_checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        check_run_count(len(self.runs))
        for column in (*([self.clusters] if self.clusters else []), *self.slices):
            if column not in self.source.extras:
                raise unusable_column(column, self.source.extras, "clusters or slices")

    @classmethod
    def from_arrays(
        cls,
        values: npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike],
        *,
        labels: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
        runs: Sequence[str] | None = None,
        positive: str | int | None = None,
        clusters: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        slices: Mapping[str, npt.ArrayLike] | None = None,
        targets: npt.ArrayLike | None = None,
        trials: bool = False,
        tolerance: float | str | None = None,
        thresholds: Sequence[float] | float | None = None,
    ) -> "Predictions":
        """Take predictions that are in memory.

        Args:
            values: Probabilities (runs, examples, classes); predicted classes (runs, examples) as
                integers or text; numbers (runs, examples) as floats; or one array per run, in a
                list or by name.
            labels: Gold class of each example, as index or name; None, NaN or -1 where unknown.
            ids: Id of each example; its position if omitted.
            classes: Names of the classes; their indices if omitted.
            runs: Names of the runs; their positions if omitted.
            positive: The class whose probability floats with two axes (runs, examples) are.
            clusters: One value per example; examples with the same value belong together.
            weight: Weight of each example, for numbers.
            slices: Values per example by name of the slice.
            targets: Right number of each example; None or NaN where unknown.
            trials: Runs are trials of one model, not models of their own; for numbers.
            tolerance: Numbers that differ by no more than this count as equal, such as "5%".
            thresholds: Two numbers on different sides of one of these are a flip.

        Returns:
            The predictions.

        Examples:
            >>> import numpy as np
            >>> import seedproof as sp
            >>> risk = np.array([[0.2, 0.9], [0.6, 0.8]])
            >>> sp.Predictions.from_arrays(risk, positive="ill", labels=["well", "ill"]).classes
            ('ill', 'well')
        """
        return cls.load(
            values,
            labels=labels,
            ids=ids,
            classes=classes,
            runs=runs,
            positive=positive,
            clusters=clusters,
            weight=weight,
            slices=slices,
            targets=targets,
            trials=trials,
            tolerance=tolerance,
            thresholds=thresholds,
        )

    @classmethod
    def from_table(
        cls,
        table: str
        | os.PathLike[str]
        | ArrowStream
        | Sequence[str | os.PathLike[str]]
        | Sequence[ArrowStream]
        | Mapping[str, ArrowStream],
        *,
        columns: Columns | None = None,
        classes: Sequence[str] | None = None,
        positive: str | None = None,
        clusters: str | None = None,
        weight: str | None = None,
        slices: Sequence[str] | None = None,
        tolerance: float | str | None = None,
        thresholds: Sequence[float] | float | None = None,
        common_examples: bool = False,
        memory: str | int = DEFAULT_MEMORY,
        progress: Progress | None = None,
    ) -> "Predictions":
        """Read predictions from tables: one row per run and example, or one column per run.

        Args:
            table: A dataframe of any library that speaks Arrow, or a file (CSV, TSV, Parquet,
                JSONL); several of them, a folder or a pattern, with one run each.
            columns: Names of the columns.
            classes: Names of the classes, where the table has their indices.
            positive: The class whose probability the predictions are.
            clusters: Column of the examples that belong together.
            weight: Column with the weights of the examples, for numbers.
            slices: Columns of the groups to report on.
            tolerance: Numbers that differ by no more than this count as equal, such as "5%".
            thresholds: Two numbers on different sides of one of these are a flip.
            common_examples: Drop examples that some run lacks.
            memory: Limit for reading, such as "4GB"; larger tables are sorted on disk.
            progress: Called with the number of rows read.

        Returns:
            The predictions.

        Examples:
            >>> import pyarrow as pa
            >>> import seedproof as sp
            >>> wide = pa.table({"id": [1, 2], "seed_0": ["a", "b"], "seed_1": ["a", "a"]})
            >>> sp.Predictions.from_table(wide).runs
            ('seed_0', 'seed_1')
        """
        return cls.load(
            table,
            columns=columns,
            classes=classes,
            positive=positive,
            clusters=clusters,
            weight=weight,
            slices=slices,
            tolerance=tolerance,
            thresholds=thresholds,
            common_examples=common_examples,
            memory=memory,
            progress=progress,
        )

    @classmethod
    def from_store(
        cls,
        store: str | os.PathLike[str] | Location,
        *,
        arm: str | None = None,
        split: str | None = None,
        clusters: str | None = None,
        weight: str | None = None,
        slices: Sequence[str] | None = None,
        tolerance: float | str | None = None,
        thresholds: Sequence[float] | float | None = None,
        common_examples: bool = False,
        skip_damaged: bool = False,
    ) -> "Predictions":
        """Read the finished runs of one arm of a study.

        Args:
            store: Folder or URL of the store.
            arm: Name of the arm; may be omitted if there is only one.
            split: Name of the split; may be omitted if there is only one.
            clusters: Column of the examples that belong together.
            weight: Column with the weights of the examples, for numbers.
            slices: Columns of the groups to report on.
            tolerance: Numbers that differ by no more than this count as equal, such as "5%".
            thresholds: Two numbers on different sides of one of these are a flip.
            common_examples: Drop examples that some run lacks.
            skip_damaged: Leave out what is damaged, with a note.

        Returns:
            The predictions, runs in the order of the plan.

        Raises:
            NotFoundError: There is no store.
        """
        place = Location.of(store)
        if place.is_local and not Store.is_at(place):
            raise NotFoundError("There is no store at {place}.", place=place)
        return cls.load(
            place,
            arm=arm,
            split=split,
            clusters=clusters,
            weight=weight,
            slices=slices,
            tolerance=tolerance,
            thresholds=thresholds,
            common_examples=common_examples,
            skip_damaged=skip_damaged,
        )

    @classmethod
    def load(cls, target: "Loadable", **options: Unpack[LoadOptions]) -> "Predictions":
        """Read predictions from anything that holds them.

        Args:
            target: Arrays, dataframes, files, a folder or pattern of files, a store, a list or a
                mapping of runs; predictions as they are.
            **options: See `LoadOptions`.

        Returns:
            The predictions.

        Raises:
            InputError: They cannot be read; the message gives the reason and a remedy.

        Examples:
            >>> import seedproof as sp
            >>> sp.Predictions.load({"monday": ["a", "b"], "tuesday": ["a", "a"]}).runs
            ('monday', 'tuesday')
        """
        return load(target, options, least_runs=1)

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs: in the order of the plan, of the arrays, or natural order."""
        return self.source.runs

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.source.classes

    @property
    def kind(self) -> str:
        """Kind of predictions: probs, top, labels, numbers, rankings, sets or texts."""
        return str(self.source.kind)

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return self.source.n_examples

    @property
    def n_labeled(self) -> int:
        """Number of examples with a gold label, a target or right items."""
        return self.source.n_labeled

    @property
    def repeats(self) -> str:
        """Unit of repetition: seeds where they are recorded, runs otherwise."""
        return self.source.repeats

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, errors first. The predictions are read once for them."""
        if self.source.kind is Kind.NUMBERS:
            further = number_checks_of(self.source, number_run_sums(self.source))
        elif self.source.kind is Kind.TEXTS:
            further = text_checks_of(self.source, text_disagreement(self.source))
        elif self.source.kind in ITEMS:
            further = item_checks_of(self.source, item_run_sums(self.source))
        else:
            further = checks_of(self.source, run_sums(self.source))
        return by_severity([*self.read_checks, *further])

    @property
    def ids(self) -> pa.Array:
        """Ids of the examples, in canonical order."""
        return example_ids(self.source)

    @cached_property
    def labels(self) -> pa.Array:
        """Gold classes of the examples by name, in the order of `ids`; null where unknown."""
        alone = self.source.predictions_alone()
        gold = np.concatenate([alone.shard(i).gold for i in range(self.source.n_shards)])
        names = pa.array([*self.classes, None], pa.string())
        return names.take(pa.array(np.where(gold == UNLABELED, len(self.classes), gold)))

    @cached_property
    def costs(self) -> dict[str, float]:
        """Median of each cost over the runs, for costs that all of them record."""
        runs = self.source.manifests
        recorded: dict[str, list[Any]] = {"seconds": [run.facts.get("seconds") for run in runs]}
        recorded |= {name: [run.scalars.get(name) for run in runs] for name in COSTS}
        return {
            name: float(np.median(values))
            for name, values in recorded.items()
            if values and all(isinstance(v, int | float) and np.isfinite(v) for v in values)
        }

    def in_order_of(self, other: "Predictions") -> "Predictions":
        """Return the same, with the runs in the order of those that they are paired with."""
        if self.pairs is None or other.pairs is None or self.pairs == other.pairs:
            return self
        place = {pair: position for position, pair in enumerate(self.pairs)}
        if place.keys() != set(other.pairs):
            return self
        order = [place[pair] for pair in other.pairs]
        return replace(self, source=self.source.some_runs(order), pairs=other.pairs)

    def first(self, n_runs: int) -> "Predictions":
        """Return the same with its first runs only, in the order of the plan."""
        if n_runs >= self.source.n_runs:
            return self
        run_of = self.source.run_of_repeats
        kept = list(dict.fromkeys(run_of))[:n_runs]
        order = [repeat for repeat, run in enumerate(run_of) if run in kept]
        pairs = None if self.pairs is None else tuple(self.pairs[repeat] for repeat in order)
        return replace(self, source=self.source.some_runs(order), pairs=pairs)

    def paired_by_name(self) -> "Predictions":
        """Return the same, paired with runs of the same names in other arms."""
        return replace(self, pairs=self.runs)

    def with_notes(self, *notes: Message) -> "Predictions":
        """Return the same, with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def with_checks(self, *checks: Check) -> "Predictions":
        """Return the same, with further checks."""
        return replace(self, read_checks=(*self.read_checks, *checks))

    def __len__(self) -> int:
        return self.n_examples

    def __repr__(self) -> str:
        nouns = {Kind.NUMBERS: "target", Kind.TEXTS: "reference"}
        noun = nouns.get(self.source.kind, "gold label")
        known, none = f"a {noun}", f"{noun}s"
        if self.source.kind.has_items:
            known = none = "right items"
        parts = [
            f"{len(self.runs)} run{'s' * (len(self.runs) != 1)} × {self.n_examples:,} examples",
            self.kind,
            f"{self.n_labeled:,} with {known}" if self.n_labeled else f"no {none}",
        ]
        return f"<Predictions: {', '.join(parts)}>"


# Input of every verb.
Loadable: TypeAlias = Predictions | Target


def load(
    target: Loadable, options: LoadOptions, *, least_runs: int, least_trials: int | None = None
) -> Predictions:
    """Read predictions from anything that holds them; see `load_one`."""
    tool = options.get("tool")
    recognized = target if isinstance(target, Predictions) else recognize(target, tool)
    kind = "predictions" if isinstance(recognized, Predictions) else recognized.kind
    check_options([kind], options)
    return load_one(recognized, options, least_runs=least_runs, least_trials=least_trials)


def load_one(
    target: Predictions | Input,
    options: LoadOptions,
    *,
    least_runs: int,
    least_trials: int | None = None,
) -> Predictions:
    """Read one of several inputs with the options that apply to it.

    Trials of one model need as many as runs, unless `least_trials` is given.
    """
    loaded = _loaded(target, options, least_runs=least_runs)
    if loaded.source.settings.are_trials and least_trials is not None:
        least_runs = least_trials
    if len(loaded.runs) < least_runs:
        raise TooFewRunsError(
            "There is only one of the {repeats}: {run!r}. Pass at least 2.",
            repeats=loaded.repeats,
            run=loaded.runs[0],
            n_runs=len(loaded.runs),
        )
    return loaded


def _loaded(target: Predictions | Input, options: LoadOptions, *, least_runs: int) -> Predictions:
    if isinstance(target, Predictions):
        if len(target.runs) < least_runs and not target.source.settings.are_trials:
            raise TooFewRunsError(
                "Flips can be measured only with two or more runs, but there is only one: {run!r}. "
                "Pass the predictions of at least 2 runs.",
                run=target.runs[0],
                n_runs=len(target.runs),
            )
        return target
    settings = {name: options.get(name) for name in SETTINGS}
    applicable = settings | options_for(target.kind, options)
    return Predictions(*read(target, applicable, least_runs=least_runs))


def arms_of(store: Store, options: LoadOptions) -> tuple[dict[str, Predictions], list[str]]:
    """Return the arms with at least two finished runs, and the names of the others."""
    arms: dict[str, Predictions] = {}
    too_few: list[str] = []
    for arm in store.arms():
        if sum(run.arm == arm for run in store.runs) < 2:
            too_few.append(arm)
            continue
        try:
            loaded = read_arm(store, {**options, "arm": arm})
        except TooFewRunsError:
            if not store.skips_damaged:
                raise
            too_few.append(arm)
        else:
            arms[arm] = Predictions(*loaded)
    return arms, too_few


def on_common_examples(arms: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """Return the arms on the examples that all of them have, with a note on dropped ones."""
    ids, n_all = common_ids([arm.source for arm in arms.values()])
    note = note_on_dropped(len(ids), n_all)
    if note is None:
        return dict(arms)
    subsets = {
        name: replace(arm, source=SubsetShards(arm.source, ids)) for name, arm in arms.items()
    }
    first = next(iter(subsets))
    subsets[first] = subsets[first].with_notes(note)
    return subsets
