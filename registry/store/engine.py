"""Makes the SQLAlchemy engine (async, psycopg 3), translates errors, and gives direct access to psycopg.

JSON stays undecoded, so it cannot poison a result set. Direct psycopg, on SQLAlchemy's connection and in its
transaction, is for the few statements that run for every visited host: there most of the cost is SQLAlchemy's work for
every parameter of every row (measured in benchmarks/record). Everything else goes through SQLAlchemy.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, LiteralString, cast
from urllib.parse import unquote

import orjson
import psycopg
from psycopg import ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import URL
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from registry.outages import Outage
from registry.store.primary import connect_to_latest


class StoreUnavailable(ConnectionError):
    """The server is unreachable, too busy, or aborted the call (deadlock). The same call may succeed later.

    `is_outage`: the outage log tells it already."""

    def __init__(self, reason: str, *, is_outage: bool = False) -> None:
        super().__init__(reason)
        self.is_outage = is_outage


class StoreFull(StoreUnavailable):
    """The server answers, but its disk is full."""


class Unstorable(ValueError):
    """PostgreSQL refuses a value. The transaction was rolled back and can be retried without the value."""


class BadDatabaseUrl(ValueError):
    """The configured URL is not a PostgreSQL URL. The message never repeats it: it may contain a password."""


# The driver's errors, for statements that bypass SQLAlchemy (COPY).
_VALUES = (psycopg.DataError, psycopg.IntegrityError)
_SERVER = (psycopg.OperationalError, psycopg.InterfaceError)

_CONFLICTS: Final = ("40", "55", "57014")
"""SQLSTATEs of calls that the server aborted although it is well: deadlocks, locks in use, time limits of statements
(PostgreSQL documentation, "PostgreSQL Error Codes")."""

UNREACHABLE: Final = Outage("database.unavailable", "database.available")
DISK_FULL: Final = Outage("database.disk_full", "database.disk_has_space", quiet_seconds=60.0)
"""Reads work during it, so it is over when no call has failed for a minute."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise Unstorable for values that the database refuses, StoreUnavailable if it is unreachable, CancelledError if a
    cancellation caused the error."""
    try:
        yield
        UNREACHABLE.worked()
        DISK_FULL.worked()
    except (*_VALUES, DataError, IntegrityError, UnicodeEncodeError) as error:
        raise Unstorable(first_line(error)) from error
    except (*_SERVER, OperationalError, InterfaceError, PoolTimeout) as error:
        raise unavailable(error) from error


def unavailable(error: Exception) -> StoreUnavailable:
    """Return the error for a failed call, and note an outage. Raise CancelledError if the task is being cancelled."""
    raise_cancellation(error)
    reason = _reason(error)
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, psycopg.errors.DiskFull):
        DISK_FULL.failed(reason)
        return StoreFull(reason, is_outage=True)
    if str(getattr(cause, "sqlstate", None) or "").startswith(_CONFLICTS):
        return StoreUnavailable(reason)
    UNREACHABLE.failed(reason)
    return StoreUnavailable(reason, is_outage=True)


def raise_cancellation(error: Exception) -> None:
    """Raise CancelledError if the running task is being cancelled. A cancelled query may fail with an error of the
    driver instead. A caller that takes this for a lost database and tries again would ignore the cancellation."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def first_line(error: Exception) -> str:
    """Return the driver's message, never the statement: its parameters are texts of sites."""
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {str(cause).partition(chr(10))[0][:200]}"


def _reason(error: Exception) -> str:
    """Return the message on one line. The driver's further lines say why each address of the server failed; the
    server's may hold values of the statement and are left out."""
    cause = getattr(error, "orig", None) or error
    if getattr(cause, "sqlstate", None):
        return first_line(error)
    return f"{type(cause).__name__}: {' '.join(str(cause).split())[:500]}"


DRIVER: Final = "postgresql+psycopg"
CONNECT_SECONDS: Final = 10
"""Maximum time of a connection attempt to the only host."""
CONNECT_SECONDS_EACH: Final = 3
"""The same to each of several hosts: a silent one must leave time for the others."""
SILENCE_SECONDS: Final = 5
"""Time without an answer after which a connection asks the server whether it still works, and the time for that."""
ANSWER_SECONDS: Final = 10
"""Time for an answer in a session that waits (locks, LISTEN), and in a process whose clients wait."""
GRACE_SECONDS: Final = 0.1
CANCEL_SECONDS: Final = 1

