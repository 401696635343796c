"""Answers of another kind than classes lead to a command that measures them."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError, ProbabilityError, ShapeError

N_RUNS, N_EXAMPLES = 5, 40
TAGS = ("O", "B-PER", "I-PER", "B-LOC")


def rounded(rng, example):
    return round(50 + example + rng.normal())


def number(rng, example):
    return f"{example + rng.normal():.5f}"


def text(rng, example):
    return f"The answer to question {example} is {rng.integers(1000)}"


def tags(rng, example):
    return " ".join(rng.choice(TAGS, 3 + example % 5))


def labels(rng, _):
    given = [label for label in ("anger", "fear", "joy") if rng.random() < 0.4]
    return "|".join(["calm", *given][:3])


def top(rng, _):
    return "|".join(f"item {x}" for x in rng.permutation(20)[:5])


def as_list(rng, _):
    return json.dumps([f"item {x}" for x in rng.permutation(20)[:3]])


# By the answers: exit code of the first command, kind that the suggested one measures.
CASES = {
    rounded: (0, "numbers"),
    number: (2, "numbers"),
    text: (0, "texts"),
    tags: (0, "sets"),
    labels: (0, "sets"),
    top: (0, "sets"),
    as_list: (2, "sets"),
}


def write(path, answer, *, names=("run", "example", "prediction"), gold=None):
    rng = np.random.default_rng(0)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*names, *([gold] if gold else [])])
        for run, example in np.ndindex(N_RUNS, N_EXAMPLES):
            right = [answer(np.random.default_rng(example), example)] if gold else []
            rows.writerow([run, example, answer(rng, example), *right])


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("answer", CASES)
def test_command_suggested_by_the_message_measures_the_right_kind(answer, is_named, seedproof):
    """With the columns as they were named."""
    code, kind = CASES[answer]
    names, words = ("run", "example", "prediction"), []
    if is_named:
        names = ("seed", "question", "said so")
        words = ["--run", "seed", "--example=question", "--prediction", "said so"]
    write("answers.csv", answer, names=names)

    first, _, err = seedproof("measure", "answers.csv", *words)

    assert first == code
    command = shlex.split(err[err.index("seedproof measure") :])
    code, out, err = seedproof(*command[1:], "--json")
    assert code == 0, err
    assert json.loads(out)["kind"] == kind
    assert "not-categorical" not in out


@pytest.mark.parametrize("words", [[], ["--label", "label"]])
@pytest.mark.parametrize("answer", [rounded, text])
def test_labels_become_targets_or_references(answer, words, seedproof):
    write("answers.csv", answer, gold="label")

    _, _, err = seedproof("measure", "answers.csv", *words)

    code, out, err = seedproof(*shlex.split(err[err.index("seedproof measure") :])[1:], "--json")
    assert code == 0, err
    assert json.loads(out)["n_labeled"] == N_EXAMPLES


def test_items_without_ranks_lead_to_a_column_of_ranks(refused):
    rows = [f"{run},{user},i{item}" for run in (0, 1) for user in (0, 1) for item in (1, 2)]
    Path("lists.csv").write_text("\n".join(["run,user,item", *rows]), encoding="utf-8")

    error = refused("measure", "lists.csv", "--example", "user")

    assert (error.code, error.fields["column"]) == ("SP103", "rank")


def test_sigmoids_lead_to_sets():
    """The call of the message works."""
    logits = np.random.default_rng(0).normal(size=(N_RUNS, N_EXAMPLES, 3))
    probs = 1 / (1 + np.exp(-logits))

    with pytest.raises(ProbabilityError) as refused:
        sp.measure(probs)

    report = eval(refused.value.fields["call"], {"sp": sp, "probs": probs})  # noqa: S307 - ours
    assert report.measurement.kind == "sets"


def test_regression_in_a_file_leads_to_numbers(refused, seedproof):
    """The call of the message works; an array is measured as numbers at once."""
    numbers = np.random.default_rng(0).normal(size=(N_RUNS, N_EXAMPLES))
    np.savez("predictions.npz", predictions=numbers)

    error = refused("measure", "predictions.npz")

    assert isinstance(error, ShapeError)
    eval(error.fields["call"], {"np": np, "numbers": numbers})  # noqa: S307 - ours
    code, out, err = seedproof("measure", "numbers.npz", "--json")
    assert code == 0, err
    assert json.loads(out)["kind"] == sp.measure(numbers).measurement.kind == "numbers"


@pytest.mark.parametrize("kind", ["rankings", "sets"])
def test_ragged_lists_lead_to_rankings_or_sets(kind):
    rng = np.random.default_rng(0)
    lists = [
        [[f"i{x}" for x in rng.permutation(9)[: 2 + example % 3]] for example in range(9)]
        for _ in range(N_RUNS)
    ]

    with pytest.raises(OptionError) as refused:
        sp.measure(lists)
    assert f"kind='{kind}'" in str(refused.value)

    assert sp.measure(lists, kind=kind).measurement.kind == kind


def test_sigmoids_in_a_table_lead_to_sets(refused, seedproof):
    """The printed command measures the sets that arrays of the same probabilities give."""
    rng = np.random.default_rng(0)
    probs = (1 / (1 + np.exp(-rng.normal(size=(N_RUNS, N_EXAMPLES, 3))))).round(4)
    lines = ["run,example,label,p_a,p_b,p_c"]
    for run in range(N_RUNS):
        for example, row in enumerate(probs[run]):
            lines.append(f"{run},{example},{'ba'[example % 2]},{','.join(map(str, row))}")
    Path("sigmoids.csv").write_text("\n".join(lines))

    command = shlex.split(
        str(refused("measure", "sigmoids.csv").fields["advice"].fields["command"])
    )

    code, out, err = seedproof(*command[1:], "--json")
    assert code == 0, err
    gold = [["b"], ["a"]] * (N_EXAMPLES // 2)
    alike = sp.measure(probs, thresholds=0.5, labels=gold, classes=["a", "b", "c"])
    assert json.loads(out)["metrics"] == json.loads(alike.to_json())["metrics"]


@pytest.mark.parametrize("are_apart", [False, True], ids=["one file", "one per run"])
def test_sigmoids_in_a_file_lead_to_sets(are_apart, refused, seedproof):
    """The printed command measures the sets that arrays of the same probabilities give."""
    rng = np.random.default_rng(0)
    probs = 1 / (1 + np.exp(-rng.normal(size=(N_RUNS, N_EXAMPLES, 3))))
    gold = rng.random((N_EXAMPLES, 3)) < 0.4
    facts = {"classes": ["a", "b", "c"]}
    runs = list(probs) if are_apart else [probs]
    files = [f"run{index}.npz" for index in range(len(runs))]
    for name, values in zip(files, runs, strict=True):
        np.savez(name, probs=values, **facts)

    error = refused("measure", *files)

    command = shlex.split(str(error.fields["advice"].fields["command"]))
    for name, values in zip(files, runs, strict=True):
        np.savez(name, probs=values, labels=gold, **facts)
    code, out, err = seedproof(*command[1:], "--json")
    assert code == 0, err
    alike = sp.measure(probs, thresholds=0.5, labels=gold, classes=["a", "b", "c"])
    assert json.loads(out)["metrics"] == json.loads(alike.to_json())["metrics"]
    error = refused(*command[1:], "--threshold", "0.7")
    assert error.fields["option"] == "thresholds"


def write_wide(path, answer):
    """Write a table with a column per run, in place of a row."""
    rng = np.random.default_rng(0)
    runs = [f"seed_{run}" for run in range(N_RUNS)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["example", *runs])
        rows.writerows([example, *(answer(rng, example) for _ in runs)] for example in range(40))


@pytest.mark.parametrize(("answer", "kind"), [(rounded, "numbers"), (text, "texts")])
def test_command_suggested_for_wide_tables_names_their_columns(answer, kind, seedproof):
    write_wide("wide.csv", answer)

    _, _, err = seedproof("measure", "wide.csv")

    code, out, err = seedproof(*shlex.split(err[err.index("seedproof measure") :])[1:], "--json")
    assert code == 0, err
    assert json.loads(out)["kind"] == kind


def test_no_command_is_suggested_for_wide_tables_of_sets(seedproof):
    """They need one row per run and example."""
    write_wide("wide.csv", labels)

    code, out, err = seedproof("measure", "wide.csv")

    assert (code, "Try:" in err) == (0, False)
    assert "--set" in " ".join(out.split())


def test_labels_that_join_classes_lead_to_sets(refused, seedproof):
    """The printed command keeps the names of columns, and reads the labels as sets."""
    rng = np.random.default_rng(0)
    lines = ["seed,example,label,p_a,p_b,p_c"]
    for run, example in np.ndindex(N_RUNS, N_EXAMPLES):
        probs = rng.dirichlet(np.ones(3)).round(6)
        probs[2] = round(1 - probs[:2].sum(), 6)
        lines.append(f"{run},{example},{['b', 'a|c'][example % 2]},{','.join(map(str, probs))}")
    Path("joined.csv").write_text("\n".join(lines), encoding="utf-8")

    error = refused("measure", "joined.csv", "--run", "seed")

    assert (error.code, error.fields["label"]) == ("SP109", "a|c")
    command = shlex.split(str(error.fields["advice"].fields["command"]))
    code, out, err = seedproof(*command[1:], "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["kind"], summary["n_labeled"]) == ("sets", N_EXAMPLES)
    assert summary["classes"] == ["a", "b", "c"]


@pytest.mark.parametrize("trial", ["trial", "draw"])
def test_classes_with_trials_inside_of_runs_are_refused(tmp_path, trial):
    """The rows are no duplicates, so the error names the level that is not supported."""
    rows = [f"run,{trial},example,prediction"]
    rows += [f"{run},{n},{i},{(i + n) % 2}" for run in "ab" for n in range(2) for i in range(4)]
    file = tmp_path / "trials.csv"
    file.write_text("\n".join(rows), encoding="utf-8")

    with pytest.raises(OptionError) as caught:
        sp.measure(file, columns=sp.Columns(trial=trial))

    assert (caught.value.fields["option"], caught.value.fields["column"]) == ("trial", trial)


def test_trials_of_lists_are_named_as_trials(tmp_path):
    rows = ["trial,example,rank,item"]
    rows += [
        f"{n},{i},{k},{(i + (n + 1) * k) % 7}" for n in range(3) for i in range(8) for k in (1, 2)
    ]
    file = tmp_path / "trials.csv"
    file.write_text("\n".join(rows), encoding="utf-8")

    report = sp.measure(file)

    assert report.view().repeats == "trials"
    assert [check.name for check in report.checks] == ["few-trials"]
