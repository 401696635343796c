"""Charts as Vega-Lite: one spec each for the page, and for pictures without a browser."""

import os
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeAlias, cast

import altair as alt
import vl_convert as vlc
from altair.utils.schemapi import debug_mode

from seedproof.errors import OptionError
from seedproof.report.charts.comparison import DRAWN_BY as OF_COMPARISON
from seedproof.report.charts.dynamics import DRAWN_BY as OF_DYNAMICS
from seedproof.report.charts.legend import CHANNELS, legend_layer
from seedproof.report.charts.measurement import DRAWN_BY as OF_MEASUREMENT
from seedproof.report.charts.theme import CONFIG, LIGHT
from seedproof.report.figures import Figure
from seedproof.report.figures.base import drawn
from seedproof.report.numbers import NO_BREAK

Spec: TypeAlias = dict[str, Any]

FORMATS = ("png", "svg", "pdf")
PICTURE_WIDTH = 520
# Characters of a title that fit above a picture.
TITLE_LENGTH = 64
DRAWN_BY = {**OF_MEASUREMENT, **OF_DYNAMICS, **OF_COMPARISON}


def spec(figure: Figure, *, validate: bool = False) -> Spec:
    """The Vega-Lite spec of a figure, as wide as its container."""
    name = figure.kind or figure.name.rstrip("0123456789").rstrip("_")
    with debug_mode(arg=False):  # altair would look at every part, which takes seconds
        content: Spec = DRAWN_BY[name](figure).to_dict(validate=False)
    # Set here, since altair would copy the whole chart for each.
    content |= {"width": "container", "config": CONFIG}
    content.pop("$schema", None)
    if validate:
        alt.Chart.from_dict(content)
    content["autosize"] = {"type": "fit-x", "contains": "padding"}
    return content


def picture(figure: Figure, file_format: str, *, scale: float = 2.0) -> bytes:
    """Return a figure as an image on white, with its title and legend, drawn without a browser."""
    if file_format not in FORMATS:
        raise OptionError(
            "A figure cannot be {file_format!r}. Formats: {known}.",
            file_format=file_format,
            known=tuple(FORMATS),
        )
    content = picture_spec(figure)
    match file_format:
        case "png":
            return bytes(vlc.vegalite_to_png(content, scale=scale))
        case "svg":
            return str(vlc.vegalite_to_svg(content)).encode()
    return bytes(vlc.vegalite_to_pdf(content))


def picture_spec(figure: Figure) -> Spec:
    """Return the Vega-Lite spec of a figure that stands alone: no page gives it words or colors."""
    alone = replace(figure, **figure.alone)
    content = spec(alone)
    if alone.legend:
        content["layer"] = [*content["layer"], legend_layer(alone.legend, PICTURE_WIDTH)]
        content["resolve"] = {
            kind: dict.fromkeys(CHANNELS, "independent") for kind in ("scale", "legend")
        }
    content |= {"width": PICTURE_WIDTH, "title": _title(alone.title), "padding": 12}
    content["config"] = {**CONFIG, "background": LIGHT["bg"]}
    content.pop("autosize")
    return cast("Spec", _resolve(content))


def _title(text: str) -> Spec:
    return {
        "text": wrap(drawn(text.replace(NO_BREAK, " ")), TITLE_LENGTH),
        "anchor": "start",
        "fontSize": 15,
        "fontWeight": 600,
        "color": "var(--ink)",
        "offset": 10,
    }


def javascript() -> str:
    """Vega, Vega-Lite and vega-embed in one script.

    vl-convert takes seconds to bundle it, so it is kept in the user's cache, by version.
    """
    cached = _cache_folder() / f"vega-{version('vl-convert-python')}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except OSError:
        bundle = str(vlc.javascript_bundle(snippet=None))  # type: ignore[arg-type] # its stub is wrong
    with suppress(OSError):  # without a cache the next page takes as long
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
