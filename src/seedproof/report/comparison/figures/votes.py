"""How the runs vote on an example, before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seedproof.comparison.arms.result import VOTE_SHARES, ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.report.comparison.figures.names import drawn_arms
from seedproof.report.comparison.groups import foremost
from seedproof.report.figures import Figure
from seedproof.report.numbers import NO_BREAK

MAX_VOTES = 6
VOTE_NAMES = ("all", "90", "80", "70", "60", "less")


def votes(comparison: Comparison) -> tuple[Figure, ...]:
    """How many examples go from one share of votes to another, a chart for each of a few arms."""
    called = drawn_arms(comparison)
    arms = [arm for arm in foremost(comparison) if arm.votes is not None][:MAX_VOTES]
    limits = _count_limits(comparison.baseline.measurement.n_examples)
    return tuple(_votes(comparison, arm, called, limits, i) for i, arm in enumerate(arms))


def _votes(
    comparison: Comparison,
    arm: ComparedArm,
    called: Mapping[str, str],
    limits: Sequence[int],
    index: int,
) -> Figure:
    assert arm.votes is not None  # noqa: S101 - asked before
    rows: list[dict[str, Any]] = [
        {
            "before": VOTE_NAMES[column],
            "after": VOTE_NAMES[row],
            "count": int(arm.votes[row, column]),
            "text": _counted(int(arm.votes[row, column])),
            "step": int(np.searchsorted(limits, arm.votes[row, column], side="right")),
            "moved": "kept" if row == column else "yes",
        }
        for row in range(len(VOTE_SHARES))
        for column in range(len(VOTE_SHARES))
    ]
    steadier, shaken = moved_examples(arm)
    return Figure(
        name=f"votes_before_after_{index}",
        section="Example by example",
        title=arm.name,
        takeaway=Message(
            "examples-settled",
            "{n_more:,} examples more settled, {n_less:,} less.",
            n_more=steadier,
            n_less=shaken,
        ),
        reading=_reading(comparison, arm),
        rows=rows,
        facts={
            "names": list(VOTE_NAMES),
            "x": f"% of votes with {called[comparison.baseline.name]}".replace("\\", "\\\\"),
            "y": f"% of votes with {called[arm.name]}".replace("\\", "\\\\"),
        },
        header=("before", "after", "examples"),
        numbers=[(r["before"], r["after"], f"{r['count']:,}") for r in rows if r["count"]],
        alone={
            "title": f"Examples by their share of votes: {comparison.baseline.name} → {arm.name}",
            "legend": vote_legend(comparison),
        },
    )


def moved_examples(arm: ComparedArm) -> tuple[int, int]:
    """How many examples reach a larger share of votes, and how many a smaller one."""
    if arm.votes is None:
        return 0, 0
    return int(np.triu(arm.votes, 1).sum()), int(np.tril(arm.votes, -1).sum())


def _reading(comparison: Comparison, arm: ComparedArm) -> list[Message]:
    reading = []
    effect = arm.effects.get("label_entropy")
    if effect is not None and effect.value is not None:
        word = "falls" if effect.value <= 1 else "rises"
        reading.append(
            Message(
                f"entropy-{word}",
                f"Label entropy {word} by {{percent:.0f}}{NO_BREAK}%.",
                percent=abs(100 * (1 - effect.value)),
            )
        )
    n_base, n_arm = comparison.baseline.measurement.n_runs, arm.measurement.n_runs
    if n_base != n_arm:
        reading.append(
            Message(
                "uneven-arms",
                "{n_base} and {n_arm} runs: fewer runs look more settled.",
                n_base=n_base,
                n_arm=n_arm,
            )
        )
    return reading


def _count_limits(n_examples: int) -> list[int]:
    """From which counts on a cell is one step darker; a thousand examples need finer ones."""
    factor = 10 ** max(0, int(np.ceil(np.log10(n_examples / 5000))))
    return [1, *(factor * limit for limit in (5, 20, 60, 200))]


def vote_legend(comparison: Comparison) -> list[tuple[str, str, str]]:
    """The steps of the counts in words."""
    limits = _count_limits(comparison.baseline.measurement.n_examples)
    ends = [f"–{after - 1:,}" for after in limits[1:]]
    texts = [f"{start:,}{end}" for start, end in zip(limits[:-1], ends, strict=True)]
    texts = [f"{texts[0]} examples", *texts[1:], f"{limits[-1]:,} and more"]
    return [("band", f"r{step}", text) for step, text in enumerate(texts, start=1)]


def _counted(count: int) -> str:
    if not count:
        return ""
    if count < 100_000:
        return f"{count:,}"
    return f"{count / 1e6:.1f}M" if count >= 1_000_000 else f"{count // 1000}k"
