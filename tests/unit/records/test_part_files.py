"""Parts of a run, opened one at a time."""

import pyarrow as pa
import pytest

from seedproof.errors import DamagedStoreError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.run_reader import PartFiles
from seedproof.records.schema import Group, ids_digest
from seedproof.records.writer import PartWriter
from seedproof.testing.errors import WithFields

SCHEMA = pa.schema([("example", pa.int64()), ("value", pa.int64())])


@pytest.fixture
def write(tmp_path):
    """Writes the parts of a run, each a list of row groups, each a list of ids."""

    def write_parts(*parts, claimed=None):
        store = Location.of(tmp_path)
        written = []
        for part_idx, groups in enumerate(parts):
            folder = store / "runs" / "id0"
            writer = PartWriter(folder, f"explanations/test/m/part-{part_idx}.parquet", SCHEMA)
            for ids in groups:
                table = pa.table({"example": ids, "value": [10 * i for i in ids]}, schema=SCHEMA)
                said = ids_digest(pa.array(ids if claimed is None else claimed))
                writer.write(table, Group(len(ids), 0, said, ""))
            written.append(writer.close({"kind": "explanations"}))
        run = RunManifest("id0", "7", tuple(written))
        return PartFiles(store, run, "explanations/test/m/")

    return write_parts


def test_row_groups_are_counted_over_all_parts(write):
    """Whichever file they are in."""
    files = write([[1, 2], [3]], [[4], [5, 6]])

    rows = [files.read(i, ["value"]).column("value").to_pylist() for i in (3, 0, 2, 1)]

    assert rows == [[50, 60], [10, 20], [40], [30]]
    assert [group.rows for group in files.groups] == [2, 1, 1, 2]
    assert files.file_of(2).path.endswith("part-1.parquet")


def test_facts_and_columns_are_those_of_the_first_part(write):
    """The footer without its groups."""
    files = write([[1]])

    assert files.facts["kind"] == "explanations"
    assert "groups" not in files.facts
    assert files.schema.names == ["example", "value"]


def test_a_run_may_have_no_such_part(write):
    """Then there is nothing to read."""
    files = write()

    assert (files.groups, files.facts) == ([], {})


def test_ids_that_are_not_those_of_the_footer_are_damage(write):
    """Two files that traded their places would look well by themselves."""
    files = write([[1, 2]], claimed=[1, 3])

    assert files.read(0, ["value"]).num_rows == 2
    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="7")):
        files.read(0, ["example"])
