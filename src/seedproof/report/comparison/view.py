"""A comparison as plain data: words first, then effects by metric, tables, examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.metrics.card import card
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.comparison import amounts, cautions, words
from seedproof.report.comparison.amounts import Written
from seedproof.report.comparison.groups import foremost
from seedproof.report.comparison.reasons import KEY_FIGURES, explained_by, of_method
from seedproof.report.comparison.words import ArmFinding
from seedproof.report.numbers import quantity
from seedproof.report.reasons.view import TOKENS
from seedproof.report.reasons.words import named
from seedproof.report.view import agreement_dots, unknown_column
from seedproof.stats.effect import Effect, scale_of

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
    {
        "example",
        "label",
        "change",
        "votes_before",
        "votes_after",
        "entropy_before",
        "entropy_after",
    }
)


@dataclass(frozen=True)
class Cell:
    """One arm in one metric.

    Args:
        value: The arm's own figure.
        change: What it changes against the baseline; nothing for the baseline itself.
        interval: Interval of the change, or nothing.
        verdict: What may be said; nothing for the baseline.
        would_show: Where no difference is shown, the smallest true effect that would be.
        shows: The same in short.
        over: What the interval is over.
        note: Why there is no interval.
        floor: The same between two draws of one run, for figures of explanations, where known.
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
    """One metric with all arms: the baseline's figure, and a cell for each other arm.

    Args:
        metric: Its name.
        title: What people read.
        summary: What it is, in one sentence.
        card: What it means.
        better: Which direction is better.
        baseline: The baseline's figure.
        cells: Name of each other arm, and what it changes.
        method: By which method was explained, for figures of explanations.
    """

    metric: str
    title: str
    summary: str
    card: str
    better: str
    baseline: Cell
    cells: tuple[tuple[str, Cell], ...]
    method: str = ""

    @property
    def key(self) -> str:
        """A name that no other block has."""
        return f"{self.metric}_{self.method}" if self.method else self.metric


@dataclass(frozen=True)
class Sheet:
    """A small table of text; the first column is the arm.

    Args:
        columns: Names of the columns: `arm`, `entropy_cut`, `high_entropy_cut`,
            `high_entropy_cut_as_published`, `share_of_gold`, and `cost_` with the name of a cost.
        header: The same for people.
        rows: One for each arm.
        notes: How to read them.
    """

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

    Args:
        title: What was compared, in one line.
        headline: The finding, in one sentence.
        findings: What a person wants to know first.
        brackets: What intervals and verdicts mean here.
        baseline: Name of the baseline.
        arms: Name, number of runs and pairing of each arm, the baseline first.
        dots: For the baseline and one arm: of a hundred examples, all runs agree, some differ,
            entropy above 0.56. None where their numbers of runs differ.
        key_blocks: The metrics that say most.
        reason_blocks: The figures of explanations that say most, by method.
        blocks: Every metric, and every figure of explanations.
        sheet: Reduction of entropy, share of the gold standard, costs; None without any.
        moved: Examples that arms settle and unsettle.
        notes: How the input was read, and what limits the figures.
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
    def has_floors(self) -> bool:
        """Whether the explainer's own noise is known with some arm."""
        cells = (cell for block in self.reason_blocks for _, cell in block.cells)
        return any(cell.floor for cell in (*(b.baseline for b in self.reason_blocks), *cells))


def build_view(comparison: Comparison, *, show: Sequence[str] = ()) -> ComparisonView:
    """The view of a comparison."""
    _check_shown(comparison, show)
    blocks = tuple(_block(comparison, name) for name in _metrics(comparison))
    by_name = {block.metric: block for block in blocks}
    reasons = _reason_blocks(comparison)
    return ComparisonView(
        title=str(words.title(comparison)),
        headline=str(words.headline(comparison)),
        findings=words.findings(comparison),
        brackets=str(cautions.brackets(comparison)),
        baseline=comparison.baseline.name,
        arms=_arms(comparison),
        dots=_dots(comparison),
        key_blocks=tuple(by_name[name] for name in KEY_METRICS if name in by_name),
        reason_blocks=tuple(
            block
            for method in explained_by(comparison)
            for name in KEY_FIGURES
            for block in reasons
            if (block.method, block.metric) == (method, name)
        ),
        blocks=(*blocks, *reasons),
        sheet=_sheet(comparison),
        moved=tuple(_moved(arm, show) for arm in foremost(comparison) if arm.settled is not None),
        notes=tuple(map(str, (*comparison.notes, *cautions.limits(comparison)))),
    )


def _check_shown(comparison: Comparison, show: Sequence[str]) -> None:
    tables = [t for arm in comparison.arms for t in (arm.settled, arm.unsettled) if t is not None]
    carried = dict.fromkeys(
        name for table in tables for name in table.column_names if name not in OWN_COLUMNS
    )
    for name in show:
        if name not in carried:
            if name == TOKENS:
                raise ColumnError(
                    "A comparison shows no tokens. Look at those of one arm with `seedproof "
                    "measure STORE --arm ARM --show tokens`.",
                    column=name,
                )
            raise unknown_column(name, tuple(carried))


