"""Build the pages of all papers from the results in the package.

`python -m seedproof_reproductions.build docs/results` rewrites the pages of the docs.
"""

import sys
from pathlib import Path

from seedproof_reproductions.conll2019 import page_data as conll2019
from seedproof_reproductions.conll2019.results import stored_results as conll2019_results
from seedproof_reproductions.findings2023 import pages as findings2023
from seedproof_reproductions.findings2023.results import stored_results as findings2023_results
from seedproof_reproductions.thesis2019 import page_data as thesis2019
from seedproof_reproductions.thesis2019.results import stored_results as thesis2019_results

# Writes the page of a paper's results.
PAGES = {
    "conll2019": conll2019.write_page,
    "findings2023": findings2023.write_page,
    "thesis2019": thesis2019.write_page,
}
RESULTS = {
    "conll2019": conll2019_results,
    "findings2023": findings2023_results,
    "thesis2019": thesis2019_results,
}


def build_pages(folder: Path) -> tuple[Path, ...]:
    """Write the pages of all papers with results, and their charts, into a folder.

    Return all files.
    """
    return tuple(
        path
        for name, write in PAGES.items()
        if (results := RESULTS[name]())
        for path in write(results, folder / f"{name}.md")
    )


if __name__ == "__main__":
    for written in build_pages(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
