"""Metric cards: what a figure means, as Markdown that the docs and the report show."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, cast

from seedproof.errors import UnknownNameError

Unit: TypeAlias = Literal["percent", "points", "probability", "nats", "score"]
Better: TypeAlias = Literal["lower", "higher", "neither"]

_HEAD = re.compile(
    r"# (.+)\n\n\*Unit: (\w+)\. Better: (\w+)\. Needs: ([\w, ]+)\.\*\n\n(.+?)(?:\n\n|\Z)", re.DOTALL
)


@dataclass(frozen=True)
class Card:
    """What a figure means.

    Args:
        name: The metric's name in code and columns.
        title: What people read.
        unit: How it is written: a share in percent, a spread in percentage points, …
        better: Which direction is better.
        summary: One sentence.
        text: The whole card, Markdown.
    """

    name: str
    title: str
    unit: Unit
    better: Better
    summary: str
    text: str


@cache
def card(name: str) -> Card:
    """The card of a metric.

    Args:
        name: The metric's name.

    Returns:
        Its card.

    Raises:
        UnknownNameError: There is no such card.
    """
    folder = files("seedproof.metrics") / "cards"
    known = sorted(entry.name.removesuffix(".md") for entry in folder.iterdir())
    if name not in known:
        raise UnknownNameError(
            "There is no metric {name!r}. Known: {known}.", name=name, known=tuple(known)
        )
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(
            f"the card {name}.md does not begin with a title, a unit line and a summary"
        )
    title, unit, better, _, summary = head.groups()
    return Card(
        name=name,
        title=title,
        unit=cast("Unit", unit),
        better=cast("Better", better),
        summary=" ".join(summary.split()),
        text=text,
    )
