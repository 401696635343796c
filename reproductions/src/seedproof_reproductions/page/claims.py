"""What a paper claims, each beside what we found, and how that is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any, TypeAlias

from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN, SHARE_OPEN, SIZE_OPEN, Verdict
from seedproof_reproductions.page.words import in_all, table

Claim: TypeAlias = Mapping[str, Any]
VERDICTS = (HOLDS, FAILS, SIZE_OPEN, SHARE_OPEN, OPEN)


@dataclass(frozen=True)
class Check:
    """A claim beside one result of ours.

    Args:
        dataset: Which data set, by its name in code.
        where: Setting, and arm or method.
        published: What the paper says there.
        ours: What we found, with its interval.
        verdict: What follows.
        group: What several checks have in common, where their verdicts are told apart.
    """

    dataset: str
    where: str
    published: str
    ours: str
    verdict: Verdict
    group: str = ""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with all of its checks.

    Args:
        claim: As in `published.toml`: a `name`, what it `says`, and `where`.
        checks: One for each result that it is about.
        tables: A sentence on what the paper's tables give, where that is another number.
        missing: Data sets that it is about and that were not run, for people.
    """

    claim: Claim
    checks: tuple[Check, ...]
    tables: str = ""
    missing: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each check."""
        return tuple(check.verdict for check in self.checks)

    @property
    def says(self) -> str:
        """What the paper says, and what its tables do."""
        return " ".join(part for part in (self.claim["says"], self.tables) if part)

    @property
    def summary(self) -> str:
        """All verdicts in one line, each group of checks for itself."""
        groups: dict[str, list[Verdict]] = {}
        for check in self.checks:
            groups.setdefault(check.group, []).append(check.verdict)
        if set(groups) <= {""}:
            return summed_up(self.verdicts)
        return "; ".join(f"{group}: {summed_up(found)}" for group, found in groups.items())


def summed_up(verdicts: Sequence[Verdict]) -> str:
    """Several verdicts in one line, those that hold first."""
    counts = {one: verdicts.count(one) for one in VERDICTS if one in verdicts}
    if not counts:
        return "not covered by our runs"
    if len(counts) == 1:
        return f"{verdicts[0]}{in_all(len(verdicts))}"
    return "; ".join(f"{one} in {count} of {len(verdicts)}" for one, count in counts.items())


def tally(claims: Sequence[CheckedClaim]) -> str:
    """How many claims hold, as a small table in Markdown."""
    n_missing = sum(not one.checks for one in claims)
    n_failed = sum(FAILS in one.verdicts for one in claims)
    n_held = sum(set(one.verdicts) == {HOLDS} for one in claims)
    n_open = len(claims) - n_missing - n_failed - n_held
    counts = {
        "holds here in every comparison": n_held,
        "does not hold here in at least one": n_failed,
        "is open in at least one, and fails in none": n_open,
        "is not covered by our runs": n_missing,
    }
    return table(
        (f"of {len(claims)} claims of the paper", "how many"),
        [(words, str(count)) for words, count in counts.items()],
    )


def claims_table(claims: Sequence[CheckedClaim]) -> str:
    """Each claim with its verdicts in one line, as a table in Markdown."""
    return table(
        ("the paper says", "where", "verdict"),
        [(one.says, one.claim["where"], one.summary) for one in claims],
    )


def checks_table(checks: Sequence[Check]) -> str:
    """The comparisons behind a verdict, as a table in Markdown."""
    return table(
        ("", "published", "ours", "verdict"),
        [(check.where, check.published, check.ours, check.verdict) for check in checks],
    )


def folded(title: str, content: str) -> str:
    """A part of a page that is closed until somebody opens it."""
    return f'??? quote "{title}"\n\n{indent(content, " " * 4)}'
