"""Short sentences of advice: each is said only while the results show it."""

from collections.abc import Callable, Sequence

from seedproof.comparison.effect import Effect, scale_of
from seedproof.measurement.intervals import Estimate
from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, title_of
from seedproof_reproductions.findings2023.page.choices import (
    ENOUGH,
    Choice,
    best_of,
    has_enough,
    is_cut,
)
from seedproof_reproductions.findings2023.page.goal import Candidate
from seedproof_reproductions.findings2023.page.reading import SettingResults, heads
from seedproof_reproductions.findings2023.page.redraws import drawn_again
from seedproof_reproductions.findings2023.page.rules import loses
from seedproof_reproductions.findings2023.page.telling import multiple
from seedproof_reproductions.page.words import MISSING, changed, figure, listed

MOST = 7
HEADS = ("heads-16", "heads-4")
FROM_THE_START = ("aswa", "naswa")
FIXED = "fixed-init"
SELDOM = "tgtss-every-10"
SOFT_LABELS = ("tgtss", "label-smoothing-0.5", "label-smoothing-0.1")


def advice(settings: Sequence[SettingResults], chosen: Sequence[Choice]) -> tuple[str, ...]:
    """What the results say to somebody who has to choose.

    Args:
        settings: All of them; where no head was trained there is no advice.
        chosen: The rows of the table.

    Returns:
        At most seven bullets; one whose condition the results do not meet is left out.
    """
    frozen = heads(settings)
    if not frozen or not any(one.others for one in frozen):
        return ()
    finetuned = [one for one in settings if not one.is_head]
    found = (
        _heads(frozen),
        _linear(frozen),
        _teachers(frozen, finetuned),
        _early_averages(frozen),
        _fixed(frozen),
        _calibration(frozen, chosen),
        _finetuned(finetuned),
    )
    return tuple(one for one in found if one)[:MOST]


def _effects(settings: Sequence[SettingResults], arm: str, metric: str) -> list[Effect] | None:
    """What an arm changes on every data set; None if one of them has too few runs of it."""
    found = [_effect(one, arm, metric) if has_enough(one, arm) else None for one in settings]
    return [one for one in found if one is not None] if None not in found else None


def _effect(found: SettingResults, arm: str, metric: str) -> Effect | None:
    """What shows a cut among all arms, and what shows a loss when an arm is asked alone.

    Both are on the safe side: a cut is shown less easily, a loss more easily.
    """
    ask = found.effect_of_all if metric == "flip_rate" else found.effect
    return ask(arm, metric)


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


def _each(settings: Sequence[SettingResults], arms: Sequence[str], metric: str) -> str:
    """The change on each data set, such as "−75 % / −71 %"; nothing where one is not known."""
    if any(_effects(settings, arm, metric) is None for arm in arms):
        return ""
    effects = [[one.effect(arm, metric) for arm in arms] for one in settings]
    return " / ".join(_span(metric, found) for found in effects)


def _where(settings: Sequence[SettingResults]) -> str:
    """Which data sets figures are of, in their order; nothing for a single one."""
    names = " / ".join(one.short_title for one in settings)
    return f" ({names})" if len(settings) > 1 else ""


def _span(metric: str, effects: Sequence[Effect | None]) -> str:
    """The smallest and the largest change of several arms, such as "−75 to −71 %"."""
    values = [one.value for one in effects if one is not None and one.value is not None]
    if not values:
        return MISSING
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
    several = Candidate(arm, tuple(settings))
    costs = [several.cost(what) for what in ("training", "serving")]
    cost = several.cost("heads")
    alone = "" if cost is None else f" With features cached already, that is {cost:.3g}× the head."
    return (
        f"**Frozen encoder? Train several heads on it.** Their mean ({title_of(arm)}) changes the "
        f"flip rate by {_each(settings, (arm,), 'flip_rate')}{_where(settings)}, for "
        f"{multiple(costs[0])} the training and {multiple(costs[1])} the serving.{alone}"
    )


def _linear(settings: Sequence[SettingResults]) -> str:
    if not _all(settings, "linear", "flip_rate", is_cut):
        return ""
    price = _each(settings, ("linear",), "accuracy")
    lost = [one.short_title for one in settings if loses(_effect(one, "linear", "accuracy"))]
    tail = f", with a loss shown on {listed(lost)}" if lost else ", and no loss is shown"
    return (
        "**A linear head leaves little to chance** (from zeros, with decay, twice the epochs): "
        f"{_each(settings, ('linear',), 'flip_rate')} flips{_where(settings)}, at {price} of "
        f"accuracy{tail}."
    )


