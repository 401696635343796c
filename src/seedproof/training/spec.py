"""Specifications of a study and its runs; run ids are digests of them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from seedproof.errors import OptionError, StudyChangedError
from seedproof.records.location import is_unicode
from seedproof.records.manifest import StudyPlan
from seedproof.records.schema import digest
from seedproof.seeds import SeedPlan
from seedproof.training.masking import mask_arguments


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides the outcome of a run, except the code; and its short name."""

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
        """Digest of everything that decides the run's outcome, except the code."""
        facts = asdict(self)
        del facts["name"]
        content = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return digest(content.encode())[:16]


@dataclass(frozen=True)
class StudySpec:
    """All runs of a study: every arm under every assignment of seeds."""

    name: str
    target: str
    seeds: SeedPlan
    arms: tuple[str, ...] = ("none",)
    arguments: tuple[str, ...] = ()
    threads: int = 1
    deterministic: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise OptionError("A study needs a name. Pass one, such as 'sst-cnn'.", option="name")
        if not is_unicode(self.name):
            raise OptionError("A name is not valid UTF-8. Rename it.", given=self.name)
        if not self.arms:
            raise OptionError("A study needs an arm. Name one, such as 'none'.", arms=[])
        # Everything else is checked there.
        StudyPlan(**{key: value for key, value in vars(self).items() if key != "name"})

    def runs(self) -> tuple[RunSpec, ...]:
        """Return every run, all arms of a seed together: an unfinished study is still paired."""
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
        """Return plain data for `study.json`, without the name."""
        facts = {name: value for name, value in vars(self).items() if name != "name"}
        return facts | {
            "seeds": self.seeds.as_json(),
            "arms": list(self.arms),
            "arguments": list(self.arguments),
        }

    def joined(self, other: "StudySpec") -> "StudySpec":
        """Return the study with the runs of both: seeds and arms may be added."""
        seeds = self.seeds.grown_to(other.seeds)
        before, after = (
            {"name": study.name, "target": study.target, "arguments": list(study.arguments)}
            | {"threads per run": study.threads, "deterministic": study.deterministic}
            | {"seed plan": study.seeds.as_json() if seeds is None else ""}
            for study in (self, other)
        )
        recorded = mask_arguments(self.arguments).arguments
        if recorded != self.arguments and recorded == other.arguments:
            raise StudyChangedError(
                "The store has recorded secrets among its arguments, as earlier versions did, and "
                "its runs belong to them. Use another store, delete this one, and change the "
                "secrets.",
                setting="arguments",
            )
        before["arguments"] = list(recorded)
        for setting, stored in before.items():
            if after[setting] != stored:
                # Names in a list would be shown without its brackets.
                shown = "!s" if isinstance(stored, list) else "!r"
                raise StudyChangedError(
                    f"The store has a study whose {{setting}} is {{stored{shown}}}, but "
                    f"{{requested{shown}}} is requested. Use another store, or the same settings.",
                    setting=setting,
                    stored=stored,
                    requested=after[setting],
                )
        arms = (*self.arms, *(arm for arm in other.arms if arm not in self.arms))
        return replace(self, seeds=seeds or self.seeds, arms=arms)


def as_plan(seeds: "int | SeedPlan", *, seed: int = 0) -> SeedPlan:
    """Return a seed plan, given a number of seeds or a plan."""
    if not isinstance(seeds, SeedPlan):
        return SeedPlan.all(seeds, root=seed)
    if seed not in {0, seeds.root}:
        raise OptionError(
            "The seed plan has the root {root}, but seed is {seed}. "
            "Give the root to the plan, such as SeedPlan.all(10, root=5).",
            root=seeds.root,
            seed=seed,
        )
    return seeds
