"""Read ADP capability details, the documents at a `detail_url` (ADP 1.0 section 5).

The format is an enricher: a detail counts only if a capability of the host's own ADP manifest names its URL. A relative
endpoint is kept as written, because its base_url is in the manifest (`merging/details.py` joins them).
"""

from typing import Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import endpoint
from registry.core.format_support.params import list_schema
from registry.core.format_support.shapes import NUMBER, OBJECT, TEXTS, check_types, missing_texts
from registry.core.format_support.vocabulary import http_method
from registry.core.formats.adp_detail import rules
from registry.core.model.documents import Document
from registry.core.model.services import Capability, Invocation, Origin, RateLimit, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "adp-detail"

_SHAPE: Final = (("endpoint", str), ("method", str), ("parameters", list), ("request_example", dict))
_MEMBERS: Final = (("name", str), ("description", str), *_SHAPE[2:], ("response_example", dict))
_PARAMETER: Final = ("name", "type", "description", "required", "example")
_EXAMPLES: Final = (("request_example", ("method", "url")), ("response_example", ("status", "body")))
_EXAMPLE_CHARS: Final = 20_000


def dialect(document: Document) -> str | None:
    """Return "" for a document with at least two of the four members of a call, None for any other. A detail that lacks
    some of them is still recognised, so that it gets findings."""
    value = document.members
    return "" if sum(isinstance(value.get(key), kind) for key, kind in _SHAPE) >= 2 else None


def read(document: Document, dialect: str, notes: manifest.Notes) -> Service:
    body = document.members
    missing_texts(body, ("endpoint", "method"), "", rules.REQUIRED, notes)
    for key, kind in _MEMBERS:
        if not isinstance(body.get(key), kind):
            notes.add(rules.MEMBER, at("", key), body.get(key, ""))
    _check(body, notes)
    call = _read_call(body, document, notes)
    last_segment = document.url.rstrip("/").rpartition("/")[2]
    name = manifest.text_of(body, "name", manifest.ID_CHARS) or manifest.slug(last_segment)
    capability = Capability(
        id=name,
        name=name,
        description=manifest.text_of(body, "description"),
        params=list_schema(manifest.list_of(body, "parameters")) if isinstance(body.get("parameters"), list) else None,
        side_effects=manifest.flag_of(body, "side_effects"),
        tags=(group,) if (group := manifest.short_text_of(body, "resource_group")) else (),
        detail=manifest.clean_json(body, _EXAMPLE_CHARS),
        invocations=(call,) if call else (),
    )
    return Service(capabilities=(capability,))


def _check(body: manifest.Object, notes: manifest.Notes) -> None:
    """Check section 5: method, members of parameters and examples, and the types of the two optional members."""
    method = manifest.short_text_of(body, "method")
    if method is not None and http_method(body) is None:
        notes.add(rules.METHOD, "/method", method)
    for index, parameter in enumerate(manifest.list_of(body, "parameters")[: manifest.MAX_TEXTS]):
        for key in _PARAMETER:
            if not isinstance(parameter, dict) or parameter.get(key) is None:
                notes.add(rules.PARAMETER, at("/parameters", index, key))
    # an answer with status 204 or 205 has no body (RFC 9110 section 15.3.5)
    is_bodiless = manifest.map_of(body, "response_example").get("status") in (204, 205)
    for example, keys in _EXAMPLES:
        for key in keys if isinstance(body.get(example), dict) else ():
            if key not in manifest.map_of(body, example) and not (is_bodiless and key == "body"):
                notes.add(rules.EXAMPLE, at("", example, key))
    check_types(body, {"auth_scopes": TEXTS, "rate_limits": OBJECT}, "", rules.TYPE, notes)
    limits = dict.fromkeys(("requests_per_minute", "daily_limit"), NUMBER)
    check_types(body.get("rate_limits"), limits, "/rate_limits", rules.TYPE, notes)


def _read_call(body: manifest.Object, document: Document, notes: manifest.Notes) -> Invocation | None:
    url, method = manifest.text_of(body, "endpoint"), http_method(body)
    if url is None or method is None or manifest.has_template(body, ("method",), "", notes, url="endpoint"):
        return None
    if url.startswith("http"):
        address = endpoint(url, document.url, document, "/endpoint", notes)
        if address is None:
            return None
        url = address.url
    elif "{" in url:
        notes.add(common_rules.ENDPOINT_TEMPLATED, "/endpoint", url)
    return Invocation(
        "http",
        url,
        method,
        scopes=manifest.texts_of(body, "auth_scopes")[: manifest.MAX_TEXTS],
        rate_limit=_read_rate_limit(manifest.map_of(body, "rate_limits")),
        templated="{" in url,
        origin=Origin(document.url, "", SLUG),
    )


def _read_rate_limit(limits: manifest.Object) -> RateLimit | None:
    minute, day = manifest.count_of(limits, "requests_per_minute"), manifest.count_of(limits, "daily_limit")
    if minute is not None:
        return RateLimit(minute, "1m", note=f"{day} a day" if day is not None else None)
    return RateLimit(day, "1d") if day is not None else None
