"""Global generators are seeded for a while, and then restored."""

import os
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch

from seedproof.training.rng import (
    GlobalStream,
    advance,
    repeatable,
    seed_everything,
    torch_generator,
    untouched,
)

SEQUENCE = np.random.SeedSequence(11)
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"

pytestmark = pytest.mark.usefixtures("own_generators")


def seeded(number):
    """Bring the global generators to a known state."""
    seed_everything(np.random.SeedSequence(number))


def test_seeding_decides_what_every_library_draws(draw):
    """The same sequence, the same numbers; another one changes all three generators."""
    runs = []
    for number in (1, 1, 2):
        seeded(number)
        runs.append(np.array(draw(3)))

    assert runs[0].tolist() == runs[1].tolist()
    assert not np.any(runs[0] == runs[2])


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("block", [untouched, lambda: GlobalStream(SEQUENCE).followed()])
def test_generators_are_restored_after_a_block(draw, block, fails):
    """After draws and seedings, also after an exception."""
    seeded(1)
    undisturbed = draw(5)
    seeded(1)
    drawn = draw(2)

    with suppress(ZeroDivisionError), block():
        draw(3)
        seeded(99)
        if fails:
            raise ZeroDivisionError

    assert drawn + draw(3) == undisturbed


def test_untouched_blocks_may_be_nested(draw):
    """Each restores its own state."""
    seeded(1)
    outer = draw(4)
    seeded(1)
    with untouched():
        seeded(2)
        inner = draw(4)
    seeded(1)

    drawn = draw(1)
    with untouched():
        seeded(2)
        inside = draw(1)
        with untouched():
            seeded(3)
        inside += draw(3)
    drawn += draw(3)

    assert drawn == outer
    assert inside == inner


def test_stream_does_not_depend_on_the_state_before(draw):
    """Two streams of one sequence give the same numbers."""
    drawn = []
    for number in (1, 2):
        seeded(number)
        with GlobalStream(SEQUENCE).followed():
            drawn.append(draw(3))

    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("first", [0, 1, 3, 4])
def test_stream_continues_where_it_stopped(draw, first, fails):
    """Also after an exception, and if one of a pair of normal numbers is left over."""
    with GlobalStream(SEQUENCE).followed():
        whole = draw(7)
    halves = GlobalStream(SEQUENCE)

    with suppress(ZeroDivisionError), halves.followed():
        drawn = draw(first)
        if fails:
            raise ZeroDivisionError
    draw(5)
    with halves.followed():
        drawn += draw(7 - first)

    assert drawn == whole


def test_streams_may_be_nested(draw):
    """An inner stream moves only itself."""
    other = np.random.SeedSequence(12)
    with GlobalStream(SEQUENCE).followed():
        outer = draw(4)
    with GlobalStream(other).followed():
        inner = draw(4)
    stream, inner_stream = GlobalStream(SEQUENCE), GlobalStream(other)

    with stream.followed():
        drawn = draw(1)
        with inner_stream.followed():
            inside = draw(1)
        drawn += draw(1)
        with inner_stream.followed():
            inside += draw(3)
        drawn += draw(2)

    assert drawn == outer
    assert inside == inner


def test_stream_inside_itself_continues(draw):
    """No number is drawn twice."""
    with GlobalStream(SEQUENCE).followed():
        whole = draw(4)
    stream = GlobalStream(SEQUENCE)

    with stream.followed():
        drawn = draw(1)
        with stream.followed():
            drawn += draw(2)
        drawn += draw(1)

    assert drawn == whole


def test_torch_is_optional(monkeypatch, draw):
    """If it is not installed, the other generators are seeded and restored."""
    monkeypatch.delitem(sys.modules, "torch")
    before = torch.get_rng_state()

    with GlobalStream(SEQUENCE).followed(), repeatable():
        state = torch.get_rng_state()
        drawn = draw(2)
    with GlobalStream(SEQUENCE).followed():
        again = draw(2)

    assert "torch" not in sys.modules
    assert torch.equal(state, before)
    assert [row[:2] for row in drawn] == [row[:2] for row in again]
    assert not torch.are_deterministic_algorithms_enabled()


def test_repeatable_selects_deterministic_algorithms(monkeypatch):
    """With a warning if torch has none, as most such models can still be trained."""
    monkeypatch.delenv(WORKSPACE, raising=False)

    with repeatable():
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.backends.cudnn.deterministic
        assert not torch.backends.cudnn.benchmark
        assert os.environ[WORKSPACE] == ":4096:8"


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("mode", ["default", "warn", "error"])
@pytest.mark.parametrize("cudnn", [(False, True), (True, False)])
def test_repeatable_restores_every_flag(mode, cudnn, fails, monkeypatch):
    """Also after an exception."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", cudnn[0])
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", cudnn[1])
    torch.set_deterministic_debug_mode(mode)
    try:
        with suppress(ZeroDivisionError), repeatable():
            if fails:
                raise ZeroDivisionError

        assert torch.are_deterministic_algorithms_enabled() is (mode != "default")
        assert torch.is_deterministic_algorithms_warn_only_enabled() is (mode == "warn")
        assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == cudnn
    finally:
        torch.set_deterministic_debug_mode("default")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("before", [None, ":16:8"])
def test_repeatable_restores_the_environment(before, fails, monkeypatch):
    """A variable that the caller has set is never changed."""
    monkeypatch.delenv(WORKSPACE, raising=False)
    if before is not None:
        monkeypatch.setenv(WORKSPACE, before)

    with suppress(ZeroDivisionError), repeatable():
        assert os.environ[WORKSPACE] == (before or ":4096:8")
        if fails:
            raise ZeroDivisionError

    assert os.environ.get(WORKSPACE) == before


def test_repeatable_blocks_may_be_nested(monkeypatch):
    """The outer block stays in force."""
    monkeypatch.delenv(WORKSPACE, raising=False)

    with repeatable():
        with repeatable():
            pass
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ[WORKSPACE] == ":4096:8"
    assert not torch.are_deterministic_algorithms_enabled()
    assert WORKSPACE not in os.environ


def test_repeatable_does_not_load_a_compiler():
    """Every run in a fresh process would wait seconds for it."""
    code = (
        "import sys; from seedproof.training.rng import repeatable\n"
        "with repeatable(): print('torch._inductor.config' in sys.modules)"
    )

    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert loaded.strip() == "False"


def test_torch_generator_is_independent():
    """The same numbers for the same sequence, without the global generator."""
    before = torch.get_rng_state()

    first, same, other = (
        torch.rand(4, generator=torch_generator(np.random.SeedSequence(number), "cpu"))
        for number in (1, 1, 2)
    )

    assert torch.equal(first, same)
    assert not torch.any(first == other)
    assert torch.equal(torch.get_rng_state(), before)


def test_advancing_moves_every_generator(draw):
    """To a state that is the same each time."""
    runs = []
    for is_advanced in (False, True, True):
        seeded(1)
        if is_advanced:
            advance()
        runs.append(draw())

    assert runs[1] == runs[2]
    assert not set(*runs[0]) & set(*runs[1])


def test_seed_of_a_torch_generator_never_changes():
    """63 bits of the sequence, as torch takes no more."""
    generator = torch_generator(np.random.SeedSequence(0, spawn_key=(1, 1)), "cpu")

    expected = np.random.SeedSequence(0, spawn_key=(1, 1)).generate_state(1, np.uint64)[0] // 2
    assert generator.initial_seed() == expected
    assert generator.device.type == "cpu"
