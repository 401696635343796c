"""Report of runs with single numbers: mean and spread of each metric over the runs of each arm."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.errors import UnknownNameError
from seedproof.messages import Message, Sentences, printable
from seedproof.predictions.checks import Check
from seedproof.report.checks import alerts, notes
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.mappings import ByName
from seedproof.report.numbers import WithInterval, WithUnit, in_brackets, number
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells, refuse_columns
from seedproof.report.side_by_side import NO_VERDICT
from seedproof.report.text import CheckLines, Prose, bare_table
from seedproof.report.view import KeyFigure
from seedproof.scalars.runs import SPREAD, ScalarArm, Scalars, unknown_name
from seedproof.stats.intervals import Estimate
from seedproof.stats.spread_interval import SPREAD_FROM

FORMAT = 1
FIGURES = "Figures"
# Arms that have a sentence, and key figures that fit next to each other; the table has all.
MAX_SENTENCES = 4
# A chart per metric, and no more than people look at.
MAX_CHARTS = 8
BRACKETS = "Brackets are 95\N{NO-BREAK SPACE}% intervals over runs."
HEADER = ("metric", "arm", "runs", "mean", "95 % interval", "sd", "95 % interval")
SENTENCES = {
    "mean": "The mean {metric}{of_arm} is {mean} over {n_runs} runs. A single run gives it to "
    "within ± {sd} (standard deviation).",
    "over-runs": "Intervals are over runs: they hold for other seeds of the same training.",
    "few-for-spread": "The interval of a standard deviation needs at least {n_needed} runs.",
    "no-examples": "There is one number per run. Per-example scores would also show which examples "
    "change from run to run, and how far the scores depend on the choice of examples; arms would "
    "be compared example by example, which often needs fewer runs.",
    "ticks": "Small ticks are single runs.",
    "key-mean": "mean over {n_runs} runs; sd {sd}",
}
_say = Sentences(SENTENCES)
NO_EXAMPLES = _say("no-examples")


class ScalarReport(Result, ByName[Mapping[str, Estimate]]):
    """Means and spreads over runs, by arm: `print` it, or read `report[arm][metric]`.

    Args:
        scalars: The runs of all arms.

    Examples:
        >>> import pyarrow as pa
        >>> import seedproof as sp
        >>> table = pa.table(
        ...     {"arm": ["ppo"] * 3, "seed": [0, 1, 2], "return": [3.0, 4.0, 5.0]}
        ... )
        >>> report = sp.measure_scalars(table)
        >>> report["ppo"]["return"].value, report["ppo"]["return_sd"].value
        (4.0, 1.0)
    """

    _page_file = "scalars.html"
    _json_file = "scalars.json"
    _columns: ClassVar = {
        **dict.fromkeys(("arm", "metric"), pa.string()),
        **ESTIMATE_COLUMNS,
        "n_runs": pa.int64(),
    }

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars

    @property
    def _entries(self) -> Mapping[str, Mapping[str, Estimate]]:
        return {arm.name: arm.metrics for arm in self._arms}

    def _unknown(self, name: str) -> UnknownNameError:
        return unknown_name("arm", name, self.scalars.arms)

    @property
    def _arms(self) -> tuple[ScalarArm, ...]:
        return tuple(self.scalars.arms.values())

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input."""
        return self.scalars.checks

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data: the content of `scalars.json`."""
        return {"format": FORMAT, **scalars_summary(self.scalars)}

    def sentences(self) -> tuple[Message, ...]:
        """Return the first metric of the first arms."""
        return tuple(_mean(arm, len(self._arms)) for arm in self._arms[:MAX_SENTENCES])

    def notes(self) -> tuple[str, ...]:
        """Return what the intervals are over, and what is left out."""
        messages = [_say("over-runs")]
        if any(arm.n_runs < SPREAD_FROM for arm in self._arms):
            messages.append(_say("few-for-spread", n_needed=SPREAD_FROM))
        verdicts = [NO_VERDICT["arm"]] if len(self._arms) > 1 else []
        remarks = (*messages, *verdicts, *self.scalars.notes, NO_EXAMPLES)
        return (*notes(self.checks), *map(str, remarks))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        parts: list[RenderableType] = [Prose(size_of(self.scalars), style="dim"), Text("")]
        parts.append(CheckLines(alerts(self.checks)))
        for sentence in self.sentences():
            parts += [Prose(str(sentence)), Text("")]
        # Without arms there is nothing to name.
        columns = [i for i, name in enumerate(HEADER) if name != "arm" or len(self._arms) > 1]
        table = bare_table()
        for i in columns:
            side: Any = "right" if HEADER[i] in {"runs", "mean", "sd"} else "left"
            table.add_column(HEADER[i], justify=side, no_wrap=True)
        before = ""
        for metric, *cells in self._rows():
            row = ["" if metric == before else metric, *cells]
            table.add_row(*(Text(printable(row[i])) for i in columns))
            before = metric
        parts += [table, Text("")]
        return Group(*parts, *(Prose(f"Note: {note}", style="dim") for note in self.notes()))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for metric in self.scalars.metrics:
            for arm in self._arms:
                cells = (arm.metrics[metric], arm.metrics[metric + SPREAD])
                texts = [text for x in cells for text in (written(x.value), interval(x))]
                yield metric, arm.name, f"{arm.n_runs:,}", *texts

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"arm": arm.name, "metric": name, "n_runs": arm.n_runs, **estimate_cells(figure)}
            for arm in self._arms
            for name, figure in arm.metrics.items()
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(
            intervals(
                f"metric_{index}",
                f"{printable(metric)}: mean over runs",
                [
                    Line(arm.name, arm.metrics[metric], runs=arm.values[metric].tolist())
                    for arm in self._arms
                ],
                section=FIGURES,
                axis=f"mean {printable(metric)} (intervals over runs)",
                unit="value",
                reading=[_say("ticks")],
            )
            for index, metric in enumerate(self.scalars.metrics[:MAX_CHARTS], start=1)
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        table = TextTable(HEADER, tuple(self._rows()))
        return Overview(
            headline=str(self.sentences()[0]) if len(self._arms) == 1 else size_of(self.scalars),
            title=size_of(self.scalars),
            sentences=tuple(
                (arm.name, str(text))
                for arm, text in zip(self._arms, self.sentences(), strict=False)
            ),
            key_figures=tuple(map(_key_figure, self._arms[:MAX_SENTENCES])),
            sections=(Section(FIGURES, "Mean and spread over runs", (table,)),),
            notes=self.notes(),
            brackets=BRACKETS,
            checks=alerts(self.checks),
        )

    def _about(self) -> str:
        return f"of {size_of(self.scalars)}"


def scalars_summary(scalars: Scalars) -> dict[str, Any]:
    """Return the figures of all arms as plain data, with the numbers of each run."""
    return {
        "metrics": list(scalars.metrics),
        "arms": [
            {
                "name": arm.name,
                "n_runs": arm.n_runs,
                "runs": list(arm.runs),
                "seeds": None if arm.seeds is None else list(arm.seeds),
                "values": {metric: values.tolist() for metric, values in arm.values.items()},
                "metrics": {name: asdict(figure) for name, figure in arm.metrics.items()},
            }
            for arm in scalars.arms.values()
        ],
        "checks": [check.summary() for check in scalars.checks],
        "notes": [str(note) for note in scalars.notes],
    }


def size_of(scalars: Scalars) -> str:
    """Return the numbers of arms, runs and metrics: "2 arms · 10 runs each · 3 metrics"."""
    arms, metrics = scalars.arms.values(), len(scalars.metrics)
    counts = sorted({arm.n_runs for arm in arms})
    runs = f"{counts[0]:,} runs" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} runs"
    parts = [f"{len(arms):,} arms", f"{runs} each"] if len(arms) > 1 else [runs]
    return " · ".join([*parts, f"{metrics:,} metric{'s' * (metrics > 1)}"])


def written(value: float) -> str:
    """Return a number of any size."""
    return number(value, "value")


def interval(figure: Estimate) -> str:
    """Return an interval such as "[1.2, 3.4]", or a dash."""
    return in_brackets(figure, written).strip() or "–"


def _mean(arm: ScalarArm, n_arms: int) -> Message:
    metric = next(iter(arm.values))
    return _say(
        "mean",
        metric=printable(metric),
        of_arm=f" of {printable(arm.name)}" if n_arms > 1 else "",
        mean=WithInterval(arm.metrics[metric], "value"),
        sd=WithInterval(arm.metrics[metric + SPREAD], "value"),
        n_runs=arm.n_runs,
    )


def _key_figure(arm: ScalarArm) -> KeyFigure:
    metric = next(iter(arm.values))
    mean, spread = arm.metrics[metric], arm.metrics[metric + SPREAD]
    meaning = _say("key-mean", n_runs=arm.n_runs, sd=WithUnit(spread.value, "value"))
    return KeyFigure(
        name=arm.name,
        title=f"{metric}, {arm.name}",
        value=written(mean.value),
        unit="",
        interval=in_brackets(mean, written).strip(),
        meaning=meaning,
        bar=None,
    )
