"""Find out what your model owes to its random seed, and take it away.

Names are loaded when they are first used: importing seedproof loads none of its dependencies.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedproof import stabilize as stabilize
    from seedproof.api.blame import blame
    from seedproof.api.compare import compare, compare_versions
    from seedproof.api.gate import gate
    from seedproof.api.measure import measure, measure_arms
    from seedproof.api.plan import plan
    from seedproof.comparison.arms.result import ComparedArm
    from seedproof.errors import SeedproofError
    from seedproof.integrations.sklearn import study_estimator
    from seedproof.predictions.options import LoadOptions
    from seedproof.predictions.predictions import Check, Predictions
    from seedproof.records.columns import Columns
    from seedproof.report.blame import BlameReport
    from seedproof.report.chart import Chart
    from seedproof.report.comparison.report import ComparisonReport
    from seedproof.report.gate_report import GateReport
    from seedproof.report.planning import Plan
    from seedproof.report.report import Report
    from seedproof.report.result import Result
    from seedproof.report.side_by_side import SideBySide
    from seedproof.report.versions import VersionReport
    from seedproof.seeds.plan import SeedPlan
    from seedproof.stats.effect import Effect
    from seedproof.stats.intervals import Estimate
    from seedproof.training.dynamics import Dynamics
    from seedproof.training.run import Run, current_run
    from seedproof.training.study import Study

    __version__: str

__all__ = [
    "BlameReport",
    "Chart",
    "Check",
    "Columns",
    "ComparedArm",
    "ComparisonReport",
    "Dynamics",
    "Effect",
    "Estimate",
    "GateReport",
    "LoadOptions",
    "Plan",
    "Predictions",
    "Report",
    "Result",
    "Run",
    "SeedPlan",
    "SeedproofError",
    "SideBySide",
    "Study",
    "VersionReport",
    "__version__",
    "blame",
    "compare",
    "compare_versions",
    "current_run",
    "gate",
    "measure",
    "measure_arms",
    "plan",
    "study_estimator",
]

_HOMES = {
    "BlameReport": "seedproof.report.blame",
    "Chart": "seedproof.report.chart",
    "Check": "seedproof.predictions.predictions",
    "Columns": "seedproof.records.columns",
    "ComparedArm": "seedproof.comparison.arms.result",
    "ComparisonReport": "seedproof.report.comparison.report",
    "Dynamics": "seedproof.training.dynamics",
    "Effect": "seedproof.stats.effect",
    "Estimate": "seedproof.stats.intervals",
    "GateReport": "seedproof.report.gate_report",
    "LoadOptions": "seedproof.predictions.options",
    "Plan": "seedproof.report.planning",
    "Predictions": "seedproof.predictions.predictions",
    "Report": "seedproof.report.report",
    "Result": "seedproof.report.result",
    "Run": "seedproof.training.run",
    "SeedPlan": "seedproof.seeds.plan",
    "SeedproofError": "seedproof.errors",
    "SideBySide": "seedproof.report.side_by_side",
    "Study": "seedproof.training.study",
    "VersionReport": "seedproof.report.versions",
    "blame": "seedproof.api.blame",
    "compare": "seedproof.api.compare",
    "compare_versions": "seedproof.api.compare",
    "current_run": "seedproof.training.run",
    "gate": "seedproof.api.gate",
    "measure": "seedproof.api.measure",
    "measure_arms": "seedproof.api.measure",
    "plan": "seedproof.api.plan",
    "study_estimator": "seedproof.integrations.sklearn",
}
# Reached as they are, such as `sp.stabilize.build`.
_PACKAGES = frozenset({"stabilize"})


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name == "__version__":
        from importlib.metadata import version

        return version("seedproof")
    if name in _PACKAGES:
        return import_module(f"seedproof.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'seedproof' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
