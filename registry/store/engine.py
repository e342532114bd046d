"""Makes the SQLAlchemy engine (async, psycopg 3). JSON stays undecoded, so it cannot poison a result set."""

from typing import Any, Final

import orjson
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from registry.store.errors import BadDatabaseUrl

DRIVER: Final = "postgresql+psycopg"
CONNECT_SECONDS: Final = 10
_FOR_URL: Final = {"user": "username", "password": "password", "dbname": "database"}


def make_engine(url: str, *, pool_size: int = 10) -> AsyncEngine:
    """Return an engine for a URL (postgresql://, postgresql+psycopg://) or a libpq connection string.

    jsonb is returned as undecoded bytes, see `decode`: the driver would decode a whole result set, and one undecodable
    value would lose all other rows (a poison row).
    """
    return create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,  # the embedded server may have been restarted meanwhile
        hide_parameters=True,  # parameters hold text that sites published: not for logs
        json_serializer=encode,
        json_deserializer=bytes,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "waypost"},
    )


def sqlalchemy_url(url: str) -> URL:
    """Return the URL of the same database for SQLAlchemy. Raise BadDatabaseUrl."""
    try:
        if "://" in url:
            return _of_postgres(make_url(url)).set(drivername=DRIVER)
        options = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
    except (ArgumentError, ProgrammingError, ValueError):
        raise BadDatabaseUrl(
            "DATABASE_URL is not understood; postgresql://user:password@host/name is expected"
        ) from None
    fields: dict[str, Any] = {name: str(options.pop(key)) for key, name in _FOR_URL.items() if key in options}
    return URL.create(DRIVER, **fields, query={key: str(value) for key, value in options.items()})


def _of_postgres(url: URL) -> URL:
    if url.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise ValueError(url.drivername)
    return url


def libpq(url: URL) -> str:
    """Return a libpq connection string of the same database, for connections that must not come from a pool."""
    fields = {key: getattr(url, name) for key, name in _FOR_URL.items()} | {"host": url.host, "port": url.port}
    options = {key: value for key, value in fields.items() if value is not None}
    return make_conninfo("", **options, **{key: str(value) for key, value in url.query.items()})


def encode(value: Any) -> str:
    """Return JSON for a jsonb column. Raise TypeError or ValueError for other values, also for lone surrogates."""
    return orjson.dumps(value).decode()


def decode(value: bytes | None) -> Any:
    """Return the value of a jsonb column. Raise ValueError when it cannot be decoded (`1e5000`, too deep)."""
    return None if value is None else orjson.loads(value)
