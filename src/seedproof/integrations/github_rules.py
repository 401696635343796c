"""Rules of a gate in a pull request: from its base branch, never from what it changes."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from seedproof.errors import UnreadableError

# The same names, in the same order, as the command line looks for in the current folder.
FILES = ("seedproof.toml", "pyproject.toml")
NO_RULES = "[gate]\n"
SECONDS = 120.0


def is_pull_request(environment: Mapping[str, str]) -> bool:
    """Return whether the workflow was started by a pull request."""
    return bool(environment.get("GITHUB_BASE_REF"))


def rules_of_base(environment: Mapping[str, str], folder: Path, *, config: str = "") -> Path:
    """Write the file with rules of the base branch to a folder, and return where it is.

    Without such a file in the base branch, the written one has no rules: otherwise the command
    would look for one in the checkout.

    Args:
        environment: Variables of the workflow.
        folder: Folder outside of the checkout.
        config: Path of the file, as seen from the current folder. If omitted, the usual names.

    Returns:
        A file.

    Raises:
        UnreadableError: The base branch cannot be read, or does not have the named file.
    """
    branch = environment["GITHUB_BASE_REF"]
    # A full name cannot be an option.
    _git("fetch", "--no-tags", "--depth=1", "origin", f"refs/heads/{branch}", branch=branch)
    below = _git("rev-parse", "--show-prefix", branch=branch).decode().strip()
    for name in (config,) if config else FILES:
        path = os.path.normpath(f"/{below}/{name}").lstrip("/")  # below the top of the checkout
        entry = _git("ls-tree", "--full-tree", "FETCH_HEAD", "--", path, branch=branch)
        if entry.startswith((b"100644 blob ", b"100755 blob ")):  # no link
            content = _git("cat-file", "blob", f"FETCH_HEAD:{path}", branch=branch)
            file = folder / Path(name).name
            file.write_bytes(content)
            if config or _has_rules(file):
                return file
    if config:
        raise UnreadableError(
            "The base branch {branch!r} has no file {path!r}. Rules of a pull request are read "
            "from its base branch: add the file there first.",
            branch=branch,
            path=config,
        )
    file = folder / FILES[0]
    file.write_text(NO_RULES, encoding="utf-8")
    return file


def _has_rules(file: Path) -> bool:
    """Return whether a file has a table for the gate; one that is not TOML is reported later."""
    import tomllib

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return True
    tool = content.get("tool")
    section = tool.get("seedproof") if isinstance(tool, dict) else None
    return "gate" in (content if file.name == FILES[0] else section or {})


def _git(*words: str, branch: str) -> bytes:
    """Return what git prints; no hook or monitor of the checkout runs."""
    settings = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    try:
        done = subprocess.run(  # noqa: S603 - without a shell
            ["git", *settings, *words],  # noqa: S607 - as installed on the runner
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unreadable(branch, str(error)) from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise _unreadable(branch, lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout


def _unreadable(branch: str, reason: str) -> UnreadableError:
    return UnreadableError(
        "Rules of a pull request are read from its base branch, and {branch!r} cannot be read "
        "({reason}). Check it out with actions/checkout, or pass limits as inputs.",
        branch=branch,
        reason=reason,
    )
