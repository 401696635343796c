"""`sp.blame`: find which source of randomness causes the flips, or the spread of numbers."""

from typing import Unpack

from seedproof.comparison.blame.compute import blame_runs
from seedproof.comparison.blame.numbers import blame_numbers
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.predictions.options import LoadOptions, given
from seedproof.predictions.predictions import Loadable, load
from seedproof.records.schema import Kind
from seedproof.report.blame import BlameReport
from seedproof.report.blame_numbers import VarianceReport
from seedproof.report.result import Result

MADE_BY = "pass a store made by `seedproof run TARGET --blame 10`"


def blame(
    target: Loadable,
    *,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> BlameReport | VarianceReport:
    """Find which source of randomness causes the flips of a study, or the spread of numbers.

    Of classes, lists, sets and texts, the runs must share some of their seeds, as those of
    `SeedPlan.blocks` do. Of numbers, the parts are runs, trials, judges and examples.

    Args:
        target: Folder or URL of a study's store, or the predictions of its runs; also tables and
            arrays of numbers.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How the input is read: `arm`, `split` and others, see `sp.LoadOptions`.

    Returns:
        A report; `print` it, or ask for its `result`.

    Raises:
        NotFoundError: There is no store.
        OptionError: The input does not hold the seeds of its runs, or an option is `clusters` or
            `slices`.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     drawn = run.rng("init").normal(size=200) + run.rng("order").normal(size=200)
        ...     run.log_predictions("test", predictions=(drawn > 0).astype(int))
        >>> plan = sp.SeedPlan.blocks(4, sources=["init", "order"])
        >>> _ = sp.Study("blame", train, seeds=plan, store="blamed").run(engine="serial")
        >>> "order" in str(sp.blame("blamed"))
        True
    """
    pool = measuring_engine(engine, workers=workers, address=address)
    for option in sorted(given(options).keys() & {"clusters", "slices"}):
        raise OptionError(
            "`{option}` does not apply to blame, whose intervals are over runs. Remove it.",
            option=option,
        )
    if isinstance(target, Result):
        raise _no_seeds(target)
    predictions = load(target, options, least_runs=2)
    source, progress = predictions.source, options.get("progress")
    if source.kind is Kind.NUMBERS:
        return VarianceReport(blame_numbers(source, engine=pool, progress=progress))
    seeds = [run.seeds for run in source.manifests]
    if not seeds:
        raise _no_seeds(target)
    return BlameReport(blame_runs(source, seeds, engine=pool, progress=progress))


def _no_seeds(target: object) -> OptionError:
    return OptionError(
        "The input, of type {type_name}, does not hold the seeds of its runs: {made_by}.",
        type_name=type(target).__name__,
        made_by=MADE_BY,
    )
