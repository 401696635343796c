"""Tables of the page about confidence, attention and vectors."""

from collections.abc import Collection, Iterator, Sequence

from seedproof.metrics.card import card
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.figures import (
    figure,
    judged_change,
    median_and_range,
    plain,
    points,
    share,
)
from seedproof_reproductions.page import Table
from seedproof_reproductions.thesis2019.arms import BASELINE
from seedproof_reproductions.thesis2019.reading import ARMS, SettingResults, layout

# Arms that the thesis asks about.
THESIS_ARMS = (BASELINE, "class-balanced")
# Bins of the confidence in the results, and their titles.
BINS = {"50": "50–60 %", "60": "60–70 %", "70": "70–80 %", "80": "80–90 %", "90": "90–100 %"}


def amount(path: str, estimate: Estimate | None) -> str:
    """Return a difference as text: without a unit for logits, otherwise in points."""
    return plain(estimate) if "logit" in path.split(".") else points(estimate)


def over_confidence(settings: Sequence[SettingResults]) -> Table:
    """Confidence in tested items less the share of right answers, of all and of confident ones."""
    columns = layout()["confidence"]
    rows = (
        (setting.named(arm), *(points(setting.estimate(arm, path)) for path in columns.values()))
        for setting, arm in _arms_with(settings, "confidence", THESIS_ARMS)
    )
    return Table.of(("", *columns), rows)


def calibration(settings: Sequence[SettingResults]) -> Table:
    """Changes by a temperature, for each share of interactions that it was fitted at."""
    rows = []
    for setting, arm in _arms_with(settings, "calibration"):
        for prior, of_prior in setting.of(arm, "calibration").items():
            at = f"calibration.{prior}"
            changes = (
                judged_change(setting.effect(arm, f"{at}.effects.{metric}"))
                for metric in ("ece_corrected", "predictive_js")
            )
            rows.append(
                (
                    setting.named(arm),
                    share(Estimate(of_prior["positive_share"])),
                    median_and_range([round(value, 2) for value in of_prior["temperatures"]]),
                    figure("ece_corrected", setting.estimate(arm, f"{at}.raw.ece_corrected")),
                    *changes,
                )
            )
    header = (
        "", "positive", "temperature: median (range)", card("ece_corrected").title.lower(),
        "its change", "change of the divergence of two seeds",
    )  # fmt: skip
    return Table.of(header, rows)


def permutation(settings: Sequence[SettingResults]) -> Table:
    """Mean change of the output by shuffled attention, by confidence."""
    parts = layout()["permutation"]
    rows = []
    for setting, arm in _arms_with(settings, "permutation", THESIS_ARMS):
        for title, path in parts.items():
            at = f"permutation.{path}"
            values = [setting.estimate(arm, f"{at}.bins.{name}") for name in BINS]
            decrease = setting.estimate(arm, f"{at}.decrease")
            cells = (amount(path, value) for value in (*values, decrease))
            rows.append((setting.named(arm), title, *cells))
    return Table.of(("", "", *BINS.values(), "first less last"), rows)


def n_shuffles(settings: Sequence[SettingResults]) -> int:
    """Shuffles of the attention of an answer; 0 if there are none."""
    counts = (
        int(setting.of(arm, "permutation.n_shuffles"))
        for setting, arm in _arms_with(settings, "permutation")
    )
    return max(counts, default=0)


def compared(settings: Sequence[SettingResults]) -> Table:
    """By how much the mean change by shuffled attention exceeds that of the baseline."""
    parts = layout()["permutation"]
    rows = []
    for setting, arm in _arms_with(settings, "permutation.compared", THESIS_ARMS):
        for title, path in parts.items():
            difference = setting.estimate(arm, f"permutation.compared.{path}")
            means = (
                amount(path, setting.estimate(name, f"permutation.{path}.all"))
                for name in (BASELINE, arm)
            )
            rows.append((setting.named(arm), title, *means, amount(path, difference)))
    return Table.of(("", "", "change with none", "change with the arm", "difference"), rows)


def vectors(settings: Sequence[SettingResults]) -> Table:
    """Neighbors that two seeds share, and neighbors of the same age group."""
    rows = []
    for setting, arm in _arms_with(settings, "vectors", [BASELINE]):
        for name, of_name in setting.of(arm, "vectors").items():
            at = f"vectors.{name}"
            rows.append(
                (
                    setting.named(arm),
                    name,
                    share(setting.estimate(arm, f"{at}.agreement"), digits=1),
                    share(Estimate(of_name["chance"]), digits=1),
                    share(setting.estimate(arm, f"{at}.same_age"), digits=1),
                    points(setting.estimate(arm, f"{at}.same_age_excess")),
                )
            )
    header = (
        "", "vectors of", "neighbors shared", "by chance", "neighbors of the same age group",
        "more than among all users",
    )  # fmt: skip
    return Table.of(header, rows)


def _arms_with(
    settings: Sequence[SettingResults], path: str, arms: Collection[str] = ARMS
) -> Iterator[tuple[SettingResults, str]]:
    """Return settings and those of the arms that have figures at a path."""
    for setting in settings:
        for arm in setting.content["arms"]:
            if arm in arms and setting.of(arm, path):
                yield setting, arm
