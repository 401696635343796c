"""Limits of a gate: from the command line, and from a TOML file in the current folder."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seedproof.errors import NotFoundError, OptionError, UnreadableError, first_line

# Keys that lead to the gate's table, by file. Only the first file with such a table counts.
TABLE_KEYS = {"seedproof.toml": ("gate",), "pyproject.toml": ("tool", "seedproof", "gate")}
KEYS = ("max", "min", "no-worse", "allow")


def thresholds(
    at_most: Iterable[str],
    at_least: Iterable[str],
    no_worse: Iterable[str],
    allow: Iterable[str],
    *,
    config: Path | None = None,
) -> dict[str, Any]:
    """Return limits and allowed checks as keywords of `sp.gate`; options override the file."""
    gate_table = _gate_table(config)
    for key in gate_table.content:
        if key not in KEYS:
            raise gate_table.error(
                "{table} of {path} has the unknown key {key!r}. Allowed: {known}.",
                key=key,
                known=KEYS,
            )
    return {
        "max": gate_table.limits("max") | _parse(at_most, "--max"),
        "min": gate_table.limits("min") | _parse(at_least, "--min"),
        "no_worse": gate_table.limits("no-worse") | _parse(no_worse, "--no-worse"),
        "allow": (*gate_table.allowed(), *allow),
    }


@dataclass(frozen=True)
class _GateTable:
    """The gate's table in a TOML file, such as [gate] in seedproof.toml."""

    name: str = ""
    path: str = ""
    content: dict[str, Any] = field(default_factory=dict)

    def error(self, template: str, **fields: object) -> OptionError:
        """Return an error whose fields include the table and its file."""
        return OptionError(template, table=self.name, path=self.path, **fields)

    def limits(self, key: str) -> dict[str, float | None]:
        """Return the limit per metric; None for a metric that is only listed in `no-worse`."""
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

    def allowed(self) -> list[str]:
        """Return the names of the checks that are allowed."""
        names = self.content.get("allow", [])
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
        raise self.error(
            'allow in {table} of {path} is not a list of names. Write ["duplicate-runs"].',
            key="allow",
        )


def _gate_table(config: Path | None) -> _GateTable:
    """Return the gate's table of `config`, or of the current folder; empty if there is none."""
    if config is not None and not config.is_file():
        raise NotFoundError(
            "{config!r} is not a file. Pass a TOML file with a table [gate].", config=str(config)
        )
    for path in map(Path, TABLE_KEYS) if config is None else (config,):
        if not path.is_file():
            continue
        content = _read(path)
        for keys in (TABLE_KEYS[path.name],) if path.name in TABLE_KEYS else TABLE_KEYS.values():
            table: Any = content
            for key in keys:
                table = table.get(key) if isinstance(table, dict) else None
            name = f"[{'.'.join(keys)}]"
            if isinstance(table, dict):
                return _GateTable(name, str(path), table)
            if table is not None:
                raise _GateTable(name, str(path)).error(
                    "{table} of {path} is not a table. Write max = {{flip_rate = 0.05}} below it."
                )
    if config is not None:
        raise OptionError(
            "{config!r} has no table for the gate. Write max = {{flip_rate = 0.05}} below "
            "[gate], or below [tool.seedproof.gate] in pyproject.toml.",
            config=str(config),
        )
    return _GateTable()


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # invalid TOML, or invalid UTF-8
        raise UnreadableError(
            "{path} is not valid TOML ({reason}). Fix it.", path=str(path), reason=first_line(error)
        ) from error


def _parse(texts: Iterable[str], option: str) -> dict[str, float | None]:
    """Parse texts such as "flip_rate=0.05"; only `--no-worse` takes a metric without a limit."""
    limits: dict[str, float | None] = {}
    for text in texts:
        name, equals_sign, limit = text.partition("=")
        metric = name.strip()
        if not equals_sign and option != "--no-worse":
            raise OptionError(
                "{option} {metric!r} has no limit. Write {option} {metric}=0.05.",
                option=option,
                metric=metric,
            )
        if metric in limits:
            raise OptionError(
                "{option} {metric} is given twice. Pass one limit.", option=option, metric=metric
            )
        try:
            limits[metric] = float(limit) if equals_sign else None
        except ValueError as error:
            raise OptionError(
                "{option} {metric}={limit}: {limit!r} is not a number. Write one, such as 0.05.",
                option=option,
                metric=metric,
                limit=limit,
            ) from error
    return limits


def margins(texts: Iterable[str]) -> dict[str, float]:
    """Return the margin of each metric from texts such as "accuracy=0.01"."""
    parsed = _parse(texts, "--margin")
    return {metric: margin for metric, margin in parsed.items() if margin is not None}
