"""What is read and computed, given what somebody asked for."""

from collections.abc import Collection

from seedproof.errors import OptionError
from seedproof.measurement.measure import known
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.selection import check_name, check_needs, needs_of
from seedproof.records.shards import ShardSource


def known_metrics(metrics: Collection[str] | None) -> tuple[str, ...] | None:
    """Names of metrics that there are, each once; others are refused before anything is read."""
    if metrics is None:
        return None
    if isinstance(metrics, str):
        raise OptionError(
            "metrics is the text {metrics!r}. Give a list: [{metrics!r}].", metrics=metrics
        )
    if not metrics:
        raise OptionError(
            "No metric was asked for. Name some, or leave metrics out for all.",
            metrics=tuple(metrics),
        )
    for metric in metrics:
        check_name(metric)
    return tuple(dict.fromkeys(metrics))


def check_allowed(metrics: Collection[str] | None, source: ShardSource) -> None:
    """Refuse metrics that these predictions do not allow."""
    if metrics is None:
        return
    check_needs(metrics, known(source))
    for names, folder, call in (
        (EXPLANATION_NAMES, "explanations", "run.log_explanations"),
        (DYNAMICS_NAMES, "dynamics", "run.log_dynamics"),
    ):
        asked = [metric for metric in metrics if metric in names]
        if asked and not _has(source, folder):
            raise OptionError(
                "{metric} needs {folder}, and these runs have none on the split that is "
                "measured. Log them with {call}, or leave it out.",
                metric=asked[0],
                folder=folder,
                call=call,
            )


def _has(source: ShardSource, folder: str) -> bool:
    """Whether some run has records of a kind on the split that is measured."""
    start = f"{folder}/{source.split}/"
    return any(part.path.startswith(start) for run in source.manifests for part in run.parts)


def narrowed(source: ShardSource, asked: Collection[str] | None) -> ShardSource:
    """The same runs without the columns that nobody asked for."""
    if asked is None or needs_of(asked) - {"labels"}:
        return source
    return source.predictions_alone()


def asks_for_explanations(asked: Collection[str] | None) -> bool:
    """Whether explanations are measured, too."""
    return asked is None or not set(asked).isdisjoint(EXPLANATION_NAMES)


def asks_for_dynamics(asked: Collection[str] | None) -> bool:
    """Whether what runs do over their steps is measured, too."""
    return asked is None or not set(asked).isdisjoint(DYNAMICS_NAMES)
