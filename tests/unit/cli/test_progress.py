"""Progress bars on a terminal, and lines in a log."""

from io import StringIO

from rich.console import Console

from seedproof.cli import progress
from seedproof.cli.progress import phase_bars


def shown(console: Console, *events: tuple[str, int, int]) -> str:
    """Return what the console shows at the end."""
    with phase_bars(console) as update:
        for event in events:
            update(*event)
    return console.file.getvalue()


def test_log_has_one_line_for_the_end_of_each_phase():
    """A repeated end adds no line."""
    console = Console(file=StringIO())

    text = shown(console, ("reading", 50, 100), ("reading", 100, 100), ("reading", 100, 100))

    assert text == "reading: 100%\n"


def test_log_has_a_line_every_few_seconds(monkeypatch):
    """A phase may take hours."""
    monkeypatch.setattr(progress, "LINE_SECONDS", -1.0)

    text = shown(Console(file=StringIO()), ("sorting", 1, 4), ("writing", 1, 4))

    assert text == "sorting: 25%\nwriting: 25%\n"


def test_terminal_has_a_bar_for_each_phase():
    """Each bar shows a percentage."""
    console = Console(file=StringIO(), force_terminal=True, width=80)

    text = shown(console, ("reading", 100, 100), ("sorting", 3, 4))

    for part in ("reading", "100%", "sorting", "75%"):
        assert part in text


def test_terminal_has_a_bar_for_slow_work(monkeypatch):
    """It shows the number of finished parts; a log has no bar."""
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    terminal = Console(file=StringIO(), force_terminal=True, width=80)
    log = Console(file=StringIO())

    for console in (terminal, log):
        with progress.progress_bar(console) as step:
            step(3, 4)

    assert "3/4" in terminal.file.getvalue()
    assert not log.file.getvalue()
