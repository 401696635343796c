"""Claims of a paper, read from `claims.toml` and judged by one evaluator.

A claim names its rule, its metric, and the arms and data sets that it is about. A paper turns its
results into cases: one per setting and arm, with the evidence that the rule needs. `evaluate` gives
each case a verdict that follows from an interval alone, by `rules`. The first case is the one
nearest to the paper's setting. It alone decides the claim, so that further comparisons do not make
a claim easier or harder to hold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from seedproof_reproductions import figures
from seedproof_reproductions.deciding import forecast_claim
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.rules import RULES, Evidence, Verdict, judge


@dataclass(frozen=True)
class Claim:
    """A claim as in `claims.toml`."""

    name: str
    says: str
    topic: str  # short form for the summary of a page
    where: str  # sections and tables of the paper
    rule: str  # one of `RULES`
    metric: str = ""
    method: str = ""  # method of the explanations, or table of the paper
    arms: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()  # empty for all
    published: tuple[float, ...] = ()  # a cut in percent, or both ends of a range
    expected: str = ""  # the published value in words, such as "lower"
    more: Mapping[str, Any] = field(default_factory=dict)  # all other keys

    @property
    def in_full(self) -> str:
        """The statement, followed by its `note` on other numbers in the paper, if any."""
        return f"{self.says} {self.more.get('note', '').format(**self.more)}".rstrip()


@dataclass(frozen=True)
class Case:
    """A result that a claim is about; `evaluate` adds the verdict and missing texts."""

    dataset: str
    where: str  # setting, and arm or method, as on the page
    evidence: Evidence
    published: str = ""  # as text; from claim and evidence if omitted
    ours: str = ""  # as text; from the evidence if omitted
    group: str = ""  # cases of a group are summarized together
    setting: str = ""  # its title, if it has a case for each part of the claim
    part: str = ""  # what follows the setting in `where`
    absent: tuple[str, ...] = ()  # parts of the claim that this setting does not have
    verdict: Verdict = Verdict.OPEN
    to_decide: str = ""  # what would decide an open case, in words

    @property
    def words(self) -> str:
        """The verdict on the page, with what would decide an open case."""
        return f"{self.verdict.words}; {self.to_decide}" if self.to_decide else self.verdict.words


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with a judged case for each result that it is about, and the data sets not run."""

    claim: Claim
    checks: tuple[Case, ...]
    missing: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each check."""
        return tuple(check.verdict for check in self.checks)

    @property
    def outcome(self) -> str:
        """`hold`, `fail` or `open` by the first check; `missing` without a check."""
        if not self.checks:
            return "missing"
        first = self.checks[0].verdict
        return {Verdict.HOLDS: "hold", Verdict.FAILS: "fail"}.get(first, "open")

    @property
    def decision(self) -> str:
        """The verdict of the first check, and those of the others."""
        if not self.checks:
            return summarize(())
        first, *others = self.checks
        further = _by_group(others)
        also = "".join(f"; {x.part}: {x.verdict.words}" for x in self.of_the_same_setting)
        also += "".join(f"; {part}: {summarize(())}" for part in first.absent)
        return f"**{first.words}** ({first.where}{also})" + (
            f". Further comparisons: {further}" if further else ""
        )

    @property
    def of_the_same_setting(self) -> tuple[Case, ...]:
        """Further checks in the setting of the first, such as those of another arm."""
        first, *others = self.checks
        return tuple(x for x in others if first.setting and x.setting == first.setting)

    @property
    def summary(self) -> str:
        """All verdicts in one line, separately for each group of checks."""
        return _by_group(self.checks) or summarize(())

    @property
    def exception(self) -> str:
        """Words on further comparisons that differ from the first; empty if none does.

        In the setting of the first any other verdict counts, elsewhere the contrary.
        """
        contrary = {"hold": Verdict.FAILS, "fail": Verdict.HOLDS}.get(self.outcome)
        if contrary is None:
            return ""
        parts = [
            f"{check.part}: {check.verdict.words}"
            for check in self.of_the_same_setting
            if check.verdict != self.checks[0].verdict
        ]
        parts += [f"{part}: {summarize(())}" for part in self.checks[0].absent]
        if n_contrary := self.verdicts[1:].count(contrary):
            noun = "comparison" if n_contrary == 1 else "comparisons"
            parts.append(f"{contrary.words} in {n_contrary} further {noun}")
        return "; ".join(parts)


def _by_group(checks: Sequence[Case]) -> str:
    """Verdicts of each group of checks; a group without a name stands alone."""
    groups: dict[str, list[Verdict]] = {}
    for check in checks:
        groups.setdefault(check.group, []).append(check.verdict)
    parts = (
        f"{group}: {summarize(verdicts)}" if group else summarize(verdicts)
        for group, verdicts in groups.items()
    )
    return "; ".join(parts)


def read_claims(package: str) -> tuple[Claim, ...]:
    """Read `claims.toml` of a paper's package; an unknown rule is a `ValueError`."""
    return tuple(_claim(entry) for entry in read_toml(package, "claims.toml")["claims"])


def _claim(entry: Mapping[str, Any]) -> Claim:
    if entry["rule"] not in RULES:
        raise ValueError(f"unknown rule {entry['rule']!r} of {entry['name']!r}; known: {[*RULES]}")
    values: dict[str, Any] = {
        name: tuple(x) if isinstance(x, list) else x for name, x in entry.items()
    }
    more = {name: values.pop(name) for name in entry.keys() - {item.name for item in fields(Claim)}}
    return Claim(**values, more=more)


def evaluate(
    claims: Sequence[Claim], cases: Callable[[Claim], Iterable[Case]]
) -> tuple[CheckedClaim, ...]:
    """Judge every claim on the results that it is about, as `cases` returns them."""
    checked = []
    for claim in claims:
        checks = tuple(_check(claim, case) for case in cases(claim))
        covered = {check.dataset for check in checks}
        missing = tuple(name for name in claim.datasets if name not in covered)
        checked.append(CheckedClaim(claim, checks, missing))
    return tuple(checked)


def _check(claim: Claim, case: Case) -> Case:
    evidence = case.evidence
    published = case.published or claim.expected or figures.cut(evidence.published or 0.0)
    ours, verdict = case.ours or _ours(claim, evidence), judge(claim.rule, evidence)
    is_decided = verdict in {Verdict.HOLDS, Verdict.FAILS}
    needed = "" if is_decided else forecast_claim(claim.rule, evidence).words
    return replace(case, verdict=verdict, to_decide=needed, published=published, ours=ours)


def _ours(claim: Claim, evidence: Evidence) -> str:
    """Our figure as text."""
    match claim.rule:
        case "value" | "range":
            return figures.figure(claim.metric, evidence.estimate)
        case "positive":
            return figures.points(evidence.estimate)
        case "share":
            return figures.share(evidence.estimate)
        case "correlation":
            return figures.correlation(evidence.estimate)
    effect = figures.change(evidence.effect)
    others = [f"{figures.change(other)} with {arm}" for arm, other in evidence.others.items()]
    return f"{effect}; {figures.listed(others)}" if others else effect


def summarize(verdicts: Sequence[Verdict]) -> str:
    """Join verdicts in one line, such as "holds here in 1 of 3, not shown here in 2 of 3"."""
    if not verdicts:
        return "not covered by our runs"
    n = len(verdicts)
    counts = {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
    if len(counts) > 1:
        return ", ".join(f"{code.words} in {count} of {n}" for code, count in counts.items())
    tail = {1: "", 2: ", in both comparisons"}.get(n, f", in all {n} comparisons")
    return f"{verdicts[0].words}{tail}"
