"""What the paper claims, each beside what we found: by a rule on an interval, never by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from seedproof.comparison.effect import Effect
from seedproof.report.numbers import MINUS, NO_BREAK
from seedproof_reproductions.conll2019.names import (
    ARMS,
    BASELINE,
    DATASETS,
    JACCARD,
    KL,
    METHODS,
)
from seedproof_reproductions.conll2019.page.departures import printed
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.page.verdicts import judge_value
from seedproof_reproductions.conll2019.published import published, published_accuracy
from seedproof_reproductions.page.claims import Check, CheckedClaim, Claim
from seedproof_reproductions.page.verdicts import (
    Verdict,
    judge_cut,
    judge_direction,
    judge_loss,
    judge_range,
)
from seedproof_reproductions.page.words import changed, figure, listed

Settings: TypeAlias = Sequence[SettingResults]


def checked_claims(settings: Settings) -> tuple[CheckedClaim, ...]:
    """Every claim of the paper with what we found.

    Args:
        settings: Our results.

    Returns:
        In the order of `published.toml`.
    """
    return tuple(_checked(settings, claim) for claim in published()["claims"])


def _checked(settings: Settings, claim: Claim) -> CheckedClaim:
    checks = tuple(CHECKS[claim["name"]](_about(settings, claim), claim))
    covered = {check.dataset for check in checks}
    missing = tuple(DATASETS[name] for name in claim["datasets"] if name not in covered)
    return CheckedClaim(claim, checks, _from_tables(claim), missing)


def _from_tables(claim: Claim) -> str:
    """What the tables give, where that is another number than the text's."""
    given = claim.get("from_tables")
    if given is None:
        return ""
    values = [f"{value}{NO_BREAK}{claim['unit']} ({ARMS[a]})" for a, value in given.items()]
    return f"The tables give {listed(values)}."


def _about(settings: Settings, claim: Claim) -> list[SettingResults]:
    return [one for one in settings if one.dataset in claim["datasets"]]


@dataclass(frozen=True)
class SdCut:
    """Checks the cut of accuracy's sd on each data set of one of the paper's tables."""

    encoder: str

    def __call__(self, settings: Settings, claim: Claim) -> Iterator[Check]:
        """One check for each data set and stabilizer."""
        del claim
        pairs = [(one, arm) for one in _in_table(settings, self.encoder) for arm in one.paper_arms]
        for one, arm in pairs:
            before, after = (
                published_accuracy(one.dataset, self.encoder, name) for name in (BASELINE, arm)
            )
            if before is None or after is None:
                continue
            cut, effect = 100 * (1 - after.sd / before.sd), one.effect(arm, "accuracy_sd")
            yield Check(
                one.dataset,
                f"{one.title}, {ARMS[arm]}",
                printed(one, f"{MINUS}{cut:.0f}{NO_BREAK}%"),
                changed(effect),
                judge_cut(effect, cut),
            )


def _in_table(settings: Settings, encoder: str) -> list[SettingResults]:
    return [one for one in settings if one.encoder == encoder and one.is_as_tabled]


def _sd_none(settings: Settings, claim: Claim) -> Iterator[Check]:
    """The sd without averaging, beside the one in Table 2."""
    del claim
    for one in _in_table(settings, "cnn"):
        theirs = published_accuracy(one.dataset, "cnn", BASELINE)
        if theirs is not None:
            ours = one.estimate(BASELINE, "accuracy_sd")
            yield Check(
                one.dataset,
                one.title,
                printed(one, f"{theirs.sd:.2f}{NO_BREAK}pts"),
                figure("accuracy_sd", ours),
                judge_value(ours, theirs.sd / 100, is_over_runs=one.is_over_runs(BASELINE)),
            )


@dataclass(frozen=True)
class EffectOf:
    """Checks one effect of both stabilizers wherever it was measured.

    Args:
        metric: Which metric.
        says: What the paper says, in short.
        method: By which explanations; None for predictions.
        judge: The rule.
    """

    metric: str
    says: str
    method: str | None = None
    judge: Callable[[Effect | None], Verdict] = judge_direction

    def __call__(self, settings: Settings, claim: Claim) -> Iterator[Check]:
        """One check for each setting and stabilizer in which there is such an effect."""
        del claim
        for one in settings:
            for arm in one.paper_arms:
                effect = one.effect(arm, self.metric, self.method)
                if effect is not None:
                    where = f"{one.title}, {ARMS[arm]}"
                    verdict = self.judge(effect)
                    yield Check(one.dataset, where, self.says, changed(effect), verdict)


def _attention_cut(settings: Settings, claim: Claim) -> Iterator[Check]:
    """The cut of the KL between attention distributions, of the size that the claim states."""
    cut = claim["value"]
    says = f"{MINUS}{cut:.0f}{NO_BREAK}%"
    check = EffectOf(KL, says, method="attention", judge=lambda one: judge_cut(one, cut))
    return check(settings, claim)


def _rivals(settings: Settings, claim: Claim) -> Iterator[Check]:
    """NASWA against ASWA, where the paper says it: the KL between attention distributions."""
    del claim
    for one in settings:
        effect = one.rival(KL, "attention")
        if effect is not None:
            yield Check(one.dataset, one.title, "lower", changed(effect), judge_direction(effect))


def _top_tokens(settings: Settings, claim: Claim) -> Iterator[Check]:
    """The Jaccard distance of the top tokens, of each method, without averaging."""
    low, high = claim["value"]
    for one in settings:
        for method in one.methods:
            ours = one.estimate(BASELINE, JACCARD, method)
            yield Check(
                one.dataset,
                f"{one.title}, {METHODS[method]}",
                f"{low:.0f} to {high:.0f}{NO_BREAK}%",
                figure(JACCARD, ours),
                judge_range(
                    ours,
                    low / 100,
                    high / 100,
                    is_over_runs=one.is_over_runs(BASELINE, method),
                ),
            )


CHECKS: Mapping[str, Callable[[Settings, Claim], Iterator[Check]]] = {
    "sd-cut-cnn": SdCut("cnn"),
    "sd-cut-lstm": SdCut("lstm"),
    "sd-cut-diabetes": SdCut("cnn"),
    "sd-none-cnn": _sd_none,
    "more-accurate": EffectOf("accuracy", "higher"),
    "no-loss": EffectOf("accuracy", "almost no loss", judge=judge_loss),
    "probability-steadier": EffectOf("probability_sd", "lower"),
    "top-tokens-differ": _top_tokens,
    "attention-steadier": EffectOf(KL, "lower", method="attention"),
    "attention-kl-diabetes": _attention_cut,
    "naswa-steadier": _rivals,
    "gradients-alike": EffectOf(JACCARD, "lower", method="gradient"),
    "lime-alike": EffectOf(JACCARD, "lower", method="lime"),
}