def _metrics(comparison: Comparison) -> list[str]:
    """Every metric that the baseline has and some arm has an effect on."""
    return [
        name
        for name in comparison.baseline.measurement.metrics
        if any(name in arm.effects for arm in comparison.arms)
    ]


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


def _reason_blocks(comparison: Comparison) -> tuple[Block, ...]:
    """Every figure of explanations, one method after the other."""
    return tuple(
        _block(explained, name, method=method)
        for method in explained_by(comparison)
        for explained in [of_method(comparison, method)]
        for name in _metrics(explained)
    )


def _block(comparison: Comparison, name: str, *, method: str = "") -> Block:
    about = card(name)
    base = comparison.baseline.measurement.metrics[name]
    return Block(
        metric=name,
        title=f"{about.title} ({named(method)})" if method else about.title,
        summary=about.summary,
        card=about.text,
        better=about.better,
        baseline=Cell(
            amounts.figure(name, base.value),
            over=base.over or "",
            floor=_floor(comparison.baseline, name, method),
        ),
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


def is_ratio(metric: str) -> bool:
    """Whether its arms share the axis of ratios."""
    return scale_of(metric) == "ratio"


def _sheet(comparison: Comparison) -> Sheet | None:
    titles = {
        "entropy_cut": "ΔLE",
        "high_entropy_cut": "ΔLE, high-entropy examples",
        "high_entropy_cut_as_published": "as published (regression to the mean)",
        "share_of_gold": f"% of {comparison.gold}",
    }
    columns = {
        "entropy_cut": {arm.name: _entropy_cut(arm) for arm in comparison.arms},
        "high_entropy_cut": _high(comparison, "reduction"),
        "high_entropy_cut_as_published": _high(comparison, "as_published"),
    }
    if comparison.gold is not None:
        columns["share_of_gold"] = {
            arm.name: amounts.percent(arm.share_of_gold)
            for arm in comparison.arms
            if arm.share_of_gold is not None
        }
    every = (comparison.baseline, *comparison.arms)
    for name in dict.fromkeys(key for arm in every for key in arm.costs):
        titles[f"cost_{name}"] = cautions.cost_title(name)
        columns[f"cost_{name}"] = {
            arm.name: quantity(arm.costs[name]) for arm in every if name in arm.costs
        }
    columns = {name: cells for name, cells in columns.items() if any(cells.values())}
    if not columns:
        return None
    rows = tuple(
        (arm.name, *(cells.get(arm.name) or amounts.NONE for cells in columns.values()))
        for arm in every
    )
    header = ("arm", *(titles[name] for name in columns))
    return Sheet(("arm", *columns), header, rows, _sheet_notes(comparison))


def _sheet_notes(comparison: Comparison) -> tuple[Message, ...]:
    notes = []
    if any("label_entropy" in arm.effects for arm in comparison.arms):
        notes.append(Message("entropy-cut", "ΔLE is the reduction of mean label entropy."))
    chosen = [arm.high_entropy.n_chosen for arm in comparison.arms if arm.high_entropy is not None]
    if any(chosen):
        notes.append(
            Message(
                "regression-to-the-mean",
                "High-entropy examples are those above {limit} in the baseline, about "
                "{n_chosen:,.0f}: chosen on one half of its runs and measured on the other "
                "(cross-fitted). As published: chosen and measured on the same runs, which shows a "
                "reduction even where there is none, by regression to the mean.",
                limit=HIGH_ENTROPY,
                n_chosen=max(chosen),
            )
        )
    if any(arm.costs for arm in comparison.arms):
        notes.append(Message("costs", "Costs are medians over runs, as the runs logged them."))
    return tuple(notes)


def _entropy_cut(arm: ComparedArm) -> str:
    effect = arm.effects.get("label_entropy")
    return "" if effect is None or effect.value is None else amounts.percent(1 - effect.value)


def _high(comparison: Comparison, name: str) -> dict[str, str]:
    found = {}
    for arm in comparison.arms:
        value = None if arm.high_entropy is None else getattr(arm.high_entropy, name)
        if value is not None:
            found[arm.name] = amounts.percent(value)
    return found


def _moved(arm: ComparedArm, show: Sequence[str]) -> Moved:
    return Moved(
        arm=arm.name,
        settled=_examples(arm.settled, show),
        unsettled=_examples(arm.unsettled, show),
    )


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
            shown=tuple(_text(row.get(name)) for name in show),
        )
        for row in table.slice(0, MAX_EXAMPLES).to_pylist()
    )


def _text(value: Any) -> str:  # noqa: ANN401 - a user's own column
    return "" if value is None else str(value)
