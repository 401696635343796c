"""What is said about single runs over their steps. Every sentence has a condition."""

from seedproof.measurement.dynamics.association import TOP_SHARE
from seedproof.measurement.dynamics.result import DynamicsMeasurement
from seedproof.measurement.intervals import Estimate
from seedproof.report.numbers import MINUS, NO_BREAK, bracketed

PEARSON, PRECISION = "single_run_pearson", "single_run_precision"
REFERENCE = "other_runs_pearson"
# One run tells nearly as much as others would if even the low end of its interval reaches so much
# of the high end of theirs.
NEARLY = 0.9


def sentence(found: DynamicsMeasurement | None) -> str | None:
    """Whether what one run wavers on is what the others disagree on; None if no run was traced."""
    if found is None:
        return None
    if PEARSON not in found.metrics:
        wavers = bracketed(found.metrics["single_run_entropy"], "nats")
        return (
            f"Within one run the label entropy is {wavers} nats; these runs cannot say whether "
            "that tells what others disagree on."
        )
    r = found.metrics[PEARSON]
    others = f"what the {found.n_others} others disagree on"
    if not _is_shown(r):
        return (
            f"What one run wavers on is not shown to go with {others}: r{NO_BREAK}={NO_BREAK}"
            f"{_correlation(r)}."
        )
    return (
        f"What one run wavers on tells r{NO_BREAK}={NO_BREAK}{_correlation(r)} of {others}"
        f"{_reference(found)}. {_found(found)}"
    )


def _reference(found: DynamicsMeasurement) -> str:
    if REFERENCE not in found.metrics:
        return ""
    told = _correlation(found.metrics[REFERENCE])
    return f"; {found.n_others} further runs would tell about {told}"


def _found(found: DynamicsMeasurement) -> str:
    """How many of the least stable examples one run finds, and chance beside it."""
    share = TOP_SHARE if found.least_stable is None else found.least_stable
    if share > TOP_SHARE - 5e-4:  # on the page it is a tenth
        which, chance = "tenth of the examples", f"10{NO_BREAK}%"
    else:
        chance = f"{100 * share:.2g}{NO_BREAK}%"
        which = f"{chance} of the examples (the others disagree on no more)"
    return (
        f"Of the least stable {which} it finds {bracketed(found.metrics[PRECISION], 'percent')}; "
        f"chance would find {chance}."
    )


def section_title(found: DynamicsMeasurement) -> str:
    """The finding of the section, no stronger than what was computed."""
    if PEARSON not in found.metrics:
        return "How much a run wavers over its steps"
    r = found.metrics[PEARSON]
    if not _is_shown(r):
        return "One run is not shown to tell where runs disagree"
    if REFERENCE not in found.metrics:
        return "What one run wavers on goes with what others disagree on"
    low, high = _ends(r)
    other_low, other_high = _ends(found.metrics[REFERENCE])
    if low >= NEARLY * other_high:
        return f"One run tells nearly as much as {found.n_others} others would"
    if high < other_low:
        return f"One run tells a part of what {found.n_others} others would"
    return f"What one run tells is not told apart from what {found.n_others} others would"


def paragraphs(found: DynamicsMeasurement) -> tuple[str, ...]:
    """What to think of it, beside the charts."""
    if PEARSON not in found.metrics:
        return ()
    n_others = found.n_others
    alone = (
        f"A run is held against the {n_others} others alone: its own last step is also its vote, "
        "and would make the two look more alike than they are."
    )
    said = [alone]
    if REFERENCE in found.metrics:
        told = _correlation(found.metrics[REFERENCE])
        said.append(
            f"The entropy over {n_others} runs is noisy itself, so that nothing goes with it "
            f"perfectly. For reference: that over {n_others} further runs would reach about "
            f"{told}, as far as halves of these runs tell."
        )
    values = found.by_run[PEARSON]
    if len(values) > 1:
        low, high = _two(float(values.min())), _two(float(values.max()))
        said.append(f"Single runs reach {low} to {high}.")
    return tuple(said)


def title(found: DynamicsMeasurement) -> str:
    """How many runs were traced, on how many examples, how often."""
    low, high = found.n_steps
    times = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    runs = "1 run" if len(found.runs) == 1 else f"{len(found.runs)} runs"
    return f"{runs} traced, {found.n_examples:,} examples, {times} looks at each"


def reading(found: DynamicsMeasurement) -> str:
    """How to read the figures; nothing where there is only one."""
    if PEARSON not in found.metrics:
        return ""
    text = f"Each traced run is held against the {found.n_others} others, without itself."
    if found.metrics[PEARSON].over == "examples":
        text += (
            " With fewer than 5 runs, or 3 traced ones, intervals are over examples only: another "
            "run may tell more or less."
        )
    return text


def _is_shown(r: Estimate) -> bool:
    return r.low is not None and r.low > 0


def _ends(r: Estimate) -> tuple[float, float]:
    """Both ends of an interval; the value where there is none."""
    return (r.value, r.value) if r.low is None or r.high is None else (r.low, r.high)


def _correlation(r: Estimate) -> str:
    if r.low is None or r.high is None:
        return _two(r.value)
    return f"{_two(r.value)} [{_two(r.low)}, {_two(r.high)}]"


def _two(value: float) -> str:
    """A correlation as people write it, with two digits."""
    return f"{value:.2f}".replace("-", MINUS)
