"""Halves of one study are pooled nearly as if all their runs had been compared at once."""

import math

import numpy as np
import pytest

import seedproof as sp
from seedproof.api.compare import arm_data
from seedproof.predictions.arms import load_arms
from seedproof.stats.intervals import PLAIN
from seedproof.stats.spread_ratio import spread_ratio
from seedproof_reproductions.conll2019.names import UNPAIRED
from seedproof_reproductions.conll2019.page_data import page_data
from seedproof_reproductions.conll2019.plan import plan
from seedproof_reproductions.conll2019.pooling import join_halves, pool
from seedproof_reproductions.conll2019.results import stored_results
from seedproof_reproductions.deciding import share_from_texts
from seedproof_reproductions.results import plain_effect, plain_figures
from seedproof_reproductions.runs import compare_with_first

FIRST = "sst-cnn-additive-seed-1"
# By how much the width may differ from that of all runs at once. If halves narrowed the part from
# texts as well, the first two would be a tenth shorter or more.
METRICS = {"flip_rate": 0.05, "accuracy": 0.07, "accuracy_sd": 0.15}
# Noise of a text, and drift of a whole run, by arm.
NOISE = {"none": (0.45, 0.25), "aswa": (0.35, 0.1)}
N_RUNS, N_TEXTS = 50, 300


@pytest.fixture
def stored():
    """The results in the package, by the name of their study."""
    return {study["name"]: study for study in stored_results()}


def renamed(study, root):
    """The same results, as if they were of seeds of another root."""
    name = study["name"].replace("seed-1", f"seed-{root}")
    return {**study, "name": name, "setting": {**study["setting"], "seed": root}}


def drawn(rng, margins, labels):
    """Predictions of both arms; run r of both has part of its noise in common."""
    shared = rng.standard_normal((N_RUNS, N_TEXTS)), rng.standard_normal((N_RUNS, 1))
    arms = {}
    for arm, (noise, drift) in NOISE.items():
        text, run = (0.6 * x + 0.8 * rng.standard_normal(x.shape) for x in shared)
        is_right = margins + noise * text + drift * run * np.sign(labels - 0.5) > 0
        arms[arm] = np.where(is_right, labels, 1 - labels)
    return arms


def results_of(arms, labels):
    """Stored results of two compared arms."""
    loaded = {arm: sp.Predictions.from_arrays(x, labels=labels) for arm, x in arms.items()}
    compared = compare_with_first(arm_data(load_arms(loaded, {})), unpaired=UNPAIRED)
    contrasts = {name: compared["aswa"].contrasts[name] for name in METRICS}
    contrast = {
        "arm": "aswa",
        "reference": "none",
        "n_runs": len(arms["none"]),
        "effects": {x: plain_effect(contrasts[x].effect(PLAIN, margin=0.0)) for x in METRICS},
        "matched": {},
        "explanations": {},
        "from_texts": {"effects": {x: share_from_texts(contrasts[x]) for x in METRICS}},
    }
    figures = plain_figures(compared["none"].measurement.metrics)
    none = {"runs": [*map(str, range(len(arms["none"])))], "n_runs": len(arms["none"])}
    none |= {"metrics": {name: figures[name] for name in METRICS}, "scalars": {}}
    none |= {"is_paired": False, "explanations": {}, "matched": None}
    arms = {"none": none}
    return {"name": "half", "versions": {}, "arms": arms, "answers": {"one": [contrast]}}


def on_scale(effect):
    """Value and ends of an effect, on the scale of its interval."""
    ends = [effect[x] for x in ("value", "low", "high")]
    return [math.log(x) for x in ends] if effect["scale"] == "ratio" else ends


@pytest.mark.parametrize("seed", range(3))
def test_pooled_halves_are_close_to_all_runs_at_once(seed):
    """With nearly the same values, widths and shares from texts."""
    rng = np.random.default_rng(seed)
    margins, labels = rng.normal(1.0, 1.2, N_TEXTS), rng.integers(0, 2, N_TEXTS)
    halves = [drawn(rng, margins, labels) for _ in range(2)]
    all_runs = {arm: np.concatenate([half[arm] for half in halves]) for arm in NOISE}

    pooled = pool(*(results_of(half, labels) for half in halves))

    oracle = results_of(all_runs, labels)
    ((contrast,), (expected,)) = (x["answers"]["one"] for x in (pooled, oracle))
    assert contrast["n_runs"] == expected["n_runs"] == 2 * N_RUNS
    for metric, tolerance in METRICS.items():
        ours, all_at_once = (on_scale(x["effects"][metric]) for x in (contrast, expected))
        width = all_at_once[2] - all_at_once[1]
        assert (ours[2] - ours[1]) / width == pytest.approx(1, abs=tolerance), metric
        assert abs(ours[0] - all_at_once[0]) < 0.1 * width, metric
    shares = (x["from_texts"]["effects"]["flip_rate"] for x in (contrast, expected))
    assert next(shares) == pytest.approx(next(shares), abs=0.1)


