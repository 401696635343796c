"""The temporary folder of a result: shared by its copies, packed with its pickle."""

import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from seedproof.records.drafts import make_temporary_folder, remove_temporary_folder
from seedproof.records.location import Location


class ScratchFolder:
    """A temporary folder that is removed with the last object that refers to it."""

    # Copies share the folder. A pickle carries the files, and loading it creates a new folder;
    # `packed_at` is where the files were when they were pickled.

    def __init__(self, path: Path, packed_at: str | None = None) -> None:
        self.path = path
        self.packed_at = packed_at
        weakref.finalize(self, remove_temporary_folder, path)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        files = {
            file.relative_to(self.path).as_posix(): file.read_bytes()
            for file in sorted(self.path.rglob("*"))
            if file.is_file()
        }
        return _unpacked, (self.path.absolute().as_posix(), files)

    def moved(self, place: Location) -> Location:
        """Return the current location of a file that was in the folder when it was pickled."""
        if self.packed_at is None or not place.path.startswith(f"{self.packed_at}/"):
            return place
        return replace(
            place, path=self.path.absolute().as_posix() + place.path[len(self.packed_at) :]
        )


def _unpacked(packed_at: str, files: Mapping[str, bytes]) -> ScratchFolder:
    scratch = ScratchFolder(make_temporary_folder(), packed_at)
    for name, content in files.items():
        file = scratch.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return scratch


class HoldsScratch:
    """A result whose table of examples may be in a temporary folder."""

    def __init__(self, scratch: Path | None) -> None:
        self._scratch = None if scratch is None else ScratchFolder(scratch)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        if self._scratch is not None:
            self._move_examples(self._scratch)

    def _move_examples(self, scratch: ScratchFolder) -> None:
        """Update the location of the examples after a pickle was loaded."""
        raise NotImplementedError
