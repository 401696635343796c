from seedproof_reproductions.findings2023.summary import summary_table


def arm(effect=None, costs=None, shares=None, n_runs=50):
    """Stored content of an arm that the table shows."""
    return {
        "n_runs": n_runs,
        "metrics": {"accuracy": [0.94731, 0.94, 0.95], "flip_rate": [0.03114, 0.03, 0.04]},
        "effects": {} if effect is None else {"flip_rate": effect},
        "costs": costs,
        "shares": shares,
    }


def test_summary_table_has_a_row_per_arm():
    """Figures in percent, changes with a sign unless they round to 0, and relative costs."""
    control = arm(costs={"training": 1.0, "serving": 1.0})
    cut = {"value": 0.4949, "low": 0.44, "high": 1.0}
    other = arm(cut, {"training": 1.0526, "serving": None}, "teacher")
    rise = arm(
        {"value": 2.234, "low": 2.051, "high": 2.468}, {"training": 201.4, "serving": 1.0176}
    )
    nearly = arm({"value": 0.9999, "low": 0.994, "high": 1.004})
    few = arm(cut, n_runs=2)  # too few for an interval
    arms = {"none": control, "tgtss-shared": other, "linear": rise, "ema": nearly, "l2": few}

    assert summary_table({"arms": arms}) == [
        ("none", "94.73", "3.11", "–", "×1.00", "×1.00"),
        ("tgtss-shared*", "94.73", "3.11", "−51 [−56, 0]", "×1.05", "–"),
        ("linear", "94.73", "3.11", "+123 [+105, +147]", "×201", "×1.02"),
        ("ema", "94.73", "3.11", "0 [−1, 0]", "–", "–"),
        ("l2", "94.73", "3.11", "−51", "–", "–"),
    ]
    assert summary_table({"arms": {"none": arm(n_runs=2), "l2": arm(cut)}})[1][3] == "−51"
