"""Control characters of data are visible text in every output."""

import io
import json
import logging
import sys
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.file_proxy import FileProxy
from rich.table import Table
from rich.text import Text

from seedproof.report.console import SafeConsole
from seedproof.terminal import UNSAFE, SafeStream, escaped, safe_output

ATTACKS = {
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "link": "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "clear": "\x1b[2J",
    "c1": "\x9b2J\x9d0;title\x9c",
    "bidi": "\u202egnp.exe\u2066x\u2069",
    "delete": "ok\x7f\x7f\x08\x08no",
    "surrogate": "\udc80",
    "separator": "a\u2028b",
    "nul": "a\0b",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_control_characters_are_escaped(attack):
    assert not UNSAFE.search(escaped(attack))
    assert escaped(escaped(attack)) == escaped(attack)


@given(text=st.text(st.characters(exclude_characters="\r")))
def test_json_keeps_its_meaning(text):
    content = json.dumps([text], ensure_ascii=False)

    assert json.loads(escaped(content)) == [text]


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"])))
def test_other_text_stays_the_same(text):
    assert escaped(f"{text}\n\t{text}") == f"{text}\n\t{text}"


def test_return_to_the_start_of_a_line_hides_nothing():
    assert escaped("secret\rshown\r\nend") == "secret\nshown\nend"


def test_every_way_to_print_is_escaped(monkeypatch):
    """Prints, logs, tracebacks and tables."""
    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    attack = "".join(ATTACKS.values())

    with safe_output():
        print(attack)  # noqa: T201 - what is tested
        sys.stdout.writelines([attack, "\n"])
        logging.getLogger("seedproof.test").warning(attack)
        traceback.print_exception(ValueError(attack))
        table = Table(attack)
        table.add_row(Text(attack))
        SafeConsole().print(table)

    assert sys.stdout is streams[0]
    for stream in streams:
        assert "click" in stream.getvalue()
        assert not UNSAFE.search(stream.getvalue())


def test_console_keeps_its_own_sequences_on_a_terminal():
    file = io.StringIO()
    console = SafeConsole(file=SafeStream(file), force_terminal=True, color_system="standard")

    console.print(Text("red\x1b[2J", style="red"))

    assert file.getvalue() == "\x1b[31mred\\u001b[2J\x1b[0m\n"


def test_console_draws_no_links():
    """A live table decodes what a script prints, and rich would draw its links again."""
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="standard")

    FileProxy(console, file).write(f"{ATTACKS['link']}\n")

    assert file.getvalue() == "click\n"
