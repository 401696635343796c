"""Engines are found by name, and refuse settings that they could not keep to."""

from importlib.metadata import EntryPoint

import pytest

from seedproof.engines import ProcessEngine, SerialEngine, named
from seedproof.engines.named import GROUP, build_engine
from seedproof.engines.ray import RayEngine
from seedproof.engines.slurm import SlurmEngine
from seedproof.errors import OptionError, UnknownNameError


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
    """With what every study asks of them, and nothing else."""
    assert isinstance(build_engine(name, retries=None, threads=1), kind)


def test_an_engine_gets_its_settings():
    """What is None was not given, and the engine's own default holds."""
    built = build_engine("processes", workers=3, timeout=1.5, retries=0, threads=2)

    assert built == ProcessEngine(workers=3, timeout=1.5, retries=0, threads=2)
    assert build_engine("processes", workers=None, retries=None) == ProcessEngine()
    assert isinstance(build_engine("serial", workers=None, timeout=None), SerialEngine)
    assert build_engine("ray", gpus=0.5).gpus == 0.5
    assert build_engine("slurm", partition="long").partition == "long"


def test_an_unknown_engine_is_refused_with_the_known_ones():
    """A typo, or another spelling."""
    with pytest.raises(
        UnknownNameError, match=r"no engine 'process'\. Known: serial, processes, ray, slurm"
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
def test_a_setting_that_an_engine_has_not_is_refused(name, setting):
    """Ignoring it would look as if it were kept to."""
    with pytest.raises(OptionError, match=f"engine '{name}' has no setting '{setting}'.* another"):
        build_engine(name, **{setting: 1})


@pytest.mark.parametrize("name", ["processes", "ray", "slurm"])
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"workers": 0}, "workers is 0. Give a whole number, 1 or more"),
        ({"retries": -1}, "retries is -1. Give a whole number, 0 or more"),
        ({"threads": 0}, "threads is 0. Give a whole number, 1 or more"),
        ({"timeout": 0}, "A timeout of 0 is not possible"),
        ({"timeout": float("nan")}, "A timeout of nan is not possible"),
    ],
)
def test_impossible_settings_are_refused(name, setting, message):
    """By every engine that has them, before anything is started."""
    with pytest.raises(OptionError, match=message):
        build_engine(name, **setting)


def test_other_packages_add_engines(monkeypatch):
    """By an entry point; they cannot take the name of one of ours."""
    points = [
        EntryPoint("theirs", "seedproof.engines:ProcessEngine", GROUP),
        EntryPoint("serial", "seedproof.engines:ProcessEngine", GROUP),
    ]
    monkeypatch.setattr(
        named, "entry_points", lambda group: [p for p in points if p.group == group]
    )

    assert build_engine("theirs", workers=2) == ProcessEngine(workers=2)
    assert isinstance(build_engine("serial"), SerialEngine)
    with pytest.raises(UnknownNameError, match=r"Known: serial, processes, ray, slurm, theirs\."):
        build_engine("nobodys")


def test_a_broken_package_harms_only_its_own_engine(monkeypatch):
    """Who asks for another engine never loads it."""
    points = [EntryPoint("broken", "no_such_module:Engine", GROUP)]
    monkeypatch.setattr(named, "entry_points", lambda group: points if group == GROUP else [])

    assert isinstance(build_engine("serial"), SerialEngine)
