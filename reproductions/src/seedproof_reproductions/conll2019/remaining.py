"""Runs of the plan, and of the paper's own sizes, that were not made, with their cost."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from seedproof_reproductions.conll2019.names import ARMS, BASELINE, PAPER_ARMS
from seedproof_reproductions.conll2019.plan import plan, planned_name, questions
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.conll2019.reading import SettingResults
from seedproof_reproductions.figures import MISSING, listed
from seedproof_reproductions.page import Table

SECONDS = "seconds"


def not_reached(settings: Sequence[SettingResults]) -> Table:
    """Return the studies with fewer seeds, texts or epochs than planned or published."""
    header = ("study", "wanted", "there are", "hours on one core")
    return Table.of(header, [*_planned(settings), *_published(settings)])


def _planned(settings: Sequence[SettingResults]) -> Iterator[tuple[str, ...]]:
    """Return the arms that have fewer seeds than planned, by study."""
    trained = {planned_name(setting.content["setting"]): setting for setting in settings}
    usual = {setting.content["name"]: setting for setting in settings}
    for study in plan()["studies"]:
        own = trained.get(study["setting"])
        counts = {arm: (own and own.of(arm, "n_runs")) or 0 for arm in study["seeds"]}
        missing = {arm: n for arm, n in study["seeds"].items() if counts[arm] < n}
        # One run takes as long as in the same setting before, or with the usual optimizer.
        seconds = _seconds(own or usual.get(study["setting"]) or settings[0])
        n_left = sum((n - counts[arm]) * _needed(arm, own) for arm, n in missing.items())
        if missing:
            yield (
                study["title"],
                seeds_text(missing),
                seeds_text({arm: counts[arm] for arm in missing}),
                _hours(n_left, seconds),
            )


def _needed(arm: str, setting: SettingResults | None) -> int:
    """Return how many arms are trained for one that is missing.

    The records of a study in two halves were not kept, so those that it is compared with are
    trained again.
    """
    if setting is None or not setting.halves:
        return 1
    contrasts = (contrast for question in questions() for contrast in question.contrasts)
    compared = {other for contrast in contrasts if arm in contrast for other in contrast}
    trained = {BASELINE, *compared} & setting.content["arms"].keys()
    return len({arm, *trained})


def _published(settings: Sequence[SettingResults]) -> Iterator[tuple[str, ...]]:
    """Return the settings that are smaller than in the paper, with the cost of its sizes."""
    epochs, n_seeds = published()["training"]["epochs"], published()["training"]["seeds"]
    for setting in settings:
        sizes = setting.content["sizes"]["train"], setting.published_size("train")
        ours = setting.content["setting"]["epochs"]
        if setting.is_elsewhere:
            seconds = _seconds(setting)
            factor = sizes[1] * epochs / (sizes[0] * ours)
            n_runs = n_seeds * (1 + len(PAPER_ARMS))
            yield (
                setting.title,
                f"{sizes[1]:,} texts, {epochs} epochs, {n_seeds} seeds",
                f"{sizes[0]:,} texts, {ours} epochs, {setting.seeds} seeds",
                _hours(n_runs, seconds and seconds * factor),
            )


def _seconds(setting: SettingResults) -> float | None:
    """Return how long a run of the baseline takes, as the runs logged it."""
    logged = setting.scalars(BASELINE, SECONDS)
    return median(logged) if logged else None


def _hours(n_runs: int, seconds: float | None) -> str:
    return MISSING if seconds is None else f"{n_runs * seconds / 3600:.0f}"


def seeds_text(counts: Mapping[str, int]) -> str:
    """Return arms by their number of seeds, such as "20 of none and ASWA"."""
    arms: dict[int, list[str]] = {}
    for arm, n in counts.items():
        arms.setdefault(n, []).append(ARMS[arm])
    return "; ".join(f"{n} of {listed(names)}" for n, names in arms.items())
