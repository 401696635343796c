"""A folder or file on any filesystem of pyarrow: a local path or a URL."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs

from seedproof.errors import (
    DamagedStoreError,
    NotFoundError,
    OptionError,
    RunExistsError,
    SeedproofError,
    StoreError,
)
from seedproof.messages import PROBLEMS, problem_of
from seedproof.records import durability
from seedproof.records.remote import connect

# End of the name of a file that is not whole yet.
DRAFT_OF = re.compile(r"\.[0-9a-f]{32}")


@dataclass(frozen=True)
class Location:
    """A place in a filesystem; `/` goes down, as with pathlib.

    Nothing is read or written through a symbolic link that leads out of the folder that was given
    to `of`, such as a store.
    """

    files: pyarrow.fs.FileSystem
    path: str
    # Folder that links must not lead out of; empty if it is not local.
    boundary: str = field(default="", compare=False)
    # False for temporary stores, which need not survive a power failure.
    is_durable: bool = field(default=True, compare=False)

    @classmethod
    def of(cls, target: "str | os.PathLike[str] | Location") -> "Location":
        """Return the location of a path or a URL (`s3://`, `gs://`, `hf://`, `file://`)."""
        if isinstance(target, Location):
            return target
        text = os.fspath(target)
        if not is_unicode(text):
            raise NotFoundError(
                "{location!r} cannot be opened: it is not UTF-8. Rename it.",
                location=text,
            )
        if "://" not in text:
            path = Path(text).absolute().as_posix()
            return cls(pyarrow.fs.LocalFileSystem(), path, path)
        files, path = connect(text)
        path = path.rstrip("/")
        is_local = isinstance(files, pyarrow.fs.LocalFileSystem)
        return cls(files, path, path if is_local else "")

    def __truediv__(self, name: str) -> "Location":
        return replace(self, path=f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def parent(self) -> "Location":
        """The folder that this is in."""
        return replace(self, path=self.path.rpartition("/")[0])

    @property
    def is_local(self) -> bool:
        """True on the local filesystem."""
        return isinstance(self.files, pyarrow.fs.LocalFileSystem)

    def is_file(self) -> bool:
        """Return whether a file is here."""
        return bool(self._info().type == pyarrow.fs.FileType.File)

    def is_folder(self) -> bool:
        """Return whether a folder is here."""
        return bool(self._info().type == pyarrow.fs.FileType.Directory)

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return int(self._info().size)

    def _info(self) -> pyarrow.fs.FileInfo:
        return self.files.get_file_info(self.path)

    def folders(self) -> list["Location"]:
        """Return the folders inside this one, by name; none if this one does not exist."""
        return self._inside(pyarrow.fs.FileType.Directory)

    def files_inside(self) -> list["Location"]:
        """Return the files directly inside this folder, by name; none if it does not exist."""
        return self._inside(pyarrow.fs.FileType.File)

    def _inside(self, kind: pyarrow.fs.FileType) -> list["Location"]:
        self.check_links()
        selector = pyarrow.fs.FileSelector(self.path, allow_not_found=True)
        infos = self.files.get_file_info(selector)
        return [self / name for name in sorted(i.base_name for i in infos if i.type == kind)]

    def make_folder(self, *, durable: bool = False) -> None:
        """Create this folder and those above it; if `durable`, also after a power failure."""
        self.check_links()
        try:
            if durable and self.is_local:
                durability.make_folder(Path(self.path))
            else:
                self.files.create_dir(self.path, recursive=True)
        except OSError as error:
            raise OptionError(
                "{folder!r} cannot be created: {reason}. Pass another folder.",
                folder=self.path,
                reason=problem_of(error),
            ) from error

    def check_links(self) -> None:
        """Raise an error if a symbolic link leads out of the boundary, or to a device or pipe."""
        if not self.boundary or not self.path.startswith(f"{self.boundary}/"):
            return
        below = self.boundary
        for name in self.path.removeprefix(f"{self.boundary}/").split("/"):
            below = f"{below}/{name}"
            try:
                mode = os.lstat(below).st_mode
            except OSError:  # absent, or reported when it is opened
                return
            if stat.S_ISLNK(mode):
                inside = os.path.realpath(self.boundary)
                if os.path.commonpath([inside, os.path.realpath(below)]) != inside:
                    raise DamagedStoreError(
                        "{path} is a link that leads out of {folder}. Replace it with a copy of "
                        "what it leads to.",
                        path=below,
                        folder=self.boundary,
                    )
                continue
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise DamagedStoreError(
                    "{path} is neither a file nor a folder. Delete it.", path=below
                )

    @contextmanager
    def open_read(self) -> Iterator[pa.NativeFile]:
        """Open the file for reading."""
        self.check_links()
        with self.files.open_input_file(self.path) as file:
            yield file

    def read_bytes(self, start: int = 0) -> bytes:
        """Return the file's bytes from `start` on."""
        with self.open_read() as file:
            file.seek(start)
            return bytes(file.read())

    @contextmanager
    def open_write(self) -> Iterator[pa.NativeFile]:
        """Open the file for writing; an existing one is replaced."""
        self.check_links()
        with self.files.open_output_stream(self.path) as file:
            yield file

    def remove_drafts(self) -> None:
        """Remove what killed processes left of this file; callers hold its lock."""
        path = Path(self.path)
        for draft in path.parent.glob("*") if self.is_local else ():
            if DRAFT_OF.fullmatch(draft.name.removeprefix(path.name)):
                draft.unlink(missing_ok=True)

    def commit(
        self,
        content: bytes,
        *,
        files: Iterable["Location"] = (),
        root: "Location | None" = None,
        replaces: bool = False,
    ) -> None:
        """Write a whole file: afterwards it survives a power failure, before it does not exist.

        Callers hold a lock, as only then an existing file is certain to be kept. Object stores have
        no locks: there the last writer wins.

        Args:
            content: Content of the file.
            files: Files that it refers to, which reach the disk before it.
            root: Folder above all of them that is known to be on the disk. If omitted, that of the
                file.
            replaces: Whether an existing file is replaced.

        Raises:
            RunExistsError: The file exists.
        """
        if not self.is_local:
            self._overwrite(content)
            return
        folder = Path(self.path).parent
        self.parent.check_links()
        self._check_absent(replaces=replaces)
        folder.mkdir(parents=True, exist_ok=True)
        if self.is_durable:
            top = folder if root is None else Path(root.path)
            durability.sync_before(folder, [Path(file.path) for file in files], top)
        draft = self._draft()
        try:
            draft.write_bytes(content)
            if self.is_durable:
                durability.sync(draft)
            self._check_absent(replaces=replaces)
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)
        if self.is_durable:
            durability.sync(folder)

    def _check_absent(self, *, replaces: bool) -> None:
        if not replaces and self.is_file():
            raise RunExistsError(
                "{path} already exists. Records are never overwritten: delete the run's folder "
                "first, or write to another store.",
                path=self.path,
            )

    def replace(self, content: bytes) -> None:
        """Write a whole file atomically, in place of an existing one.

        It may be empty after a power failure: use `commit` for records.
        """
        if self.is_local:
            self.parent.check_links()
            draft = self._draft()
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            draft.replace(self.path)
        else:
            self._overwrite(content)

    def _draft(self) -> Path:
        return Path(f"{self.path}.{uuid4().hex}")

    def _overwrite(self, content: bytes) -> None:
        with self.open_write() as file:
            file.write(content)


@contextmanager
def writing(store: Location) -> Iterator[None]:
    """Translate errors of the system, such as a full disk, while a store is written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, SeedproofError) or error.errno not in PROBLEMS:
            raise
        raise StoreError(
            "{store} cannot be written: {reason}. Free some space or change the permissions, and "
            "run the same command again: finished runs are kept.",
            store=store,
            reason=problem_of(error),
        ) from error


def check_inside(folder: Path, path: Path) -> None:
    """Raise an error if a path in a folder is a link that leads out of it, or to a device."""
    (Location.of(folder) / path.relative_to(folder).as_posix()).check_links()


def is_unicode(text: str) -> bool:
    """Return whether a text can be encoded: a lone surrogate marks a byte that was not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_file_name(name: str) -> bool:
    """Return whether a text is the name of a file or folder, and not a path."""
    return name.isprintable() and name not in {"", ".", ".."} and not {"/", "\\"} & set(name)
