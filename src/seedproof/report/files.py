"""Files and folders that reports are written to.

Nothing is written under its final name. All files of a result are drafts in a hidden folder next
to it (`records/drafts.py`), are forced to the disk, and then take the place of an earlier result
together: the two folders swap their names in one step. Where the system cannot swap them, or the
folder has subfolders of other origin, files are moved one by one, the old ones out before the new
ones come in, so that files of two results are never side by side.
"""

import errno
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from seedproof.errors import OptionError, SeedproofError
from seedproof.measurement.examples import EXAMPLES_FILE, ExampleTable, check_replaceable
from seedproof.messages import problem_of
from seedproof.records import durability
from seedproof.records.drafts import draft_in
from seedproof.records.location import Location
from seedproof.records.locks import acquire
from seedproof.records.reader import Store

# Another process that writes into the same folder holds it for some renames.
SECONDS = 60.0


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write one file as a whole, in place of an earlier one, and create its folder if needed."""
    place = Location.of(path)
    if not place.is_local:
        place.parent.make_folder()
        with place.open_write() as stream:
            stream.write(content)
        return
    file = Path(os.path.realpath(place.path))
    if file.exists() and not file.is_file() and not file.is_dir():  # such as /dev/stdout
        file.write_bytes(content)
        return
    place.parent.make_folder()
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    with draft_in(file.parent) as folder:
        draft = folder / "file"
        draft.write_bytes(content)
        if file.exists():
            shutil.copymode(file, draft)
        durability.sync(draft)
        draft.replace(file)
        durability.sync(file.parent)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise unless a folder can be created or written to, before there is something to write."""
    place = Location.of(folder)
    if Store.is_at(place):
        raise OptionError(
            "{folder!r} is a store. Give the report a folder of its own.", folder=str(folder)
        )
    with _explained(folder):
        if place.is_local:
            with draft_next_to(folder):
                pass
        else:
            place.make_folder()


