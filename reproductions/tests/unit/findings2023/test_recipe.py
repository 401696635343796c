"""The order in which a study of the recipe is made."""

import pytest

from seedproof_reproductions.findings2023 import recipe
from seedproof_reproductions.findings2023.settings import Setting


@pytest.mark.parametrize(
    ("track", "arms", "parts"),
    [
        ("finetune", ("none", "swa"), [{"none": 3}, {"none": 3, "swa": 3}]),
        ("finetune", ("none",), [{"none": 3}]),
        ("finetune", ("swa", "ema"), [{"swa": 3, "ema": 3}]),
        ("head", ("none", "swa"), [{"none": 3, "swa": 3}]),
    ],
)
def test_controls_of_encoders_are_made_before_arms_that_reuse_them(
    monkeypatch, tmp_path, track, arms, parts
):
    """So that no worker waits for a control that another one trains."""
    made = []

    def make_runs(study, **_options):
        names = [run.arm for run in study.planned()]
        made.append({arm: names.count(arm) for arm in names})

    monkeypatch.setattr(recipe, "make_runs", make_runs)
    monkeypatch.setattr(recipe, "collect", lambda store: {"store": store})
    setting = Setting("massive", track)

    study = recipe.study(setting, store=tmp_path / "store", seeds=3, arms=arms)
    results = recipe.complete(study, setting)

    assert made == parts
    assert results == {"store": study.store}
