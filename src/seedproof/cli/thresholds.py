"""Limits of a gate: from the command line, and from a TOML file in the current folder."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seedproof.errors import NotFoundError, OptionError, UnreadableError, first_line

# The first file that has a table for the gate is read.
PLACES = {"seedproof.toml": ("gate",), "pyproject.toml": ("tool", "seedproof", "gate")}
KEYS = ("max", "min", "no-worse")


def thresholds(
    at_most: Iterable[str],
    at_least: Iterable[str],
    no_worse: Iterable[str],
    *,
    config: Path | None = None,
) -> dict[str, Any]:
    """Return all limits as keywords of `sp.gate`; the command line overrides the file."""
    section = _section(config)
    for key in section.content:
        if key not in KEYS:
            raise section.error(
                "{table} of {path} has the unknown key {key!r}. Allowed: {known}.",
                key=key,
                known=KEYS,
            )
    return {
        "max": section.limits("max") | _typed(at_most, "--max"),
        "min": section.limits("min") | _typed(at_least, "--min"),
        "no_worse": section.limits("no-worse") | _typed(no_worse, "--no-worse"),
    }


@dataclass(frozen=True)
class _Section:
    """The gate's table of a TOML file, such as [gate] of seedproof.toml."""

    table: str = ""
    path: str = ""
    content: dict[str, Any] = field(default_factory=dict)

    def error(self, template: str, **fields: object) -> OptionError:
        return OptionError(template, table=self.table, path=self.path, **fields)

    def limits(self, key: str) -> dict[str, float | None]:
        limits = self.content.get(key, {})
        if key == "no-worse":
            if isinstance(limits, list) and all(isinstance(name, str) for name in limits):
                return dict.fromkeys(limits)
            expected = 'is neither a list nor a table. Write ["flip_rate"] or {{flip_rate = 0.1}}.'
        else:
            expected = "is not a table of limits. Write {{flip_rate = 0.05}}."
        if not isinstance(limits, dict):
            raise self.error("{key} in {table} of {path} " + expected, key=key)
        for metric, limit in limits.items():
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise self.error(
                    "{metric} = {limit!r} of {key} in {table} of {path} is not a number. Write "
                    "one, such as 0.05.",
                    key=key,
                    metric=metric,
                    limit=limit,
                )
        return {metric: float(limit) for metric, limit in limits.items()}


def _section(config: Path | None) -> _Section:
    """Return the table of the gate; an empty one if there is none."""
    if config is not None and not config.is_file():
        raise NotFoundError(
            "{config!r} is not a file. Give a TOML file with a table [gate].", config=str(config)
        )
    for path in map(Path, PLACES) if config is None else (config,):
        if not path.is_file():
            continue
        content = _read(path)
        for keys in (PLACES[path.name],) if path.name in PLACES else PLACES.values():
            table: Any = content
            for key in keys:
                table = table.get(key) if isinstance(table, dict) else None
            name = f"[{'.'.join(keys)}]"
            if isinstance(table, dict):
                return _Section(name, str(path), table)
            if table is not None:
                raise _Section(name, str(path)).error(
                    "{table} of {path} is not a table. Write max = {{flip_rate = 0.05}} below it."
                )
    if config is not None:
        raise OptionError(
            "{config!r} has no table for the gate. Write max = {{flip_rate = 0.05}} below "
            "[gate], or below [tool.seedproof.gate] in pyproject.toml.",
            config=str(config),
        )
    return _Section()


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of TOML, or of UTF-8
        raise UnreadableError(
            "{path} is not valid TOML ({reason}). Fix it.", path=str(path), reason=first_line(error)
        ) from error


def _typed(texts: Iterable[str], option: str) -> dict[str, float | None]:
    """Return limits of the command line; a margin may be missing."""
    limits: dict[str, float | None] = {}
    for text in texts:
        name, has_limit, limit = text.partition("=")
        metric = name.strip()
        if not has_limit and option != "--no-worse":
            raise OptionError(
                "{option} {metric!r} has no limit. Write {option} {metric}=0.05.",
                option=option,
                metric=metric,
            )
        if metric in limits:
            raise OptionError(
                "{option} {metric} is given twice. Give one limit.", option=option, metric=metric
            )
        try:
            limits[metric] = float(limit) if has_limit else None
        except ValueError as error:
            raise OptionError(
                "{option} {metric}={limit}: {limit!r} is not a number. Write one, such as 0.05.",
                option=option,
                metric=metric,
                limit=limit,
            ) from error
    return limits
