"""How many threads a run may use: one and two threads give different bits."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from seedproof.engines.base import THREAD_VARIABLES, n_cores
from seedproof.training.torch_import_hook import holding, loaded_torch

# Torch looks at both, and takes the smaller one.
TORCH_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limited_to(n_threads: int) -> Iterator[None]:
    """Inside, numerical libraries use this many threads; afterwards as many as before."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    torch = loaded_torch()
    of_torch = _found_by_torch() if torch is None else torch.get_num_threads()
    # For libraries that are loaded inside.
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
            torch.set_num_threads(of_torch)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _found_by_torch() -> int:
    """How many threads torch would use if it were loaded now."""
    asked = (os.environ.get(name, "").partition(",")[0].strip() for name in TORCH_VARIABLES)
    return min([n_cores(), *(int(one) for one in asked if one.isdigit() and int(one) > 0)])
