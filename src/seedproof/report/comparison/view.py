"""A comparison as plain data: sentences first, then effects by metric, tables, examples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import ColumnError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.card import card
from seedproof.predictions.checks import Check
from seedproof.report import checks
from seedproof.report.comparison import amounts, headline, numeric, reading, sentences, texts
from seedproof.report.comparison.groups import (
    KEY_FIGURES,
    all_arms,
    explained_by,
    foremost,
    of_method,
    shown_verdict,
)
from seedproof.report.comparison.sentences import ArmFinding
from seedproof.report.comparison.sheets import Sheet, entropy_sheet, pairs_sheet
from seedproof.report.explanations.sentences import named
from seedproof.report.explanations.view import TOKENS
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.view import KeyFigure, agreement_dots, unknown_column

# The metrics shown first, in this order, if they exist.
KEY_METRICS = (
    "flip_rate",
    "label_entropy_corrected",
    "accuracy_sd",
    "probability_sd",
    "predictive_js",
    "accuracy",
    "ece_corrected",
)
MAX_EXAMPLES = 5
OWN_COLUMNS = frozenset(
    {"example", "label", "target", "change"}
    | {
        f"{name}_{when}"
        for name in ("votes", "entropy", "mean", "numbers", "distance", "items")
        for when in ("before", "after")
    }
)
HEADER = ("metric", "arm", "value", "change", "interval", "verdict", "smallest detectable")
# The page has no room for more arms next to each other.
MAX_KEYS = 4


@dataclass(frozen=True)
class Cell:
    """One arm in one metric; the baseline has a value only.

    `would_show`, in short `shows`, is the smallest detectable effect where no difference is shown.
    `note` says why there is no interval. `floor` is the value between two draws of one explainer.
    """

    value: str
    change: str = ""
    interval: str = ""
    verdict: str = ""
    would_show: str = ""
    shows: str = ""
    over: str = ""
    note: str = ""
    floor: str = ""
    confidence: str = ""  # of the interval alone


@dataclass(frozen=True)
class Block:
    """One metric with all arms: the value of the baseline, and a cell for each other arm."""

    metric: str
    title: str
    summary: str
    card: str
    baseline: Cell
    cells: tuple[tuple[str, Cell], ...]
    method: str = ""
    is_primary: bool = False

    @property
    def key(self) -> str:
        """A unique name."""
        return f"{self.metric}_{self.method}" if self.method else self.metric


@dataclass(frozen=True)
class MovedExample:
    """An example that an arm makes more or less stable."""

    example: str
    label: str | None
    before: str
    after: str
    entropy_before: float
    entropy_after: float
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Moved:
    """The examples that gain most stability with an arm, and those that lose most."""

    arm: str
    settled: tuple[MovedExample, ...]
    unsettled: tuple[MovedExample, ...]


@dataclass(frozen=True, repr=False)
class ComparisonView:
    """A comparison as sentences and rows.

    `arms` has each arm and a description of its runs, the baseline first. `dots` groups a hundred
    examples: all runs agree, some differ, entropy above 0.56. `checks` has errors, then warnings.
    """

    title: str
    headline: str
    findings: tuple[ArmFinding, ...]
    reading: tuple[str, ...]
    detects: str
    brackets: str
    baseline: str
    arms: tuple[tuple[str, str], ...]
    dots: tuple[tuple[str, tuple[int, int, int]], ...]
    key_blocks: tuple[Block, ...]
    reason_blocks: tuple[Block, ...]
    blocks: tuple[Block, ...]
    sheet: Sheet | None
    moved: tuple[Moved, ...]
    notes: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    pairs: Sheet | None = None  # every two arms, if they are compared
    changed: tuple[TextTable, ...] = ()  # examples whose numbers change most

    def __repr__(self) -> str:
        return f"<ComparisonView of {self.title}: {self.headline}>"

    @property
    def shown_blocks(self) -> tuple[Block, ...]:
        """The metrics of predictions and explanations that are shown first."""
        return (*self.key_blocks, *self.reason_blocks)

    @property
    def has_floors(self) -> bool:
        """True if the noise of the explainer is known for any arm."""
        return any(
            cell.floor
            for block in self.reason_blocks
            for cell in (block.baseline, *(cell for _, cell in block.cells))
        )


def build_view(comparison: Comparison, *, show: Sequence[str] = ()) -> ComparisonView:
    """Return the view of a comparison."""
    _check_shown(comparison, show)
    blocks = _blocks(comparison)
    by_method = [
        _blocks(of_method(comparison, method), method) for method in explained_by(comparison)
    ]
    first = [_chosen(explained, KEY_FIGURES) for explained in by_method]
    return ComparisonView(
        title=str(sentences.title(comparison)),
        headline=str(headline.headline(comparison)),
        findings=sentences.findings(comparison),
        reading=tuple(map(str, reading.table_notes(comparison))),
        detects=reading.detects(comparison),
        brackets=str(reading.brackets(comparison)),
        baseline=comparison.baseline.name,
        arms=tuple((arm.name, _runs(comparison, arm)) for arm in all_arms(comparison)),
        dots=_dots(comparison),
        key_blocks=_chosen(blocks, key_metrics(comparison)),
        reason_blocks=tuple(chain.from_iterable(first)),
        blocks=(*blocks, *chain.from_iterable(by_method)),
        sheet=entropy_sheet(comparison),
        moved=tuple(
            Moved(arm.name, _examples(arm.settled, show), _examples(arm.unsettled, show))
            for arm in foremost(comparison)
            if arm.settled is not None
        ),
        notes=(
            *checks.notes(comparison.checks),
            *map(str, (*comparison.notes, *sentences.limits(comparison))),
        ),
        checks=checks.alerts(comparison.checks),
        pairs=pairs_sheet(comparison),
        changed=numeric.changed_examples(comparison, show),
    )


def key_metrics(comparison: Comparison) -> tuple[str, ...]:
    """Return the metrics that are shown first: the primary one, its quality, then all others."""
    known = texts.KEY_METRICS if comparison.has_texts else KEY_METRICS
    if not comparison.has_classes:
        known = numeric.key_metrics(comparison)
    return tuple(dict.fromkeys((*comparison.primaries, *known)))


def _chosen(blocks: Sequence[Block], metrics: Sequence[str]) -> tuple[Block, ...]:
    by_name = {block.metric: block for block in blocks}
    return tuple(by_name[name] for name in metrics if name in by_name)


def _check_shown(comparison: Comparison, show: Sequence[str]) -> None:
    lists = [(x.settled, x.unsettled, x.fallen, x.risen) for x in comparison.arms]
    tables = [table for of_arm in lists for table in of_arm if table is not None]
    columns = dict.fromkeys(name for table in tables for name in table.column_names)
    carried = tuple(name for name in columns if name not in OWN_COLUMNS)
    for name in show:
        if name not in carried and name == TOKENS:
            raise ColumnError(
                "A comparison does not show tokens. Show those of one arm with `seedproof measure "
                "STORE --arm ARM --show tokens`.",
                column=name,
            )
        if name not in carried:
            raise unknown_column(name, carried, has_answers=comparison.has_texts)


def _runs(comparison: Comparison, arm: ComparedArm) -> str:
    role = "paired" if arm.is_paired else "not paired"
    if arm is comparison.baseline:
        role = "baseline"
    elif arm.name == comparison.reference:
        role += ", reference"
    measurement = arm.measurement
    if measurement.repeats == "trials":
        role = role.removeprefix("not paired")
    n_runs = "–".join(map(str, dict.fromkeys(measurement.run_range)))
    return f"{n_runs} {_noun(measurement)}, {role}".removesuffix(", ")


def _noun(measurement: Measurement) -> str:
    """Return the unit of repetition: "trials", or "runs"."""
    noun = "trials" if measurement.repeats == "trials" else "runs"
    return noun.removesuffix("s") if measurement.n_runs == 1 else noun


def _dots(comparison: Comparison) -> tuple[tuple[str, tuple[int, int, int]], ...]:
    """Return the dots of the baseline and of the first arm with the same number of runs.

    With more runs, more examples have a run that differs.
    """
    base = comparison.baseline
    if not comparison.has_classes or base.measurement.levels:
        return ()
    n_runs = base.measurement.n_runs
    comparable = [arm for arm in foremost(comparison) if arm.measurement.n_runs == n_runs]
    return tuple((arm.name, agreement_dots(arm.measurement)) for arm in (base, *comparable[:1]))


def _blocks(comparison: Comparison, method: str = "") -> tuple[Block, ...]:
    """Return every metric that the baseline has and at least one arm has an effect on."""
    return tuple(
        _block(comparison, name, method)
        for name in comparison.baseline.measurement.metrics
        if any(name in arm.effects for arm in comparison.arms)
    )


def _block(comparison: Comparison, name: str, method: str) -> Block:
    about = card(name)
    return Block(
        metric=name,
        title=f"{about.title} ({named(method)})" if method else about.title,
        summary=about.summary,
        card=about.text,
        baseline=_cell(comparison, comparison.baseline, name, method),
        cells=tuple(
            (arm.name, _cell(comparison, arm, name, method))
            for arm in comparison.arms
            if name in arm.effects
        ),
        method=method,
        is_primary=name in comparison.primaries,
    )


def _cell(comparison: Comparison, arm: ComparedArm, name: str, method: str) -> Cell:
    estimate, effect = arm.measurement.metrics[name], arm.effects.get(name)
    explained = arm.measurement.explanations.get(method)
    noise = None if explained is None else explained.noise
    value = amounts.figure(name, estimate.value)
    floor = "" if noise is None else amounts.figure(name, noise[name].value)
    if effect is None:  # the baseline
        return Cell(value, over=estimate.over or "", floor=floor)
    is_open = effect.verdict == "no difference shown"
    noun, amount = amounts.smallest_detectable([effect])
    return Cell(
        value=value,
        change=amounts.change(effect),
        interval=amounts.ends(effect),
        verdict=shown_verdict(comparison, arm.effects, name),
        would_show=f"a {noun} of {amount}" if is_open and amount else "",
        shows=amounts.detectable(effect) if is_open else "",
        over=effect.over or "",
        note="" if effect.note is None else str(effect.note),
        floor=floor,
        confidence=amounts.confidence(effect),
    )


def _examples(table: pa.Table | None, show: Sequence[str]) -> tuple[MovedExample, ...]:
    rows = [] if table is None else table.slice(0, MAX_EXAMPLES).to_pylist()
    return tuple(
        MovedExample(
            example=str(row["example"]),
            label=row.get("label"),
            before=row["votes_before"],
            after=row["votes_after"],
            entropy_before=abs(row["entropy_before"]),
            entropy_after=abs(row["entropy_after"]),
            shown=tuple("" if row.get(name) is None else str(row[name]) for name in show),
        )
        for row in rows
    )


def build_overview(view: ComparisonView) -> Overview:
    """Return headline, the most important metric of each arm, and the table of effects."""
    rows = tuple(row for block in view.shown_blocks for row in _rows(block, view.baseline))
    return Overview(
        headline=view.headline,
        title=view.title,
        sentences=tuple(
            (finding.topic, f"{finding.verdict or ''} {finding.text}".strip())
            for finding in view.findings
        ),
        key_figures=tuple(
            KeyFigure(
                name=block.metric,
                title=f"{block.title}, {arm}",
                value=cell.value,
                unit="",
                interval=f"{cell.change} {cell.interval} {cell.verdict}".strip() or "baseline",
                meaning=Message("metric-summary", block.summary),
                bar=None,
            )
            for block in view.key_blocks[:1]
            for arm, cell in [(view.baseline, block.baseline), *block.cells][:MAX_KEYS]
        ),
        sections=(
            Section("Effects", "Every effect", (TextTable(HEADER, rows),)),
            *numeric.sections(view.changed),
            *([] if view.pairs is None else [_pairs_section(view.pairs)]),
        ),
        notes=view.notes,
        brackets=" ".join((*view.reading, view.brackets)),
        checks=view.checks,
    )


def _pairs_section(pairs: Sheet) -> Section:
    return Section("Pairs", "Every two arms", (TextTable(pairs.header, pairs.rows),))


def _rows(block: Block, baseline: str) -> Iterator[tuple[str, ...]]:
    """Yield a row per arm; the noise of the explainer follows the verdict."""
    name = f"{block.metric}, by {block.method}" if block.method else block.metric
    name += " (primary)" if block.is_primary else ""
    for arm, cell in ((baseline, block.baseline), *block.cells):
        verdict = cell.verdict or "baseline"
        if cell.floor:
            verdict += f"; same run explained twice: {cell.floor}"
        yield name, arm, cell.value, cell.change, cell.interval, verdict, cell.would_show
        name = ""
