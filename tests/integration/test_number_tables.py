"""Tables of numbers in every form: read in memory, sorted on disk, and ingested to one result."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    DuplicateExampleError,
    InputError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    UnreadableError,
)

N_RUNS, N_EXAMPLES = 3, 40
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(10, 2, (N_RUNS, N_EXAMPLES))
TARGETS = RNG.normal(10, 2, N_EXAMPLES)
IDS = [f"e{index}" for index in RNG.permutation(N_EXAMPLES)]


def long_table(**names: str) -> pa.Table:
    """Return one row per run and example, shuffled, with a cluster and a slice."""
    run, example = np.divmod(np.arange(NUMBERS.size), N_EXAMPLES)
    table = pa.table(
        {
            "run": [f"seed {index + 9}" for index in run],
            "example": [IDS[index] for index in example],
            "value": NUMBERS.ravel(),
            "target": [TARGETS[index] if index % 5 else None for index in example],
            "document": [f"d{index // 4}" for index in example],
            "half": [str(index % 2) for index in example],
        }
    )
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    return shuffled.rename_columns([names.get(name, name) for name in shuffled.column_names])


def levels_table(levels: dict[str, int]) -> pa.Table:
    """Return all combinations of levels, each with a number of members, on ten examples."""
    rng = np.random.default_rng(2)
    grid = np.indices((*levels.values(), 10)).reshape(len(levels) + 1, -1)
    order = rng.permutation(grid.shape[1])
    columns = {name: grid[place][order] for place, name in enumerate(levels)}
    return pa.table(
        {**columns, "example": grid[-1][order], "value": rng.normal(0, 1, grid.shape[1])}
    )


@pytest.fixture
def on_disk(monkeypatch):
    """Let no table be small enough for memory."""
    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def save(request, tmp_path):
    """Return a function that writes a table in one of the formats."""

    def write(table: pa.Table, name: str = "table"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "csv":
            pa.csv.write_csv(table, path)
        elif request.param == "parquet":
            pq.write_table(table, path)
        else:
            lines = "\n".join(json.dumps(row) for row in table.to_pylist())
            path.write_text(lines + "\n", encoding="utf-8")
        return path

    return write


def results(target, **options) -> tuple[dict, list[dict]]:
    report = sp.measure(target, **options)
    return report.summary(), report.examples.to_pylist()


OPTIONS = {"clusters": "document", "slices": ["half"], "tolerance": 1, "thresholds": [9, 11]}


def test_tables_are_sorted_on_disk_to_the_same_result(save, monkeypatch):
    path = save(long_table())
    in_memory = results(path, **OPTIONS)

    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)
    loaded = sp.Predictions.load(path)

    assert loaded.folder is not None
    assert loaded.runs == ("seed 9", "seed 10", "seed 11")
    assert results(path, **OPTIONS) == in_memory


def test_ingested_table_gives_the_same_result(save, seedproof, tmp_path):
    path = save(long_table(run="model", value="price"))
    code, _, err = seedproof(
        "ingest", path, "--out", tmp_path / "store", "--run", "model", "--value", "price"
    )

    assert code == 0, err
    columns = sp.Columns(run="model", value="price")
    assert results(tmp_path / "store", **OPTIONS) == results(path, columns=columns, **OPTIONS)


def test_ingested_trials_stay_trials(seedproof, tmp_path):
    path = tmp_path / "trials.csv"
    pa.csv.write_csv(long_table(run="trial"), path)
    assert seedproof("ingest", path, "--out", tmp_path / "store")[0] == 0

    assert results(tmp_path / "store") == results(path)
    assert sp.measure(tmp_path / "store").summary()["repeats"] == "trials"


@pytest.mark.parametrize("is_single", [False, True])
def test_ingest_uses_single_precision_where_it_is_exact(seedproof, tmp_path, is_single):
    table = long_table()
    values = np.round(table["value"].to_numpy()) if is_single else table["value"].to_numpy()
    table = table.set_column(2, "value", pa.array(values))
    pq.write_table(table, tmp_path / "table.parquet")
    assert seedproof("ingest", tmp_path / "table.parquet", "--out", tmp_path / "store")[0] == 0

    parts = list((tmp_path / "store").rglob("part-*.parquet"))
    types = {str(pq.read_schema(part).field("value").type) for part in parts}
    assert types == {"float" if is_single else "double"}


def test_streams_are_sorted_on_disk():
    table = long_table()
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())

    assert results(stream, **OPTIONS) == results(table, **OPTIONS)


# ------------------------------------------------------------------------------------ wide tables


def wide_table(prefix: str, *, has_targets: bool = True) -> pa.Table:
    """Return one column of numbers per run."""
    targets = {"target": TARGETS} if has_targets else {}
    runs = {f"{prefix}{index + 9}": numbers for index, numbers in enumerate(NUMBERS)}
    return pa.table({"id": IDS, **targets, **runs, "document": [f"d{x // 4}" for x in range(40)]})


@pytest.mark.parametrize(
    ("prefix", "has_targets", "columns"),
    [
        ("seed_", True, {}),
        ("model ", True, {"wide": "model "}),
        ("score-", False, {"value": "score-"}),
        ("s", False, {"value": "s9,s10,s11"}),
    ],
)
@pytest.mark.usefixtures("on_disk")
def test_wide_tables_have_one_run_per_column(save, prefix, has_targets, columns):
    path = save(wide_table(prefix, has_targets=has_targets))
    targets = {"targets": TARGETS} if has_targets else {}
    arrays = sp.measure(NUMBERS, ids=IDS, runs=[f"{prefix}{x}" for x in (9, 10, 11)], **targets)
    given = {"columns": sp.Columns(**columns)}

    for target in (path, wide_table(prefix, has_targets=has_targets)):  # on disk, in memory
        report = sp.measure(target, **given)
        assert report.summary()["metrics"] == arrays.summary()["metrics"]
        assert report.measurement.runs == arrays.measurement.runs


def test_wide_tables_of_classes_stay_classes(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("id,label,seed_0,seed_1\n1,0,0,0\n2,1,1,0\n", encoding="utf-8")

    assert sp.Predictions.load(path).kind == "labels"


# ----------------------------------------------------------------------------------------- levels


@pytest.mark.parametrize(
    "levels",
    [{"run": 2, "trial": 11}, {"trial": 3, "judge": 2}, {"run": 2, "trial": 2, "judge": 3}],
)
def test_levels_are_combined_in_natural_order(levels, seedproof, tmp_path, monkeypatch):
    path = tmp_path / "levels.csv"
    pa.csv.write_csv(levels_table(levels), path)
    codes = np.indices(tuple(levels.values())).reshape(len(levels), -1)

    loaded = sp.Predictions.load(path)

    assert loaded.runs == tuple("/".join(map(str, repeat)) for repeat in codes.T)
    assert loaded.source.settings.levels.names == tuple(levels)
    assert loaded.source.settings.levels.codes == tuple(map(tuple, codes.tolist()))
    assert loaded.source.settings.are_trials == ("run" not in levels)
    assert seedproof("ingest", path, "--out", tmp_path / "store")[0] == 0
    in_memory = results(path)
    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)
    for target in (path, tmp_path / "store"):
        again = sp.Predictions.load(target)
        assert (again.runs, again.source.settings) == (loaded.runs, loaded.source.settings)
        assert results(target) == in_memory


def test_columns_of_levels_are_named(seedproof, tmp_path):
    table = levels_table({"run": 2, "trial": 2, "judge": 2})
    names = {"run": "model", "trial": "attempt", "judge": "grader"}
    path = tmp_path / "graded.csv"
    pa.csv.write_csv(table.rename_columns([names.get(x, x) for x in table.column_names]), path)

    options = [word for role, name in names.items() for word in (f"--{role}", name)]
    code, out, err = seedproof("measure", path, *options, "--json")

    assert code == 0, err
    assert json.loads(out)["metrics"] == sp.measure(table).summary()["metrics"]


def test_a_level_with_one_member_is_no_level():
    """A table may name its only model, or its only judge."""
    table = levels_table({"run": 1, "trial": 3, "judge": 1})

    loaded = sp.Predictions.load(table)

    assert loaded.runs == ("0", "1", "2")
    assert loaded.repeats == "trials"
    assert loaded.source.settings.levels is None


def test_trials_may_be_named_anew_in_each_run():
    table = levels_table({"run": 2, "trial": 2})
    trial = [f"{run}-{trial}" for run, trial in zip(*map(pa.ChunkedArray.to_pylist, table.columns[:2]), strict=True)]  # fmt: skip
    table = table.set_column(1, "trial", pa.array(trial))

    assert sp.Predictions.load(table).source.settings.levels.codes == ((0, 0, 1, 1), (0, 1, 0, 1))


def test_chosen_runs_keep_their_levels():
    loaded = sp.Predictions.load(levels_table({"run": 2, "trial": 2}))

    assert loaded.first(1).source.settings.levels.codes == ((0, 0), (0, 1))
    assert loaded.first(2) is loaded


@pytest.mark.parametrize("is_large", [False, True])
def test_missing_combinations_are_refused(tmp_path, monkeypatch, is_large):
    table = levels_table({"run": 2, "trial": 3})
    mask = [(row["run"], row["trial"]) != (1, 2) for row in table.to_pylist()]
    pa.csv.write_csv(table.filter(pa.array(mask)), tmp_path / "part.csv")
    if is_large:
        monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)

    with pytest.raises(MissingExampleError) as refused:
        sp.measure(tmp_path / "part.csv")

    assert (refused.value.fields["level"], refused.value.fields["missing"]) == ("trial", "2")


# ----------------------------------------------------------------------------------------- errors


def changed(column: str, row: int, value: object) -> pa.Table:
    """Return the long table as text, with another value in one cell."""
    table = long_table()
    columns = {name: table[name].cast(pa.string()).to_pylist() for name in table.column_names}
    columns[column][row] = value
    return pa.table(columns)


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("value", "good", DtypeError),
        ("value", "inf", DtypeError),
        ("value", "", MissingValueError),
        ("value", "NaN", MissingValueError),
        ("target", "high", DtypeError),
        ("target", "99", LabelConflictError),
        ("example", "other", MissingExampleError),
        ("run", "", MissingValueError),
    ],
)
def test_wrong_cells_are_refused(tmp_path, monkeypatch, *, is_large, column, value, error):
    pa.csv.write_csv(changed(column, 7, value), tmp_path / "wrong.csv", pa.csv.WriteOptions(quoting_style="none"))  # fmt: skip
    if is_large:
        monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)

    with pytest.raises(error):
        sp.measure(tmp_path / "wrong.csv")


@pytest.mark.usefixtures("on_disk")
def test_an_example_that_comes_twice_is_refused_on_disk(tmp_path):
    table = long_table()
    pq.write_table(pa.concat_tables([table, table[:1]]), tmp_path / "twice.parquet")

    with pytest.raises(DuplicateExampleError):
        sp.measure(tmp_path / "twice.parquet")


def test_common_examples_are_measured_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pq.write_table(long_table()[:-10], path)
    in_memory = results(path, common_examples=True)

    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**12)
    assert results(path, common_examples=True)[0]["metrics"] == in_memory[0]["metrics"]


def test_a_table_without_runs_is_refused():
    with pytest.raises(ColumnError):
        sp.measure(long_table().drop_columns("run"))


def test_the_command_that_works_is_suggested(tmp_path, seedproof):
    table = long_table(run="attempt", example="task", value="score")
    pa.csv.write_csv(table, tmp_path / "graded.csv")

    code, _, err = seedproof("measure", tmp_path / "graded.csv")
    assert code != 0
    words = err.split("--example task")[1].split()
    assert words[:4] == ["--value", "score", "--trial", "attempt"]


def test_files_share_the_memory(tmp_path, monkeypatch):
    for run, numbers in enumerate(NUMBERS):
        table = pa.table({"example": IDS, "value": numbers})
        pq.write_table(table, tmp_path / f"seed{run}.parquet")
    in_memory = sp.Predictions.load(tmp_path)
    size = max(path.stat().st_size for path in tmp_path.iterdir())

    monkeypatch.setattr("seedproof.records.number_tables.data_bytes", lambda _: 8 * 2 * size)
    on_disk = sp.Predictions.load(tmp_path)

    assert in_memory.folder is None
    assert on_disk.folder is not None
    assert sp.measure(on_disk).to_json() == sp.measure(in_memory).to_json()


def test_one_file_per_run_may_have_columns_of_other_types(tmp_path):
    """Numbers of one run happen to be whole, ids of another to be numbers."""
    for index, (ids, values) in enumerate([(["1", "b"], ["1", "2"]), (["1", "b"], ["1.5", "2"])]):
        rows = "\n".join(f"{x},{y}" for x, y in zip(ids, values, strict=True))
        (tmp_path / f"seed{index}.csv").write_text(f"example,value\n{rows}\n", encoding="utf-8")

    report = sp.measure(sorted(tmp_path.glob("*.csv")))

    assert report["mean"].value == pytest.approx((1 + 2 + 1.5 + 2) / 4)


# ------------------------------------------------------------------------------------------- .npz


def test_numbers_of_npz_files_are_measured(tmp_path, seedproof):
    np.savez(tmp_path / "all.npz", values=NUMBERS, targets=TARGETS, ids=IDS)
    for index, numbers in enumerate(NUMBERS):
        np.savez(tmp_path / f"run{index}.npz", values=numbers, targets=TARGETS, ids=IDS)
    expected = sp.measure(NUMBERS, targets=TARGETS, ids=IDS, thresholds=9).summary()["metrics"]

    for files in (["all.npz"], [f"run{index}.npz" for index in range(N_RUNS)]):
        paths = [tmp_path / name for name in files]
        code, out, err = seedproof("measure", *paths, "--threshold", "9", "--json")
        assert code == 0, err
        assert json.loads(out)["metrics"] == expected


def test_npz_files_with_different_targets_are_refused(tmp_path):
    for index, numbers in enumerate(NUMBERS):
        np.savez(tmp_path / f"run{index}.npz", values=numbers, targets=TARGETS + index)

    with pytest.raises(InputError):
        sp.measure(sorted(tmp_path.glob("*.npz")))


def test_numbers_of_npz_files_have_a_limit(tmp_path):
    np.savez_compressed(tmp_path / "large.npz", values=np.zeros((4, 4_000_000)))

    with pytest.raises(UnreadableError):
        sp.measure(tmp_path / "large.npz", memory="100MB")
