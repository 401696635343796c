"""Torch is loaded by the training, with the same result as before."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from importlib.util import find_spec
class Hook:  # as those that instrument libraries: it asks all finders in its turn
    is_asked = False
    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.is_asked:
            return None
        self.is_asked = True
        try:
            return find_spec(name)
        finally:
            self.is_asked = False
class Old:  # as finders were before Python 3.4
    def find_module(self, name, path=None):
        return None
import numpy as np
when, found = sys.argv[1], {}
if when == "first":
    import torch
from seedproof.training.torch_import_hook import once_loaded
from seedproof.training.rng import GlobalStream, repeatable
from seedproof.training.threads import limited_to
outer, inner = (GlobalStream(np.random.SeedSequence(seed)) for seed in (1, 2))
n_loaded = []
if when != "first":
    sys.meta_path[:0] = [Old(), Hook()]
    once_loaded(n_loaded.append)
with limited_to(1), repeatable(), outer.followed():
    find_spec("torch")  # this does not load it
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
        found["inner_again"] = torch.rand(2).tolist()
    found["outer again"] = torch.rand(2).tolist()
    found["threads"] = torch.get_num_threads()
    found["repeatable"] = torch.are_deterministic_algorithms_enabled()
    found["loader"] = type(torch.__spec__.loader).__name__
found["loaded twice"] = len(n_loaded) > 1
found["threads after"] = torch.get_num_threads()
found["repeatable_after"] = torch.are_deterministic_algorithms_enabled()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found_when():
    """Return what torch draws and does when it is loaded at some moment, in a fresh process."""

    def find(when):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, when],
            capture_output=True,
            text=True,
            check=True,
            env={name: v for name, v in os.environ.items() if not name.endswith("_NUM_THREADS")},
        )
        return json.loads(done.stdout)

    return find


@pytest.mark.full
def test_moment_of_loading_torch_does_not_matter(found_when):
    """Numbers, threads and algorithms are the same, inside and afterwards."""
    first = found_when("first")
    inside, between = found_when("inside a stream"), found_when("between streams")

    assert (first["asked"], inside.pop("asked"), between.pop("asked")) == (True, False, False)
    assert (first["threads"], first["repeatable"], first["repeatable_after"]) == (1, True, False)
    assert inside == {name: first[name] for name in inside}
    # The inner stream was there before torch, and is entered with it for the first time.
    assert between.pop("inner") is None
    assert between.pop("inner_again") == first["inner"]
    assert between == {name: first[name] for name in between}


def test_training_without_torch_does_not_load_it(tmp_path):
    """Loading it would take seconds per run."""
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


def test_loading_torch_is_not_part_of_the_budget(tmp_path):
    """It takes longer than this budget."""
    program = """
import sys
from seedproof.doctor.probe import Probe
from seedproof.training.spec import RunSpec
from seedproof.training.target import ScriptTarget
seeds = dict.fromkeys(("init", "order", "dropout", "data", "explainer"), 1)
spec = RunSpec("study", "train", (), "none", 1, False, "0", seeds)
seen = Probe(ScriptTarget(sys.argv[1]), seconds=0.3)(spec)
print(seen.is_cut, seen.n_threads)
"""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nimport seedproof as sp\nsp.current_run().log_predictions('test', predictions=[0, 1])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(script)], capture_output=True, text=True, check=False
    )

    assert done.stdout.split() == ["False", "1"], done.stderr
