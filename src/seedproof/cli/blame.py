"""`seedproof blame`: find the source of randomness that causes the flips."""

from typing import Any

from seedproof.cli import options


@options.add_options(*options.STORES, *options.ENGINE)
def blame(
    store: options.StudyStore, *, as_json: options.Json = False, reading: dict[str, Any]
) -> None:
    """Find which source of randomness causes the flips.

    The runs must share some of their seeds, as with seedproof run --blame 10.
    """
    from seedproof.api import blame as api
    from seedproof.cli.progress import progress_bar

    with progress_bar() as reading["progress"]:
        result = api.blame(store, **reading)
    options.print_result(result, as_json=as_json)
