"""The paper's pictures, with ours: files, and a caption that says what to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.page.cells import Cells, Picture, draw_cells
from seedproof_reproductions.findings2023.page.reading import SettingResults
from seedproof_reproductions.findings2023.page.rules import judge_strong
from seedproof_reproductions.findings2023.page.telling import correlation
from seedproof_reproductions.page.document import Drawn
from seedproof_reproductions.page.verdicts import FAILS, HOLDS
from seedproof_reproductions.page.words import listed, paragraphs

READING = """\
Every test utterance is in a cell of these pictures; the shade of a cell tells how many there are, \
on a logarithmic scale.
All of them are of the control.
The paper prints clouds of points without numbers."""


@dataclass(frozen=True)
class Figure:
    """Two of the paper's figures, one for each data set, that show the same.

    Args:
        name: Of the file.
        stored: Of the picture in the results.
        heading: Which figures of the paper, and what they show.
        about: What is drawn, in a sentence.
        x_title: What is on the horizontal axis.
        y_title: What is on the vertical axis.
        noun: What is counted.
        figure: The correlation that goes with it; None without one.
        has_means: Whether a line shows the mean of each column.
    """

    name: str
    stored: str
    heading: str
    about: str
    x_title: str
    y_title: str
    noun: str = "utterances"
    figure: Callable[[SettingResults], Estimate | None] = lambda _: None
    has_means: bool = False

    def drawn(self, settings: Sequence[SettingResults], folder: str) -> Drawn | None:
        """The figure with a panel for each setting; None if no setting has one."""
        found = {one: one.picture(self.stored) for one in settings}
        panels = [Cells.of(one.title, kept) for one, kept in found.items() if kept is not None]
        if not panels:
            return None
        names = "; ".join(panel.title for panel in panels)
        title = f"{self.about.removesuffix('.')}, for {names}."
        file_name = f"{self.name}.svg"
        picture = Picture(title, self.x_title, self.y_title, self.noun, panels)
        text = paragraphs(
            (
                f"### {self.heading}",
                f"![{title}]({folder}/{file_name})",
                " ".join(part for part in (self.about, *self._seen(settings)) if part),
            )
        )
        return Drawn(text, file_name, draw_cells(picture))

    def _seen(self, settings: Sequence[SettingResults]) -> tuple[str, ...]:
        known = [(one, found) for one in settings if (found := self.figure(one)) is not None]
        if not known:
            return ()
        told = listed([f"{correlation(found)} for {one.title}" for one, found in known])
        verdicts = {judge_strong(found, one.stand_in("reference")) for one, found in known}
        word = (
            {HOLDS: "strong", FAILS: "not strong"}.get(verdicts.pop())
            if len(verdicts) == 1
            else None
        )
        tail = f": {word} by our rule" if word else ""
        means = "The line is the mean in each column." if self.has_means else ""
        return (means, "**What to see:**", f"the correlation is {told}{tail}.")


FIGURES = (
    Figure(
        name="entropy-sigma",
        stored="entropy_sigma",
        heading="Figures 1 and 7: label entropy and the sd of the gold probability",
        about="LE_m of each utterance and the sd over runs of the probability of its gold label.",
        x_title="label entropy over runs, LE_m, nats",
        y_title="sd of the gold probability over runs",
        figure=lambda one: one.sigma(),
    ),
    Figure(
        name="one-run-many",
        stored="one_run_many",
        heading="Figures 2 and 6: one run and many",
        about="LE_s of each utterance in one run and LE_m over the others, for each traced run.",
        x_title="label entropy within one run, LE_s, nats",
        y_title="label entropy over the other runs, LE_m, nats",
        noun="utterances and traced runs",
        figure=lambda one: one.stand_in("pearson"),
        has_means=True,
    ),
    Figure(
        name="confidence-map",
        stored="map",
        heading="Figures 4 and 5: the map of confidence",
        about="Mean and sd over runs of the probability of each utterance's gold label.",
        x_title="mean of the gold probability over runs",
        y_title="sd of the gold probability over runs",
    ),
)


def drawn_figures(settings: Sequence[SettingResults], *, folder: str) -> tuple[Drawn, ...]:
    """Every figure that our runs cover.

    Args:
        settings: Our results.
        folder: Where the page will find the images.

    Returns:
        In the paper's order.
    """
    found = (one.drawn(settings, folder) for one in FIGURES)
    return tuple(one for one in found if one is not None)
