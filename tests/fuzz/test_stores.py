"""Damaged stores: each is refused, or measured to the same values."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seedproof as sp
from seedproof.records.items import NO_ITEM, Relevance, sorted_items
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest, sealed
from seedproof.records.schema import VALUE_COLUMNS, Kind, Layout
from seedproof.records.text_records import reference_lists
from seedproof.records.writer import RunWriter

CLASSES = ("cat", "dog", "füchse 🦊")
LABELS = np.array([0, 1, 2, -1, 2, 1, 0], dtype=np.int32)
INTEGER_IDS = pa.array([-3, 0, 1, 2, 10, 11, 2**62])
TEXT_IDS = pa.array(["", "01", "1", "a\nb", "z", "é", "🙂"])
NOTES = pa.array(["one", None, "<b>three</b>", "", "five", "six", None])
N_RUNS = 3
ROWS_PER_GROUP = 2
GROUPS_PER_PART = 2
# Fields of a file in a run's manifest.
CHECKED = ("path", "rows", "size", "digest", "footer_digest", "footer_size")
# Outcome: figures and notes are those of the undamaged store.
SAME = "the same"

Files = dict[str, bytes]


@dataclass(frozen=True)
class Whole:
    """An undamaged store: its files by path, and its results."""

    files: Files
    results: tuple[Any, ...]

    def runs(self) -> list[str]:
        """The folders of its runs."""
        return sorted({name.split("/")[1] for name in self.files if name.startswith("runs/")})

    def parts(self) -> list[str]:
        """Its Parquet files."""
        return sorted(name for name in self.files if name.endswith(".parquet"))


def write(path: Path, kind: Kind, *, text_ids: bool, extras: bool, seed: int) -> None:
    """Three runs of seven examples, in parts of two row groups of two rows."""
    rng = np.random.default_rng(seed)
    place = Location.of(path)
    StudyManifest("fuzzed", ROWS_PER_GROUP, plan={"vary": ["init"]}).write(place)
    for index in range(N_RUNS):
        # With predictions alone, every run may know other classes.
        classes = CLASSES[::-1] if kind is Kind.LABELS and index == 1 and extras else CLASSES
        layout = Layout(
            kind,
            () if kind is Kind.TEXTS else classes,
            text_ids=text_ids,
            n_top=2 if kind is Kind.TOP or kind.has_items else 0,
            extras=(("note", pa.string()),) if extras else (),
            graded=kind is Kind.RANKINGS and extras,
            by_meaning=extras,
            judged=not extras,
        )
        labels = as_gold(
            kind, LABELS if classes == CLASSES else np.where(LABELS < 0, -1, 2 - LABELS)
        )
        run = RunManifest(f"id{index}", f"seed {index}", seeds={"init": index}, facts={"gpu": "no"})
        with RunWriter(place, run, layout, rows_per_group=ROWS_PER_GROUP) as writer:
            probs = (rng.multinomial(8, [0.5, 0.3, 0.2], len(LABELS)) / 8).astype(np.float32)
            ids = TEXT_IDS if text_ids else INTEGER_IDS
            values = as_texts(probs, layout) if kind is Kind.TEXTS else as_values(kind, probs)
            writer.write(ids, labels, values, [NOTES] if extras else [])


def as_gold(kind: Kind, labels: np.ndarray) -> Any:
    """Labels in the form that a kind keeps."""
    if kind is Kind.NUMBERS:
        return np.where(labels < 0, np.nan, labels)
    if kind is Kind.TEXTS:
        return reference_lists([() if label < 0 else (CLASSES[label],) for label in labels])
    if kind.has_items:
        grades = np.where(labels < 0, 0.0, labels + 1.0)[:, np.newaxis]
        return Relevance(labels[:, np.newaxis], labels >= 0, grades)
    return labels


def as_texts(probs: np.ndarray, layout: Layout) -> pa.Table:
    """The most probable class as a text, of which some are missing, and its meaning or mark."""
    best = probs.argmax(axis=1)
    texts = [
        CLASSES[i].upper() if p < 0.7 else None for i, p in zip(best, probs.max(1), strict=True)
    ]
    further = {"equivalent": pa.array([CLASSES[index] for index in best])}
    if layout.judged:
        further = {
            "correct": pa.array(
                [
                    bool(i == label) if label >= 0 else None
                    for i, label in zip(best, LABELS, strict=True)
                ]
            )
        }
    return pa.table({"text": pa.array(texts, pa.string()), **further})


def as_values(kind: Kind, probs: np.ndarray) -> Any:
    """Probabilities in the form that a kind keeps."""
    if kind is Kind.NUMBERS:
        return probs[:, 0]
    if kind is Kind.PROBS:
        return probs
    if kind is Kind.LABELS:
        return probs.argmax(axis=1).astype(np.int32)
    top = np.argsort(-probs, axis=1, kind="stable")[:, :2].astype(np.int32)
    if kind.has_items:
        items = np.where(np.take_along_axis(probs, top, axis=1) > 0.3, top, NO_ITEM)
        return items if kind is Kind.RANKINGS else sorted_items(items)
    return top, np.take_along_axis(probs, top, axis=1)


def look(report: sp.Report) -> tuple[Any, ...]:
    """Return all results, with the user's column separate."""
    examples = report.examples.to_pydict()
    notes = examples.pop("note", None)
    return report.to_json(), examples, notes


