"""Arms of tracked runs: what is repeated, and what differs on purpose."""

import pytest

from seedproof.errors import EmptyInputError, OptionError, TooFewRunsError
from seedproof.logs.tracked import RawRun, arms_of, distinct_names, tracked_runs


def run(index, *, group="", arm=None, status="finished", metrics=None, **params):
    texts = {name: str(value) for name, value in params.items()}
    is_finished = status == "finished"
    return RawRun(
        f"id{index}", f"run-{index}", is_finished, status, texts, metrics or {}, arm, group
    )


def test_seeds_make_no_arms():
    runs = [run(seed, seed=seed, data_seed=seed + 1, random_state=seed, lr=0.1) for seed in (1, 2)]

    assert arms_of(runs, "sample") == (["sample", "sample"], [])


def test_parameters_that_differ_make_arms():
    runs = [run(f"{lr}{seed}", seed=seed, lr=lr, width=8) for lr in (0.1, 0.2) for seed in (1, 2)]

    assert arms_of(runs, "sample")[0] == ["lr=0.1", "lr=0.1", "lr=0.2", "lr=0.2"]


def test_parents_are_arms_even_if_children_have_the_same_parameters():
    runs = [run(f"{group}{seed}", group=group, seed=seed) for group in "ab" for seed in (1, 2)]

    assert arms_of(runs, "sample")[0] == ["a", "a", "b", "b"]


def test_tag_overrules_parents_and_parameters():
    runs = [run(seed, group=str(seed), arm="ours", lr=seed) for seed in (1, 2)]

    assert arms_of(runs, "sample")[0] == ["ours", "ours"]


def test_tag_of_some_finished_runs_only_is_refused():
    """Otherwise runs of different arms would be taken as repeats of one."""
    with pytest.raises(OptionError) as caught:
        arms_of([run(1, arm="ours", lr=1), run(2, lr=1)], "sample")

    assert caught.value.fields["name"] == "run-2"


def test_run_that_failed_before_its_tag_belongs_to_its_parameters():
    runs = [
        run(1, arm="a", lr=1, seed=1), run(2, arm="b", lr=2, seed=1),
        run(3, status="failed", lr=2, seed=2), run(4, status="failed", lr=3),
    ]  # fmt: skip

    assert arms_of(runs, "sample")[0] == ["a", "b", "b", "a"]


def test_names_of_models_make_arms():
    runs = [run(i, seed=i, model_name=name) for i, name in enumerate(("bert", "gpt2"))]

    assert arms_of(runs, "sample")[0] == ["model_name=bert", "model_name=gpt2"]


def test_folders_of_runs_without_distinct_seeds_make_arms():
    """Nothing shows that such runs repeat one training."""
    runs = [run(i, seed=0, output_dir=f"out/{i}") for i in range(2)]

    assert arms_of(runs, "sample")[0] == ["output_dir=out/0", "output_dir=out/1"]


def test_folders_of_single_runs_make_no_arms():
    runs = [run(seed, seed=seed, output_dir=f"out/{seed}") for seed in (1, 2, 3)]

    arms, notes = arms_of(runs, "sample")

    assert arms == ["sample"] * 3
    assert [(note.code, note.fields["names"]) for note in notes] == [
        ("parameters-ignored", ("output_dir",))
    ]


def test_folders_that_runs_share_make_arms():
    """Two data sets are two arms, not more runs of one."""
    runs = [run(f"{p}{seed}", seed=seed, data_path=p) for p in "ab" for seed in (1, 2)]

    assert len(set(arms_of(runs, "sample")[0])) == 2


def test_search_for_parameters_is_refused():
    """With a learning rate of its own, a run repeats no other."""
    runs = [run(index, lr=0.1 * index, seed=index) for index in (1, 2, 3)]

    with pytest.raises(OptionError) as refused:
        tracked_runs("mlflow:x", runs, {}, title="x", table="")

    assert len(refused.value.fields["known"]) == 3


def test_unfinished_runs_are_failed_and_in_no_row():
    metrics = {"loss": 0.5}
    runs = [run(seed, seed=seed, metrics=metrics) for seed in (1, 2)]
    runs.append(run(3, seed=3, metrics=metrics, status="running"))

    tracked = tracked_runs("mlflow:x", runs, {}, title="x", table="")

    assert tracked.failed == ("run-3 (running)",)
    assert tracked.metrics().to_pydict() == {
        "run": ["1", "2"],
        "seed": ["1", "2"],
        "arm": ["x", "x"],
        "loss": [0.5, 0.5],
    }


def test_arm_without_a_finished_run_is_named():
    runs = [run(f"{lr}{seed}", lr=lr, seed=seed) for lr in (1, 2) for seed in (1, 2)]
    runs.append(run("x", lr=3, seed=1, status="running"))

    tracked = tracked_runs("mlflow:x", runs, {}, title="x", table="")

    assert tracked.arms == ("lr=1", "lr=2")
    assert [note.fields["arms"] for note in tracked.notes] == [("lr=3",)]


def test_runs_without_seeds_are_noted():
    """Five different models without parameters would look like repeats of one."""
    tracked = tracked_runs("mlflow:x", [run(1), run(2, seed=2)], {}, title="x", table="")

    assert [note.code for note in tracked.notes] == ["runs-without-seeds"]


def test_no_finished_run_is_refused():
    with pytest.raises(TooFewRunsError):
        tracked_runs("mlflow:x", [run(1, status="failed")], {}, title="x", table="")


def test_runs_without_metrics_are_refused():
    tracked = tracked_runs("mlflow:x", [run(1), run(2)], {}, title="x", table="")

    with pytest.raises(EmptyInputError):
        tracked.metrics()


def test_repeated_seeds_keep_different_names():
    runs = [run(index, seed=7, metrics={"loss": 1.0}) for index in (1, 2)]

    tracked = tracked_runs("mlflow:x", runs, {}, title="x", table="")

    assert tracked.metrics()["run"].to_pylist() == ["7-id1", "7-id2"]


def test_finished_run_without_the_table_is_failed(tmp_path, monkeypatch):
    """A file of that name in the working directory is not taken for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").touch()
    runs = [run(1, seed=1), run(2, seed=2)]

    tracked = tracked_runs("mlflow:x", runs, {"id1": tmp_path}, title="x", table="table.csv")

    assert tracked.files == {"1": tmp_path / "table.csv"}
    assert tracked.failed == ("run-2 (finished)",)


def test_unknown_arm_and_task_are_refused():
    tracked = tracked_runs("mlflow:x", [run(1), run(2)], {}, title="x", table="")

    with pytest.raises(OptionError) as refused:
        tracked.only(arm="y")
    assert refused.value.fields["known"] == ("x",)
    with pytest.raises(OptionError):
        tracked.only(task="y")


def test_parents_of_the_same_name_stay_apart():
    names = {"a" * 32: "base", "b" * 32: "base", "c" * 32: "ours"}

    assert distinct_names(names, names) == {
        "a" * 32: "base (aaaaaaaa)",
        "b" * 32: "base (bbbbbbbb)",
        "c" * 32: "ours",
    }
