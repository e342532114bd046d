"""Tell URLs that lead into the own network of whoever calls them, by an address or by a name that only works there."""

import re
from typing import Final

from registry.core.names import addresses
from registry.core.names.domains import InvalidName, canonical_host, parse_url

_VARIABLE = re.compile(r"\{[^{}/]*\}")
_IGNORED = re.compile(r"[\t\n\r]")  # URL Standard, section 4.4: removed wherever they stand
_WEB = re.compile(r"(?:https?|wss?|ftp):|[/\\]{2}", re.IGNORECASE)
_FTP = re.compile(r"^ftp:", re.IGNORECASE)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:[/\\]{2}")
_HARMLESS: Final = frozenset({"example", "test", "invalid"})  # RFC 6761: these never resolve


def leads_inside(text: str) -> bool:
    """Return whether `text` is a URL whose host is not public: a refused address, localhost, a name without a suffix.

    Any spelling that a client would resolve counts, also without slashes or a scheme. Variables in the URL do not hide
    its host. Any other text, also one that only contains a URL, is not one.
    """
    target = _VARIABLE.sub("x", _IGNORED.sub("", text).strip())
    is_web = _WEB.match(target) is not None
    if not is_web and _SCHEME.match(target) is None:
        return False
    # as http: the host of other schemes is reached in the same way, and the parser reads it for this one
    target = _FTP.sub("http:", target) if is_web else _SCHEME.sub("http://", target, count=1)
    parsed = parse_url(target, "http://base.invalid/")
    if parsed is None or not parsed.host:
        return False
    host = parsed.host.removesuffix(".")
    if not parsed.is_name:
        return addresses.refusal(host.strip("[]")) is not None  # guard: private-member
    try:
        canonical_host(host)
    except InvalidName as error:
        # names in URIs of other schemes (`birds://towns`) are often no hosts
        is_host = is_web or host == "localhost"
        return is_host and error.code != "public_suffix" and host.rpartition(".")[2] not in _HARMLESS
    return False
