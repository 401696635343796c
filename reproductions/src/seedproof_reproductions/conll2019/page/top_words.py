"""The most important tokens that differ between seeds, by every reading of "differ" at hand."""

from collections.abc import Callable, Sequence

from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.conll2019.names import BASELINE, JACCARD, JACCARD_10, METHODS, OVERLAP
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.page.verdicts import judge_range
from seedproof_reproductions.page.words import MISSING, figure, paragraphs, table

ABOUT = """\
The sentence names no measure.
Above, tokens that differ are those in one of two top lists and not in both, of all in either.
Other readings, without averaging, each with the verdict that it would get:"""


def _lost(found: SettingResults, method: str) -> Estimate | None:
    """Of one seed's top words, the share that another does not name."""
    kept = found.estimate(BASELINE, OVERLAP, method)
    if kept is None or kept.low is None or kept.high is None:
        return None if kept is None else Estimate(1 - kept.value)
    return Estimate(1 - kept.value, 1 - kept.high, 1 - kept.low)


READINGS: dict[str, Callable[[SettingResults, str], Estimate | None]] = {
    "top 10 %, in one list of two": lambda found, method: found.estimate(
        BASELINE, JACCARD_10, method
    ),
    "top 20 %, of one list missing in the other": _lost,
}


def other_readings(settings: Sequence[SettingResults], low: float, high: float) -> str:
    """What other readings of the claim would say.

    Args:
        settings: Our results.
        low: Where the range of the claim begins, in percent.
        high: Where it ends.

    Returns:
        Markdown; nothing without explanations.
    """
    rows = [
        (
            f"{one.title}, {METHODS[method]}",
            *(_cell(one, method, read(one, method), low, high) for read in READINGS.values()),
        )
        for one in settings
        for method in one.methods
    ]
    return paragraphs((ABOUT, table(("", *READINGS), rows))) if rows else ""


def _cell(
    found: SettingResults, method: str, ours: Estimate | None, low: float, high: float
) -> str:
    if ours is None:
        return MISSING
    is_over_runs = found.is_over_runs(BASELINE, method)
    verdict = judge_range(ours, low / 100, high / 100, is_over_runs=is_over_runs)
    return f"{figure(JACCARD, ours)}, {verdict}"
