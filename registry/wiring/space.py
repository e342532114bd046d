"""Free space on the disks of this machine that hold data of the registry.

A full disk stops a database in the middle of a write, and may keep it from starting again. So the work that fills disks
stops before, at the floor of WAYPOST_MIN_FREE_MB, and goes on by itself.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from registry.outages import Outage
from registry.settings import POSTGRES_FOLDER, Settings
from registry.store.engine import DISK_FULL, StoreFull

_LOW: Final = Outage("space.low", "space.enough")


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Bytes of a file system."""

    free: int
    total: int


def disk_space(path: Path) -> DiskSpace:
    """Return the space of the file system that holds `path` or will hold it. Raise OSError."""
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    usage = shutil.disk_usage(existing)
    return DiskSpace(usage.free, usage.total)


def disks(settings: Settings) -> Mapping[str, DiskSpace]:
    """Return the space for each kind of data. Those of one disk have the same figures. Raise OSError."""
    folders = {"data": settings.data, "dumps": settings.dumps_folder}
    if settings.opt_out_file is not None:
        folders["opt-outs"] = settings.opt_out_file.parent
    if settings.database_url is None:  # a link, if the account that runs the server cannot reach the data folder
        folders["database"] = settings.data / POSTGRES_FOLDER / "data"
    return {name: disk_space(folder) for name, folder in folders.items()}


def shortage(settings: Settings) -> str | None:
    """Return why work that fills disks stops now; None if it may go on."""
    if DISK_FULL.is_on:
        return "the disk of the database is full"
    short = [name for name, space in disks(settings).items() if space.free < settings.min_free_mb * 1_000_000]
    if not short:
        return None
    return f"less than {settings.min_free_mb} MB are free on the disk of: {', '.join(short)}"


def require_space(settings: Settings) -> None:
    """Raise StoreFull if work that fills disks has to wait, which is logged as an outage."""
    reason = shortage(settings)
    if reason is None:
        _LOW.worked()
        return
    if not DISK_FULL.is_on:
        _LOW.failed(reason)
    raise StoreFull(reason, is_outage=True)
