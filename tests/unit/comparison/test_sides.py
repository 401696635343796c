"""What is compared, as sides."""

import pytest

from seedproof.comparison.sides import _costs
from seedproof.records.manifest import RunManifest


@pytest.mark.parametrize("last", [float("nan"), float("inf"), None, "4"])
def test_a_cost_that_some_run_does_not_tell_is_left_out(last):
    """A mean of it would be no number, which JSON cannot say."""
    runs = [
        RunManifest(
            str(index), str(index), facts={"seconds": 2.0}, scalars={"forward_passes": cost}
        )
        for index, cost in enumerate([4.0, last])
    ]

    assert _costs(runs) == {"seconds": 2.0}
