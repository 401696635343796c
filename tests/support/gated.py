"""Packages whose branch coverage is gated at 95 %: all but those that `pyproject.toml` omits.

A package that is created from now on is gated, and its unit tests are traced. Prints the names.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "seedproof"
PREFIX, SUFFIX = "*/seedproof/", "/*"


def omitted():
    """Return what the settings of coverage leave out, such as `api` or `comparison/arms`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["coverage"]["run"]["omit"]
    return {pattern.removeprefix(PREFIX).removesuffix(SUFFIX) for pattern in patterns}


def gated_packages(source=SOURCE, exempt=None):
    """Return the paths of gated packages; of one that is omitted in parts, those of the others."""
    exempt = omitted() if exempt is None else exempt
    packages = []
    for package in _packages_in(source):
        parts = [f"{package}/{part}" for part in _packages_in(source / package)]
        if package in exempt:
            continue
        if any(name.startswith(f"{package}/") for name in exempt):
            packages += [part for part in parts if part not in exempt]
        else:
            packages.append(package)
    return packages


def _packages_in(folder):
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


if __name__ == "__main__":
    print(*gated_packages())  # noqa: T201 - for .ci/run