@pytest.fixture
def stores(tmp_path, monkeypatch) -> list[Whole]:
    """One store of each kind with integer ids and further columns, and one with neither."""
    numbers = count(1)
    # The names of files hold a random number: here one that is the same every time.
    monkeypatch.setattr("seedproof.records.writer.uuid4", lambda: UUID(int=next(numbers) << 96))
    stores = []
    with patch("seedproof.records.writer.GROUPS_PER_PART", GROUPS_PER_PART):
        for seed, (kind, extras) in enumerate((k, e) for k in VALUE_COLUMNS for e in (True, False)):
            path = tmp_path / f"whole-{seed}"
            write(path, kind, text_ids=not extras, extras=extras, seed=seed)
            files = {
                file.relative_to(path).as_posix(): file.read_bytes()
                for file in sorted(path.rglob("*"))
                if file.is_file()
            }
            stores.append(Whole(files, look(sp.measure(path))))
    return stores


def unpacked(files: Files, folder: Path) -> Path:
    """The store with these files."""
    for name, content in files.items():
        path = folder / "store" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "store"


@pytest.fixture
def check(watched, check_message, fresh) -> Callable[[Files, Whole], str]:
    """Measures a damaged store; returns whether it was refused or is as before."""

    def measure(files: Files, whole: Whole) -> str:
        place = unpacked(files, fresh())
        with watched():
            try:
                report = sp.measure(place)
            except sp.SeedproofError as error:
                check_message(str(error))
                return f"refused {error.code}"
            summary, examples, notes = look(report)
            del report
        assert summary == whole.results[0]
        assert examples == whole.results[1]
        return SAME if notes == whole.results[2] else "the same figures, other notes"

    return measure


# ---------------------------------------------------------------------------------- what happens


def changed(content: bytes, draw: st.DrawFn) -> bytes:
    """Bytes of which some are others, lost, new or nothing but zeros."""
    start = draw(st.integers(0, max(len(content) - 1, 0)))
    stop = start + draw(st.sampled_from([1, 1, 2, 8, 64]))
    piece = content[start:stop]
    what = draw(
        st.sampled_from(["bit", "bit", "bit", "byte", "zeros", "lost", "new", "cut", "more"])
    )
    if what == "bit" and piece:
        return (
            content[:start]
            + bytes([piece[0] ^ 1 << draw(st.integers(0, 7))])
            + content[start + 1 :]
        )
    if what == "byte":
        new = draw(st.binary(min_size=len(piece), max_size=len(piece)))
        return content[:start] + new + content[stop:]
    if what == "zeros":
        return content[:start] + bytes(len(piece)) + content[stop:]
    if what == "lost":
        return content[:start] + content[stop:]
    if what == "new":
        return content[:start] + draw(st.binary(min_size=1, max_size=8)) + content[start:]
    return content[:start] if what == "cut" else content + draw(st.binary(min_size=1, max_size=8))


