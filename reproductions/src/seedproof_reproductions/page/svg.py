"""Parts of charts as SVG, written by hand.

Pages are compared byte for byte, and the next version of a drawing library draws other bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

INK, GRID, GROUND = "#474f59", "#e4e1da", "#ffffff"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MAX_TICKS = 4


@dataclass(frozen=True)
class Style:
    """How something is drawn: color, mark and dashes each tell it from the others."""

    color: str
    mark: str
    dashes: str = ""


def image(
    width: float, height: float, title: str, parts: Sequence[str], *, ground: str = GROUND
) -> str:
    """A whole file.

    Args:
        width: In pixels.
        height: In pixels.
        title: For those who cannot see it.
        parts: What is drawn, from back to front.
        ground: Color of the background.

    Returns:
        SVG that needs nothing from elsewhere.
    """
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="{ground}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def line(path: Sequence[tuple[float, float]], style: Style) -> str:
    """A line through points."""
    found = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
    dashes = f' stroke-dasharray="{style.dashes}"' if style.dashes else ""
    return f'<polyline points="{found}" fill="none" stroke="{style.color}"{dashes}/>'


def mark(x: float, y: float, style: Style) -> str:
    """A small circle, square or triangle."""
    if style.mark == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{style.color}"/>'
    shape = {"square": "m-3 -3h6v6h-6z", "triangle": "m0 -4l3.5 6.5h-7z"}[style.mark]
    return f'<path d="M{x:.1f} {y:.1f}{shape}" fill="{style.color}"/>'


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    color: str = INK,
    weight: int = 400,
    size: int = 11,
) -> str:
    """Words on their base line."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" '
        f'font-weight="{weight}" font-size="{size}">{escape(words)}</text>'
    )


def step(highest: float) -> float:
    """A round distance between ticks, so that there are at most `MAX_TICKS` above 0."""
    unit = 10.0 ** math.floor(math.log10(highest / MAX_TICKS))
    return next(
        unit * size for size in (1, 2, 2.5, 5, 10, 20) if highest <= MAX_TICKS * unit * size
    )


def ticks(top: float) -> list[float]:
    """Round values from 0 to the top of an axis."""
    apart = step(top)
    return [round(apart * place, 10) for place in range(round(top / apart) + 1)]
