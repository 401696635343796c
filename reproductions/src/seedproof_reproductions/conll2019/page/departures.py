"""Where a setting has less than the paper had: what it printed is then of another setting."""

from collections.abc import Sequence

from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.page.words import listed

TITLE = "Not the paper's setting:"
# Beside a published figure.
ELSEWHERE = "(not this setting)"


def departures(found: SettingResults) -> tuple[str, ...]:
    """What a setting has less of than the paper, such as "400 of 6,355 training texts".

    Args:
        found: Our results.

    Returns:
        Nothing where texts, epochs and seeds are as many or more.
    """
    seeds = min(int(arm["n_runs"]) for arm in found.own["arms"].values())
    return _less(found) + _told("seeds", seeds, published()["training"]["seeds"])


def is_elsewhere(found: SettingResults) -> bool:
    """Whether texts or epochs are fewer: fewer seeds alone make figures less sure, not others."""
    return bool(_less(found))


def printed(found: SettingResults, text: str) -> str:
    """A figure of the paper's tables, and whether it is of another setting than ours."""
    return f"{text} {ELSEWHERE}" if is_elsewhere(found) else text


def _less(found: SettingResults) -> tuple[str, ...]:
    sizes, epochs = found.own["sizes"], published()["training"]["epochs"]
    return (
        *_told("training texts", sizes["train"], published_size(found, "train")),
        *_told("test texts", sizes["test"], published_size(found, "test")),
        *_told("epochs", found.own["setting"]["epochs"], epochs),
    )


def _told(noun: str, ours: int, theirs: int) -> tuple[str, ...]:
    return (f"{ours:,} of {theirs:,} {noun}",) if ours < theirs else ()


def published_size(found: SettingResults, split: str) -> int:
    """How many texts the paper had."""
    return int(sum(published()["sizes"][found.dataset][split]))


def banner(settings: Sequence[SettingResults]) -> str:
    """A warning for the top of the page.

    Args:
        settings: Our results.

    Returns:
        A quotation in Markdown; nothing if every setting has what the paper had.
    """
    told = {one.title: departures(one) for one in settings}
    lines = [f"> - {title}: {listed(found)}" for title, found in told.items() if found]
    if not lines:
        return ""
    which = "this" if len(settings) == 1 else f"{len(lines)} of {len(settings)} settings"
    start = f"> **{TITLE}** {which} {'has' if len(lines) == 1 else 'have'} less than it had."
    if any(map(is_elsewhere, settings)):
        start += (
            f" What the paper printed is marked *{ELSEWHERE}* where texts or epochs are fewer: it "
            "cannot be compared with ours, and a verdict there is about our setting."
        )
    return "\n".join([start, ">", *lines])
