"""Weights & Biases: figures and the page of a result, written into a run."""

from collections.abc import Iterator, Mapping
from typing import Any

from seedproof._optional import require
from seedproof.errors import RunError
from seedproof.report.report import Report
from seedproof.report.result import Result
from seedproof.report.side_by_side import SideBySide
from seedproof.stats.intervals import Estimate


def log_report(result: Result, *, run: Any = None, prefix: str = "seedproof") -> None:  # noqa: ANN401 - W&B's
    """Write the figures of a result into the summary of a run of W&B, and its page as a panel.

    Each metric of a report has three summary values: `seedproof/flip_rate` and the ends of its
    interval, `seedproof/flip_rate_low` and `seedproof/flip_rate_high`. With several arms their
    names come between: `seedproof/large/flip_rate`. Of other results, only the page is written.

    Args:
        result: What `sp.measure` or another verb returned.
        run: The run; the active one if omitted.
        prefix: Beginning of all names.

    Raises:
        RunError: No run is active.
    """
    require("wandb", extra="wandb", feature="log_report")
    import wandb

    active = wandb.run if run is None else run
    if active is None:
        raise RunError(
            "No run of W&B is active. Call `wandb.init()` first, or pass the run as `run`."
        )
    for name, estimate in _figures(result):
        bounds = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
        for ending, number in bounds.items():
            if number is not None:
                active.summary[f"{prefix}/{name}{ending}"] = float(number)
    # The page has a style of its own.
    active.log({f"{prefix}/page": wandb.Html(result.to_html(), inject=False)})


def _figures(result: Result) -> Iterator[tuple[str, Estimate]]:
    """Yield the estimates of a result, by name."""
    if isinstance(result, Report):
        yield from result.metrics.items()
    elif isinstance(result, SideBySide):
        reports: Mapping[str, Report] = {name: result[name] for name in result}
        for arm, report in reports.items():
            for name, estimate in report.metrics.items():
                yield f"{arm}/{name}", estimate
