"""Cautions next to verdicts whose interval is too short for runs with a long tail."""

from collections.abc import Callable
from dataclasses import replace

from seedproof.comparison.gate.judge import GateResult, RuleVerdict
from seedproof.comparison.gate.stage import Stage
from seedproof.messages import Message
from seedproof.stats.intervals import PLAIN

# Percent of simulated studies of log-normal runs, whose tail is on the wrong side of a limit that
# their mean just misses, that pass: by runs, with the 95 % interval and at a look. The same holds
# for fails, mirrored. 40,000 studies each.
WRONG = {5: (18, 9), 10: (16, 9), 20: (13, 7), 40: (10, 6), 80: (9, 4)}
# With more runs than this, a long tail shows in nine of ten studies that have one.
HIDDEN_TAIL = 10
MEDIAN = " The median needs no such assumption: name {metric}_median in place of {metric}."
MORE_RUNS = " More runs show how long it is."
SKEWED = (
    "The runs have a skewness of {skewness:+.1f}, and for {n_runs} runs with such a tail the "
    "interval of a mean is too short: of simulated studies of long-tailed runs at the limit, "
    "{share} % {verdict} wrongly instead of {nominal:g} %."
)
ASSUMED = (
    "Intervals of means over {n_runs} runs assume that the runs have no long tail, which so few "
    "may not show: of simulated studies of long-tailed runs at the limit, {share} % pass wrongly "
    "instead of {nominal:g} %.{median}"
)


def with_cautions(
    result: GateResult,
    skewness_of: Callable[[RuleVerdict], float | None],
    *,
    offers_median: bool = False,
) -> GateResult:
    """Add a caution to each verdict by an interval if runs are skewed toward the wrong side.

    `skewness_of` returns the skewness of the runs of a rule if it is clearly not 0.
    """
    rules = []
    for verdict in result.rules:
        side, skewness = _wrong_side(verdict), skewness_of(verdict)
        if side and skewness is not None and side * skewness > 0.0:
            offers = offers_median and verdict.effect is None and has_median(verdict.stage)
            remedy = MEDIAN if offers else MORE_RUNS
            caution = Message(
                "skewed-runs",
                SKEWED + remedy,
                skewness=skewness,
                metric=verdict.rule.metric,
                verdict=verdict.outcome,
                **_shares(verdict.stage),
            )
            verdict = replace(verdict, caution=caution)  # noqa: PLW2901 - the same verdict
        rules.append(verdict)
    return replace(result, rules=tuple(rules))


def assumed_tails(stage: Stage) -> Message:
    """Return the note on means of few runs, most of whose wrong verdicts show no skewness."""
    median = " A limit of NAME_median, for a metric NAME, needs no such assumption"
    median += "." if has_median(stage) else ", but more runs."
    return Message("assumed-tails", ASSUMED, median=median, **_shares(stage))


def has_median(stage: Stage) -> bool:
    """Return whether the runs are enough for an interval of the median, by the sign test."""
    return 0.5**stage.judged_runs <= stage.level.tail


def _wrong_side(verdict: RuleVerdict) -> int:
    """Return the sign of the skewness that makes a verdict doubtful; 0 if it was not judged."""
    if verdict.reason != "interval":
        return 0
    rule = verdict.rule
    is_floor = rule.kind == "min" or (rule.kind == "no-worse" and rule.better == "higher")
    return -1 if is_floor == (verdict.outcome == "pass") else 1


def _shares(stage: Stage) -> dict[str, object]:
    n_runs = max(n for n in WRONG if n <= max(stage.judged_runs, min(WRONG)))
    return {
        "n_runs": stage.judged_runs,
        "share": WRONG[n_runs][0 if stage.level == PLAIN else 1],
        "nominal": round(100 * stage.level.tail, 6),
    }
