"""Values that PostgreSQL accepts: text without NUL or lone surrogates, cut to a length; ids ordered by time."""

import hashlib
import secrets
from datetime import datetime
from typing import Any, Final
from uuid import UUID

REASON_CHARS: Final = 200
TEXT_CHARS: Final = 2_000
NAME_CHARS: Final = 200

_UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def clean(text: str, chars: int = TEXT_CHARS) -> str:
    """Return `text` cut to `chars` characters, with characters replaced that a text column cannot hold."""
    text = text[:chars]
    return text if text.isascii() and "\0" not in text else text.translate(_UNSTORABLE)


def clean_or_none(text: str | None, chars: int = TEXT_CHARS) -> str | None:
    return None if text is None else clean(text, chars)


def clean_json(value: Any, chars: int = TEXT_CHARS) -> Any:
    """Return a JSON value that the reader did not check, with all texts cleaned. Recursive: only for small values."""
    if isinstance(value, str):
        return clean(value, chars)
    if isinstance(value, dict):
        return {clean(str(key), chars): clean_json(item, chars) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, chars) for item in value]
    return value


def key_name(name: str) -> str:
    """Return a name that fits a btree entry (2,704 bytes with domain and host) and is unique among its siblings."""
    cleaned = clean(name, 100_000)
    if len(cleaned) <= NAME_CHARS:
        return cleaned
    return f"{cleaned[: NAME_CHARS - 17]}~{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:16]}"


def url_hash(url: str) -> bytes:
    return hashlib.sha256(url.encode(errors="replace")).digest()


def ordered_id(now: datetime, count: int | None = None) -> UUID:
    """Return a UUID of version 7 (RFC 9562 section 5.7): 48 bits of milliseconds, then random bits. `count`: in place
    of the first 12 random bits, so that ids of the same millisecond are ordered (section 6.2)."""
    milliseconds = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    after = secrets.randbits(12) if count is None else count & 0xFFF
    bits = milliseconds << 80 | 0x7 << 76 | after << 64 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=bits)
