"""What can go wrong between an action and the database. Bad values are the value's fault, not the caller's."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout


class StoreUnavailable(ConnectionError):
    """The server is away, too busy, or gave up on us (deadlock): the same call may succeed later."""


class Unstorable(ValueError):
    """A value that PostgreSQL refuses. Nothing of its transaction was kept; others can be tried without it."""


class BadDatabaseUrl(ValueError):
    """What was configured names no PostgreSQL. The message does not repeat it: there may be a password in it."""


# The driver's own, of what SQLAlchemy has no words for (COPY).
_VALUES = (psycopg.DataError, psycopg.IntegrityError)
_SERVER = (psycopg.OperationalError, psycopg.InterfaceError)


@contextmanager
def translated() -> Iterator[None]:
    """Raises Unstorable for values that the database refuses, StoreUnavailable when it is not there."""
    try:
        yield
    except (*_VALUES, DataError, IntegrityError, UnicodeEncodeError) as error:
        raise Unstorable(_first_line(error)) from error
    except (*_SERVER, OperationalError, InterfaceError, PoolTimeout) as error:
        raise StoreUnavailable(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """What the driver says; never the statement, whose parameters are what strangers published."""
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {str(cause).partition(chr(10))[0][:200]}"
