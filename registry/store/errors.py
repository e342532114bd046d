"""Errors of the store, and their translation from those of psycopg and SQLAlchemy."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout


class StoreUnavailable(ConnectionError):
    """The server is unreachable, too busy, or aborted the call (deadlock). The same call may succeed later."""


class Unstorable(ValueError):
    """A value that PostgreSQL refuses. Its transaction was rolled back and can be retried without the value."""


class BadDatabaseUrl(ValueError):
    """The configured URL is not one of PostgreSQL. The message does not repeat it: it may hold a password."""


# The driver's own errors, for statements that bypass SQLAlchemy (COPY).
_VALUES = (psycopg.DataError, psycopg.IntegrityError)
_SERVER = (psycopg.OperationalError, psycopg.InterfaceError)


@contextmanager
def translated() -> Iterator[None]:
    """Raise Unstorable for values that the database refuses, StoreUnavailable when it is unreachable, CancelledError
    when the error came of a cancellation."""
    try:
        yield
    except (*_VALUES, DataError, IntegrityError, UnicodeEncodeError) as error:
        raise Unstorable(_first_line(error)) from error
    except (*_SERVER, OperationalError, InterfaceError, PoolTimeout) as error:
        raise_cancellation(error)
        raise StoreUnavailable(_first_line(error)) from error


def raise_cancellation(error: Exception) -> None:
    """Raise CancelledError if the running task is being cancelled.

    A query that is cancelled may fail with an error of the driver instead. Whoever treats that as a database that is
    away, and tries again, would go on as if nobody had cancelled it.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def _first_line(error: Exception) -> str:
    """Return the driver's message, never the statement: its parameters are text that sites published."""
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {str(cause).partition(chr(10))[0][:200]}"
