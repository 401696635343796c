"""Report of a comparison of arms by one number per run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.comparison.arms.result import ArmPair
from seedproof.comparison.gate.caution import HIDDEN_TAIL
from seedproof.errors import UnknownNameError
from seedproof.messages import Message, Sentences, printable
from seedproof.predictions.checks import Check, named
from seedproof.report.checks import alerts, notes
from seedproof.report.comparison import amounts, reading
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.report import EFFECT_COLUMNS, ComparisonReport
from seedproof.report.comparison.text import HEAD, MAX_NAME, STYLES, row_text, shortened
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.mappings import ByName
from seedproof.report.numbers import MINUS, NO_BREAK
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.result import Result, refuse_columns
from seedproof.report.scalars.report import MAX_CHARTS, NO_EXAMPLES, scalars_summary, written
from seedproof.report.text import CheckLines, Prose
from seedproof.report.view import KeyFigure
from seedproof.scalars.compare import ComparedScalars
from seedproof.scalars.runs import SPREAD, unknown_name
from seedproof.stats.effect import OPPOSITE, Effect
from seedproof.stats.intervals import Estimate
from seedproof.stats.skewness import clear_skewness

FORMAT = 1
EFFECTS = "Effects"
MAX_KEYS = 4
MARKS: Mapping[str, Mark] = {"good": "good", "bad": "bad", "equal": "base", "open": "open"}
MEANINGS: Mapping[Mark, str] = {
    "good": "shown to be better",
    "bad": "shown to be worse",
    "base": "equivalent",
    "open": "no difference shown, or not judged",
}
SENTENCES = {
    "better": "{arm} is better than {against}: {metric} {change}.",
    "worse": "{arm} is worse than {against}: {metric} {change}.",
    "steadier": "{arm} is steadier than {against}: {metric} {change}.",
    "less-steady": "{arm} is less steady than {against}: {metric} {change}.",
    "equivalent": "{arm} and {against} are equivalent: {metric} {change}, within the margin of "
    "{margin}.",
    "no-difference-shown": "No difference is shown between {arm} and {against}: {metric} {change}. "
    "The smallest difference that these runs can detect is {detectable}.",
    "too-few-runs": "{metric} of {arm} is {change} against {against}. There are too few runs for a "
    "verdict.",
    "not-tested": "{metric} of {arm} is {change} against {against}, and is not tested: {note}.",
    "key": "against {against}: {verdict}",
    "paired": "Runs with the same seed are paired: {arms}.",
    "unpaired-seeds": "Runs are not paired, because the arms have other seeds: {arms}.",
    "unpaired": "Runs are not paired: their seeds are not given. A column seed pairs arms that "
    "share their seeds, and --paired those that share the names of their runs.",
    "change": "Changes are differences from the baseline; those of spreads ({ending}) are in "
    "percent. “detectable”: the smallest true change that these runs can detect with "
    f"80{NO_BREAK}% power.",
    "exploratory": reading.SENTENCES["exploratory"],
    "brackets": "Brackets are {intervals}, so that those of all arms hold simultaneously. “No "
    "difference shown” does not mean “no difference”.",
    "skewed-runs": "The difference in {metric} of {arm} and {against} has a skewness of "
    "{skewness:+.1f}, and with few runs the interval of a mean assumes no long tail. In "
    "simulations of long-tailed runs, up to 5 % of comparisons of equal arms show a difference, "
    "and up to 5 % instead of 2.5 % wrongly show an arm whose tail the other lacks to be better.",
    "same-intervals": f"{{primary:.4g}}{NO_BREAK}% intervals over runs",
    "two-intervals": f"intervals over runs: {{primary:.4g}}{NO_BREAK}% of the primary metric and "
    f"{{others:.4g}}{NO_BREAK}% of others",
}
_say = Sentences(SENTENCES)


class ScalarComparison(Result, ByName[Mapping[str, Effect]]):
    """Differences of arms by one number per run: `print` it, or read `report[arm][metric]`.

    Args:
        compared: The effects.

    Examples:
        >>> import pyarrow as pa
        >>> import seedproof as sp
        >>> table = pa.table(
        ...     {
        ...         "arm": ["ppo"] * 5 + ["sac"] * 5,
        ...         "seed": [0, 1, 2, 3, 4] * 2,
        ...         "return": [3.0, 4.0, 5.0, 4.0, 3.5, 6.0, 7.0, 8.5, 7.0, 6.5],
        ...     }
        ... )
        >>> sp.compare_scalars(table)["sac"]["return"].verdict
        'better'
    """

    _page_file = "scalars.html"
    _json_file = "scalars.json"
    _columns: ClassVar = {
        "arm": pa.string(),
        "against": pa.string(),
        **{
            name: kind
            for name, kind in ComparisonReport._columns.items()  # noqa: SLF001 - a result, too
            if name not in {"arm", "method"}
        },
    }

    def __init__(self, compared: ComparedScalars) -> None:
        self.compared = compared

    @property
    def _entries(self) -> Mapping[str, Mapping[str, Effect]]:
        return {pair.arm: pair.effects for pair in self._of_baseline}

    def _unknown(self, name: str) -> UnknownNameError:
        return unknown_name("arm", name, self._entries)

    @property
    def _of_baseline(self) -> tuple[ArmPair, ...]:
        """The arms against the baseline, without other pairs."""
        baseline = self.compared.baseline.name
        return tuple(pair for pair in self.compared.pairs if pair.against == baseline)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, each with the name of its arm."""
        return self.compared.scalars.checks

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data: the content of `scalars.json`."""
        return {
            "format": FORMAT,
            **self.compared.summary(),
            **scalars_summary(self.compared.scalars),
        }

    def sentences(self) -> tuple[Message, ...]:
        """Return the primary effect of each pair of arms."""
        return tuple(_sentence(pair, self.compared.primary) for pair in self.compared.pairs)

    def notes(self) -> tuple[str, ...]:
        """Return how runs are paired, which direction is better, and what is left out."""
        compared = self.compared
        remarks = [_pairing(compared), _directions(compared), reading.on_runs(compared.runs)]
        remarks += [_say("change", ending=SPREAD), _say("exploratory", primary=compared.primary)]
        remarks += [_brackets(compared), *_skewed(compared), *compared.scalars.notes, NO_EXAMPLES]
        return (*notes(self.checks), *map(str, remarks))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        parts: list[RenderableType] = [Prose(self._about(), style="dim"), Text("")]
        parts.append(CheckLines(alerts(self.checks)))
        for sentence in self.sentences():
            parts += [Prose(str(sentence)), Text("")]
        blocks = {
            metric: [(f"  {name}", *cells) for name, *cells in rows]
            for metric, rows in self._blocks()
        }
        every = [HEAD, *(cells for rows in blocks.values() for cells in rows)]
        widths = [max(map(len, column)) for column in zip(*every, strict=True)]
        parts.append(Text(row_text(HEAD, widths), style="dim"))
        for metric, rows in blocks.items():
            parts.append(Text(metric, style="bold"))
            for cells in rows:
                line = Text(row_text(cells, widths), no_wrap=True, overflow="ellipsis")
                line.highlight_words([cells[4]], STYLES[verdict_kind(cells[4])])
                parts.append(line)
            parts.append(Text(""))
        return Group(*parts, *(Prose(f"Note: {note}", style="dim") for note in self.notes()))

    def _blocks(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Yield each metric with the cells of the baseline, and those of each pair of arms."""
        compared = self.compared
        for metric in compared.baseline.metrics:
            base = compared.baseline
            name, value = shortened(printable(base.name), MAX_NAME), base.metrics[metric].value
            rows: list[tuple[str, ...]] = [(name, written(value), "", "", "baseline", "")]
            rows += [self._cells(pair, metric) for pair in compared.pairs]
            yield f"{printable(metric)}{' (primary)' * (metric == compared.primary)}", rows

    def _cells(self, pair: ArmPair, metric: str) -> tuple[str, ...]:
        effect = pair.effects[metric]
        is_other = pair.against != self.compared.baseline.name
        value = self.compared.scalars.arms[pair.arm].metrics[metric].value
        name = f"{pair.arm} {MINUS} {pair.against}" if is_other else pair.arm
        return (
            shortened(printable(name), MAX_NAME),
            written(value),
            _change(effect),
            _ends(effect),
            effect.verdict,
            _detectable(effect),
        )

    def _records(self) -> list[dict[str, Any]]:
        arms = self.compared.scalars.arms
        return [
            {
                "arm": pair.arm,
                "against": pair.against,
                "baseline_value": arms[pair.against].metrics[metric].value,
                "arm_value": arms[pair.arm].metrics[metric].value,
                **{key: getattr(effect, key) for key in EFFECT_COLUMNS},
                "effect": effect.value,
            }
            for pair in self.compared.pairs
            for metric, effect in pair.effects.items()
        ]

    def _figures(self) -> tuple[Figure, ...]:
        compared = self.compared
        return tuple(
            intervals(
                f"metric_{index}",
                f"{printable(metric)}: change from {printable(compared.baseline.name)}",
                [
                    Line(
                        pair.arm,
                        Estimate(effect.value or 0.0, effect.low, effect.high),
                        MARKS[verdict_kind(effect.verdict)],
                    )
                    for pair in self._of_baseline
                    for effect in [pair.effects[metric]]
                ],
                section=EFFECTS,
                axis=f"change of the mean {printable(metric)} (line: no change)",
                unit="value",
                marks=MEANINGS,
                reference=0.0,
            )
            for index, metric in enumerate(compared.scalars.metrics[:MAX_CHARTS], start=1)
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        header = ("arm", *HEAD[1:])
        tables = tuple(
            TextTable(header, tuple(rows), title=metric) for metric, rows in self._blocks()
        )
        sentences = tuple(
            (pair.arm, str(text))
            for pair, text in zip(self.compared.pairs, self.sentences(), strict=True)
        )
        return Overview(
            headline=self._headline,
            title=self._about(),
            sentences=sentences,
            key_figures=tuple(self._key_figure(pair) for pair in self._of_baseline[:MAX_KEYS]),
            sections=(Section(EFFECTS, "Every metric of every arm", tables),),
            notes=self.notes(),
            brackets="",
            checks=alerts(self.checks),
        )

    @property
    def _headline(self) -> str:
        """The primary verdicts on the arms, in a few words."""
        arms: dict[str, list[str]] = {}
        for pair in self._of_baseline:
            verdict = pair.effects[self.compared.primary].verdict
            arms.setdefault(verdict, []).append(printable(pair.arm))
        baseline = printable(self.compared.baseline.name)
        shown = [
            f"{named(names)} {'is' if len(names) == 1 else 'are'} {verdict} than {baseline}"
            for verdict, names in arms.items()
            if verdict in OPPOSITE
        ]
        if "equivalent" in arms:
            names = arms["equivalent"]
            shown.append(
                f"{named(names)} {'is' if len(names) == 1 else 'are'} equivalent to {baseline}"
            )
        if shown:
            return "; ".join(shown)
        errors = [check for check in self.checks if check.severity == "error"]
        if set(arms) == {"not tested"} and errors:
            return f"No verdict, because the check {errors[0].name} reports an error"
        return f"No difference from {baseline} is shown"

    def _key_figure(self, pair: ArmPair) -> KeyFigure:
        primary = self.compared.primary
        effect = pair.effects[primary]
        return KeyFigure(
            name=pair.arm,
            title=f"{primary}, {pair.arm}",
            value=_change(effect),
            unit="",
            interval=_ends(effect),
            meaning=_say("key", against=printable(pair.against), verdict=effect.verdict),
            bar=None,
        )

    def _about(self) -> str:
        arms = ", ".join(printable(pair.arm) for pair in self._of_baseline)
        n_runs = self.compared.runs.n_runs
        return f"{arms} against {printable(self.compared.baseline.name)} · {n_runs:,} runs each"


def _sentence(pair: ArmPair, metric: str) -> Message:
    effect = pair.effects[metric]
    return _say(
        effect.verdict.replace(" ", "-"),
        arm=printable(pair.arm),
        against=printable(pair.against),
        metric=printable(metric),
        change=f"{_change(effect)} {_ends(effect)}".strip(),
        detectable=_detectable(effect).lstrip("±"),
        margin=amounts.margin(effect) if effect.scale == "ratio" else written(effect.margin or 0.0),
        note=effect.note,
    )


def _change(effect: Effect) -> str:
    if effect.scale == "ratio" or effect.value is None:
        return amounts.change(effect)
    return _signed(effect.value)


def _ends(effect: Effect) -> str:
    if effect.scale == "ratio" or effect.low is None or effect.high is None:
        return amounts.ends(effect)
    return f"[{_signed(effect.low)}, {_signed(effect.high)}]"


def _detectable(effect: Effect) -> str:
    if effect.scale == "ratio" or effect.detectable is None:
        return amounts.detectable(effect)
    return f"±{written(effect.detectable)}"


def _signed(value: float) -> str:
    text = written(value)
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def _pairing(compared: ComparedScalars) -> Message:
    paired = [pair for pair in compared.pairs if pair.is_paired]
    if paired:
        names = dict.fromkeys(x for pair in paired for x in (pair.against, pair.arm))
        return _say("paired", arms=tuple(names))
    arms = compared.scalars.arms.values()
    has_seeds = all(arm.seeds is not None for arm in arms)
    return _say("unpaired-seeds" if has_seeds else "unpaired", arms=tuple(a.name for a in arms))


def _directions(compared: ComparedScalars) -> Message:
    by_direction = {
        direction: ", ".join(name for name, x in compared.better.items() if x == direction)
        for direction in ("lower", "higher")
    }
    words = " ".join(
        f"{direction.capitalize()} is better: {names}."
        for direction, names in by_direction.items()
        if names
    )
    return Message("directions", "{words}", words=words, better=dict(compared.better))


def _skewed(compared: ComparedScalars) -> Iterator[Message]:
    """Yield a remark on each verdict on means of few runs whose contrast is clearly skewed."""
    arms = compared.scalars.arms
    for pair in compared.pairs:
        arm, base = arms[pair.arm], arms[pair.against]
        if min(arm.n_runs, base.n_runs) > HIDDEN_TAIL:
            continue
        for metric, values in arm.values.items():
            effect = pair.effects[metric]
            skewness = clear_skewness(values, base.values[metric], is_paired=pair.is_paired)
            if skewness is not None and (effect.is_shown or effect.verdict == "equivalent"):
                names = {"arm": printable(pair.arm), "against": printable(pair.against)}
                yield _say("skewed-runs", metric=printable(metric), skewness=skewness, **names)


def _brackets(compared: ComparedScalars) -> Message:
    effects = [effect for pair in compared.pairs for effect in pair.effects.values()]
    others = next((x.confidence for x in effects if x.exploratory and x.confidence), None)
    primary, others = (100 * (x or compared.confidence) for x in (compared.confidence, others))
    code = "same-intervals" if f"{primary:.4g}" == f"{others:.4g}" else "two-intervals"
    confidences = _say(code, primary=primary, others=others)
    return _say("brackets", primary=primary, others=others, intervals=confidences)
