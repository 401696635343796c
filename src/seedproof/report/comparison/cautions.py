"""What a person should beware of: other metrics, uneven arms, costs, and what cannot be told."""

from collections.abc import Sequence

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.metrics.card import card
from seedproof.report.comparison import amounts
from seedproof.report.comparison.groups import BAD, Series, names, with_verdict
from seedproof.report.numbers import NO_BREAK
from seedproof.report.words import ENOUGH_RUNS, NO_LABELS, NO_PROBABILITIES, ONLY_TOP

# Further metrics that a person is warned of; the others have a sentence of their own.
WATCHED = ("ece", "nll", "brier", "predictive_js", "label_entropy_corrected", "ece_sd", "nll_sd")
MAX_WATCHED = 2
# How many times as much as the baseline is worth a word.
COSTLY = 1.5


def warnings(comparison: Comparison) -> list[Message]:
    """What else gets worse, arms with other numbers of runs, and what costs more."""
    worse = [name for name in WATCHED if with_verdict(comparison, name, *BAD)]
    messages = [_gets_worse(comparison, name) for name in worse[:MAX_WATCHED]]
    n_more = len(worse) - MAX_WATCHED
    if n_more > 0:
        noun = "metric is" if n_more == 1 else "metrics are"
        messages.append(
            Message(
                "further-metrics-worse",
                f"{{n_more}} further {noun} worse or less steady.",
                n_more=n_more,
            )
        )
    n_base = comparison.baseline.measurement.n_runs
    uneven = [arm for arm in comparison.arms if arm.measurement.n_runs != n_base]
    if uneven:
        messages.append(_uneven([comparison.baseline, *uneven]))
    return messages + costs(comparison)


def _gets_worse(comparison: Comparison, metric: str) -> Message:
    arms = with_verdict(comparison, metric, *BAD)
    effects = tuple(arm.effects[metric] for arm in arms)
    return Message(
        "metric-worse",
        "{title}: {verdict} with {arms} ({direction} by {amount}).",
        metric=metric,
        title=card(metric).title,
        verdict=effects[0].verdict,
        arms=names(arms),
        direction=amounts.direction(effects[0]),
        amount=amounts.Size(effects[0])
        if len(arms) == 1
        else amounts.Amounts(effects, amounts.span),
    )


def _uneven(arms: Sequence[ComparedArm]) -> Message:
    counted = [
        Message("runs-of-arm", "{arm} {n_runs}", arm=arm.name, n_runs=arm.measurement.n_runs)
        for arm in arms
    ]
    return Message(
        "uneven-arms",
        "Arms differ in their number of runs: {counts}.",
        counts=Series(tuple(counted), ", "),
        n_runs={arm.name: arm.measurement.n_runs for arm in arms},
    )


def costs(comparison: Comparison) -> list[Message]:
    """Which arms cost clearly more than the baseline, for each cost that was logged."""
    base, messages = comparison.baseline, []
    for name, cost in base.costs.items():
        dear = [arm for arm in comparison.arms if _times(arm, name, cost) >= COSTLY]
        if dear:
            times = [_times(arm, name, cost) for arm in dear]
            low, high = min(times), max(times)
            span = "{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else "{low:.1f} to {high:.1f}"
            verb = "costs" if len(dear) == 1 else "cost"
            messages.append(
                Message(
                    "costs-more",
                    f"{{arms}} {verb} {span} times as much as {{baseline}} ({{title}}).",
                    arms=names(dear),
                    low=low,
                    high=high,
                    baseline=base.name,
                    cost=name,
                    title=cost_title(name),
                )
            )
    return messages


def _times(arm: ComparedArm, name: str, base: float) -> float:
    return arm.costs[name] / base if name in arm.costs and base > 0 else 0.0


def cost_title(name: str) -> str:
    """A cost as people read it."""
    return "training seconds" if name == "seconds" else name.replace("_", " ")


def brackets(comparison: Comparison) -> Message:
    """What brackets and verdicts mean on the whole page."""
    n_arms = len(comparison.arms)
    together = ""
    if n_arms > 1:
        arms = "both arms" if n_arms == 2 else "all {n_arms} arms"
        together = f", so that those of {arms} hold together with 95{NO_BREAK}%"
    return Message(
        "intervals",
        f"Brackets behind a change are {{percent:.4g}}{NO_BREAK}% intervals{together}. “No "
        "difference shown” is not “no difference”: it comes with the smallest true effect that as "
        "many runs would show in 80 of 100 studies.",
        percent=100 * comparison.confidence,
        n_arms=n_arms,
    )


def limits(comparison: Comparison) -> tuple[Message, ...]:
    """What these runs cannot tell."""
    messages = []
    arms = (comparison.baseline, *comparison.arms)
    few = min(arm.measurement.n_runs for arm in arms)
    if any(arm.measurement.n_runs == 2 for arm in arms):
        messages.append(
            Message(
                "two-runs",
                "With two runs an arm, intervals are over examples only: no verdict. Make at least "
                "{at_least}.",
                at_least=ENOUGH_RUNS,
            )
        )
    if 2 < few < ENOUGH_RUNS:
        messages.append(
            Message(
                "few-runs",
                "{n_runs} runs an arm say little; make at least {at_least} for verdicts.",
                n_runs=few,
                at_least=ENOUGH_RUNS,
            )
        )
    if not comparison.baseline.measurement.n_labeled:
        messages.append(NO_LABELS)
    kinds = {arm.measurement.kind for arm in arms}
    if "labels" in kinds and not comparison.match_rates:
        messages.append(NO_PROBABILITIES)
    elif "top" in kinds:
        messages.append(ONLY_TOP)
    if comparison.gold is not None and all(
        arm.share_of_gold is None for arm in comparison.arms if arm.name != comparison.gold
    ):
        messages.append(
            Message(
                "gold-without-gain",
                "{gold} does not show a gain of its own, so no arm has a share of it.",
                gold=comparison.gold,
            )
        )
    return tuple(messages)
