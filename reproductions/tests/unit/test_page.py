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


def test_hours_are_added_up_by_purpose():
    """And over all studies, in the last row."""
    study = {
        "name": "a",
        "paper": "main",
        "hours": 1.5,
        "arms": {"none": {"n_runs": 3}, "ema": {"n_runs": 2}},
    }

    other = {**study, "name": "b", "paper": "more", "hours": 0.5}

    table = page.hours_table([other, study], itemgetter("paper"))

    studies, totals = table.rows[:2], table.rows[2:]
    assert studies == (("`a`", "main", "2", "5", "1.5"), ("`b`", "more", "2", "5", "0.5"))
    assert [row[-2:] for row in totals] == [("5", "1.5"), ("5", "0.5"), ("10", "2.0")]
    assert {len(row) for row in table.rows} == {len(table.header)}

    unknown = page.hours_table([study, other | {"hours": None}], itemgetter("paper"))
    assert [row[-1] for row in unknown.rows] == ["1.5", "–", "1.5", "–", "1.5"]


def test_charts_go_into_a_folder_with_the_name_of_the_page(tmp_path):
    """The page comes first; its text is written unchanged."""
    path = tmp_path / "results" / "paper.md"

    written = page.write("text\n", [Chart("flips", "Flips.", "<svg/>")], path)

    assert written == (path, tmp_path / "results" / "paper" / "flips.svg")
    assert [file.read_text(encoding="utf-8") for file in written] == ["text\n", "<svg/>"]
