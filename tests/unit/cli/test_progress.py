"""How far the work is, for whoever watches."""

from io import StringIO

from rich.console import Console

from seedproof.cli import progress
from seedproof.cli.progress import watching_phases


def told(console: Console, *events: tuple[str, int, int]) -> str:
    """What the console shows at the end."""
    with watching_phases(console) as tell:
        for event in events:
            tell(*event)
    return console.file.getvalue()


def test_a_log_has_one_line_for_the_end_of_each_phase():
    """And none for what takes no time."""
    console = Console(file=StringIO())

    said = told(console, ("reading", 50, 100), ("reading", 100, 100), ("reading", 100, 100))

    assert said == "reading: 100%\n"


def test_a_log_has_a_line_now_and_then(monkeypatch):
    """A phase may take hours."""
    monkeypatch.setattr(progress, "LINE_SECONDS", -1.0)

    said = told(Console(file=StringIO()), ("sorting", 1, 4), ("writing", 1, 4))

    assert said == "sorting: 25%\nwriting: 25%\n"


def test_a_terminal_has_a_bar_for_each_phase():
    """With its share in percent."""
    console = Console(file=StringIO(), force_terminal=True, width=80)

    said = told(console, ("reading", 100, 100), ("sorting", 3, 4))

    for part in ("reading", "100%", "sorting", "75%"):
        assert part in said


def test_terminal_has_a_bar_once_work_takes_long(monkeypatch):
    """With the number of parts that are done; a log never has one."""
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    terminal = Console(file=StringIO(), force_terminal=True, width=80)
    log = Console(file=StringIO())

    for console in (terminal, log):
        with progress.watching(console) as step:
            step(3, 4)

    assert "3/4" in terminal.file.getvalue()
    assert not log.file.getvalue()
