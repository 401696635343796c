"""How many threads a run may use: one and two threads give different bits."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from seedproof.engines.base import THREAD_VARIABLES
from seedproof.runs.rng import load_torch


@contextmanager
def limited_to(n_threads: int) -> Iterator[None]:
    """Inside, numerical libraries use this many threads; afterwards as many as before."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    torch = load_torch()
    torch_before = None if torch is None else torch.get_num_threads()
    # For libraries that are loaded inside.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(n_threads)))
    try:
        with threadpool_limits(limits=n_threads):
            if torch is not None:
                torch.set_num_threads(n_threads)
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(torch_before)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
