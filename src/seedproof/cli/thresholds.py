"""The limits of a gate: from the command line, and from a file beside the code."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


def thresholds(
    at_most: Iterable[str],
    at_least: Iterable[str],
    no_worse: Iterable[str],
    *,
    config: Path | None = None,
) -> Thresholds:
    """All limits; those of the command line go before those of a file.

    Args:
        at_most: `METRIC=LIMIT`, each.
        at_least: `METRIC=LIMIT`, each.
        no_worse: `METRIC` or `METRIC=MARGIN`, each.
        config: A TOML file; those in the current folder are looked for without.

    Returns:
        Limits by metric.

    Raises:
        OptionError: Something is not a limit; the message says what is allowed.
    """
    table, place = _table(config)
    unknown = [key for key in table if key not in KEYS]
    if unknown:
        raise OptionError(
            f"{place} has the unknown key {unknown[0]!r}. Allowed: {', '.join(KEYS)}."
        )
    return Thresholds(
        at_most=_limits(table.get("max", {}), f"max in {place}") | _given(at_most, "--max"),
        at_least=_limits(table.get("min", {}), f"min in {place}") | _given(at_least, "--min"),
        no_worse=_margins(table.get("no-worse", {}), f"no-worse in {place}")
        | _given_margins(no_worse),
    )


def _table(config: Path | None) -> tuple[dict[str, Any], str]:
    """The table of the gate, and where it stands; an empty one if there is none."""
    if config is not None and not config.is_file():
        raise NotFoundError(f"{str(config)!r} is no file. Give a TOML file with a table [gate].")
    for path in PLACES if config is None else (config,):
        if not Path(path).is_file():
            continue
        content = _read(Path(path))
        known = PLACES.get(Path(path).name)
        for keys in PLACES.values() if known is None else (known,):
            found: Any = content
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            name = f"[{'.'.join(keys)}] of {path}"
            if isinstance(found, dict):
                return found, name
            if found is not None:
                raise OptionError(f"{name} is no table. Write max = {{flip_rate = 0.05}} below it.")
    if config is not None:
        raise OptionError(
            f"{str(config)!r} has no table for the gate. Write max = {{flip_rate = 0.05}} below "
            "[gate], or below [tool.seedproof.gate] in pyproject.toml."
        )
    return {}, ""


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of TOML, or of UTF-8
        raise UnreadableError(f"{path} is no TOML ({first_line(error)}). Mend it.") from error


def _limits(found: object, where: str) -> dict[str, float]:
    if not isinstance(found, dict):
        raise OptionError(f"{where} is no table of limits. Write {{flip_rate = 0.05}}.")
    return {
        name: _as_number(limit, f"{name} = {limit!r} of {where}") for name, limit in found.items()
    }


def _margins(found: object, where: str) -> dict[str, float | None]:
    if isinstance(found, list) and all(isinstance(name, str) for name in found):
        return dict.fromkeys(found)
    if not isinstance(found, dict):
        raise OptionError(
            f'{where} is neither a list nor a table. Write ["flip_rate"] or {{flip_rate = 0.1}}.'
        )
    return dict(_limits(found, where))


def _as_number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"{what} is no number. Write one, such as 0.05.")
    return float(value)


def _given(texts: Iterable[str], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, is_pair, limit = text.partition("=")
        if not is_pair:
            raise OptionError(f"{option} {text!r} has no limit. Write {option} {text}=0.05.")
        _add(found, name, limit, option)
    return found


def _given_margins(texts: Iterable[str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for text in texts:
        name, is_pair, margin = text.partition("=")
        _add(found, name, margin if is_pair else None, "--no-worse")
    return found


def _add(found: dict[str, Any], name: str, limit: str | None, option: str) -> None:
    name = name.strip()
    if name in found:
        raise OptionError(f"{option} {name} is given twice. Give one limit.")
    try:
        found[name] = None if limit is None else float(limit)
    except ValueError as error:
        raise OptionError(
            f"{option} {name}={limit}: {limit!r} is no number. Write one, such as 0.05."
        ) from error
