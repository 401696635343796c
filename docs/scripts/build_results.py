"""Build the results pages from the results that are stored with the reproductions.

    python docs/scripts/build_results.py

MkDocs calls `on_pre_build` before it reads the pages, so that the site always shows the stored
results. The pages are committed as well, for people who read the repository.
"""

from pathlib import Path

from seedproof_reproductions.build import build_pages

FOLDER = Path(__file__).parents[1] / "results"


def on_pre_build(config: object) -> None:
    """Build the pages; MkDocs passes its configuration, of which nothing is needed."""
    del config
    build_pages(FOLDER)


if __name__ == "__main__":
    for path in build_pages(FOLDER):
        print(path)
