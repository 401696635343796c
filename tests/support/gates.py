"""Gates over figures that are given with their 95 % intervals."""

from seedproof.comparison.gate.judge import SCALES, Baseline, judge
from seedproof.comparison.gate.stage import LOG, stage_of, widened


def judge_figures(metrics, rules, *, n_runs, declared=None, **further):
    """Judge figures of a declared number of runs, so that the 95 % interval decides."""
    stage = stage_of(n_runs, n_runs if declared is None else declared)
    figures = {
        name: widened(value, SCALES.get(name, LOG), n_runs) for name, value in metrics.items()
    }
    return judge(figures, rules, stage=stage, **further)


def baseline_of(metric, base, effect, n_runs):
    """Return a baseline whose effect has the same interval at every level."""
    return Baseline({metric: base}, {metric: lambda level: effect}, n_runs)  # noqa: ARG005 - the same at every level
