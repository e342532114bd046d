"""Finds the current primary, and leaves a replaced one.

Each promotion of a standby begins a new timeline (PostgreSQL documentation, "Timelines"). The old primary does not know
of it: when it thaws, or its network returns, it accepts sessions and statements as before. So of several servers the
one with the latest timeline is used, and a process that sees a later timeline ends its older sessions.
"""

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

OTHERS_SECONDS: Final = 1.0
"""Time for the other servers to answer after the first did. Only silent ones need it."""

NOTICE_SECONDS: Final = 10.0
"""Time within which every process notices that its primary is gone (`holder.HEARTBEAT_SECONDS` and the time for an
answer). Until then another process may still lead, or visit the domains of its leases."""

LOOK_SECONDS: Final = 5.0
"""Time between two looks for a later timeline, for processes that noticed nothing. Less than NOTICE_SECONDS."""

_PLACE: Final = """
SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_insert_lsn()) END
FROM pg_control_system()
"""

Connection: TypeAlias = "psycopg.AsyncConnection[Any]"
_C = TypeVar("_C", bound="psycopg.AsyncConnection[Any]")


class _Place(NamedTuple):
    """`cluster`: the same number for a primary and its standbys, another number for a new cluster."""

    cluster: int
    timeline: int


class _History:
    """What this process has seen: the latest timeline by cluster, and the place of each open session."""

    def __init__(self) -> None:
        self.timelines: dict[int, int] = {}
        self.places: WeakKeyDictionary[Connection, _Place] = WeakKeyDictionary()
        self.changed_at = float("-inf")


_history: Final = _History()


def is_settled() -> bool:
    """Return whether every process has noticed the last promotion that this process saw."""
    return time.monotonic() > _history.changed_at + NOTICE_SECONDS


async def until_settled() -> None:
    """Wait until `is_settled`."""
    await asyncio.sleep(max(0.0, _history.changed_at + NOTICE_SECONDS - time.monotonic()))


async def connect_to_latest(connect: Callable[[str], Awaitable[_C]], conninfo: str) -> _C:
    """Return a connection by `connect` to the server in `conninfo` with the latest timeline; of several, to the first
    that is named. Raise the driver's errors; OperationalError also if only an old primary answers."""
    attempts = [asyncio.ensure_future(_open(connect, host)) for host in split(conninfo)]
    waiting, opened = set(attempts), dict[_C, _Place | None]()
    try:
        while waiting:
            done, waiting = await asyncio.wait(
                waiting, timeout=OTHERS_SECONDS if opened else None, return_when=asyncio.FIRST_COMPLETED
            )
            opened = dict(attempt.result() for attempt in attempts if attempt.done() and attempt.exception() is None)
            if not done:
                break
        if not opened:
            raise _error([attempt.exception() for attempt in attempts])
        chosen = max(opened, key=lambda connection: (opened[connection] or _Place(0, 0)).timeline)
        _adopt(chosen, opened.pop(chosen))
        return chosen
    finally:
        for attempt in waiting:
            attempt.cancel()
        for connection in opened:
            await connection.close()


def split(conninfo: str) -> list[str]:
    """Return a connection string for each host if only the primary is wanted; else the whole string."""
    options = conninfo_to_dict(conninfo)
    lists = {key: str(options[key]).split(",") for key in ("host", "hostaddr", "port") if options.get(key)}
    number = max(map(len, lists.values()), default=1)
    if number == 1 or options.get("target_session_attrs") not in ("read-write", "primary"):
        return [conninfo]
    return [
        make_conninfo(conninfo, **{key: values[index % len(values)] for key, values in lists.items()})
        for index in range(number)
    ]


async def watch(connect: Callable[[], Awaitable[Connection]]) -> None:
    """Look for a later timeline every LOOK_SECONDS, until cancelled. `connect` finds it, as every new connection."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with suppress(psycopg.Error, OSError):
            await (await connect()).close()


async def _open(connect: Callable[[str], Awaitable[_C]], conninfo: str) -> tuple[_C, _Place | None]:
    """Return a connection and its place: None for a socket, a standby, or an unknown place."""
    connection = await connect(conninfo)
    try:
        if connection.info.host.startswith("/"):
            return connection, None
        row = None
        try:
            row = await (await connection.execute(_PLACE)).fetchone()
        except psycopg.Error:
            if connection.closed:
                raise
        await connection.rollback()
        return connection, None if row is None or row[1] is None else _Place(row[0], int(row[1][:8], 16))
    except BaseException:
        await connection.close()
        raise


def _adopt(connection: Connection, place: _Place | None) -> None:
    """Note the place of a connection; end the sessions that it shows to be old. Raise OperationalError if it is old."""
    if place is None:
        return
    latest = _history.timelines.setdefault(place.cluster, place.timeline)
    if place.timeline < latest:
        _end(connection)
        raise psycopg.OperationalError("only an old primary answers; the server that replaced it does not")
    if place.timeline > latest:
        _history.timelines[place.cluster], _history.changed_at = place.timeline, time.monotonic()
        for session, old in list(_history.places.items()):
            if old.cluster == place.cluster and old.timeline < place.timeline:
                _end(session)
    _history.places[connection] = place


def _end(session: Connection) -> None:
    """End a session without waiting for its server: a caller that waits for an answer gets an error at once."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(session.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def _error(errors: list[BaseException | None]) -> BaseException:
    """Return the only error, or an error with all reasons."""
    first, *others = [error for error in errors if error is not None]
    if not others:
        return first
    return psycopg.OperationalError("; ".join(str(error).strip().partition("\n")[0] for error in (first, *others)))