_FIELDS: Final = {"user": "username", "password": "password", "dbname": "database"}
_URL: Final = re.compile(
    r"(?:postgresql|postgres)(?:\+\w+)?://(?:(?P<user>[^:/@]*)(?::(?P<password>[^@/]*|[^@?]*))?@)?(?P<rest>.*)"
)
_HOST_AND_PORT: Final = re.compile(r"(?:\[(?P<ip>[^\[\]]+)\]|(?P<host>[^:\[\]]*))(?::(?P<port>\d+))?")
_SESSIONS: Final = "waypost_sessions"


def make_engine(
    url: str,
    *,
    pool_size: int = 10,
    max_overflow: int | None = None,
    pool_timeout: float = 30,
    session_url: str | None = None,
    answer_seconds: float | None = None,
) -> AsyncEngine:
    """Return an engine for a database that is named as in `sqlalchemy_url`. jsonb is returned as undecoded bytes, see
    `decode`: the driver would decode a whole result set, and one undecodable value would lose all other rows.

    `max_overflow`: connections beyond `pool_size`, which are closed after use; by default as many again. `session_url`:
    a connection of the same database that keeps its session, where `url` is a pooler that does not; `url` then gets no
    prepared statements. `answer_seconds`: as in `WatchedConnection`. Raise BadDatabaseUrl.
    """
    parsed = sqlalchemy_url(url)
    direct = parsed if session_url is None else sqlalchemy_url(session_url, "DATABASE_SESSION_URL")
    return create_async_engine(
        parsed,
        pool_size=pool_size,
        max_overflow=pool_size if max_overflow is None else max_overflow,
        pool_timeout=pool_timeout,
        pool_pre_ping=True,  # the embedded server may have been restarted
        hide_parameters=True,  # parameters contain texts of sites, which must not be logged
        json_serializer=encode,
        json_deserializer=bytes,
        connect_args={
            # Not `async_creator`, which would not get the dialect's adapters of types.
            "async_creator_fn": partial(
                connect, libpq(parsed), name="waypost", answer_seconds=answer_seconds, prepares=direct == parsed
            )
        },
        execution_options={_SESSIONS: libpq(direct)},
    )


def session_conninfo(engine: AsyncEngine) -> str:
    """Return the libpq connection string for what lasts as long as its session: locks, LISTEN, prepared statements."""
    return str(engine.get_execution_options()[_SESSIONS])


def shares_sessions(engine: AsyncEngine) -> bool:
    """Return whether the pool's connections may share sessions with others: `session_url` was given."""
    return session_conninfo(engine) != libpq(engine.url)


def sqlalchemy_url(url: str, variable: str = "DATABASE_URL", prefers: str = "read-write") -> URL:
    """Return the URL of a database for SQLAlchemy: several hosts and ports as lists in its query.

    `url`: libpq's URL (postgresql://a:5432,b:5433/name), its connection string (host=a,b), or SQLAlchemy's URL
    (postgresql+psycopg:///name?host=a:5432&host=b:5433). `prefers`: the `target_session_attrs` of several hosts, if
    neither `url` nor the environment says otherwise. Raise BadDatabaseUrl, which names `variable`.
    """
    try:
        options = _options(url)
        _complete(options, prefers)
        fields: dict[str, Any] = {name: options.pop(key) for key, name in _FIELDS.items() if key in options}
        if re.fullmatch(r"[\w.:-]+", options.get("host", "")):  # others stand in the query
            fields |= {"host": options.pop("host"), "port": int(options.pop("port", 0)) or None}
        parsed = URL.create(DRIVER, **fields, query=options)
        if "\0" in libpq(parsed):  # which raises for other names and passwords that no connection string can hold
            raise ValueError
    except (ProgrammingError, ValueError):
        raise BadDatabaseUrl(
            f"{variable} is not understood; postgresql://user:password@host/name is expected"
        ) from None
    return parsed


