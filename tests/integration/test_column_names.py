"""A wrong column name is answered with a command that works."""

import json
import shlex

import pytest

RUNS, EXAMPLES = 3, 4


def long_table(run="run", example="example", label="label", answers=("prediction",), answer="ab"):
    """Write a CSV with a row per run and example; with probabilities for several answers."""
    lines = [",".join([run, example, label, *answers])]
    for seed in range(RUNS):
        for number in range(EXAMPLES):
            says = answer[(seed * number) % 2]
            values = (
                [says] if len(answers) == 1 else ["0.9", "0.1"] if says == "a" else ["0.2", "0.8"]
            )
            lines.append(",".join([str(seed), str(number), "ab"[number % 2], *values]))
    return "\n".join([*lines, ""])


def wide_table(*runs):
    """Write a CSV with one column per run."""
    lines = [",".join(["uid", "gold", *runs])]
    for number in range(EXAMPLES):
        answers = ["ab"[(seed * number) % 2] for seed in range(RUNS)]
        lines.append(",".join([str(number), "ab"[number % 2], *answers]))
    return "\n".join([*lines, ""])


CASES = {
    "run": (long_table(run="seed"), ()),
    "example": (long_table(example="sample_id"), ()),
    "prediction": (long_table(answers=("y_pred",)), ()),
    "three-at-once": (long_table("seed", "uid", "label", ("pred",)), ()),
    "probabilities": (long_table(answers=("prob_a", "prob_b")), ()),
    "probabilities-and-run": (long_table("model", "idx", "gold", ("score.a", "score.b")), ()),
    "wide-with-other-ids": (wide_table("seed_1", "seed_2", "seed_3"), ()),
    "wide-with-a-suffix": (wide_table("run1_pred", "run2_pred", "run3_pred"), ()),
    "mistyped-option": (long_table(run="seed"), ("--run", "sed")),
    "option-for-another-table": (long_table(), ("--run=seed", "--example", "guid")),
    "case": (long_table("Run", "Example", "Label", ("Prediction",)), ()),
    "label-by-option": (long_table(label="gold"), ("--label", "golden")),
}


@pytest.mark.parametrize("name", CASES)
def test_command_suggested_by_the_message_works(name, seedproof, tmp_path):
    text, words = CASES[name]
    (tmp_path / "answers.csv").write_text(text, encoding="utf-8")
    code, out, err = seedproof("measure", "answers.csv", "--json", *words)
    assert (code, json.loads(out)["exit_code"], err.count("\n")) == (2, 2, 1)

    command = shlex.split(err[err.index("seedproof measure") :])
    code, out, _ = seedproof(*command[1:])

    assert code == 0
    result = json.loads(out)
    assert (result["n_examples"], len(result["runs"])) == (EXAMPLES, RUNS)
    assert result["metrics"]["flip_rate"]["value"] > 0


def test_unrecognizable_table_is_refused_with_its_columns(refused, tmp_path):
    """No command is suggested."""
    (tmp_path / "answers.csv").write_text("x,y,z\n1,2,3\n", encoding="utf-8")

    error = refused("measure", "answers.csv")

    assert error.code == "SP103"
    assert error.fields["columns"] == ("x", "y", "z")
    assert error.fields["suggestion"] is None


def test_command_suggested_for_trials_does_not_take_the_model_for_a_run(seedproof, tmp_path):
    rows = [f"gpt,{task},{trial},{(task + trial) % 2}" for task in range(6) for trial in range(3)]
    text = "\n".join(["model,task,trial,reward", *rows, ""])
    (tmp_path / "trials.csv").write_text(text, encoding="utf-8")
    words = ("--example", "task", "--trial", "trial", "--value", "rewrd")
    code, _, err = seedproof("measure", "trials.csv", "--json", *words)
    assert code == 2

    command = shlex.split(err[err.index("seedproof measure") :])
    code, out, _ = seedproof(*command[1:])

    assert (code, json.loads(out)["repeats"]) == (0, "trials")
