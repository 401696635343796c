r"""Write `action-requirements.txt`: what `action.yml` installs, with the hash of every file.

    python docs/scripts/pin_action.py

Versions are those of `constraints.txt`, hashes those of PyPI. Only wheels are listed: nothing is
built while it is installed. It needs `packaging` and the network, and an environment in which the
constraints are installed.
"""

import re
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "action-requirements.txt"
HEADER = """\
# What action.yml installs, with the hashes of all wheels, so that no other file is ever run.
# Written by docs/scripts/pin_action.py from constraints.txt.
"""
ROOTS = ("seedproof", "hatchling")  # the build backend of seedproof is not downloaded again
WINDOWS = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}
SYSTEMS = ({"extra": ""}, {"extra": ""} | WINDOWS)
INTERPRETERS = {"py3", "cp311", "cp312", "cp313", "cp314"}
LINK = re.compile(r'href="[^"]*/([^/"]+\.whl)#sha256=([0-9a-f]{64})"')


def packages() -> list[NormalizedName]:
    """Return the packages that seedproof needs, and those that these need, on any system."""
    todo, names = list(ROOTS), set[NormalizedName]()
    while todo:
        name = canonicalize_name(todo.pop())
        if name in names:
            continue
        names.add(name)
        for text in requires(name) or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate(system) for system in SYSTEMS):
                todo.append(requirement.name)
    return sorted(names - {canonicalize_name("seedproof")})


def hashes(name: str, version: str) -> Iterator[str]:
    """Yield the hash of each wheel of a version that the action may need."""
    with urlopen(f"https://pypi.org/simple/{name}/") as page:
        links = LINK.findall(page.read().decode())
    for file, digest in links:
        if file.split("-")[1] == version:
            tags = parse_wheel_filename(file)[3]
            if any(tag.interpreter in INTERPRETERS or tag.abi == "abi3" for tag in tags):
                yield digest


def main() -> None:
    """Write the file."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    versions = {canonicalize_name(name): version.strip() for name, version in pins}
    entries = []
    for name in packages():
        digests = sorted(set(hashes(name, versions[name])))
        if not digests:
            raise SystemExit(f"{name} {versions[name]} has no wheel")
        entries.append(
            " \\\n".join(
                [f"{name}=={versions[name]}", *(f"    --hash=sha256:{x}" for x in digests)]
            )
        )
    OUT.write_text(HEADER + "\n".join(entries) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
