"""Observation of a training from outside."""

import random  # noqa: TID251 - to check that it is restored
import runpy
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch

from seedproof.doctor import instrumentation as module
from seedproof.doctor.instrumentation import TrainingMonitor, files_below
from seedproof.doctor.observation import Observed, SeedCall
from seedproof.training.rng import untouched


@pytest.fixture
def code(tmp_path):
    """Create a folder for the user's code."""
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.fixture
def observe(code, tmp_path):
    """Run a script under observation; return the observations."""

    def run(script, *, folder=code, root=None):
        (code / "train.py").write_text(dedent(script).strip(), encoding="utf-8")
        observed = Observed()
        monitor = TrainingMonitor(observed, root=root or folder, notes=tmp_path / "notes")
        with untouched(), monitor.on():
            runpy.run_path(str(folder / "train.py"), {"monitor": monitor})
        return observed

    return run


# Each script, and what is observed of it.
SCRIPTS = {
    "seed calls of all libraries, in every form": (
        """
        import random
        import numpy as np, torch
        random.seed(1)
        np.random.seed(seed=2)
        torch.manual_seed(3)
        torch.random.manual_seed(4)
        """,
        {
            "seed_calls": [
                SeedCall("random.seed", "1", "train.py:3"),
                SeedCall("numpy.random.seed", "2", "train.py:4"),
                SeedCall("torch.manual_seed", "3", "train.py:5"),
                SeedCall("torch.random.manual_seed", "4", "train.py:6"),
            ]
        },
    ),
    "repeated seeds of a generator are not late": (
        """
        import torch
        for fold in range(3):
            torch.manual_seed(fold)
            torch.rand(1)
        """,
        {"is_late": [False, False, False]},
    ),
    "draws outside of a source do not count inside": (
        """
        import torch
        torch.rand(1)
        with monitor.apart():
            torch.manual_seed(1)
        torch.manual_seed(2)
        """,
        {"is_late": [False, True]},
    ),
    "a seed before the saved state is not undone": (
        """
        import torch
        torch.manual_seed(5)
        state = torch.get_rng_state()
        torch.manual_seed(0)
        torch.set_rng_state(state)
        """,
        {"is_undone": [False, True]},
    ),
    "a seed under fork_rng is undone": (
        """
        import torch
        torch.rand(1)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            torch.rand(1)
        """,
        {"is_undone": [True]},
    ),
    "an unknown state, as of a checkpoint, undoes nothing": (
        """
        import torch
        torch.manual_seed(5)
        torch.set_rng_state(torch.Generator().manual_seed(6).get_state())
        """,
        {"is_undone": [False]},
    ),
    "generators without a seed, in every form": (
        """
        import random
        import numpy as np, torch
        np.random.default_rng()
        np.random.default_rng(None)
        np.random.seed()
        random.seed(None)
        torch.seed()
        """,
        {
            "unseeded": [f"train.py:{line}" for line in range(3, 8)],
            "seed_calls": [],
            "generators": [],
        },
    ),
    "generators from a number; a sequence has no value to compare": (
        """
        import numpy as np
        np.random.default_rng(7)
        np.random.default_rng(seed=np.int64(8))
        np.random.default_rng(np.random.SeedSequence(9))
        """,
        {
            "generators": [
                SeedCall("numpy.random.default_rng", "7", "train.py:2"),
                SeedCall("numpy.random.default_rng", "8", "train.py:3"),
            ],
            "unseeded": [],
        },
    ),
    "generators in forked processes, such as a data loader": (
        """
        from multiprocessing import get_context
        import numpy as np
        def draw():
            np.random.default_rng()
        worker = get_context("fork").Process(target=draw)
        worker.start()
        worker.join()
        """,
        {"unseeded": ["train.py:4"]},
    ),
    "lines that start threads and processes, each once": (
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        for _ in range(2):
            threading.Thread(target=int).start()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(str, range(4)))
        """,
        {"workers": ["train.py:4", "train.py:6"]},
    ),
    "the line that sets the number of threads": (
        """
        import torch
        torch.set_num_threads(torch.get_num_threads())
        """,
        {"thread_calls": ["train.py:2"]},
    ),
}


@pytest.mark.parametrize("case", SCRIPTS)
def test_script_is_observed(observe, case):
    """Seeds, generators, threads and processes."""
    if "fork" in SCRIPTS[case][0] and sys.platform == "win32":
        pytest.skip("Windows has no fork")
    script, expected = SCRIPTS[case]

    observed = observe(script)

    calls = observed.seed_calls
    actual = vars(observed) | {
        "is_late": [call.is_late for call in calls],
        "is_undone": [call.is_undone for call in calls],
    }
    assert {name: actual[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("draw", "late"),
    [
        ("random.random()", "random.seed"),
        ("np.random.rand()", "numpy.random.seed"),
        ("torch.nn.Linear(2, 2)", "torch.manual_seed"),
        ("np.random.default_rng(0).random()", None),
        ("torch.zeros(3)", None),
    ],
)
def test_seed_is_late_after_a_draw_from_its_own_generator(observe, draw, late):
    """Draws from other generators do not matter."""
    observed = observe(
        f"""
        import random
        import numpy as np, torch
        {draw}
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        """
    )

    assert [call.function for call in observed.seed_calls if call.is_late] == (
        [late] if late else []
    )


PUT_BACK = {
    "python": ("random.getstate()", "random.seed(0)", "random.setstate(state)"),
    "numpy": ("np.random.get_state()", "np.random.seed(0)", "np.random.set_state(state)"),
    "torch": ("torch.get_rng_state()", "torch.manual_seed(0)", "torch.set_rng_state(state)"),
    "torch.random": (
        "torch.random.get_rng_state()",
        "torch.random.manual_seed(0)",
        "torch.random.set_rng_state(state)",
    ),
}


@pytest.mark.parametrize(("save", "seed", "restore"), PUT_BACK.values(), ids=PUT_BACK)
def test_seed_is_undone_if_its_generator_is_restored(observe, save, seed, restore):
    """A later seed is as late as before."""
    draw = "random.random(), np.random.rand(), torch.rand(1)"
    observed = observe(
        f"""
        import random
        import numpy as np, torch
        {draw}
        state = {save}
        {seed}
        {seed}
        {draw}
        {restore}
        {seed}
        """
    )

    assert [call.is_undone for call in observed.seed_calls] == [True, True, False]
    assert observed.seed_calls[2].is_late


def test_number_of_recorded_calls_is_limited(observe, monkeypatch):
    """A training that seeds at every step does not fill the memory."""
    monkeypatch.setattr(module, "MOST_CALLS", 3)

    observed = observe(
        """
        import numpy as np
        for step in range(9):
            np.random.seed(step)
            np.random.default_rng(step)
            np.random.default_rng()
        """
    )

    assert len(observed.seed_calls) == len(observed.generators) == 3
    assert observed.unseeded == ["train.py:5"]


def test_call_is_attributed_to_the_users_innermost_line(observe, code):
    """A module of the user is named by its path below the root."""
    (code / "tools").mkdir()
    (code / "tools" / "seeding.py").write_text(
        "import numpy as np\n\ndef seed(n):\n    np.random.seed(n)\n", encoding="utf-8"
    )

    observed = observe(
        """
        import sys
        sys.path.insert(0, __file__.rpartition("/")[0])
        from tools.seeding import seed
        del sys.path[0], sys.modules["tools.seeding"], sys.modules["tools"]
        seed(1)
        """
    )

    assert [call.where for call in observed.seed_calls] == ["tools/seeding.py:4"]


def test_call_in_a_library_is_attributed_to_its_caller(observe, tmp_path, monkeypatch):
    """Also if the library's folder starts with the name of the user's."""
    library = tmp_path / "code-library"
    library.mkdir()
    (library / "some_library.py").write_text(
        "import numpy as np\n\ndef seed(n):\n    np.random.seed(n)\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(library)

    observed = observe(
        """
        from some_library import seed

        seed(1)
        """
    )

    assert [call.where for call in observed.seed_calls] == ["train.py:3"]


def test_library_below_the_root_is_not_user_code(observe, code):
    """As if the interpreter is in the same folder as the code."""
    root = Path(code.anchor)
    observed = observe(
        """
        from contextlib import ExitStack
        import numpy as np
        stack = ExitStack()
        stack.callback(np.random.seed, 1)
        stack.close()
        """,
        root=root,
    )

    assert [call.where for call in observed.seed_calls] == [
        f"{code.resolve().relative_to(root) / 'train.py'}:5"
    ]


def test_code_behind_a_link_is_user_code(observe, code, tmp_path):
    """The folder is reached by another name."""
    (tmp_path / "link").symlink_to(code)

    observed = observe(
        """
        import numpy as np
        np.random.seed(1)
        """,
        folder=tmp_path / "link",
    )

    assert [call.where for call in observed.seed_calls] == ["train.py:2"]


def test_functions_are_restored_afterwards(observe):
    """Also if the training raises."""
    names = (
        (random, "seed"), (random, "setstate"), (np.random, "seed"), (np.random, "default_rng"),
        (torch, "manual_seed"), (torch, "set_rng_state"), (torch, "set_num_threads"),
    )  # fmt: skip
    before = [getattr(owner, name) for owner, name in names]

    with pytest.raises(ZeroDivisionError):
        observe("1 / 0")

    assert [getattr(owner, name) for owner, name in names] == before


# ------------------------------------------------------------------------------ files


def test_files_are_searched_a_few_levels_deep(tmp_path, monkeypatch):
    """Except hidden and compiled ones, and not a whole data set."""
    monkeypatch.setattr(module, "MOST_LEVELS", 2)
    for name in ("a", "b/c", "b/d/e", ".hidden", ".git/f", "b/__pycache__/g"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")

    stamps = files_below([tmp_path, tmp_path])

    assert list(stamps) == [str(tmp_path / "a"), str(tmp_path / "b" / "c")]
    assert stamps[str(tmp_path / "b" / "c")][1] == 3


def test_number_of_searched_files_is_limited(tmp_path, monkeypatch):
    """A folder with a million files does not delay a training."""
    monkeypatch.setattr(module, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()

    assert len(files_below([tmp_path])) == 2
