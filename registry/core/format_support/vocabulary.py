"""Translate words of documents into words of the common model: authentication, rate limits, methods."""

import re
from typing import Final

from registry.core.format_support.manifest import NAME_CHARS, count_of, map_of, short_text_of, text_of
from registry.core.model.documents import Json
from registry.core.model.services import AuthType, RateLimit

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ACTION_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
"""Methods of a capability in ATP (section 3.5) and of an action in AWP (section 9)."""

SEMVER: Final = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
"""A semantic version (semver.org 2.0.0). Leading zeros are accepted."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

_AUTH: Final[dict[str, AuthType]] = {
    "none": "none", "public": "none", "open": "none", "anonymous": "none", "noauth": "none",
    "apikey": "api_key", "key": "api_key", "servicehttp": "api_key", "userhttp": "api_key", "pat": "api_key",
    "basic": "http_basic", "httpbasic": "http_basic",
    "bearer": "bearer", "jwt": "bearer", "token": "bearer", "httpbearer": "bearer", "bearertoken": "bearer",
    "oauth": "oauth2", "oauth2": "oauth2", "oauth20": "oauth2", "oauth21": "oauth2", "oauth2code": "oauth2",
    "oauth2device": "oauth2",
    "openid": "openid", "oidc": "openid", "openidconnect": "openid",
    "mtls": "mtls", "mutualtls": "mtls",
    "did": "did", "didweb": "did", "didwba": "did",
    "x402": "payment", "payment": "payment",
    "session": "session", "cookie": "session",
}  # fmt: skip

_UNITS: Final = {"s": "1s", "m": "1m", "h": "1h", "d": "1d"}
_RATE = re.compile(
    r"\s*(\d{1,9})\s*(?:requests?|req|calls?)?\s*(?:/|per|a)\s*"
    r"(s|sec|second|m|min|minute|h|hr|hour|d|day)s?\s*",
    re.IGNORECASE,
)


def auth_type(word: str | None) -> AuthType | None:
    """Return the type that a word names (`apiKey`, `api-key`, `API Key` -> api_key); "custom" for an unknown word."""
    if not word:
        return None
    return _AUTH.get(re.sub(r"[^a-z0-9]", "", word.lower()), "custom")


def http_method(holder: Json, key: str = "method") -> str | None:
    """Return the method at `key` in capitals; None where it is not a method of RFC 9110 or RFC 5789."""
    method = (text_of(holder, key, 20) or "").upper()
    return method if method in METHODS else None


def rate_limit_text(text: str | None) -> RateLimit | None:
    """Return the limit in `30/minute` or `1000 requests per hour` as numbers; any other text as a note."""
    if not text:
        return None
    match = _RATE.fullmatch(text)
    if match is None:
        return RateLimit(note=text[:NAME_CHARS])
    return RateLimit(int(match[1]), _UNITS[match[2][0].lower()])


def rate_limit_object(value: Json) -> RateLimit | None:
    """Return the limit in `{requests, window}`, as several formats write it; None where both are missing."""
    requests, window = count_of(value, "requests"), short_text_of(value, "window")
    return RateLimit(requests, window) if requests is not None or window else None


def rate_limit_in(holder: Json) -> RateLimit | None:
    """Return the limit that a part declares in `rate_limit` or `rateLimit`, as an object or in words."""
    for key in ("rate_limit", "rateLimit"):
        limit = rate_limit_object(map_of(holder, key)) or rate_limit_text(short_text_of(holder, key))
        if limit is not None:
            return limit
    return None
