"""The report of a comparison of arms."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import UnknownNameError
from seedproof.predictions.checks import Check
from seedproof.report.comparison.figures import build_figures
from seedproof.report.comparison.groups import shown_verdict
from seedproof.report.comparison.text import render
from seedproof.report.comparison.view import ComparisonView, build_overview, build_view
from seedproof.report.figures import Figure
from seedproof.report.overview import Overview, PageOptions
from seedproof.report.result import Result
from seedproof.report.scratch import HoldsScratch, ScratchFolder
from seedproof.stats.effect import Effect

EFFECT_COLUMNS = (
    *("metric", "scale", "low", "high", "over", "detectable", "verdict"),
    *("exploratory", "confidence", "margin"),
)


class ComparisonReport(HoldsScratch, Result):
    """Differences of arms against a baseline: `print` it, read an effect, or write its page.

    Args:
        comparison: The effects.
        scratch: A temporary folder to be removed together with the report and its copies.

    >>> import seedproof as sp
    >>> old = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]] * 2
    >>> report = sp.compare({"none": old, "ours": [[0, 1, 1, 0], [0, 1, 1, 1]] * 3})
    >>> report
    <ComparisonReport of ours against none: flip_rate no difference shown>
    >>> report.effects("ours")["flip_rate"].verdict
    'no difference shown'
    """

    _page_file = "comparison.html"
    _json_file = "comparison.json"
    _columns: ClassVar = {
        **dict.fromkeys(("arm", "method", "metric"), pa.string()),
        **dict.fromkeys(("baseline_value", "arm_value"), pa.float64()),
        "scale": pa.string(),
        **dict.fromkeys(("effect", "low", "high"), pa.float64()),
        "over": pa.string(),
        "detectable": pa.float64(),
        "verdict": pa.string(),
        "exploratory": pa.bool_(),
        **dict.fromkeys(("confidence", "margin"), pa.float64()),
    }

    def __init__(self, comparison: Comparison, scratch: Path | None = None) -> None:
        super().__init__(scratch)
        self.comparison = comparison

    @property
    def baseline(self) -> ComparedArm:
        """The arm that all others are compared with."""
        return self.comparison.baseline

    @property
    def arms(self) -> tuple[ComparedArm, ...]:
        """The other arms."""
        return self.comparison.arms

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, each with the name of its arm."""
        return self.comparison.checks

    def arm(self, name: str) -> ComparedArm:
        """Return an arm, or the baseline, by its name."""
        return self.comparison.arm(name)

    @property
    def examples(self) -> pa.Table:
        """One row per arm and example, the baseline first."""
        tables = []
        for arm in (self.baseline, *self.arms):
            table = arm.measurement.examples()
            names = pa.array([arm.name] * len(table), pa.string())
            tables.append(table.add_column(0, "arm", names))
        return pa.concat_tables(tables, promote_options="default")

    def effects(self, arm: str, *, method: str | None = None) -> Mapping[str, Effect]:
        """Return the effects of an arm against the baseline, by metric.

        Args:
            arm: Name of the arm.
            method: Method of explanation, for metrics of explanations.

        Returns:
            Ratios and differences, with intervals and verdicts; none for the baseline.

        Raises:
            UnknownNameError: There is no such arm, or it is not compared by that method.
        """
        compared = self.arm(arm)
        if method is None:
            return compared.effects
        if method not in compared.explanations:
            raise UnknownNameError(
                "{arm!r} is not compared by explanations of {method!r}. Known: {listed}.",
                arm=arm,
                method=method,
                listed=tuple(compared.explanations) or "none",
                known=tuple(compared.explanations),
            )
        return compared.explanations[method]

    def effect(self, arm: str, metric: str, *, method: str | None = None) -> Effect:
        """Return the effect of an arm on one metric, against the baseline.

        Args:
            arm: Name of the arm.
            metric: Name of the metric.
            method: Method of explanation, for metrics of explanations.

        Returns:
            A ratio or a difference, with its interval and a verdict.

        Raises:
            UnknownNameError: There is no such arm, or it has no such effect.
        """
        effects = self.effects(arm, method=method)
        if metric not in effects:
            raise UnknownNameError(
                "{arm!r} has no effect on {metric!r}. It has: {listed}.",
                arm=arm,
                metric=metric,
                listed=tuple(effects) or "none, because it is the baseline",
                known=tuple(effects),
            )
        return effects[metric]

    def contrast(self, arm: str, against: str) -> Mapping[str, Effect]:
        """Return the effects of an arm against any other one, by metric.

        Args:
            arm: Name of the arm.
            against: Name of the arm that takes the place of the baseline.

        Returns:
            Ratios and differences, with intervals and verdicts.

        Raises:
            UnknownNameError: There is no such arm.
            OptionError: Neither arm is the baseline, and `all_pairs` was not set.
        """
        return self.comparison.contrast(arm, against)

    def view(self, *, show: Sequence[str] = ()) -> ComparisonView:
        """Return the comparison as sentences and rows, as plain data.

        Args:
            show: Further columns of your own to show with examples, such as a text.

        Returns:
            Sentences, effects, and the examples that arms make more or less stable.
        """
        return build_view(self.comparison, show=show)

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data: the content of `comparison.json`."""
        return self.comparison.summary()

    def _render(self, show: Sequence[str]) -> RenderableType:
        return render(self.view(show=show))

    def _page(self, options: PageOptions) -> str:
        from seedproof.report.comparison.html import render_page

        return render_page(self.comparison, options)

    def _records(self) -> list[dict[str, Any]]:
        base = self.baseline.measurement
        rows = []
        for arm in self.arms:
            own = arm.measurement
            parts = [("", arm.effects, base.metrics, own.metrics)]
            parts += [
                (name, effects, base.explanations[name].metrics, own.explanations[name].metrics)
                for name, effects in arm.explanations.items()
            ]
            rows += [
                {
                    "arm": arm.name,
                    "method": method or None,
                    "baseline_value": before[name].value,
                    "arm_value": after[name].value,
                    **{key: getattr(effect, key) for key in EFFECT_COLUMNS},
                    "effect": effect.value,
                }
                for method, effects, before, after in parts
                for name, effect in effects.items()
            ]
        return rows

    def _figures(self) -> tuple[Figure, ...]:
        return build_figures(self.comparison)

    def _overview(self, show: Sequence[str]) -> Overview:
        return build_overview(self.view(show=show))

    def _move_examples(self, scratch: ScratchFolder) -> None:
        def moved(arm: ComparedArm) -> ComparedArm:
            table = arm.measurement.example_table.moved(scratch.moved)
            return replace(arm, measurement=replace(arm.measurement, example_table=table))

        self.comparison = replace(
            self.comparison, baseline=moved(self.baseline), arms=tuple(map(moved, self.arms))
        )

    def _about(self) -> str:
        arms = ", ".join(arm.name for arm in self.arms)
        primary = self.comparison.primary
        verdicts = [
            shown_verdict(self.comparison, arm.effects, primary)
            for arm in self.arms
            if primary in arm.effects
        ]
        about = f": {primary} {', '.join(verdicts)}" if verdicts else ""
        return f"of {arms} against {self.baseline.name}{about}"
