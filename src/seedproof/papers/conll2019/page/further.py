"""Arms that the paper did not have: averages of others, and what its code does."""

from seedproof.papers.conll2019.page.reading import ARMS, BASELINE, PAPER_ARMS, SettingResults
from seedproof.papers.conll2019.page.words import (
    MISSING,
    figure,
    judged,
    listed,
    paragraphs,
    table,
)

KL, JACCARD = "explanation_kl", "explanation_jaccard_20"
# Metric, method, and what is said to be steadier.
COMPARED = (
    ("accuracy_sd", None, "sd of accuracy"),
    ("flip_rate", None, "flip rate"),
    (KL, "attention", "attention: KL"),
    (JACCARD, "attention", "attention: top words"),
)


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
        "Their intervals hold together with those of all arms, and are wider for it.\n"
        "ASWA and NASWA are the paper's question, and everywhere on this page they are compared by "
        "themselves: `seedproof compare` on all arms gives them wider intervals, too."
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


def _steadiness(found: SettingResults, arms: list[str]) -> str:
    return table(
        ("change against none", *(words for _, _, words in COMPARED)),
        [
            (
                ARMS[arm],
                *(judged(found.effect(arm, metric, method)) for metric, method, _ in COMPARED),
            )
            for arm in arms
        ],
    )


def _summary(found: SettingResults, arms: list[str]) -> str:
    """Which arms are steadier, by the verdicts alone."""
    told = []
    for metric, method, words in COMPARED:
        effects = {arm: found.effect(arm, metric, method) for arm in arms}
        steadier = [ARMS[arm] for arm, one in effects.items() if one and one.verdict == "steadier"]
        told.append(f"- {words}: {listed(steadier) or 'no arm'}")
    return "Shown to be steadier than *none*, in\n\n" + "\n".join(told)


def _learning(found: SettingResults, arms: tuple[str, ...]) -> str:
    return table(
        ("", "accuracy", "change", "training loss", "epoch chosen", "seconds a run"),
        [
            (
                ARMS[arm],
                figure("accuracy", found.estimate(arm, "accuracy")),
                "" if arm == BASELINE else judged(found.effect(arm, "accuracy")),
                _mean(found, arm, "train_loss", 3),
                _mean(found, arm, "epoch_chosen", 1),
                _mean(found, arm, "seconds", 0),
            )
            for arm in arms
        ],
    )


def _mean(found: SettingResults, arm: str, name: str, digits: int) -> str:
    value = found.scalar(arm, name)
    return MISSING if value is None else f"{value:.{digits}f}"
