"""Publish every page as Markdown too, and list the pages in `llms.txt`, for machine readers.

MkDocs calls the hooks: each page is next to its HTML under the path it has in the repository, with
included files and docstrings in place. The format of `llms.txt` is a title, a summary, and one list
of links per section.
"""

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
INCLUDES = (ROOT / "src" / "seedproof" / "metrics" / "cards", ROOT)  # as in mkdocs.yml
INCLUDE = re.compile(r'^--8<-- "(?P<file>[^":]+)(?::(?P<line>\d+))?"$', re.MULTILINE)
DOCSTRING = re.compile(r"^::: (?P<name>[\w.]+)\n(?:    .*\n|\n(?=    ))*", re.MULTILINE)

_pages: dict[str, str] = {}
_navigations: list[Navigation] = []


def expand(markdown: str) -> str:
    """Replace includes and references to docstrings with their text."""
    return DOCSTRING.sub(_docstring, INCLUDE.sub(_included, markdown))


def _included(match: re.Match[str]) -> str:
    path = next(path for folder in INCLUDES if (path := folder / match["file"]).exists())
    first = int(match["line"] or 1)
    return "\n".join(path.read_text(encoding="utf-8").splitlines()[first - 1 :])


def _docstring(match: re.Match[str]) -> str:
    module, _, name = match["name"].rpartition(".")
    item = resolve_name(f"{module}:{name}")
    try:
        signature = str(inspect.signature(item))
    except (TypeError, ValueError):
        signature = ""
    return f"## {name}\n\n```text\n{name}{signature}\n\n{inspect.getdoc(item)}\n```\n"


def llms_txt(nav: Navigation, name: str, summary: str) -> str:
    """Return the list of pages, by section."""
    lines = [f"# {name}", "", f"> {summary}", ""]
    for section in nav.items:
        if isinstance(section, Section):
            pages = [page for page in section.children if isinstance(page, Page)]
            lines += [f"## {section.title}", ""]
            lines += [f"- [{page.title}]({page.file.src_uri})" for page in pages]
            lines.append("")
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Publish the schema of the package next to its page."""
    schema = str(ROOT / "src" / "seedproof" / "output.schema.json")
    files.append(File.generated(config, "reference/output.schema.json", abs_src_path=schema))


def on_nav(nav: Navigation, **_: object) -> None:
    """Keep the navigation; its titles are known after the build."""
    _navigations.append(nav)


def on_page_markdown(markdown: str, page: Page, **_: object) -> None:
    """Keep the text of a page."""
    _pages[page.file.src_uri] = expand(markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the pages and the list of them."""
    site = Path(config.site_dir)
    for source, markdown in _pages.items():
        target = site / source
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown, encoding="utf-8")
    text = llms_txt(_navigations[-1], config.site_name, config.site_description or "")
    (site / "llms.txt").write_text(text, encoding="utf-8")
