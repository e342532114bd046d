"""The embedded engine: a folder with one index, one process that feeds it and any number that read it.

    target         uuid that names this folder as a target of changes
    current        the id of the generation that readers see; replaced by rename
    gen-<id>/      one generation (generation.py); what `current` does not name is a build under way or left over
    writer.lock    held (flock) by the process that feeds the folder, from its first write to its end
    build.lock     held while a generation is built aside

Readers look at two files before each search and open again when either changed. Files that were removed stay
readable for those who have them open (POSIX), so nothing waits for a reader.
"""

import asyncio
import fcntl
import os
import shutil
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tantivy import Index

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import Question
from registry.search.backend import Build, IndexHealth, IndexState, Pool, SearchDocument, WriterBusy
from registry.search.generation import GenerationWriter, Model, Snapshot, open_reader
from registry.search.tally import Outdated

_T = TypeVar("_T")

_AT_ONCE = 200_000
"""Up to so many services a search takes a millisecond or less, and handing it to a thread and back costs a good part of
that: it is then done where it is asked. To open an index is always left to a thread."""

_ATTEMPTS = 3
"""A reader that is overtaken by a swap between `current` and the files it names looks again."""


class _Lock:
    """An flock that is given back when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self) -> None:
        """Raises WriterBusy where another holder has it."""
        if self._fd is not None:
            if _is_the_file(self._fd, self._path):
                return
            self.give_back()  # the file was removed: whoever comes next would lock another one
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise WriterBusy(f"{self._path.name} is held by another writer") from None
        self._fd = fd

    def give_back(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@dataclass(frozen=True, slots=True)
class _Opened:
    """`files` looked as `seen` before the index was opened."""

    files: tuple[Path, ...]
    seen: tuple[object, ...]
    build: str
    index: Index
    snapshot: Snapshot

    def is_current(self) -> bool:
        return _signs(self.files) == self.seen

    @property
    def is_small(self) -> bool:
        return self.snapshot.count() <= _AT_ONCE


class EmbeddedBackend:
    """See `registry.search.backend.Backend`. CPU and disk work happens in threads."""

    def __init__(self, folder: Path, model: str = "", dims: int = 0) -> None:
        """`model` and `dims` of the embedder whose vectors it holds; an index of another model is OUTDATED."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._model = Model(model, dims)
        self._name = _read_or_make_target(folder / "target", str(uuid.uuid4()))
        self._writer_lock = _Lock(folder / "writer.lock")
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._writer: GenerationWriter | None = None
        self._opened: _Opened | None = None

    @property
    def target(self) -> str:
        return f"embedded:{self._name}"

    def claim(self) -> bool:
        """Make this process the one that feeds the folder, until `close`; False where another one does."""
        try:
            self._writer_lock.take()
        except WriterBusy:
            return False
        return True

    async def candidates(self, question: Question, filters: Filters, limit: int) -> Pool:
        await asyncio.sleep(0)  # what is asked in a row must not keep all others waiting
        opened = self._opened
        if opened is not None and opened.is_small and opened.is_current():
            return _readable(lambda: opened.snapshot.candidates(question, filters, limit))
        return await asyncio.to_thread(_readable, lambda: self._snapshot().candidates(question, filters, limit))

    async def count(self) -> int:
        return await asyncio.to_thread(_readable, lambda: self._snapshot().count())

    async def health(self) -> IndexHealth:
        return await asyncio.to_thread(self._health)

    async def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        found = await asyncio.to_thread(_readable, lambda: list(self._snapshot().hashes()))
        for pair in found:
            yield pair

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        return await asyncio.to_thread(
            self._write, lambda writer: sum([writer.replace(document) for document in documents])
        )

    async def delete(self, hosts: Sequence[str]) -> int:
        return await asyncio.to_thread(self._write, lambda writer: sum([writer.remove(host) for host in hosts]))

    async def commit(self) -> None:
        await asyncio.to_thread(self._write, lambda writer: writer.commit() if writer.changed else None)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    @asynccontextmanager
    async def build(self) -> AsyncIterator[Build]:
        await asyncio.to_thread(self._restore_folder)
        lock = _Lock(self._folder / "build.lock")
        lock.take()
        try:
            build = await asyncio.to_thread(_EmbeddedBuild, self._folder, self._model)
            try:
                yield build
            finally:
                await asyncio.to_thread(build.drop)
        finally:
            lock.give_back()

    def _restore_folder(self) -> None:
        """A folder that was removed under us comes back under the name that the database knows it by."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _read_or_make_target(self._folder / "target", self._name)

    def _write(self, work: Callable[[GenerationWriter], _T]) -> _T:
        with self._writing:
            self._writer_lock.take()
            try:
                return work(self._current_writer())
            except BaseException:
                self._drop_writer()  # its counts may be half done; the committed index is the state to go on from
                raise

    def _current_writer(self) -> GenerationWriter:
        build = self._current_build()
        if self._writer is None or self._writer.build != build:
            self._drop_writer()
            self._writer = _readable(lambda: GenerationWriter(_generation(self._folder, build), build, self._model))
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with suppress(ValueError, OSError):  # its generation may have been swapped away under it
                self._writer.close()
            self._writer = None

    def _close(self) -> None:
        with self._writing:
            self._drop_writer()
            self._writer_lock.give_back()

    def _current_build(self) -> str:
        build = _read_current(self._folder)
        if build is None:
            raise SearchUnavailable("the index has not been built yet")
        return build

    def _snapshot(self) -> Snapshot:
        for _ in range(_ATTEMPTS - 1):
            with suppress(SearchUnavailable):
                return self._look()
        return self._look()

    def _look(self) -> Snapshot:
        opened = self._opened
        if opened is not None and opened.is_current():
            return opened.snapshot
        with self._opening:
            build = self._current_build()
            files = self._folder / "current", _generation(self._folder, build) / "meta.json"
            seen = _signs(files)  # before opening: what is committed meanwhile is looked at again
            opened = self._opened
            if opened is None or opened.seen != seen:
                opened = _Opened(files, seen, build, *_readable(lambda: self._open(build)))
                self._opened = opened
            return opened.snapshot

    def _open(self, build: str) -> tuple[Index, Snapshot]:
        directory = _generation(self._folder, build)
        index = open_reader(directory)
        before = self._opened.snapshot.graph if self._opened and self._opened.build == build else None
        return index, Snapshot(directory, build, self._model, index.searcher(), before)

    def _health(self) -> IndexHealth:
        build = _read_current(self._folder)
        if build is None or not _generation(self._folder, build).is_dir():
            return IndexHealth(IndexState.MISSING)
        try:
            snapshot = self._snapshot()
            state = IndexState.OUTDATED if snapshot.is_worn else IndexState.READY
            return IndexHealth(state, snapshot.generation, snapshot.count())
        except SearchUnavailable as error:
            outdated = isinstance(error.__cause__, Outdated)
            return IndexHealth(IndexState.OUTDATED if outdated else IndexState.UNREADABLE)


class _EmbeddedBuild:
    """See `registry.search.backend.Build`."""

    def __init__(self, folder: Path, model: Model) -> None:
        _sweep(folder)
        self._folder = folder
        self._id = uuid.uuid4().hex[:12]
        self._path = _generation(folder, self._id)
        self._path.mkdir(mode=0o700)
        self._writer = GenerationWriter(self._path, self._id, model)
        self._swapped = False

    async def add(self, documents: Sequence[SearchDocument]) -> None:
        await asyncio.to_thread(self._add, documents)

    def _add(self, documents: Sequence[SearchDocument]) -> None:
        for document in documents:
            self._writer.add(document)

    async def swap(self) -> None:
        await asyncio.to_thread(self._swap)

    def _swap(self) -> None:
        self._writer.commit()
        self._writer.close()
        _write_atomically(self._folder / "current", self._id)
        self._swapped = True
        _sweep(self._folder)

    def drop(self) -> None:
        """Remove what nobody will read; without effect after a swap."""
        if not self._swapped:
            with suppress(ValueError):  # a writer that failed, perhaps for want of space, fails again
                self._writer.close()
            shutil.rmtree(self._path, ignore_errors=True)


def _signs(files: Iterable[Path]) -> tuple[object, ...]:
    """The files are replaced by rename, so a change is another inode or another time."""
    signs: list[object] = []
    for path in files:
        try:
            stat = path.stat()
        except FileNotFoundError:
            signs.append(None)
        else:
            signs.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(signs)


def is_fed(folder: Path) -> bool:
    """Whether some process feeds the folder at the moment."""
    lock = _Lock(folder / "writer.lock")
    try:
        lock.take()
    except WriterBusy:
        return True
    except FileNotFoundError:
        return False
    lock.give_back()
    return False


def _generation(folder: Path, build: str) -> Path:
    return folder / f"gen-{build}"


def _read_current(folder: Path) -> str | None:
    try:
        return (folder / "current").read_text().strip()
    except FileNotFoundError:
        return None


def _sweep(folder: Path) -> None:
    """Remove all generations but the current one; called by the holder of build.lock only."""
    current = _read_current(folder)
    for path in folder.glob("gen-*"):
        if current is None or path != _generation(folder, current):
            shutil.rmtree(path, ignore_errors=True)


def _readable(open_it: Callable[[], _T]) -> _T:
    """tantivy has ValueError for every fault of its files, usearch RuntimeError; a damaged number may end as any."""
    try:
        return open_it()
    except (ValueError, TypeError, LookupError, RuntimeError, OSError, Outdated) as error:
        raise SearchUnavailable("the index cannot be read") from error


def _is_the_file(fd: int, path: Path) -> bool:
    """Whether what is open is what lies there now."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _read_or_make_target(path: Path, fresh: str) -> str:
    """The uuid in the file; of several processes that start on a fresh folder, the first one's."""
    if not path.exists():
        own = path.with_name(f"target.{uuid.uuid4().hex}")
        own.write_text(f"{fresh}\n")
        with suppress(FileExistsError):
            os.link(own, path)
        own.unlink()
    return str(uuid.UUID(path.read_text().strip()))


def _write_atomically(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
