"""Run ids follow from what decides a run, and a study only grows."""

import json
from dataclasses import fields, replace

import pytest

from seedproof.errors import OptionError, StudyChangedError
from seedproof.records.manifest import StudyManifest
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
    """A finished run is identified by it: with another one, everything would be trained again."""
    assert [run.run_id for run in STUDY.runs()] == [
        "0a2175a6c67d694e",
        "37ae0c333a249354",
        "27b5161303efffc4",
        "755b8bdb9d1a4d2f",
    ]


@pytest.mark.parametrize(
    "field", [spec_field.name for spec_field in fields(RunSpec) if spec_field.name != "name"]
)
def test_everything_that_decides_a_run_decides_its_id(field):
    """Every field except the name; add new fields here."""
    assert replace(RUN, **{field: OTHER[field]}).run_id != RUN.run_id


@pytest.mark.parametrize("source", SOURCES)
def test_seed_of_every_source_decides_the_id(source):
    """One at a time."""
    assert replace(RUN, seeds=dict(RUN.seeds) | {source: 1}).run_id != RUN.run_id


def test_name_does_not_change_the_id():
    """It may change with the plan."""
    assert replace(RUN, name="base").run_id == RUN.run_id
    assert SeedPlan.one_at_a_time(2).assignments()[0].seeds == RUN.seeds


def test_boundaries_of_arguments_change_the_id():
    """("a", "b") and ("a b",) are two different calls."""
    cuts = [("a", "b"), ("a b",), ("ab",), ("a", "b", "")]

    assert len({replace(RUN, arguments=cut).run_id for cut in cuts}) == len(cuts)


def test_all_arms_of_a_seed_come_together():
    """An interrupted study is still paired."""
    assert [(run.name, run.arm) for run in STUDY.runs()] == [
        ("0", "none"),
        ("0", "aswa"),
        ("1", "none"),
        ("1", "aswa"),
    ]


def test_run_has_the_settings_of_its_study():
    """All of them."""
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
def test_study_is_restored_from_json(study):
    """With the same runs."""
    plan = json.loads(json.dumps(study.as_json()))

    restored = StudySpec(study.name, **vars(StudyManifest(study.name, plan=plan).planned))

    assert "name" not in plan
    assert restored == study
    assert restored.runs() == study.runs()


def test_study_grows_by_seeds_and_arms():
    """Existing runs stay, and the new arm is last."""
    requested = replace(STUDY, seeds=SeedPlan.all(5), arms=("ema", "aswa"))

    joined = STUDY.joined(requested)

    assert joined == replace(STUDY, seeds=SeedPlan.all(5), arms=("none", "aswa", "ema"))
    ids = {run.run_id for run in joined.runs()}
    assert ids > {run.run_id for run in STUDY.runs()}
    assert ids > {run.run_id for run in requested.runs()}


def test_study_never_shrinks():
    """A smaller request changes nothing."""
    requested = replace(STUDY, seeds=SeedPlan.all(1), arms=("aswa",))

    assert STUDY.joined(requested) == STUDY
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
def test_study_with_other_settings_is_refused(change, stored, requested):
    """The error has both values."""
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
    """When they are created, not when the first run fails."""
    with pytest.raises(OptionError, check=WithFields(**fields)):
        replace(STUDY, **change)


def test_number_of_seeds_is_a_plan_in_which_everything_varies():
    """A plan is used as it is; a different seed is refused."""
    plan = SeedPlan.one_at_a_time(2, root=4)

    assert as_plan(3, seed=4) == SeedPlan.all(3, root=4)
    assert as_plan(plan) is as_plan(plan, seed=4) is plan
    with pytest.raises(OptionError, check=WithFields(root=4, seed=5)):
        as_plan(plan, seed=5)
