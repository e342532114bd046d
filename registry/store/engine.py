"""The one way to make an engine: SQLAlchemy's async engine on psycopg 3, with JSON that cannot poison a result set."""

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
    """An engine for a URL (postgresql://, postgresql+psycopg://) or a libpq connection string.

    jsonb comes back as undecoded bytes, see `decode`: the driver decodes a whole result set and one value that cannot
    be decoded would take all other rows with it (safety.md section 4 calls them poison rows).
    """
    return create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,  # the embedded server may have been restarted under us
        hide_parameters=True,  # they are what strangers published: not for logs
        json_serializer=encode,
        json_deserializer=bytes,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "waypost"},
    )


def sqlalchemy_url(url: str) -> URL:
    """The same database for SQLAlchemy. Raises BadDatabaseUrl."""
    try:
        if "://" in url:
            return _of_postgres(make_url(url)).set(drivername=DRIVER)
        known = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
    except (ArgumentError, ProgrammingError, ValueError):
        raise BadDatabaseUrl(
            "DATABASE_URL is not understood; postgresql://user:password@host/name is expected"
        ) from None
    named: dict[str, Any] = {name: str(known.pop(key)) for key, name in _FOR_URL.items() if key in known}
    return URL.create(DRIVER, **named, query={key: str(value) for key, value in known.items()})


def _of_postgres(url: URL) -> URL:
    if url.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise ValueError(url.drivername)
    return url


def libpq(url: URL) -> str:
    """The same database as a libpq connection string, for the few connections that must not come from a pool."""
    named = {key: getattr(url, name) for key, name in _FOR_URL.items()} | {"host": url.host, "port": url.port}
    known = {key: value for key, value in named.items() if value is not None}
    return make_conninfo("", **known, **{key: str(value) for key, value in url.query.items()})


def encode(value: Any) -> str:
    """JSON for a jsonb column. Raises TypeError or ValueError for values that are none, lone surrogates included."""
    return orjson.dumps(value).decode()


def decode(value: bytes | None) -> Any:
    """A jsonb column as read by these engines. Raises ValueError where nobody could read it (`1e5000`, too deep)."""
    return None if value is None else orjson.loads(value)
