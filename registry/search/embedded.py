"""The embedded engine: a folder with one index, one writer process and any number of reader processes.

    target         uuid that identifies this folder as a target of index changes
    current        the id of the generation that readers see; replaced by rename
    gen-<id>/      one generation (generation.py); if `current` names another, a running or abandoned build
    writer.lock    held (flock) by the writer process from its first write until it closes the backend
    build.lock     held while a new generation is built

Readers check two files before each search and reopen the index when either changed. Removed files stay readable
while they are open (POSIX), so writers never wait for readers.
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
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tantivy import Index

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import ParsedQuery
from registry.search.backend import Build, IndexHealth, IndexState, Pool, SearchDocument, ThreadedBuild, WriterBusy
from registry.search.column_store import OutdatedIndex
from registry.search.generation import EmbeddingModel, GenerationWriter, Snapshot, sync_folder

_T = TypeVar("_T")

INLINE_SERVICES = 200_000
"""Up to this many services a search runs on the event loop: it takes a millisecond or less, and a thread would add a
large part of that. Opening an index always happens in a thread."""

_HASHES = 10_000  # hosts with their hashes that are read at once
_ATTEMPTS = 3  # a reader retries when a swap removes the files between reading `current` and opening them


class _Lock:
    """An exclusive flock; the kernel releases it when the process ends, even by a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self) -> None:
        """Acquire the lock. Raise WriterBusy when another holder has it."""
        if self._fd is not None:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), self._path.stat()):
                    return
            self.release()  # the file was removed, so another process could lock its replacement
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise WriterBusy(f"{self._path.name} is held by another writer") from None
        self._fd = fd

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@dataclass(frozen=True, slots=True)
class _OpenIndex:
    """An open index, with the state `seen` of its `files` from before it was opened."""

    files: tuple[Path, ...]
    seen: tuple[object, ...]
    build: str
    index: Index
    snapshot: Snapshot

    def is_current(self) -> bool:
        return _file_stamps(self.files) == self.seen


class EmbeddedBackend:
    """Implements `registry.search.backend.Backend`. CPU and disk work happens in threads."""

    def __init__(self, folder: Path, model: str = "", dims: int = 0) -> None:
        """Open the folder. `model` and `dims` describe the embedder; an index with vectors of another model is
        OUTDATED."""
        self._folder = folder
        self._model = EmbeddingModel(model, dims)
        self._name = _make_folder(folder, str(uuid.uuid4()))
        self._writer_lock = _Lock(folder / "writer.lock")
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._writer: GenerationWriter | None = None
        self._opened: _OpenIndex | None = None

    @property
    def target(self) -> str:
        return f"embedded:{self._name}"

    def claim(self) -> bool:
        """Make this process the writer of the folder until `close`. Return False if another process is."""
        try:
            self._writer_lock.take()
        except WriterBusy:
            return False
        return True

    async def candidates(self, question: ParsedQuery, filters: Filters, limit: int) -> Pool:
        await asyncio.sleep(0)  # lets other tasks run between consecutive searches
        opened = self._opened
        if opened is not None and opened.snapshot.count() <= INLINE_SERVICES and opened.is_current():
            return _readable(lambda: opened.snapshot.candidates(question, filters, limit))
        return await asyncio.to_thread(_readable, lambda: self._snapshot().candidates(question, filters, limit))

    async def count(self) -> int:
        return await asyncio.to_thread(_readable, lambda: self._snapshot().count())

    async def health(self) -> IndexHealth:
        return await asyncio.to_thread(self._health)

    async def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        pairs = await asyncio.to_thread(_readable, lambda: self._snapshot().hashes())
        while found := await asyncio.to_thread(_readable, lambda: list(islice(pairs, _HASHES))):
            for pair in found:
                yield pair

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        return await asyncio.to_thread(self._write, lambda writer: sum([writer.replace(one) for one in documents]))

    async def delete(self, hosts: Sequence[str]) -> int:
        return await asyncio.to_thread(self._write, lambda writer: sum([writer.remove(host) for host in hosts]))

    async def commit(self) -> None:
        await asyncio.to_thread(self._write, lambda writer: writer.commit() if writer.changed else None)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    @asynccontextmanager
    async def build(self) -> AsyncIterator[Build]:
        await asyncio.to_thread(_make_folder, self._folder, self._name)
        lock = _Lock(self._folder / "build.lock")
        lock.take()
        try:
            build = await asyncio.to_thread(_EmbeddedBuild, self._folder, self._model)
            try:
                yield ThreadedBuild(build)
            finally:
                await asyncio.to_thread(build.drop)
        finally:
            lock.release()

    def _write(self, work: Callable[[GenerationWriter], _T]) -> _T:
        with self._writing:
            self._writer_lock.take()
            try:
                return work(self._current_writer())
            except BaseException:
                self._drop_writer()  # its counts may be partial; the next write starts from the committed index
                raise

    def _current_writer(self) -> GenerationWriter:
        build = self._current_build()
        if self._writer is None or self._writer.build != build:
            self._drop_writer()
            self._writer = _readable(lambda: GenerationWriter(_generation(self._folder, build), build, self._model))
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with suppress(ValueError, OSError):  # a swap may have removed its generation
                self._writer.close()
            self._writer = None

    def _close(self) -> None:
        with self._writing:
            self._drop_writer()
            self._writer_lock.release()

    def _current_build(self) -> str:
        if (build := _read_current(self._folder)) is None:
            raise SearchUnavailable("the index has not been built yet")
        return build

    def _snapshot(self) -> Snapshot:
        for _ in range(_ATTEMPTS - 1):
            with suppress(SearchUnavailable):
                return self._open_current()
        return self._open_current()

    def _open_current(self) -> Snapshot:
        opened = self._opened
        if opened is not None and opened.is_current():
            return opened.snapshot
        with self._opening:
            build = self._current_build()
            files = self._folder / "current", _generation(self._folder, build) / "meta.json"
            stamps = _file_stamps(files)  # taken before opening, so a commit in between is noticed by the next check
            opened = self._opened
            if opened is None or opened.seen != stamps:
                opened = _OpenIndex(files, stamps, build, *_readable(lambda: self._open(build)))
                self._opened = opened
            return opened.snapshot

    def _open(self, build: str) -> tuple[Index, Snapshot]:
        directory = _generation(self._folder, build)
        index = Index.open(str(directory))
        index.config_reader("manual")  # later commits are seen only after `reload`
        previous_graph = self._opened.snapshot.graph if self._opened and self._opened.build == build else None
        return index, Snapshot(directory, build, self._model, index.searcher(), previous_graph)

    def _health(self) -> IndexHealth:
        build = _read_current(self._folder)
        if build is None or not _generation(self._folder, build).is_dir():
            return IndexHealth(IndexState.MISSING)
        try:
            snapshot = self._snapshot()
            state = IndexState.OUTDATED if snapshot.needs_rebuild else IndexState.READY
            return IndexHealth(state, snapshot.generation, snapshot.count())
        except SearchUnavailable as error:
            outdated = isinstance(error.__cause__, OutdatedIndex)
            return IndexHealth(IndexState.OUTDATED if outdated else IndexState.UNREADABLE)


