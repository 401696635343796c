"""Ids follow from what decides a run, and a study only ever grows."""

import json
from dataclasses import fields, replace

import pytest

from seedproof.errors import OptionError, StudyChangedError
from seedproof.seeds import SOURCES, SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training.spec import RunSpec, StudySpec, as_plan

STUDY = StudySpec("study", "train.py", SeedPlan.all(2), ("none", "aswa"))
RUN = STUDY.runs()[0]
OTHER = {
    "study": "other",
    "target": "other.py",
    "arguments": ("--lr", "0.1"),
    "arm": "aswa",
    "threads": 2,
    "deterministic": False,
    "seeds": dict(RUN.seeds) | {"explainer": 1},
}


def test_ids_never_change():
    """A finished run is found again by its id: another one would train everything again."""
    assert [run.run_id for run in STUDY.runs()] == [
        "0a2175a6c67d694e",
        "37ae0c333a249354",
        "27b5161303efffc4",
        "755b8bdb9d1a4d2f",
    ]


@pytest.mark.parametrize("field", [one.name for one in fields(RunSpec) if one.name != "name"])
def test_everything_that_decides_a_run_decides_its_id(field):
    """Every field but the name; one that is added must be added here."""
    assert replace(RUN, **{field: OTHER[field]}).run_id != RUN.run_id


@pytest.mark.parametrize("source", SOURCES)
def test_the_seed_of_every_source_decides_the_id(source):
    """One at a time."""
    assert replace(RUN, seeds=dict(RUN.seeds) | {source: 1}).run_id != RUN.run_id


def test_the_name_decides_nothing():
    """What people call a run may change with the plan that it is part of."""
    assert replace(RUN, name="base").run_id == RUN.run_id
    assert SeedPlan.one_at_a_time(2).assignments()[0].seeds == RUN.seeds


def test_arguments_are_told_apart_however_they_are_cut():
    """("a", "b") and ("a b",) are two different calls."""
    cuts = [("a", "b"), ("a b",), ("ab",), ("a", "b", "")]

    assert len({replace(RUN, arguments=cut).run_id for cut in cuts}) == len(cuts)


def test_all_arms_of_a_seed_come_together():
    """A study that was stopped midway is still paired."""
    assert [(run.name, run.arm) for run in STUDY.runs()] == [
        ("0", "none"),
        ("0", "aswa"),
        ("1", "none"),
        ("1", "aswa"),
    ]


def test_a_run_has_what_the_study_says():
    """Settings of the study are those of each of its runs."""
    study = replace(STUDY, arguments=("-v",), threads=3, deterministic=False)

    for run in study.runs():
        assert (run.study, run.target, run.arguments) == ("study", "train.py", ("-v",))
        assert (run.threads, run.deterministic) == (3, False)


@pytest.mark.parametrize(
    "study",
    [
        STUDY,
        StudySpec("füchse 🦊", "package.module:train", SeedPlan.one_at_a_time(3, root=5)),
        StudySpec("a", "b", SeedPlan.factorial({"order": 2, "init": 3}), ("x",), ("-v", ""), 4, False),  # noqa: FBT003 - in the order of the fields
    ],
    ids=["plain", "one-at-a-time", "factorial"],
)  # fmt: skip
def test_a_study_survives_as_json(study):
    """What `study.json` holds makes the same study, and so the same runs."""
    plan = json.loads(json.dumps(study.as_json()))

    assert "name" not in plan
    assert StudySpec.from_json(study.name, plan) == study
    assert StudySpec.from_json(study.name, plan).runs() == study.runs()


def test_a_study_grows_by_seeds_and_arms():
    """Everything that was there stays, and the new arm is added at the end."""
    asked = replace(STUDY, seeds=SeedPlan.all(5), arms=("ema", "aswa"))

    joined = STUDY.joined(asked)

    assert joined == replace(STUDY, seeds=SeedPlan.all(5), arms=("none", "aswa", "ema"))
    ids = {run.run_id for run in joined.runs()}
    assert ids > {run.run_id for run in STUDY.runs()}
    assert ids > {run.run_id for run in asked.runs()}


def test_a_study_never_shrinks():
    """Asking for less leaves what is there."""
    asked = replace(STUDY, seeds=SeedPlan.all(1), arms=("aswa",))

    assert STUDY.joined(asked) == STUDY
    assert STUDY.joined(STUDY) == STUDY


@pytest.mark.parametrize(
    ("change", "stored", "requested"),
    [
        ({"name": "other"}, "study", "other"),
        ({"target": "fit.py"}, "train.py", "fit.py"),
        ({"arguments": ("-v",)}, [], ["-v"]),
        ({"threads": 2}, 1, 2),
        ({"deterministic": False}, True, False),
        (
            {"seeds": SeedPlan.all(2, root=1)},
            STUDY.seeds.as_json(),
            SeedPlan.all(2, root=1).as_json(),
        ),
        (
            {"seeds": SeedPlan.one_at_a_time(2)},
            STUDY.seeds.as_json(),
            SeedPlan.one_at_a_time(2).as_json(),
        ),
    ],
    ids=["name", "target", "arguments", "threads", "deterministic", "root", "plan"],
)
def test_a_study_with_other_settings_is_refused(change, stored, requested):
    """Runs of both could not be measured together; the error shows both values."""
    differs = WithFields(stored=stored, requested=requested)
    with pytest.raises(StudyChangedError, check=differs) as caught:
        STUDY.joined(replace(STUDY, **change))

    # Lists keep their brackets: without arguments there would be nothing to see.
    assert repr(stored) in str(caught.value)
    assert repr(requested) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"name": ""}, {"option": "name"}),
        ({"arms": ()}, {"arms": []}),
        ({"arms": ("a", "a")}, {"arms": ["a", "a"]}),
        ({"arms": ("a", "")}, {"arms": ["a", ""]}),
        ({"name": "\udcff"}, {"given": "\udcff"}),
        ({"arms": ("\udcff",)}, {"given": "\udcff"}),
        ({"arguments": ("\udcff",)}, {"given": "\udcff"}),
        ({"threads": 0}, {"threads": 0}),
        ({"threads": 1.5}, {"threads": 1.5}),
        ({"threads": True}, {"threads": True}),
    ],
    ids=[
        "no-name", "no-arms", "equal-arms", "empty-arm", "name", "arm", "argument",
        "no-thread", "half-thread", "true-thread",
    ],
)  # fmt: skip
def test_impossible_studies_are_refused(change, fields):
    """When they are made, not when the first run fails."""
    with pytest.raises(OptionError, check=WithFields(**fields)):
        replace(STUDY, **change)


def test_a_number_of_seeds_is_a_plan_in_which_everything_varies():
    """A plan stays as it is; a seed that it does not come from would do nothing."""
    plan = SeedPlan.one_at_a_time(2, root=4)

    assert as_plan(3, seed=4) == SeedPlan.all(3, root=4)
    assert as_plan(plan) is as_plan(plan, seed=4) is plan
    with pytest.raises(OptionError, check=WithFields(root=4, seed=5)):
        as_plan(plan, seed=5)
