"""How the results were made: commands and versions."""

from collections.abc import Sequence

from seedproof.papers.findings2023.page.reading import SettingResults
from seedproof.papers.findings2023.published import published
from seedproof.papers.keeping import shared_versions
from seedproof.papers.page.words import listed, paragraphs

COMMAND = "seedproof reproduce findings2023 --from-results --page docs/results/findings2023.md"


def how_made(settings: Sequence[SettingResults]) -> str:
    """The commands that train the runs and rebuild the page.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading.
    """
    found = shared_versions(one.own["versions"] for one in settings)
    versions = listed([f"{name} {value}" for name, value in found.items()])
    about = (
        f"Each run had one thread{f', with {versions}' if versions else ''}.\n"
        "These commands make them again; what is finished is never repeated."
    )
    commands = "\n".join(_command(one) for one in settings)
    rebuild = (
        "Each leaves a small file with `--results`.\n"
        "Ours are in `src/seedproof/papers/findings2023/results`, and this page and "
        "[its decision page](which-mitigation.md) are made from them, without training:"
    )
    more = (
        "See [how to reproduce a paper](../how-to/reproduce-a-paper.md), "
        "[soft labels](../how-to/soft-labels.md), [averages of weights]"
        "(../how-to/average-weights.md), [how to watch one run](../how-to/dynamics.md) and "
        "[what the figures mean](../reference/metrics.md)."
    )
    return paragraphs((about, f"```sh\n{commands}\n```", rebuild, f"```sh\n{COMMAND}\n```", more))


def _command(one: SettingResults) -> str:
    setting = one.own["setting"]
    usual = {"epochs": published()["training"]["epochs"], "n_train": None, "n_test": None}
    unusual = {name: setting[name] for name, value in usual.items() if setting[name] != value}
    given = {"dataset": one.dataset, "track": one.track, **unusual, "seeds": one.n_runs}
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
    return f"seedproof reproduce findings2023 {options}"
