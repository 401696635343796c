"""The JSON files of a store carry a digest: changed files are refused."""

import json
from types import SimpleNamespace

import pytest

from seedproof.errors import DamagedStoreError, NotFoundError, SchemaVersionError, StoreError
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest, StudyManifest, unsealed
from seedproof.testing.errors import WithFields

RUN = RunManifest(
    run_id="f00d",
    name="seed 3 🙂",
    parts=(RecordedFile("predictions/all/part-0.parquet", 5, 100, "aa", "bb", 40),),
    arm="aswa",
    status="finished",
    seeds={"init": 3, "order": 2**63},
    facts={"versions": {"numpy": "2.0"}, "threads": 1},
    scalars={"loss": 0.25},
)


@pytest.fixture(autouse=True)
def part(tmp_path):
    """Write the file of the run, and return its path."""
    path = tmp_path / RUN.parts[0].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * RUN.parts[0].size)
    return path


def test_run_without_its_files_is_not_committed(tmp_path, part):
    """They are forced to the disk first."""
    part.unlink()

    with pytest.raises(FileNotFoundError):
        RUN.commit(Location.of(tmp_path))

    assert not (tmp_path / "run.json").exists()


def test_a_run_is_loaded_as_it_was_committed(tmp_path):
    """Names, parts, seeds, facts and scalars survive."""
    RUN.commit(Location.of(tmp_path))

    assert RunManifest.load(Location.of(tmp_path)) == RUN


def test_a_study_is_loaded_as_it_was_written(tmp_path):
    """With and without a plan."""
    for name, plan in (("bare", None), ("planned", {"vary": ["init", "order"], "runs": 10})):
        study = StudyManifest(name, 4096, plan)
        study.write(Location.of(tmp_path / name))

        assert StudyManifest.load(Location.of(tmp_path / name)) == study


def test_file_has_its_version_and_digest(tmp_path):
    """Other programs may read it: plain JSON with the keys of the documented format."""
    RUN.commit(Location.of(tmp_path))

    content = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert content["schema"] == "1.6"
    assert len(content["digest"]) == 32
    assert content["name"] == "seed 3 🙂"


def test_every_flipped_byte_is_refused(tmp_path):
    """Every change of a byte of `run.json` is detected."""
    RUN.commit(Location.of(tmp_path))
    path = tmp_path / "run.json"
    content = path.read_bytes()

    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 0x01
        path.write_bytes(bytes(changed))
        try:
            run = RunManifest.load(Location.of(tmp_path))
        except StoreError:
            continue
        assert run == RUN, position  # a space between two keys became another one


def test_a_digest_of_other_content_is_refused(tmp_path):
    """Valid JSON that was edited by hand is detected."""
    StudyManifest("mine", 10).write(Location.of(tmp_path))
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace("10", "11"))

    digest = json.loads(path.read_text())["digest"]
    expected = WithFields(path=Location.of(tmp_path) / "study.json", digest=digest)
    with pytest.raises(DamagedStoreError, check=expected):
        StudyManifest.load(Location.of(tmp_path))


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "null", '"text"', "{}", '{"digest": "x"}'])
def test_invalid_manifest_is_refused(tmp_path, content):
    """Half a file, or another file of that name."""
    (tmp_path / "run.json").write_text(content)

    expected = WithFields(path=Location.of(tmp_path) / "run.json")
    with pytest.raises(DamagedStoreError, check=expected):
        RunManifest.load(Location.of(tmp_path))


def test_a_missing_manifest_is_not_found(tmp_path):
    """A folder without `study.json` is not a store."""
    with pytest.raises(NotFoundError, check=WithFields(path=Location.of(tmp_path) / "study.json")):
        StudyManifest.load(Location.of(tmp_path))


def test_unreachable_store_is_reported_with_its_reason():
    """The first line of the system's error."""
    reason = "AWS Error NETWORK_CONNECTION: no route"

    def refuse():
        raise OSError(f"{reason}.\nmany more lines")

    with pytest.raises(NotFoundError, check=WithFields(reason=reason)):
        unsealed(SimpleNamespace(open_read=refuse))


def test_a_newer_schema_is_refused(tmp_path, monkeypatch):
    """A store of a later seedproof is not read."""
    with monkeypatch.context() as later:
        later.setattr("seedproof.records.schema.SCHEMA_VERSION", (1, 7))
        StudyManifest("mine", 10).write(Location.of(tmp_path))

    with pytest.raises(SchemaVersionError, check=WithFields(version="1.7", newest="1.6")):
        StudyManifest.load(Location.of(tmp_path))
