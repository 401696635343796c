"""Advice on the rules of a gate that do not pass."""

from seedproof.comparison.gate.judge import RuleVerdict
from seedproof.comparison.gate.rules import Rule
from seedproof.measurement.selection import is_metric
from seedproof.messages import Message
from seedproof.metrics.card import Unit, card
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report.numbers import WithUnit

# Recommended runs, where there are too few for a verdict.
BETTER_RUNS = 10
# Advice by the reason why a rule is open; `{where}` becomes " on each side" of a comparison.
ADVICE = {
    "next look": "Next look: {next_look} runs{where} ({more_runs} more). If the value stays near "
    "{value}, {share} there.",
    "last look": "{judged_runs} runs are the last look, and it leaves this open. Decide manually, "
    "or change the limit.",
    "too few examples": "More examples are needed: more {repeats} are unlikely to settle it.",
    "too few trials or examples": "More trials of each example, or more examples, may settle it. "
    "If the number of trials was decided beforehand, pass --declared-runs {n_runs}.",
    "too few judges or examples": "The same judges grade every answer, so more {repeats} hardly "
    "narrow the interval. More judges, or more examples, may settle it.",
    "too few runs": "A verdict needs {next_look} runs{where}{preferably}: add {more_runs}.",
    "declared runs missing": "{declared} runs were declared, and not all of them are finished. "
    "Finish them, or pass `--allow missing-runs`.",
    "between looks": "A report of {n_runs} runs cannot be judged: its figures are of all runs, and "
    "the look is at {judged_runs}. Pass the records.",
    "unlike numbers of runs": "Use equally many runs on both sides: the metric grows with them.",
    "no interval": "There is no interval: the runs do not differ, or are too few, or one of them "
    "causes all of the spread. Add runs.",
    "untrusted input": "Fix the input first: a check reports an error.",
}
# Advice in place of that for `no interval` if the figure is 0, by whether the rule compares.
AT_ZERO = {
    "no-spread": "There is no interval, because no two {repeats} differ in this figure: a value of "
    "0 does not limit the true one. Add {repeats} or examples, or limit a share of examples such "
    "as flip_rate, which has an upper bound even at 0.",
    "no-ratio": "There is no interval: both sides are 0, which leaves their ratio unknown. Add "
    "examples, or limit the value itself with --max.",
}


def advice(verdict: RuleVerdict) -> Message | None:
    """Return what to do; None if the rule holds."""
    if verdict.outcome == "pass":
        return None
    if verdict.outcome == "fail":
        return Message(
            "fail", "Fix the model or its training, or change the limit and document why."
        )
    each_side, stage = verdict.rule.kind == "no-worse", verdict.stage
    value = WithUnit(verdict.estimate.value, unit_of(verdict.rule))
    is_usual = stage.next_look == VERDICT_FROM
    code, template = verdict.reason.replace(" ", "-"), ADVICE[verdict.reason]
    values = [x.value for x in (verdict.estimate, verdict.baseline) if x is not None]
    if verdict.reason == "no interval" and not any(values):
        code = "no-ratio" if each_side else "no-spread"
        template = AT_ZERO[code]
    return Message(
        code,
        template,
        where=" on each side" if each_side else "",
        value=value,
        share=studies(verdict.chance or 0.0),
        preferably=f", preferably {BETTER_RUNS}" if is_usual else "",
        n_runs=stage.n_runs,
        judged_runs=stage.judged_runs,
        next_look=stage.next_look,
        more_runs=stage.more_runs,
        declared=stage.declared,
        repeats=stage.repeats,
        each_side=each_side,
    )


def studies(chance: float) -> str:
    """Return a probability as a number of studies out of ten that decide."""
    of_ten = round(10 * chance)
    if of_ten < 1:
        return "fewer than 1 of 10 such studies decide"
    if of_ten > 9:
        return "almost all such studies decide"
    return f"about {of_ten} of 10 such studies decide"


def unit_of(rule: Rule) -> Unit:
    """Return the unit of the metric of a rule; `score` if it is not a known metric."""
    if rule.is_own:
        return "value"
    return card(rule.metric).unit if is_metric(rule.metric) else "score"
