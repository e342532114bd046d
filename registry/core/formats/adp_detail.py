"""ADP capability details: what a `detail_url` answers (ADP section 5, formats.md section 2.5).

An enricher: it counts only where a capability of the host's own ADP manifest asked for it. The endpoint stays as it is
written, because only the manifest knows the base_url it is appended to (merge.py joins them).
"""

from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import endpoint
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    clean_json,
    count_of,
    has_template,
    list_of,
    map_of,
    slug,
    text_of,
    texts_of,
    word_of,
)
from registry.core.params import listed
from registry.core.services import Capability, Invocation, Origin, RateLimit, Service
from registry.core.shapes import check_types, is_map, is_number, is_texts
from registry.core.vocabulary import SAFE_METHODS, http_method

SLUG: Final = "adp-detail"

_SHAPE: Final = (("endpoint", str), ("method", str), ("parameters", list), ("request_example", dict))
_PARAMETER: Final = ("name", "type", "description", "required", "example")
_EXAMPLES: Final = (("request_example", ("method", "url")), ("response_example", ("status", "body")))
_EXAMPLE_CHARS: Final = 20_000


def dialect(document: Document) -> str | None:
    """Any two of the four members that make a call: what lacks one of them is a detail with an error."""
    value = document.value
    if not isinstance(value, dict):
        return None
    return "" if sum(isinstance(value.get(key), kind) for key, kind in _SHAPE) >= 2 else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    for key in ("endpoint", "method"):
        if not word_of(body, key):
            notes.add(Reason.ADP_DETAIL_REQUIRED, at("", key), body.get(key, ""))
    for key, kind in (
        ("name", str),
        ("description", str),
        ("parameters", list),
        ("request_example", dict),
        ("response_example", dict),
    ):
        if not isinstance(body.get(key), kind):
            notes.add(Reason.ADP_DETAIL_MEMBER, at("", key), body.get(key, ""))
    _check(body, notes)
    call = _call(body, document, notes)
    name = text_of(body, "name", ID_CHARS) or slug(document.url.rstrip("/").rpartition("/")[2])
    method = call.method if call else None
    capability = Capability(
        id=name,
        name=name,
        description=text_of(body, "description"),
        params=listed(list_of(body, "parameters")) if isinstance(body.get("parameters"), list) else None,
        side_effects=None if method is None else method not in SAFE_METHODS,
        tags=(group,) if (group := word_of(body, "resource_group")) else (),
        detail=clean_json(body, _EXAMPLE_CHARS),
        invocations=(call,) if call else (),
    )
    return Service(capabilities=(capability,))


def _check(body: Object, notes: Notes) -> None:
    """Section 5: what parameters and examples hold, and the types of the two members that may be missing."""
    method = word_of(body, "method")
    if method is not None and http_method(body) is None:
        notes.add(Reason.ADP_DETAIL_METHOD, "/method", method)
    for index, parameter in enumerate(list_of(body, "parameters")[:MAX_TEXTS]):
        for key in _PARAMETER:
            if not isinstance(parameter, dict) or parameter.get(key) is None:
                notes.add(Reason.ADP_DETAIL_PARAMETER, at("/parameters", index, key))
    for example, keys in _EXAMPLES:
        for key in keys:
            if isinstance(body.get(example), dict) and key not in map_of(body, example) and not _bodiless(body, key):
                notes.add(Reason.ADP_DETAIL_EXAMPLE, at("", example, key))
    check_types(body, {"auth_scopes": is_texts, "rate_limits": is_map}, "", Reason.ADP_DETAIL_TYPE, notes)
    limits = dict.fromkeys(("requests_per_minute", "daily_limit"), is_number)
    check_types(body.get("rate_limits"), limits, "/rate_limits", Reason.ADP_DETAIL_TYPE, notes)


def _bodiless(body: Object, key: str) -> bool:
    """204 and 205 have no body to show (RFC 9110 section 15.3.5)."""
    return key == "body" and map_of(body, "response_example").get("status") in (204, 205)


def _call(body: Object, document: Document, notes: Notes) -> Invocation | None:
    said, method = text_of(body, "endpoint"), http_method(body)
    if said is None or method is None or has_template(body, ("method",), "", notes, url="endpoint"):
        return None
    if said.startswith("http"):
        found = endpoint(said, document.url, document, "/endpoint", notes)
        if found is None:
            return None
        said = found.url
    elif "{" in said:
        notes.add(Reason.ENDPOINT_TEMPLATED, "/endpoint", said)
    return Invocation(
        "http",
        said,
        method,
        scopes=texts_of(body, "auth_scopes")[:MAX_TEXTS],
        rate_limit=_rate_limit(map_of(body, "rate_limits")),
        templated="{" in said,
        origin=Origin(document.url, "", SLUG),
    )


def _rate_limit(limits: Object) -> RateLimit | None:
    minute, day = count_of(limits, "requests_per_minute"), count_of(limits, "daily_limit")
    if minute is not None:
        return RateLimit(minute, "1m", note=f"{day} a day" if day is not None else None)
    return RateLimit(day, "1d") if day is not None else None


FORMAT: Final = Format(
    slug=SLUG,
    title="ADP capability detail",
    spec="Agent Discovery Protocol 1.0 section 5",
    paths=(),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=_read,
)
