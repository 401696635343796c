"""What the paper claims, each beside what we found: by a rule on an interval, never by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page.methods import (
    ENSEMBLE,
    FRESH_TEACHER,
    PLAIN_EXPONENT,
    SHARED_TEACHER,
    arms_of,
    protocol,
    where,
)
from seedproof_reproductions.findings2023.page.reading import ENTROPY, SettingResults
from seedproof_reproductions.findings2023.page.rules import (
    FRACTION,
    judge_accuracy,
    judge_below,
    judge_share,
    judge_strong,
    recovered,
)
from seedproof_reproductions.findings2023.page.telling import correlation, cut, multiple, share
from seedproof_reproductions.findings2023.published import published, published_cut, published_row
from seedproof_reproductions.page.claims import Check, CheckedClaim
from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN, Verdict, judge_cut
from seedproof_reproductions.page.words import changed, listed

Checks: TypeAlias = Iterator[Check]
RULES = """\
A verdict follows from an interval by a rule, never by hand.
A cut of a stated size *holds here* if a cut is shown, its interval reaches that size, and both \
its ends are within a factor of two of the ratio that we found.
If they are not, *a cut is shown, its size is open*; of a share of another cut, *its size is open*.
It *does not hold here* if the interval ends short of that size.
A share of the ensemble's cut is judged in the same way, by an interval made of those of both \
arms, widened so that they hold together; it is open where no cut of the ensemble is shown.
Where the label entropy is high, utterances are chosen in the control, as the paper does; what is \
found where it is high in the arm stands beside it, and unless a cut is shown there, too, it is \
*not shown here*.
One arm is better than another if its whole interval lies below the other's.
A relationship is strong if the whole interval of its correlation is at 0.7 or above, and is not \
if all of it is below 0.7 times the square root of what the LE_m of as many other runs would \
reach; with fewer than eight runs that is not known, and it is open.
"As accurate" holds if no loss is shown and one of half a point is excluded, and does not if a \
loss is shown.
A fraction of the computation is half of it or less.
Everything else is *not shown here*: the interval tells how much is still possible.
Each arm is compared with the control as if it were alone."""


def checked_claims(settings: Sequence[SettingResults]) -> tuple[CheckedClaim, ...]:
    """Every claim of the paper with what we found.

    Args:
        settings: Our results.

    Returns:
        In the order of `published.toml`.
    """
    return tuple(
        CheckedClaim(
            claim, tuple(check for one in settings for check in CHECKS[claim["name"]](one))
        )
        for claim in published()["claims"]
    )


@dataclass(frozen=True)
class CutOf:
    """Checks the cut that a table prints of a method.

    Args:
        method: As in the tables.
        table: Which one.
        effect: What we found of an arm.
        beside: What else is to be known of it, in words.
        other: The same effect by another choice of utterances, which must show a cut, too.
    """

    method: str
    table: str
    effect: Callable[[SettingResults, str], Effect | None]
    beside: Callable[[SettingResults, str], str] = lambda _, __: ""
    other: Callable[[SettingResults, str], Effect | None] = lambda _, __: None

    def __call__(self, found: SettingResults) -> Checks:
        """One check for each of our arms of the method."""
        theirs = published_cut(self.table, found.dataset, self.method)
        for arm in arms_of(found, self.method):
            effect = self.effect(found, arm)
            if theirs is not None and effect is not None:
                verdict = judge_cut(effect, theirs)
                other = self.other(found, arm)
                if verdict != FAILS and other is not None and other.verdict != "steadier":
                    verdict = OPEN
                ours = changed(effect) + self.beside(found, arm)
                yield _check(found, arm, cut(theirs), ours, verdict)


def _check(
    found: SettingResults, arm: str, published_here: str, ours: str, verdict: Verdict
) -> Check:
    """A check of one arm; those of shared and of fresh teachers are told apart."""
    group = protocol(found, arm) if arm in (*SHARED_TEACHER, *FRESH_TEACHER) else ""
    return Check(found.dataset, where(found, arm), published_here, ours, verdict, group)


def _by_arm(found: SettingResults, arm: str) -> str:
    effect = found.high_by_arm(arm)
    return "" if effect is None else f"; {changed(effect)} where it is high in the arm"


def _over_runs(found: SettingResults, arm: str) -> Effect | None:
    return found.effect(arm, ENTROPY)


def _recovers(found: SettingResults) -> Checks:
    theirs = published_row(found.dataset, "tgtss").get("share")
    reference = found.effect(ENSEMBLE, ENTROPY)
    if theirs is None or reference is None:
        return
    for arm in arms_of(found, "tgtss"):
        ours = recovered(found.effect(arm, ENTROPY), reference)
        printed = share(Estimate(theirs / 100))
        yield _check(found, arm, printed, share(ours), judge_share(ours, theirs))


def _fraction(found: SettingResults) -> Checks:
    whole = found.cost(ENSEMBLE, "training")
    for arm in arms_of(found, "tgtss"):
        ours = found.cost(arm, "training")
        if ours is not None and whole is not None:
            told = f"{multiple(ours)} of one training, the ensemble {multiple(whole)}"
            verdict = HOLDS if ours <= FRACTION * whole else FAILS
            yield _check(found, arm, "less", told, verdict)


def _ensemble_best(found: SettingResults) -> Checks:
    yield from _better(found, ENSEMBLE, ("l2", "swa", "label-smoothing", "tgtss"))


def _tgtss_beats(found: SettingResults) -> Checks:
    for arm in arms_of(found, "tgtss"):
        yield from _better(found, arm, ("swa", "l2"))


def _better(found: SettingResults, arm: str, methods: Sequence[str]) -> Checks:
    """An arm beside methods, all of which it is said to cut the entropy more than."""
    others = [arms_of(found, method) for method in methods]
    effects = {other: found.effect(other, ENTROPY) for arms in others for other in arms}
    known = {other: effect for other, effect in effects.items() if effect is not None}
    ours = found.effect(arm, ENTROPY)
    # Where a method was not run, nobody is shown to be better than all of them.
    if ours is None or len(known) < len(effects) or not all(others):
        return
    beside = listed([f"{changed(one)} with {title_of(other)}" for other, one in known.items()])
    verdict = judge_below(ours, list(known.values()))
    yield _check(found, arm, "the larger cut", f"{changed(ours)}; {beside}", verdict)


def _exponent(found: SettingResults) -> Checks:
    theirs = published()["exponent"].get(found.dataset)
    arm = found.first_of(FRESH_TEACHER[:1])
    if arm is None:
        return
    with_it, without = (found.effect(name, ENTROPY) for name in (arm, PLAIN_EXPONENT))
    if with_it is None or without is None:
        return
    printed = "the larger cut with it"
    if theirs is not None:
        printed = f"{cut(theirs['with'])}; {cut(theirs['without'])} without"
    ours = f"{changed(with_it)}; {changed(without)} without"
    yield _check(found, arm, printed, ours, judge_below(with_it, [without]))


def _accurate(found: SettingResults) -> Checks:
    before, after = (published_row(found.dataset, name) for name in ("control", "tgtss"))
    for arm in arms_of(found, "tgtss"):
        effect = found.effect(arm, "accuracy")
        if before and after and effect is not None:
            gain = after["accuracy"][0] - before["accuracy"][0]
            printed = f"+{gain:.1f}\N{NO-BREAK SPACE}pts"
            yield _check(found, arm, printed, changed(effect), judge_accuracy(effect))


def _stands_in(found: SettingResults) -> Checks:
    yield from _strong(found, found.stand_in("pearson"))


def _follows(found: SettingResults) -> Checks:
    yield from _strong(found, found.sigma())


def _strong(found: SettingResults, ours: Estimate | None) -> Checks:
    if ours is not None:
        verdict = judge_strong(ours, found.stand_in("reference"))
        yield Check(found.dataset, found.title, "strong", correlation(ours), verdict)


CHECKS: Mapping[str, Callable[[SettingResults], Checks]] = {
    "tgtss-cuts": CutOf("tgtss", "table3", _over_runs),
    "tgtss-recovers": _recovers,
    "fraction-of-cost": _fraction,
    "ensemble-best": _ensemble_best,
    "tgtss-beats": _tgtss_beats,
    "smoothing-cuts": CutOf("label-smoothing", "table3", _over_runs),
    "swa-cuts": CutOf("swa", "table3", _over_runs),
    "exponent-matters": _exponent,
    "tgtss-accurate": _accurate,
    "one-run-stands-in": _stands_in,
    "entropy-follows-sd": _follows,
    "tgtss-single-run": CutOf(
        "tgtss", "table4", lambda found, arm: found.wavering_effect(arm, "all")
    ),
    "tgtss-high": CutOf(
        "tgtss",
        "table5",
        lambda found, arm: found.high(arm),
        _by_arm,
        lambda found, arm: found.high_by_arm(arm),
    ),
    "tgtss-single-run-high": CutOf(
        "tgtss", "table6", lambda found, arm: found.wavering_effect(arm, "high")
    ),
}
