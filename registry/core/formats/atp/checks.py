"""What ATP says of members that the common model does not need (sections 2.2 and 3): types, words, addresses, steps."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from registry.core.documents import Document, Json
from registry.core.findings import Reason
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    flag_of,
    list_of,
    map_of,
    text_of,
    word_of,
)
from registry.core.shapes import (
    HOUR,
    Kind,
    check_addresses,
    check_types,
    check_words,
    is_address,
    is_flag,
    is_integer,
    is_list,
    is_mail,
    is_map,
    is_number,
    is_open,
    is_schema,
    is_text,
    is_texts,
    max_age,
)

MAX_BYTES: Final = 50 * 1024
MAX_SCHEMAS: Final = 200

_PATH = re.compile(r"https?://[^/]+/\.well-known/agent\.json(?:\?.*)?")
_WINDOW = re.compile(r"\d+[smhdw]")
_CHOICES: Final = ("allow", "deny", "conditional")

_TOP: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("provider", "auth", "rateLimit", "schemas", "policies"), is_map),
    "workflows": is_list,
}
_CAPABILITY: Final[Mapping[str, Kind]] = {
    "parameters": is_list,
    "response": is_map,
    "requiredScopes": is_texts,
    "sideEffects": is_flag,
    "confirmation": is_map,
    "deprecated": is_flag,
    "deprecationMessage": is_text,
}
_PARAMETER: Final[Mapping[str, Kind]] = {
    "required": is_flag,
    "enum": is_list,
    **dict.fromkeys(("description", "format", "pattern"), is_text),
    **dict.fromkeys(("minimum", "maximum"), is_number),
}
_PARAMETER_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
_TYPE = Reason.ATP_MEMBER_TYPE


def check(body: Object, document: Document, notes: Notes) -> None:
    """The manifest as a whole; capabilities are checked one by one with `check_capability`."""
    check_types(body, _TOP, "", _TYPE, notes)
    _check_provider(body.get("provider"), document, notes)
    _check_auth(map_of(body, "auth"), document, notes)
    _check_rate_limit(body.get("rateLimit"), document, notes)
    for name, schema in list(map_of(body, "schemas").items())[:MAX_SCHEMAS]:
        _check_schema(schema, at("/schemas", name), notes)
    _check_policies(body.get("policies"), document, notes)


def check_served(document: Document, notes: Notes) -> None:
    """How the manifest is served (section 2.2), as far as the answer to one GET shows it."""
    if len(document.raw) > MAX_BYTES:
        notes.add(Reason.ATP_SIZE, "", f"{len(document.raw)} bytes")
    headers = document.headers
    if not headers:  # a file has none
        return
    if not is_open(headers):
        notes.add(Reason.ATP_CORS, "", headers.get("access-control-allow-origin", ""))
    if "cache-control" not in headers:
        notes.add(Reason.ATP_CACHING)
    elif max_age(headers) != HOUR:
        notes.add(Reason.ATP_MAX_AGE, "", headers["cache-control"])
    if "etag" not in headers:
        notes.add(Reason.ATP_ETAG)


def check_path(document: Document, notes: Notes) -> None:
    if not _PATH.fullmatch(document.url):
        notes.add(Reason.ATP_PATH, "", document.url)


def check_capability(entry: Object, pointer: str, notes: Notes) -> None:
    """Section 3.5, apart from what makes a capability unusable."""
    check_types(entry, _CAPABILITY, pointer, _TYPE, notes)
    confirmation = entry.get("confirmation")
    check_types(confirmation, {"required": is_flag, "message": is_text}, at(pointer, "confirmation"), _TYPE, notes)
    if isinstance(entry.get("response"), dict):
        _check_schema(entry["response"], at(pointer, "response"), notes)
    for index, parameter in enumerate(list_of(entry, "parameters")[:MAX_TEXTS]):
        _check_parameter(parameter, at(pointer, "parameters", index), notes)


def check_workflow(said: Object, pointer: str, known: Collection[str | None], notes: Notes) -> None:
    """Section 3.6: required texts, and branches that lead somewhere. `known`: ids of capabilities."""
    for key in ("id", "name", "description"):
        if not text_of(said, key):
            notes.add(Reason.ATP_WORKFLOW, at(pointer, key), said.get(key, ""))
    check_types(said, {"conditional": is_map}, pointer, _TYPE, notes)
    if not list_of(said, "steps"):
        notes.add(Reason.ATP_WORKFLOW, at(pointer, "steps"), said.get("steps", ""))
    for step, branch in list(map_of(said, "conditional").items())[:MAX_TEXTS]:
        _check_branch(step, branch, at(pointer, "conditional", step), known, notes)


def _check_branch(step: str, branch: Json, pointer: str, known: Collection[str | None], notes: Notes) -> None:
    holder = branch if isinstance(branch, dict) else {}
    if step not in known:
        notes.add(Reason.ATP_WORKFLOW_BRANCH, pointer, step)
    if not text_of(holder, "condition"):
        notes.add(Reason.ATP_WORKFLOW_BRANCH, at(pointer, "condition"), holder.get("condition", ""))
    for key in ("onTrue", "onFalse"):
        target = holder.get(key)
        if target is not None and text_of(holder, key, ID_CHARS) not in known:
            notes.add(Reason.ATP_WORKFLOW_BRANCH, at(pointer, key), target)


def _check_provider(said: Json, document: Document, notes: Notes) -> None:
    check_addresses(said, ("url", "logo"), document.url, "/provider", Reason.ATP_ADDRESS, notes)
    contact = said.get("contact") if isinstance(said, dict) else None
    if contact is not None and not is_mail(contact):
        notes.add(Reason.ATP_ADDRESS, "/provider/contact", contact)


def _check_auth(said: Object, document: Document, notes: Notes) -> None:
    """Section 3.3: schemes, the flows of OAuth 2.1, keys, and the identity of agents."""
    check_types(said, {"schemes": is_list, "agentIdentity": is_map}, "/auth", _TYPE, notes)
    schemes = list_of(said, "schemes")[:MAX_TEXTS]
    for index, scheme in enumerate(schemes):
        _check_scheme(scheme, at("/auth/schemes", index), document, notes)
    if schemes and not any(word_of(scheme, "type") == "oauth2" for scheme in schemes):
        notes.add(Reason.ATP_NO_OAUTH, "/auth/schemes")
    identity = map_of(said, "agentIdentity")
    check_types(identity, {"required": is_flag}, "/auth/agentIdentity", _TYPE, notes)
    words = {"format": ("did:web", "did:key", "custom")}
    check_words(identity, words, "/auth/agentIdentity", Reason.ATP_WORD, notes)
    if flag_of(identity, "required") and identity.get("format", "did:web") != "did:web":
        notes.add(Reason.ATP_IDENTITY, "/auth/agentIdentity/format", identity["format"])


def _check_scheme(scheme: Json, pointer: str, document: Document, notes: Notes) -> None:
    if not isinstance(scheme, dict):
        notes.add(_TYPE, pointer, scheme)
        return
    kind = scheme.get("type")
    if kind not in ("oauth2", "apiKey", "bearer", "delegated"):
        notes.add(Reason.ATP_WORD, at(pointer, "type"), kind if kind is not None else "")
    if kind == "oauth2":
        _check_flows(scheme, at(pointer, "flows"), document, notes)
    elif kind == "apiKey":
        for key in ("in", "name"):
            if not text_of(scheme, key):
                notes.add(Reason.ATP_API_KEY, at(pointer, key), scheme.get(key, ""))
        check_words(scheme, {"in": ("header", "query", "cookie")}, pointer, Reason.ATP_WORD, notes)
        check_addresses(scheme, ("registration",), document.url, pointer, Reason.ATP_ADDRESS, notes)


def _check_flows(scheme: Object, pointer: str, document: Document, notes: Notes) -> None:
    """Section 3.3.1. A scheme without any flow leaves a client without an address to go to."""
    flows = map_of(scheme, "flows")
    code, credentials = map_of(flows, "authorizationCode"), map_of(flows, "clientCredentials")
    if not code and not credentials:
        notes.add(Reason.ATP_OAUTH, pointer, scheme.get("flows", ""))
    if not code:
        notes.add(Reason.ATP_NO_USER_FLOW, pointer)
    for name, flow, required in (
        ("authorizationCode", code, ("authorizationUrl", "tokenUrl")),
        ("clientCredentials", credentials, ("tokenUrl",)),
    ):
        place = at(pointer, name)
        for key in required if flow else ():
            if not is_address(flow.get(key), document.url):
                notes.add(Reason.ATP_OAUTH, at(place, key), flow.get(key, ""))
        check_addresses(flow, ("refreshUrl",), document.url, place, Reason.ATP_ADDRESS, notes)
        check_types(flow, {"scopes": is_map}, place, _TYPE, notes)


def _check_rate_limit(said: Json, document: Document, notes: Notes) -> None:
    kinds = {"requests": is_integer, "window": is_text, "burstLimit": is_integer}
    check_types(said, kinds, "/rateLimit", _TYPE, notes)
    window = text_of(said, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(Reason.ATP_WINDOW, "/rateLimit/window", window)
    check_addresses(said, ("tierUrl",), document.url, "/rateLimit", Reason.ATP_ADDRESS, notes)


def _check_parameter(said: Json, pointer: str, notes: Notes) -> None:
    """Section 3.5.1, apart from name and type being there."""
    if not isinstance(said, dict):
        return
    check_types(said, _PARAMETER, pointer, _TYPE, notes)
    check_words(said, {"type": _PARAMETER_TYPES}, pointer, Reason.ATP_WORD, notes)
    if not text_of(said, "description"):
        notes.add(Reason.ATP_PARAMETER_TEXT, at(pointer, "description"))
    if said.get("enum") == []:
        notes.add(Reason.ATP_CONSTRAINT, at(pointer, "enum"), said["enum"])
    least, most = said.get("minimum"), said.get("maximum")
    if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
        notes.add(Reason.ATP_CONSTRAINT, at(pointer, "minimum"), least)


def _check_schema(said: Json, pointer: str, notes: Notes) -> None:
    if not isinstance(said, dict) or not is_schema(said):
        notes.add(Reason.ATP_SCHEMA, pointer, said)


def _check_policies(said: Json, document: Document, notes: Notes) -> None:
    """Section 3.8."""
    words = {"training": _CHOICES, "inference": _CHOICES, "attribution": ("required", "preferred", "none")}
    check_types(said, {**dict.fromkeys(words, is_text), "caching": is_map}, "/policies", _TYPE, notes)
    check_words(said, words, "/policies", Reason.ATP_WORD, notes)
    caching = map_of(said, "caching")
    check_types(caching, {"allowed": is_flag, "maxAge": is_integer}, "/policies/caching", _TYPE, notes)
    check_addresses(said, ("termsUrl", "privacyUrl"), document.url, "/policies", Reason.ATP_ADDRESS, notes)
    if text_of(said, "training") == "conditional" and not text_of(said, "termsUrl"):
        notes.add(Reason.ATP_TERMS, "/policies/termsUrl")
