"""Stores with right digests and wrong content: refused by name, at once, and without a traceback."""

import json
import os
import shutil
import time

import pyarrow.parquet as pq
import pytest

from seedproof.records.manifest import sealed
from seedproof.records.schema import digest
from seedproof.records.writer import FOOTER_KEY

SCRIPT = """
import numpy as np
import seedproof as sp

run = sp.current_run()
answers = np.random.default_rng(0).integers(0, 2, 50)
answers[run.rng("init").integers(0, 50, 9)] ^= 1
run.log_predictions("test", predictions=answers, labels=[0, 1] * 25)
"""
TRAIN = "run train.py --seeds 2 --arms none,new --engine serial --store store"
READING = {
    "measure": "measure store --arm none",
    "compare": "compare store",
    "gate": "gate store --arm none --max flip_rate=0.9",
    "report": "report store --arm none --figure votes",
    "decide": "decide store store --arm new --baseline-arm none",
    "plan": "plan --pilot store --arm none --detect 0.1",
}
EVERY = READING | {"status": "status store", "run": TRAIN, "blame": "blame store --arm none"}
MAIN = {verb: EVERY[verb] for verb in ("measure", "status", "compare", "gate", "run")}
DEEP = 100_000
# Each is refused after less than this time of the processor.
SECONDS = 1.0


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Return an empty folder, for the intact study of the first test."""
    return tmp_path_factory.mktemp("study")


@pytest.fixture
def store(original, seedproof, tmp_path):
    """Return a copy of an intact study of two arms with two runs each, in the current folder."""
    if not list(original.iterdir()):
        (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
        for command in (TRAIN, "measure store --arm none --out saved"):
            code, _, err = seedproof(*command.split())
            assert code == 0, err
        shutil.copytree(tmp_path, original, dirs_exist_ok=True)
        for command in EVERY.values():  # so that everything is imported
            _, _, err = seedproof(*command.split())
            assert "SP2" not in err
        shutil.rmtree(tmp_path / "store")
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path / "store"


def first_run(store):
    """Return the folder of a run of the arm `none`."""
    manifests = sorted(store.glob("runs/*/run.json"))
    return next(path.parent for path in manifests if json.loads(path.read_text())["arm"] == "none")


def rewrite(path, change):
    """Change a JSON file, and give it the digest of its new content."""
    content = json.loads(path.read_bytes())
    del content["digest"], content["schema"]
    change(content)
    path.write_bytes(sealed(content))


def assign(*keys):
    """Return a change that replaces the value at a path of keys, the last of which is the value."""
    *way, last, value = keys

    def change(content):
        for key in way:
            content = content[key]
        content[last] = value

    return change


def check_refused(seedproof, verbs, code="SP201"):
    """Check that each verb fails in one line with this code, soon."""
    for verb, command in verbs.items():
        begin = time.process_time()
        status, out, err = seedproof(*command.split())
        seconds = time.process_time() - begin
        assert (status, out) == (2, ""), (verb, out, err)
        assert err.startswith(f"error {code}: "), (verb, err)
        assert err.count("\n") == 1, (verb, err)
        assert seconds < SECONDS, (verb, seconds)


PLANS = {
    "text": assign("plan", "all"),
    "no-seeds": assign("plan", "seeds", 3),
    "kind": assign("plan", "seeds", "kind", "spiral"),
    "billion": assign("plan", "seeds", "levels", dict.fromkeys(("init", "order"), 10**9)),
    "product": assign("plan", "seeds", {"kind": "factorial", "levels": {"init": 9**9}, "root": 0}),
    "huge-number": assign("plan", "seeds", "levels", "init", 10**300),
    "negative": assign("plan", "seeds", "levels", "init", -1),
    "no-levels": assign("plan", "seeds", "levels", {}),
    "source": assign("plan", "seeds", "levels", "weather", 2),
    "level-text": assign("plan", "seeds", "levels", "init", "2"),
    "root": assign("plan", "seeds", "root", None),
    "arms-text": assign("plan", "arms", "none"),
    "arm-number": assign("plan", "arms", ["none", 1]),
    "equal-arms": assign("plan", "arms", ["none", "none"]),
    "many-arms": assign("plan", "arms", [str(i) for i in range(60_000)]),
    "arguments": assign("plan", "arguments", {"a": 1}),
    "threads": assign("plan", "threads", "many"),
    "name": assign("name", ["store"]),
    "no-name": lambda content: content.pop("name"),
    "rows": assign("rows_per_group", "all"),
    "runs": assign("runs", [1, 2]),
    "other-file": assign("parts", []),
    "surrogate": None,
}


@pytest.mark.parametrize("change", PLANS)
def test_study_of_wrong_types_is_refused(seedproof, store, change):
    path = store / "study.json"
    if PLANS[change] is None:
        content = json.dumps(json.loads(path.read_bytes()) | {"name": "\ud800"})
        path.write_text(content, encoding="ascii")
    else:
        rewrite(path, PLANS[change])

    check_refused(seedproof, EVERY if change == "kind" else MAIN)


RUNS = {
    "name": assign("name", 3),
    "arm": assign("arm", None),
    "status": assign("status", {"a": 1}),
    "seeds": assign("seeds", "init", 1.5),
    "scalars": assign("scalars", {"loss": "low"}),
    "facts": assign("facts", []),
    "seconds": assign("facts", "seconds", [1]),
    "code": assign("facts", "code", ["train.py"]),
    "notes": assign("facts", "notes", {"a": 1}),
    "parts": assign("parts", "path"),
    "part": assign("parts", 0, "path"),
    "no-path": lambda content: content["parts"][0].pop("path"),
    "path-out": assign("parts", 0, "path", "predictions/../../../../secret"),
    "path-dots": assign("parts", 0, "path", "predictions/../x.parquet"),
    "path-nul": assign("parts", 0, "path", "predictions/test/\0.parquet"),
    "path-escape": assign("parts", 0, "path", "predictions/\x1b[2J/x.parquet"),
    "size": assign("parts", 0, "size", "10"),
    "rows": assign("parts", 0, "rows", -5),
    "footer": assign("parts", 0, "footer_size", 10**30),
    "digest": assign("parts", 0, "footer_digest", 0),
    "id": assign("run_id", "../../elsewhere"),
    "id-type": assign("run_id", None),
}


@pytest.mark.parametrize("change", RUNS)
def test_run_of_wrong_types_is_refused(seedproof, store, change):
    rewrite(first_run(store) / "run.json", RUNS[change])

    check_refused(seedproof, MAIN)


BYTES = {
    "empty": b"",
    "list": b"[]",
    "deep-list": b"[" * DEEP,
    "deep-object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "twice": b'{"schema": "1.3", "schema": "1.2", "digest": ""}',
    "nan": b'{"schema": "1.3", "digest": NaN}',
    "many": b'{"schema": "1.3", "digest": [' + b"[]," * 5_000_000 + b"[]]}",
    "utf-16": '{"schema": "\ud83d"}'.encode("utf-16", errors="surrogatepass"),
    "nul": b"\0" * 100,
    "number": b"9" * 5_000,
}


@pytest.mark.parametrize("content", BYTES)
@pytest.mark.parametrize("name", ["study.json", "run.json"])
def test_impossible_json_is_refused(seedproof, store, name, content):
    place = store if name == "study.json" else first_run(store)
    (place / name).write_bytes(BYTES[content])

    check_refused(seedproof, MAIN)


def test_sparse_file_of_a_terabyte_is_refused(seedproof, store):
    os.truncate(store / "study.json", 10**12)

    check_refused(seedproof, MAIN)


FOOTERS = {
    "text": b"footer",
    "list": b"[]",
    "kind": {"kind": "riddles"},
    "kind-of-no-store": {"kind": "numbers"},
    "kind-type": {"kind": 1},
    "classes": {"classes": [0, 1]},
    "more-classes": {"kind": "probs", "classes": ["a"] * 50},
    "groups": {"groups": 1},
    "group": {"groups": [[50]]},
    "rows": {"groups": [[10**12, 0, "", ""]]},
    "no-rows": {"groups": []},
    "digest": {"groups": [[50, 50, 1, 2]]},
    "schema": {"schema": None},
    "deep": b"[" * DEEP,
}


@pytest.mark.parametrize("change", FOOTERS)
def test_footer_of_wrong_types_is_refused(seedproof, store, change):
    folder = first_run(store)
    (path,) = folder.glob("predictions/test/*.parquet")
    table, metadata = pq.read_table(path), pq.read_metadata(path)
    footer = FOOTERS[change]
    if isinstance(footer, dict):
        footer = json.dumps(json.loads(metadata.metadata[FOOTER_KEY.encode()]) | footer)
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: footer})
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little") + 8
    part = {"size": len(content), "footer_size": size, "digest": digest(content)}
    part["footer_digest"] = digest(content[-size:])
    rewrite(folder / "run.json", lambda manifest: manifest["parts"][0].update(part))

    check_refused(seedproof, READING)


@pytest.mark.parametrize("value", [None, "5", -1, 1.5, [5], True])
def test_declaration_of_wrong_type_is_refused(seedproof, store, value):
    rewrite(store / "declared.json", assign("n_runs", value))

    check_refused(seedproof, {"gate": EVERY["gate"], "run": f"{TRAIN} --declared-runs 2"})


@pytest.mark.parametrize("change", [assign("attempts", "two"), assign("traceback", None)])
def test_failure_of_wrong_type_is_refused(seedproof, store, change):
    folder = first_run(store)
    run = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").unlink()
    facts = {"status": "failed", "message": "no", "traceback": "", "attempts": 1}
    (folder / "failure.json").write_bytes(
        sealed({key: run[key] for key in ("run_id", "name", "arm")} | facts)
    )
    assert seedproof("status", "store")[0] == 0
    rewrite(folder / "failure.json", change)

    check_refused(seedproof, {"status": EVERY["status"]})


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"{}", b'{"command": 1}', b'{"command": "x", "inputs": 3}', b"[" * DEEP],
    ids=lambda content: repr(content[:20]),
)
def test_damaged_marker_of_an_ingest_is_refused(seedproof, store, content):
    (store / "ingest.json").write_bytes(content)

    check_refused(seedproof, MAIN, code="SP200")


LEDGERS = {
    "list": b"[]\n",
    "deep": b"[" * DEEP + b"\n",
    "types": b'{"event": "loop", "format": "1", "metric": 3}\n',
    "infinite": b'{"event": "loop", "format": Infinity}\n',
}


@pytest.mark.parametrize("content", LEDGERS)
def test_damaged_ledger_is_refused(seedproof, store, content):
    (store / "decisions.jsonl").write_bytes(LEDGERS[content])

    check_refused(seedproof, {"decide": EVERY["decide"]}, code="SP200")


SUMMARIES = {
    "list": lambda _: [],
    "metrics": lambda summary: summary | {"metrics": []},
    "estimate": lambda summary: summary | {"metrics": {"flip_rate": {"value": "low"}}},
    "runs": lambda summary: summary | {"runs": "01"},
    "counts": lambda summary: summary | {"n_examples": "many"},
    "detail": lambda summary: summary | {"detail": {"flip_matrix": [[1], [2, 3]]}},
    "texts": lambda summary: summary | {"detail": {"flip_matrix": [["a", "b"]]}},
    "checks": lambda summary: summary | {"checks": [{"name": "x"}]},
    "severity": lambda summary: (
        summary
        | {"checks": [{"name": "x", "severity": "?", "runs": [], "message": "", "remedy": ""}]}
    ),
    "slices": lambda summary: summary | {"slices": {"a": {"b": 1}}},
    "explanations": lambda summary: summary | {"explanations": {"lime": []}},
    "dynamics": lambda summary: summary | {"dynamics": {"runs": []}},
    "notes": lambda summary: summary | {"notes": [1]},
    "format": lambda summary: summary | {"format": "1"},
}


@pytest.mark.parametrize("change", SUMMARIES)
def test_summary_of_wrong_types_is_refused(seedproof, store, change):
    path = store.parent / "saved" / "summary.json"
    path.write_text(json.dumps(SUMMARIES[change](json.loads(path.read_bytes()))))

    check_refused(
        seedproof,
        {"gate": "gate saved --max flip_rate=0.9", "compare": "compare saved saved"},
        code="SP102",
    )


LINKS = {
    "study": ("study.json", MAIN),
    "runs": ("runs", MAIN),
    "folder": ("runs/{run}", MAIN),
    "manifest": ("runs/{run}/run.json", MAIN),
    "predictions": ("runs/{run}/predictions", READING),
    "claim": ("claim", {"run": f"{TRAIN} --seeds 3"}),
    "ledger": ("decisions.jsonl", {"decide": EVERY["decide"]}),
}


@pytest.mark.parametrize("link", LINKS)
def test_link_out_of_the_store_is_refused(seedproof, store, tmp_path, link):
    """The file that it leads to is neither read nor changed."""
    name, verbs = LINKS[link]
    inside = store / name.format(run=first_run(store).name)
    outside = tmp_path / "outside"
    if inside.exists():
        shutil.move(inside, outside)
    else:
        outside.write_bytes(b"")
    inside.symlink_to(outside)
    before = [(path, path.stat().st_mtime_ns) for path in sorted(outside.rglob("*"))]

    check_refused(seedproof, verbs)
    if verbs is MAIN:
        check_refused(seedproof, {"url": f"measure {store.as_uri()} --arm none"})

    assert [(path, path.stat().st_mtime_ns) for path in sorted(outside.rglob("*"))] == before
    assert outside.is_dir() or link != "claim" or outside.read_bytes() == b""


def test_link_inside_the_store_and_link_to_the_store_are_followed(seedproof, store, tmp_path):
    (store / "runs").rename(store / "all")
    (store / "runs").symlink_to("all")
    (tmp_path / "linked").symlink_to(store)

    assert seedproof("measure", "linked", "--arm", "none", "--json")[0] == 0


@pytest.mark.parametrize(("name", "verb"), [("study.json", "measure"), ("claim", "run")])
def test_pipe_in_place_of_a_file_does_not_block(seedproof, store, name, verb):
    (store / name).unlink(missing_ok=True)
    os.mkfifo(store / name)
    command = EVERY[verb] if verb == "measure" else f"{TRAIN} --seeds 3"

    code, _, err = seedproof(*command.split())

    assert code == 2
    assert err.startswith("error SP")
