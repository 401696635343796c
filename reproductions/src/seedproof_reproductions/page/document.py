"""A page and its images, and how they are written."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedproof_reproductions.page.words import paragraphs


@dataclass(frozen=True)
class Drawn:
    """A figure on the page.

    Args:
        text: Heading, image and caption, as Markdown.
        file_name: Of the image.
        image: Its content.
    """

    text: str
    file_name: str
    image: str


@dataclass(frozen=True)
class Page:
    """A page with its images.

    Args:
        text: Markdown.
        images: Content of each image, by the name of its file.
    """

    text: str
    images: Mapping[str, str]


def assembled(
    opening: Sequence[str],
    sections: Mapping[str, str],
    *,
    command: str,
    figures: Sequence[Drawn],
) -> Page:
    """A page of its parts; sections without content are left out.

    Args:
        opening: Title, and what stands before the first section.
        sections: Content by heading.
        command: What makes the page.
        figures: Whose images it has.

    Returns:
        The page.
    """
    headed = (f"## {title}\n\n{content}" for title, content in sections.items() if content)
    made = f"<!-- Made by `{command}`: do not edit. -->"
    images = {one.file_name: one.image for one in figures}
    return Page(paragraphs((*opening, *headed, made)) + "\n", images)


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
