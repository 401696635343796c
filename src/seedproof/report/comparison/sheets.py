"""Small tables of a comparison: every two arms, reductions of entropy, and costs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from seedproof.comparison.arms.result import ComparedArm, Comparison, CrossFitted
from seedproof.messages import Message, Sentences
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.comparison import amounts, sentences
from seedproof.report.comparison.groups import all_arms, shown_verdict
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, quantity
from seedproof.stats.intervals import Estimate

SENTENCES = {
    "all-pairs": "Every two arms by {metric}: the {n_pairs} intervals hold simultaneously. "
    "comparison.json has all metrics of every two arms.",
    "entropy-cut": "ΔLE is the reduction in mean label entropy: above 0, runs agree more.",
    "regression-to-the-mean": "High-entropy examples (about {n_chosen:,.0f}) have a label "
    "entropy above {limit} in the baseline. They are selected on one half of the baseline's runs "
    "and measured on the other half (cross-fitted). Selecting and measuring on the same runs shows "
    "a reduction even where there is none, because of regression to the mean.",
    "high-entropy-intervals": f"Their 95{NO_BREAK}% intervals are over {{over}}, for each figure "
    "alone.",
    "high-entropy-both": "Arms that are unsure of different examples show a reduction on those of "
    "the baseline and an increase on those of the arm. Only a reduction on both is an effect.",
    "high-entropy-no-interval": "No interval for {arms}: {reason}.",
    "costs": "Costs are medians over runs, as logged.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class Sheet:
    """A small table of text: each column has a name, such as `share_of_gold`, and a title."""

    columns: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[Message, ...]

    @property
    def note(self) -> str:
        """The notes as text."""
        return " ".join(map(str, self.notes))


def pairs_sheet(comparison: Comparison) -> Sheet | None:
    """Return every two arms by the primary metric; None if only the baseline is compared."""
    if comparison.pairs is None:
        return None
    base, primary = comparison.baseline.name, comparison.primary
    pairs = [(arm.name, base, arm.effects) for arm in comparison.arms]
    pairs += [(pair.arm, pair.against, pair.effects) for pair in comparison.pairs]
    rows = tuple(
        (
            arm,
            against,
            amounts.change(effect),
            amounts.ends(effect),
            shown_verdict(comparison, effects, primary),
        )
        for arm, against, effects in pairs
        if (effect := effects.get(primary)) is not None
    )
    columns = ("arm", "against", "change", "interval", "verdict")
    return Sheet(columns, columns, rows, (_say("all-pairs", metric=primary, n_pairs=len(rows)),))


def _entropy_cut(arm: ComparedArm) -> float | None:
    effect = arm.effects.get("label_entropy")
    return None if effect is None or effect.value is None else 1 - effect.value


def _share(value: float | None) -> str | None:
    return None if value is None else str(WithUnit(value, "percent"))


def _cross_fitted(effect: CrossFitted | None) -> str | None:
    """Return a reduction with its interval, if it has one; None without a value."""
    if effect is None or effect.reduction is None:
        return None
    estimate = Estimate(effect.reduction, effect.low, effect.high, effect.over)
    return str(WithInterval(estimate, "percent"))


# Title and text of each share, by the name of its column.
SHARES: Mapping[str, tuple[str, Callable[[ComparedArm], str | None]]] = {
    "entropy_cut": ("ΔLE", lambda arm: _share(_entropy_cut(arm))),
    "high_entropy_cut": (
        "ΔLE, high-entropy in the baseline",
        lambda arm: _cross_fitted(arm.high_entropy),
    ),
    "high_entropy_cut_by_arm": (
        "ΔLE, high-entropy in the arm",
        lambda arm: _cross_fitted(getattr(arm.high_entropy, "by_arm", None)),
    ),
    "high_entropy_cut_as_published": (
        "ΔLE, high-entropy, not cross-fitted",
        lambda arm: _share(getattr(arm.high_entropy, "as_published", None)),
    ),
    "share_of_gold": ("% of {}", lambda arm: _share(arm.share_of_gold)),
}


def entropy_sheet(comparison: Comparison) -> Sheet | None:
    """Return reductions of entropy, shares of the reference's gain, and costs; None without any."""
    columns: list[tuple[str, str, dict[str, str]]] = []
    # Of texts, the entropy says what the flip rate does.
    for name, (title, text_of) in () if comparison.has_texts else SHARES.items():
        texts = {arm.name: text_of(arm) for arm in comparison.arms}
        cells = {arm: text for arm, text in texts.items() if text is not None}
        columns.append((name, title.format(comparison.reference), cells))
    every = all_arms(comparison)
    for name in dict.fromkeys(key for arm in every for key in arm.costs):
        costs = {arm.name: quantity(arm.costs[name]) for arm in every if name in arm.costs}
        columns.append((f"cost_{name}", sentences.cost_title(name), costs))
    columns = [column for column in columns if column[2]]
    if not columns:
        return None
    return Sheet(
        columns=("arm", *(name for name, _, _ in columns)),
        header=("arm", *(title for _, title, _ in columns)),
        rows=tuple(
            (arm.name, *(cells.get(arm.name, amounts.NONE) for _, _, cells in columns))
            for arm in every
        ),
        notes=tuple(_sheet_notes(comparison)),
    )


def _sheet_notes(comparison: Comparison) -> Iterator[Message]:
    has_entropies = any("label_entropy" in arm.effects for arm in comparison.arms)
    if has_entropies and not comparison.has_texts:
        yield _say("entropy-cut")
    chosen = [arm.high_entropy.n_chosen for arm in comparison.arms if arm.high_entropy is not None]
    if any(chosen):
        yield _say("regression-to-the-mean", limit=HIGH_ENTROPY, n_chosen=max(chosen))
        yield _say("high-entropy-both")
        yield from _interval_notes(comparison)
    if any(arm.costs for arm in comparison.arms):
        yield _say("costs")


def _interval_notes(comparison: Comparison) -> Iterator[Message]:
    """Say what the intervals of high-entropy examples are over, and why some are missing."""
    effects = [
        (arm.name, effect)
        for arm in comparison.arms
        if arm.high_entropy is not None
        for effect in (arm.high_entropy, arm.high_entropy.by_arm)
        if effect is not None and effect.reduction is not None
    ]
    over = dict.fromkeys(effect.over for _, effect in effects if effect.over is not None)
    if over:
        yield _say("high-entropy-intervals", over=" or ".join(over))
    reasons: dict[str, dict[str, None]] = {}
    for name, effect in effects:
        if effect.note is not None:
            reasons.setdefault(str(effect.note), {})[repr(name)] = None
    for reason, names in reasons.items():
        yield _say("high-entropy-no-interval", arms=", ".join(names), reason=reason)
