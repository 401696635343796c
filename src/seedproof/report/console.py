"""A console for text that may contain anything."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from seedproof.terminal import escaped


class SafeConsole(Console):
    """A console of rich that escapes control characters of the text, and keeps its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the pieces of text and control codes that draw something."""
        for text, style, control in super().render(renderable, options):
            # We draw no links: one is from the output of a script.
            plain = style if style is None or not style.link else style.update_link(None)
            yield Segment(text if control else escaped(text), plain, control)
