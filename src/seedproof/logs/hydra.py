"""Sweeps of Hydra: a folder per job, with its overrides and the files that the job wrote."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from seedproof.errors import NotFoundError, OptionError
from seedproof.messages import Message
from seedproof.records.location import check_inside
from seedproof.records.shards import natural_order

TOOL = "hydra"
OVERRIDES = Path(".hydra") / "overrides.yaml"
# Endings of the keys that hold a seed.
SEEDS = ("seed", "random_state")


@dataclass(frozen=True)
class Job:
    """A job of a sweep."""

    folder: Path
    overrides: Mapping[str, str]

    @property
    def arm(self) -> str:
        """All overrides but the seed."""
        return " ".join(f"{key}={x}" for key, x in self.overrides.items() if not is_seed(key))

    @property
    def run(self) -> str:
        """The seed; the name of the folder if there is none."""
        seeds = [value for key, value in self.overrides.items() if is_seed(key)]
        return "-".join(seeds) or self.folder.name

    def file(self, name: str) -> Path:
        """Return the place of a file that the job wrote."""
        return self.folder / name


@dataclass(frozen=True)
class Sweep:
    """Jobs, or runs of a tracker, that wrote a table of the same name."""

    name: str
    jobs: Sequence[Job]
    notes: tuple[Message, ...] = field(default=(), kw_only=True)  # on how they were read

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, in order of appearance."""
        return tuple(dict.fromkeys(job.arm for job in self.jobs))

    @property
    def files(self) -> dict[str, Path]:
        """The table of each job that wrote one, by the name of its run."""
        wrote = [job for job in self.jobs if job.file(self.name).is_file()]
        # Jobs of two sweeps may have the same seed, and even the same number.
        names = [[job.run, f"{job.run}-{job.folder.name}", str(job.folder)] for job in wrote]
        counts = Counter(name for of_job in names for name in set(of_job))
        return {
            next((name for name in of_job if counts[name] == 1), of_job[-1]): job.file(self.name)
            for of_job, job in zip(names, wrote, strict=True)
        }

    @property
    def failed(self) -> tuple[str, ...]:
        """Folders of the jobs that wrote no table."""
        return tuple(job.folder.name for job in self.jobs if not job.file(self.name).is_file())

    @property
    def title(self) -> str:
        """Subject of sentences about it."""
        return "The sweep"

    def only(self, *, arm: str | None = None, task: str | None = None) -> Self:
        """Return the jobs of one arm.

        Args:
            arm: Name of the arm; all if omitted.
            task: Must be omitted: jobs have no tasks.

        Returns:
            The same with these jobs alone.

        Raises:
            OptionError: No job has this arm, or a task is named.
        """
        if task is not None:
            raise OptionError("`{option}` applies to logs of evaluations.", option="task")
        if arm is not None and arm not in self.arms:
            raise OptionError(
                "{source} has no arm {arm!r}. It has: {listed}.",
                option="arm",
                source=self.title,
                arm=arm,
                listed=", ".join(self.arms),
                known=self.arms,
            )
        return replace(self, jobs=[job for job in self.jobs if arm in {None, job.arm}])

    def groups(self) -> dict[str, Self]:
        """Return the jobs of each arm."""
        return {arm: self.only(arm=arm) for arm in self.arms}


def sweep_in(folder: Path, suffixes: frozenset[str]) -> Sweep | None:
    """Return the sweep in a folder, if there is one.

    Args:
        folder: Folder of the sweep, or one above it.
        suffixes: Suffixes of tables.

    Returns:
        Its jobs; None if no folder in it is a job.

    Raises:
        NotFoundError: The jobs wrote no table, or tables of several names.
    """
    if not folder.is_dir():
        return None
    places = natural_order([str(path) for path in folder.rglob(str(OVERRIDES))])
    for place in places:
        check_inside(folder, Path(place))
    jobs = [Job(Path(place).parent.parent, _overrides(Path(place))) for place in places]
    if not jobs:
        return None
    tables = [
        file
        for job in jobs
        for file in job.folder.iterdir()
        if file.suffix.lower() in suffixes and file.is_file()
    ]
    for file in tables:
        check_inside(folder, file)
    names = Counter(file.name for file in tables)
    if len(names) != 1:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()))
        raise NotFoundError(
            "The {n_jobs} jobs in {path!r} wrote {listed}. Select one table with a glob pattern, "
            "such as {pattern!r}.",
            n_jobs=len(jobs),
            path=str(folder),
            listed=listed or "no table",
            pattern=str(folder / "**" / (names.most_common(1)[0][0] if names else "*.csv")),
        )
    return Sweep(next(iter(names)), jobs)


def _overrides(file: Path) -> dict[str, str]:
    """Return the overrides of a job; the file is a list with one of them per line."""
    lines = (line.strip() for line in file.read_text(errors="replace").splitlines())
    texts = (line.removeprefix("- ").strip("'\"") for line in lines if line.startswith("- "))
    pairs = (text.lstrip("+~").partition("=") for text in texts)
    return {key: value for key, _, value in pairs}


def is_seed(key: str) -> bool:
    """Return whether a setting is a seed, by its name."""
    return key.rpartition(".")[2].lower().endswith(SEEDS)
