"""Detect addresses that two parsers read differently: one host by RFC 3986, another (or none) by the WHATWG standard.

A client that checks such an address with one parser and calls it with another calls the wrong host:
`https://good.test\\@127.0.0.1/` is good.test for a browser and 127.0.0.1 for programs that split at the `@`. Ada reads
by the URL standard; the other readings are the grammar of RFC 3986 with hosts as of RFC 3987, and Python's `urlsplit`.
"""

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import ada_url

_USUAL = re.compile(
    r"(?:https?|wss?)://(?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z0-9-]*(?::[1-9][0-9]{0,3})?(?:[/?#]|$)|/(?![/\\\t\n\r])|$"
)
"""Nearly all addresses: a plain host, or a path. All parsers read these equally."""

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?")  # RFC 3986 appendix B
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(  # RFC 3986 section 3.2, with the braces of templates
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:%{}-]*@)?(\[[0-9A-Fa-f:.]+(?:%25[A-Za-z0-9._~-]+)?\]|(?:[A-Za-z0-9._~!$&'()*+,;=%{}-]|[^\x00-\xa0])*)(?::([0-9]*))?"
)
_PORTS: Final = {"https": "443", "wss": "443", "http": "80", "ws": "80", "ftp": "21"}
_DEVIATIONS: Final = frozenset("\u00df\u03c2\u200c\u200d")
"""Characters that IDNA 2003 and IDNA 2008 map to different names (UTS 46 section 7)."""


class _Reading(NamedTuple):
    scheme: str
    host: str  # "" if the address has none
    port: str  # "" for the scheme's default


@lru_cache(maxsize=1_024)
def is_ambiguous(url: str, base: str | None = None) -> bool:
    """Return whether parsers may read another host, scheme or port in `url`, or only some of them find a host. `base`
    is the absolute URL that a relative one is resolved against."""
    if _USUAL.match(url):
        return False
    standard, strict = _read_by_whatwg(url, base), _read_by_rfc3986(url)
    if strict is not None and not strict.scheme and base is not None:
        origin = _read_by_whatwg(base, None)
        strict = origin if origin is None or not strict.host else strict._replace(scheme=origin.scheme)
    if standard is None or strict is None:
        return bool((standard or strict or _NO_HOST).host.strip("."))  # guard: one-reader
    return standard != strict._replace(host=_map_host(strict.host, standard.host)) or not _is_read_by_python(url)


_NO_HOST: Final = _Reading("", "", "")


def _read_by_whatwg(url: str, base: str | None) -> _Reading | None:
    try:
        parsed = ada_url.URL(url, base)
    except ValueError:  # also UnicodeEncodeError: lone surrogates
        return None
    return _Reading(parsed.protocol[:-1], parsed.hostname.lower(), parsed.port)


def _read_by_rfc3986(url: str) -> _Reading | None:
    """Return the host, or None if the grammar does not allow the text up to the end of the authority."""
    found = _PARTS.match(url)
    scheme, authority = found.groups() if found else (None, None)
    if scheme is not None and not _SCHEME.fullmatch(scheme):
        return None
    parts = _AUTHORITY.fullmatch(authority or "")
    if parts is None:
        return None
    port = (parts[2] or "").lstrip("0") or ("0" if parts[2] else "")
    if len(port) > 5 or int(port or 0) > 65_535:
        port = "none"
    scheme = (scheme or "").lower()
    return _Reading(scheme, parts[1].lower(), "" if port == _PORTS.get(scheme) else port)


def _map_host(host: str, standard: str) -> str:
    """Return the host of RFC 3986 in the spelling of the URL standard, if that is the same host for every parser."""
    if host.startswith("["):
        try:
            same = IPv6Address(host[1:-1]) == IPv6Address(standard.strip("[]"))
        except ValueError:
            same = False
        return standard if same else host
    if host.isascii():
        return host
    try:
        labels = [
            label[4:].encode().decode("punycode") if label.startswith("xn--") else label
            for label in standard.split(".")
        ]
    except UnicodeError:
        return host
    is_same = ".".join(labels) == unicodedata.normalize("NFC", host) and not _DEVIATIONS & set(host)
    return standard if is_same else host


def _is_read_by_python(url: str) -> bool:
    try:
        return bool(urlsplit(url).port or True)
    except ValueError:
        return False