@contextmanager
def draft_next_to(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty hidden folder on the filesystem of a local folder, which need not exist."""
    out = _real(folder)
    Location.of(out.parent).make_folder()
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(out))
    is_apart = out.exists() and out.stat().st_dev != out.parent.stat().st_dev  # such as a volume
    with draft_in(out if is_apart or not os.access(out.parent, os.W_OK) else out.parent) as draft:
        yield draft


@contextmanager
def result_folder(
    folder: str | os.PathLike[str], *, own: Collection[str] = ()
) -> Iterator[Location]:
    """Yield a draft of a folder of results, which replaces an earlier one at the end of the block.

    Other files of the folder stay. On an object store the yielded folder is the final one: each
    object is whole, but a process that is killed may leave those of two results.

    Args:
        folder: Where the results belong; it is created if needed.
        own: Names of files that only this kind of result has; those of an earlier result are
            removed if this one does not write them.
    """
    place = Location.of(folder)
    with _explained(folder):
        if not place.is_local:
            place.make_folder()
            yield place
            return
        out = _real(folder)
        with draft_next_to(folder) as draft:
            new = draft / "new"
            new.mkdir()
            yield Location.of(new)
            durability.sync_before(new, [path for path in new.rglob("*") if path.is_file()], new)
            durability.sync(new)
            with _taking_turns(draft.parent, out):
                _put(new, out, draft / "old", own)
                durability.sync(out.parent)


def write_results(
    place: Location, texts: Mapping[str, str], examples: ExampleTable | None = None
) -> None:
    """Write the files of a result into a folder: examples, texts, and JSON last."""
    if examples is not None:
        examples.save(place / EXAMPLES_FILE)
    for name in sorted(texts, key=_is_json):
        with (place / name).open_write() as file:
            file.write(texts[name].encode())


def _is_json(name: str | Path) -> bool:
    return str(name).endswith(".json")


def _real(folder: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(Location.of(folder).path))


@contextmanager
def _explained(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Name the folder in errors of the system."""
    try:
        yield
    except OptionError as error:  # with the whole path
        raise error.replace(folder=str(folder)) if "folder" in error.fields else error from error
    except OSError as error:
        if isinstance(error, SeedproofError):
            raise
        raise OptionError(
            "{folder!r} cannot be written to: {reason}. Pass another folder.",
            folder=str(folder),
            reason=problem_of(error),
        ) from error


@contextmanager
def _taking_turns(parent: Path, out: Path) -> Iterator[None]:
    """Let writers of a folder wait for each other."""
    name = blake2b(os.fsencode(out), digest_size=16).hexdigest()
    hold = None
    with suppress(SeedproofError):  # a filesystem without locks
        hold = acquire(parent / f".seedproof-{name}.lock", seconds=SECONDS)
    try:
        yield
    finally:
        if hold is not None:
            hold.release(delete=True)


def _put(new: Path, out: Path, old: Path, own: Collection[str]) -> None:
    """Let a finished folder take the place of another."""
    for path in (out / name for name in _names(new)):
        if path.name == EXAMPLES_FILE:
            check_replaceable(Location.of(path))
    if not out.exists():
        new.rename(out)
    elif _may_swap(new, out) and _carry_over(new, out, own) and durability.exchange(new, out):
        _give_back(new, out, own)
    else:
        _move_each(new, out, old, own)


def _may_swap(new: Path, out: Path) -> bool:
    """Return whether another folder can take the place of this one, such as not of `.`."""
    before, after = out.stat(), new.stat()
    is_same_owner = (before.st_uid, before.st_gid) == (after.st_uid, after.st_gid)
    return is_same_owner and not Path.cwd().is_relative_to(out)


def _carry_over(new: Path, out: Path, own: Collection[str]) -> bool:
    """Link other files of a folder into the new one; False if it has other folders."""
    shutil.copymode(out, new)
    for path in out.iterdir():
        copy = new / path.name
        if os.path.lexists(copy):
            is_folder = path.is_dir() and not path.is_symlink() and copy.is_dir()
            is_shared = is_folder and path.name != EXAMPLES_FILE
            if is_shared and not _carry_over(copy, path, own):
                return False
            continue
        if path.name in own:
            continue
        if path.is_dir() and not path.is_symlink():
            return False
        try:
            os.link(path, copy, follow_symlinks=False)
        except OSError:  # a filesystem without hard links
            return False
    return True


def _give_back(old: Path, out: Path, own: Collection[str]) -> None:
    """Move what another program wrote into a folder while it was replaced."""
    for path in old.iterdir():
        if path.name not in own and not os.path.lexists(out / path.name):
            path.rename(out / path.name)


def _move_each(new: Path, out: Path, old: Path, own: Collection[str]) -> None:
    """Move the old files out, the JSON first, and the new ones in, the JSON last."""
    _drop_links(new, out)
    names = _names(new)
    stale = [Path(name) for name in own if Path(name) not in names]
    pairs = [(out / name, old / name) for name in [*reversed(names), *stale]]
    pairs = [pair for pair in pairs if os.path.lexists(pair[0])]
    pairs += [(new / name, out / name) for name in names]
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in pairs:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            moved.append((source, target))
    except BaseException:  # an interrupt, too
        for source, target in reversed(moved):
            with suppress(OSError):
                target.rename(source)
        raise
    for folder in {target.parent for _, target in pairs[-len(names) :]}:
        durability.sync(folder)


def _names(new: Path) -> list[Path]:
    """Return the relative paths of the files of a result, the JSON last; examples are one."""
    paths = [path.relative_to(new) for path in new.rglob("*")]
    examples = [path for path in paths if path.name == EXAMPLES_FILE]
    files = [
        path
        for path in paths
        if (new / path).is_file() and not any(above in path.parents for above in examples)
    ]
    folders = [path for path in examples if (new / path).is_dir()]
    return sorted([*files, *folders], key=lambda path: (_is_json(path), -len(path.parts), path))


def _drop_links(new: Path, out: Path) -> None:
    """Remove files that were linked into the new folder before it could not be swapped."""
    for path in [path for path in new.rglob("*") if path.is_file() or path.is_symlink()]:
        there = out / path.relative_to(new)
        with suppress(OSError):
            if os.path.samestat(path.lstat(), there.lstat()):
                path.unlink()
