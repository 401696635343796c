"""A comparison as plain data: words first, then effects by metric, tables, examples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import ColumnError
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.comparison import amounts, words
from seedproof.report.comparison.amounts import Written
from seedproof.report.comparison.groups import KEY_FIGURES, explained_by, foremost, of_method
from seedproof.report.comparison.words import ArmFinding
from seedproof.report.explanations.view import TOKENS
from seedproof.report.explanations.words import named
from seedproof.report.numbers import quantity
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.view import KeyFigure, agreement_dots, unknown_column
from seedproof.stats.effect import Effect

# What says most, in the order in which it is shown; whatever of it there is.
KEY_METRICS = (
    "flip_rate",
    "label_entropy_corrected",
    "accuracy_sd",
    "probability_sd",
    "predictive_js",
    "accuracy",
    "ece",
)
MAX_EXAMPLES = 5
NOTHING = Written()
OWN_COLUMNS = frozenset(
    {"example", "label", "change"}
    | {f"{name}_{when}" for name in ("votes", "entropy") for when in ("before", "after")}
)
HEADER = ("metric", "arm", "value", "change", "interval", "verdict", "would show")
# More arms have no room next to each other.
MAX_KEYS = 4
SENTENCES = {
    "entropy-cut": "ΔLE is the reduction of mean label entropy.",
    "regression-to-the-mean": "High-entropy examples are those above {limit} in the baseline, "
    "about {n_chosen:,.0f}: chosen on one half of its runs and measured on the other "
    "(cross-fitted). As published: chosen and measured on the same runs, which shows a reduction "
    "even where there is none, by regression to the mean.",
    "costs": "Costs are medians over runs, as the runs logged them.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class Cell:
    """One arm in one metric; of the baseline, its figure alone.

    `would_show`, in short `shows`, is there where no difference is shown, and `note` where there is
    no interval. The floor is the figure between two draws of one run, for explanations.
    """

    value: Written
    change: Written = NOTHING
    interval: str = ""
    verdict: str = ""
    would_show: str = ""
    shows: Written = NOTHING
    over: str = ""
    note: str = ""
    floor: Written = NOTHING


@dataclass(frozen=True)
class Block:
    """One metric with all arms: the baseline's figure, and a cell for each other arm."""

    metric: str
    title: str
    summary: str
    card: str
    baseline: Cell
    cells: tuple[tuple[str, Cell], ...]
    method: str = ""

    @property
    def key(self) -> str:
        """A name that no other block has."""
        return f"{self.metric}_{self.method}" if self.method else self.metric


@dataclass(frozen=True)
class Sheet:
    """A small table of text: each column has a name, such as `share_of_gold`, and a title."""

    columns: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[Message, ...]

    @property
    def note(self) -> str:
        """The notes in words."""
        return " ".join(map(str, self.notes))


@dataclass(frozen=True)
class MovedExample:
    """An example whose votes an arm settles or unsettles."""

    example: str
    label: str | None
    before: str
    after: str
    entropy_before: float
    entropy_after: float
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Moved:
    """The examples that an arm settles most, and those that it unsettles most."""

    arm: str
    settled: tuple[MovedExample, ...]
    unsettled: tuple[MovedExample, ...]


@dataclass(frozen=True)
class ComparisonView:
    """A comparison in words and rows.

    `arms` has the name of each arm and what to know of its runs, the baseline first. `dots` counts
    of a hundred examples: all runs agree, some differ, entropy above 0.56.
    """

    title: str
    headline: str
    findings: tuple[ArmFinding, ...]
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

    @property
    def shown_blocks(self) -> tuple[Block, ...]:
        """The metrics and the figures of explanations that say most."""
        return (*self.key_blocks, *self.reason_blocks)

    @property
    def has_floors(self) -> bool:
        """Whether the explainer's own noise is known with some arm."""
        return any(
            cell.floor
            for block in self.reason_blocks
            for cell in (block.baseline, *(cell for _, cell in block.cells))
        )


