"""Samples of an evaluation: one answer of a model to one example, with its scores."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from seedproof.errors import EmptyInputError, OptionError
from seedproof.messages import Message
from seedproof.records.shards import natural_order

# A fact about an example, such as its topic.
Fact: TypeAlias = str | int | float | bool
# Columns of the table that a log becomes; facts of the same names keep a prefix.
EXAMPLE, TRIAL, VALUE, TASK = "example", "trial", "value", "task"
RESERVED = frozenset(
    {EXAMPLE, TRIAL, VALUE, TASK, "run", "judge", "arm", "target", "id", "answer", "label"}
)
PREFIX = "log_"


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

    @property
    def notes(self) -> list[Message]:
        """Notes on how the log was read."""
        notes = []
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
        return Log(self.tool, kept)

    def groups(self) -> dict[str, "Log"]:
        """Return the samples of each arm and task, by a name of its own."""
        arms, tasks = self.arms, self.tasks
        groups: dict[str, Log] = {}
        for arm in arms:
            for task in dict.fromkeys(x.task for x in self.samples if x.arm == arm):
                parts = [arm] * (len(arms) > 1 or len(tasks) == 1) + [task] * (len(tasks) > 1)
                groups[" · ".join(parts)] = self.only(arm=arm, task=task)
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
        """
        scorers = tuple(dict.fromkeys(name for sample in self.samples for name in sample.scores))
        chosen = self._chosen(scorer, scorers)
        values = {
            (sample.example, sample.trial): sample.scores.get(
                chosen, math.nan if failed_as is None or sample.error is None else failed_as
            )
            for sample in self.samples
        }
        trials = natural_order(list({trial for _, trial in values}))
        facts = _facts(self.samples)
        rows: dict[str, list[object]] = defaultdict(list)
        n_incomplete = 0
        for example, of_example in facts.items():
            scores = [values.get((example, trial), math.nan) for trial in trials]
            if any(map(math.isnan, scores)):
                n_incomplete += 1
                continue
            for trial, score in zip(trials, scores, strict=True):
                rows[EXAMPLE].append(example)
                rows[TRIAL].append(trial)
                rows[VALUE].append(score)
                for name, fact in of_example.items():
                    rows[name].append(fact)
        if not rows:
            raise EmptyInputError(
                "No example in the log of {tool} has a score of {scorer!r} in each of the "
                "{n_trials} trials.",
                tool=self.tool,
                scorer=chosen,
                n_trials=len(trials),
            )
        return Sheet(
            pa.table(dict(rows)),
            chosen,
            tuple(name for name in scorers if name != chosen),
            len(self.samples),
            Counter(sample.error for sample in self.samples if sample.error is not None),
            sum(sample.n_retries > 0 for sample in self.samples),
            sum(sample.is_cached for sample in self.samples),
            n_incomplete,
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


def _facts(samples: Iterable[Sample]) -> dict[str, dict[str, Fact | None]]:
    """Return the same facts of every example, None where unknown, as text where types differ."""
    given: dict[str, dict[str, Fact]] = {}
    for sample in samples:
        given.setdefault(sample.example, {}).update(sample.facts)
    names = dict.fromkeys(name for facts in given.values() for name in facts)
    types = {
        name: {type(facts[name]) for facts in given.values() if name in facts} for name in names
    }
    is_text = {name for name, of_name in types.items() if len(of_name) > 1}
    return {
        example: {
            PREFIX * (name in RESERVED) + name: (
                str(facts[name]) if name in is_text and name in facts else facts.get(name)
            )
            for name in names
        }
        for example, facts in given.items()
    }


def plain_facts(*sources: Mapping[str, object]) -> dict[str, Fact]:
    """Return the entries of mappings that are texts or numbers."""
    return {
        str(name): value
        for source in sources
        for name, value in source.items()
        if isinstance(value, str | int | float | bool)
    }


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
