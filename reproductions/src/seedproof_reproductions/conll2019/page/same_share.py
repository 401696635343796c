"""What averaging does beyond holding the share of positive answers still."""

from seedproof_reproductions.conll2019.names import ARMS, BASELINE
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.page.words import clauses, figure, listed

MATCHED = {"accuracy_sd": "the sd of accuracy", "flip_rate": "the flip rate"}
DEFINITION = (
    "*Same share*: the threshold of each run is moved so that all runs of an arm give the second "
    "class to the same number of texts: the mean over its runs, rounded.\n"
    "In a run it is given to the texts with the highest probabilities; of equal ones, to the first "
    "in the records. Gold labels play no part."
)


def same_share(found: SettingResults) -> str:
    """What is left of the cuts where every run of an arm gives one answer equally often.

    Args:
        found: The setting that answers the question.

    Returns:
        A sentence for each figure; nothing with more than two classes, or nothing to compare.
    """
    if found.matched(BASELINE, "flip_rate") is None or not found.paper_arms:
        return ""
    start = (
        f"**With the same share of positive answers.** Some runs say “{found.classes[1]}” more "
        "often than others. Move the threshold of each run so that all runs of an arm say it "
        "equally often."
    )
    told = [_left(found, metric, words) for metric, words in MATCHED.items()]
    return " ".join(part for part in (start, *told, _conclusion(found)) if part)


def _left(found: SettingResults, metric: str, words: str) -> str:
    """A figure before and after thresholds were moved, and what averages do to it then."""
    before, after = (
        figure(metric, one)
        for one in (found.estimate(BASELINE, metric), found.matched(BASELINE, metric))
    )
    effects = [(ARMS[arm], found.matched_effect(arm, metric)) for arm in found.paper_arms]
    return f"Without averaging {words} is then {after} in place of {before}. {clauses(effects)}"


def _conclusion(found: SettingResults) -> str:
    """For which figures all averages do more than hold the threshold, by the verdicts alone."""
    shown, open_still = [], []
    for metric, words in MATCHED.items():
        effects = [found.matched_effect(arm, metric) for arm in found.paper_arms]
        verdicts = {None if one is None else one.verdict for one in effects}
        if verdicts == {"steadier"}:
            shown.append(words)
        elif "steadier" not in verdicts:
            open_still.append(words)
    told = [
        f"is {word} for {listed(names)}"
        for word, names in (("shown", shown), ("not shown", open_still))
        if names
    ]
    if not told:
        return ""
    return f"That averaging does more than steady the threshold {', and '.join(told)}."
