"""Parts of sentences about several settings."""

from collections.abc import Callable, Iterator, Sequence

from seedproof.comparison.effect import Effect
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.page.reading import SettingResults
from seedproof_reproductions.page.words import changed, listed


def verdict(text: str) -> str:
    """What follows, before the figures that it follows from."""
    return f"*{text[0].upper()}{text[1:]}.*" if text else ""


def without_control(settings: Sequence[SettingResults]) -> str:
    """Where nothing can be compared, and what to do; nothing where everything can."""
    missing = [one.title for one in settings if not one.has_control]
    if not missing:
        return ""
    where = "" if len(missing) == len(settings) else f" on {listed(missing)}"
    return (
        f"Nothing to compare with{where}: the control is missing. Train it with `--arms "
        f"{BASELINE}` in the same store."
    )


def pairs(
    settings: Sequence[SettingResults], arms: Sequence[str]
) -> Iterator[tuple[SettingResults, str]]:
    """Settings that have one of some arms, with the first of them."""
    for one in settings:
        arm = one.first_of(arms)
        if arm is not None and arm != BASELINE:
            yield one, arm


def changes(
    settings: Sequence[SettingResults],
    arms: Sequence[str],
    metric: str,
    beside: Callable[[SettingResults], str] = lambda _: "",
) -> str:
    """Changes on each data set, such as "−14 % [−20, −7] on MASSIVE".

    Args:
        settings: Our results.
        arms: The first of them that a setting has is told.
        metric: Which metric.
        beside: What follows, in words.

    Returns:
        A list in words; nothing where nothing is known.
    """
    return listed(
        [
            f"{changed(effect)} on {one.short_title}{beside(one)}"
            for one, arm in pairs(settings, arms)
            if (effect := one.effect(arm, metric)) is not None
        ]
    )


def effects_of(
    settings: Sequence[SettingResults], arms: Sequence[str], metric: str
) -> dict[str, Effect | None]:
    """What the first of some arms changes, by the title of the setting."""
    return {one.short_title: one.effect(arm, metric) for one, arm in pairs(settings, arms)}
