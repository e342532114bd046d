"""The clock. Everything below the wiring takes the time as an argument."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
