import pytest

from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.summary import HEADER, summary_notes, summary_table


def arm(*, effect=None, costs=None, shares=None, n_runs=50):
    """Stored content of an arm that the table shows."""
    return {
        "n_runs": n_runs,
        "metrics": {"accuracy": [0.94731, 0.94, 0.95], "flip_rate": [0.03114, 0.03, 0.04]},
        "effects": {} if effect is None else {"flip_rate": effect},
        "costs": costs,
        "shares": shares,
    }


def results(arms, *, n_train=15_000, **setting):
    """Results of CLINC150 as usual, but for what is given."""
    usual = {"dataset": "clinc150", "track": "head", "epochs": 5, "batch_size": 256, "dropout": 0.3}
    return {
        "arms": arms,
        "setting": usual | setting,
        "sizes": {"train": n_train, "test": 4_500},
    }


def test_each_arm_has_a_row():
    """Figures in percent, changes with a sign, costs in units of the control."""
    control = arm(costs={"training": 1.0, "serving": 1.0})
    cut = {"value": 0.4949, "low": 0.44, "high": 1.0}
    other = arm(effect=cut, costs={"training": 1.0526, "serving": None}, shares="teacher")

    assert summary_table({"arms": {"none": control, "tgtss-shared": other}}) == [
        ("none", "94.73", "3.11", "–", "×1.00", "×1.00"),
        ("tgtss-shared*", "94.73", "3.11", "−51 [−56, 0]", "×1.05", "–"),
    ]


def test_unknown_figures_have_a_dash():
    """Without a control there are no costs and no change; a change that rounds to 0 has no sign."""
    nearly = {"value": 0.9999, "low": 0.994, "high": 1.004}
    alone, near = summary_table({"arms": {"linear": arm(), "ema": arm(effect=nearly)}})

    assert alone[3:] == ("–", "–", "–")
    assert near[3] == "0 [−1, 0]"


def test_a_terminal_of_80_columns_is_wide_enough():
    """The longest names with the largest numbers, two blanks between columns."""
    effect = {"value": 2.234, "low": 2.051, "high": 2.468}
    costs = {"training": 201.4, "serving": 1.0176}
    shares = {name: "init" if content.fixed_init else None for name, content in ARMS.items()}
    arms = {name: arm(effect=effect, costs=costs, shares=shares[name]) for name in ARMS}
    rows = summary_table({"arms": arms})

    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    assert sum(widths) + 2 * (len(HEADER) - 1) <= 80
    assert rows[0][3:] == ("+123 [+105, +147]", "×201", "×1.02")


@pytest.mark.parametrize(
    ("control", "other", "shown"), [(3, 3, "−50 [−60, −40]"), (3, 2, "−50"), (2, 3, "−50")]
)
def test_two_runs_have_no_interval(control, other, shown):
    """Neither two of the arm nor two of the control; a further note says so."""
    cut = {"value": 0.5, "low": 0.4, "high": 0.6}
    content = results({"none": arm(n_runs=control), "ema": arm(effect=cut, n_runs=other)})

    assert summary_table(content)[1][3] == shown
    assert len(summary_notes(content)) == (1 if shown.endswith("]") else 2)


def test_each_peculiarity_has_a_note():
    """A star, a missing control, and an unusual setting; the control alone has none."""
    assert summary_notes(results({"none": arm()})) == []
    assert len(summary_notes(results({"ema": arm(), "swa": arm(n_runs=2)}))) == 1
    assert len(summary_notes(results({"none": arm(), "fixed-init": arm(shares="init")}))) == 2

    (note,) = summary_notes(results({"none": arm()}, n_train=600, epochs=2, dropout=0.5))
    for number in ("600", "15,000", "2", "0.5", "0.3"):
        assert number in note
