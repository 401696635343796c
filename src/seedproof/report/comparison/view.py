"""A comparison as plain data: sentences first, then effects by metric, tables, examples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from seedproof.comparison.arms.result import ComparedArm, Comparison, CrossFitted
from seedproof.errors import ColumnError
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.predictions.checks import Check
from seedproof.report import checks
from seedproof.report.comparison import amounts, reading, sentences
from seedproof.report.comparison.groups import (
    KEY_FIGURES,
    all_arms,
    explained_by,
    foremost,
    of_method,
)
from seedproof.report.comparison.sentences import ArmFinding
from seedproof.report.explanations.sentences import named
from seedproof.report.explanations.view import TOKENS
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, quantity
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.view import KeyFigure, agreement_dots, unknown_column
from seedproof.stats.intervals import Estimate

# The metrics shown first, in this order, if they exist.
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
OWN_COLUMNS = frozenset(
    {"example", "label", "change"}
    | {f"{name}_{when}" for name in ("votes", "entropy") for when in ("before", "after")}
)
HEADER = ("metric", "arm", "value", "change", "interval", "verdict", "smallest detectable")
# The page has no room for more arms next to each other.
MAX_KEYS = 4
SENTENCES = {
    "all-pairs": "Every two arms by {metric}: the {n_pairs} intervals hold simultaneously. "
    "comparison.json has all metrics of every two arms.",
    "entropy-cut": "ΔLE is the reduction in mean label entropy: above 0, runs agree more.",
    "regression-to-the-mean": "High-entropy examples (about {n_chosen:,.0f}) have a label "
    "entropy above {limit} in the baseline. They are selected on one half of the baseline's runs "
    "and measured on the other half (cross-fitted). Selecting and measuring on the same runs shows "
    "a reduction even where there is none, because of regression to the mean.",
    "high-entropy-intervals": f"Their 95{NO_BREAK}% intervals are over {{over}}, for each figure "
    "alone.",
    "high-entropy-both": "Arms that are unsure of different examples show a reduction on those of "
    "the baseline and an increase on those of the arm. Only a reduction on both is an effect.",
    "high-entropy-no-interval": "No interval for {arms}: {reason}.",
    "costs": "Costs are medians over runs, as logged.",
}
_say = Sentences(SENTENCES)


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
class Sheet:
    """A small table of text: each column has a name, such as `share_of_gold`, and a title."""

    columns: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[Message, ...]

    @property
    def note(self) -> str:
        """The notes as text."""
        return " ".join(map(str, self.notes))


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
        headline=str(sentences.headline(comparison)),
        findings=sentences.findings(comparison),
        reading=tuple(map(str, reading.table_notes(comparison))),
        brackets=str(reading.brackets(comparison)),
        baseline=comparison.baseline.name,
        arms=tuple((arm.name, _runs(comparison, arm)) for arm in all_arms(comparison)),
        dots=_dots(comparison),
        key_blocks=_chosen(blocks, key_metrics(comparison)),
        reason_blocks=tuple(chain.from_iterable(first)),
        blocks=(*blocks, *chain.from_iterable(by_method)),
        sheet=_sheet(comparison),
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
        pairs=_pairs(comparison),
    )


def key_metrics(comparison: Comparison) -> tuple[str, ...]:
    """Return the metrics that are shown first, the primary one before all others."""
    return tuple(dict.fromkeys((comparison.primary, *KEY_METRICS)))


def _chosen(blocks: Sequence[Block], metrics: Sequence[str]) -> tuple[Block, ...]:
    by_name = {block.metric: block for block in blocks}
    return tuple(by_name[name] for name in metrics if name in by_name)


def _check_shown(comparison: Comparison, show: Sequence[str]) -> None:
    tables = [t for arm in comparison.arms for t in (arm.settled, arm.unsettled) if t is not None]
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
            raise unknown_column(name, carried)


def _runs(comparison: Comparison, arm: ComparedArm) -> str:
    role = "paired" if arm.is_paired else "not paired"
    if arm is comparison.baseline:
        role = "baseline"
    elif arm.name == comparison.reference:
        role += ", reference"
    return f"{arm.measurement.n_runs} runs, {role}"


def _dots(comparison: Comparison) -> tuple[tuple[str, tuple[int, int, int]], ...]:
    """Return the dots of the baseline and of the first arm with the same number of runs.

    With more runs, more examples have a run that differs.
    """
    base = comparison.baseline
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
        baseline=_cell(comparison.baseline, name, method),
        cells=tuple(
            (arm.name, _cell(arm, name, method)) for arm in comparison.arms if name in arm.effects
        ),
        method=method,
        is_primary=name == comparison.primary,
    )


def _cell(arm: ComparedArm, name: str, method: str) -> Cell:
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
        verdict=effect.verdict,
        would_show=f"a {noun} of {amount}" if is_open and amount else "",
        shows=amounts.detectable(effect) if is_open else "",
        over=effect.over or "",
        note="" if effect.note is None else str(effect.note),
        floor=floor,
        confidence=amounts.confidence(effect),
    )


def _pairs(comparison: Comparison) -> Sheet | None:
    """Return every two arms by the primary metric; None if only the baseline is compared."""
    if comparison.pairs is None:
        return None
    base, primary = comparison.baseline.name, comparison.primary
    pairs = [(arm.name, base, arm.effects) for arm in comparison.arms]
    pairs += [(pair.arm, pair.against, pair.effects) for pair in comparison.pairs]
    rows = tuple(
        (arm, against, amounts.change(effect), amounts.ends(effect), effect.verdict)
        for arm, against, effects in pairs
        if (effect := effects.get(primary)) is not None
    )
    columns = ("arm", "against", "change", "interval", "verdict")
    return Sheet(columns, columns, rows, (_say("all-pairs", metric=primary, n_pairs=len(rows)),))


def _entropy_cut(arm: ComparedArm) -> float | None:
    effect = arm.effects.get("label_entropy")
    return None if effect is None or effect.value is None else 1 - effect.value


def _share(value: float | None) -> str | None:
    return None if value is None else str(WithUnit(value, "percent"))


def _cross_fitted(effect: CrossFitted | None) -> str | None:
    """Return a reduction with its interval, if it has one; None without a value."""
    if effect is None or effect.reduction is None:
        return None
    estimate = Estimate(effect.reduction, effect.low, effect.high, effect.over)
    return str(WithInterval(estimate, "percent"))


# Title and text of each share, by the name of its column.
SHARES: Mapping[str, tuple[str, Callable[[ComparedArm], str | None]]] = {
    "entropy_cut": ("ΔLE", lambda arm: _share(_entropy_cut(arm))),
    "high_entropy_cut": (
        "ΔLE, high-entropy in the baseline",
        lambda arm: _cross_fitted(arm.high_entropy),
    ),
    "high_entropy_cut_by_arm": (
        "ΔLE, high-entropy in the arm",
        lambda arm: _cross_fitted(getattr(arm.high_entropy, "by_arm", None)),
    ),
    "high_entropy_cut_as_published": (
        "ΔLE, high-entropy, not cross-fitted",
        lambda arm: _share(getattr(arm.high_entropy, "as_published", None)),
    ),
    "share_of_gold": ("% of {}", lambda arm: _share(arm.share_of_gold)),
}


def _sheet(comparison: Comparison) -> Sheet | None:
    """Return reductions of entropy, shares of the reference's gain, and costs; None without any."""
    columns: list[tuple[str, str, dict[str, str]]] = []
    for name, (title, text_of) in SHARES.items():
        texts = {arm.name: text_of(arm) for arm in comparison.arms}
        cells = {arm: text for arm, text in texts.items() if text is not None}
        columns.append((name, title.format(comparison.reference), cells))
    every = all_arms(comparison)
    for name in dict.fromkeys(key for arm in every for key in arm.costs):
        costs = {arm.name: quantity(arm.costs[name]) for arm in every if name in arm.costs}
        columns.append((f"cost_{name}", sentences.cost_title(name), costs))
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
        notes=tuple(_sheet_notes(comparison)),
    )


