"""The page of a comparison: one self-contained file that loads nothing and sends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.comparison.arms.result import FORMAT, Comparison
from seedproof.messages import Message
from seedproof.report.comparison import cautions
from seedproof.report.comparison.figures import (
    MAX_VOTES,
    build_figures,
    moved_examples,
    vote_legend,
)
from seedproof.report.comparison.groups import (
    foremost,
    names,
    verdict_kind,
    verdict_on,
    with_verdict,
)
from seedproof.report.comparison.view import Block, ComparisonView, build_view
from seedproof.report.document import card_html, digest, page_parts, template, versions
from seedproof.report.figures import Figure
from seedproof.report.numbers import NO_BREAK

METHODS = (
    "Ratios on the log scale with Student’s t (jackknife over runs, two-way with examples); ratios "
    "of standard deviations over runs by Bonett (2006); differences of means by Student’s t. "
    f"Power: 80{NO_BREAK}%."
)
SLUGS = {
    "Stability and accuracy": "accuracy",
    "Stability and cost": "cost",
    "Example by example": "votes",
}


@dataclass(frozen=True)
class ArmSection:
    """One topic of the page: its finding, its charts, words beside them."""

    topic: str
    slug: str
    finding: Message
    figures: tuple[Figure, ...]
    paragraphs: tuple[Message, ...] = ()


def render_page(
    comparison: Comparison, *, show: Sequence[str] = (), command: str | None = None
) -> str:
    """The whole comparison as one HTML file."""
    view = build_view(comparison, show=show)
    figures = build_figures(comparison)
    return template("comparison.html").render(
        view=view,
        dots=[
            (name, counts, [group for group, count in enumerate(counts) for _ in range(count)])
            for name, counts in view.dots
        ],
        forest=_forest(view, figures),
        sections=_sections(comparison, figures),
        legend=vote_legend(comparison),
        kind=verdict_kind,
        card_html=card_html,
        left_out=_left_out(comparison),
        made=_made(comparison, view, command),
        **page_parts(
            figures,
            data={},
            css=["page.css", "comparison.css"],
            identity=comparison.to_json(),
        ),
    )


def _forest(view: ComparisonView, figures: Sequence[Figure]) -> list[Block]:
    """The blocks that have a chart, in the order in which their axes go together."""
    blocks = {f"forest_{block.key}": block for block in (*view.key_blocks, *view.reason_blocks)}
    return [blocks[figure.name] for figure in figures if figure.name in blocks]


def _sections(comparison: Comparison, figures: Sequence[Figure]) -> list[ArmSection]:
    findings = {
        "Stability and accuracy": _accuracy_finding(comparison),
        "Stability and cost": Message("costs", "What stability costs"),
        "Example by example": _example_finding(comparison),
    }
    found = []
    for topic, finding in findings.items():
        chosen = tuple(figure for figure in figures if figure.section == topic)
        if chosen:
            paragraphs = tuple(cautions.costs(comparison)) if topic == "Stability and cost" else ()
            found.append(ArmSection(topic, SLUGS[topic], finding, chosen, paragraphs))
    return found


def _accuracy_finding(comparison: Comparison) -> Message:
    """Whether what is steadier pays with accuracy, as far as it is known."""
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    verdicts = {verdict_on(arm, "accuracy") for arm in steadier}
    if "worse" in verdicts:
        return Message("steadier-and-worse", "Steadier, at a loss of accuracy")
    if verdicts and verdicts <= {"better", "no difference shown"}:
        return Message("steadier-and-no-loss-shown", "Steadier, and no loss of accuracy shown")
    return Message("flips-and-accuracy", "Flips and accuracy of each arm")


def _example_finding(comparison: Comparison) -> Message:
    first = next((arm for arm in foremost(comparison) if arm.votes is not None), None)
    if first is None or first.effects["flip_rate"].verdict == "too few runs":
        return Message("votes", "Votes before and after")
    more, less = moved_examples(first)
    return Message(
        "votes-settled",
        "With {arm}, {n_more:,} examples are more settled and {n_less:,} less",
        arm=first.name,
        n_more=more,
        n_less=less,
    )


def _left_out(comparison: Comparison) -> str:
    rest = [arm for arm in foremost(comparison) if arm.votes is not None][MAX_VOTES:]
    return f"Not drawn: {names(rest)}; see comparison.json." if rest else ""


def _made(
    comparison: Comparison, view: ComparisonView, command: str | None
) -> list[tuple[str, str]]:
    n_arms = len(comparison.arms)
    each = f"{100 * comparison.confidence:.4g}{NO_BREAK}%"
    several = (
        f"{each} each, so that those of all {n_arms} arms hold together with 95{NO_BREAK}% for a "
        "metric (Bonferroni); they are not adjusted for the number of metrics. "
        if n_arms > 1
        else f"{each}. "
    )
    found = [("Command", command)] if command else []
    found += [
        ("Arms", "; ".join(f"{name}: {detail}" for name, detail in view.arms)),
        (
            "Intervals",
            several + "Closed forms from totals without each run, over runs × examples; paired "
            "where runs share their seeds. Nothing is resampled, no seed is needed.",
        ),
        (
            "Methods",
            METHODS,
        ),
    ]
    if comparison.gold is not None:
        found.append(("Gold standard", f"{comparison.gold}: its gain in label entropy is 100 %."))
    return [
        *found,
        ("Limits", "This speaks of these examples, this recipe and whatever the runs varied."),
        ("Versions", versions()),
        ("Digest", f"{digest(comparison.to_json())} (of comparison.json, format {FORMAT})"),
    ]
