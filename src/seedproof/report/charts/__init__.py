"""Charts as Vega-Lite specs for the page, and as pictures drawn without a browser.

vl-convert, which draws pictures, is imported in this file alone.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from textwrap import wrap
from typing import Any, cast

from seedproof.errors import OptionError
from seedproof.report.charts.comparison import DRAWN_BY as OF_COMPARISON
from seedproof.report.charts.measurement import DRAWN_BY as OF_MEASUREMENT
from seedproof.report.charts.numbers import DRAWN_BY as OF_NUMBERS
from seedproof.report.charts.theme import CONFIG, LIGHT, Spec, field, mark, shown, var
from seedproof.report.figures.base import Figure, drawn
from seedproof.report.numbers import NO_BREAK

FORMATS = ("png", "svg", "pdf")
PICTURE_WIDTH = 520
# Characters of a title that fit above a picture.
TITLE_LENGTH = 64
# Symbol, dash and line width of each kind of mark.
SYMBOLS: dict[str, tuple[str, list[int], float]] = {
    "band": ("square", [1, 0], 0.0),
    "dot": ("circle", [1, 0], 0.0),
    "diamond": ("diamond", [1, 0], 0.0),
    "square": ("square", [1, 0], 0.0),
    "ring": ("circle", [1, 0], 1.8),
    "line": ("stroke", [1, 0], 2.4),
    "thin": ("stroke", [1, 0], 1.0),
    "dash": ("stroke", [4, 3], 1.4),
}
HOLLOW = frozenset({"ring", "line", "thin", "dash"})
CHANNELS = ("fill", "stroke", "shape", "strokeDash", "strokeWidth")
LETTER_WIDTH, SYMBOL_WIDTH = 6.6, 36
DRAWN_BY = {**OF_MEASUREMENT, **OF_COMPARISON, **OF_NUMBERS}


def spec(figure: Figure) -> Spec:
    """Return the Vega-Lite spec of a figure, as wide as its container."""
    name = figure.kind or figure.name.rstrip("0123456789").rstrip("_")
    return DRAWN_BY[name](figure) | {
        "width": "container",
        "config": CONFIG,
        "autosize": {"type": "fit-x", "contains": "padding"},
    }


def picture(figure: Figure, file_format: str, *, scale: float = 2.0) -> bytes:
    """Return a figure as an image on white, with its title and legend."""
    if file_format not in FORMATS:
        raise OptionError(
            "A figure cannot be saved as {file_format!r}. Formats: {known}.",
            file_format=file_format,
            known=tuple(FORMATS),
        )
    import vl_convert as vlc  # 50 MB, and a page needs only its scripts, which are cached

    content = picture_spec(figure)
    match file_format:
        case "png":
            return bytes(vlc.vegalite_to_png(content, scale=scale))
        case "svg":
            return str(vlc.vegalite_to_svg(content)).encode()
    return bytes(vlc.vegalite_to_pdf(content))


def picture_spec(figure: Figure) -> Spec:
    """Return the Vega-Lite spec of a figure outside a page, with its own title and colors."""
    alone = replace(figure, **figure.alone)
    content = spec(alone)
    if alone.legend:
        content["layer"] = [*content["layer"], _legend(alone.legend)]
        content["resolve"] = {
            kind: dict.fromkeys(CHANNELS, "independent") for kind in ("scale", "legend")
        }
    content |= {"width": PICTURE_WIDTH, "title": _title(alone.title), "padding": 12}
    content["config"] = {**CONFIG, "background": LIGHT["bg"]}
    content.pop("autosize")
    return cast("Spec", _resolve(content))


def _legend(legend: Sequence[tuple[str, str, str]]) -> Spec:
    """Return a layer that draws a legend above the chart and nothing else."""
    texts = [text for _, _, text in legend]
    n_columns = int(PICTURE_WIDTH // (LETTER_WIDTH * max(map(len, texts)) + SYMBOL_WIDTH))
    about = {
        "orient": "top",
        "direction": "horizontal",
        "columns": max(n_columns, 1),
        "title": None,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "labelLimit": PICTURE_WIDTH,
        "labelFontSize": 12,
        "labelColor": var("ink-2"),
        "rowPadding": 4,
        "columnPadding": 16,
    }
    shapes, dashes, widths = zip(*(SYMBOLS[kind] for kind, _, _ in legend), strict=True)
    ranges: dict[str, Sequence[Any]] = {
        "fill": ["transparent" if kind in HOLLOW else var(color) for kind, color, _ in legend],
        "stroke": [var(color) for _, color, _ in legend],
        "shape": list(shapes),
        "strokeDash": list(dashes),
        "strokeWidth": list(widths),
    }
    channels: dict[str, Any] = {
        name: field(
            "entry:N", scale={"type": "ordinal", "domain": texts, "range": looks}, legend=about
        )
        for name, looks in ranges.items()
    }
    return shown(mark("point"), [], **channels)


def _title(text: str) -> Spec:
    return {
        "text": wrap(drawn(text.replace(NO_BREAK, " ")), TITLE_LENGTH),
        "anchor": "start",
        "fontSize": 15,
        "fontWeight": 600,
        "color": var("ink"),
        "offset": 10,
    }


def javascript() -> str:
    """Return Vega, Vega-Lite and vega-embed in one script."""
    # vl-convert takes seconds to bundle it, so it is kept in the user's cache, by version.
    cached = _cache_folder() / f"vega-{version('vl-convert-python')}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except OSError:
        import vl_convert as vlc

        bundle = str(vlc.javascript_bundle(snippet=None))  # type: ignore[arg-type] # its stub is wrong
    with suppress(OSError):  # if it cannot be cached, the next page takes as long
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft = cached.with_suffix(f".{os.getpid()}")
        draft.write_text(bundle, encoding="utf-8")
        draft.replace(cached)
    return bundle


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or Path.home() / ".cache") / "seedproof"


def _resolve(content: Any) -> Any:  # noqa: ANN401 - nested plain data
    if isinstance(content, dict):
        return {key: _resolve(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_resolve(value) for value in content]
    if isinstance(content, str) and content.startswith("var(--"):
        return LIGHT[content[6:-1]]
    return content
