"""Fingerprints: SHA-256 over the canonical JSON of RFC 8785 (JCS), so that anybody can compute them again."""

import hashlib
import re
from typing import Any, Final

import orjson
import rfc8785

_EXACT: Final = 2**53 - 1
"""The greatest integer that RFC 8785 writes exactly (I-JSON, RFC 7493 section 2.2)."""

# What orjson might write otherwise than RFC 8785: fractions and exponents, integers beyond _EXACT, and the order of
# keys, by UTF-16 instead of UTF-8, which differ only beyond the basic plane. A match inside a text costs time only.
_MAY_DIFFER: Final = re.compile(rb"(?:^|[:,\[])-?(?:[0-9]+[.eE]|[0-9]{16})|[\xf0-\xf4]")


def fingerprint(value: Any) -> str:
    """Return the fingerprint of a JSON value as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: Any) -> bytes:
    """Return a JSON value as RFC 8785 writes it. An integer beyond 2^53 - 1 is first rounded, as a reader of JavaScript
    does (RFC 8785 section 3.2.2.3); one beyond all floating-point numbers, and a lone surrogate, become a text."""
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        return rfc8785.dumps(value) if _MAY_DIFFER.search(encoded) else encoded
    except (TypeError, ValueError):  # orjson: integers beyond 64 bits, surrogates; rfc8785: integers beyond _EXACT
        return rfc8785.dumps(_representable(value))


def _representable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_representable(key): _representable(item) for key, item in value.items()}
        case list() | tuple():
            return [_representable(item) for item in value]
        case int() if abs(value) > _EXACT:
            try:
                return float(value)
            except OverflowError:
                return hex(value)
    return value
