"""What a person should beware of: other metrics, uneven arms, costs, and what cannot be told."""

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.metrics.card import card
from seedproof.report.comparison import amounts
from seedproof.report.comparison.groups import BAD, names, with_verdict
from seedproof.report.numbers import NO_BREAK
from seedproof.report.words import ENOUGH_RUNS, ONLY_TOP

# Further metrics that a person is warned of; the others have a sentence of their own.
WATCHED = ("ece", "nll", "brier", "predictive_js", "label_entropy_corrected", "ece_sd", "nll_sd")
MAX_WATCHED = 2
# How many times as much as the baseline is worth a word.
COSTLY = 1.5


def warnings(comparison: Comparison) -> list[str]:
    """What else gets worse, arms with other numbers of runs, and what costs more."""
    worse = [name for name in WATCHED if with_verdict(comparison, name, *BAD)]
    found = [_gets_worse(comparison, name) for name in worse[:MAX_WATCHED]]
    if len(worse) > MAX_WATCHED:
        n_more = len(worse) - MAX_WATCHED
        noun = "metric is" if n_more == 1 else "metrics are"
        found.append(f"{n_more} further {noun} worse or less steady.")
    n_base = comparison.baseline.measurement.n_runs
    uneven = [arm for arm in comparison.arms if arm.measurement.n_runs != n_base]
    if uneven:
        counts = ", ".join(f"{arm.name} {arm.measurement.n_runs}" for arm in uneven)
        found.append(
            f"Arms differ in their number of runs: {comparison.baseline.name} {n_base}, {counts}."
        )
    return found + costs(comparison)


def _gets_worse(comparison: Comparison, metric: str) -> str:
    arms = with_verdict(comparison, metric, *BAD)
    effects = [arm.effects[metric] for arm in arms]
    amount = amounts.size(effects[0]) if len(arms) == 1 else amounts.span(effects)
    start = f"{card(metric).title}: {effects[0].verdict} with {names(arms)}"
    return f"{start} ({amounts.direction(effects[0])} by {amount})."


def costs(comparison: Comparison) -> list[str]:
    """Which arms cost clearly more than the baseline, for each cost that was logged."""
    base, found = comparison.baseline, []
    for name, cost in base.costs.items():
        dear = [arm for arm in comparison.arms if _times(arm, name, cost) >= COSTLY]
        if dear:
            times = sorted(_times(arm, name, cost) for arm in dear)
            low, high = f"{times[0]:.1f}", f"{times[-1]:.1f}"
            span = low if low == high else f"{low} to {high}"
            verb = "costs" if len(dear) == 1 else "cost"
            found.append(
                f"{names(dear)} {verb} {span} times as much as {base.name} ({cost_title(name)})."
            )
    return found


def _times(arm: ComparedArm, name: str, base: float) -> float:
    return arm.costs[name] / base if name in arm.costs and base > 0 else 0.0


def cost_title(name: str) -> str:
    """A cost as people read it."""
    return "training seconds" if name == "seconds" else name.replace("_", " ")


def brackets(comparison: Comparison) -> str:
    """What brackets and verdicts mean on the whole page."""
    each = f"{100 * comparison.confidence:.4g}{NO_BREAK}%"
    together = ""
    if len(comparison.arms) > 1:
        arms = "both arms" if len(comparison.arms) == 2 else f"all {len(comparison.arms)} arms"
        together = f", so that those of {arms} hold together with 95{NO_BREAK}%"
    return (
        f"Brackets behind a change are {each} intervals{together}. “No difference shown” is not "
        "“no difference”: it comes with the smallest true effect that as many runs would show in "
        "80 of 100 studies."
    )


def limits(comparison: Comparison) -> tuple[str, ...]:
    """What these runs cannot tell."""
    found = []
    arms = (comparison.baseline, *comparison.arms)
    if any(arm.measurement.n_runs == 2 for arm in arms):
        found.append(
            "With two runs an arm, intervals are over examples only: no verdict. Make at least "
            f"{ENOUGH_RUNS}."
        )
    few = min(arm.measurement.n_runs for arm in arms)
    if 2 < few < ENOUGH_RUNS:
        found.append(f"{few} runs an arm say little; make at least {ENOUGH_RUNS} for verdicts.")
    if not comparison.baseline.measurement.n_labeled:
        found.append("No labels were given, so accuracy and calibration are left out.")
    kinds = {arm.measurement.kind for arm in arms}
    if "labels" in kinds and not comparison.match_rates:
        found.append("No probabilities were given, so confidence and calibration are left out.")
    elif "top" in kinds:
        found.append(ONLY_TOP)
    if comparison.gold is not None and all(
        arm.share_of_gold is None for arm in comparison.arms if arm.name != comparison.gold
    ):
        found.append(
            f"{comparison.gold} does not show a gain of its own, so no arm has a share of it."
        )
    return tuple(found)
