"""A document judged before any host serves it: a file of its author, or a body sent to be checked.

It is judged as if the host that it names served it, so that it is not blamed for lying on a disk; and since no pointer
led to it, what only a pointer would tell is tried where nothing else fits.
"""

from dataclasses import dataclass
from typing import Final

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Json, Outcome
from registry.core.domains import InvalidName, canonical_host, host_of
from registry.core.reader import Unreadable, read_json
from registry.core.services import Service

UNKNOWN_HOST: Final = "unknown.invalid"
"""Stands for the host of a document that does not name one: special-use (RFC 6761), so it is nobody's."""

_OWN_NAMES: Final = ("domain", "base_url", "baseUrl", "url")
_WITHOUT_POINTER: Final = ("adp-detail", "openapi")
"""Formats whose documents are usually found by pointers, at paths of their own choice."""

_UNKNOWN: Final = frozenset({"unrecognised", "text"})


@dataclass(frozen=True, slots=True)
class Draft:
    """`host` is None where the document names no host that could serve it; `url` then lies on UNKNOWN_HOST."""

    host: str | None
    url: str
    assessment: Assessment


def judge_draft(raw: bytes, path: str, media_type: str | None = None, expected: str | None = None) -> Draft:
    """The document as its own host would serve it at `path` (absolute). Never raises.

    `expected` is the format slug that its author means it to be, as a pointer would promise it.
    """
    host = _claimed_host(raw)
    judged = _judged(raw, host, path, media_type, expected)
    if host is None and judged.service is not None and (host := _host_of_calls(judged.service)) is not None:
        judged = _judged(raw, host, path, media_type, expected)
    return Draft(host, f"https://{host or UNKNOWN_HOST}{path}", judged)


def _judged(raw: bytes, host: str | None, path: str, media_type: str | None, expected: str | None) -> Assessment:
    url = f"https://{host or UNKNOWN_HOST}{path}"
    judged = assess_body(raw, url, media_type, expected=expected)
    for slug in _WITHOUT_POINTER if expected is None else ():
        if judged.outcome is not Outcome.NOT_A_MANIFEST or judged.reason not in _UNKNOWN:
            break
        promised = assess_body(raw, url, media_type, expected=slug)
        judged = promised if promised.outcome is Outcome.FOUND else judged
    return judged


def _claimed_host(raw: bytes) -> str | None:
    """The first host that the document names as its own, whatever its format calls it."""
    try:
        value: Json = read_json(raw)
    except Unreadable:
        return None
    claims = [value.get(key) for key in _OWN_NAMES] if isinstance(value, dict) else []
    return next((host for claim in claims if isinstance(claim, str) and (host := _public_host(claim))), None)


def _host_of_calls(service: Service) -> str | None:
    """Of a document without a name for its host: the first host that its calls go to."""
    endpoints = [call.endpoint for one in service.capabilities for call in one.invocations]
    endpoints += [protocol.endpoint for protocol in service.protocols]
    return next((host for endpoint in endpoints if endpoint and (host := _public_host(endpoint))), None)


def _public_host(claim: str) -> str | None:
    name = (host_of(claim) or "") if "://" in claim else claim.lower()
    exempt = {name} if name.endswith(".example") else ()  # RFC 6761: what documentation is written with
    try:
        return canonical_host(name, exempt=exempt).host
    except InvalidName:
        return None