def _sheet_notes(comparison: Comparison) -> Iterator[Message]:
    if any("label_entropy" in arm.effects for arm in comparison.arms):
        yield _say("entropy-cut")
    chosen = [arm.high_entropy.n_chosen for arm in comparison.arms if arm.high_entropy is not None]
    if any(chosen):
        yield _say("regression-to-the-mean", limit=HIGH_ENTROPY, n_chosen=max(chosen))
        yield _say("high-entropy-both")
        yield from _interval_notes(comparison)
    if any(arm.costs for arm in comparison.arms):
        yield _say("costs")


def _interval_notes(comparison: Comparison) -> Iterator[Message]:
    """Say what the intervals of high-entropy examples are over, and why some are missing."""
    effects = [
        (arm.name, effect)
        for arm in comparison.arms
        if arm.high_entropy is not None
        for effect in (arm.high_entropy, arm.high_entropy.by_arm)
        if effect is not None and effect.reduction is not None
    ]
    over = dict.fromkeys(effect.over for _, effect in effects if effect.over is not None)
    if over:
        yield _say("high-entropy-intervals", over=" or ".join(over))
    reasons: dict[str, dict[str, None]] = {}
    for name, effect in effects:
        if effect.note is not None:
            reasons.setdefault(str(effect.note), {})[repr(name)] = None
    for reason, names in reasons.items():
        yield _say("high-entropy-no-interval", arms=", ".join(names), reason=reason)


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
