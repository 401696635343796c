"""Checks of the input: findings that make figures worthless, or hard to read.

Everything is found from sums over examples that the measuring pass has anyway. Only runs with equal
answers are read again, to compare their probabilities, and only until they differ.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import DamagedStoreError, OptionError
from seedproof.metrics.batch import batches
from seedproof.metrics.flips import Flips, RunSums
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.records.columns import shown
from seedproof.records.reader import MissingRuns
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.typing import BoolArray, FloatArray, IntArray

# The most severe first.
SEVERITIES = ("error", "warning", "note")
# Names of all checks; no others can be allowed.
CHECK_NAMES = (
    "duplicate-runs",
    "constant-run",
    "outlier-run",
    "identical-arms",
    "missing-runs",
    "unexpected-classes",
    "few-runs",
    "transposed",
    "not-categorical",
)
# Equal answers of two runs are no accident if they have a lower probability than this.
IMPLAUSIBLE = 1e-6
# Representatives of equal runs that are compared in threes: their number grows with the cube.
MOST_COMPARED = 40
# A run that never leaves one class is suspicious if all others leave it at least this often.
LEAST_OTHER_ANSWERS = 10
# Chance alone must make two runs differ on this many examples before they are called strangers.
LEAST_BY_CHANCE = 30
# Chance-corrected agreement below which a run is no better than chance.
CHANCE_AGREEMENT = 0.1
# A stranger's nearest run is this much farther away than any other run's nearest.
LONELY = 1.5
# Fewer classes may be an ordinal scale, such as stars.
MANY_NUMBERS = 20
# Two rounded numbers that differ do so by less than this share of what chance would give.
NEAR_NUMBERS = 0.5
MOST_NAMED = 5
# Logged as 1 by runs of estimators that are known to draw no random numbers.
DRAWS_NOTHING = "draws_nothing"


@dataclass(frozen=True)
class Check:
    """A finding about the input.

    Args:
        name: Its name, such as duplicate-runs.
        severity: note, warning or error.
        runs: The runs that it is about.
        message: The finding in words.
        remedy: How to fix it.
        arm: The arm that it is about, in a comparison.

    Examples:
        >>> import seedproof as sp
        >>> check = sp.Check(
        ...     "few-runs", "warning", ("0", "1"), "2 runs.", "Use at least 5."
        ... )
        >>> check.severity
        'warning'
    """

    name: str
    severity: str
    runs: tuple[str, ...]
    message: str
    remedy: str
    arm: str | None = None

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise OptionError(
                "The severity {severity!r} of a check is not one of: {known}. Give one of these.",
                severity=self.severity,
                known=SEVERITIES,
            )

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "Check":
        """Return the check that a summary was made from."""
        texts = {key: str(summary[key]) for key in ("name", "severity", "message", "remedy")}
        return cls(**texts, runs=tuple(map(str, summary["runs"])), arm=summary.get("arm"))

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return vars(self) | {"runs": list(self.runs)}


def of_arms(checks: Mapping[str, Iterable[Check]]) -> tuple[Check, ...]:
    """Return the checks of several arms, each with the name of its arm."""
    named_checks = (
        check if check.arm else replace(check, arm=arm)
        for arm, own in checks.items()
        for check in own
    )
    return by_severity(named_checks)


def run_sums(source: ShardSource) -> RunSums:
    """Return the sums over all examples, from predicted classes alone."""
    flips, alone = Flips(len(source.runs), len(source.classes)), source.predictions_alone()
    for index in range(alone.n_shards):
        for batch in batches(alone.shard(index), len(source.classes)):
            flips.update(batch)
    return flips.run_sums()


def checks_of(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    """Yield the findings about aligned runs, given sums over all examples."""
    yield from _few_runs(len(source.runs))
    if len(source.runs) > 1:
        constant = np.asarray(sums.class_counts.max(axis=1) == sums.n_examples)
        yield from _duplicates(source, sums)
        yield from _constant_runs(source, sums, constant)
        yield from _outliers(source, sums, constant)
    yield from _unexpected_classes(source, sums)
    yield from _not_categorical(source, sums)


def by_severity(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return errors first, then warnings, then notes."""
    return tuple(sorted(checks, key=lambda check: SEVERITIES.index(check.severity)))


