"""`sp.measure_permutation`: does the output depend on which position gets which attention?"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from seedproof.api.measure import measure
from seedproof.errors import ShapeError
from seedproof.measurement.permutation import Changes
from seedproof.predictions.predictions import Predictions
from seedproof.records.permutation import PermutedAttention
from seedproof.report.permutation import PermutationReport


def measure_permutation(
    runs: Mapping[str, PermutedAttention] | Sequence[PermutedAttention],
    *,
    labels: npt.ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    clusters: npt.ArrayLike | None = None,
) -> PermutationReport:
    """Measure how far shuffled attention moves the output, by confidence and by class.

    Each change stands next to two others: the difference between two runs, and the difference
    between two shuffles, which weights at random positions would show as well.

    Args:
        runs: Results of `seedproof.explain.permute_attention` for the same examples, a list or by
            the name of the run; at least two.
        labels: Gold class of each example, an index or a name.
        classes: Names of the classes. If omitted, their indices.
        clusters: Cluster of each example, if some belong together.

    Returns:
        A report with a chart of the change by confidence, next to the share of right answers.

    Raises:
        InputError: The results cannot be measured; the message says why and what to do.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> rng = np.random.default_rng(0)
        >>> def some_run():
        ...     second = rng.random(200)
        ...     return sp.PermutedAttention(
        ...         probs=np.stack([1 - second, second], axis=1),
        ...         probability_change=0.2 * rng.random(200),
        ...         probability_floor=0.1 * rng.random(200),
        ...         logit_change=rng.random(200),
        ...         logit_floor=rng.random(200),
        ...         n_shuffles=100,
        ...     )
        >>> report = sp.measure_permutation([some_run() for _ in range(5)])
        >>> report["probability_excess"].low > 0
        True
    """
    named = runs if isinstance(runs, Mapping) else {str(i): run for i, run in enumerate(runs)}
    shapes = {name: run.probs.shape for name, run in named.items()}
    for name, shape in shapes.items():
        if shape != next(iter(shapes.values())):
            raise ShapeError(
                "Run {run!r} has probabilities of shape {shape!s}, and others have "
                "{other_shape!s}. Pass results for the same examples and classes.",
                run=name,
                shape=shape,
                other_shape=next(iter(shapes.values())),
            )
    predictions = Predictions.from_arrays(
        {name: run.probs for name, run in named.items()},
        labels=labels,
        classes=classes,
        clusters=clusters,
    )
    measured = measure(predictions, metrics=["flip_rate"] if labels is None else ["ece"])
    source = predictions.source
    gold = np.concatenate([source.shard(index).gold for index in range(source.n_shards)])
    codes = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    changes = Changes.of([named[run] for run in predictions.runs], codes)
    n_shuffles = min(run.n_shuffles for run in named.values())
    return PermutationReport(
        tuple(changes.groups(gold)), measured.measurement, n_shuffles=n_shuffles
    )
