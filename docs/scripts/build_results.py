"""Build the results pages from the stored results of the reproductions.

    python docs/scripts/build_results.py

MkDocs calls `on_pre_build` before it reads the pages, so the site always shows the stored results.
The pages are also committed, for readers of the repository.
"""

from pathlib import Path

from seedproof_reproductions.build import build_pages

FOLDER = Path(__file__).parents[1] / "results"


def on_pre_build(config: object) -> None:
    """Build the pages; the configuration that MkDocs passes is not used."""
    del config
    build_pages(FOLDER)


if __name__ == "__main__":
    for path in build_pages(FOLDER):
        print(path)
