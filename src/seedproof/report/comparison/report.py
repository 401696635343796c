"""The comparison object: what a person holds after comparing."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.comparison.effect import Effect
from seedproof.errors import UnknownNameError
from seedproof.report.comparison.text import as_text, render
from seedproof.report.comparison.view import ComparisonView, build_view
from seedproof.report.files import remove_with, save_files, write_file


class ComparisonReport:
    """What comparing found: `print` it, ask it for an effect, write its page.

    Args:
        comparison: The effects.
        scratch: A temporary folder to be removed together with the report.
    """

    def __init__(self, comparison: Comparison, scratch: Path | None = None) -> None:
        self.comparison = comparison
        remove_with(self, scratch)

    @property
    def baseline(self) -> ComparedArm:
        """The arm that all others are compared with."""
        return self.comparison.baseline

    @property
    def arms(self) -> tuple[ComparedArm, ...]:
        """The other arms."""
        return self.comparison.arms

    def arm(self, name: str) -> ComparedArm:
        """One arm by its name, the baseline too."""
        return self.comparison.arm(name)

    def effect(self, arm: str, metric: str, *, method: str | None = None) -> Effect:
        """What an arm changes in one metric, against the baseline.

        Args:
            arm: Name of the arm.
            metric: Name of the metric.
            method: By which method was explained, for figures of explanations.

        Returns:
            A ratio or a difference, with its interval and a verdict.

        Raises:
            UnknownNameError: There is no such arm, or it has no such effect.
        """
        found = self.arm(arm)
        effects = found.effects
        if method is not None:
            if method not in found.explanations:
                raise UnknownNameError(
                    "{arm!r} is not compared by explanations of {method!r}. Known: {listed}.",
                    arm=arm,
                    method=method,
                    listed=tuple(found.explanations) or "none",
                    known=tuple(found.explanations),
                )
            effects = found.explanations[method]
        if metric not in effects:
            raise UnknownNameError(
                "{arm!r} has no effect on {metric!r}. It has: {listed}.",
                arm=arm,
                metric=metric,
                listed=tuple(effects) or "none, because it is the baseline",
                known=tuple(effects),
            )
        return effects[metric]

    def view(self, *, show: Sequence[str] = ()) -> ComparisonView:
        """The comparison in words and rows, as plain data.

        Args:
            show: Further columns of your own to show with examples, such as a text.

        Returns:
            Sentences, effects, and the examples that arms settle or unsettle.
        """
        return build_view(self.comparison, show=show)

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data: what `comparison.json` holds."""
        return self.comparison.summary()

    def to_json(self) -> str:
        """The summary as JSON text."""
        return self.comparison.to_json()

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> str:
        """The page that a colleague reads: one file that loads nothing and sends nothing.

        Args:
            path: Where to write it; None writes nothing.
            show: Further columns of your own to show with examples, such as a text.
            command: The command that made it, for the box at its end.

        Returns:
            The page.
        """
        from seedproof.report.comparison.html import render_page

        page = render_page(self.comparison, show=show, command=command)
        if path is not None:
            write_file(path, page.encode())
        return page

    def picture(
        self, figure: str, file_format: str, path: str | os.PathLike[str] | None = None
    ) -> bytes:
        """One chart as a picture for a paper, drawn without a browser.

        Args:
            figure: Its name, such as "stability_accuracy".
            file_format: `png`, `svg` or `pdf`.
            path: Where to write it; None writes nothing.

        Returns:
            The picture.
        """
        from seedproof.report import charts
        from seedproof.report.comparison.figures import build_figures

        content = charts.picture(charts.find(build_figures(self.comparison), figure), file_format)
        if path is not None:
            write_file(path, content)
        return content

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> None:
        """Write `comparison.html` and `comparison.json` into a folder.

        Args:
            folder: Where to; it is made if need be.
            show: Further columns of your own to show with examples, such as a text.
            command: The command that made it, for the box at the page's end.
        """
        files = {
            "comparison.json": self.to_json(),
            "comparison.html": self.to_html(show=show, command=command),
        }
        save_files(folder, files)

    def show(self, *, show: Sequence[str] = ()) -> None:
        """Print it to the terminal, with colors where it has them.

        Args:
            show: Further columns of your own to show with examples, such as a text.
        """
        Console().print(render(self.view(show=show)))

    def text(self, *, show: Sequence[str] = ()) -> str:
        """The same without colors, 80 columns wide.

        Args:
            show: Further columns of your own to show with examples, such as a text.

        Returns:
            What `print` prints.
        """
        return as_text(self.view(show=show))

    def _repr_html_(self) -> str:
        from seedproof.report.comparison.html import render_short

        return render_short(self.comparison)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        arms = ", ".join(arm.name for arm in self.arms)
        return f"<ComparisonReport of {arms} against {self.baseline.name}>"
