from seedproof_reproductions.findings2023.page.choices import best_of, choices, choices_table
from seedproof_reproductions.findings2023.page.reading import by_setting


def chosen(settings):
    """What to use, by what one can afford."""
    return {one.afford: one.candidate.arm for one in choices(settings)}


def test_each_budget_has_the_arm_that_cuts_most(settings):
    """Rows that would repeat a cheaper one are left out: nothing is gained by paying more."""
    assert chosen(settings) == {
        "hardly more training than now": "zero-last",
        "hardly more training, and up to 2 points of accuracy": "linear",
        "a tenth more training": "wide-decay-zero-smooth",
        "half as much training again": "heads-16",
        "a redeployment: learn from the model that serves now": "deployed-shared",
    }


def test_a_cut_must_be_shown_together_with_all_arms(settings, make_arm):
    """Zero last cuts by itself, but an interval up to 1.02 is not enough."""
    for one in settings:
        one.own["arms"]["zero-last"] = make_arm(0.8, loose=0.22)

    assert chosen(settings)["hardly more training than now"] == "label-smoothing-0.5"


def test_two_points_must_be_excluded_together_with_all_arms(settings, make_arm):
    """A loss of 1.75 points: at most 1.95 asked alone, 2.05 among all."""
    for one in settings:
        one.own["arms"]["linear"] = make_arm(0.15, -0.0175)

    assert "linear" not in chosen(settings).values()


def test_an_arm_of_unknown_cost_is_not_chosen(settings):
    """Nobody knows who can afford it."""
    settings[0].own["arms"]["heads-16"]["costs"] = None

    assert "heads-16" not in chosen(settings).values()


def test_a_loss_on_one_data_set_is_enough_against_an_arm(settings, make_arm):
    """Nor is an arm that shares something chosen, but for a redeployment."""
    settings[1].own["arms"]["heads-16"] = make_arm(0.25, -0.003, training=1.25)
    settings[0].own["arms"]["wide-decay-zero-smooth"]["shares"] = "init"

    found = chosen(settings)

    assert "heads-16" not in found.values()
    assert "wide-decay-zero-smooth" not in found.values()


def test_the_best_of_two_data_sets_is_judged_where_it_cuts_less(settings, make_arm):
    """0.1 on one and 0.9 on the other is worse than 0.8 on both."""
    settings[0].own["arms"]["swa"] = make_arm(0.1, group="paper")
    settings[1].own["arms"]["swa"] = make_arm(0.9, group="paper")

    assert chosen(settings)["hardly more training than now"] == "zero-last"


def test_fine_tuning_has_a_row_of_its_own(both, finetuned):
    """EMA cuts to 0.5 [0.2, 0.8] there; where nothing is shown there is no row."""
    settings = by_setting([*both, finetuned])
    assert chosen(settings)["MASSIVE (fine-tuned), any training"] == "ema"

    table = choices_table(choices(settings), ["CLINC150", "MASSIVE"])
    assert (
        "| MASSIVE (fine-tuned), any training | **EMA** `ema` | – | −50\xa0% [−80,\xa0−20] | – |"
        in table
    )

    del finetuned["arms"]["ema"]
    assert best_of(settings[2]) is None


def test_a_row_has_changes_and_costs_of_both_data_sets(settings):
    """With the intervals of the table of all arms, which hold together."""
    table = choices_table(choices(settings), ["CLINC150", "MASSIVE"])

    assert (
        "| half as much training again | **16 heads** `heads-16` | −75\xa0% [−83,\xa0−67] | −75\xa0% "
        "[−83,\xa0−67] | +0.40\xa0pts [+0.10,\xa0+0.70] | +0.40\xa0pts [+0.10,\xa0+0.70] | 1.25× | "
        "1.02× |"
    ) in table


def test_without_arms_nothing_is_chosen(only_control):
    """No table either."""
    assert choices([only_control]) == ()
    assert choices_table((), ["CLINC150"]) == ""


def test_arms_with_few_runs_are_not_chosen(both, finetuned):
    """Seven of a head, four of a fine-tuned encoder."""
    for results in both:
        results["arms"]["heads-16"]["n_runs"] = 7
    finetuned["arms"]["ema"]["n_runs"] = 4

    found = chosen(by_setting([*both, finetuned])).values()

    assert "heads-16" not in found
    assert "ema" not in found
