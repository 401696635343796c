"""A number after each update of a training of any length, in a bounded number of points."""

from collections.abc import Sequence

MAX_POINTS = 256


class ThinnedCurve:
    """Evenly spaced points of a curve.

    Every update has a point at first. Whenever there are too many, every second one is dropped, and
    only so many are added from then on. So it depends on the number of updates alone which ones
    have a point.

    Args:
        stride: Every how manieth update has a point.
        steps: The updates that have one so far.
        values: The numbers after them.
    """

    def __init__(
        self, stride: int = 1, steps: Sequence[int] = (), values: Sequence[float] = ()
    ) -> None:
        self.stride = stride
        self.steps = list(steps)
        self.values = list(values)

    def wants(self, step: int) -> bool:
        """Whether an update has a point; updates are counted from 1."""
        return step % self.stride == 0

    def add(self, step: int, value: float) -> None:
        """Put the next point, if this update has one."""
        if not self.wants(step):
            return
        self.steps.append(step)
        self.values.append(value)
        if len(self.steps) > MAX_POINTS:
            self.stride *= 2
            kept = [(s, v) for s, v in zip(self.steps, self.values, strict=True) if self.wants(s)]
            self.steps, self.values = [s for s, _ in kept], [v for _, v in kept]