def _options(url: str) -> dict[str, str]:
    """Return libpq's options. Raise ProgrammingError or ValueError."""
    hosts: list[str] = []
    given: dict[str, str] = {}
    if "://" in url.partition("=")[0]:
        match = _URL.fullmatch(url)
        if match is None:
            raise ValueError
        # As SQLAlchemy reads them: libpq refuses a slash in a password.
        given = {key: unquote(match[key]) for key in ("user", "password") if match[key]}
        address, _, query = match["rest"].partition("?")
        parameters = [part for part in query.split("&") if part]
        hosts = [unquote(part.removeprefix("host=")) for part in parameters if part.startswith("host=")]
        others = [part for part in parameters if not part.startswith("host=")]
        url = f"postgresql://{address}?{'&'.join(others)}"
    options = {key: str(value) for key, value in conninfo_to_dict(url).items() if value not in (None, "")} | given
    if hosts:
        pairs = [_host_and_port(host) for listed in hosts for host in listed.split(",")]
        options["host"] = ",".join(host for host, _ in pairs)
        if any(port for _, port in pairs):
            if "port" in options:
                raise ValueError
            options["port"] = ",".join(port for _, port in pairs)
    return options


def _host_and_port(text: str) -> tuple[str, str]:
    """Return host and port, empty if not given, of `name`, `name:5432`, `[::1]:5432`, `::1` or a folder of sockets."""
    if text.startswith("/") or (text.count(":") > 1 and not text.startswith("[")):
        return text, ""
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None:
        raise ValueError
    return match["ip"] or match["host"], match["port"] or ""


