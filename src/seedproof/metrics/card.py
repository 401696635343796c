"""Metric cards: the meaning of each metric, as Markdown for the docs and the report."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, cast

from seedproof.errors import UnknownNameError

Unit: TypeAlias = Literal["percent", "points", "probability", "nats", "score", "value"]
Better: TypeAlias = Literal["lower", "higher", "neither"]

_HEAD = re.compile(
    r"# (.+)\n\n\*Unit: (\w+)\. Better: (\w+)\. Needs: ([\w, ]+)\.\*\n\n(.+?)(?:\n\n|\Z)", re.DOTALL
)


@dataclass(frozen=True)
class Card:
    """The meaning of a metric."""

    name: str  # name in code and columns
    title: str  # name in tables and headings
    unit: Unit  # unit of the value: a share in percent, a spread in percentage points, …
    better: Better  # the direction that is better
    summary: str  # one sentence
    text: str  # the whole card, Markdown


# Qualities of lists and sets, whose spreads share a card.
_SCORES = r"(?:hit_rate|ndcg|recall)@\d+|mrr|precision|recall|micro_f1"
# Metrics with a parameter in their names share a card.
_SHARED_CARDS = {
    r"pass\^(\d+)": "pass^k",
    r"pass@(\d+)": "pass@k",
    r"flip_rate@(\S+)": "flip_rate@t",
    r"jaccard_distance@(\d+)": "jaccard_distance@k",
    r"average_overlap@(\d+)": "average_overlap@k",
    r"kendall_distance@(\d+)": "kendall_distance@k",
    r"hit_rate@(\d+)": "hit_rate@k",
    r"ndcg@(\d+)": "ndcg@k",
    r"recall@(\d+)": "recall@k",
    rf"({_SCORES})_sd": "score_sd",
    rf"({_SCORES})_sd_independent": "score_sd_independent",
    rf"({_SCORES})_sd_excess": "score_sd_excess",
    r"distinct_answers@(\d+)": "distinct_answers@k",
    r"variance_(?!level)(\w+)_example": "variance_level_example",
    r"variance_(?!(?:run|example|residual|level\w*)$)(\w+)": "variance_level",
}


def card_name(name: str) -> str:
    """Return the name of the card of a metric, such as "pass^k" for "pass^3"."""
    return next((card for form, card in _SHARED_CARDS.items() if re.fullmatch(form, name)), name)


@cache
def card(name: str) -> Card:
    """Return the card of a metric."""
    folder = files("seedproof.metrics") / "cards"
    known = sorted(entry.name.removesuffix(".md") for entry in folder.iterdir())
    shared = card_name(name)
    if shared not in known:
        raise UnknownNameError(
            "Unknown metric {name!r}. Known: {known}.", name=name, known=tuple(known)
        )
    text = (folder / f"{shared}.md").read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(
            f"the card {name}.md does not begin with a title, a unit line and a summary"
        )
    title, unit, better, _, summary = head.groups()
    for form in _SHARED_CARDS if name != shared else ():
        if match := re.fullmatch(form, name):
            title = re.sub(r"\b[ktL]\b", match[1], title)
    return Card(
        name=name,
        title=title,
        unit=cast("Unit", unit),
        better=cast("Better", better),
        summary=" ".join(summary.split()),
        text=text,
    )


def card_or_own(name: str) -> Card:
    """Return the card of a metric; a plain one for a metric of the user's own."""
    if (files("seedproof.metrics") / "cards" / f"{card_name(name)}.md").is_file():
        return card(name)
    summary = "A metric of your own, averaged over runs."
    if name.endswith("_sd"):
        summary = "Standard deviation over runs of a metric of your own."
    text = f"# {name}\n\n*Unit: score. Better: neither. Needs: predictions.*\n\n{summary}\n"
    return Card(name, title=name, unit="score", better="neither", summary=summary, text=text)
