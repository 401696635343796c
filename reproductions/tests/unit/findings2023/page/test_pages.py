"""Both pages: data, files and commands; the committed pages show what people read."""

from dataclasses import asdict, replace

import pytest

from seedproof.errors import EmptyInputError
from seedproof_reproductions.figures import UNDETERMINED
from seedproof_reproductions.findings2023.pages import (
    build_data,
    build_decision,
    setting_data,
    train_command,
    write_page,
)
from seedproof_reproductions.findings2023.reading import SettingResults
from seedproof_reproductions.findings2023.recipe import USUAL_ARMS
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.settings import Setting


def test_page_with_another_name_has_its_own_decision_page(both, finetuned, tmp_path):
    """Neither overwrites the default pages, and the links use the new names."""
    page, decision, *images = write_page([finetuned, *both], tmp_path / "mine.md")

    assert decision.name == "mine-which-mitigation.md"
    assert {image.parent.name for image in images} == {"mine"}
    assert "(mine-which-mitigation.md)" in page.read_text(encoding="utf-8")
    assert "(mine.md#all-arms)" in decision.read_text(encoding="utf-8")


def test_results_without_a_control_are_not_compared(both, tmp_path):
    """Their arms are still listed; the other setting is compared."""
    del both[0]["arms"]["none"]
    both[0]["control"] = None
    for arm in both[0]["arms"].values():
        arm |= {"effects": {}, "of_all": {}, "high": None, "costs": None, "single_run_effects": {}}
    data = build_data(both)
    assert data["claims"]
    assert len(data["all_arms"]) == 2

    pages = write_page(both[:1], tmp_path / "alone.md")
    assert len(pages) == 2  # no charts
    assert all(page.stat().st_size for page in pages)
    data = build_data(both[:1])
    assert len(data["all_arms"]) == 1
    assert not any(data[name] for name in ("claims", "answers", "goal", "redraws"))
    assert not build_decision(both[:1])["can_advise"]


@pytest.mark.parametrize("verdict", ["no difference shown", "too few runs"])
def test_page_is_rendered_if_no_arm_reaches_the_goal(both, tmp_path, verdict):
    """With every kind of reason: costs, flips and too few runs."""
    for results in both:
        for name in ("fixed-init", "deployed-shared"):
            del results["arms"][name]
        for name in set(results["arms"]) - {"none"}:
            results["arms"][name]["of_all"]["flip_rate"]["verdict"] = verdict

    goal = build_data(both)["goal"]

    reasons = {item["reason"] for item in goal["shared"]["closest"]["shortfalls"]}
    assert reasons == {"cost", "runs" if verdict == "too few runs" else "flips"}
    assert goal["honest"]["arms"] == []
    assert all(path.stat().st_size for path in write_page(both, tmp_path / "page.md"))


def test_few_runs_give_no_advice_and_no_chart(both, only_control, finetuned):
    """Fewer than eight runs, only the control, or only fine-tuned runs."""
    for results in both:
        for arm in results["arms"].values():
            arm["n_runs"] = 7
    for results in (both, [only_control.content], [finetuned]):
        decision = build_decision(results)
        assert decision["choices"] is None
        assert decision["points"] == ()


def test_page_data_depend_on_path_and_results(both):
    """The command names the page; an undetermined interval is explained."""
    data = build_data(both, "mine.md")
    assert not data["is_packaged"]
    assert data["command"].split()[3:] == [
        "--from-results",
        "--results",
        "FOLDER",
        "--page",
        "mine.md",
    ]
    assert data["undetermined"] == ""

    both[0]["arms"]["swa"]["effects"]["label_entropy"] |= {"low": 0.1, "high": 10.0}
    assert build_data(both)["undetermined"] == UNDETERMINED
    assert build_data(stored_results(), "mine.md")["is_packaged"]
    with pytest.raises(EmptyInputError):
        build_data([])


def test_settings_are_described_with_the_papers_values(both, make):
    """A smoke run differs more; arms without recorded steps are listed."""
    both[0]["arms"]["aswa"] |= {"n_traced": 0, "single_run": None}
    both[0]["arms"]["linear"]["single_run_effects"] = {"all": None}
    data = setting_data(SettingResults(both[0]))
    assert list(data["pairs"].values())[:3] == [(50, 50), (15_000, 15_000), (4500, 3000)]
    assert data["is_full"]
    assert data["head_share"] == pytest.approx(0.02)
    assert (data["traced"], data["most_traced"], data["untraced"]) == (10, 3, ["aswa"])
    assert data["other_steps"] == ["linear"]

    smoke = setting_data(SettingResults(make(epochs=2, n_train=600)))
    assert not smoke["is_full"]
    assert smoke["pairs"]["epochs"] == (2, 5)


def test_commands_repeat_the_settings(make, make_arm, finetuned):
    """Only values that differ from the default are options; dropout can only be set in Python."""
    arms = {arm: make_arm() for arm in USUAL_ARMS["head"]}
    every = make(arms=arms, epochs=2, seed=1)
    smoke = make(arms=arms, **asdict(replace(Setting().smoke(), n_train=700)))
    given = {
        "--dataset clinc150 --track head --seed 1 --epochs 2 --seeds 50": every,
        "--dataset massive --track finetune --seeds 5 --arms none,swa,ema,tgtss-every-10": finetuned,
        "--dataset clinc150 --track head --smoke --n-train 700 --seeds 50 --arms "
        + ",".join(arms): smoke,
    }

    for options, results in given.items():
        start, *words = train_command(SettingResults(results)).split()
        assert (start, words[0], words[1]) == ("seedproof", "reproduce", "findings2023")
        # Fine-tuned encoders are kept in the cache folder, so that processes can share them.
        engine = [] if "finetune" in options else ["--engine", "serial"]
        assert words[2:] == [*options.split(), *engine]
    assert train_command(SettingResults(make(dropout=0.1))).startswith("# clinc150-head")
