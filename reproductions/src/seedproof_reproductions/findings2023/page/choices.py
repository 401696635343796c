"""What to use, by what one can afford: chosen by a rule from the table of all arms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seedproof.comparison.effect import Effect
from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page.goal import Candidate, candidates
from seedproof_reproductions.findings2023.page.reading import SettingResults
from seedproof_reproductions.findings2023.page.rules import excludes_loss
from seedproof_reproductions.findings2023.page.telling import multiple
from seedproof_reproductions.page.words import MISSING, changed, table

HARDLY_MORE, A_TENTH, HALF = 1.02, 1.1, 1.5
# A loss of accuracy that some can afford.
SMALL_LOSS = 0.02
# Arms with fewer runs are not chosen: fine-tuning takes hours, and has a row of its own.
ENOUGH = {"head": 8, "finetune": 5}
DEPLOYED = "deployed-shared"
MOST = 7


@dataclass(frozen=True)
class Choice:
    """One row of the table.

    Args:
        afford: What one can afford, for people.
        candidate: What to use.
    """

    afford: str
    candidate: Candidate


def has_enough(found: SettingResults, arm: str) -> bool:
    """Whether an arm and the control have runs enough for advice."""
    runs = [found.of(name).get("n_runs", 0) for name in (arm, BASELINE)]
    return bool(min(runs) >= ENOUGH[found.track])


def is_cut(effect: Effect | None) -> bool:
    """Whether a cut is shown."""
    return effect is not None and effect.verdict == "steadier"


def cuts_everywhere(one: Candidate) -> bool:
    """Whether enough runs show a cut of flips on every data set, together with all arms."""
    return all(
        is_cut(found.effect_of_all(one.arm, "flip_rate")) and has_enough(found, one.arm)
        for found in one.settings
    )


def _loses_little(one: Candidate) -> bool:
    """Whether a loss of accuracy of two points is excluded, together with all arms."""
    return all(
        excludes_loss(found.effect_of_all(one.arm, "accuracy"), SMALL_LOSS)
        for found in one.settings
    )


def choices(settings: Sequence[SettingResults]) -> tuple[Choice, ...]:
    """At most seven, what costs least first.

    Args:
        settings: Our results.

    Returns:
        A row that would repeat the arm of a cheaper one is left out.
    """
    known = [one for one in candidates(settings) if cuts_everywhere(one)]
    honest = [one for one in known if one.is_honest]
    kept = [one for one in honest if one.keeps_accuracy]

    def first(found: Sequence[Candidate], most: float) -> Candidate | None:
        known = ((one, one.cost("training")) for one in found)
        return next((one for one, cost in known if cost is not None and cost <= most), None)

    rows = {
        "hardly more training than now": first(kept, HARDLY_MORE),
        "hardly more training, and up to 2 points of accuracy": first(
            [one for one in honest if _loses_little(one)], HARDLY_MORE
        ),
        "a tenth more training": first(kept, A_TENTH),
        "half as much training again": first(kept, HALF),
        "any training": first(kept, float("inf")),
        "a redeployment: learn from the model that serves now": next(
            (one for one in known if one.arm == DEPLOYED and one.keeps_accuracy), None
        ),
        **{f"{one.short_title}, any training": best_of(one) for one in settings if not one.is_head},
    }
    found: list[Choice] = []
    for afford, one in rows.items():
        if one is not None and one.arm not in [
            row.candidate.arm for row in found if row.candidate.settings == one.settings
        ]:
            found.append(Choice(afford, one))
    return tuple(found[:MOST])


def best_of(found: SettingResults) -> Candidate | None:
    """The arm of one setting with the largest cut that shares nothing and loses no accuracy."""
    each = [Candidate(arm, (found,)) for arm in found.others]
    kept = [one for one in each if one.is_honest and one.keeps_accuracy and cuts_everywhere(one)]
    return min(kept, key=lambda one: one.worst, default=None)


def choices_table(found: Sequence[Choice], names: Sequence[str]) -> str:
    """The choices as a table in Markdown.

    Args:
        found: What to use.
        names: Titles of the data sets with heads, each of which has its columns.

    Returns:
        Nothing without a choice.
    """
    if not found:
        return ""
    header = (
        "you can afford",
        "use",
        *(f"flip rate, {name}" for name in names),
        *(f"accuracy, {name}" for name in names),
        "training (head alone)",
        "serving",
    )
    return table(header, [_row(one, names) for one in found])


def _row(one: Choice, names: Sequence[str]) -> tuple[str, ...]:
    arm = one.candidate.arm
    by_name = {
        name: next(
            (found for found in one.candidate.settings if found.short_title.startswith(name)), None
        )
        for name in names
    }

    def cells(write: Callable[[SettingResults], str]) -> list[str]:
        return [MISSING if found is None else write(found) for found in by_name.values()]

    return (
        one.afford,
        f"**{title_of(arm)}** `{arm}`",
        *cells(lambda found: changed(found.effect_of_all(arm, "flip_rate"))),
        *cells(lambda found: changed(found.effect_of_all(arm, "accuracy"))),
        _training(one.candidate),
        multiple(one.candidate.cost("serving")),
    )


def _training(one: Candidate) -> str:
    """What it costs with the encoder, and for those who have its features already."""
    cost, head = multiple(one.cost("training")), one.cost("heads")
    return cost if head is None else f"{cost} ({head:.2g}×)"
