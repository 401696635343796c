"""Short sentences of advice: each is said only while the results show it."""

from collections.abc import Callable, Sequence

from seedproof.comparison.effect import Effect, scale_of
from seedproof.measurement.intervals import Estimate
from seedproof.papers.findings2023.names import BASELINE, title_of
from seedproof.papers.findings2023.page.choices import Choice, is_cut
from seedproof.papers.findings2023.page.goal import Candidate
from seedproof.papers.findings2023.page.reading import SettingResults
from seedproof.papers.findings2023.page.redraws import drawn_again
from seedproof.papers.findings2023.page.rules import loses
from seedproof.papers.findings2023.page.telling import multiple
from seedproof.papers.page.words import changed, figure, listed
from seedproof.report.numbers import NO_BREAK

MOST = 6
HEADS = ("heads-16", "heads-4")
FROM_THE_START = ("aswa", "naswa")
FIXED = "fixed-init"


def advice(settings: Sequence[SettingResults], chosen: Sequence[Choice]) -> tuple[str, ...]:
    """What the results say to somebody who has to choose.

    Args:
        settings: Those in which heads were trained.
        chosen: The rows of the table.

    Returns:
        At most six sentences; one whose condition the results do not meet is left out.
    """
    if not settings:
        return ()
    found = (
        _heads(settings),
        _linear(settings),
        _teachers(settings),
        _early_averages(settings),
        _fixed(settings),
        _calibration(settings, chosen),
    )
    return tuple(one for one in found if one)[:MOST]


def _effects(settings: Sequence[SettingResults], arm: str, metric: str) -> list[Effect] | None:
    """What an arm changes on every data set; None if one of them does not know."""
    found = [one.effect(arm, metric) for one in settings]
    return [one for one in found if one is not None] if None not in found else None


def _all(
    settings: Sequence[SettingResults],
    arm: str,
    metric: str,
    is_so: Callable[[Effect | None], bool],
) -> bool:
    """Whether something is shown of an arm on every data set."""
    found = _effects(settings, arm, metric)
    return found is not None and all(map(is_so, found))


def _rises(effect: Effect | None) -> bool:
    return effect is not None and effect.verdict == "less steady"


def _spans(settings: Sequence[SettingResults], arms: Sequence[str], metric: str) -> str:
    """The smallest and the largest change over data sets and arms, such as "−75 to −71 %"."""
    values = [
        effect.value
        for arm in arms
        for effect in _effects(settings, arm, metric) or ()
        if effect.value is not None
    ]
    if not values:
        return ""
    ends = [
        changed(Effect(metric, scale_of(metric), value)) for value in (min(values), max(values))
    ]
    if ends[0] == ends[1]:
        return ends[0]
    number, unit = ends[0].split(NO_BREAK)
    return f"{number} to {ends[1]}" if ends[1].endswith(unit) else " to ".join(ends)


def _heads(settings: Sequence[SettingResults]) -> str:
    arm = next((one for one in HEADS if _all(settings, one, "flip_rate", is_cut)), None)
    if arm is None or not _all(settings, arm, "accuracy", lambda one: not loses(one)):
        return ""
    heads = Candidate(arm, tuple(settings))
    costs = [heads.cost(what) for what in ("training", "serving")]
    return (
        f"**Frozen encoder? Train several heads on it.** Their mean ({title_of(arm)}) changes the "
        f"flip rate by {_spans(settings, (arm,), 'flip_rate')}, for {multiple(costs[0])} the "
        f"training and {multiple(costs[1])} the serving."
    )


def _linear(settings: Sequence[SettingResults]) -> str:
    if not _all(settings, "linear", "flip_rate", is_cut):
        return ""
    price = _spans(settings, ("linear",), "accuracy")
    lost = [one.short_title for one in settings if loses(one.effect("linear", "accuracy"))]
    tail = f", with a loss shown on {listed(lost)}" if lost else ", and no loss is shown"
    return (
        "**A linear head leaves little to chance** (from zeros, with decay, twice the epochs): "
        f"{_spans(settings, ('linear',), 'flip_rate')} flips, at {price} of accuracy{tail}."
    )


def _teachers(settings: Sequence[SettingResults]) -> str:
    """While no cut is shown with fresh teachers, whatever a shared one does."""
    fresh = _effects(settings, "tgtss", "flip_rate")
    if not fresh or any(map(is_cut, fresh)):
        return ""
    shared = _spans(settings, ("tgtss-shared",), "flip_rate")
    return (
        "**Do not count on TGTSS when you retrain.** With a fresh teacher for each run no cut is "
        f"shown ({_spans(settings, ('tgtss',), 'flip_rate')})"
        + (f"; {shared} while all runs share one teacher." if shared else ".")
    )


def _early_averages(settings: Sequence[SettingResults]) -> str:
    """Averages that flip more and lose accuracy everywhere: they hold on to an unfinished model."""
    arms = [
        arm
        for arm in FROM_THE_START
        if _all(settings, arm, "flip_rate", _rises) and _all(settings, arm, "accuracy", loses)
    ]
    if not arms:
        return ""
    epochs = max(one.own["setting"]["epochs"] for one in settings)
    return (
        f"**Averaging from the first step of a short training backfires.** In {epochs} epochs "
        f"{listed([title_of(arm) for arm in arms])} changed the flip rate by "
        f"{_spans(settings, arms, 'flip_rate')} and accuracy by "
        f"{_spans(settings, arms, 'accuracy')}."
    )


def _fixed(settings: Sequence[SettingResults]) -> str:
    draws = [drawn_again(one).get(FIXED, (FIXED,)) for one in settings]
    arms = list(dict.fromkeys(arm for found in draws for arm in found))
    if not all(_all(settings, arm, "flip_rate", is_cut) for arm in arms):
        return ""
    over = f" over {len(arms)} draws" if len(arms) > 1 else ""
    return (
        "**Fixing the first weights hides luck.** Flips change by "
        f"{_spans(settings, arms, 'flip_rate')}{over}, but all runs share the luck of one draw."
    )


def _calibration(settings: Sequence[SettingResults], chosen: Sequence[Choice]) -> str:
    """The choice whose probabilities are shown to be less calibrated, by the most."""
    arms = [one.candidate.arm for one in chosen]
    worse = [arm for arm in arms if _all(settings, arm, "ece", _is_worse)]
    if not worse:
        return ""
    arm = max(worse, key=lambda one: [found.value for found in _known(settings, one)])
    parts = [
        f"from {_level(one, BASELINE)} to {_level(one, arm)} on {one.short_title}"
        for one in settings
    ]
    return f"**Look at calibration, too:** with *{title_of(arm)}* the ECE goes {listed(parts)}."


def _is_worse(effect: Effect | None) -> bool:
    return effect is not None and effect.verdict == "worse"


def _known(settings: Sequence[SettingResults], arm: str) -> list[Estimate]:
    found = [one.estimate(arm, "ece") for one in settings]
    return [one for one in found if one is not None]


def _level(one: SettingResults, arm: str) -> str:
    found = one.estimate(arm, "ece")
    return figure("ece", None if found is None else Estimate(found.value))
