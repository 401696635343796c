"""Checks of runs that give texts, from sums that the measuring pass has anyway."""

from collections.abc import Iterator

import numpy as np

from seedproof.metrics.batch import batches
from seedproof.metrics.flips import Disagreement
from seedproof.predictions.checks import Check, constant_answers, have_other_values
from seedproof.predictions.duplicates import duplicates
from seedproof.predictions.input_checks import CHANCE_AGREEMENT, LONELY, few_runs
from seedproof.records.shards import ShardSource

# A run is judged by its agreement with others only if there are so many examples.
LEAST_EXAMPLES = 30
# If so many pairs of answers differ, almost every answer is a text of its own.
MOSTLY_DISTINCT = 0.9


def text_disagreement(source: ShardSource) -> Disagreement:
    """Return the pairs of runs that disagree, over all examples."""
    family = Disagreement(len(source.runs), 0)
    for index in range(source.n_shards):
        for batch in batches(source.shard(index), 0):
            family.update(batch)
    return family


def text_checks_of(source: ShardSource, sums: Disagreement) -> Iterator[Check]:
    """Yield the findings about aligned runs of texts, given sums of their disagreement."""
    if not source.settings.are_trials:
        yield from few_runs(source.n_runs)
    yield from _constant_texts(source, sums)
    if len(source.runs) > 1:
        yield from duplicates(source, sums.disagreements)
        yield from _outliers(source, sums)
        yield from _distinct(source, sums)


def _constant_texts(source: ShardSource, sums: Disagreement) -> Iterator[Check]:
    """Yield a finding if no run's texts depend on the example, while references do.

    Texts are read again until one of a run differs from its first, as a rule in the first shard.
    """
    first, references = None, []
    for index in range(source.n_shards):
        texts = source.shard(index).texts
        if texts is None or texts.references is None:
            return
        first = texts.texts[:, :1] if first is None else first
        if (texts.texts != first).any():
            return
        references.append([tuple(right) for right in texts.references if len(right)])
    if have_other_values(references):
        yield constant_answers(
            source.runs, source.repeats, sums.n_examples, "their references are different"
        )


def _outliers(source: ShardSource, sums: Disagreement) -> Iterator[Check]:
    """Yield runs that agree with hardly any other, while the others agree among themselves."""
    n_runs, apart = len(source.runs), sums.disagreements / sums.n_examples
    if n_runs < 3 or sums.n_examples < LEAST_EXAMPLES:
        return
    agreement = 1 - apart.sum(axis=1) / (n_runs - 1)
    away = apart + np.diag(np.full(n_runs, np.inf))
    for run in np.flatnonzero(agreement < CHANCE_AGREEMENT):
        others = np.delete(np.delete(away, run, axis=0), run, axis=1)
        if away[run].min() <= LONELY * others.min(axis=1).max():
            continue
        noun = source.repeats.removesuffix("s")
        yield Check(
            "outlier-run",
            "error",
            (source.runs[run],),
            f"{noun.capitalize()} {source.runs[run]} agrees with the others on "
            f"{100 * agreement[run]:.1f} % of the examples; the others agree more often.",
            "Check that its rows belong to their ids and that it was not cut short. Make it again, "
            "or leave it out.",
        )


def _distinct(source: ShardSource, sums: Disagreement) -> Iterator[Check]:
    """Yield a finding if almost all answers differ and no column says which mean the same."""
    n_runs = len(source.runs)
    share = float(sums.disagreements.sum()) / (n_runs * (n_runs - 1) * sums.n_examples)
    if share < MOSTLY_DISTINCT or source.settings.by_meaning:
        return
    yield Check(
        "distinct-answers",
        "warning",
        (),
        f"{100 * share:.1f} % of the pairs of answers differ: nearly every answer is a text of its "
        "own, so that equality is the wrong question.",
        "Add a column that names the meaning of each answer, decided by a rule, a judge or an "
        "embedding, and name it: seedproof measure FILE --answer text --equivalent meaning",
    )
