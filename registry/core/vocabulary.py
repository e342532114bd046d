"""Words that documents use, in the words of the common model: authentication, rate limits, methods."""

import re
from typing import Final

from registry.core.documents import Json
from registry.core.manifest import NAME_CHARS, count_of, text_of, word_of
from registry.core.services import AuthType, RateLimit

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
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
    """`apiKey`, `api-key`, `API Key` -> api_key ...; "custom" for other words, None for no word."""
    if not word:
        return None
    return _AUTH.get(re.sub(r"[^a-z0-9]", "", word.lower()), "custom")


def http_method(holder: Json, key: str = "method") -> str | None:
    """The method at `key` in capitals; None where it is no method of RFC 9110 or RFC 5789."""
    method = (text_of(holder, key, 20) or "").upper()
    return method if method in METHODS else None


def rate_limit_text(text: str | None) -> RateLimit | None:
    """`30/minute`, `1000 requests per hour` -> numbers; other texts are kept as a note."""
    if not text:
        return None
    said = _RATE.fullmatch(text)
    if said is None:
        return RateLimit(note=text[:NAME_CHARS])
    return RateLimit(int(said[1]), _UNITS[said[2][0].lower()])


def rate_limit_object(value: Json) -> RateLimit | None:
    """`{requests, window}` as several formats write it."""
    requests, window = count_of(value, "requests"), word_of(value, "window")
    return RateLimit(requests, window) if requests is not None or window else None
