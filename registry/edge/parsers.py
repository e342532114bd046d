"""Parsers of the texts of query parameters, each with its schema for the OpenAPI document.

A parser raises ValueError with a message that says what is allowed. Error answers put the parameter's name in front of
it and never repeat the text. Annotate a parameter with everything that a function of this module returns.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from registry.core.search_filters import Choice, DateValue, DaysBack, Kind, Texts, WholeNumber

Parser = tuple[BeforeValidator, WithJsonSchema]

MAX_VALUES: Final = 20
_LIST_RULE: Final = "Order and repeats mean nothing; blanks and empty values are refused."
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def limited(maximum: int, least: int = 0) -> Parser:
    """Return the parser of a count: larger values are reduced to the maximum, so the schema has none."""
    allowed = f"must be a whole number of at most nine digits, {least} to {maximum}; a larger one is reduced"

    def parse(text: Any) -> int | None:
        if text is not None and not (_is_number(text) and int(text) >= least):
            raise ValueError(allowed)
        return None if text is None else min(int(text), maximum)

    schema = {"type": "integer", "minimum": least, "description": f"Larger values count as {maximum}."}
    return BeforeValidator(parse), WithJsonSchema(schema)


def within(maximum: int) -> Parser:
    """Return the parser of a whole number from 0 to the maximum."""

    def parse(text: Any) -> int | None:
        if text is not None and not (_is_number(text) and int(text) <= maximum):
            raise ValueError(f"must be a whole number, 0 to {maximum}")
        return None if text is None else int(text)

    return BeforeValidator(parse), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": maximum})


def one_of(*allowed: str) -> Parser:
    """Return the parser that accepts exactly these texts."""
    choice = " or ".join(allowed) if len(allowed) < 3 else f"one of {', '.join(allowed)}"

    def parse(text: Any) -> Any:
        if text not in allowed:
            raise ValueError(f"must be {choice}")
        return text

    return BeforeValidator(parse), WithJsonSchema({"type": "string", "enum": list(allowed)})


def any_of(*allowed: str) -> Parser:
    """Return the parser of one or more of these texts, as `_listed` reads them. The result has their order."""

    def parse(text: Any) -> tuple[str, ...]:
        values = _listed(text)
        if not set(values) <= set(allowed):
            raise ValueError(f"must be one or more of {', '.join(allowed)}, separated by commas")
        return tuple(sorted(values, key=allowed.index))

    schema = {"type": "array", "items": {"type": "string", "enum": list(allowed)}, "description": _LIST_RULE}
    return BeforeValidator(parse), WithJsonSchema(schema)


def each(parse_one: Callable[[str], str | None], description: str, pattern: str | None = None) -> Parser:
    """Return the parser of at most MAX_VALUES different texts, as `_listed` reads them. `parse_one` returns the value
    of a text. Texts with the same value count as one."""

    def parse(text: Any) -> tuple[str, ...]:
        values = _listed(text)
        parsed = [parse_one(value) if value.strip() == value else None for value in values[: MAX_VALUES + 1]]
        if len(values) > MAX_VALUES or None in parsed:
            raise ValueError(f"must be {description}, separated by commas, at most {MAX_VALUES}")
        return tuple(sorted({value for value in parsed if value is not None}))

    item = {"type": "string"} | ({"pattern": pattern} if pattern else {})
    schema = {"type": "array", "items": item, "maxItems": MAX_VALUES, "description": _LIST_RULE}
    return BeforeValidator(parse), WithJsonSchema(schema)


def day(*, or_time: bool = False) -> Parser:
    """Return the parser of a date as ISO 8601 writes it with hyphens; `or_time`: as `read_day_or_time` reads it."""
    read = read_day_or_time if or_time else _day

    def parse(text: Any) -> date | None:
        return None if text is None else read(str(text))

    schema = {"anyOf": [{"format": "date"}, {"format": "date-time"}]} if or_time else {"format": "date"}
    return BeforeValidator(parse), WithJsonSchema({"type": "string", **schema})


def moment() -> Parser:
    """Return the parser of a time (RFC 3339) with seconds and `Z` or an offset; the value is in UTC."""

    def parse(text: Any) -> datetime | None:
        return None if text is None else _moment(str(text))

    return BeforeValidator(parse), WithJsonSchema({"type": "string", "format": "date-time"})


def read_day_or_time(text: str) -> datetime:
    """Return the beginning of a day, or a time, in UTC. Raise ValueError."""
    if _DAY.fullmatch(text):
        return datetime.combine(_day(text), time(), UTC)
    return _moment(text, "a date such as 2026-11-20, or a time such as 2026-11-20T00:00:00Z")


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError("must be a date such as 2026-11-20")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("must be an existing date such as 2026-11-20") from None


def _moment(text: str, rule: str = "a time such as 2026-11-20T00:00:00Z") -> datetime:
    written = text.replace(" ", "+")  # a plus sign that was not percent-encoded arrives as a space
    if not _MOMENT.fullmatch(written):
        raise ValueError(f"must be {rule}")
    try:
        return datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be an existing time such as 2026-11-20T00:00:00Z") from None


def of_filter(kind: Kind) -> Parser:
    """Return the parser of a filter's values."""
    match kind:
        case Choice(values, no_filter):
            return any_of(*((no_filter,) if no_filter else ()), *values)
        case Texts():
            return each(kind.parse, kind.says, kind.pattern)
        case WholeNumber(maximum):
            return within(maximum)
        case DaysBack(maximum):
            return limited(maximum)
        case DateValue(or_time):
            return day(or_time=or_time)


def _is_number(text: Any) -> bool:
    return isinstance(text, int) or re.fullmatch("[0-9]{1,9}", str(text)) is not None


def _listed(text: Any) -> list[str]:
    """Return the comma-separated values, each once; FastAPI passes a list with the one value that `StrictRoute` admits.

    Neither repeats nor the order of a list have a meaning, and the callers sort the values: cursors are bound to the
    filters, and a database query has one column for a facet. Values are not trimmed and empty values stay, because the
    callers refuse both.
    """
    joined = ",".join([text] if isinstance(text, str) else text)
    return list(dict.fromkeys(joined.split(",")))  # guard: listed-repeats