def build_view(comparison: Comparison, *, show: Sequence[str] = ()) -> ComparisonView:
    """The view of a comparison."""
    _check_shown(comparison, show)
    blocks = _blocks(comparison)
    reasons = [_blocks(of_method(comparison, one), one) for one in explained_by(comparison)]
    return ComparisonView(
        title=str(words.title(comparison)),
        headline=str(words.headline(comparison)),
        findings=words.findings(comparison),
        brackets=str(words.brackets(comparison)),
        baseline=comparison.baseline.name,
        arms=_arms(comparison),
        dots=_dots(comparison),
        key_blocks=_chosen(blocks, KEY_METRICS),
        reason_blocks=tuple(chain.from_iterable(_chosen(one, KEY_FIGURES) for one in reasons)),
        blocks=(*blocks, *chain.from_iterable(reasons)),
        sheet=_sheet(comparison),
        moved=tuple(
            Moved(arm.name, _examples(arm.settled, show), _examples(arm.unsettled, show))
            for arm in foremost(comparison)
            if arm.settled is not None
        ),
        notes=tuple(map(str, (*comparison.notes, *words.limits(comparison)))),
    )


def _chosen(blocks: Sequence[Block], metrics: Sequence[str]) -> tuple[Block, ...]:
    """The blocks of some metrics, in their order."""
    by_name = {block.metric: block for block in blocks}
    return tuple(by_name[name] for name in metrics if name in by_name)


def _check_shown(comparison: Comparison, show: Sequence[str]) -> None:
    tables = [t for arm in comparison.arms for t in (arm.settled, arm.unsettled) if t is not None]
    columns = dict.fromkeys(name for table in tables for name in table.column_names)
    carried = tuple(name for name in columns if name not in OWN_COLUMNS)
    for name in show:
        if name not in carried and name == TOKENS:
            raise ColumnError(
                "A comparison shows no tokens. Look at those of one arm with `seedproof measure "
                "STORE --arm ARM --show tokens`.",
                column=name,
            )
        if name not in carried:
            raise unknown_column(name, carried)


def _arms(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    found = [(comparison.baseline.name, f"{comparison.baseline.measurement.n_runs} runs, baseline")]
    for arm in comparison.arms:
        gold = ", gold standard" if arm.name == comparison.gold else ""
        pairing = "paired" if arm.is_paired else "not paired"
        found.append((arm.name, f"{arm.measurement.n_runs} runs, {pairing}{gold}"))
    return tuple(found)


def _dots(comparison: Comparison) -> tuple[tuple[str, tuple[int, int, int]], ...]:
    """More runs touch more examples, so only arms with as many runs stand beside the baseline."""
    n_runs = comparison.baseline.measurement.n_runs
    beside = [arm for arm in foremost(comparison) if arm.measurement.n_runs == n_runs]
    arms = (comparison.baseline, *beside[:1])
    return tuple((arm.name, agreement_dots(arm.measurement)) for arm in arms)


def _blocks(comparison: Comparison, method: str = "") -> tuple[Block, ...]:
    """Every metric that the baseline has and some arm has an effect on."""
    return tuple(
        _block(comparison, name, method)
        for name in comparison.baseline.measurement.metrics
        if any(name in arm.effects for arm in comparison.arms)
    )


def _block(comparison: Comparison, name: str, method: str) -> Block:
    about, base = card(name), comparison.baseline
    value = base.measurement.metrics[name]
    figure = amounts.figure(name, value.value)
    return Block(
        metric=name,
        title=f"{about.title} ({named(method)})" if method else about.title,
        summary=about.summary,
        card=about.text,
        baseline=Cell(figure, over=value.over or "", floor=_floor(base, name, method)),
        cells=tuple(
            (arm.name, _cell(arm, arm.effects[name], floor=_floor(arm, name, method)))
            for arm in comparison.arms
            if name in arm.effects
        ),
        method=method,
    )


def _floor(arm: ComparedArm, name: str, method: str) -> Written:
    """What two draws of one run give, as far as it is known."""
    found = arm.measurement.explanations.get(method)
    if found is None or found.noise is None:
        return NOTHING
    return amounts.figure(name, found.noise[name].value)


def _cell(arm: ComparedArm, effect: Effect, *, floor: Written) -> Cell:
    is_open = effect.verdict == "no difference shown"
    return Cell(
        value=amounts.figure(effect.metric, arm.measurement.metrics[effect.metric].value),
        change=amounts.change(effect),
        interval=amounts.ends(effect),
        verdict=effect.verdict,
        would_show=amounts.would_show([effect]) if is_open else "",
        shows=amounts.shows(effect) if is_open else NOTHING,
        over=effect.over or "",
        note="" if effect.note is None else str(effect.note),
        floor=floor,
    )


def _sheet(comparison: Comparison) -> Sheet | None:
    """Reduction of entropy, share of the gold standard, and costs; None without any."""
    every = (comparison.baseline, *comparison.arms)
    # Name, title and cells of each column.
    columns: list[tuple[str, str, dict[str, str]]] = [
        ("entropy_cut", "ΔLE", _shares(comparison, _entropy_cut)),
        (
            "high_entropy_cut",
            "ΔLE, high-entropy examples",
            _shares(comparison, lambda arm: getattr(arm.high_entropy, "reduction", None)),
        ),
        (
            "high_entropy_cut_as_published",
            "as published (regression to the mean)",
            _shares(comparison, lambda arm: getattr(arm.high_entropy, "as_published", None)),
        ),
    ]
    if comparison.gold is not None:
        gold = _shares(comparison, lambda arm: arm.share_of_gold)
        columns.append(("share_of_gold", f"% of {comparison.gold}", gold))
    for name in dict.fromkeys(key for arm in every for key in arm.costs):
        cells = {arm.name: quantity(arm.costs[name]) for arm in every if name in arm.costs}
        columns.append((f"cost_{name}", words.cost_title(name), cells))
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
        notes=_sheet_notes(comparison),
    )