class _EmbeddedBuild:
    """Implements `registry.search.backend.BlockingBuild`."""

    def __init__(self, folder: Path, model: EmbeddingModel) -> None:
        _sweep(folder)
        self._folder = folder
        self._id = uuid.uuid4().hex[:12]
        self._path = _generation(folder, self._id)
        self._path.mkdir(mode=0o700)
        self._writer = GenerationWriter(self._path, self._id, model)
        self._writing = threading.Lock()  # a cancelled call continues in its thread
        self._dropped = self._swapped = False

    def add(self, documents: Sequence[SearchDocument]) -> None:
        with self._writing:
            for document in documents:
                self._writer.add(document)

    def swap(self) -> None:
        with self._writing:
            self._writer.commit()
            if not self._dropped:
                self._writer.close()
                _write_atomically(self._folder / "current", self._id)
                self._swapped = True
                _sweep(self._folder)

    def drop(self) -> None:
        """Remove the unfinished generation; a no-op after a swap."""
        self._dropped = True
        with self._writing:
            if not self._swapped:
                with suppress(ValueError):  # closing a failed writer, for example on a full disk, fails again
                    self._writer.close()
                shutil.rmtree(self._path, ignore_errors=True)


def _file_stamps(files: Iterable[Path]) -> tuple[object, ...]:
    """Return inode, time and size of each file, None if missing: files are replaced by rename, so a change shows."""
    stamps: list[object] = []
    for path in files:
        try:
            stat = path.stat()
        except FileNotFoundError:
            stamps.append(None)
        else:
            stamps.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(stamps)


def has_writer(folder: Path) -> bool:
    """Return whether some process holds the writer lock of the folder."""
    lock = _Lock(folder / "writer.lock")
    try:
        lock.take()
    except WriterBusy:
        return True
    except FileNotFoundError:
        return False
    lock.release()
    return False


def _generation(folder: Path, build: str) -> Path:
    return folder / f"gen-{build}"


def _read_current(folder: Path) -> str | None:
    try:
        return (folder / "current").read_text().strip()
    except FileNotFoundError:
        return None


def _sweep(folder: Path) -> None:
    """Remove all generations except the current one. Only the holder of build.lock may call this."""
    current = _read_current(folder)
    for path in folder.glob("gen-*"):
        if current is None or path != _generation(folder, current):
            shutil.rmtree(path, ignore_errors=True)


def _readable(work: Callable[[], _T]) -> _T:
    """Call `work`; raise SearchUnavailable for a damaged index. tantivy raises ValueError, usearch RuntimeError, and a
    damaged number can cause any of these errors."""
    try:
        return work()
    except (ValueError, TypeError, LookupError, RuntimeError, OSError, OutdatedIndex) as error:
        raise SearchUnavailable("the index cannot be read") from error


def _make_folder(folder: Path, new_id: str) -> str:
    """Return the UUID in the folder's target file. Make the folder if it is missing, as when it was removed while in
    use, and the file with `new_id`; the first concurrent writer wins."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / "target"
    if not path.exists():
        temporary = path.with_name(f"target.{uuid.uuid4().hex}")
        temporary.write_text(f"{new_id}\n")
        with suppress(FileExistsError):
            os.link(temporary, path)
        temporary.unlink()
    return str(uuid.UUID(path.read_text().strip()))


def _write_atomically(path: Path, text: str) -> None:
    new_path = path.with_name(f"{path.name}.new")
    with new_path.open("w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    new_path.replace(path)
    sync_folder(path.parent)
