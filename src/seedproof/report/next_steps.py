"""At most three concrete next steps, which follow from the figures."""

from math import ceil, floor, log10

from seedproof.comparison.arms.result import Comparison
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.report.sentences import drift, spread_cause

MAX_STEPS = 3
# From this flip rate on, a mitigation is worth its cost in most uses.
MANY_FLIPS = 0.01

SENTENCES = {
    "add-runs": "Add runs: {n_runs} are too few for verdicts. Train at least {at_least}; "
    "`seedproof run` trains the missing ones only.",
    "add-labels": "Add labels, so that accuracy and calibration can be measured.",
    "fix-threshold": "Fix the share of {class_name!r} predictions: runs differ mostly in their "
    "decision threshold. `seedproof compare --match-rates` shows how many flips remain.",
    "check-labels": "Check the labels of the {n_split:,} examples that are split more evenly than "
    "3 to 1; they are listed first among the unstable examples.",
    "mitigate": "Make training more stable: average the weights, or train several heads on one "
    "encoder. Then retrain with the same seeds and run `seedproof compare`.",
    "set-limit": "Set a limit in CI: `seedproof gate --max flip_rate={limit:g}` accepts today's "
    "{flip_rate} and fails if retraining flips more than {percent}.",
    "repair-input": "Repair the input first: the check {check} reports an error.",
    "read-cautions": "Read the cautions first: they name what gets worse.",
    "adopt": "If the cost of {arm} is acceptable, train with it and set a limit: `seedproof gate "
    "--max flip_rate={limit:g}`.",
    "choose-cheaper": "Choose the arm that costs less: flips are equivalent.",
    "plan": "Plan more seeds: `seedproof plan --pilot STORE --detect-flip-ratio 0.8` computes how "
    "many are needed to show a reduction of 20 %.",
}
_say = Sentences(SENTENCES)


def after_measuring(measurement: Measurement) -> tuple[Message, ...]:
    """Return the steps that follow from a measurement, the most urgent first."""
    flips, n_runs = measurement.metrics["flip_rate"], measurement.n_runs
    is_short = n_runs < VERDICT_FROM
    steps = []
    if is_short:
        steps.append(_say("add-runs", n_runs=n_runs, at_least=VERDICT_FROM))
    if not measurement.n_labeled:
        steps.append(_say("add-labels"))
    elif spread_cause(measurement) == "drift":
        steps.append(_say("fix-threshold", class_name=drift(measurement)[0]))
    if flips.value >= MANY_FLIPS:
        steps.append(_say("mitigate"))
    n_split = round(measurement.metrics["high_entropy_share"].value * measurement.n_examples)
    if measurement.n_labeled and n_split:
        steps.append(_say("check-labels", n_split=n_split))
    if flips.high and not is_short:
        rate, limit = WithUnit(flips.value, "percent"), _rounded_up(flips.high)
        percent = f"{100 * limit:g}{NO_BREAK}%"
        steps.append(_say("set-limit", limit=limit, flip_rate=rate, percent=percent))
    return tuple(steps[:MAX_STEPS])


def after_comparing(comparison: Comparison, *, has_cautions: bool) -> tuple[Message, ...]:
    """Return the steps that follow from a comparison, the most urgent first."""
    if comparison.has_texts or not comparison.has_classes:
        return ()
    n_runs = min(arm.measurement.n_runs for arm in (comparison.baseline, *comparison.arms))
    quality = comparison.quality or "accuracy"
    losing = {
        arm.name
        for arm in comparison.arms
        if quality in arm.effects and arm.effects[quality].verdict == "worse"
    }
    steadier = [
        arm
        for arm in comparison.arms
        if arm.effects["flip_rate"].verdict == "steadier" and arm.name not in losing
    ]
    steps = []
    if comparison.errors:
        check = next(iter(comparison.errors.values()))
        steps.append(_say("repair-input", check=check.name))
    if n_runs < VERDICT_FROM:
        steps.append(_say("add-runs", n_runs=n_runs, at_least=VERDICT_FROM))
    if has_cautions:
        steps.append(_say("read-cautions"))
    if steadier:
        arm = min(steadier, key=lambda arm: arm.measurement.metrics["flip_rate"].value)
        high = arm.measurement.metrics["flip_rate"].high
        if high:
            steps.append(_say("adopt", arm=arm.name, limit=_rounded_up(high)))
    elif all(arm.effects["flip_rate"].verdict == "equivalent" for arm in comparison.arms):
        steps += [] if losing else [_say("choose-cheaper")]
    elif not losing and len(comparison.errors) < len(comparison.arms):
        steps.append(_say("plan"))
    return tuple(steps[:MAX_STEPS])


def _rounded_up(value: float) -> float:
    """Return a value rounded up to two significant digits."""
    unit = 10.0 ** (floor(log10(value)) - 1)
    return float(f"{ceil(value / unit) * unit:.2g}")