def with_changed_bytes(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """Somewhere in one file or two."""
    files = dict(whole.files)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        name = draw(st.sampled_from(sorted(files)))
        files[name] = changed(files[name], draw)
    return files


def with_lying_page(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """The header of a page, which has no checksum."""
    name = draw(st.sampled_from(whole.parts()))
    content = bytearray(whole.files[name])
    footer = pq.read_metadata(BytesIO(content))
    group = footer.row_group(draw(st.integers(0, footer.num_row_groups - 1)))
    column = group.column(draw(st.integers(0, group.num_columns - 1)))
    starts = [column.dictionary_page_offset, column.data_page_offset]
    start = draw(st.sampled_from([place for place in starts if place is not None]))
    # Small even numbers are how Thrift writes the encodings.
    value = draw(st.integers(0, 255) | st.sampled_from(range(0, 20, 2)))
    content[start + draw(st.integers(0, 40))] = value
    return whole.files | {name: bytes(content)}


def with_swapped_files(whole: Whole, draw: st.DrawFn, others: list[Whole]) -> Files:
    """Two files trade places, within the store or with another store."""
    files = dict(whole.files)
    name = draw(st.sampled_from(sorted(files)))
    if draw(st.booleans()):
        other = draw(st.sampled_from(sorted(set(files) - {name})))
        files[name], files[other] = files[other], files[name]
        return files
    foreign = draw(st.sampled_from([store for store in others if store is not whole])).files
    alike = [path for path in foreign if Path(path).suffix == Path(name).suffix]
    return files | {name: foreign[draw(st.sampled_from(sorted(alike)))]}


def with_lost_file(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """A file is gone; not `run.json`, without which a run was never committed."""
    lost = draw(st.sampled_from([n for n in sorted(whole.files) if not n.endswith("run.json")]))
    return {name: content for name, content in whole.files.items() if name != lost}


def with_renamed_folder(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """A run's folder has another name, is there twice, or holds another run."""
    run = draw(st.sampled_from(whole.runs()))
    new = draw(st.sampled_from([*whole.runs(), "id9", "copy of id0", ".id0", "ID0"]))
    moved = {
        name.replace(f"runs/{run}/", f"runs/{new}/"): content
        for name, content in whole.files.items()
        if name.startswith(f"runs/{run}/")
    }
    rest = dict(whole.files) if draw(st.booleans()) else without_run(whole.files, run)
    return rest | moved if new != run else dict(whole.files)


def without_run(files: Files, run: str) -> Files:
    """The files of all other runs."""
    return {n: content for n, content in files.items() if not n.startswith(f"runs/{run}/")}


def with_renamed_file(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """A Parquet file has another name, or stands in another folder."""
    name = draw(st.sampled_from(whole.parts()))
    new = draw(st.sampled_from([name + "~", name.replace("/all/", "/test/"), *whole.parts()]))
    files = {other: content for other, content in whole.files.items() if other != name}
    return files | {new: whole.files[name]}


def with_stray_files(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """Foreign files and folders."""
    where = ["", "runs/", "runs/id0/", "runs/id9/", "runs/id0/predictions/all/"]
    names = [".DS_Store", "part-00000009-00000.parquet", "run.json~", "study.json.bak"]
    stray = draw(st.sampled_from(where)) + draw(st.sampled_from(names))
    content = draw(st.sampled_from([b"", b"{}", whole.files[whole.parts()[0]]]))
    return whole.files | {stray: content}


def with_edited_json(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """A manifest was edited without its digest, or formatted differently."""
    name = draw(st.sampled_from([n for n in sorted(whole.files) if n.endswith(".json")]))
    content = json.loads(whole.files[name])
    if not draw(st.integers(0, 4)):  # the same in other words
        return whole.files | {
            name: json.dumps(content, indent=draw(st.sampled_from([None, 4]))).encode()
        }
    edit(content, draw)
    return whole.files | {name: json.dumps(content).encode()}


def edit(content: Any, draw: st.DrawFn) -> None:
    """Changes one value, however deep, or takes it away."""
    while True:
        keys = sorted(content) if isinstance(content, dict) else list(range(len(content)))
        key = draw(st.sampled_from(keys))
        inner = content[key]
        if not isinstance(inner, dict | list) or not inner or not draw(st.integers(0, 2)):
            break
        content = inner
    if draw(st.integers(0, 3)):
        content[key] = draw(ODD_VALUES.filter(lambda value: value != inner))
    else:
        del content[key]


ODD_VALUES = st.sampled_from(
    [None, True, 0, 1, -1, 2, 3, 7, 2**70, 1.5, "", "1.0", "2.0", "0", "x", [], {}, [{}], {"a": 1}]
)


def with_forged_parts(whole: Whole, draw: st.DrawFn, _others: list[Whole]) -> Files:
    """A manifest has wrong facts about its files, and a correct digest."""
    name = draw(st.sampled_from([n for n in sorted(whole.files) if n.endswith("run.json")]))
    content = json.loads(whole.files[name])
    content = {key: value for key, value in content.items() if key not in {"schema", "digest"}}
    parts = content["parts"]
    what = draw(st.sampled_from(["value", "value", "order", "lost", "twice", "key"]))
    if what == "order":
        parts.reverse()
    elif what == "lost":
        parts.pop(draw(st.integers(0, len(parts) - 1)))
    elif what == "twice":
        parts.append(draw(st.sampled_from(parts)))
    elif what == "key":
        edit(content | {"parts": parts}, draw)
        content["newer"] = 1
    else:
        part = draw(st.sampled_from(parts))
        part[draw(st.sampled_from(CHECKED))] = draw(ODD_VALUES)
    return whole.files | {name: sealed(content)}


HAPPENINGS = (
    *[with_changed_bytes] * 4,
    *[with_lying_page] * 3,
    with_swapped_files,
    with_lost_file,
    with_renamed_folder,
    with_renamed_file,
    with_stray_files,
    with_edited_json,
    with_forged_parts,
)


# ------------------------------------------------------------------------------------------ tests


def test_damaged_store_is_refused_or_measured_to_the_same_values(stores, check, sized):
    """No damage to the files of a store changes a number."""
    seen: Counter[str] = Counter()
    chosen = sized(ci=180, full=1200)

    @chosen
    @given(
        place=st.integers(0, len(stores) - 1), happens=st.sampled_from(HAPPENINGS), data=st.data()
    )
    def attempt(place, happens, data):
        whole = stores[place]

        files = happens(whole, data.draw, stores)

        seen[check(files, whole)] += 1

    attempt()
    assert seen.total() >= chosen.max_examples
    assert sum(n for what, n in seen.items() if what.startswith("refused")) > 0.3 * seen.total()
    assert seen[SAME] > 0


def test_uncommitted_run_is_ignored(stores, watched, fresh):
    """A store with a run that lacks `run.json` equals a store without that run."""
    for whole in stores:
        lost = {name: c for name, c in whole.files.items() if name != "runs/id1/run.json"}
        gone = without_run(whole.files, "id1")
        with watched():
            results = []
            for files in (lost, gone):
                report = sp.measure(unpacked(files, fresh()))
                results.append(look(report))
                del report

        assert results[0] == results[1]
        assert json.loads(results[0][0])["runs"] == ["seed 0", "seed 2"]
