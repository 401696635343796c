"""One chart of a result, for a notebook or a paper."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedproof.report.figures.base import Figure
from seedproof.report.files import write_file

DEFAULT_FORMAT = "png"


@dataclass(frozen=True, eq=False, repr=False)
class Chart:
    """A chart with its title and legend on white; a notebook shows it.

    Args:
        figure: What it shows, as plain data.

    >>> import seedproof as sp
    >>> chart = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0]]).figure("votes")
    >>> chart
    <Chart votes: How the runs vote on an example>
    >>> chart.to_bytes("svg")[:4]
    b'<svg'
    """

    figure: Figure

    @property
    def name(self) -> str:
        """Its name, such as "flip_matrix"."""
        return self.figure.name

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.figure.alone.get("title", self.figure.title))

    def to_bytes(self, file_format: str = DEFAULT_FORMAT, *, scale: float = 2.0) -> bytes:
        """Return the chart as a picture, drawn without a browser.

        Args:
            file_format: `png`, `svg` or `pdf`.
            scale: Pixels per point, for `png`.

        Returns:
            The content of a file.

        Raises:
            OptionError: The format is not known.
        """
        from seedproof.report import charts

        return charts.picture(self.figure, file_format, scale=scale)

    def to_dict(self) -> dict[str, Any]:
        """Return the Vega-Lite specification of the chart, with its data."""
        from seedproof.report import charts

        return charts.picture_spec(self.figure)

    def save(
        self,
        path: str | os.PathLike[str],
        file_format: str | None = None,
        *,
        scale: float = 2.0,
    ) -> None:
        """Write the chart to a file.

        Args:
            path: The file; its folder is created if needed.
            file_format: `png`, `svg` or `pdf`. If omitted, the extension of the path.
            scale: Pixels per point, for `png`.

        Raises:
            OptionError: The format is not known.
        """
        extension = Path(os.fspath(path)).suffix.removeprefix(".").lower()
        content = self.to_bytes(file_format or extension or DEFAULT_FORMAT, scale=scale)
        write_file(path, content)

    def _repr_svg_(self) -> str:
        return self.to_bytes("svg").decode()

    def __repr__(self) -> str:
        return f"<Chart {self.name}: {self.title}>"
