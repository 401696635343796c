"""Groups of examples, changes added up over them, and their intervals in closed form.

Groups are all examples, those of one gold class, and those of one slice. The forms are those of
`stats.intervals`: each version's runs are left out one at a time, the two variances are added, and
the variance from drawing examples is counted once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import pyarrow as pa

from seedproof.comparison.versions.disagreement import Change
from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.records.arrow import to_numpy
from seedproof.records.probabilities import UNLABELED
from seedproof.stats.effect import Contrast
from seedproof.stats.intervals import TAIL, Estimate, estimate, jackknife_variance
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Each class or slice takes memory, and longer lists are not read.
MAX_GROUPS = 1000
NOWHERE = -1
NO_VALUE = "(none)"

# Deleting one of two runs leaves no pair.
LEAST_RUNS = 3
LOGIT = frozenset({"accuracy_old", "accuracy_new"})
OWN = {"accuracy_old": "old", "flip_rate_old": "old", "accuracy_new": "new", "flip_rate_new": "new"}

Sums = TypeVar("Sums", IntArray, FloatArray)


class Groups:
    """The groups of examples, which are discovered with the examples.

    Group 0 has all examples; then come the gold classes, then the values of each sliced column.
    """

    def __init__(self, classes: Sequence[str], slices: Sequence[str]) -> None:
        self.slices = tuple(dict.fromkeys(slices))
        self.notes: tuple[Message, ...] = ()
        if len(classes) > MAX_GROUPS:
            note = Message(
                "too-many-classes",
                "There are {n_classes:,} classes; figures per class are given for up to "
                "{at_most:,}.",
                n_classes=len(classes),
                at_most=MAX_GROUPS,
            )
            self.notes = (note,)
            classes = ()
        self._n_fixed = 1 + len(classes)
        self._names: list[tuple[str, str]] = [("all", "all"), *(("class", c) for c in classes)]
        self.seen: dict[tuple[str, str | None], int] = {}
        self.n_examples: IntArray = np.zeros(len(self._names), dtype=np.int64)
        self.n_labeled: IntArray = self.n_examples.copy()

    def codes(self, n_rows: int, labels: IntArray | None, extras: pa.Table | None) -> IntArray:
        """Count examples, and return their groups, axes (kinds of group, examples)."""
        kinds: list[IntArray] = [np.zeros(n_rows, dtype=np.int64)]
        is_known = np.zeros(n_rows, dtype=np.bool_)
        if labels is not None:
            is_known = labels != UNLABELED
            if self._n_fixed > 1:
                kinds.append(np.where(is_known, labels + 1, NOWHERE))
        kinds += [self._slice(column, extras) for column in self.slices]
        codes = np.stack(kinds)
        self.n_examples = added(self.n_examples, self.count(codes))
        self.n_labeled = added(self.n_labeled, self.count(codes[:, is_known]))
        return codes

    def merge(self, other: "Groups") -> IntArray:
        """Add other examples; return the indices that their groups have here."""
        further = [self._place(column, value) for column, value in other.seen]
        places = np.array([*range(self._n_fixed), *further], dtype=np.int64)
        self.n_examples = added(self.n_examples, other.n_examples, places)
        self.n_labeled = added(self.n_labeled, other.n_labeled, places)
        return places

    def _slice(self, column: str, extras: pa.Table | None) -> IntArray:
        carried = () if extras is None else extras.column_names
        if extras is None or column not in carried:
            raise ColumnError(
                "There is no column {column!r} to slice by. Available: {listed}.",
                column=column,
                listed=", ".join(map(repr, carried)) or "none",
                known=tuple(carried),
            )
        values = extras.column(column).combine_chunks()
        encoded = values.dictionary_encode(null_encoding="encode")
        names = encoded.dictionary.to_pylist()
        places = np.array([self._place(column, name) for name in names], dtype=np.int64)
        return np.asarray(places[to_numpy(encoded.indices)])

    def _place(self, column: str, value: object) -> int:
        name = None if value is None else str(value)
        key = (column, name)
        if key not in self.seen:
            if sum(known == column for known, _ in self.seen) == MAX_GROUPS:
                raise ColumnError(
                    "The column {column!r} has more than {at_most:,} different values. "
                    "Slice by a coarser column.",
                    column=column,
                    at_most=MAX_GROUPS,
                )
            self.seen[key] = len(self._names)
            self._names.append((f"slice {column}", NO_VALUE if name is None else name))
        return self.seen[key]

    def count(self, codes: IntArray) -> IntArray:
        """Count the examples of each group."""
        return np.bincount(codes[codes != NOWHERE], minlength=len(self._names))

    def members(self, codes: IntArray) -> "csr_array":
        """Return membership as ones and zeros, axes (groups, examples)."""
        from scipy.sparse import csr_array  # slow to load, and not needed to compare arms

        kinds, examples = np.nonzero(codes != NOWHERE)
        groups = codes[kinds, examples]
        shape = (len(self._names), codes.shape[1])
        return csr_array((np.ones(len(groups)), (groups, examples)), shape=shape)

    def listed(self) -> Iterator[tuple[str, str, int]]:
        """Yield kind, name and index of every group: classes in their order, slices by name."""
        slices = sorted(range(self._n_fixed, len(self._names)), key=self._names.__getitem__)
        yield from ((*self._names[index], index) for index in (*range(self._n_fixed), *slices))


def added(known: Sums, further: Sums, places: IntArray | None = None) -> Sums:
    """Return sums per group, of which either may have more; rows are groups.

    Those of `further` have the indices `places` here; their own if omitted.
    """
    places = np.arange(len(further)) if places is None else places[: len(further)]
    n_groups = max(len(known), int(places.max(initial=-1)) + 1)
    whole = np.zeros((n_groups, *known.shape[1:]), dtype=known.dtype)
    whole[: len(known)] = known
    whole[places] += further
    return whole


class GroupSums:
    """Totals of one quantity over the examples of several groups; one row per group.

    Examples on which all runs agree have the quantity 0 and are never added, except to accuracies.
    """

    def __init__(self) -> None:
        self.totals: dict[str, FloatArray] = {}

    def update(self, change: Change, members: "csr_array") -> None:
        """Add examples, whose groups are the rows of `members`, axes (groups, examples)."""
        swapped = change.swapped
        parts = {
            "total": change.whole,
            "squares": np.square(change.whole),
            "old": change.without_old,
            "old_interaction": _jackknife(change.without_old),
            "new": change.without_new,
            "new_interaction": _jackknife(change.without_new),
            "swapped": swapped,
            "swapped_interaction": None if swapped is None else swapped.var(axis=1, ddof=1),
        }
        for name, values in parts.items():
            if values is not None:
                self._add(name, members @ values)

    def merge(self, other: "GroupSums", places: IntArray) -> None:
        """Add other examples, whose groups have the indices `places` here."""
        for name, values in other.totals.items():
            self._add(name, values, places)

    def add_ones(self, counts: IntArray) -> None:
        """Add examples to each group whose quantity is 1 with and without any run."""
        for name, known in self.totals.items():
            if name in {"total", "squares"}:
                self._add(name, counts.astype(np.float64))
            elif name in {"old", "new"}:
                self._add(name, np.repeat(counts[:, None], known.shape[1], axis=1))

    def _add(self, name: str, sums: FloatArray, places: IntArray | None = None) -> None:
        known = self.totals.get(name, np.zeros((0, *sums.shape[1:])))
        self.totals[name] = added(known, sums, places)

    def group(self, index: int, n_examples: int, n_runs: Mapping[str, int]) -> "GroupMean":
        """Return the mean of one group of `n_examples` examples."""
        totals = {name: values[index] for name, values in self.totals.items()}
        return GroupMean(n_examples, n_runs, totals)


def _jackknife(without: FloatArray | None) -> FloatArray | None:
    """Jackknife variance over runs of each example's own value."""
    if without is None:
        return None
    return np.asarray((without.shape[1] - 1) * without.var(axis=1))


