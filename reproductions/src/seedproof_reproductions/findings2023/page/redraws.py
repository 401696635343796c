"""What runs share was drawn once: how much does that one draw decide?"""

from collections.abc import Iterator, Sequence

from seedproof.comparison.effect import Effect
from seedproof_reproductions.findings2023.arms import DRAW
from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page.reading import ENTROPY, SettingResults
from seedproof_reproductions.findings2023.page.rules import is_below
from seedproof_reproductions.page.words import MISSING, changed, paragraphs, table

ABOUT = """\
Where all runs learn from one teacher, or begin with the same weights, what they share is a draw, \
too: an interval over runs says nothing about the next one.
We drew it again; each draw is an arm of its own, with the same seeds of its runs."""
METRICS = {"flip_rate": "flip rate", ENTROPY: "LE_m", "accuracy": "accuracy"}


def redraws(settings: Sequence[SettingResults]) -> str:
    """Each draw beside the others of its arm.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading; nothing where nothing was drawn again.
    """
    rows: list[tuple[str, ...]] = []
    told: list[str] = []
    for one in settings:
        for arm, draws in drawn_again(one).items():
            rows += list(_rows(one, draws))
            told += _told(one, arm, draws)
    if not rows:
        return ""
    header = ("", *(f"{words}, change" for words in METRICS.values()), "flip rates of draws")
    return paragraphs((ABOUT, table(header, rows), "\n".join(f"- {one}" for one in told)))


def drawn_again(one: SettingResults) -> dict[str, tuple[str, ...]]:
    """Arms of which there is more than one draw, with all of their draws."""
    found: dict[str, tuple[str, ...]] = {}
    for arm in one.arms:
        first, mark, _ = arm.partition(DRAW)
        if mark and one.of(first):
            found[first] = (*found.get(first, (first,)), arm)
    return found


def _rows(one: SettingResults, draws: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for place, arm in enumerate(draws):
        name = title_of(arm) if place else f"**{one.title}**: {title_of(arm)} draw 1"
        yield (
            name,
            *(changed(one.effect(arm, metric)) for metric in METRICS),
            span(one, draws) if not place else "",
        )


def _ratios(one: SettingResults, draws: Sequence[str]) -> list[tuple[float, Effect]]:
    effects = [one.effect(arm, "flip_rate") for arm in draws]
    return [
        (found.value, found) for found in effects if found is not None and found.value is not None
    ]


def span(one: SettingResults, draws: Sequence[str]) -> str:
    """The smallest and the largest change of the flip rate over draws."""
    found = sorted(_ratios(one, draws), key=lambda pair: pair[0])
    if not found:
        return MISSING
    ends = [changed(Effect("flip_rate", "ratio", value)) for value, _ in (found[0], found[-1])]
    return f"{ends[0]} to {ends[1]}"


def _told(one: SettingResults, arm: str, draws: Sequence[str]) -> Iterator[str]:
    """Whether two draws differ by more than their runs do, by whole intervals."""
    found = [effect for _, effect in _ratios(one, draws)]
    if len(found) < 2:
        return
    differ = any(is_below(first, second) for first in found for second in found)
    shown = sum(effect.verdict == "steadier" for effect in found)
    told = (
        "two draws differ by more than their intervals"
        if differ
        else "no two draws are shown to differ"
    )
    yield (
        f"{title_of(arm)} on {one.title}: {span(one, draws)} over {len(found)} draws; {told}; "
        f"a cut of the flip rate is shown with {shown} of {len(found)}."
    )
