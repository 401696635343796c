"""Lines below the table of a comparison: exploratory rows, the runs behind it, its brackets."""

from seedproof.comparison.arms.compared_runs import ComparedRuns
from seedproof.comparison.arms.result import Comparison
from seedproof.messages import Message, Sentences
from seedproof.report.numbers import NO_BREAK
from seedproof.stats.looks import MOST_TRIAL_LOOKS, first_look

_POWER = (
    f"“detectable”: the smallest true change that these runs can detect with 80{NO_BREAK}% power."
)
DETECTS = (
    "Changes are relative to the baseline, in percent, except those of accuracy and "
    f"ece_corrected, which are in percentage points. {_POWER}"
)
TEXT_DETECTS = (
    "Changes are relative to the baseline, in percent, except those of accuracy, which are in "
    f"percentage points. {_POWER}"
)
NUMERIC_DETECTS = (
    "Changes in percent are relative to the baseline; others are differences, in the unit of the "
    f"numbers. {_POWER}"
)
SENTENCES = {
    "exploratory": "Rows other than the primary are exploratory; their intervals hold "
    f"simultaneously. If the arms were identical, the primary row would show a difference in about "
    f"5{NO_BREAK}% of comparisons, and any other row in about 5{NO_BREAK}%.",
    "two-primaries": "{primary} and {quality} are primary together, because an arm may be steadier "
    "and worse. Other rows are exploratory; their intervals hold simultaneously. If the arms were "
    f"identical, a primary row would show a difference in about 5{NO_BREAK}% of comparisons, and "
    f"any other row in about 5{NO_BREAK}%.",
    "runs-declared": "{n_runs} {repeats}, as declared.",
    "runs-missing": "{n_runs} of {declared} declared {repeats}: the intervals hold once all are "
    "there.",
    "runs-taken-as-fixed": "The number of {repeats} is taken as fixed beforehand; if {repeats} "
    "were added until a difference showed, pass --sequential.",
    "runs-before-first-look": "Runs are added until a difference shows; first look: {next_look} "
    "runs.",
    "runs-at-look": "Verdicts rest on the first {n_runs} of {n_available} runs of each arm."
    "{following}",
    "trials-added": "Trials may be added until a difference shows: the intervals allow for a look "
    "after each of up to {most_looks} trials.",
    "next-look": " Next look: {next_look} runs.",
}
_say = Sentences(SENTENCES)


def detects(comparison: Comparison) -> str:
    """Return the unit of changes, and what the last column means."""
    if not comparison.has_classes:
        return NUMERIC_DETECTS
    return TEXT_DETECTS if comparison.has_texts else DETECTS


def table_notes(comparison: Comparison) -> tuple[Message, ...]:
    """Return the lines on exploratory rows, and on the runs that verdicts rest on."""
    messages = []
    effects = [effect for arm in comparison.arms for effect in arm.effects.values()]
    has_verdicts = any(effect.verdict not in {"too few runs", "not tested"} for effect in effects)
    if has_verdicts and _confidence_of_others(comparison) is not None:
        code = "exploratory" if comparison.quality is None else "two-primaries"
        messages.append(_say(code, primary=comparison.primary, quality=comparison.quality))
    if comparison.runs is not None:
        are_trials = comparison.baseline.measurement.repeats == "trials"
        messages.append(on_runs(comparison.runs, "trials" if are_trials else "runs"))
    return tuple(messages)


def _confidence_of_others(comparison: Comparison) -> float | None:
    """Return the confidence of each exploratory effect; None if there is none."""
    effects = [effect for arm in comparison.arms for effect in arm.effects.values()]
    return next((x.confidence for x in effects if x.exploratory and x.confidence), None)


def on_runs(runs: ComparedRuns, repeats: str = "runs") -> Message:
    """Return the number of runs that verdicts rest on, and how it was chosen."""
    fields = {**runs.summary(), "repeats": repeats}
    if runs.is_sequential and runs.are_trials:
        return _say("trials-added", **fields, most_looks=MOST_TRIAL_LOOKS)
    if not runs.is_sequential:
        if runs.declared is None:
            return _say("runs-taken-as-fixed", **fields)
        is_complete = runs.n_runs >= runs.declared
        return _say("runs-declared" if is_complete else "runs-missing", **fields)
    if runs.next_look is not None and runs.n_runs < first_look(runs.declared):
        return _say("runs-before-first-look", **fields)
    following = "" if runs.next_look is None else _say("next-look", next_look=runs.next_look)
    return _say("runs-at-look", **fields, following=following)


def brackets(comparison: Comparison) -> Message:
    """Return what brackets and verdicts mean."""
    n_arms, together = len(comparison.arms), ""
    if n_arms > 1:
        arms = "both arms" if n_arms == 2 else "all {n_arms} arms"
        arms = arms if comparison.pairs is None else "all pairs of arms"
        together = f"; the intervals of {arms} hold simultaneously with 95{NO_BREAK}% confidence"
    elif comparison.quality is not None:
        together = f"; both primary rows hold simultaneously with 95{NO_BREAK}% confidence"
    of_others = _confidence_of_others(comparison)
    primary = "row" if comparison.quality is None else "rows"
    rows = f" in the primary {primary}" if len(comparison.primaries) > 1 else ""
    if of_others is not None and f"{100 * of_others:.4g}" == f"{100 * comparison.confidence:.4g}":
        rows = " in all rows"
    elif of_others is not None:
        rows = f" in the primary {primary}, {{of_others:.4g}}{NO_BREAK}% in others"
    verdicts = {effect.verdict for arm in comparison.arms for effect in arm.effects.values()}
    is_equivalent = "equivalent" in verdicts
    return Message(
        "intervals",
        f"Brackets after a change give its {{percent:.4g}}{NO_BREAK}% interval{rows}{together}. "
        "“No difference shown” does not mean “no difference”: it is reported with the smallest "
        f"true effect that these runs can detect with 80{NO_BREAK}% power."
        + is_equivalent
        * " “Equivalent”: shown to be within the margin, by two one-sided tests.",
        percent=100 * comparison.confidence,
        of_others=100 * (of_others or 0.0),
        n_arms=n_arms,
    )
