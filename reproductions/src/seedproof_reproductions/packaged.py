"""Data files of the package: arms, claims, published numbers and layouts of pages."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(package: str, name: str) -> Mapping[str, Any]:
    """Return the content of a TOML file of a package, such as `claims.toml`."""
    return tomllib.loads((files(package) / name).read_text(encoding="utf-8"))