def _shares(
    comparison: Comparison, share_of: Callable[[ComparedArm], float | None]
) -> dict[str, str]:
    shares = {arm.name: share_of(arm) for arm in comparison.arms}
    return {arm: amounts.percent(share) for arm, share in shares.items() if share is not None}


def _entropy_cut(arm: ComparedArm) -> float | None:
    effect = arm.effects.get("label_entropy")
    return None if effect is None or effect.value is None else 1 - effect.value


def _sheet_notes(comparison: Comparison) -> tuple[Message, ...]:
    notes = []
    if any("label_entropy" in arm.effects for arm in comparison.arms):
        notes.append(_say("entropy-cut"))
    chosen = [arm.high_entropy.n_chosen for arm in comparison.arms if arm.high_entropy is not None]
    if any(chosen):
        notes.append(_say("regression-to-the-mean", limit=HIGH_ENTROPY, n_chosen=max(chosen)))
    if any(arm.costs for arm in comparison.arms):
        notes.append(_say("costs"))
    return tuple(notes)


def _examples(table: pa.Table | None, show: Sequence[str]) -> tuple[MovedExample, ...]:
    if table is None:
        return ()
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
        for row in table.slice(0, MAX_EXAMPLES).to_pylist()
    )


def build_overview(view: ComparisonView) -> Overview:
    """Return headline, the most important metric of each arm, and the table of effects."""
    rows = [row for block in view.shown_blocks for row in _rows(block, view.baseline)]
    return Overview(
        headline=view.headline,
        title=view.title,
        sentences=tuple(
            (one.topic, f"{one.verdict} {one.text}" if one.verdict else one.text)
            for one in view.findings
        ),
        key_figures=_key_figures(view.key_blocks[0], view.baseline) if view.key_blocks else (),
        sections=(Section("Effects", "Every effect", (TextTable(HEADER, tuple(rows)),)),),
        notes=view.notes,
        brackets=view.brackets,
    )


def _key_figures(block: Block, baseline: str) -> tuple[KeyFigure, ...]:
    return tuple(
        KeyFigure(
            name=block.metric,
            title=f"{block.title}, {arm}",
            value=str(cell.value),
            unit="",
            interval=f"{cell.change} {cell.interval} {cell.verdict}".strip() or "baseline",
            meaning=Message("metric-summary", block.summary),
            bar=None,
        )
        for arm, cell in [(baseline, block.baseline), *block.cells][:MAX_KEYS]
    )


def _rows(block: Block, baseline: str) -> Iterator[tuple[str, ...]]:
    """Yield a row per arm; the explainer's own noise is added to its verdict where it is known."""
    name = f"{block.metric}, by {block.method}" if block.method else block.metric
    for arm, cell in ((baseline, block.baseline), *block.cells):
        verdict = cell.verdict or "baseline"
        if cell.floor:
            verdict += f"; drawn twice {cell.floor}"
        change, interval = str(cell.change), cell.interval
        yield name, arm, str(cell.value), change, interval, verdict, cell.would_show
        name = ""
