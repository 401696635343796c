"""Where data sets are: in the folder that `SEEDPROOF_DATA` names, or fetched once and checked."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from seedproof._optional import require
from seedproof.errors import NotFoundError

FOLDER_VARIABLE = "SEEDPROOF_DATA"


@dataclass(frozen=True)
class Source:
    """A public file, and what it must be.

    Args:
        url: Its address.
        digest: Algorithm and digest of its bytes, such as `sha256:…`.
    """

    url: str
    digest: str

    @property
    def file_name(self) -> str:
        """What it is called in the cache: the address's last part."""
        return self.url.rpartition("/")[2]


def data_folder() -> Path | None:
    """The folder with the user's own copies; None if `SEEDPROOF_DATA` is not set.

    Returns:
        A folder that exists.

    Raises:
        NotFoundError: The variable names something else.
    """
    named = os.environ.get(FOLDER_VARIABLE, "")
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise NotFoundError(
            f"{FOLDER_VARIABLE} is {named!r}, which is no folder. Name the folder with the data "
            "sets, or unset it to fetch them."
        )
    return folder


def local_file(path: str) -> Path | None:
    """A file of the user's own copies.

    Args:
        path: Where it is below the folder, such as `sst/sst_dataset.csv`.

    Returns:
        The file; None if no folder is named, or it has no such file.
    """
    folder = data_folder()
    if folder is None or not (folder / path).is_file():
        return None
    return folder / path


def own_file(path: str, *, what: str, layout: str) -> Path:
    """A file that only its user may have, because nobody may pass it on.

    Args:
        path: Where it is below the folder.
        what: What it is, for the message.
        layout: What it must look like, for the message.

    Returns:
        The file.

    Raises:
        NotFoundError: It is not there.
    """
    found = local_file(path)
    if found is None:
        raise NotFoundError(
            f"{what} may not be passed on, and {path} is not below the folder that "
            f"{FOLDER_VARIABLE} names. Put your own copy there: {layout}."
        )
    return found


def note_on_bytes(path: Path, source: Source) -> tuple[str, ...]:
    """What is to be said of a file that is not the published one.

    Args:
        path: A copy of the user's own, or what `fetch` gave.
        source: The public file.

    Returns:
        A sentence; nothing if its bytes are the published ones.
    """
    kind, _, published = source.digest.partition(":")
    with path.open("rb") as file:
        if hashlib.file_digest(file, kind).hexdigest() == published:
            return ()
    note = (
        f"Caution: {path} is not the published file: its {kind} digest differs. What comes out is "
        "about your own data."
    )
    return (note,)


def fetch(source: Source, *, folder: str, local: str | None = None) -> Path:
    """A public file, fetched the first time and checked each time.

    Args:
        source: Address and digest.
        folder: Where in the cache it goes, such as `sst`.
        local: Where a copy of the user's own would be found, such as `sst/sst_dataset.csv`.

    Returns:
        The file.

    Raises:
        NotFoundError: It cannot be fetched, or is not what it was.
    """
    require("pooch", extra="papers", feature="Fetching a data set")
    import pooch

    cache = pooch.os_cache("seedproof") / folder
    try:
        found = pooch.retrieve(
            source.url,
            known_hash=source.digest,
            fname=source.file_name,
            path=cache,
        )
    except (OSError, ValueError) as error:
        place = (
            cache / source.file_name
            if local is None
            else f"{local} below the folder that {FOLDER_VARIABLE} names"
        )
        raise NotFoundError(
            f"{source.url} could not be fetched ({str(error).splitlines()[0]}). Fetch it yourself, "
            f"and put it at {place}."
        ) from error
    return Path(found)
