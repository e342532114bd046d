"""Dumps for interfaces, which do not know the store: write them, find their files, read records of single hosts."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from registry.actions import dumps
from registry.settings import Settings
from registry.store.dump_files import LINE_BYTES as LINE_BYTES
from registry.store.dump_files import MANIFEST as MANIFEST
from registry.store.dump_files import MANIFEST_BYTES as MANIFEST_BYTES
from registry.store.dump_files import BadDump as BadDump
from registry.store.dump_files import DumpError as DumpError  # the interfaces catch it
from registry.store.dump_files import DumpFileManifest as DumpFileManifest
from registry.store.dump_files import DumpFolder
from registry.store.dump_files import Part as Part
from registry.store.dump_files import lines as lines
from registry.store.dump_files import read_manifest as read_manifest
from registry.store.dump_files import verify as verify
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

FOLDER = "dumps"


class DumpActions:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._folder = DumpFolder(settings.dumps or settings.data / FOLDER)

    async def export(
        self, folder: Path | None = None, *, with_documents: bool = False, without_restricted: bool | None = None
    ) -> dumps.DumpFigures:
        """Write a dump, by default where `waypost serve` finds it. Raise DumpError."""
        settings = self._settings
        return await dumps.export(
            self._store,
            folder or self._folder.folder,
            registry=settings.public_url.rstrip("/"),
            now=utc_now(),
            keep=settings.keep_dumps,
            terms_url=settings.dump_terms_url,
            with_documents=with_documents,
            without_restricted=not settings.dump_restricted if without_restricted is None else without_restricted,
        )

    async def manifest(self) -> bytes | None:
        """Return the newest manifest; None if there is no dump."""
        return await asyncio.to_thread(self._folder.manifest)

    async def part(self, name: str) -> tuple[Part, Path] | None:
        """Return a part of a kept dump, and its file; None for any other name."""
        part = await asyncio.to_thread(self._folder.part, name)
        return None if part is None else (part, self._folder.path(part))

    async def records(self, hosts: Collection[str]) -> dumps.RecordLookup:
        return await dumps.lookup(self._store, hosts)
