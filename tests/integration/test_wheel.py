"""The wheel has the licenses of everything that its pages embed."""

import re
import subprocess
import sys
from email.parser import BytesParser
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

import seedproof as sp

ROOT = Path(__file__).parents[2]
NOTICE = "src/seedproof/report/page/licenses.txt"
# Bundled inside vega-embed; all others are named in vl-convert with their version.
INSIDE = {"fast-json-patch", "semver"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel, and open it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    (path,) = folder.iterdir()
    with ZipFile(path) as file:
        yield file


def embedded_packages():
    """Return the names of the JavaScript packages in vl-convert."""
    (library,) = Path(find_spec("vl_convert").origin).parent.glob("*.so")
    names = re.findall(rb"/npm/([a-z0-9.-]+)@\d", library.read_bytes())
    return {name.decode() for name in names} | INSIDE


def test_licenses_are_in_the_wheel_and_its_metadata(wheel):
    """As PEP 639 wants it."""
    (place,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = BytesParser().parsebytes(wheel.read(place))

    assert metadata["License-Expression"] == "Apache-2.0"
    assert sorted(metadata.get_all("License-File")) == ["LICENSE", NOTICE]
    folder = place.removesuffix("METADATA") + "licenses"
    for name in ("LICENSE", NOTICE):
        assert wheel.read(f"{folder}/{name}") == (ROOT / name).read_bytes()


def test_every_embedded_package_is_named():
    """Also those that a new version of vl-convert brings."""
    text = (ROOT / NOTICE).read_text(encoding="utf-8")
    named = {word.strip(".") for word in re.findall(r"[\w.-]+", text)}

    packages = embedded_packages()
    assert {"vega", "vega-lite", "vega-embed", "d3-array"} <= packages
    assert packages <= named


def test_page_has_the_licenses_before_the_code():
    """A copy of the page is a copy of the code in it."""
    page = sp.measure([[0, 1, 0, 1], [1, 1, 0, 1], [0, 1, 1, 1]]).to_html()

    assert f"/*!\n{(ROOT / NOTICE).read_text(encoding='utf-8')}*/" in page
