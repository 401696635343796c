"""`seedproof blame`: find the source of randomness that causes flips, or the spread of numbers."""

from typing import Any

from seedproof.cli import options

# How tables of numbers are read.
NUMBERS = ("run", "trial", "judge", "example", "value", "weight", "memory")


@options.add_options(*NUMBERS, *options.STORES, *options.ENGINE)
def blame(
    targets: options.Targets, *, as_json: options.Json = False, reading: dict[str, Any]
) -> None:
    """Find the source of flips, or of the uncertainty of a mean.

    Of classes, lists, sets and texts, the runs of a store must share some of their seeds, as with
    seedproof run --blame 10. Of numbers, runs, trials, judges and examples are separated.
    """
    from seedproof.api import blame as api
    from seedproof.cli.progress import progress_bar

    with progress_bar() as reading["progress"]:
        result = api.blame(targets, **reading)
    options.print_result(result, as_json=as_json)
