"""One self-contained file that loads nothing and sends nothing: what all pages share."""

import html
import json
import re
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from platform import machine, python_version, system
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from seedproof.report import charts
from seedproof.report.figures import Figure

MAX_READ_ALOUD = 60


def page_parts(
    figures: Sequence[Figure], *, data: dict[str, Any], css: Sequence[str], identity: str
) -> dict[str, Any]:
    """What `base.html` needs: styles, scripts, charts and data."""
    drawn = [
        {"name": figure.name, "spec": charts.spec(figure), "points": _aloud(figure)}
        for figure in figures
    ]
    return {
        "css": Markup("".join(_asset(name) for name in css)),  # noqa: S704 - our own files
        "js": Markup(_asset("page.js")),  # noqa: S704 - our own file
        "vega": Markup(_script(charts.javascript())),  # noqa: S704 - Vega's own code
        "data": Markup(_json({"figures": drawn, **data})),  # noqa: S704 - escaped for a script
        "nonce": blake2b(identity.encode(), digest_size=12).hexdigest(),
    }


@cache
def template(name: str) -> Template:
    """A template of the folder `page`; whatever enters it is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_asset)
    )
    return environment.get_template(name)


def card_html(text: str) -> Markup:
    """A metric card as HTML: paragraphs, bold and code are all that cards use."""
    paragraphs = [part for part in text.strip().split("\n\n") if not part.startswith("#")]
    found = []
    for part in paragraphs:
        safe = html.escape(" ".join(part.split()))
        safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
        safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
        safe = re.sub(r"^\*(.+)\*$", r"<i>\1</i>", safe)
        found.append(f"<p>{safe}</p>")
    return Markup("".join(found))  # noqa: S704 - escaped above


def versions() -> str:
    """The software that made a page, in one line."""
    packages = " · ".join(f"{name} {version(name)}" for name in ("seedproof", "numpy", "pyarrow"))
    return f"{packages} · Python {python_version()} · {system()} {machine()}"


def digest(text: str) -> str:
    """A short name for what a page was made from."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _aloud(figure: Figure) -> list[str]:
    """The marks of a chart in words, for the keyboard."""
    if len(figure.numbers) > MAX_READ_ALOUD:
        return []
    return [
        ", ".join(f"{name} {cell}" for name, cell in zip(figure.header, row, strict=True))
        for row in figure.numbers
    ]


def _json(content: Any) -> str:  # noqa: ANN401 - plain data
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _script(code: str) -> str:
    """Code that cannot end the script element it stands in."""
    return re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", r"<\!--")


@cache
def _asset(name: str) -> str:
    return (files("seedproof.report") / "page" / name).read_text(encoding="utf-8")
