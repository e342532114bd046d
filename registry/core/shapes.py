"""What specifications say of members one by one: their type, their words, the addresses they hold.

A format keeps its tables; the walk over them is here. A member that is null counts as absent.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

import jsonschema_rs

from registry.core.documents import Json
from registry.core.endpoints import parses
from registry.core.findings import Reason
from registry.core.manifest import Notes, Object, at

Kind = Callable[[Json], bool]

DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})\b", re.IGNORECASE)
MAX_MAIL: Final = 320  # RFC 5321 section 4.5.3.1: 64, an at sign, 255
HOUR: Final = 3_600
"""Seconds that ATP (2.2), AWAS (Best Practices) and ADP (1) recommend for Cache-Control: max-age."""

_WRITTEN = re.compile(r"[^\s<>\"\\^`|]+")
_MAIL = re.compile(r"(?:mailto:)?[^@\s]+@[^@\s]+\.[^@\s]+")


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_list(value: Json) -> bool:
    return isinstance(value, list)


def is_map(value: Json) -> bool:
    return isinstance(value, dict)


def is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def check_types(holder: Json, kinds: Mapping[str, Kind], pointer: str, reason: Reason, notes: Notes) -> None:
    """`reason` for every member of `holder` that is there and not of its kind."""
    if isinstance(holder, dict):
        for key, is_kind in kinds.items():
            value = holder.get(key)
            if value is not None and not is_kind(value):
                notes.add(reason, at(pointer, key), value)


def check_words(holder: Json, words: Mapping[str, Collection[str]], pointer: str, reason: Reason, notes: Notes) -> None:
    """`reason` for every text of `holder` that is none of the words its member may have; other types are left to
    `check_types`."""
    if isinstance(holder, dict):
        for key, known in words.items():
            value = holder.get(key)
            if isinstance(value, str) and value not in known:
                notes.add(reason, at(pointer, key), value)


def check_addresses(
    holder: Json, keys: Collection[str], base: str | None, pointer: str, reason: Reason, notes: Notes
) -> None:
    """`reason` for every member of `holder` that is there and no URI; relative ones count when there is a `base`."""
    if isinstance(holder, dict):
        for key in keys:
            value = holder.get(key)
            if value is not None and not is_address(value, base):
                notes.add(reason, at(pointer, key), value)


def is_address(value: Json, base: str | None) -> bool:
    """Whether it is written as a URI reference (RFC 3986 section 4.1), and absolute where there is no `base`."""
    if not isinstance(value, str) or not _WRITTEN.fullmatch(value):
        return False
    return parses(value, base or value)


def is_mail(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= MAX_MAIL and _MAIL.fullmatch(value.strip()) is not None


def is_schema(said: Object) -> bool:
    """Whether it is a JSON Schema 2020-12: as data, against the built-in meta-schema, whatever `$schema` says.

    Nothing is compiled or fetched.
    """
    return jsonschema_rs.meta.is_valid({**said, "$schema": DRAFT_2020_12})


def max_age(headers: Mapping[str, str]) -> int | None:
    """Seconds of `Cache-Control: max-age` (RFC 9111 section 5.2.2.1); None where it says none."""
    said = MAX_AGE.search(headers.get("cache-control", ""))
    return int(said[1]) if said else None


def is_open(headers: Mapping[str, str]) -> bool:
    """Whether pages of every origin may read the answer (Fetch Standard, CORS protocol)."""
    return headers.get("access-control-allow-origin", "").strip() == "*"
