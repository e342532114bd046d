"""Detect addresses that lead into their user's own network, by an IP address or a name that only works there.

The rules are the crawler's for names and IP addresses (`domains.py`, `addresses.py`). Nothing is looked up: a public
name that resolves to a private address is not noticed. Ports do not count.
"""

import re
from typing import Final
from urllib.parse import unquote

from registry.core.names import addresses
from registry.core.names.ambiguous import is_ambiguous
from registry.core.names.domains import MAX_HOST_CHARS, MAX_URL_CHARS, SPECIAL_USE, STRIPPED, is_public_name, read_url

HARMLESS: Final = frozenset({"example", "test", "invalid"})
"""Top-level labels of names that never resolve (RFC 6761), so that they lead nowhere."""

SAMPLE_DOMAINS: Final = frozenset({"example.com", "example.org", "example.net"})
"""RFC 2606 section 3: domains without an owner, used in samples."""

_IGNORED = re.compile(r"[\t\n\r]")  # URL Standard, section 4.4: removed wherever they stand
_START = re.compile(r"[\x00-\x20]*(?:[a-zA-Z][a-zA-Z0-9+.\-\t\n\r]*:|[/\\][\t\n\r]*[/\\]|\[|[^\s:/]*:\d)")
_PLAIN = re.compile(r"https?://((?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*)(?::\d{1,5})?(?:[/?#]|$)")
_WEB = re.compile(r"(?:https?|wss?|ftp):", re.IGNORECASE)
_OTHER = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)+[/\\]{2}")
_OUTER = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)+(?=[a-zA-Z][a-zA-Z0-9+.-]*:[/\\]{2})")
_DID_WEB = re.compile(r"did:web:([^:/?#;]+)", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"[^\s/\\?#@]*[^\s/\\?#@:]:\d{1,5}(?:[/?#]|$)")
_ZONE = re.compile(r"^(\[?[0-9a-fA-F:.]+)%[^\]/]*")
_VARIABLE = re.compile(r"\$?\{{1,2}[^{}/]*\}{1,2}|<[^<>/\s]*>")
_PORT_VARIABLE = re.compile(rf":(?:{_VARIABLE.pattern})(?=[/?#\\]|$)")
_STAND_IN: Final = "x0variable0x"
_MAX_CHARS: Final = 2 * MAX_URL_CHARS  # of these, the parser reads the host of a longer URL as well


def inside_host(text: str, *, is_address: bool = False) -> str | None:
    """Return the host of the address that `text` is if it is not public, or if parsers read different hosts in it.

    Return None for public addresses and for other texts.

    An address is a URL in any spelling that a client would follow (also without slashes or scheme), `host:port`, and a
    `did:web`. `is_address`: the text is the value of a member that holds an address, so that a bare IP address,
    `localhost` and a name under a top level of private networks count as well. Variables (`{tenant}`) do not hide the
    rest of a host; a host that is only a variable is the caller's. A text that only contains a URL is not an address. A
    web address is also not public if no parser can find its host.
    """
    if _START.match(text) is None:
        return _bare_host(text) if is_address else None
    if (plain := _PLAIN.match(text)) is not None and is_public_name(plain[1]):
        return None
    written = _VARIABLE.sub(_STAND_IN, _PORT_VARIABLE.sub("", text[:_MAX_CHARS].strip(STRIPPED)))
    target = _IGNORED.sub("", written)
    if _WEB.match(target):
        url = "http:" + target.partition(":")[2]
        return _web_host(url) or _ambiguous_host(written, url)
    if target[:1] in ("/", "\\"):
        url = "http:" + target
        return _web_host(url, is_relative=True) or _ambiguous_host("http:" + written, url)
    if _OTHER.match(target):
        url = _OTHER.sub("http://", target, count=1)
        return _other_host(url) or _ambiguous_host(_OUTER.sub("", written, count=1), url)
    if (did := _DID_WEB.match(target)) is not None:
        url = "http://" + unquote(did[1])
        return _web_host(url) or _ambiguous_host(url, url)
    return _bare_host(target) if is_address or _HOST_AND_PORT.match(target) else None


def _ambiguous_host(written: str, url: str) -> str | None:
    """Return a host of an address that parsers read differently, None for others. `url` is how one of them reads it."""
    if not is_ambiguous(written):  # guard: ambiguous-address
        return None
    parsed = read_url(url)
    return (parsed.host if parsed is not None else "") or written[:MAX_HOST_CHARS]


def _web_host(url: str, *, is_relative: bool = False) -> str | None:
    """Return the host of a URL with one of the schemes that need a host, all read as http; None if it is public.
    `is_relative`: it was written without a scheme, as other texts are that begin with two slashes."""
    parsed = read_url(url)
    if parsed is None:
        authority = url[5:].lstrip("/\\")
        is_text = is_relative or not authority or any(char.isspace() for char in authority)
        return None if is_text else re.split(r"[/\\?#]", authority, maxsplit=1)[0]
    host = parsed.host.rstrip(".")
    if not parsed.is_name:
        return _refused_address(host)
    _, dot, top_level = host.rpartition(".")
    is_harmless = bool(dot) and top_level in HARMLESS
    return None if not host or is_public_name(host) or is_harmless or _is_chosen_by_caller(host) else host


def _other_host(url: str) -> str | None:
    """Return the host of a URL with another scheme, if that is surely one: names in URIs often are no hosts."""
    parsed = read_url(url)
    if parsed is None or not parsed.host:
        return None
    host = parsed.host.rstrip(".")
    if not parsed.is_name:
        return _refused_address(host)
    is_network_address = parsed.port and "." not in host and _STAND_IN not in host
    return host if is_network_address or _is_private_name(host) else None


def _bare_host(text: str) -> str | None:
    """Return the host of `host`, `host:port` or `host/path` if it is a refused IP address or a name of own networks.
    Numbers and words are no addresses here, other than in a URL."""
    target = _ZONE.sub(r"\1", text.strip(STRIPPED))
    if any(char.isspace() for char in target) or not target.strip(":[]"):
        return None
    is_ipv6 = target.count(":") > 1 and not target.startswith("[")
    url = f"http://[{target}]" if is_ipv6 else f"http://{target}"
    if "\\" in target and "." in (host := _ambiguous_host(url, url) or ""):
        return host
    parsed = read_url(url)
    if parsed is None or parsed.has_user:
        return None
    host = parsed.host.rstrip(".")
    if parsed.is_name:
        return host if _is_private_name(host) else None
    return _refused_address(host) if is_ipv6 or target.startswith("[") or target.count(".") > 2 else None


def _refused_address(host: str) -> str | None:
    return host if addresses.refusal(host.strip("[]")) is not None else None  # guard: private-address


def _is_private_name(host: str) -> bool:
    """Return whether a name is of the own machine or under a top level that private networks use."""
    head, dot, top_level = host.rpartition(".")
    return host == "localhost" or (bool(dot and head) and top_level in SPECIAL_USE - HARMLESS)


def _is_chosen_by_caller(host: str) -> bool:
    """Return whether the last label is a variable, and the rest does not make it an IP address of a private network."""
    if host.rpartition(".")[2] != _STAND_IN:
        return False
    if host == _STAND_IN:
        return True
    filled = read_url(f"http://{host.replace(_STAND_IN, '1')}")
    return filled is None or filled.is_name or _refused_address(filled.host) is None
