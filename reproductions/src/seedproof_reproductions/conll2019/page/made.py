"""How the results were made: commands, time and versions."""

from collections.abc import Sequence

from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.keeping import shared_versions
from seedproof_reproductions.page.words import listed, paragraphs

COMMAND = "seedproof reproduce conll2019 --from-results --page docs/results/conll2019.md"
# What the command line takes without being told.
USUAL = {"encoder": "cnn", "attention": "additive", "epochs": 20, "n_train": None, "n_test": None}
LIME_OPTIONS = {"n_lime": ("--lime-examples", 200), "n_samples": ("--lime-samples", 5000)}


def how_made(settings: Sequence[SettingResults]) -> str:
    """The commands that train the runs and rebuild the page.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading.
    """
    shared = shared_versions(one.own["versions"] for one in settings)
    versions = listed([f"{name} {value}" for name, value in shared.items()])
    commands = "\n".join(_command(one) for one in settings)
    about = (
        f"Each run had one thread, with {versions}.\n"
        "Seconds are not quoted, because runs shared the machine with other work.\n"
        "These commands make them again; what is finished is never repeated."
    )
    rebuild = (
        "Each leaves a small file with `--results`.\n"
        "Ours are in `reproductions/src/seedproof_reproductions/conll2019/results`, and this page is made from them, "
        "without training:"
    )
    more = (
        "See [how to reproduce a paper](../how-to/reproduce-a-paper.md) and "
        "[what the figures mean](../reference/metrics.md)."
    )
    return paragraphs((about, f"```sh\n{commands}\n```", rebuild, f"```sh\n{COMMAND}\n```", more))


def _command(one: SettingResults) -> str:
    setting = one.own["setting"]
    unusual = {name: setting[name] for name, usual in USUAL.items() if setting[name] != usual}
    given = {"dataset": one.dataset, **unusual, "arms": ",".join(one.arms), "seeds": one.n_runs}
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
    return f"seedproof reproduce conll2019 {options}{_explaining(one)}"


def _explaining(one: SettingResults) -> str:
    """What asks for gradients and LIME, and for how much of it; nothing without them."""
    if one.explained is None:
        return ""
    how = one.explained["explaining"]
    unusual = [
        f" {option} {how[name]}"
        for name, (option, usual) in LIME_OPTIONS.items()
        if how.get(name, usual) != usual
    ]
    return "".join([" --explain", *unusual])
