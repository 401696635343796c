"""Findings about the input: their type, and those that reading alone gives."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seedproof.errors import OptionError
from seedproof.logs.samples import Sheet
from seedproof.records.reader import MissingRuns

# The most severe first.
SEVERITIES = ("error", "warning", "note")
# Names of all checks; no others can be allowed.
CHECK_NAMES = (
    "duplicate-runs",
    "constant-run",
    "constant-answers",
    "outlier-run",
    "identical-arms",
    "missing-runs",
    "unexpected-classes",
    "few-runs",
    "few-trials",
    "runs-trend",
    "transposed",
    "not-categorical",
    "distinct-answers",
    "failed-samples",
    "cached-repeats",
    "trials-depend-on-outcomes",
    "incomplete-log",
)
MOST_NAMED = 5
# Runs that give one answer are reported if at least so many examples have another label than most:
# where other labels are rarer, healthy runs may miss all of them.
LEAST_OTHER_LABELS = 10


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
        role: Role of the column that predicted classes look like, such as answer or value.
        arms: The arms that it is about, if there are several.

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
    role: str | None = None
    arms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise OptionError(
                "The severity {severity!r} of a check is not one of: {known}. Pass one of these.",
                severity=self.severity,
                known=SEVERITIES,
            )

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        plain = vars(self) | {"runs": list(self.runs), "arms": list(self.arms)}
        # Absent in most checks, so that digests of older reports stay the same.
        return {key: x for key, x in plain.items() if x or key not in {"role", "arms"}}


def of_arms(checks: Mapping[str, Iterable[Check]]) -> tuple[Check, ...]:
    """Return the checks of several arms, each with the name of its arm."""
    named_checks = (
        check if check.arm else replace(check, arm=arm)
        for arm, own in checks.items()
        for check in own
    )
    return by_severity(named_checks)


def by_severity(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return errors first, then warnings, then notes."""
    return tuple(sorted(checks, key=lambda check: SEVERITIES.index(check.severity)))


def errors_of(
    checks: Iterable[Check], arms: Iterable[str], baseline: str | None = None
) -> dict[str, Check]:
    """Return the first error of each arm that must not be judged.

    An error of the baseline, or of the whole input, concerns every arm; one of an arm that is not
    there, because none of its runs is finished, concerns no other.
    """
    errors: dict[str, Check] = {}
    names = tuple(arms)
    for check in checks:
        if check.severity != "error":
            continue
        concerned = check.arms or (() if check.arm is None else (check.arm,))
        for arm in names:
            if not concerned or arm in concerned or baseline in concerned:
                errors.setdefault(arm, check)
    return errors


def missing_runs(missing: MissingRuns) -> Check:
    """Return the check of planned runs that are not there."""
    remedy = "Finish the study; `seedproof status` shows what is missing and why."
    if missing.was_ingested:
        remedy = "Restore the folder from a copy, or ingest again."
    return Check("missing-runs", "warning", missing.names, str(missing), remedy)


def failed_runs(names: Sequence[str]) -> Check:
    """Return the check of jobs that wrote no predictions."""
    return Check(
        "missing-runs",
        "warning",
        tuple(names),
        f"Jobs without predictions: {named(names)}.",
        "Repeat them; if they failed by chance, the others are a biased sample.",
    )


def unfinished_runs(names: Sequence[str]) -> Check:
    """Return the check of runs of a tracker that did not finish."""
    return Check(
        "missing-runs",
        "warning",
        tuple(names),
        f"Runs that are not finished, and in no figure: {named(names)}.",
        "Finish or repeat them; if the worst runs failed, the others are a biased sample.",
    )


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


def constant_answers(runs: Sequence[str], repeats: str, n_examples: int, right: str) -> Check:
    """Return the check of runs that each give one answer to all examples, unlike the right ones."""
    each = f"Each of the {len(runs)} {repeats}" if len(runs) > 1 else f"The {repeats[:-1]}"
    return Check(
        "constant-answers",
        "error",
        tuple(runs),
        f"{each} gives a single answer to all {n_examples:,} examples, although {right}.",
        "Look at the training logs, and at how answers are read. Answers that do not depend on the "
        "example agree whatever the seed is, so that they show nothing about stability.",
    )


def have_other_values(parts: Iterable[Iterable[Hashable]]) -> bool:
    """Return whether enough right answers differ from the most frequent one; stop once they do."""
    counts: Counter[Hashable] = Counter()
    for part in parts:
        counts.update(part)
        if counts.total() - max(counts.values(), default=0) >= LEAST_OTHER_LABELS:
            return True
    return False


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


def checks_of_log(sheet: Sheet, failed_as: float | None) -> Iterator[Check]:
    """Yield the checks of logs without all samples, and of samples that failed or were cached."""
    incomplete = [
        f"{file.name}: {', '.join(map(str, file.problems))}"
        for file in sheet.files
        if file.problems
    ]
    if incomplete:
        yield Check(
            "incomplete-log",
            "error",
            (),
            f"Not the whole evaluation is in the log. {'; '.join(_some(incomplete))}.",
            "Finish or repeat the evaluation with its tool, and pass its new log.",
        )
    n_failed = sum(sheet.errors.values())
    if n_failed or sheet.n_incomplete:
        error, count = max(sheet.errors.items(), key=lambda item: item[1], default=("", 0))
        reasons = f", {count:,} of them with {error!r}" if count else ""
        effects = []
        if failed_as is not None and n_failed:
            effects.append(f"Failed samples are scored {failed_as:g}.")
        if sheet.n_incomplete:
            effects.append(
                f"Examples left out for lack of a score in a trial: {sheet.n_incomplete:,}, with "
                f"{sheet.n_left_out:,} samples."
            )
        yield Check(
            "failed-samples",
            "warning",
            (),
            " ".join([f"{n_failed:,} of {sheet.n_samples:,} samples failed{reasons}.", *effects]),
            "Repeat them with the tool, or score them with --failed-as 0.",
        )
    if sheet.n_cached:
        yield Check(
            "cached-repeats",
            "error",
            (),
            f"{sheet.n_cached:,} of {sheet.n_samples:,} answers came from a cache: repeats of "
            "them show no luck.",
            "Repeat the evaluation with the cache of the tool switched off.",
        )


def _some(lines: Sequence[str]) -> list[str]:
    """Return the first of some lines, and how many others there are."""
    remainder = [f"{len(lines) - MOST_NAMED:,} others"] * (len(lines) > MOST_NAMED)
    return [*lines[:MOST_NAMED], *remainder]


def named(names: Sequence[str]) -> str:
    """Return names in words, at most a few of them."""
    listed = [str(name) for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        return f"{', '.join(listed)} and {len(names) - MOST_NAMED} others"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
