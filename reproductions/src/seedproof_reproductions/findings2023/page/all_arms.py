"""One table of all arms: how good, how steady, at what cost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from seedproof_reproductions.findings2023.arms import GROUPS
from seedproof_reproductions.findings2023.names import BASELINE, IN_COMMON, title_of
from seedproof_reproductions.findings2023.page.reading import ENTROPY, WAVERING, SettingResults
from seedproof_reproductions.findings2023.page.rules import is_judged
from seedproof_reproductions.findings2023.page.telling import multiple
from seedproof_reproductions.page.words import MISSING, changed, figure, paragraphs, table

HEADER = (
    "arm",
    "runs share",
    "runs",
    "accuracy",
    "change",
    "flip rate",
    "change",
    "LE_m",
    "change",
    "LE_m above 0.56, change",
    "LE_s",
    "ECE",
    "training",
    "serving",
)
ABOUT = """\
Below the name of each arm is what `--arms` takes.
Brackets are 95 % intervals.
Changes of accuracy, flip rate and LE_m are those of `seedproof compare`: in each column the \
intervals of all arms of a setting hold together, and are wider for it than those above.
LE_m grows with the number of runs, so that of arms with unlike numbers only changes compare.
LE_m above 0.56 is cross-fitted, and each arm is asked alone; utterances are chosen in the \
control, which favors the arm, as [Table 5](#table-5-label-entropy-over-runs-where-it-is-high) \
shows.
LE_s can be compared between arms that train for as many steps.
Training and serving are multiples of the control's, with the encoder."""
WORDS = """\
*Decay* lets the learning rate fall in a line to 0, *zero last* begins with a last layer of zeros, \
*smoothing* is label smoothing of 0.1, *width* counts hidden units in place of 256, and *fixed \
init* begins all runs with the same weights.
*Heads* are trained on the same features, and the mean of their probabilities is served.
A *linear head* has no hidden layer, and *2× epochs* are twice as many as the control has.
TGTSS *every 10 steps* asks its teacher after every tenth step, *from batches* takes what the \
teacher says of its own batches, and *without exponent* does not flatten that.
A *deployed model* is one teacher that all runs share; *k-NN label smoothing* takes half of each \
label from the ten nearest utterances, itself among them; with *co-distillation* two heads learn \
from each other, and one is served.
SWA is the paper's; other averages are [presets](../how-to/average-weights.md) of their names."""
# At the ends of so many epochs, the last ones, LAWA's preset takes the weights.
WINDOW = 5


def all_arms(settings: Sequence[SettingResults]) -> str:
    """Every arm of every setting, in groups.

    Args:
        settings: Our results.

    Returns:
        Markdown with a heading for each setting.
    """
    blocks = [ABOUT, "\n".join((WORDS, *_short_window(settings)))]
    for one in settings:
        blocks += [f"### {one.title}: all arms", _about(one), table(HEADER, _rows(one))]
    return paragraphs(blocks)


def _short_window(settings: Sequence[SettingResults]) -> Iterator[str]:
    """That LAWA forgets nothing, where no training is longer than its window."""
    if settings and max(one.own["setting"]["epochs"] for one in settings) <= WINDOW:
        yield (
            f"LAWA's window of {WINDOW} epochs is the whole training here: it is the mean of the "
            "weights at the ends of all epochs."
        )


def _about(one: SettingResults) -> str:
    sizes = one.own["sizes"]
    return (
        f"{sizes['train']:,} utterances to train on, {sizes['test']:,} to test on, "
        f"{one.own['n_classes']} classes, {one.seeds} runs an arm."
    )


def _rows(one: SettingResults) -> Iterator[tuple[str, ...]]:
    for group, arms in one.by_group.items():
        yield f"**{GROUPS[group].title}**", *[""] * (len(HEADER) - 1)
        for arm in arms:
            yield _row(one, arm)


def _row(one: SettingResults, arm: str) -> tuple[str, ...]:
    def change(metric: str) -> str:
        return "" if arm == BASELINE else changed(one.effect_of_all(arm, metric))

    shares = one.shares(arm)
    return (
        f"{title_of(arm)}<br>`{arm}`",
        "" if shares is None else IN_COMMON[shares],
        str(one.of(arm)["n_runs"]),
        figure("accuracy", one.estimate(arm, "accuracy")),
        change("accuracy"),
        figure("flip_rate", one.estimate(arm, "flip_rate")),
        change("flip_rate"),
        figure(ENTROPY, one.estimate(arm, ENTROPY)),
        change(ENTROPY),
        "" if arm == BASELINE else _high(one, arm),
        figure(WAVERING, one.wavering(arm)),
        figure("ece", one.estimate(arm, "ece")),
        _cost(one, arm, "training"),
        _cost(one, arm, "serving"),
    )


def _high(one: SettingResults, arm: str) -> str:
    """The change where LE_m is high; without its interval where that is over utterances alone."""
    effect = one.high(arm)
    if effect is None or is_judged(effect):
        return changed(effect)
    return changed(replace(effect, low=None, high=None))


def _cost(one: SettingResults, arm: str, what: str) -> str:
    found = one.cost(arm, what)
    return MISSING if found is None else multiple(found)