def _teachers(settings: Sequence[SettingResults], finetuned: Sequence[SettingResults]) -> str:
    """While no cut is shown with fresh teachers, whatever a shared one does."""
    fresh = _effects(settings, "tgtss", "flip_rate")
    if not fresh or any(map(is_cut, fresh)):
        return ""
    shared = _effects(settings, "tgtss-shared", "flip_rate")
    elsewhere = [
        f" On {one.title} it is {changed(_effect(one, SELDOM, 'flip_rate'))}, for "
        f"{multiple(one.cost(SELDOM, 'training'))} the training."
        for one in finetuned
        if has_enough(one, SELDOM)
    ]
    return (
        "**On a frozen encoder do not count on TGTSS when you retrain.** With a fresh teacher for "
        f"each run no cut is shown: {_each(settings, ('tgtss',), 'flip_rate')}{_where(settings)}"
        + (f"; {' / '.join(map(changed, shared))} while all runs share one." if shared else ".")
        + "".join(elsewhere)
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
        f"{_each(settings, arms, 'flip_rate')}{_where(settings)} and accuracy by "
        f"{_each(settings, arms, 'accuracy')}."
    )


def _fixed(settings: Sequence[SettingResults]) -> str:
    draws = [drawn_again(one).get(FIXED, (FIXED,)) for one in settings]
    arms = list(dict.fromkeys(arm for found in draws for arm in found))
    if not all(_all(settings, arm, "flip_rate", is_cut) for arm in arms):
        return ""
    over = f" over {len(arms)} draws" if len(arms) > 1 else ""
    return (
        "**Fixing the first weights hides luck.** Flips change by "
        f"{_each(settings, arms, 'flip_rate')}{over}{_where(settings)}, but all runs share the "
        "luck of one draw."
    )


def _calibration(settings: Sequence[SettingResults], chosen: Sequence[Choice]) -> str:
    """Soft labels, and the choice, whose probabilities are shown to be less calibrated."""
    others = [one.candidate.arm for one in chosen if one.candidate.arm not in SOFT_LABELS]
    soft, worse = (
        [arm for arm in arms if _all(settings, arm, "ece", _is_worse)]
        for arms in (SOFT_LABELS, others)
    )
    # Of the choices, the one that is least calibrated.
    worse.sort(key=lambda one: [-found.value for found in _known(settings, one)])
    told = {**{arm: title_of(arm) for arm in soft}, **{arm: f"`{arm}`" for arm in worse[:1]}}
    parts = [f"to {_levels(settings, arm)} with {name}" for arm, name in told.items()]
    if not parts:
        return ""
    return (
        f"**Look at calibration, too:** the ECE goes from {_levels(settings, BASELINE)}"
        f"{_where(settings)} {listed(parts)}."
    )


def _finetuned(settings: Sequence[SettingResults]) -> str:
    """What is known where the encoder is trained, too."""
    start = "**You fine-tune the encoder?**"
    known = [one for one in settings if any(has_enough(one, arm) for arm in one.others)]
    if not known:
        return (
            f"{start} Not known yet: our fine-tuned runs are too few (below "
            f"{ENOUGH['finetune']} an arm)."
        )
    parts = []
    for one in known:
        best, name = best_of(one), DATASETS[one.dataset]
        if best is None:
            parts.append(f"on {name} no arm is shown to cut the flip rate ({_runs(one)})")
            continue
        change = changed(one.effect_of_all(best.arm, "flip_rate"))
        cost = multiple(best.cost("training"))
        parts.append(
            f"on {name} {title_of(best.arm)} changes the flip rate by {change}, for {cost} the "
            f"training ({_runs(one)})"
        )
    text = listed(parts)
    return f"{start} {text[0].upper()}{text[1:]}."


def _runs(found: SettingResults) -> str:
    """How many there are, and what that is worth."""
    few = ", which are few" if found.n_runs < ENOUGH["head"] else ""
    return f"{found.seeds} runs an arm{few}"


def _is_worse(effect: Effect | None) -> bool:
    return effect is not None and effect.verdict == "worse"


def _known(settings: Sequence[SettingResults], arm: str) -> list[Estimate]:
    found = [one.estimate(arm, "ece") for one in settings]
    return [one for one in found if one is not None]


def _levels(settings: Sequence[SettingResults], arm: str) -> str:
    """Its ECE on each data set, such as "2.7 % / 1.9 %"."""
    return levels(settings, arm, "ece")


def levels(settings: Sequence[SettingResults], arm: str, metric: str) -> str:
    """A figure on each data set without its interval, such as "2.7 % / 1.9 %".

    Args:
        settings: Our results.
        arm: Whose figure.
        metric: Which metric.

    Returns:
        In the order of the settings.
    """
    found = [one.estimate(arm, metric) for one in settings]
    values = [None if one is None else Estimate(one.value) for one in found]
    return " / ".join(figure(metric, value) for value in values)
