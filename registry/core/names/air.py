"""Identifiers of catalogue entries: `urn:air:<publisher>:<format>:<service>` (ARD v0.91, appendix C).

The publisher is the host that served the document, in A-labels, never a name that the document claims. A host has one
service, so its name adds nothing to the host: the last segment is the first label of its registrable domain, for
people. Hosts have no ports here and consist of letters, digits, hyphens and dots, so every one of them can be written.
"""

import re
from typing import Final, NamedTuple

from registry.core.names.domains import InvalidName, host_syntax, registrable_domain

SYNTAX: Final = r"^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$"  # the pattern of the entry schema of ARD
MAX_CHARS: Final = 500
_URN: Final = re.compile(r"urn:air:[a-zA-Z0-9.-]+(?::[a-zA-Z0-9._-]+)+")
_PREFIX: Final = re.compile(r"urn:air?:", re.IGNORECASE)


class AirName(NamedTuple):
    """The parts of an identifier of this registry: the entry of one format of one host's service."""

    host: str
    slug: str


def air_urn(host: str, slug: str) -> str:
    """Return the identifier of the entry of a host's service in one format. `host` is canonical."""
    return f"urn:air:{host}:{slug}:{registrable_domain(host).partition('.')[0]}"


def is_air_urn(text: str) -> bool:
    """Return whether the text is an identifier by the syntax of ARD, from any registry."""
    return len(text) <= MAX_CHARS and _URN.fullmatch(text) is not None


def parse_air_urn(text: str) -> AirName | None:
    """Return the parts of an identifier of this registry; None for any other text. Exact and case-sensitive."""
    parts = text.split(":") if is_air_urn(text) else []
    if len(parts) != 5:
        return None
    _, _, host, slug, _ = parts
    try:
        is_ours = host_syntax(host) == host and air_urn(host, slug) == text
    except InvalidName:
        return None
    return AirName(host, slug) if is_ours else None


def publisher_of(text: str) -> str | None:
    """Return the canonical host that a client means as the publisher: a host, or an identifier that begins with it, of
    the scheme `urn:air:` or its misspelling `urn:ai:`. None when it is neither."""
    name = _PREFIX.sub("", text.strip(), count=1)
    if name != text.strip():
        name = name.partition(":")[0]
    try:
        return host_syntax(name)
    except InvalidName:
        return None


def repaired(text: str) -> str:
    """Return an identifier with the scheme `urn:air:` for its misspelling `urn:ai:`, in lower case."""
    return _PREFIX.sub("urn:air:", text.strip(), count=1) if _PREFIX.match(text.strip()) else text.strip()
