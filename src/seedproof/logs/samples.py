"""Samples of an evaluation: one answer of a model to one example, with its scores."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from seedproof.errors import DuplicateExampleError, EmptyInputError, OptionError
from seedproof.messages import Message
from seedproof.records.columns import ID, Columns
from seedproof.records.decoding import DecodingError
from seedproof.records.shards import natural_order

# A fact about an example, such as its topic.
Fact: TypeAlias = str | int | float | bool
# Columns of the table that a log becomes; facts of the same names keep a prefix, and so do facts
# that would make it a table of another kind, such as ranked lists or probabilities.
EXAMPLE, TRIAL, VALUE, TASK = "example", "trial", "value", "task"
RESERVED = frozenset({TASK, "arm", ID, *vars(Columns()).values()})
PREFIX = "log_"
# Squares of larger scores are infinite, or lose all digits of the others.
MAX_SCORE = 1e100
# Larger whole numbers do not fit a column.
MAX_FACT = 2**63


@dataclass(frozen=True)
class Sample:
    """One answer of a model to one example, with its scores."""

    arm: str  # model and settings
    task: str
    example: str
    trial: str
    scores: Mapping[str, float]  # by scorer; those that are not numbers are left out
    facts: Mapping[str, Fact] = field(default_factory=dict)
    error: str | None = None  # reason why the sample has no scores
    n_retries: int = 0
    is_cached: bool = False
    file: str = ""

    def score(self, scorer: str, failed_as: float | None) -> float:
        """Return the score by a scorer; NaN if there is none."""
        if self.error is not None:
            return math.nan if failed_as is None else failed_as
        return self.scores.get(scorer, math.nan)

    def differing(self, other: "Sample") -> list[str]:
        """Return the names of everything that another sample has with another value."""
        mine, its = (
            {
                **{f"score {name}": repr(value) for name, value in sample.scores.items()},
                **{name: repr(value) for name, value in sample.facts.items()},
                "error": sample.error,
                "retries": sample.n_retries,
            }
            for sample in (self, other)
        )
        return [name for name in {**mine, **its} if mine.get(name) != its.get(name)]


@dataclass(frozen=True)
class LogFile:
    """A file of a log, with the reasons why its samples may not be all that were planned."""

    name: str
    arm: str
    task: str
    problems: tuple[Message, ...] = ()
    notes: tuple[Message, ...] = ()  # on how it was read


def unknown_format(version: object, known: str) -> Message:
    """Return the problem of a file whose format may have another meaning."""
    return Message(
        "unknown-format",
        "its format is version {version}, and only {known} is known",
        version=str(version),
        known=known,
    )


def samples_missing(n_read: int, n_planned: int) -> list[Message]:
    """Return the problem of a file that lacks samples; none if it has all of them.

    Args:
        n_read: Number of samples in the file.
        n_planned: Number of samples that were planned; 0 if the file does not say it.

    Returns:
        One problem, or none.
    """
    if n_read >= max(n_planned, 1):
        return []
    if not n_planned:
        return [Message("no-samples", "it has no samples")]
    return [
        Message(
            "samples-missing",
            "it has {n_read:,} of {n_planned:,} planned samples",
            n_read=n_read,
            n_planned=n_planned,
        )
    ]


@dataclass(frozen=True)
class Sheet:
    """Scores of one arm on one task as a table, with one row per example and trial."""

    table: pa.Table
    scorer: str
    other_scorers: tuple[str, ...]
    n_samples: int
    errors: Mapping[str, int]  # how often each error occurred
    n_retried: int
    n_cached: int
    n_incomplete: int  # examples without a score in every trial, which the table lacks
    files: Sequence[LogFile] = ()

    @property
    def n_left_out(self) -> int:
        """Number of samples of the examples that the table lacks."""
        return self.n_samples - len(self.table)

    @property
    def notes(self) -> list[Message]:
        """Notes on how the log was read."""
        notes = [note for file in self.files for note in file.notes]
        if self.other_scorers:
            notes.append(
                Message(
                    "scorer-chosen",
                    "Scores are those of {scorer!r}. The log also has {others}; choose with "
                    "--value.",
                    scorer=self.scorer,
                    others=self.other_scorers,
                )
            )
        if self.n_retried:
            notes.append(
                Message(
                    "samples-retried",
                    "{n_retried:,} of {n_samples:,} samples were repeated after an error; only "
                    "the last attempt is scored.",
                    n_retried=self.n_retried,
                    n_samples=self.n_samples,
                )
            )
        return notes


@dataclass(frozen=True)
class Log:
    """Samples of one tool."""

    tool: str
    samples: Sequence[Sample]
    files: Sequence[LogFile] = ()

    def __post_init__(self) -> None:
        if not self.samples:
            raise EmptyInputError("The log of {tool} has no samples.", tool=self.tool)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, in order of appearance."""
        return tuple(dict.fromkeys(sample.arm for sample in self.samples))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in order of appearance."""
        return tuple(dict.fromkeys(sample.task for sample in self.samples))

    def only(self, *, arm: str | None = None, task: str | None = None) -> "Log":
        """Return the samples of one arm, of one task, or of both.

        Args:
            arm: Name of an arm; all if omitted.
            task: Name of a task; all if omitted.

        Returns:
            The log of these samples.

        Raises:
            OptionError: The log lacks this arm or task.
        """
        for name, given, known in (("arm", arm, self.arms), ("task", task, self.tasks)):
            if given is not None and given not in known:
                raise OptionError(
                    "The log has no {noun} {given!r}. It has: {listed}.",
                    noun=name,
                    given=given,
                    listed=", ".join(known),
                    known=known,
                )
        kept = [
            sample
            for sample in self.samples
            if arm in {None, sample.arm} and task in {None, sample.task}
        ]
        # A file without samples, such as one that was cancelled at once, concerns all others.
        sampled = {(sample.arm, sample.task) for sample in self.samples}
        files = [
            file
            for file in self.files
            if (arm in {None, file.arm} and task in {None, file.task})
            or (file.arm, file.task) not in sampled
        ]
        return Log(self.tool, kept, files)

    def groups(self) -> dict[str, "Log"]:
        """Return the samples of each arm and task, by a name of its own."""
        arms, tasks = self.arms, self.tasks
        groups: dict[str, Log] = {}
        for arm in arms:
            for task in dict.fromkeys(x.task for x in self.samples if x.arm == arm):
                parts = [arm] * (len(arms) > 1 or len(tasks) == 1) + [task] * (len(tasks) > 1)
                name = " · ".join(parts)
                while name in groups:  # names may have the sign themselves
                    name += "'"
                groups[name] = self.only(arm=arm, task=task)
        return groups

    def sheet(self, scorer: str | None = None, *, failed_as: float | None = None) -> Sheet:
        """Return the scores of one arm on one task.

        Args:
            scorer: Name of the scorer; the first if omitted.
            failed_as: Score of samples that failed; their examples are left out if omitted.

        Returns:
            The scores, on the examples that have one in every trial.

        Raises:
            EmptyInputError: No example has a score in every trial.
            DuplicateExampleError: An example occurs twice in a trial.
        """
        scorers = tuple(dict.fromkeys(name for sample in self.samples for name in sample.scores))
        chosen = self._chosen(scorer, scorers)
        self._check_distinct()
        scores = [sample.score(chosen, failed_as) for sample in self.samples]
        trials = natural_order(list({sample.trial for sample in self.samples}))
        n_scored = Counter(
            sample.example
            for sample, score in zip(self.samples, scores, strict=True)
            if not math.isnan(score)
        )
        examples = dict.fromkeys(sample.example for sample in self.samples)
        is_complete = {example: n_scored[example] == len(trials) for example in examples}
        kept = [
            (sample, score)
            for sample, score in zip(self.samples, scores, strict=True)
            if is_complete[sample.example]
        ]
        if not kept:
            raise EmptyInputError(
                "No example in the log of {tool} has a score of {scorer!r} in each of the "
                "{n_trials} trials.",
                tool=self.tool,
                scorer=chosen,
                n_trials=len(trials),
            )
        columns: dict[str, list[object]] = {
            EXAMPLE: [sample.example for sample, _ in kept],
            TRIAL: [sample.trial for sample, _ in kept],
            VALUE: [score for _, score in kept],
        }
        return Sheet(
            pa.table(columns | _fact_columns([sample.facts for sample, _ in kept])),
            chosen,
            tuple(name for name in scorers if name != chosen),
            len(self.samples),
            Counter(sample.error for sample in self.samples if sample.error is not None),
            sum(sample.n_retries > 0 for sample in self.samples),
            sum(sample.is_cached for sample in self.samples),
            len(examples) - sum(is_complete.values()),
            self.files,
        )

    def _check_distinct(self) -> None:
        """Refuse two samples of one example in one trial: one of them would replace the other."""
        first_samples: dict[tuple[str, str], Sample] = {}
        for sample in self.samples:
            twin = first_samples.setdefault((sample.example, sample.trial), sample)
            if twin is not sample:
                files = tuple(dict.fromkeys((twin.file, sample.file)))
                differing = twin.differing(sample)
                raise DuplicateExampleError(
                    "Example {example!r} occurs twice in trial {trial!r}, in {files}. The two "
                    "{difference}. Pass a log that has it once.",
                    example=sample.example,
                    trial=sample.trial,
                    files=files,
                    columns=tuple(differing),
                    difference=f"differ in {', '.join(differing)}" if differing else "are equal",
                )

    def _chosen(self, scorer: str | None, scorers: Sequence[str]) -> str:
        if not scorers:
            raise EmptyInputError("No sample in the log of {tool} has a score.", tool=self.tool)
        if scorer is not None and scorer not in scorers:
            raise OptionError(
                "The log has no scores of {scorer!r}. It has: {listed}. Name one with --value.",
                option="columns",
                scorer=scorer,
                listed=", ".join(scorers),
                known=tuple(scorers),
            )
        return scorers[0] if scorer is None else scorer


def _fact_columns(facts: Sequence[Mapping[str, Fact]]) -> dict[str, list[object]]:
    """Return a column per fact, null where it is unknown, as text where types differ."""
    types: dict[str, set[type]] = defaultdict(set)
    for of_sample in facts:
        for name, fact in of_sample.items():
            types[name].add(type(fact))
    columns: dict[str, list[object]] = {}
    for name, of_name in types.items():
        column = name
        while (
            column in RESERVED
            or column.startswith(Columns.probs)
            or (column != name and column in types)
        ):
            column = PREFIX + column
        values = [of_sample.get(name) for of_sample in facts]
        if len(of_name) > 1:
            columns[column] = [None if value is None else str(value) for value in values]
        else:
            columns[column] = list(values)
    return columns


def plain_facts(*sources: Mapping[str, object]) -> dict[str, Fact]:
    """Return the entries of mappings that are texts or numbers."""
    facts: dict[str, Fact] = {}
    for source in sources:
        for name, value in source.items():
            if isinstance(value, int) and abs(value) >= MAX_FACT:
                facts[name] = str(value)
            elif isinstance(value, str | int | float | bool):
                facts[name] = value
    return facts


def score_of(value: object) -> float | None:
    """Return a score as a number, NaN included; None for anything else.

    Args:
        value: A value of JSON.

    Returns:
        The number.

    Raises:
        DecodingError: It is infinite, or too large to be squared.
    """
    if not isinstance(value, bool | int | float):
        return None
    if abs(value) >= MAX_SCORE:
        raise DecodingError("the score is too large")
    return float(value)


def error_line(text: str) -> str:
    """Return the first line of an error that has any text."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "error")


def arm_names(
    models: Sequence[str], tasks: Sequence[str], settings: Sequence[Mapping[str, object]]
) -> list[str]:
    """Return the name of the arm of each part of a log: its model, and settings that differ.

    Args:
        models: Model of each part.
        tasks: Task of each part.
        settings: Further settings of each part, such as the temperature.

    Returns:
        A name for each part. Those of one model and task are the same arm if their settings are.
    """
    by_task: dict[tuple[str, str], list[Mapping[str, object]]] = defaultdict(list)
    for model, task, of_part in zip(models, tasks, settings, strict=True):
        by_task[model, task].append(of_part)
    differing = {
        name: None
        for parts in by_task.values()
        for name in dict.fromkeys(key for part in parts for key in part)
        if len({repr(part.get(name)) for part in parts}) > 1
    }
    return [
        " ".join([model, *(f"{name}={part[name]}" for name in differing if name in part)])
        for model, part in zip(models, settings, strict=True)
    ]
