"""The limits of a gate: from the command line, and from a file beside the code."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seedproof.errors import NotFoundError, OptionError, UnreadableError, first_line

# The first that has a table for the gate is read.
PLACES = {"seedproof.toml": ("gate",), "pyproject.toml": ("tool", "seedproof", "gate")}
KEYS = ("max", "min", "no-worse")


@dataclass(frozen=True)
class Thresholds:
    """Limits by metric.

    Args:
        at_most: What metrics may be at most.
        at_least: What metrics must be at least.
        no_worse: Margins against the baseline; None for the usual one.
    """

    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    no_worse: Mapping[str, float | None]


@dataclass(frozen=True)
class _Section:
    """The gate's table of a TOML file, such as [gate] of seedproof.toml."""

    content: dict[str, Any]
    table: str = ""
    path: str = ""

    def error(self, template: str, **fields: object) -> OptionError:
        """Something in this table is not allowed."""
        return OptionError(template, table=self.table, path=self.path, **fields)


def thresholds(
    at_most: Iterable[str],
    at_least: Iterable[str],
    no_worse: Iterable[str],
    *,
    config: Path | None = None,
) -> Thresholds:
    """All limits; those of the command line go before those of a file."""
    section = _section(config)
    for key in section.content:
        if key not in KEYS:
            raise section.error(
                "{table} of {path} has the unknown key {key!r}. Allowed: {known}.",
                key=key,
                known=KEYS,
            )
    return Thresholds(
        at_most=_limits(section, "max") | _given(at_most, "--max"),
        at_least=_limits(section, "min") | _given(at_least, "--min"),
        no_worse=_margins(section, "no-worse") | _given_margins(no_worse),
    )


def _section(config: Path | None) -> _Section:
    """The table of the gate; an empty one if there is none."""
    if config is not None and not config.is_file():
        raise NotFoundError(
            "{config!r} is not a file. Give a TOML file with a table [gate].", config=str(config)
        )
    for path in PLACES if config is None else (config,):
        if not Path(path).is_file():
            continue
        content = _read(Path(path))
        known = PLACES.get(Path(path).name)
        for keys in PLACES.values() if known is None else (known,):
            table: Any = content
            for key in keys:
                table = table.get(key) if isinstance(table, dict) else None
            section = _Section({}, f"[{'.'.join(keys)}]", str(path))
            if isinstance(table, dict):
                return replace(section, content=table)
            if table is not None:
                raise section.error(
                    "{table} of {path} is not a table. Write max = {{flip_rate = 0.05}} below it."
                )
    if config is not None:
        raise OptionError(
            "{config!r} has no table for the gate. Write max = {{flip_rate = 0.05}} below "
            "[gate], or below [tool.seedproof.gate] in pyproject.toml.",
            config=str(config),
        )
    return _Section({})


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of TOML, or of UTF-8
        raise UnreadableError(
            "{path} is not valid TOML ({reason}). Fix it.", path=str(path), reason=first_line(error)
        ) from error


def _limits(section: _Section, key: str) -> dict[str, float]:
    limits = section.content.get(key, {})
    if not isinstance(limits, dict):
        raise section.error(
            "{key} in {table} of {path} is not a table of limits. Write {{flip_rate = 0.05}}.",
            key=key,
        )
    for metric, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise section.error(
                "{metric} = {limit!r} of {key} in {table} of {path} is no number. Write one, "
                "such as 0.05.",
                key=key,
                metric=metric,
                limit=limit,
            )
    return {metric: float(limit) for metric, limit in limits.items()}


def _margins(section: _Section, key: str) -> dict[str, float | None]:
    margins = section.content.get(key, {})
    if isinstance(margins, list) and all(isinstance(name, str) for name in margins):
        return dict.fromkeys(margins)
    if not isinstance(margins, dict):
        raise section.error(
            "{key} in {table} of {path} is neither a list nor a table. Write "
            '["flip_rate"] or {{flip_rate = 0.1}}.',
            key=key,
        )
    return dict(_limits(section, key))


def _given(texts: Iterable[str], option: str) -> dict[str, float]:
    limits: dict[str, float] = {}
    for text in texts:
        metric, is_pair, limit = text.partition("=")
        if not is_pair:
            raise OptionError(
                "{option} {metric!r} has no limit. Write {option} {metric}=0.05.",
                option=option,
                metric=metric,
            )
        _add(limits, metric, limit, option)
    return limits


def _given_margins(texts: Iterable[str]) -> dict[str, float | None]:
    margins: dict[str, float | None] = {}
    for text in texts:
        metric, is_pair, margin = text.partition("=")
        _add(margins, metric, margin if is_pair else None, "--no-worse")
    return margins


def _add(limits: dict[str, Any], metric: str, limit: str | None, option: str) -> None:
    metric = metric.strip()
    if metric in limits:
        raise OptionError(
            "{option} {metric} is given twice. Give one limit.", option=option, metric=metric
        )
    try:
        limits[metric] = None if limit is None else float(limit)
    except ValueError as error:
        raise OptionError(
            "{option} {metric}={limit}: {limit!r} is no number. Write one, such as 0.05.",
            option=option,
            metric=metric,
            limit=limit,
        ) from error
