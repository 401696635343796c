"""Find out what your model owes to its random seed, and take it away.

Names are loaded when they are first used: importing seedproof loads none of its dependencies.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedproof import stabilize as stabilize
    from seedproof.comparison.arms.result import ComparedArm
    from seedproof.comparison.effect import Effect
    from seedproof.errors import SeedproofError
    from seedproof.integrations.sklearn import study_estimator
    from seedproof.measurement.intervals import Estimate
    from seedproof.records.columns import Columns
    from seedproof.report.api import compare, compare_versions, measure, measure_arms
    from seedproof.report.blame import BlameReport, blame
    from seedproof.report.chart import Chart
    from seedproof.report.comparison.report import ComparisonReport
    from seedproof.report.gate_api import gate
    from seedproof.report.gate_report import GateReport
    from seedproof.report.planning import Plan, plan
    from seedproof.report.report import Report
    from seedproof.report.result import Result
    from seedproof.report.side_by_side import SideBySide
    from seedproof.report.versions import VersionReport
    from seedproof.runs.dynamics import Dynamics
    from seedproof.runs.run import Run, current_run
    from seedproof.seeds.plan import SeedPlan
    from seedproof.study.study import Study

__all__ = [
    "BlameReport",
    "Chart",
    "Columns",
    "ComparedArm",
    "ComparisonReport",
    "Dynamics",
    "Effect",
    "Estimate",
    "GateReport",
    "Plan",
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
    "Columns": "seedproof.records.columns",
    "ComparedArm": "seedproof.comparison.arms.result",
    "ComparisonReport": "seedproof.report.comparison.report",
    "Dynamics": "seedproof.runs.dynamics",
    "Effect": "seedproof.comparison.effect",
    "Estimate": "seedproof.measurement.intervals",
    "GateReport": "seedproof.report.gate_report",
    "Plan": "seedproof.report.planning",
    "Report": "seedproof.report.report",
    "Result": "seedproof.report.result",
    "Run": "seedproof.runs.run",
    "SeedPlan": "seedproof.seeds.plan",
    "SeedproofError": "seedproof.errors",
    "SideBySide": "seedproof.report.side_by_side",
    "Study": "seedproof.study.study",
    "VersionReport": "seedproof.report.versions",
    "blame": "seedproof.report.blame",
    "compare": "seedproof.report.api",
    "compare_versions": "seedproof.report.api",
    "current_run": "seedproof.runs.run",
    "gate": "seedproof.report.gate_api",
    "measure": "seedproof.report.api",
    "measure_arms": "seedproof.report.api",
    "plan": "seedproof.report.planning",
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
