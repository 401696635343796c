"""Torch is loaded by those who train with it, and then finds what it would have found before."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from importlib.util import find_spec
import numpy as np
when, found = sys.argv[1], {}
if when == "first":
    import torch
from seedproof.runs.rng import GlobalStream, repeatable
from seedproof.runs.threads import limited_to
outer, inner = (GlobalStream(np.random.SeedSequence(seed)) for seed in (1, 2))
with limited_to(2), repeatable(), outer.followed():
    find_spec("torch")  # whoever only asks for it does not load it
    found["asked"] = "torch" in sys.modules
    with inner.followed():
        if when == "inside a stream":
            import torch.nn
        found["inner"] = torch.rand(2).tolist() if "torch" in sys.modules else None
    if when == "between streams":
        import torch
    found["numpy"] = np.random.random()
    found["outer"] = torch.rand(2).tolist()
    with inner.followed():
        found["inner again"] = torch.rand(2).tolist()
    found["outer again"] = torch.rand(2).tolist()
    found["threads"] = torch.get_num_threads()
    found["repeatable"] = torch.are_deterministic_algorithms_enabled()
    found["loader"] = type(torch.__spec__.loader).__name__
found["own seed"] = torch.initial_seed() not in (1, 2)
found["threads after"] = torch.get_num_threads()
found["repeatable after"] = torch.are_deterministic_algorithms_enabled()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found_when():
    """Finds out what torch draws and does when it is loaded at some moment, in a fresh process."""

    def find(when):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, when], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return find


def test_it_does_not_matter_when_torch_is_loaded(found_when):
    """Numbers, threads and algorithms are the same, inside and afterwards."""
    first = found_when("first")
    inside, between = found_when("inside a stream"), found_when("between streams")

    assert (first["asked"], inside.pop("asked"), between.pop("asked")) == (True, False, False)
    assert (first["threads"], first["repeatable"], first["repeatable after"]) == (2, True, False)
    assert inside == {name: first[name] for name in inside}
    # The inner stream was there before torch, and is entered with it for the first time.
    assert between.pop("inner") is None
    assert between.pop("inner again") == first["inner"]
    assert between == {name: first[name] for name in between}


def test_a_training_without_torch_does_not_load_it(tmp_path):
    """Neither do its records, its seeds and its digests: that would take seconds for each run."""
    program = """
import sys
import numpy as np
import seedproof as sp
def train(run):
    with run.seeded("init"):
        run.log_predictions("test", predictions=(np.random.random(3) < 0.5).astype(int))
study = sp.Study("plain", train, seeds=2, store=sys.argv[1])
study.run(engine="serial")
print("torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "False"
