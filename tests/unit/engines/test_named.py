"""Engines by name, and their settings."""

import math
from importlib.metadata import EntryPoint

import pytest

from seedproof.engines import ProcessEngine, SerialEngine, named
from seedproof.engines.named import GROUP, build_engine
from seedproof.engines.ray import RayEngine
from seedproof.engines.slurm import SlurmEngine
from seedproof.errors import OptionError, UnknownNameError
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("serial", SerialEngine),
        ("processes", ProcessEngine),
        ("ray", RayEngine),
        ("slurm", SlurmEngine),
    ],
)
def test_engines_are_found_by_name(name, kind):
    """With the settings of every study."""
    assert isinstance(build_engine(name, retries=None, threads=1), kind)


def test_engine_gets_its_settings():
    """None means the engine's own default."""
    built = build_engine("processes", workers=3, timeout=1.5, retries=0, threads=2)

    assert built == ProcessEngine(workers=3, timeout=1.5, retries=0, threads=2)
    assert build_engine("processes", workers=None, retries=None) == ProcessEngine()
    assert isinstance(build_engine("serial", workers=None, timeout=None), SerialEngine)
    assert build_engine("ray", gpus=0.5).gpus == 0.5
    assert build_engine("slurm", partition="long").partition == "long"


def test_unknown_engine_is_refused_with_the_known_ones():
    """A typo, or another spelling."""
    with pytest.raises(
        UnknownNameError,
        check=WithFields(name="process", known=("serial", "processes", "ray", "slurm")),
    ):
        build_engine("process")


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("serial", "workers"),
        ("serial", "timeout"),
        ("serial", "gpus"),
        ("processes", "gpus"),
        ("processes", "partition"),
        ("ray", "partition"),
        ("slurm", "address"),
        ("slurm", "no_such_setting"),
    ],
)
def test_unknown_setting_is_refused(name, setting):
    """Otherwise it would be ignored silently."""
    with pytest.raises(OptionError, check=WithFields(name=name, setting=setting)):
        build_engine(name, **{setting: 1})


@pytest.mark.parametrize("name", ["processes", "ray", "slurm"])
@pytest.mark.parametrize(
    ("setting", "fields"),
    [
        ({"workers": 0}, {"option": "workers", "number": 0, "least": 1}),
        ({"workers": 1.5}, {"option": "workers", "number": 1.5, "least": 1}),
        ({"retries": -1}, {"option": "retries", "number": -1, "least": 0}),
        ({"threads": 0}, {"option": "threads", "number": 0, "least": 1}),
        ({"timeout": 0}, {"timeout": 0}),
        ({"timeout": math.nan}, {"timeout": math.nan}),
    ],
    ids=["workers", "fraction", "retries", "threads", "timeout", "timeout-nan"],
)
def test_settings_out_of_range_are_refused(name, setting, fields):
    """When the engine is created, not when the first run is lost."""
    with pytest.raises(OptionError, check=WithFields(**fields)):
        build_engine(name, **setting)


class Demanding:
    """An engine of another package with a required setting."""

    def __init__(self, queue, **others):
        self.queue, self.others = queue, others


@pytest.fixture
def add_engines(monkeypatch):
    """Add engines of other packages."""

    def add(**values):
        points = [EntryPoint(name, value, GROUP) for name, value in values.items()]
        monkeypatch.setattr(named, "entry_points", lambda group: points if group == GROUP else [])

    return add


def test_missing_setting_is_refused(add_engines):
    """An engine that takes any setting gets all of them."""
    add_engines(demanding=f"{__name__}:Demanding")

    with pytest.raises(OptionError, check=WithFields(name="demanding", setting="queue")):
        build_engine("demanding", speed=3)

    built = build_engine("demanding", queue="long", speed=3)
    assert (built.queue, built.others) == ("long", {"speed": 3})


def test_type_error_of_an_engine_is_raised(monkeypatch):
    """It is not mistaken for an unknown setting."""

    def broken(workers=1):
        return len(workers)

    monkeypatch.setattr(named, "_loaders", lambda: {"broken": lambda: broken})

    with pytest.raises(TypeError) as caught:
        build_engine("broken", workers=2)

    assert not isinstance(caught.value, OptionError)


def test_other_packages_add_engines(add_engines):
    """They cannot replace one of ours, and a broken one breaks only itself."""
    engine = "seedproof.engines:ProcessEngine"
    add_engines(other=engine, serial=engine, broken="no_such_module:Engine")

    assert build_engine("other", workers=2) == ProcessEngine(workers=2)
    assert isinstance(build_engine("serial"), SerialEngine)
    with pytest.raises(UnknownNameError, check=WithFields(name="unknown")):
        build_engine("unknown")
