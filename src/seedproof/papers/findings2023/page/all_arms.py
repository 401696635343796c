"""One table of all arms: how good, how steady, at what cost."""

from collections.abc import Iterator, Sequence

from seedproof.papers.findings2023.names import CONTROL, GROUPS, SHARED, title_of
from seedproof.papers.findings2023.page.reading import ENTROPY, WAVERING, SettingResults
from seedproof.papers.findings2023.page.telling import multiple
from seedproof.papers.page.words import MISSING, changed, figure, paragraphs, table

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
Brackets are 95 % intervals.
Changes of accuracy, flip rate and LE_m are those of `seedproof compare`: in each column the \
intervals of all arms of a setting hold together, and are wider for it than those above.
LE_m above 0.56 is cross-fitted, and each arm is asked alone.
LE_s can be compared between arms that train for as many steps.
Training and serving are multiples of the control's, with the encoder."""


def all_arms(settings: Sequence[SettingResults]) -> str:
    """Every arm of every setting, in groups.

    Args:
        settings: Our results.

    Returns:
        Markdown with a heading for each setting.
    """
    blocks = [ABOUT]
    for one in settings:
        blocks += [f"### {one.title}: all arms", _about(one), table(HEADER, _rows(one))]
    return paragraphs(blocks)


def _about(one: SettingResults) -> str:
    sizes = one.own["sizes"]
    return (
        f"{sizes['train']:,} utterances to train on, {sizes['test']:,} to test on, "
        f"{one.own['n_classes']} classes, {one.seeds} runs an arm."
    )


def _rows(one: SettingResults) -> Iterator[tuple[str, ...]]:
    for group, arms in one.by_group.items():
        yield f"**{GROUPS[group]}**", *[""] * (len(HEADER) - 1)
        for arm in arms:
            yield _row(one, arm)


def _row(one: SettingResults, arm: str) -> tuple[str, ...]:
    def change(metric: str) -> str:
        return "" if arm == CONTROL else changed(one.effect_of_all(arm, metric))

    shares = one.shares(arm)
    return (
        title_of(arm),
        "" if shares is None else SHARED[shares],
        str(one.of(arm)["n_runs"]),
        figure("accuracy", one.estimate(arm, "accuracy")),
        change("accuracy"),
        figure("flip_rate", one.estimate(arm, "flip_rate")),
        change("flip_rate"),
        figure(ENTROPY, one.estimate(arm, ENTROPY)),
        change(ENTROPY),
        "" if arm == CONTROL else changed(one.high(arm)),
        figure(WAVERING, one.wavering(arm)),
        figure("ece", one.estimate(arm, "ece")),
        _cost(one, arm, "training"),
        _cost(one, arm, "serving"),
    )


def _cost(one: SettingResults, arm: str, what: str) -> str:
    found = one.cost(arm, what)
    return MISSING if found is None else multiple(found)