@dataclass(frozen=True, eq=False)
class GroupMean:
    """Mean of one quantity over the examples of one group."""

    n_examples: int
    n_runs: Mapping[str, int]  # of the `old` and of the `new` version
    totals: Mapping[str, FloatArray]  # sums over examples, by name

    @property
    def value(self) -> float:
        """Mean over the examples."""
        value = float(self.totals["total"]) / self.n_examples
        return 0.0 if abs(value) < 1e-12 else value  # what rounding leaves of a difference

    def estimate(self, name: str) -> Estimate:
        """Return the mean of the quantity of this name, with its interval."""
        if name.endswith(("_beyond", "_change")) and not name.endswith("_no_change"):
            return self.difference(TAIL)
        if name in OWN:
            return estimate(self.statistic(name))
        if name.endswith("_no_change") and 1 in self.n_runs.values():
            return estimate(self._own("new" if self.n_runs["old"] == 1 else "old", "log"))
        return self._rate()

    def statistic(self, name: str) -> MeanOverExamples:
        """Return the quantity of one version by its name, as `measure` has it."""
        return self._own(OWN[name], "logit" if name in LOGIT else "log")

    def difference(self, tail: float) -> Estimate:
        """Return the interval of a difference of shares, with `tail` outside on each side."""
        value = self.value
        contrast = self._contrast(is_log=False)
        half_width = contrast.half_width(tail)
        if half_width == 0.0:  # no run saw any example differently
            half_width = 1 - tail ** (1 / self.n_examples)
        low, high = max(value - half_width, -1.0), min(value + half_width, 1.0)
        return Estimate(value, low, high, contrast.over)

    def _rate(self) -> Estimate:
        value = self.value
        if value <= 0.0:
            return estimate(self._own(None, "log"))
        contrast = self._contrast(is_log=True)
        half_width = contrast.half_width(TAIL)
        low, high = np.exp(np.log(value) + half_width * np.array([-1, 1]))
        return Estimate(value, float(low), min(float(high), 1.0), contrast.over)

    def _contrast(self, *, is_log: bool) -> Contrast:
        """Variances over runs and examples, on the scale of the interval."""
        value, n = self.value, self.n_examples
        slope = 1 / value if is_log else 1.0
        if "swapped" in self.totals and 1 in self.n_runs.values():
            runs, counted, df = self._single_run()
        else:
            runs, counted, df = self._left_out(is_log=is_log)
        drawn = self._example_variance() * slope**2
        if df == 0:
            return Contrast(value, 0.0, np.inf, drawn, over="examples")
        return Contrast(value, runs, df, max(drawn - counted * slope**2 / n**2, 0.0))

    def _left_out(self, *, is_log: bool) -> tuple[float, float, int]:
        """Variance over runs, its part in the variance over examples, and degrees of freedom."""
        several = [version for version, n_runs in self.n_runs.items() if n_runs > 1]
        if any(v not in self.totals or self.n_runs[v] < LEAST_RUNS for v in several):
            return 0.0, 0.0, 0
        runs = counted = 0.0
        for version in several:
            without = self.totals[version] / self.n_examples
            if is_log:
                without = np.log(np.maximum(without, 0.5 * min(1 / self.n_examples, self.value)))
            runs += jackknife_variance(without)
            counted += float(self.totals[f"{version}_interaction"])
        return runs, counted, min(self.n_runs[version] for version in several) - 1

    def _single_run(self) -> tuple[float, float, int]:
        """The same if a version has one run, assumed to vary like the runs of the other version.

        The quantity with each run of the other version in its place shows how much one run varies;
        the factor corrects for one run fewer in the other version.
        """
        without = self.totals["swapped"] / self.n_examples
        n_runs = len(without)
        factor = ((n_runs - 1) / n_runs) ** 2 * (1 + 1 / n_runs)
        counted = factor * float(self.totals["swapped_interaction"])
        return factor * float(without.var(ddof=1)), counted, n_runs - 1

    def _example_variance(self) -> float:
        n = self.n_examples
        spread = float(self.totals["squares"]) / n - self.value**2
        return max(spread, 0.0) / (n - 1) if n > 1 else 0.0

    def _own(self, version: str | None, scale: Literal["log", "logit"]) -> MeanOverExamples:
        """Quantity that depends on the runs of one version only, as `measure` has it."""
        n, without, interaction = self.n_examples, None, 0.0
        if version is not None and version in self.totals and self.n_runs[version] >= LEAST_RUNS:
            without = self.totals[version] / n
            interaction = float(self.totals[f"{version}_interaction"]) / n**2
        return MeanOverExamples(
            self.value,
            n,
            without,
            self._example_variance(),
            interaction,
            scale=scale,
            largest=1.0,
            is_count=True,
        )
