"""Tables 2 and 3 of the paper: accuracy and its sd, published and ours."""

from collections.abc import Sequence

from seedproof_reproductions.conll2019.names import ARMS, BASELINE, ENCODERS
from seedproof_reproductions.conll2019.page.departures import printed
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.published import published_accuracy
from seedproof_reproductions.page.words import MISSING, figure, judged, paragraphs, table

NUMBERS = {"cnn": "Table 2", "lstm": "Table 3"}
ALONE = "accuracy_sd_independent"
HEADER = ("", "published", "ours: accuracy", "ours: sd", "accuracy, change", "sd, change")


def accuracy_tables(settings: Sequence[SettingResults]) -> str:
    """A table for each encoder that was trained, with a row for each data set and arm.

    Args:
        settings: Our results.

    Returns:
        Markdown with a heading for each table.
    """
    blocks = []
    for encoder, number in NUMBERS.items():
        chosen = [one for one in settings if one.encoder == encoder]
        if chosen:
            blocks += [f"### {number}: {ENCODERS[encoder]} models", _accuracies(chosen)]
    return paragraphs(blocks)


def _accuracies(settings: Sequence[SettingResults]) -> str:
    return table(HEADER, [_row(one, arm) for one, arm in _arms(settings)])


def _arms(settings: Sequence[SettingResults]) -> list[tuple[SettingResults, str]]:
    return [(one, arm) for one in settings for arm in (BASELINE, *one.paper_arms)]


def _name(one: SettingResults, arm: str) -> str:
    """The arm; the first of a setting bears its name, too."""
    if arm != BASELINE:
        return ARMS[arm]
    return f"**{one.title}**, {one.seeds} seeds: {ARMS[arm]}"


def _row(one: SettingResults, arm: str) -> tuple[str, ...]:
    return (
        _name(one, arm),
        _published(one, arm),
        figure("accuracy", one.estimate(arm, "accuracy")),
        figure("accuracy_sd", one.estimate(arm, "accuracy_sd")),
        "" if arm == BASELINE else judged(one.effect(arm, "accuracy")),
        "" if arm == BASELINE else judged(one.effect(arm, "accuracy_sd")),
    )


def _published(one: SettingResults, arm: str) -> str:
    """What the paper printed, and whether that is of another setting."""
    theirs = published_accuracy(one.dataset, one.encoder, arm) if one.is_as_tabled else None
    if theirs is None:
        return MISSING
    return printed(one, f"{theirs.mean:.1f} ±{theirs.sd:.2f}")


def flip_table(settings: Sequence[SettingResults]) -> str:
    """What the paper does not have: flips, and the sd of accuracy that they alone would give.

    Args:
        settings: Our results.

    Returns:
        A table in Markdown.
    """
    return table(
        ("", "flip rate", "change", "sd of accuracy", "sd if texts flipped alone"),
        [
            (
                _name(one, arm),
                figure("flip_rate", one.estimate(arm, "flip_rate")),
                "" if arm == BASELINE else judged(one.effect(arm, "flip_rate")),
                figure("accuracy_sd", one.estimate(arm, "accuracy_sd")),
                figure(ALONE, one.estimate(arm, ALONE)),
            )
            for one, arm in _arms(settings)
        ],
    )


def matched_table(settings: Sequence[SettingResults]) -> str:
    """Flips and sd where the share of positive answers cannot drift.

    Args:
        settings: Our results.

    Returns:
        A table in Markdown of the settings of two classes; nothing without one.
    """
    rows = [
        (
            _name(one, arm),
            figure("flip_rate", one.matched(arm, "flip_rate")),
            "" if arm == BASELINE else judged(one.matched_effect(arm, "flip_rate")),
            figure("accuracy_sd", one.matched(arm, "accuracy_sd")),
            "" if arm == BASELINE else judged(one.matched_effect(arm, "accuracy_sd")),
            figure("accuracy", one.matched(arm, "accuracy")),
        )
        for one, arm in _arms(settings)
        if one.matched(arm, "flip_rate") is not None
    ]
    header = ("", "flip rate", "change", "sd of accuracy", "change", "accuracy")
    return table(header, rows) if rows else ""
