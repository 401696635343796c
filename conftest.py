"""Settings for the tests of the library and of the reproductions."""

import os
from collections.abc import Generator, Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

# Packages that are not installed on purpose, such as "torch,ray": tests that need them are skipped.
# Any other missing package is a failure, and all of them are if the variable is not set.
ABSENT = frozenset(filter(None, os.environ.get("SEEDPROOF_WITHOUT", "").split(",")))


def pytest_configure() -> None:
    """Refuse to skip tests of packages that are installed."""
    installed = [name for name in sorted(ABSENT) if find_spec(name) is not None]
    if installed:
        raise pytest.UsageError(f"SEEDPROOF_WITHOUT names installed packages: {installed}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless all of it is asked for."""
    if os.environ.get("SEEDPROOF_FULL") == "1":
        return
    left_out = pytest.mark.skip(reason="slow; SEEDPROOF_FULL=1 runs it")
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(left_out)


class ModuleWithAbsent(pytest.Module):
    """A test module that is skipped if it imports an absent package."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the tests of the module."""
        try:
            return super().collect()
        except self.CollectError as error:
            skip_absent(error.__cause__)
            raise


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Let modules import absent packages, if there are any."""
    return ModuleWithAbsent.from_parent(parent, path=module_path) if ABSENT else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Skip a test whose fixtures need an absent package."""
    return (yield from skipping_absent())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test that needs an absent package."""
    return (yield from skipping_absent())


def skipping_absent() -> Generator[None, object, object]:
    """Skip the test if the rest of a hook fails for want of an absent package."""
    try:
        return (yield)
    except ImportError as error:
        skip_absent(error)
        raise


def skip_absent(error: BaseException | None) -> None:
    """Skip the test if an absent package is the cause of an error."""
    if isinstance(error, ImportError):
        # `MissingExtraError` has fields, too.
        module = getattr(error, "fields", {}).get("module") or error.name or ""
        package = module.partition(".")[0]
        if package in ABSENT:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
