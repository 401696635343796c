"""The report of calibrated runs: a comparison with the raw ones, and the temperatures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seedproof.comparison.arms.result import Comparison
from seedproof.comparison.calibration.temperature import Temperatures
from seedproof.measurement.selection import needs_of
from seedproof.messages import Message
from seedproof.metrics.statistic import MeanOverRuns, SpreadOverRuns
from seedproof.report.comparison import amounts
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.comparison.sheets import Sheet
from seedproof.report.comparison.view import ComparisonView
from seedproof.report.numbers import NO_BREAK
from seedproof.stats.intervals import estimate
from seedproof.typing import FloatArray

# Inputs of the metrics that a temperature can change.
PROBABILITIES = frozenset({"confidence", "probs"})
# Most classes whose shares are listed, and the least difference of shares that is pointed out.
MOST_LISTED, UNLIKE = 6, 0.05

NO_ANSWER = Message(
    "no-answer-changes",
    "A temperature changes no answer: flips and accuracy are those of the raw runs.",
)


class CalibrationReport(ComparisonReport):
    """Calibrated runs against raw ones: `print` it, read an effect or the temperatures.

    Args:
        comparison: The effects.
        temperatures: Temperature of each run.
        scratch: A temporary folder to be removed together with the report and its copies.

    >>> import seedproof as sp
    >>> probs = [[[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]]] * 2
    >>> held_out = sp.Predictions.load(probs, labels=[0, 0, 1])
    >>> report = sp.calibrate(sp.Predictions.load(probs, labels=[0, 1, 1]), on=held_out)
    >>> list(report.temperatures)
    ['0', '1']
    """

    def __init__(
        self,
        comparison: Comparison,
        temperatures: Mapping[str, float],
        scratch: Path | None = None,
    ) -> None:
        super().__init__(comparison, scratch)
        self.temperatures = dict(temperatures)  # a temperature per run

    def view(self, *, show: Sequence[str] = ()) -> ComparisonView:
        """Return the comparison as sentences and rows: only what a temperature can change.

        Args:
            show: Ignored: no example gets another answer.

        Returns:
            Sentences, effects, and the temperature of each run with its errors.
        """
        del show
        view = super().view()
        blocks = tuple(block for block in view.blocks if needs_of([block.metric]) & PROBABILITIES)
        kept = {block.metric for block in blocks}
        return replace(
            view,
            findings=tuple(x for x in view.findings if not x.metric or x.metric in kept),
            key_blocks=blocks,
            blocks=blocks,
            dots=(),
            moved=(),
            sheet=self._by_run(),
        )

    def _by_run(self) -> Sheet:
        """Return the temperature of each run, and its calibration error before and after."""
        before, after = (
            arm.measurement.detail["ece_by_run"] for arm in (self.baseline, *self.arms)
        )
        rows = tuple(
            (run, f"{temperature:.3g}", *(amounts.figure("ece", x) for x in (raw, calibrated)))
            for (run, temperature), raw, calibrated in zip(
                self.temperatures.items(), before, after, strict=True
            )
        )
        columns = "run", "temperature", "ece_before", "ece_after"
        return Sheet(columns, ("run", "temperature", "ECE before", "ECE after"), rows, (NO_ANSWER,))

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data: the content of `comparison.json`."""
        return {**super().summary(), "temperatures": self.temperatures}


def notes_on_temperatures(
    temperatures: Temperatures,
    classes: tuple[str, ...],
    prior: FloatArray,
    *,
    on: str | None,
) -> list[Message]:
    """Return notes on the temperatures, and on the classes that they were fitted with.

    Args:
        temperatures: Those of all runs.
        classes: Names of the classes.
        prior: Share of each class among the examples that are measured.
        on: Name of the held-out examples, if they have any.

    Returns:
        Temperatures, shares of the classes, and runs at the end of the allowed range.
    """
    values = temperatures.values
    mean, spread = estimate(MeanOverRuns(values)), estimate(SpreadOverRuns(values))
    interval = "" if mean.low is None else f" [{mean.low:.3g}, {mean.high:.3g}] over runs"
    notes = [
        Message(
            "temperatures",
            "Temperatures are {mean:.3g}{interval}, with a standard deviation of {spread:.2g} "
            "over runs; above 1, runs are over-confident. Fitted on {n_examples:,} examples{on}.",
            mean=mean.value,
            interval=interval,
            spread=spread.value,
            n_examples=temperatures.n_examples,
            on="" if on is None else f" of {on}",
        ),
        _note_on_prior(temperatures.prior, prior, classes),
    ]
    if len(temperatures.at_limit):
        notes.append(
            Message(
                "temperature-at-limit",
                "{n_runs} of {n_all} runs have a temperature at the end of the allowed range, "
                "because they make no error there or know nothing. Fit on more examples.",
                n_runs=len(temperatures.at_limit),
                n_all=len(values),
            )
        )
    return notes


def _note_on_prior(fitted: FloatArray, measured: FloatArray, classes: tuple[str, ...]) -> Message:
    gaps = np.abs(fitted - measured)
    order = np.argsort(-gaps, kind="stable")[:MOST_LISTED]
    shares = ", ".join(
        f"{classes[i]} {100 * fitted[i]:.0f} and {100 * measured[i]:.0f}{NO_BREAK}%" for i in order
    )
    if gaps.max() > UNLIKE:
        return Message(
            "unlike-prior",
            "Classes have other shares where temperatures were fitted than here: {shares}. The "
            "shares decide how large a temperature is, and even whether it is above 1. Fit it on "
            "examples like those of later use.",
            shares=shares,
        )
    return Message(
        "same-prior",
        "A temperature depends on how frequent the classes are. Their shares where it was fitted "
        "and here: {shares}.",
        shares=shares,
    )
