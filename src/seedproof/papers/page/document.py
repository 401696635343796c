"""A page and its images, and how they are written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Page:
    """A page with its images.

    Args:
        text: Markdown.
        images: Content of each image, by the name of its file.
    """

    text: str
    images: Mapping[str, str]


def write_files(page: Page, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a page, and its images into a folder beside it that is named like the page.

    Args:
        page: What is written.
        path: The page, such as `docs/results/conll2019.md`.

    Returns:
        All files that were written, the page first.
    """
    place = Path(path)
    images = place.with_suffix("")
    images.mkdir(parents=True, exist_ok=True)
    place.write_text(page.text, encoding="utf-8")
    written = [place]
    for name, content in page.images.items():
        (images / name).write_text(content, encoding="utf-8")
        written.append(images / name)
    return tuple(written)
