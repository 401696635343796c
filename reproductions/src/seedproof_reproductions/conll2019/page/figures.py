"""The paper's curves, with ours: figures as files, and a caption that says what to see."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seedproof_reproductions.conll2019.names import ARMS, BASELINE, JACCARD, KL, PAPER_ARMS
from seedproof_reproductions.conll2019.page.reading import Curve, SettingResults
from seedproof_reproductions.conll2019.page.svg import Chart, Panel, draw, points
from seedproof_reproductions.page.document import Drawn
from seedproof_reproductions.page.words import figure, in_all, judged, listed, paragraphs, table

DRAWN = (BASELINE, *PAPER_ARMS)
X_TITLE = "mean predicted probability, over runs, of the class that is named above"


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures, or two that show the same curves.

    Args:
        name: Of the file.
        heading: Which figures of the paper, and what they show.
        about: What is drawn, in a sentence.
        metric: Whose effects the caption states.
        y_title: What is on the vertical axis.
        method: By which explanations; None for predictions.
        factor: 100 for a share in percent.
        each_class: Whether there is a panel for each of three classes.
    """

    name: str
    heading: str
    about: str
    metric: str
    y_title: str
    method: str | None = None
    factor: float = 1.0
    each_class: bool = False

    def panels(self, settings: Sequence[SettingResults]) -> list[Panel]:
        """A panel for each setting of two classes, or for each class of a setting of three."""
        found: list[Panel] = []
        for one in settings:
            if (len(one.classes) > 2) == self.each_class:
                found += self._of(one)
        return found

    def _of(self, one: SettingResults) -> Iterator[Panel]:
        by_arm = {arm: self._curves(one, arm) for arm in DRAWN}
        for name in by_arm[BASELINE]:
            curves = {arm: curves[name] for arm, curves in by_arm.items() if name in curves}
            yield Panel(f"{one.title}: {name}", curves, self._floor(one))

    def _floor(self, one: SettingResults) -> float | None:
        noise = None if self.method is None else one.noise(BASELINE, self.metric, self.method)
        return None if noise is None else noise.value

    def _curves(self, one: SettingResults, arm: str) -> dict[str, Curve]:
        if self.method is not None:
            return one.curves(arm, self.metric, self.method)
        curve = one.sd_curve(arm)
        return {} if curve is None else {one.classes[-1]: curve}


def _distances(
    name: str, heading: str, about: str, *, method: str, each_class: bool = False
) -> Figure:
    """A figure of explanations as distributions."""
    y_title = "KL between two seeds, nats"
    return Figure(name, heading, about, KL, y_title, method, each_class=each_class)


def _top_words(name: str, heading: str, *, method: str) -> Figure:
    """A figure of the words that weigh most."""
    about = "The Jaccard distance between the top 20 % of the words of two seeds."
    y_title = "Jaccard distance of the top 20 %, in percent"
    return Figure(name, heading, about, JACCARD, y_title, method, factor=100.0)


FIGURES = (
    Figure(
        name="probability-sd",
        heading="Figures 3 and 6: how far a probability moves",
        about="The sd of the predicted probability over runs.",
        metric="probability_sd",
        y_title="sd of the probability over runs",
    ),
    _distances(
        "attention-kl",
        "Figures 4 and 8: attention, as a distribution",
        "The mean KL between the attention of two seeds.",
        method="attention",
    ),
    _top_words("attention-top-words", "Figure 5: attention, the top words", method="attention"),
    _distances(
        "gradient-kl",
        "Figure 7: gradients, as a distribution",
        "The mean KL between the gradients of two seeds.",
        method="gradient",
    ),
    _top_words("gradient-top-words", "Figure 7: gradients, the top words", method="gradient"),
    _distances(
        "snli-attention-kl",
        "Figure 9: attention with three classes",
        "The mean KL between the attention of two seeds, by the probability of each class.",
        method="attention",
        each_class=True,
    ),
    _top_words("lime-top-words", "Figure 10: LIME, the top words", method="lime"),
)
READING = """\
Each test text is put into one of ten bins by its mean predicted probability over runs, in each arm.
A point is the mean over the texts of a bin, its bar a 95 % interval over texts.
The rows of numbers count the texts; a bin with fewer than 10 has no point.
The paper prints its curves without numbers: what it says of them is among the claims above."""


