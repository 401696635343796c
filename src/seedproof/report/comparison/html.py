"""The page of a comparison: one self-contained file that loads nothing and sends nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

from seedproof.comparison.arms.result import FORMAT, Comparison
from seedproof.report.comparison import numeric
from seedproof.report.comparison.figures import (
    ACCURACY,
    COST,
    MAX_VOTES,
    VOTES,
    build_figures,
    moved_examples,
    vote_legend,
)
from seedproof.report.comparison.groups import foremost, names, verdict_kind
from seedproof.report.comparison.headline import on_flips
from seedproof.report.comparison.sentences import cautions, costs
from seedproof.report.comparison.view import ComparisonView, build_view
from seedproof.report.document import card_html, digest, page_parts, template, versions
from seedproof.report.figures import Figure
from seedproof.report.next_steps import after_comparing
from seedproof.report.numbers import NO_BREAK
from seedproof.report.overview import PageOptions

INTERVALS = (
    "Closed forms over runs × examples, by leaving out one run at a time; paired if runs share "
    "their seeds. Nothing is resampled, so no seed is needed."
)
OF_TRIALS = (
    "Closed forms over examples, by the differences of each example between two arms: trials of "
    "one model are independent, so the means of examples contain their noise. Nothing is resampled."
)
METHODS = (
    "Ratios on the log scale with Student’s t (jackknife over runs, two-way with examples); ratios "
    "of standard deviations over runs by Bonett (2006); differences of means by Student’s t. "
    f"Power: 80{NO_BREAK}%."
)
# Findings on steadier arms, by the code of the clause on accuracy.
FINDINGS = {
    "accuracy-falls": "Steadier, at a loss of accuracy",
    "accuracy-rises": "Steadier and more accurate",
    "no-accuracy-loss-shown": "Steadier, with no loss of accuracy shown",
}
# More arms would take megabytes in the details of every metric.
MAX_DETAILED = 50
LIMITS = "The results hold for these examples, this recipe and the sources that the runs varied."


def render_page(comparison: Comparison, options: PageOptions) -> str:
    """Return the comparison as one HTML file."""
    view, figures = build_view(comparison, show=options.show), build_figures(comparison)
    blocks = {f"forest_{block.key}": block for block in view.shown_blocks}
    listed = foremost(comparison)[:MAX_DETAILED]
    n_others = len(comparison.arms) - len(listed)
    not_drawn = [arm for arm in foremost(comparison) if arm.votes is not None][MAX_VOTES:]
    return template("comparison.html").render(
        view=view,
        dots=[
            (name, counts, [group for group, count in enumerate(counts) for _ in range(count)])
            for name, counts in view.dots
        ],
        # In the order in which their axes go together.
        forest=[blocks[figure.name] for figure in figures if figure.name in blocks],
        sections=[*_sections(comparison, figures), *_changed(view)],
        legend=vote_legend(comparison),
        kind=verdict_kind,
        card_html=card_html,
        left_out=f"Not drawn: {names(not_drawn)}; see comparison.json." if not_drawn else "",
        listed={arm.name for arm in listed},
        not_listed=f"Of {n_others:,} further arms, see comparison.json." if n_others else "",
        made=_made(comparison, view),
        **page_parts(
            figures,
            data={},
            css=["page.css", "comparison.css"],
            identity=comparison.to_json(),
            options=options,
            steps=after_comparing(comparison, has_cautions=bool(cautions(comparison))),
        ),
    )


def _sections(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[dict[str, Any]]:
    """Yield the topics that have a chart."""
    for topic, slug in ((ACCURACY, "accuracy"), (COST, "cost"), (VOTES, "votes")):
        drawn = [figure for figure in figures if figure.section == topic]
        if drawn:
            yield {
                "topic": topic,
                "slug": slug,
                "finding": _finding(comparison, drawn[0]),
                "figures": drawn,
                "tables": (),
                "paragraphs": costs(comparison) if topic == COST else (),
            }


def _changed(view: ComparisonView) -> Iterator[dict[str, Any]]:
    """Yield the section on examples whose numbers change most."""
    for section in numeric.sections(view.changed):
        yield {"figures": (), "slug": section.slug, **vars(section)}


def _finding(comparison: Comparison, first: Figure) -> str:
    if first.section == COST:
        return "What stability costs"
    if first.section == ACCURACY:
        flips = on_flips(comparison)
        code = getattr(flips.fields.get("accuracy"), "code", "")
        is_steadier = flips.code == "flips-cut"
        return FINDINGS.get(code if is_steadier else "", "Flips and accuracy of each arm")
    arm = comparison.arm(first.title)
    if arm.effects["flip_rate"].verdict in {"too few runs", "not tested"}:
        return "Votes before and after"
    more, less = moved_examples(arm)
    return f"With {arm.name}, {more:,} examples are more stable and {less:,} less stable"


def _made(comparison: Comparison, view: ComparisonView) -> list[tuple[str, str]]:
    each = f"{100 * comparison.confidence:.4g}{NO_BREAK}%"
    metrics = f"the primary metric, {comparison.primary}"
    if comparison.quality is not None:
        metrics = f"each of the primary metrics, {' and '.join(comparison.primaries)}"
    families = (
        f"{each} for {metrics}, so that all arms hold "
        "simultaneously; wider for all other metrics, which hold simultaneously as well, by the "
        "joint distribution of their largest statistic. "
    )
    are_trials = comparison.baseline.measurement.repeats == "trials"
    reference = f"{comparison.reference}: its gain in label entropy is 100 %."
    facts = {
        "Arms": "; ".join(f"{name}: {detail}" for name, detail in view.arms),
        "Intervals": f"{families}{OF_TRIALS if are_trials else INTERVALS}",
        "Methods": METHODS,
        "Reference arm": None if comparison.reference is None else reference,
        "Limits": LIMITS,
        "Versions": versions(),
        "Digest": f"{digest(comparison.to_json())} (of comparison.json, format {FORMAT})",
    }
    return [(name, text) for name, text in facts.items() if text]
