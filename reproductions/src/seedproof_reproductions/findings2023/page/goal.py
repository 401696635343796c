"""The goal beyond the paper: half of the flips, for little more training and no accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page.reading import SettingResults, heads, in_every
from seedproof_reproductions.findings2023.page.rules import (
    MOST_TRAINING,
    halves,
    is_judged,
    is_no_worse,
    keeps,
    loses,
)
from seedproof_reproductions.findings2023.page.telling import multiple
from seedproof_reproductions.page.words import changed, listed, paragraphs, table

ABOUT = """\
Is there an arm that trains everything anew in each run, costs at most 1.5 times one training with \
the encoder counted, loses no accuracy, and cuts the flip rate by half or more, with an interval \
that excludes a cut of 40 % or less?
The flip rate is the share of utterances on which two runs disagree.
*Loses no accuracy*: the interval of the difference to the control does not lie below 0.
*Within 0.5 pts* is another question: the interval excludes a loss of half a point, whether a \
smaller one is shown or not.
Costs that differ between the data sets stand in their order.
With too few runs for a verdict an arm does none of it.
*Together* says whether the flip rate is still halved by the wider interval that holds together \
with those of all arms, which is the one to go by after looking at many."""


@dataclass(frozen=True)
class Candidate:
    """An arm beside the goal, on all data sets.

    Args:
        arm: Its name.
        settings: Where it was trained.
    """

    arm: str
    settings: tuple[SettingResults, ...]

    @property
    def is_honest(self) -> bool:
        """Whether its runs share nothing but the recipe and the data."""
        return all(one.shares(self.arm) is None for one in self.settings)

    def cost(self, what: str) -> float | None:
        """What `training` or `serving` costs, where it costs most; None if that is not known."""
        costs = [one.cost(self.arm, what) for one in self.settings]
        known = [cost for cost in costs if cost is not None]
        return max(known) if known and len(known) == len(costs) else None

    @property
    def is_cheap(self) -> bool:
        """Whether it costs at most 1.5 times one training."""
        cost = self.cost("training")
        return cost is not None and cost <= MOST_TRAINING

    @property
    def keeps_accuracy(self) -> bool:
        """Whether no loss is shown, with runs enough for a verdict."""
        return all(keeps(one.effect(self.arm, "accuracy")) for one in self.settings)

    @property
    def is_no_worse(self) -> bool:
        """Whether a loss of half a point is excluded."""
        return all(is_no_worse(one.effect(self.arm, "accuracy")) for one in self.settings)

    @property
    def halves(self) -> bool:
        """Whether it cuts the flips by half, asked alone."""
        return all(halves(one.effect(self.arm, "flip_rate")) for one in self.settings)

    @property
    def halves_together(self) -> bool:
        """The same with intervals that hold together with those of all arms."""
        return all(halves(one.effect_of_all(self.arm, "flip_rate")) for one in self.settings)

    @property
    def reaches(self) -> bool:
        """Whether it does all of it, but for sharing nothing."""
        return self.is_cheap and self.keeps_accuracy and self.halves

    @property
    def worst(self) -> float:
        """The largest ratio of its flip rate to the control's, over the data sets."""
        effects = [one.effect(self.arm, "flip_rate") for one in self.settings]
        values = [None if effect is None else effect.value for effect in effects]
        return max((float("inf") if value is None else value for value in values), default=1.0)

    @property
    def row(self) -> tuple[str, ...]:
        """A row of the table."""
        return (
            title_of(self.arm),
            *(changed(one.effect(self.arm, "flip_rate")) for one in self.settings),
            *(changed(one.effect(self.arm, "accuracy")) for one in self.settings),
            _costs(self, "training"),
            _costs(self, "serving"),
            "yes" if self.is_no_worse else "not shown",
            "yes" if self.halves_together else "not shown",
        )

    def falls_short(self) -> str:
        """What keeps it from the goal."""
        reasons = [] if self.is_cheap else ["it costs more than 1.5 times one training"]
        for one in self.settings:
            if not is_judged(one.effect(self.arm, "flip_rate")):
                reasons.append(f"on {one.short_title} there are too few runs for a verdict")
                continue
            if not halves(one.effect(self.arm, "flip_rate")):
                found = changed(one.effect(self.arm, "flip_rate"))
                reasons.append(f"on {one.short_title} the flip rate changes by {found}")
            if loses(one.effect(self.arm, "accuracy")):
                found = changed(one.effect(self.arm, "accuracy"))
                reasons.append(f"on {one.short_title} accuracy changes by {found}")
        return listed(reasons)


