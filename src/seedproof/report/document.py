"""Pages as self-contained files that load nothing and send nothing, and their short form."""

import html
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from platform import machine, python_version, system
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.report import charts
from seedproof.report.checks import finding
from seedproof.report.figures.base import Figure
from seedproof.report.overview import Overview, PageOptions

MAX_READ_ALOUD = 60
# A notebook keeps every output: a chart of thousands of marks would bloat it.
MAX_CHART_BYTES = 120_000
LIMITS = "These results hold for these examples, this recipe and whatever varied between the runs."


def render_result(
    overview: Overview,
    figures: Sequence[Figure],
    *,
    identity: str,
    json_file: str,
    options: PageOptions,
) -> str:
    """Return a result as one HTML file."""
    topics = [
        (section, [figure for figure in figures if figure.section == section.topic])
        for section in overview.sections
    ]
    return template("result.html").render(
        view=overview,
        topics=topics,
        card_html=card_html,
        made=provenance(identity, json_file=json_file),
        **page_parts(
            figures,
            data={},
            css=["page.css", "comparison.css"],
            identity=identity,
            options=options,
        ),
    )


def render_short(overview: Overview, figure: Figure | None) -> str:
    """Return the short form of a result: headline, key figures and one chart, without scripts."""
    chart = b"" if figure is None else charts.picture(figure, "svg")
    if len(chart) > MAX_CHART_BYTES:
        chart = b""
    return template("short.html").render(
        view=overview,
        chart=Markup(chart.decode()),  # noqa: S704 - drawn by us, with its texts escaped
        chart_title="" if figure is None else figure.title,
    )


def provenance(
    identity: str,
    *,
    json_file: str,
    details: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """Return how a page was made: details, limits, versions and digest."""
    return [
        *details,
        ("Limits", LIMITS),
        ("Versions", versions()),
        ("Digest", f"{digest(identity)} (of {json_file})"),
    ]


def page_parts(
    figures: Sequence[Figure],
    *,
    data: dict[str, Any],
    css: Sequence[str],
    identity: str,
    options: PageOptions,
    steps: Sequence[Message] = (),
) -> dict[str, Any]:
    """Return what `base.html` needs: title, date, styles, scripts, charts and data."""
    drawn = [
        {"name": figure.name, "spec": charts.spec(figure), "points": _spoken(figure)}
        for figure in figures
    ]
    return {
        "page_title": options.title,
        "date": today(),
        "command": options.command,
        "steps": steps,
        "css": Markup("".join(_asset(name) for name in css)),  # noqa: S704 - our own files
        "js": Markup(_asset("page.js")),  # noqa: S704 - our own file
        "vega": Markup(_script(_licensed(charts.javascript()))),  # noqa: S704 - Vega's own code
        "data": Markup(_json({"figures": drawn, **data})),  # noqa: S704 - escaped for a script
        "nonce": blake2b(identity.encode(), digest_size=12).hexdigest(),
    }


@cache
def template(name: str) -> Template:
    """Return a template of the folder `page`, which escapes its values."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_asset)
    )
    environment.filters["code"] = _with_code
    environment.filters["finding"] = finding
    return environment.get_template(name)


def card_html(text: str) -> Markup:
    """Return a metric card as HTML; cards use paragraphs, bold, italics and code only."""
    paragraphs = []
    for part in text.strip().split("\n\n"):
        if part.startswith("#"):
            continue
        safe = html.escape(" ".join(part.split()))
        safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
        safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
        safe = re.sub(r"^\*(.+)\*$", r"<i>\1</i>", safe)
        paragraphs.append(f"<p>{safe}</p>")
    return Markup("".join(paragraphs))  # noqa: S704 - escaped above


def _with_code(text: str) -> Markup:
    """Return text as HTML, with words between backticks as code."""
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", html.escape(text)))  # noqa: S704 - escaped first


def today() -> str:
    """Return the date; `SOURCE_DATE_EPOCH` sets it, for builds that must be reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise OptionError(
            "{option} is {value!r}. Pass seconds since 1970, or unset it.",
            option="SOURCE_DATE_EPOCH",
            value=epoch,
        ) from error


def versions() -> str:
    """Return the versions of the software that made a page, in one line."""
    packages = " · ".join(f"{name} {version(name)}" for name in ("seedproof", "numpy", "pyarrow"))
    return f"{packages} · Python {python_version()} · {system()} {machine()}"


def digest(text: str) -> str:
    """Return a short hash of what a page was made from."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _spoken(figure: Figure) -> list[str]:
    """Return the marks of a chart as text for the arrow keys; nothing if they are too many."""
    if len(figure.numbers) > MAX_READ_ALOUD:
        return []
    return [
        ", ".join(f"{name} {cell}" for name, cell in zip(figure.header, row, strict=True))
        for row in figure.numbers
    ]


def _json(content: Any) -> str:  # noqa: ANN401 - plain data
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _script(code: str) -> str:
    """Return code that cannot end the script element around it."""
    return re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", r"<\!--")


def _licensed(code: str) -> str:
    """Return Vega's code with its licenses, which must accompany every copy."""
    return f"/*!\n{_asset('licenses.txt')}*/\n{code}"


@cache
def _asset(name: str) -> str:
    return (files("seedproof.report") / "page" / name).read_text(encoding="utf-8")
