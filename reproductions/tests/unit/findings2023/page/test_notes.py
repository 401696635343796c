from dataclasses import asdict, replace

from seedproof_reproductions.findings2023.page.departures import banner, departures, differences
from seedproof_reproductions.findings2023.page.made import how_made
from seedproof_reproductions.findings2023.page.notes import how_counted, limits
from seedproof_reproductions.findings2023.page.reading import SettingResults, by_setting
from seedproof_reproductions.findings2023.recipe import ARMS_OF_TRACK
from seedproof_reproductions.findings2023.settings import Setting


def test_the_banner_names_what_is_not_the_papers(both, finetuned):
    """The encoder always; runs, epochs, sizes and rates where they differ."""
    lines = banner(by_setting([*both, finetuned])).splitlines()

    assert lines[0].startswith("> **Not the paper's models:** it has DistilBERT, fine-tuned.")
    assert lines[2] == (
        "> - CLINC150 (head): a head trained on frozen features of MiniLM-L6, 4,500 test utterances "
        "in place of 3,000 and a learning rate of 0.001"
    )
    assert lines[4] == "> - MASSIVE (fine-tuned): a fine-tuned MiniLM-L6 and 5 of 50 runs"


def test_unlike_numbers_of_runs_are_a_range(both):
    """Thirteen of one arm, fifty of the others; of fewer, how many the paper has."""
    arms = both[0]["arms"]
    arms["linear"]["n_runs"] = 13
    assert departures(SettingResults(both[0]))[1] == "13 to 50 runs"

    for arm in arms.values():
        arm["n_runs"] = min(arm["n_runs"], 20)
    assert departures(SettingResults(both[0]))[1] == "13 to 20 of 50 runs"


def test_a_smoke_run_departs_further(make):
    """600 utterances and 2 epochs."""
    smoke = make(epochs=2, n_train=600, batch_size=32)
    smoke["sizes"] = {"train": 600, "test": 300}

    found = departures(SettingResults(smoke))

    assert found[1:5] == (
        "600 of 15,000 training utterances",
        "300 test utterances in place of 3,000",
        "2 epochs in place of 5",
        "32 utterances a batch in place of 256",
    )


def test_differences_have_the_papers_values_in_brackets(settings):
    """Sizes, epochs, rates and runs."""
    assert (
        "| MASSIVE (head) | a head trained on frozen features of MiniLM-L6 | 11,514 (11,514) | 2,974 "
        "(2,974) | 5 (5) | 256 (256) | 0.001 (0.0001) | 50 (50) | 10 |"
    ) in differences(settings)


def test_costs_tell_how_small_the_head_is(settings, finetuned):
    """2 of 100 multiplications; fine-tuned there is no head apart."""
    told = "its head is 2.0\xa0% on CLINC150 and 2.0\xa0% on MASSIVE"
    assert told in how_counted(settings)
    assert "its head is" not in how_counted(by_setting([finetuned]))


def test_limits_name_arms_whose_steps_differ_or_were_not_followed(settings, only_control):
    """Linear takes twice the steps; ASWA serves an average that nobody followed."""
    arms = settings[0].own["arms"]
    arms["linear"]["single_run_effects"] = {"all": None, "high": None, "high_naive": None}
    arms["aswa"] |= {"n_traced": 0, "single_run": None}

    text = limits(settings)

    assert "There are 17 on CLINC150 (head) and 17 on MASSIVE (head)." in text
    assert (
        "More or fewer steps, so that LE_s is not compared: linear head + decay + zero last + 2× epochs."
        in text
    )
    assert "Not followed: ASWA." in text
    assert "Of so many, some look good by chance." in text
    assert "LE_s on" not in limits([only_control])


def test_few_arms_are_not_many(finetuned):
    """Of three, none looks good because there are so many."""
    text = limits(by_setting([finetuned]))

    assert "There are 3 on MASSIVE (fine-tuned). Where arms are picked" in text


def test_commands_make_the_runs_again(both, finetuned, make):
    """What is not usual is among the options; versions that differ are left out."""
    finetuned["versions"] = {"python": "3.11.7", "torch": "2.12.0"}

    text = how_made(by_setting([*both, finetuned]))

    assert "Each run had one thread, with python 3.11.7." in text
    assert "findings2023 --dataset massive --track finetune --seeds 5" in text
    smoke = how_made([SettingResults(make(epochs=2, n_train=600))])
    assert "--dataset clinc150 --track head --epochs 2 --n-train 600 --seeds 50" in smoke


def test_a_command_names_its_arms_unless_it_has_all(make, make_arm):
    """The control first, as the command takes them."""
    some = make(arms={"heads-16": make_arm(), "none": make_arm()})
    assert "--seeds 50 --arms none,heads-16 --engine serial\n" in how_made([SettingResults(some)])

    every = make(arms={arm: make_arm() for arm in ARMS_OF_TRACK["head"]})
    assert "--arms" not in how_made([SettingResults(every)])


def test_what_no_option_gives_is_a_smoke_run_or_made_from_python(make):
    """Batches of 32 come with `--smoke`; dropout comes from Python alone."""
    smoke = asdict(replace(Setting().smoke(), n_train=700))
    command = "--dataset clinc150 --track head --smoke --n-train 700 --seeds 50 --arms none,"
    assert command in how_made([SettingResults(make(**smoke))])

    own = how_made([SettingResults(make(dropout=0.1))])
    assert "# clinc150-head was made from Python, with dropout=0.1: no option gives that." in own
