"""Results of a recipe as files of the repository: written, and read again."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from seedproof.errors import OptionError, UnreadableError

# What the results of every recipe have.
NEEDED = ("format", "paper", "name", "setting", "arms")


def as_text(results: Mapping[str, Any]) -> str:
    """Results as JSON with a line for each list and effect: a change is easy to see."""
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    for start, content, end in (("[", "", "]"), ("{", '"scale"', "}")):
        flat = re.compile(rf"\{start}\s+({content}[^\[\]{{}}]*?)\s+\{end}")
        text = flat.sub(partial(_on_one_line, start, end), text)
    return text + "\n"


def _on_one_line(start: str, end: str, found: re.Match[str]) -> str:
    return start + re.sub(r",\s+", ", ", found[1]) + end


def write_results(results: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write the results of one setting into a folder, in place of earlier ones.

    Args:
        results: What a recipe's `collect` gave.
        folder: Where to; it is made if need be.

    Returns:
        The file, `<name of the setting>.json`.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{results['name']}.json"
    path.write_text(as_text(results), encoding="utf-8")
    return path


def stored_results(
    recipe: str, folder: str | os.PathLike[str] | None = None, *, version: int
) -> list[dict[str, Any]]:
    """Results of several settings of a recipe, by their names.

    Args:
        recipe: Its package, such as `seedproof_reproductions.conll2019`.
        folder: Where `write_results` put them; without it, those that come with the package.
        version: The format that is read.

    Returns:
        What its `collect` gave, one for each file.

    Raises:
        OptionError: A file was written by another version, or for another paper.
        UnreadableError: A file holds no results.
    """
    place = files(recipe) / "results" if folder is None else Path(folder)
    if not place.is_dir():
        return []
    found = {
        one.name.removesuffix(".json"): one for one in place.iterdir() if one.name.endswith(".json")
    }
    results = {name: _read(one) for name, one in sorted(found.items())}
    paper = recipe.rpartition(".")[2]
    for name, one in results.items():
        if one["paper"] != paper:
            raise OptionError(
                f"{name}.json holds results of another paper, {one['paper']}, not of {paper}. Give "
                "each paper a folder of its own."
            )
        if one["format"] != version:
            raise OptionError(
                f"{name}.json has the format {one['format']} of another version; this one reads "
                f"{version}. Make it again from its store with --results."
            )
    return list(results.values())


def _read(file: Traversable) -> dict[str, Any]:
    """The content of a file, if it holds results of some recipe."""
    try:
        content = json.loads(file.read_bytes())
    except ValueError as error:
        raise UnreadableError(
            f"{file.name} in the folder of results is no JSON ({error}). Make it again from its "
            "store with --results, or move it away."
        ) from error
    if not isinstance(content, dict) or not content.keys() >= set(NEEDED):
        raise UnreadableError(
            f"{file.name} in the folder of results holds none of a recipe. Move it away, or give "
            "another folder."
        )
    return content


def shared_versions(versions: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Versions that all runs, or all settings, share; one that differs is left out.

    Args:
        versions: What each of them was made with, such as `python`, by name.

    Returns:
        Those that may change results, by their names.
    """
    found = list(versions)
    return {
        name: value
        for name, value in (found[0] if found else {}).items()
        if name in {"python", "torch", "numpy", "seedproof"}
        and all(other.get(name) == value for other in found)
    }
