"""What a study asks for, and the runs that follow from it; ids are digests of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from seedproof.errors import OptionError, StudyChangedError
from seedproof.records.location import is_unicode
from seedproof.records.schema import digest
from seedproof.seeds import SeedPlan
from seedproof.typing import is_count


@dataclass(frozen=True)
class RunSpec:
    """One training under one assignment of seeds.

    Args:
        study: Name of the study.
        target: Name of what is trained.
        arguments: What it is called with, beside the run.
        arm: The group of runs that differ only in seeds.
        threads: Threads that it may use: another number gives other bits.
        deterministic: Whether libraries are told to avoid algorithms that are not repeatable.
        name: What people call the run.
        seeds: Seed of each source.
    """

    study: str
    target: str
    arguments: tuple[str, ...]
    arm: str
    threads: int
    deterministic: bool
    name: str
    seeds: Mapping[str, int]

    @property
    def run_id(self) -> str:
        """Digest of everything that decides the run's outcome, but the code."""
        facts = asdict(self)
        del facts["name"]
        content = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return digest(content.encode())[:16]


@dataclass(frozen=True)
class StudySpec:
    """All runs of a study: every arm under every assignment of seeds.

    Args:
        name: Name of the study.
        target: Name of what is trained.
        seeds: The seed plan, which all arms share.
        arms: Names of the arms.
        arguments: What the target is called with, beside the run.
        threads: Threads a run.
        deterministic: Whether libraries are told to avoid algorithms that are not repeatable.
    """

    name: str
    target: str
    seeds: SeedPlan
    arms: tuple[str, ...] = ("none",)
    arguments: tuple[str, ...] = ()
    threads: int = 1
    deterministic: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise OptionError("A study needs a name. Give one, such as 'sst-cnn'.", option="name")
        if not self.arms or len(set(self.arms)) != len(self.arms) or not all(self.arms):
            raise OptionError(
                "The arms {arms!s} cannot be told apart. Give each a name of its own.",
                arms=list(self.arms),
            )
        texts = (self.name, *self.arms, *self.arguments)
        broken = next((text for text in texts if not is_unicode(text)), None)
        if broken is not None:
            raise OptionError("A name or argument is no UTF-8 text. Rename it.", given=broken)
        if not is_count(self.threads, least=1):
            raise OptionError(
                "{threads!r} threads a run are not possible. Give 1 or more.", threads=self.threads
            )

    def runs(self) -> tuple[RunSpec, ...]:
        """Every run, all arms of a seed together: an unfinished study is still paired."""
        return tuple(
            RunSpec(
                study=self.name,
                target=self.target,
                arguments=self.arguments,
                arm=arm,
                threads=self.threads,
                deterministic=self.deterministic,
                name=assignment.name,
                seeds=assignment.seeds,
            )
            for assignment in self.seeds.assignments()
            for arm in self.arms
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data, for `study.json`; the name is kept beside it."""
        facts = {name: value for name, value in vars(self).items() if name != "name"}
        return facts | {
            "seeds": self.seeds.as_json(),
            "arms": list(self.arms),
            "arguments": list(self.arguments),
        }

    @classmethod
    def from_json(cls, name: str, plan: Mapping[str, Any]) -> "StudySpec":
        """The study that `study.json` describes."""
        lists = {"arms": tuple(plan["arms"]), "arguments": tuple(plan["arguments"])}
        return cls(name=name, **dict(plan) | lists | {"seeds": SeedPlan(**plan["seeds"])})

    def joined(self, other: "StudySpec") -> "StudySpec":
        """The study that holds the runs of both: seeds and arms may be added."""
        seeds = self.seeds.grown_to(other.seeds)
        mine, theirs = (
            {"name": one.name, "target": one.target, "arguments": list(one.arguments)}
            | {"threads per run": one.threads, "deterministic": one.deterministic}
            | {"seed plan": one.seeds.as_json() if seeds is None else ""}
            for one in (self, other)
        )
        for setting, stored in mine.items():
            if theirs[setting] != stored:
                # Names in a list would be shown without its brackets.
                shown = "!s" if isinstance(stored, list) else "!r"
                raise StudyChangedError(
                    f"The store holds a study whose {{setting}} is {{stored{shown}}}, and now it "
                    f"is {{requested{shown}}}. Runs of both would be mixed up: use another store, "
                    "or the same settings.",
                    setting=setting,
                    stored=stored,
                    requested=theirs[setting],
                )
        arms = (*self.arms, *(arm for arm in other.arms if arm not in self.arms))
        return replace(self, seeds=seeds or self.seeds, arms=arms)


def as_plan(seeds: "int | SeedPlan", *, seed: int = 0) -> SeedPlan:
    """A seed plan from what people write: a number of runs, or a plan."""
    if not isinstance(seeds, SeedPlan):
        return SeedPlan.all(seeds, root=seed)
    if seed not in {0, seeds.root}:
        raise OptionError(
            "The seed plan comes from the root {root}, and seed is {seed}. "
            "Give the root to the plan, such as SeedPlan.all(10, root=5).",
            root=seeds.root,
            seed=seed,
        )
    return seeds


def as_names(arms: Sequence[str]) -> tuple[str, ...]:
    """Names of arms; a single text is one name, not a sequence of letters."""
    return (arms,) if isinstance(arms, str) else tuple(arms)
