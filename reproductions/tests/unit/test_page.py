from operator import itemgetter

import pytest
from jinja2 import DictLoader, UndefinedError

from seedproof_reproductions import page
from seedproof_reproductions.page import Chart, Table

TABLE = Table.of(("", "a"), [("x", "1 [0, 2], steadier")])


@pytest.fixture
def template(monkeypatch):
    """Renders a text as if it were a template of the package."""
    loader = page.PackageLoader("seedproof_reproductions", "")
    macros = loader.get_source(page.Environment(), "macros.md.jinja")[0]

    def render(text, **data):
        files = {"macros.md.jinja": macros, "own": text}
        monkeypatch.setattr(page, "PackageLoader", lambda *_: DictLoader(files))
        return page.render("own", data)

    return render


def test_tables_and_folds_are_markdown(template):
    """An interval is not broken, and a folded part is indented."""
    text = template(
        '{% from "macros.md.jinja" import table, fold %}{% call fold("T") %}{{ table(content) }}'
        "{% endcall %}",
        content=TABLE,
    )

    assert text.splitlines() == [
        '??? quote "T"',
        "",
        "    |  | a |",
        "    | --- | --- |",
        "    | x | 1 [0,\xa02], steadier |",
    ]


def test_blank_lines_are_merged_and_missing_names_refused(template):
    """A page is never silently incomplete."""
    assert template("a\n\n{% if x %}b{% endif %}\n\n\nc\n", x=False) == "a\n\nc\n"
    with pytest.raises(UndefinedError):
        template("{{ missing }}")


def test_hours_have_a_purpose_if_it_is_given():
    """The total has blank cells."""
    study = {
        "name": "a",
        "paper": "main",
        "hours": 1.5,
        "arms": {"none": {"n_runs": 3}, "ema": {"n_runs": 2}},
    }

    short, full = page.hours_table([study]), page.hours_table([study], itemgetter("paper"))

    assert short.rows == (("`a`", "2", "5", "1.5"), ("total", "", "5", "1.5"))
    assert full.rows == (("`a`", "main", "2", "5", "1.5"), ("total", "", "", "5", "1.5"))
    assert len(full.header) == len(full.rows[0])


def test_charts_go_into_a_folder_with_the_name_of_the_page(tmp_path):
    """The page comes first; its text is written unchanged."""
    path = tmp_path / "results" / "paper.md"

    written = page.write("text\n", [Chart("flips", "Flips.", "<svg/>")], path)

    assert written == (path, tmp_path / "results" / "paper" / "flips.svg")
    assert [file.read_text(encoding="utf-8") for file in written] == ["text\n", "<svg/>"]
