"""Measure how much of a model's output is just the luck of the seed, and reduce it.

Names are loaded on first use: importing seedproof loads none of its dependencies.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # "as" marks them as public for type checkers.
    from seedproof import explain as explain
    from seedproof import stabilize as stabilize
    from seedproof.api.blame import blame as blame
    from seedproof.api.calibrate import calibrate as calibrate
    from seedproof.api.compare import compare as compare
    from seedproof.api.compare import compare_versions as compare_versions
    from seedproof.api.decide import decide as decide
    from seedproof.api.gate import gate as gate
    from seedproof.api.measure import measure as measure
    from seedproof.api.measure import measure_arms as measure_arms
    from seedproof.api.neighbors import NeighborAgreement as NeighborAgreement
    from seedproof.api.neighbors import neighbor_agreement as neighbor_agreement
    from seedproof.api.permutation import measure_permutation as measure_permutation
    from seedproof.api.plan import plan as plan
    from seedproof.api.scalars import compare_scalars as compare_scalars
    from seedproof.api.scalars import measure_scalars as measure_scalars
    from seedproof.comparison.arms.result import ComparedArm as ComparedArm
    from seedproof.errors import SeedproofError as SeedproofError
    from seedproof.integrations.sklearn import study_estimator as study_estimator
    from seedproof.predictions.checks import Check as Check
    from seedproof.predictions.options import LoadOptions as LoadOptions
    from seedproof.predictions.predictions import Predictions as Predictions
    from seedproof.records.columns import Columns as Columns
    from seedproof.records.permutation import PermutedAttention as PermutedAttention
    from seedproof.report.blame import BlameReport as BlameReport
    from seedproof.report.blame_numbers import VarianceReport as VarianceReport
    from seedproof.report.calibration import CalibrationReport as CalibrationReport
    from seedproof.report.chart import Chart as Chart
    from seedproof.report.comparison.report import ComparisonReport as ComparisonReport
    from seedproof.report.decide import DecisionReport as DecisionReport
    from seedproof.report.gate_report import GateReport as GateReport
    from seedproof.report.permutation import PermutationReport as PermutationReport
    from seedproof.report.planning import Plan as Plan
    from seedproof.report.report import Report as Report
    from seedproof.report.result import Result as Result
    from seedproof.report.scalars.comparison import ScalarComparison as ScalarComparison
    from seedproof.report.scalars.report import ScalarReport as ScalarReport
    from seedproof.report.side_by_side import SideBySide as SideBySide
    from seedproof.report.versions import VersionReport as VersionReport
    from seedproof.seeds.plan import SeedPlan as SeedPlan
    from seedproof.stats.effect import Effect as Effect
    from seedproof.stats.intervals import Estimate as Estimate
    from seedproof.training.dynamics import Dynamics as Dynamics
    from seedproof.training.run import Run as Run
    from seedproof.training.run import current_run as current_run
    from seedproof.training.study import Study as Study

    __version__: str

_NAMES = {
    "api.blame": ("blame",),
    "api.calibrate": ("calibrate",),
    "api.compare": ("compare", "compare_versions"),
    "api.decide": ("decide",),
    "api.gate": ("gate",),
    "api.measure": ("measure", "measure_arms"),
    "api.neighbors": ("NeighborAgreement", "neighbor_agreement"),
    "api.permutation": ("measure_permutation",),
    "api.plan": ("plan",),
    "api.scalars": ("compare_scalars", "measure_scalars"),
    "comparison.arms.result": ("ComparedArm",),
    "errors": ("SeedproofError",),
    "integrations.sklearn": ("study_estimator",),
    "predictions.options": ("LoadOptions",),
    "predictions.checks": ("Check",),
    "predictions.predictions": ("Predictions",),
    "records.columns": ("Columns",),
    "records.permutation": ("PermutedAttention",),
    "report.blame": ("BlameReport",),
    "report.blame_numbers": ("VarianceReport",),
    "report.calibration": ("CalibrationReport",),
    "report.chart": ("Chart",),
    "report.comparison.report": ("ComparisonReport",),
    "report.decide": ("DecisionReport",),
    "report.gate_report": ("GateReport",),
    "report.permutation": ("PermutationReport",),
    "report.planning": ("Plan",),
    "report.report": ("Report",),
    "report.result": ("Result",),
    "report.scalars.comparison": ("ScalarComparison",),
    "report.scalars.report": ("ScalarReport",),
    "report.side_by_side": ("SideBySide",),
    "report.versions": ("VersionReport",),
    "seeds.plan": ("SeedPlan",),
    "stats.effect": ("Effect",),
    "stats.intervals": ("Estimate",),
    "training.dynamics": ("Dynamics",),
    "training.run": ("Run", "current_run"),
    "training.study": ("Study",),
}
_HOMES = {name: f"seedproof.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted((*_HOMES, "__version__"))  # noqa: PLE0605 - type checkers read the imports
# Available as attributes, such as `sp.stabilize.build`.
_PACKAGES = frozenset({"explain", "stabilize"})


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name == "__version__":
        from importlib.metadata import version

        return version("seedproof")
    if name in _PACKAGES:
        return import_module(f"seedproof.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'seedproof' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
