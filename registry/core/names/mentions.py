"""Host names in foreign text: which sites a claimed identity or a name speaks of, however they are spelt."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from registry.core.names.domains import InvalidName, canonical_host, host_of, host_syntax

_STOPS: Final = str.maketrans("。．｡․", "....")
"""Characters that are a full stop in host names (UTS 46), or look like one."""

_LABEL: Final = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST: Final = re.compile(rf"(?<![\w-])(?:{_LABEL}\.){{1,9}}{_LABEL}(?![\w-])")
_NAMESPACE: Final = re.compile(r"(?:com|org|net|io)\.[^/\s]+/[^/\s]+", re.IGNORECASE)
"""The name of a server in the MCP registry, which is no host name: `io.github.alice/server`."""

_SITES: Final = frozenset({"special_use", "public_suffix"})
"""Why a name may not be registered although a site can be meant by it."""


def claimed_hosts(text: str) -> tuple[str, ...]:
    """Return the canonical host names in a claimed identity: a host, a URL, a DID, or a text with hosts in it."""
    host = host_of(text if "://" in text else f"https://{text}")
    return (host,) if host is not None and _is_spelt_right(host) else hosts_in(text)


def hosts_in(text: str) -> tuple[str, ...]:
    """Return the canonical host names among the words of a text, once each; also those in URLs and DIDs.

    Spellings of one name are one: percent signs, full width, invisible characters, trailing dots, any case. A name
    under a top level that does not exist is none (`Node.js`).
    """
    return tuple(dict.fromkeys(_hosts_in(text)))


def is_namespaced(name: str) -> bool:
    """True for the name of a server in the MCP registry, `io.github.alice/server`."""
    return _NAMESPACE.fullmatch(name) is not None


def _is_spelt_right(host: str) -> bool:
    try:
        return host_syntax(host) == host
    except InvalidName:
        return False


def _hosts_in(text: str) -> Iterator[str]:
    if is_namespaced(text):
        return
    shown = "".join(char for char in unquote(text).translate(_STOPS) if unicodedata.category(char) != "Cf")
    for match in _HOST.finditer(unicodedata.normalize("NFKC", shown)):
        try:
            yield canonical_host(match[0]).host
        except InvalidName as refusal:
            if refusal.code in _SITES:
                yield host_syntax(match[0])