def test_pooling_equal_halves_narrows_only_the_part_from_runs(stored):
    """The value stays; without a part from texts the width falls by √2, with t by √(t + (1-t)/2)."""
    first = stored[FIRST]

    pooled = pool(first, renamed(first, plan()["second_root"]))

    before, after = (x["arms"]["aswa"] for x in (first, pooled))
    for metric in ("probability_sd", "flip_rate"):
        old, new = (x["effects"][metric] for x in (before, after))
        share = before["from_texts"][metric]
        assert new["value"] == pytest.approx(old["value"], rel=1e-5)
        for end in ("low", "high"):
            factor = math.log(new[end] / new["value"]) / math.log(old[end] / old["value"])
            assert factor == pytest.approx(math.sqrt(share + (1 - share) / 2), rel=1e-3)
    assert after["from_texts"]["accuracy_sd"] == 0.0
    assert after["matched"]["effects"]["flip_rate"] == pytest.approx(
        before["matched"]["effects"]["flip_rate"] | {"detectable": None}
    )  # nor is this
    assert after["metrics"]["accuracy"] == before["metrics"]["accuracy"]  # its part is not stored
    assert after["n_runs"] == len(set(after["runs"])) == 2 * before["n_runs"]
    assert (
        len(after["scalars"]["test_accuracy"]) == len(after["drift"]["shares"]) == after["n_runs"]
    )


def test_cause_of_a_spread_is_judged_again(stored):
    """A spread that one half shows keeps its cause, if the runs of both show it."""
    first = stored[FIRST]
    second = renamed(first, plan()["second_root"])
    arm = second["arms"]["none"] | {"spread_cause": None}
    silent = second | {"arms": second["arms"] | {"none": arm}}
    high = arm["metrics"] | {"accuracy_sd_independent": [1.0, 1.0, 1.0]}
    expected = silent | {"arms": silent["arms"] | {"none": arm | {"metrics": high}}}

    assert first["arms"]["none"]["spread_cause"] == "drift"
    assert pool(first, silent)["arms"]["none"]["spread_cause"] == "drift"
    assert pool(first, expected)["arms"]["none"]["spread_cause"] is None


def test_halves_of_different_sizes_are_weighted(stored):
    """A second half of few runs moves the first little, and never makes its intervals wider."""
    first = stored[FIRST]
    second = renamed(first, plan()["second_root"])
    few = {
        name: arm
        | {x: arm[x][:5] for x in ("runs",)}
        | {"n_runs": 5, "scalars": {key: values[:5] for key, values in arm["scalars"].items()}}
        for name, arm in second["arms"].items()
        if name in ("none", "aswa")
    }

    before, after = first, pool(first, {**second, "arms": few, "answers": {}})

    assert after["arms"]["aswa"]["n_runs"] == before["arms"]["aswa"]["n_runs"] + 5
    runs = [arm["runs"] for arm in after["arms"].values() if len(arm["runs"]) > 50]
    assert runs[0] == runs[1] == [str(run) for run in range(55)]
    old, new = (x["arms"]["aswa"]["effects"]["probability_sd"] for x in (before, after))
    assert old["low"] <= new["low"] < new["high"] <= old["high"]


def test_sd_of_accuracy_is_that_of_all_runs(stored):
    """Not pooled: of the accuracies of both halves, with the interval of two samples."""
    first = stored[FIRST]
    second = renamed(first, plan()["second_root"])
    arms = {
        name: arm | {"scalars": {"test_accuracy": [x - 0.01 for x in accuracies[::2]] * 2}}
        for name, arm in second["arms"].items()
        if (accuracies := arm["scalars"]["test_accuracy"])
    }

    pooled = pool(first, {**second, "arms": arms})

    base, arm = (np.array(pooled["arms"][x]["scalars"]["test_accuracy"]) for x in ("none", "aswa"))
    effect = pooled["arms"]["aswa"]["effects"]["accuracy_sd"]
    assert len(base) == len(arm) == 100
    assert pooled["arms"]["none"]["metrics"]["accuracy_sd"][0] == pytest.approx(base.std(ddof=1))
    assert effect["value"] == pytest.approx(arm.std(ddof=1) / base.std(ddof=1), rel=1e-5)
    low, high = spread_ratio(base, arm, level=PLAIN.divided(2))
    assert [effect["low"], effect["high"]] == pytest.approx([low, high], rel=1e-5)
    headline = {x["arm"]: x for x in pooled["answers"]["headline"]}["aswa"]["effects"]
    assert headline["accuracy_sd"] == effect


