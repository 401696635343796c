"""Arms that the paper did not have: averages of others, and what its code does."""

from dataclasses import dataclass

from seedproof.comparison.effect import Effect
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, JACCARD, KL, PAPER_ARMS
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.page.words import (
    MISSING,
    epochs,
    figure,
    judged,
    listed,
    paragraphs,
    table,
)


@dataclass(frozen=True)
class Compared:
    """What may be steadier.

    Args:
        words: For people.
        metric: Which metric.
        method: By which explanations; None for predictions.
        is_matched: Whether all runs of an arm give one answer equally often.
    """

    words: str
    metric: str
    method: str | None = None
    is_matched: bool = False

    def asked(self, found: SettingResults, arm: str) -> Effect | None:
        """The effect as it stands elsewhere on the page."""
        if self.is_matched:
            return found.matched_effect(arm, self.metric)
        return found.effect(arm, self.metric, self.method)

    def of_all(self, found: SettingResults, arm: str) -> Effect | None:
        """The effect with an interval that holds together with those of all arms."""
        if self.is_matched:
            return found.matched_effect_of_all(arm, self.metric)
        return found.effect_of_all(arm, self.metric, self.method)


COMPARED = (
    Compared("sd of accuracy", "accuracy_sd"),
    Compared("flip rate", "flip_rate"),
    Compared("flip rate, same share", "flip_rate", is_matched=True),
    Compared("attention: KL", KL, "attention"),
    Compared("attention: top words", JACCARD, "attention"),
)
# How good the arms are: compared in the second table.
QUALITY = Compared("accuracy", "accuracy")


def further_arms(found: SettingResults) -> str:
    """The arms of a setting that are not the paper's, beside those that are.

    Args:
        found: The setting with the most arms.

    Returns:
        Markdown without a heading; nothing if there is no further arm.
    """
    others = [arm for arm in found.arms if arm not in (BASELINE, *PAPER_ARMS)]
    if not others:
        return ""
    arms = [arm for arm in found.arms if arm != BASELINE]
    about = (
        f"On {found.title}, we also trained {listed([ARMS[arm] for arm in others])}.\n"
        "*As coded* is what the authors' public code does where it differs from the paper.\n"
        "EMA keeps an exponential average beside the model; Switch-EMA puts it into the model "
        "after each epoch, as ASWA does with its mean.\n"
        f"Here all {len(arms)} averages are compared together, as `seedproof compare` does: in "
        "each column the intervals of all of them hold together, and are wider for it.\n"
        + _elsewhere(found)
    )
    return paragraphs(
        (
            about,
            _steadiness(found, arms),
            _summary(found, arms),
            "Steadiness is worth what accuracy and learning are worth beside it:",
            _learning(found, (BASELINE, *arms)),
        )
    )


def _elsewhere(found: SettingResults) -> str:
    """Where the paper's arms have another verdict when they are compared by themselves."""
    if not found.paper_arms:
        return ""
    names = listed([ARMS[arm] for arm in found.paper_arms])
    differ = [
        f"{one.words} of {ARMS[arm]} (“{alone.verdict}” there, “{among.verdict}” here)"
        for one in (*COMPARED, QUALITY)
        for arm in found.paper_arms
        if (alone := one.asked(found, arm)) is not None
        and (among := one.of_all(found, arm)) is not None
        and alone.verdict != among.verdict
    ]
    told = f"Verdicts differ for {listed(differ)}." if differ else "No verdict differs."
    return (
        f"Everywhere else {names}, the paper's question, are compared by themselves, with narrower "
        f"intervals. {told}"
    )


def _steadiness(found: SettingResults, arms: list[str]) -> str:
    return table(
        ("change against none", *(one.words for one in COMPARED)),
        [(ARMS[arm], *(judged(one.of_all(found, arm)) for one in COMPARED)) for arm in arms],
    )


def _summary(found: SettingResults, arms: list[str]) -> str:
    """Which arms are steadier, by the verdicts of the table alone."""
    told = []
    for one in COMPARED:
        effects = {arm: one.of_all(found, arm) for arm in arms}
        steadier = [
            ARMS[arm]
            for arm, effect in effects.items()
            if effect is not None and effect.verdict == "steadier"
        ]
        told.append(f"- {one.words}: {listed(steadier) or 'no arm'}")
    return "Shown to be steadier than *none*, in\n\n" + "\n".join(told)


def _learning(found: SettingResults, arms: tuple[str, ...]) -> str:
    return table(
        ("", "accuracy", "change", "training loss", "epoch chosen: median (range)"),
        [
            (
                ARMS[arm],
                figure("accuracy", found.estimate(arm, "accuracy")),
                "" if arm == BASELINE else judged(QUALITY.of_all(found, arm)),
                _loss(found, arm),
                epochs(found.scalars(arm, "epoch_chosen")),
            )
            for arm in arms
        ],
    )


def _loss(found: SettingResults, arm: str) -> str:
    value = found.scalar(arm, "train_loss")
    return MISSING if value is None else f"{value:.3f}"
