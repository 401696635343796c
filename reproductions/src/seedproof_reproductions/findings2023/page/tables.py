"""Tables 3 to 6 of the paper, published and ours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page.methods import ENSEMBLE, METHODS, arms_of
from seedproof_reproductions.findings2023.page.reading import ENTROPY, SettingResults
from seedproof_reproductions.findings2023.page.rules import recovered
from seedproof_reproductions.findings2023.page.telling import cut, share
from seedproof_reproductions.findings2023.published import published_cut, published_row
from seedproof_reproductions.page.words import MISSING, changed, figure, judged, paragraphs, table

READING = """\
Published are DistilBERT models, fine-tuned, 50 runs a method; ours are named in each row.
The paper prints cuts without their sign; here a cut is a change below 0, on both sides.
It does not say whether all runs of TGTSS learned from one teacher: ours are told apart."""
HIGH = """\
The paper chooses utterances by the same runs of the control that it compares with, so that each \
method seems to gain: by chance they had a higher entropy there than they have in other runs.
So L2, which raises LE_m overall in the paper, seems to cut it here.
*As published* does what the paper did; *cross-fitted* chooses on one half of the control's runs \
and measures on the other.
That, too, favors the arm, because what is hard for the control need not be hard for another arm.
*Chosen by the arm* turns it round, with utterances that are hard for the arm, and favors the \
control: where the two disagree, no gain on hard utterances is shown."""
HIGH_ONE_RUN = """\
The utterances are those whose LE_m is above 0.56 over the runs of the control that were not \
traced; *as published* takes all of its runs."""


def printed_tables(settings: Sequence[SettingResults]) -> str:
    """Each of the paper's tables with a row for each setting and method.

    Args:
        settings: Our results.

    Returns:
        Markdown with a heading for each table; those that nothing was measured for are left out.
    """
    blocks = [READING, "### Table 3: label entropy over runs", _entropies(settings)]
    for one in FURTHER:
        rows = list(one.rows(settings))
        if rows:
            blocks += [f"### {one.heading}", one.about, table(one.header, rows)]
    return paragraphs(blocks)


def _rows(settings: Sequence[SettingResults]) -> Iterator[tuple[SettingResults, str, str]]:
    """Setting, method and arm."""
    for one in settings:
        for method in METHODS:
            for arm in arms_of(one, method):
                yield one, method, arm


def _name(one: SettingResults, arm: str, *, is_first: bool) -> str:
    """The arm; the first of a setting bears its name, too."""
    return f"**{one.title}**, {one.seeds} runs: {title_of(arm)}" if is_first else title_of(arm)


def _entropies(settings: Sequence[SettingResults]) -> str:
    header = (
        "",
        "accuracy, published",
        "accuracy, ours",
        "its sd, ours",
        "LE_m, published",
        "LE_m, ours",
        "of the ensemble, published",
        "of the ensemble, ours",
    )
    return table(header, [_entropy(*row) for row in _rows(settings)])


def _entropy(one: SettingResults, method: str, arm: str) -> tuple[str, ...]:
    theirs = published_row(one.dataset, method)
    accuracy = theirs.get("accuracy")
    ours = figure(ENTROPY, one.estimate(arm, ENTROPY))
    part = ""
    if arm != BASELINE:
        ours = judged(one.effect(arm, ENTROPY))
        part = share(recovered(one.effect(arm, ENTROPY), one.effect(ENSEMBLE, ENTROPY)))
    return (
        _name(one, arm, is_first=arm == BASELINE),
        MISSING if accuracy is None else f"{accuracy[0]:.1f} ±{accuracy[1]:.1f}",
        figure("accuracy", one.estimate(arm, "accuracy")),
        figure("accuracy_sd", one.estimate(arm, "accuracy_sd")),
        "" if arm == BASELINE else _published(theirs.get("cut")),
        ours,
        share(Estimate(theirs["share"] / 100)) if "share" in theirs else "",
        "" if arm in (BASELINE, ENSEMBLE) else part,
    )


def _published(found: float | None) -> str:
    return MISSING if found is None else cut(found)


@dataclass(frozen=True)
class Further:
    """One of Tables 4 to 6.

    Args:
        name: As in `published.toml`.
        heading: Which table, and what it shows.
        about: How to read it.
        columns: What we found, in words and by arm.
    """

    name: str
    heading: str
    about: str
    columns: dict[str, Callable[[SettingResults, str], str]]

    @property
    def header(self) -> tuple[str, ...]:
        """Of the table."""
        return ("", "published", *self.columns)

    def rows(self, settings: Sequence[SettingResults]) -> Iterator[tuple[str, ...]]:
        """A row for each setting and method that was measured."""
        last = None
        for one, method, arm in _rows(settings):
            cells = [write(one, arm) for write in self.columns.values()]
            if arm == BASELINE or set(cells) == {MISSING}:
                continue
            theirs = published_cut(self.name, one.dataset, method)
            yield _name(one, arm, is_first=one is not last), _published(theirs), *cells
            last = one


def _plain(value: float | None) -> str:
    """A ratio without an interval, as a change."""
    return MISSING if value is None else changed(Effect(ENTROPY, "ratio", value))


FURTHER = (
    Further(
        "table4",
        "Table 4: label entropy within one run",
        "LE_s counts what a run predicts after each step of its training; fine-tuned, after every "
        "tenth.",
        {"ours": lambda one, arm: judged(one.wavering_effect(arm))},
    ),
    Further(
        "table5",
        "Table 5: label entropy over runs, where it is high",
        HIGH,
        {
            "ours, cross-fitted": lambda one, arm: judged(one.high(arm)),
            "chosen by the arm": lambda one, arm: judged(one.high_by_arm(arm)),
            "ours, as published": lambda one, arm: _plain(one.high_as_published(arm)),
        },
    ),
    Further(
        "table6",
        "Table 6: label entropy within one run, where that over runs is high",
        HIGH_ONE_RUN,
        {
            "ours": lambda one, arm: judged(one.wavering_effect(arm, "high")),
            "ours, as published": lambda one, arm: judged(one.wavering_effect(arm, "high_naive")),
        },
    ),
)
