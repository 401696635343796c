"""Files and folders that reports are written to."""

import os
from collections.abc import Mapping

from seedproof.errors import OptionError
from seedproof.measurement.examples import ExampleTable
from seedproof.messages import problem_of
from seedproof.records.location import Location
from seedproof.records.reader import Store


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write one file, and create its folder if needed."""
    place = Location.of(path)
    place.parent.make_folder()
    with place.open_write() as file:
        file.write(content)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise unless a folder can be created or written to, before there is something to write."""
    if Store.is_at(Location.of(folder)):
        raise OptionError(
            "{folder!r} is a store. Give the report a folder of its own.", folder=str(folder)
        )
    save_files(folder, {})


def save_files(
    folder: str | os.PathLike[str],
    files: Mapping[str, str],
    *,
    examples: ExampleTable | None = None,
) -> None:
    """Write files into a folder, which is created if needed."""
    place = Location.of(folder)
    try:
        place.make_folder()
        if examples is not None:
            examples.save(place / "examples.parquet")
        for name, content in files.items():
            with (place / name).open_write() as file:
                file.write(content.encode())
    except OptionError as error:  # with the whole path
        raise error.replace(folder=str(folder)) from error
    except OSError as error:
        raise OptionError(
            "{folder!r} cannot be written to: {reason}. Pass another folder.",
            folder=str(folder),
            reason=problem_of(error),
        ) from error