def drawn_figures(settings: Sequence[SettingResults], *, folder: str) -> tuple[Drawn, ...]:
    """Every figure that our runs cover.

    Args:
        settings: Our results.
        folder: Where the page will find the images.

    Returns:
        In the paper's order.
    """
    return tuple(
        _drawn(one, panels, settings, folder) for one in FIGURES if (panels := one.panels(settings))
    )


def _drawn(
    one: Figure, panels: Sequence[Panel], settings: Sequence[SettingResults], folder: str
) -> Drawn:
    chart = Chart(
        title=one.about,
        x_title=X_TITLE,
        y_title=one.y_title,
        panels=panels,
        names={arm: ARMS[arm] for arm in DRAWN},
        factor=one.factor,
    )
    file_name = f"{one.name}.svg"
    shown = [found for found in settings if one.panels([found])]
    text = paragraphs(
        (
            f"### {one.heading}",
            f"![{_alternative(one, shown)}]({folder}/{file_name})",
            " ".join(part for part in (one.about, *_to_see(one, panels, shown)) if part),
            _overall(one, shown),
        )
    )
    return Drawn(text, file_name, draw(chart))


def _alternative(one: Figure, settings: Sequence[SettingResults]) -> str:
    """The figure in words, for those who cannot see it."""
    names = "; ".join(found.title for found in settings)
    return f"{one.about.removesuffix('.')} by predicted probability, for {names}."


def _to_see(
    one: Figure, panels: Sequence[Panel], settings: Sequence[SettingResults]
) -> tuple[str, ...]:
    found = _below(panels), _seen(one, settings)
    return ("**What to see:**", *found) if any(found) else ()


def _below(panels: Sequence[Panel]) -> str:
    """In how many bins the curve of an average is the lower one."""
    told = []
    for arm in PAPER_ARMS:
        pairs = [
            (mean, base)
            for panel in panels
            if arm in panel.curves
            for mean, base in _side_by_side(panel.curves[arm], panel.curves[BASELINE])
        ]
        if pairs:
            lower = sum(mean < base for mean, base in pairs)
            told.append(f"that of {ARMS[arm]} in {lower} of {len(pairs)} bins")
    return f"below the curve of *none* lies {listed(told)}." if told else ""


def _side_by_side(one: Curve, other: Curve) -> list[tuple[float, float]]:
    """Means of two curves in the bins in which both have a point."""
    first, second = ({place: mean for place, mean, _ in points(curve)} for curve in (one, other))
    return [(first[place], second[place]) for place in first if place in second]


def _seen(one: Figure, settings: Sequence[SettingResults]) -> str:
    """How many comparisons over all texts show something; no more than that."""
    effects = [
        effect
        for found in settings
        for arm in found.paper_arms
        if (effect := found.effect(arm, one.metric, one.method)) is not None
    ]
    if not effects:
        return ""
    verdicts = [effect.verdict for effect in effects]
    counts = {word: verdicts.count(word) for word in dict.fromkeys(verdicts)}
    start = "Over all texts, `seedproof compare` says"
    if len(counts) == 1:
        where = (
            "in the comparison" if len(effects) == 1 else in_all(len(effects)).removeprefix(", ")
        )
        return f"{start} “{verdicts[0]}” {where} with *none*."
    told = listed([f"“{word}” in {count}" for word, count in counts.items()])
    return f"{start} {told} of the {len(effects)} comparisons with *none*."


def _overall(one: Figure, settings: Sequence[SettingResults]) -> str:
    def measured(arm: str) -> bool:
        return any(found.effect(arm, one.metric, one.method) for found in settings)

    arms = [arm for arm in PAPER_ARMS if measured(arm)]
    return table(
        ("over all texts", "none", *(ARMS[arm] for arm in arms), "none is highest at"),
        [
            (
                found.title,
                figure(one.metric, found.estimate(BASELINE, one.metric, one.method)),
                *(judged(found.effect(arm, one.metric, one.method)) for arm in arms),
                listed([_peak(panel) for panel in one.panels([found])]),
            )
            for found in settings
        ],
    )


def _peak(panel: Panel) -> str:
    """The bin in which the curve without averaging is highest."""
    found = points(panel.curves[BASELINE])
    if not found:
        return "–"
    place = max(found, key=lambda point: point[1])[0]
    return f"{place / 10:.1f}–{(place + 1) / 10:.1f}"
