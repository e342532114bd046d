"""Addresses that a document names: joined as its format says, refused when nobody outside could or should call them.

We would otherwise advertise an attack on our own clients' networks (safety.md section 7). Nothing here is fetched.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from registry.core import addresses
from registry.core.documents import Document, Json
from registry.core.domains import InvalidName, Url, canonical_host, host_of, parse_https, parse_url, same_site
from registry.core.findings import Reason
from registry.core.manifest import NAME_CHARS, Notes, unrendered_url
from registry.core.plain_text import line

MAX_URL_CHARS = 2_048

_VARIABLE = re.compile(r"\{[^{}/]*\}")
_COLON_VARIABLE = re.compile(r"(?<=/):[A-Za-z_]\w*")
_STAND_IN = "x0variable0x"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An absolute https or wss URL; `templated` when it holds variables (RFC 6570, or `:name` segments)."""

    url: str
    templated: bool = False


def endpoint(target: Json, base: str, document: Document, pointer: str, notes: Notes) -> Endpoint | None:
    """`target` resolved against `base` (RFC 3986 section 5), if it is an address that may be called.

    None for what is no text; None with a finding for what is no URL, not https or wss, carries a user name or is not
    public. The site that served the document is public by definition: it answered through the guards.
    """
    if not isinstance(target, str) or not target.strip():
        return None
    if unrendered_url(target):
        notes.add(Reason.TEMPLATE, pointer, target)
        return None
    if _parsed(_VARIABLE.sub(_STAND_IN, target.strip()), base) is None:
        notes.add(Reason.ENDPOINT_INVALID, pointer, target)
        return None
    found = callable_url(target, base, document.url)
    if found is None:
        notes.add(Reason.ENDPOINT_NOT_PUBLIC, pointer, target)
    elif found.templated:
        notes.add(Reason.ENDPOINT_TEMPLATED, pointer, target)
    return found


def callable_url(target: str, base: str, trusted: str) -> Endpoint | None:
    """`target` resolved against `base`, if it is https or wss and public; the site of the URL `trusted` is public."""
    written = target.strip()
    variables = _VARIABLE.findall(written)
    # braces are swapped for letters, because the URL parser would percent-encode them
    parsed = _parsed(_VARIABLE.sub(_STAND_IN, written), base)
    if parsed is None or not _may_be_called(parsed, trusted, variables):
        return None
    url = parsed.href.partition("#")[0]
    for variable in variables:
        url = url.replace(_STAND_IN, variable, 1)
    return Endpoint(url, bool(variables) or _COLON_VARIABLE.search(written) is not None)


def link(target: Json, base: str) -> str | None:
    """`target` as an absolute https URL for people or for the crawler; None, without a finding, for anything else."""
    return parse_https(target.strip(), base) if isinstance(target, str) and target.strip() else None


def parses(target: str, base: str) -> bool:
    """Whether `target`, relative to `base`, is a URL at all, of any scheme."""
    return _parsed(target, base) is not None


def origin_of(url: str) -> str:
    """`https://host/` of an absolute URL."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split(r'[/?#]', rest, maxsplit=1)[0]}/"


def claim(value: Json, document: Document, pointer: str, notes: Notes) -> str | None:
    """A name or URL that the document gives itself, fit to show; a finding when it is on another site."""
    if not isinstance(value, str) or not (claimed := line(value, NAME_CHARS)):
        return None
    named, serving = host_of(claimed if "://" in claimed else f"https://{claimed}"), host_of(document.url)
    if named is not None and serving is not None and not same_site(named, serving):
        notes.add(Reason.CLAIM_ELSEWHERE, pointer, claimed)
    return claimed


def _parsed(target: str, base: str) -> Url | None:
    return parse_url(target, base) if len(target) <= MAX_URL_CHARS else None


def _may_be_called(parsed: Url, trusted: str, variables: list[str]) -> bool:
    if parsed.scheme not in ("https", "wss") or parsed.has_user:
        return False
    host = parsed.host.removesuffix(".")
    if not parsed.is_name:
        return addresses.refusal(host.strip("[]")) is None
    if variables and host == _STAND_IN:
        return True  # only the caller knows the host
    serving = host_of(trusted)
    return (serving is not None and same_site(host, serving)) or _is_public_name(host)


@lru_cache(maxsize=1_024)
def _is_public_name(host: str) -> bool:
    try:
        canonical_host(host)
    except InvalidName as refused:
        return refused.code == "public_suffix"  # some are sites themselves
    return True
