"""A study in blocks that separates two sources of flips: the initial weights and the order."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from seedproof.api.blame import blame
from seedproof.comparison.blame.variance_shares import Share
from seedproof.report.blame import BlameReport
from seedproof.seeds import SeedPlan
from seedproof.training.study import Study
from seedproof_reproductions.conll2019.names import BLOCKS
from seedproof_reproductions.conll2019.recipe import train
from seedproof_reproductions.conll2019.results import FORMAT, PAPER, SPLIT
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.results import run_hours, short
from seedproof_reproductions.runs import open_study, study_of

SOURCES = ("init", "order")
USUAL_ARMS = ("none", "aswa")


def blocks_study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    blocks: int,
    arms: Sequence[str] = USUAL_ARMS,
) -> Study:
    """Return the study whose runs share the initial weights or the order in blocks."""
    plan = SeedPlan.blocks(blocks, SOURCES, root=setting.seed)
    return study_of(setting, train, store=store, seeds=plan, arms=arms, suffix=BLOCKS)


def collect_sources(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the share of the flips that each source causes, in each arm."""
    records, plan = open_study(store, PAPER)
    return {
        "format": FORMAT,
        "paper": PAPER,
        "name": records.study.name,
        "setting": asdict(Setting.from_arguments(plan["arguments"])),
        "hours": run_hours(run for run in records.runs if run.status == "finished"),
        "arms": {arm: _plain_blame(store, arm) for arm in records.arms()},
    }


def _plain_blame(store: str | os.PathLike[str], arm: str) -> dict[str, Any]:
    report = blame(os.fspath(store), arm=arm, split=SPLIT)
    if not isinstance(report, BlameReport):
        raise TypeError("The runs of this recipe predict classes.")
    blamed = report.result
    return {
        "n_runs": blamed.n_runs,
        "n_blocks": blamed.n_blocks,
        "flip_rate": short(blamed.flips.apart),
        "most": blamed.flips.most,
        "first": _plain_shares(blamed.flips.first),
        "total": _plain_shares(blamed.flips.total),
        "interaction": _plain_share(blamed.flips.interaction),
    }


def _plain_shares(shares: Mapping[str, Share | None]) -> dict[str, list[float | None] | None]:
    return {source: _plain_share(share) for source, share in shares.items()}


def _plain_share(share: Share | None) -> list[float | None] | None:
    """Return value, low and high."""
    return None if share is None else [short(x) for x in (share.value, share.low, share.high)]