def _costs(one: Candidate, what: str) -> str:
    """A cost on each data set; once where all are the same."""
    told = [multiple(found.cost(one.arm, what)) for found in one.settings]
    return told[0] if len(set(told)) == 1 else " / ".join(told)


def candidates(settings: Sequence[SettingResults]) -> tuple[Candidate, ...]:
    """Every arm that all settings with a head have, the largest cuts first.

    Args:
        settings: Our results.

    Returns:
        By the data set on which they cut less; arms that were drawn again are left out.
    """
    found = heads(settings)
    arms = [arm for arm in in_every(found) if found[0].of(arm)["group"] != "redrawn"]
    return tuple(sorted((Candidate(arm, found) for arm in arms), key=lambda one: one.worst))


def closest(found: Sequence[Candidate]) -> Candidate | None:
    """The arm with the largest cut, where it cuts less, that is cheap and loses no accuracy.

    Args:
        found: Arms, the largest cuts first.

    Returns:
        The first of all where each is too dear or loses accuracy; None where flips or costs are
        not known.
    """
    known = [one for one in found if isfinite(one.worst) and one.cost("training") is not None]
    able = (one for one in known if one.is_cheap and one.keeps_accuracy)
    return next(able, known[0] if known else None)


def goal(settings: Sequence[SettingResults]) -> str:
    """Which arms reach it, and what keeps the closest one from it where none does.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading; nothing without a setting in which heads were trained.
    """
    found = candidates(settings)
    if not found:
        return ""
    honest = [one for one in found if one.is_honest]
    shared = [one for one in found if not one.is_honest]
    return paragraphs(
        (
            ABOUT,
            _told(honest, "With everything trained anew in each run"),
            _table([one for one in honest if one.reaches]),
            _told(shared, "With a teacher or the first weights that all runs share"),
            _table([one for one in shared if one.reaches]),
            _published(found),
        )
    )


def _told(found: Sequence[Candidate], start: str) -> str:
    names = [title_of(one.arm) for one in found if one.reaches]
    where = _where(found[0].settings) if found else ""
    if names:
        verb = "arm does" if len(names) == 1 else "arms do"
        return f"**{start}, {len(names)} {verb} it {where}: {listed(names)}.**"
    near = closest(found)
    if near is None:
        return f"**{start}, no arm does it{' ' + where if where else ''}.**"
    return (
        f"**{start}, no arm does it {where}.** Closest comes {title_of(near.arm)}: "
        f"{near.falls_short()}."
    )


def _where(settings: Sequence[SettingResults]) -> str:
    names = listed([one.short_title for one in settings])
    return f"on {names}"


def _table(found: Sequence[Candidate]) -> str:
    if not found:
        return ""
    names = [one.short_title for one in found[0].settings]
    header = (
        "",
        *(f"flip rate, {name}" for name in names),
        *(f"accuracy, {name}" for name in names),
        "training",
        "serving",
        "within 0.5 pts",
        "together",
    )
    return table(header, [one.row for one in found])


def _published(found: Sequence[Candidate]) -> str:
    rows = [one for one in found if one.settings[0].of(one.arm)["group"] == "paper"]
    about = "The published methods beside it, under both protocols:"
    return paragraphs((about, _table(rows))) if rows else ""