def _complete(options: dict[str, str], prefers: str) -> None:
    """Give each host its port, and several hosts their `target_session_attrs`. Raise ValueError."""
    defaults = {option.keyword.decode(): (option.val or b"").decode() for option in pq.Conninfo.get_defaults()}
    if "hostaddr" in options:
        options.setdefault("host", options["hostaddr"])  # SQLAlchemy counts the hosts
    elif "host" not in options and "service" not in options and "," in defaults["host"]:  # PGHOST, or PGSERVICE
        options["host"] = defaults["host"]
        options.setdefault("port", defaults["port"])
    hosts, ports = options.get("host", "").split(","), options.get("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports  # a single port applies to every host
    addresses = options.get("hostaddr", options.get("host", "")).split(",")
    if not len(hosts) == len(ports) == len(addresses) or not all(re.fullmatch(r"\d{0,5}", port) for port in ports):
        raise ValueError
    if any(ports):
        options["port"] = ",".join(ports)
    if len(hosts) > 1 and defaults["target_session_attrs"] == "any":
        options.setdefault("target_session_attrs", prefers)
    is_one = len(hosts) == 1 and "service" not in options  # the hosts of a service are in its file
    seconds = str(CONNECT_SECONDS if is_one else CONNECT_SECONDS_EACH)
    options.setdefault("connect_timeout", defaults["connect_timeout"] or seconds)


def libpq(url: URL) -> str:
    """Return a libpq connection string of the same database, for connections outside the pool."""
    fields = {key: getattr(url, name) for key, name in _FIELDS.items()} | {"host": url.host, "port": url.port}
    options = {key: value for key, value in fields.items() if value is not None}
    return make_conninfo("", **options, **{key: str(value) for key, value in url.query.items()})


class NoAnswer(psycopg.OperationalError):
    """The server has not answered in time. The connection was closed."""


class WatchedConnection(psycopg.AsyncConnection[Any]):
    """A connection that notices a silent server: it is frozen, or the network is cut. A plain connection would wait for
    hours, or until the server goes on.

    `answer_seconds`: within this time each statement must be answered. None: at any time, as long as the server answers
    another connection. Raises NoAnswer and is then closed.
    """

    conninfo: str = ""
    answer_seconds: float | None = None

    async def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """Wait for the server; the driver calls this for every statement. `timeout` is the driver's own."""
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        while True:
            limit = SILENCE_SECONDS if self.answer_seconds is None else self.answer_seconds
            with suppress(psycopg.errors._WaitTimeout):
                return await super().wait(gen, interval, limit)
            with suppress(psycopg.errors._WaitTimeout):  # this process may have been too busy to read the answer
                return await super().wait(gen, interval, GRACE_SECONDS)
            try:
                if self.answer_seconds is None and await self._is_server_alive():
                    continue
                await self._try_cancel(timeout=CANCEL_SECONDS)
            except BaseException:
                self.pgconn.finish()
                raise
            self.pgconn.finish()
            raise NoAnswer(f"the database has not answered for {limit:.0f} seconds")

    async def notices(self, quiet_seconds: float = ANSWER_SECONDS) -> AsyncIterator[psycopg.Notify]:
        """Yield notifications until the session ends, which raises the driver's error: within milliseconds if the
        server ended it, after `quiet_seconds` and `answer_seconds` if the server says nothing."""
        while True:
            async for notice in self.notifies(timeout=quiet_seconds):
                yield notice
            await self.execute("SELECT 1")

    async def _is_server_alive(self) -> bool:
        """Return whether the same server answers a new connection, with an error or not."""
        info = self.info
        address = "" if info.host.startswith("/") else info.hostaddr
        place = {"host": info.host, "port": str(info.port), "hostaddr": address, "target_session_attrs": "any"}
        target = make_conninfo(self.conninfo, **place, connect_timeout=SILENCE_SECONDS)
        try:
            async with await connect(target, name="waypost probe", answer_seconds=SILENCE_SECONDS) as probe:
                await probe.execute("SELECT 1")
        except (NoAnswer, psycopg.errors.ConnectionTimeout):
            return False
        except psycopg.Error as error:
            raise_cancellation(error)
        return True


async def connect(
    conninfo: str, *, name: str, answer_seconds: float | None = None, prepares: bool = True, **options: Any
) -> WatchedConnection:
    """Return a new connection, of several servers to the current primary. `name`: shown in pg_stat_activity.
    `prepares`: whether to prepare statements that are repeated, which needs a session. Raise the driver's errors."""
    for key in ("host", "hostaddr", "port"):  # SQLAlchemy's, of all servers
        options.pop(key, None)

    async def connect_one(host: str) -> WatchedConnection:
        connection = await WatchedConnection.connect(
            host, application_name=name, prepare_threshold=5 if prepares else None, **options
        )
        connection.conninfo, connection.answer_seconds = conninfo, answer_seconds
        return connection

    return await connect_to_latest(connect_one, conninfo)


def encode(value: Any) -> str:
    """Return JSON for a jsonb column. Raise TypeError or ValueError for other values, also for lone surrogates."""
    return orjson.dumps(value).decode()


def decode(value: bytes | None) -> Any:
    """Return the value of a jsonb column. Raise ValueError if it cannot be decoded (`1e5000`, too deep)."""
    return None if value is None else orjson.loads(value)


SEPARATOR: Final = " "
"""Separates the names of a list; no host name contains it."""

Row = tuple[Any, ...]


class Driver:
    """Runs statements in psycopg's syntax: `%(name)s` for parameters, rows as tuples, jsonb as undecoded bytes. Raises
    psycopg's errors, which `translated` translates like SQLAlchemy's."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> list[Row]:
        """Return the rows of a query, transferred in binary, which is decoded several times as fast."""
        cursor = (await self._psycopg()).cursor(binary=True)
        await cursor.execute(statement, bound)
        return await cursor.fetchall()

    async def run(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> int:
        """Run a statement and return the number of affected rows."""
        cursor = await (await self._psycopg()).execute(statement, bound)
        return cursor.rowcount

    async def copy(self, table: LiteralString, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, which must not exist yet."""
        cursor = (await self._psycopg()).cursor()
        target = psycopg.sql.SQL("COPY {} ({}) FROM STDIN").format(
            psycopg.sql.Identifier(table), psycopg.sql.SQL(", ").join(map(psycopg.sql.Identifier, columns))
        )
        async with cursor.copy(target) as copying:
            for row in rows:
                await copying.write_row(row)

    async def copy_text(self, table: LiteralString, lines: str) -> None:
        """Insert rows in the text format of COPY, all columns in order."""
        cursor = (await self._psycopg()).cursor()
        async with cursor.copy(psycopg.sql.SQL("COPY {} FROM STDIN").format(psycopg.sql.Identifier(table))) as copying:
            await copying.write(lines)

    async def _psycopg(self) -> "psycopg.AsyncConnection[Row]":
        raw = await self._connection.get_raw_connection()
        return cast("psycopg.AsyncConnection[Row]", raw.driver_connection)


listed: Final = SEPARATOR.join
"""Return names as one parameter for `string_to_array(%(names)s, ' ')`: psycopg dumps lists item by item, in Python."""


def recordset(records: Sequence[Any]) -> str:
    """Return dataclasses or dicts as one parameter for `json_populate_recordset(NULL::table, %(records)s)`. Raise
    TypeError for text with lone surrogates."""
    return orjson.dumps(records, default=_bytea).decode()


def _bytea(value: object) -> str:
    """Return bytes in PostgreSQL's hex format (PostgreSQL documentation, "bytea Hex Format")."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(type(value).__name__)
