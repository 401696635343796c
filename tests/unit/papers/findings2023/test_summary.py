from seedproof.papers.findings2023.arms import ARMS
from seedproof.papers.findings2023.summary import HEADER, summary_table


def arm(*, effect=None, costs=None, shares=None):
    """What is kept of an arm, as far as it is shown."""
    return {
        "metrics": {"accuracy": [0.94731, 0.94, 0.95], "flip_rate": [0.03114, 0.03, 0.04]},
        "effects": {} if effect is None else {"flip_rate": effect},
        "costs": costs,
        "shares": shares,
    }


def test_each_arm_has_a_row():
    """Figures in percent, changes with a sign, costs in units of the control."""
    control = arm(costs={"training": 1.0, "serving": 1.0})
    cut = {"value": 0.4949, "low": 0.44, "high": 1.0}
    other = arm(effect=cut, costs={"training": 1.0526, "serving": None}, shares="teacher")

    assert summary_table({"arms": {"none": control, "tgtss-shared": other}}) == [
        ("none", "94.73", "3.11", "–", "×1.00", "×1.00"),
        ("tgtss-shared*", "94.73", "3.11", "−51 [−56, +0]", "×1.05", "–"),
    ]


def test_what_is_not_known_has_a_dash():
    """Without a control there are no costs and no change; two runs have no interval."""
    (alone,) = summary_table({"arms": {"linear": arm()}})
    open_ended = {"value": 1.5, "low": None, "high": None}
    (few,) = summary_table({"arms": {"linear": arm(effect=open_ended)}})

    assert alone[3:] == ("–", "–", "–")
    assert few[3] == "+50"


def test_a_terminal_of_80_columns_is_wide_enough():
    """The longest names beside the largest numbers, two blanks between columns."""
    effect = {"value": 2.234, "low": 2.051, "high": 2.468}
    costs = {"training": 201.4, "serving": 1.0176}
    rows = summary_table(
        {
            "arms": {
                name: arm(effect=effect, costs=costs, shares="init" if one.fixed_init else None)
                for name, one in ARMS.items()
            }
        }
    )

    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    assert sum(widths) + 2 * (len(HEADER) - 1) <= 80
    assert rows[0][3:] == ("+123 [+105, +147]", "×201", "×1.02")