def test_sd_without_accuracies_is_the_root_of_the_mean_variance(stored):
    """Of both halves, which have as many runs; changes are ratios of these sds."""
    names = FIRST, f"sst-cnn-additive-seed-{plan()['second_root']}"
    halves = [stored[name] for name in names]
    crossed = [stored[f"{name}-crossed"] for name in names]

    matched, epochs = pool(*halves)["arms"], pool(*crossed)
    contrasts = {(x["arm"], x["reference"]): x for x in epochs["answers"]["averaging-or-longer"]}

    def sd(arm):
        return arm["metrics"]["accuracy_sd"][0]

    for both, first, second in (
        (matched["aswa"]["matched"], *(half["arms"]["aswa"]["matched"] for half in halves)),
        (epochs["arms"]["none-at-aswa"], *(half["arms"]["none-at-aswa"] for half in crossed)),
    ):
        mean = (sd(first) ** 2 + sd(second) ** 2) / 2
        assert sd(both) == pytest.approx(math.sqrt(mean), rel=1e-5)
        assert sd(first) != sd(second)
    for effects, arm, reference in (
        (matched["aswa"]["matched"]["effects"], *(matched[x]["matched"] for x in ("aswa", "none"))),
        (
            contrasts["aswa", "none-at-aswa"]["effects"],
            *(epochs["arms"][x] for x in ("aswa", "none-at-aswa")),
        ),
    ):
        effect = effects["accuracy_sd"]
        assert effect["value"] == pytest.approx(sd(arm) / sd(reference), rel=1e-4)
        assert effect["low"] < effect["value"] < effect["high"]


@pytest.mark.parametrize("verdict", ["too few runs", "not tested"])
def test_effect_without_a_verdict_in_one_half_is_not_pooled(stored, verdict):
    """Two halves that say nothing of seeds say nothing together."""
    first = stored[FIRST]
    aswa = first["arms"]["aswa"]
    effects = aswa["effects"] | {"flip_rate": aswa["effects"]["flip_rate"] | {"verdict": verdict}}
    second = first | {"arms": first["arms"] | {"aswa": aswa | {"effects": effects}}}

    pooled = pool(first, renamed(second, plan()["second_root"]))["arms"]["aswa"]["effects"]

    assert "flip_rate" not in pooled
    assert "probability_sd" in pooled


def test_effects_of_fewer_arms_are_widened(stored):
    """A half of fewer arms has intervals of a lower confidence, which the pooled ones do not get."""
    first = stored[FIRST]
    second = renamed(first, plan()["second_root"])
    arm = second["arms"]["aswa"]
    alone = {
        name: effect | {"confidence": effect["confidence"] and 0.95}
        for name, effect in arm["effects"].items()
    }
    alone = {**arm, "effects": alone, "of_all": None}
    fewer = {**second, "arms": {"none": second["arms"]["none"], "aswa": alone}}

    pooled, same = (pool(first, half)["arms"]["aswa"] for half in (fewer, second))

    assert pooled["effects"]["flip_rate"]["confidence"] == 0.975
    assert pooled["effects"]["flip_rate"]["low"] < same["effects"]["flip_rate"]["low"]
    together = pooled["of_all"]["effects"]["flip_rate"]
    assert (
        together["confidence"]
        == first["arms"]["aswa"]["of_all"]["effects"]["flip_rate"]["confidence"]
    )
    assert together["low"] < pooled["effects"]["flip_rate"]["low"]


def test_what_one_half_lacks_is_kept(stored):
    """NASWA was trained in the first half alone, and keeps its figures."""
    first = stored[FIRST]
    second = renamed(first, plan()["second_root"])
    arms = {name: arm for name, arm in second["arms"].items() if name in ("none", "aswa")}

    pooled = pool(first, {**second, "arms": arms, "answers": {}})

    assert pooled["arms"]["naswa"] == first["arms"]["naswa"]
    assert pooled["answers"] == first["answers"]
    assert [*pooled["halves"].values()] == [first["arms"]["none"]["n_runs"]] * 2


def test_only_halves_of_the_same_study_are_joined(stored):
    """Other studies, and a half without the other, are returned as they are."""
    first, root = stored[FIRST], plan()["second_root"]
    others = [stored["sst-lstm-additive"], stored[FIRST + "-blocks"]]
    others.append(renamed(stored[FIRST + "-blocks"], root))

    joined = join_halves([first, renamed(first, root), *others])

    assert [study["name"] for study in joined] == [FIRST, *(study["name"] for study in others)]
    assert joined[1:] == others
    assert join_halves([renamed(first, root), *others]) == [renamed(first, root), *others]


def test_page_shows_both_halves_and_the_commands_of_each(stored):
    """Figures of the page are pooled; a table has each half alone."""
    root = plan()["second_root"]
    firsts = [stored[FIRST], stored[FIRST + "-crossed"]]

    data = page_data([*firsts, *(renamed(x, root) for x in firsts)])

    assert set(data["headline"]["setting"].halves) == {FIRST, f"sst-cnn-additive-seed-{root}"}
    assert len(data["settings"]) == 1
    assert len(data["by_half"].rows) == 2 * len(
        data["answers"]["averaging-or-longer"]["table"].rows
    )
    assert [f"--seed {x} " in " ".join(data["commands"]) for x in (1, root)] == [True, True]
    assert page_data(firsts)["by_half"] is None
