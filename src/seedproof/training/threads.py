"""Number of threads of a run, on which the results depend."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from seedproof.engines.base import THREAD_VARIABLES, n_cores
from seedproof.training.torch_import_hook import holding, loaded_torch

# Torch takes the smaller of both.
TORCH_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limited_to(n_threads: int) -> Iterator[None]:
    """Limit the threads of numerical libraries, then restore their number."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    torch = loaded_torch()
    n_before = _default_of_torch() if torch is None else torch.get_num_threads()
    # Libraries that are loaded inside read these.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(n_threads)))
    try:
        with (
            threadpool_limits(limits=n_threads),
            holding(lambda torch: torch.set_num_threads(n_threads)),
        ):
            yield
    finally:
        torch = loaded_torch()
        if torch is not None:
            torch.set_num_threads(n_before)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _default_of_torch() -> int:
    """Return how many threads torch would use if it were loaded now."""
    values = (os.environ.get(name, "").partition(",")[0].strip() for name in TORCH_VARIABLES)
    return min([n_cores(), *(int(value) for value in values if value.isdigit() and int(value) > 0)])