def _duplicates(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    n_runs, alike = len(source.runs), _equal_rows(sums.disagreements == 0)
    suspects = [group for group in alike if len(group) > 1]
    if not suspects:
        return
    if source.kind is not Kind.LABELS:
        what, copies = "probabilities", _equal_probabilities(source, suspects)
    else:
        what = "answers"
        copies = suspects if len(alike) == 1 else _implausible(sums.disagreements, alike)
    for group in copies:
        names = tuple(source.runs[run] for run in group)
        same = "All runs" if len(group) == n_runs else f"Runs {named(names)}"
        same += f" have identical {what}"
        runs = [source.manifests[run] for run in group] if source.manifests else []
        if runs and all(run.scalars.get(DRAWS_NOTHING) for run in runs):
            severity, message = "note", f"{same}: this estimator draws no random numbers."
            remedy = "Further runs add nothing. Vary the training data to see its influence."
        elif _share_a_seed([run.seeds for run in runs]):
            severity, message = "note", f"{same}: the sources that differ have no effect."
            remedy = ""
        else:
            severity = "error"
            message = f"{same}. Copies of a run are not evidence of stability."
            remedy = "Check that no run is given twice and that the seed has an effect; "
            remedy += "`seedproof doctor` checks the latter."
        yield Check("duplicate-runs", severity, names, message, remedy)


def _share_a_seed(seeds: Sequence[Mapping[str, int]]) -> bool:
    """Return True if any two of several runs share the seed of some source."""
    return bool(seeds) and all(
        any(first.get(source) == seed for source, seed in second.items())
        for first, second in combinations(seeds, 2)
    )


def _equal_rows(is_equal: BoolArray) -> list[list[int]]:
    """Return groups of runs that are equal to each other, each run in one group."""
    first = is_equal.argmax(axis=1)
    return [np.flatnonzero(first == run).tolist() for run in np.unique(first)]


def _implausible(disagreements: IntArray, alike: list[list[int]]) -> list[list[int]]:
    """Return groups of equal answers that chance does not explain, given all other runs.

    Among any three runs of a healthy study each is alone against the other two on some examples,
    even if a common tendency, such as a moving threshold, makes two of them nearly equal. The
    smallest such number over all runs estimates the examples on which the two would differ.
    """
    kept = [group[0] for group in alike][:MOST_COMPARED]
    if len(kept) < 3:
        return []
    d = disagreements[np.ix_(kept, kept)]
    fewest = min(
        min(d[a, b] + d[a, c] - d[b, c], d[a, b] + d[b, c] - d[a, c], d[a, c] + d[b, c] - d[a, b])
        for a, b, c in combinations(range(len(kept)), 3)
    )
    n_pairs = len(disagreements) * (len(disagreements) - 1) / 2
    return [
        group
        for group in alike
        if len(group) > 1 and n_pairs * np.exp(-float(fewest) * (len(group) - 1)) < IMPLAUSIBLE
    ]


def _equal_probabilities(source: ShardSource, groups: list[list[int]]) -> list[list[int]]:
    """Return the parts of groups of runs whose probabilities are equal to the last digit."""
    for shard in _readable(source):
        values = _values(shard)
        parts = [part for group in groups for part in _split(values, group)]
        groups = [part for part in parts if len(part) > 1]
        if not groups:
            break
    return groups


def _readable(source: ShardSource) -> Iterator[Shard]:
    """Yield the shards of a source with probabilities, without damaged ones, which have a note."""
    full = source.in_full()
    for index in range(full.n_shards):
        with suppress(DamagedStoreError):
            yield full.shard(index)


def _values(shard: Shard) -> tuple[np.ndarray, ...]:
    """Return all that a shard has of each run, axes (runs, …)."""
    if shard.top is not None:
        return shard.top.probs, shard.top.classes
    values = shard.predictions if shard.probs is None else shard.probs
    return () if values is None else (values,)


def _split(values: tuple[np.ndarray, ...], group: list[int]) -> list[list[int]]:
    """Split a group of runs by their values."""
    parts: list[list[int]] = []
    for run in group:
        for part in parts:
            if all(np.array_equal(x[part[0]], x[run]) for x in values):
                part.append(run)
                break
        else:
            parts.append([run])
    return parts


def identical_arms(
    sources: Mapping[str, ShardSource], pairs: Mapping[str, tuple[str, ...] | None]
) -> Iterator[Check]:
    """Yield a finding for arms that predict exactly the same under every seed.

    `pairs` are the seeds of each arm's runs, if they are known; otherwise runs are compared in
    their order. Arms are read until they differ, one shard of one arm at a time.
    """
    alike: dict[object, list[str]] = {}
    for name, source in sources.items():
        shape = len(source.runs), source.n_examples, source.rows_per_shard
        alike.setdefault((shape, source.classes, source.kind), []).append(name)
    shards = {name: _readable(source) for name, source in sources.items()}
    n_contested: Counter[str] = Counter()
    for _ in range(max((source.n_shards for source in sources.values()), default=0)):
        groups = [group for group in alike.values() if len(group) > 1]
        alike = {}
        for place, group in enumerate(groups):
            for name in group:
                digest, contested = _digest(next(shards[name], None), _order(pairs[name]))
                alike.setdefault((place, digest), []).append(name)
                n_contested[name] += contested
    for group in alike.values():
        # Arms of answers that hardly ever change may be equal by accident.
        if len(group) > 1 and np.exp(-n_contested[group[0]]) < IMPLAUSIBLE:
            yield Check(
                "identical-arms",
                "error",
                (),
                f"Arms {named(group)} predict exactly the same under every seed.",
                "Check that the training uses the name of its arm.",
            )


def _order(pairs: tuple[str, ...] | None) -> IntArray | slice:
    """Return the order of runs that is the same in all arms with the same seeds."""
    return slice(None) if pairs is None else np.argsort(np.array(pairs), kind="stable")


def _digest(shard: Shard | None, order: IntArray | slice) -> tuple[bytes, int]:
    """Return a digest of the ids and values of a shard, and the examples on which runs differ."""
    if shard is None:
        return b"", 0
    ids = pa.RecordBatch.from_arrays([shard.ids], ["id"]).serialize()
    content = blake2b(ids, digest_size=16)
    (values, *_) = several = _values(shard)
    for array in several:
        content.update(np.ascontiguousarray(array[order]).tobytes())
    differs = (values != values[0]).reshape(len(values), len(shard), -1)
    return content.digest(), int(differs.any(axis=(0, 2)).sum())


def _constant_runs(source: ShardSource, sums: RunSums, constant: BoolArray) -> Iterator[Check]:
    others = sums.class_counts[~constant]
    if not constant.any() or not len(others):
        return
    for run in np.flatnonzero(constant):
        answer = int(sums.class_counts[run].argmax())
        # Where another answer is rare, a healthy run may miss it altogether.
        if (sums.n_examples - others[:, answer]).min() < LEAST_OTHER_ANSWERS:
            continue
        yield Check(
            "constant-run",
            "error",
            (source.runs[run],),
            f"Run {source.runs[run]} gives the answer {source.classes[answer]!r} to all "
            f"{sums.n_examples:,} examples; the other runs do not.",
            "Look at its training log. Make the run again, or leave it out of all arms.",
        )


def _outliers(source: ShardSource, sums: RunSums, constant: BoolArray) -> Iterator[Check]:
    kept = np.flatnonzero(~constant)
    if len(kept) < 3:
        return
    counts, n = sums.class_counts[kept].astype(np.float64), sums.n_examples
    apart = sums.disagreements[np.ix_(kept, kept)].astype(np.float64)
    by_chance = n - counts @ counts.T / n
    np.fill_diagonal(by_chance, 0.0)
    expected = by_chance.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = 1 - apart.sum(axis=1) / expected
    is_chance = (agreement < CHANCE_AGREEMENT) & (expected >= LEAST_BY_CHANCE * (len(kept) - 1))
    np.fill_diagonal(apart, np.inf)
    for row in np.flatnonzero(is_chance):
        others = np.delete(np.delete(apart, row, axis=0), row, axis=1)
        if apart[row].min() <= LONELY * others.min(axis=1).max():
            continue
        run = source.runs[kept[row]]
        remedy = "Look at its training log. Make the run again, or leave it out of all arms."
        shuffled = ""
        if _has_usual_shares(counts / n, row):
            shuffled = " It gives each answer as often as they do, so its rows look shuffled."
            remedy = (
                "Check that its rows are in the order of their ids. Otherwise look at its training "
                "log."
            )
        yield Check(
            "outlier-run",
            "error",
            (run,),
            f"Run {run} agrees with the other runs no more than chance would.{shuffled}",
            remedy,
        )


def _has_usual_shares(shares: FloatArray, row: int) -> bool:
    """Return True if a run's class shares are no farther from the mean than those of others."""
    distances = np.abs(shares - np.delete(shares, row, axis=0).mean(axis=0)).sum(axis=1) / 2
    return bool(distances[row] <= max(0.02, np.delete(distances, row).max()))


def _unexpected_classes(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    predicted, classes = sums.class_counts.sum(axis=0), source.classes
    plain: dict[str, list[str]] = {}
    for index in np.flatnonzero(predicted + sums.label_counts):
        plain.setdefault("".join(classes[index].split()).casefold(), []).append(classes[index])
    for names in plain.values():
        if len(names) > 1:
            yield Check(
                "unexpected-classes",
                "warning",
                (),
                f"The classes {named([repr(name) for name in names])} differ only by case or "
                "spaces, and are measured as different answers.",
                "Write each class in one way.",
            )
    variants = {name for names in plain.values() if len(names) > 1 for name in names}
    if source.kind is not Kind.LABELS or not sums.label_counts.any():
        return
    unknown = [
        classes[index]
        for index in np.flatnonzero((predicted > 0) & (sums.label_counts == 0))
        if classes[index] not in variants
    ]
    if unknown:
        yield Check(
            "unexpected-classes",
            "warning",
            (),
            f"Predicted, but not the gold label of any example: {shown(unknown)}.",
            "Check the names of the classes in predictions and labels.",
        )


def _few_runs(n_runs: int) -> Iterator[Check]:
    if n_runs < VERDICT_FROM:
        yield Check(
            "few-runs",
            "warning",
            (),
            f"With fewer than {VERDICT_FROM} runs (here {n_runs}), there are figures but no "
            "verdicts.",
            f"Use at least {VERDICT_FROM} runs.",
        )


def missing_runs(missing: MissingRuns) -> Check:
    """Return the check of planned runs that are not there."""
    remedy = "Finish the study; `seedproof status` shows what is missing and why."
    if missing.was_ingested:
        remedy = "Restore the folder from a copy, or ingest again."
    return Check("missing-runs", "warning", missing.names, str(missing), remedy)


def missing_arm(arm: str) -> Check:
    """Return the check of a planned arm without a finished run."""
    return Check(
        "missing-runs",
        "error",
        (),
        "No run of this arm is finished, so it is in no figure.",
        "`seedproof status --tracebacks` shows why. Finish the study, or plan it without this arm.",
        arm,
    )


def transposed(n_runs: int, n_examples: int) -> Check:
    """Return the check of arrays with more runs than examples."""
    return Check(
        "transposed",
        "warning",
        (),
        f"{n_runs:,} runs of {n_examples:,} examples: the axes may be swapped.",
        "Arrays are (runs, examples) or (runs, examples, classes). Transpose them, or name the "
        "runs with `runs`.",
    )


def _not_categorical(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    if source.kind is not Kind.LABELS:
        return
    used = np.flatnonzero(sums.class_counts.sum(axis=0))
    names = [source.classes[index] for index in used]
    numbers = _as_numbers(names)
    if numbers is not None and _are_rounded(numbers, used, sums):
        message = f"The {len(names):,} answers look like rounded numbers, not like classes."
    elif numbers is None and len(names) >= MANY_NUMBERS and len(names) > sums.n_examples / 2:
        message = f"{len(names):,} different answers to {sums.n_examples:,} examples: this looks "
        message += "like free text, not like classes."
    else:
        return
    yield Check(
        "not-categorical",
        "warning",
        (),
        message,
        "Give classes, or map the answers to a few classes first.",
    )


def _as_numbers(names: Sequence[str]) -> FloatArray | None:
    try:
        return np.array([float(name) for name in names])
    except ValueError:
        return None


def _are_rounded(numbers: FloatArray, used: IntArray, sums: RunSums) -> bool:
    """Return True if runs that differ give numbers close to each other."""
    if len(numbers) < MANY_NUMBERS or not np.isfinite(numbers).all():
        return False
    if sums.swaps is None:  # too many classes for a table
        return True
    swaps = sums.swaps[np.ix_(used, used)].astype(np.float64)
    total = swaps.sum()
    if total == 0:
        return False
    distance = np.abs(numbers[:, None] - numbers)
    by_chance = swaps.sum(axis=1) @ distance @ swaps.sum(axis=0) / total
    return bool((swaps * distance).sum() < NEAR_NUMBERS * by_chance)


def named(names: Sequence[str]) -> str:
    """Return names in words, at most a few of them."""
    listed = [str(name) for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        return f"{', '.join(listed)} and {len(names) - MOST_NAMED} others"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
