"""Check what ATP demands of members that the common model does not need (sections 2.2 and 3).

These are types, enumerated words, addresses and workflow steps.
"""

import re
from collections.abc import Collection
from typing import Final

from registry.core.format_support import shapes
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    flag_of,
    list_of,
    map_of,
    short_text_of,
    text_of,
)
from registry.core.formats.atp import rules
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at

MAX_BYTES: Final = 50 * 1024
MAX_SCHEMAS: Final = 200

_PATH = re.compile(r"https?://[^/]+/\.well-known/agent\.json(?:\?.*)?")
_WINDOW = re.compile(r"\d+[smhdw]")

TOP: Final = {
    **dict.fromkeys(("provider", "auth", "rateLimit", "schemas", "policies"), shapes.OBJECT),
    "workflows": shapes.LIST,
}
RATE_LIMIT: Final = {"requests": shapes.INTEGER, "window": shapes.TEXT, "burstLimit": shapes.INTEGER}
CAPABILITY: Final = {
    "parameters": shapes.LIST,
    "response": shapes.OBJECT,
    "requiredScopes": shapes.TEXTS,
    "sideEffects": shapes.FLAG,
    "confirmation": shapes.OBJECT,
    "deprecated": shapes.FLAG,
    "deprecationMessage": shapes.TEXT,
}
CONFIRMATION: Final = {"required": shapes.FLAG, "message": shapes.TEXT}
PARAMETER: Final = {
    "required": shapes.FLAG,
    "enum": shapes.LIST,
    "description": shapes.TEXT,
    "format": shapes.TEXT,
    "minimum": shapes.NUMBER,
    "maximum": shapes.NUMBER,
    "pattern": shapes.TEXT,
}
POLICIES: Final = {
    "training": shapes.one_of("allow", "deny", "conditional"),
    "inference": shapes.one_of("allow", "deny", "conditional"),
    "attribution": shapes.one_of("required", "preferred", "none"),
    "caching": shapes.OBJECT,
}
_PARAMETER_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
_TYPE = rules.MEMBER_TYPE


def check(body: Object, document: Document, notes: Notes) -> None:
    """Check the manifest apart from capabilities and workflows (`check_capability`, `check_workflow`)."""
    shapes.check_types(body, TOP, "", _TYPE, notes)
    _check_provider(body.get("provider"), document, notes)
    _check_auth(map_of(body, "auth"), document, notes)
    _check_rate_limit(body.get("rateLimit"), document, notes)
    for name, schema in list(map_of(body, "schemas").items())[:MAX_SCHEMAS]:
        _check_schema(schema, at("/schemas", name), notes)
    _check_policies(body.get("policies"), document, notes)


def check_served(document: Document, notes: Notes) -> None:
    """Check how the manifest is served (section 2.2), as far as one GET answer shows it."""
    if len(document.raw) > MAX_BYTES:
        notes.add(rules.SIZE, "", f"{len(document.raw)} bytes")
    headers = document.headers
    if not headers:  # the document was read from a file
        return
    if not shapes.allows_any_origin(headers):
        notes.add(rules.CORS, "", headers.get("access-control-allow-origin", ""))
    if "cache-control" not in headers:
        notes.add(rules.CACHING)
    elif shapes.max_age(headers) != shapes.HOUR:
        notes.add(rules.MAX_AGE, "", headers["cache-control"])
    if "etag" not in headers:
        notes.add(rules.ETAG)


def check_path(document: Document, notes: Notes) -> None:
    if not _PATH.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)


def check_capability(entry: Object, pointer: str, notes: Notes) -> None:
    """Check a usable capability (section 3.5); the reader reports defects that make one unusable."""
    shapes.check_types(entry, CAPABILITY, pointer, _TYPE, notes)
    shapes.check_types(entry.get("confirmation"), CONFIRMATION, at(pointer, "confirmation"), _TYPE, notes)
    if isinstance(entry.get("response"), dict):
        _check_schema(entry["response"], at(pointer, "response"), notes)
    for index, parameter in enumerate(list_of(entry, "parameters")[:MAX_TEXTS]):
        _check_parameter(parameter, at(pointer, "parameters", index), notes)


def check_workflow(workflow: Object, pointer: str, capability_ids: Collection[str | None], notes: Notes) -> None:
    """Check required members and branch targets (section 3.6). `capability_ids`: ids of all capabilities."""
    shapes.missing_texts(workflow, ("id", "name", "description"), pointer, rules.WORKFLOW, notes)
    shapes.check_types(workflow, {"conditional": shapes.OBJECT}, pointer, _TYPE, notes)
    if not list_of(workflow, "steps"):
        notes.add(rules.WORKFLOW, at(pointer, "steps"), workflow.get("steps", ""))
    for step, branch in list(map_of(workflow, "conditional").items())[:MAX_TEXTS]:
        _check_branch(step, branch, at(pointer, "conditional", step), capability_ids, notes)


def _check_branch(step: str, branch: Json, pointer: str, capability_ids: Collection[str | None], notes: Notes) -> None:
    holder = branch if isinstance(branch, dict) else {}
    if step not in capability_ids:
        notes.add(rules.WORKFLOW_BRANCH, pointer, step)
    shapes.missing_texts(holder, ("condition",), pointer, rules.WORKFLOW_BRANCH, notes)
    for key in ("onTrue", "onFalse"):
        target = holder.get(key)
        if target is not None and text_of(holder, key, ID_CHARS) not in capability_ids:
            notes.add(rules.WORKFLOW_BRANCH, at(pointer, key), target)


def _check_provider(provider: Json, document: Document, notes: Notes) -> None:
    shapes.check_addresses(provider, ("url", "logo"), document.url, "/provider", rules.ADDRESS, notes)
    contact = provider.get("contact") if isinstance(provider, dict) else None
    if contact is not None and not shapes.is_email(contact):
        notes.add(rules.ADDRESS, "/provider/contact", contact)


def _check_auth(auth: Object, document: Document, notes: Notes) -> None:
    """Check schemes, OAuth 2.1 flows, keys, and the identity of agents (section 3.3)."""
    shapes.check_types(auth, {"schemes": shapes.LIST, "agentIdentity": shapes.OBJECT}, "/auth", _TYPE, notes)
    schemes = list_of(auth, "schemes")[:MAX_TEXTS]
    for index, scheme in enumerate(schemes):
        _check_scheme(scheme, at("/auth/schemes", index), document, notes)
    if schemes and not any(short_text_of(scheme, "type") == "oauth2" for scheme in schemes):
        notes.add(rules.NO_OAUTH, "/auth/schemes")
    identity = map_of(auth, "agentIdentity")
    shapes.check_types(identity, {"required": shapes.FLAG}, "/auth/agentIdentity", _TYPE, notes)
    words = {"format": ("did:web", "did:key", "custom")}
    shapes.check_words(identity, words, "/auth/agentIdentity", rules.WORD, notes)
    if flag_of(identity, "required") and identity.get("format", "did:web") != "did:web":
        notes.add(rules.IDENTITY, "/auth/agentIdentity/format", identity["format"])


def _check_scheme(scheme: Json, pointer: str, document: Document, notes: Notes) -> None:
    if not isinstance(scheme, dict):
        notes.add(_TYPE, pointer, scheme)
        return
    kind = scheme.get("type")
    if kind not in ("oauth2", "apiKey", "bearer", "delegated"):
        notes.add(rules.WORD, at(pointer, "type"), kind if kind is not None else "")
    if kind == "oauth2":
        _check_flows(scheme, at(pointer, "flows"), document, notes)
    elif kind == "apiKey":
        shapes.missing_texts(scheme, ("in", "name"), pointer, rules.API_KEY, notes)
        shapes.check_words(scheme, {"in": ("header", "query", "cookie")}, pointer, rules.WORD, notes)
        shapes.check_addresses(scheme, ("registration",), document.url, pointer, rules.ADDRESS, notes)


def _check_flows(scheme: Object, pointer: str, document: Document, notes: Notes) -> None:
    """Check the flows (section 3.3.1). A scheme without flows gives clients no address for authorization."""
    flows = map_of(scheme, "flows")
    code, credentials = map_of(flows, "authorizationCode"), map_of(flows, "clientCredentials")
    if not code and not credentials:
        notes.add(rules.OAUTH, pointer, scheme.get("flows", ""))
    if not code:
        notes.add(rules.NO_USER_FLOW, pointer)
    for name, flow, required in (
        ("authorizationCode", code, ("authorizationUrl", "tokenUrl")),
        ("clientCredentials", credentials, ("tokenUrl",)),
    ):
        flow_pointer = at(pointer, name)
        for key in required if flow else ():
            if not shapes.is_address(flow.get(key), document.url):
                notes.add(rules.OAUTH, at(flow_pointer, key), flow.get(key, ""))
        shapes.check_addresses(flow, ("refreshUrl",), document.url, flow_pointer, rules.ADDRESS, notes)
        shapes.check_types(flow, {"scopes": shapes.OBJECT}, flow_pointer, _TYPE, notes)


def _check_rate_limit(rate_limit: Json, document: Document, notes: Notes) -> None:
    shapes.check_types(rate_limit, RATE_LIMIT, "/rateLimit", _TYPE, notes)
    window = text_of(rate_limit, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(rules.WINDOW, "/rateLimit/window", window)
    shapes.check_addresses(rate_limit, ("tierUrl",), document.url, "/rateLimit", rules.ADDRESS, notes)


def _check_parameter(parameter: Json, pointer: str, notes: Notes) -> None:
    """Check a parameter (section 3.5.1), apart from the presence of name and type."""
    if not isinstance(parameter, dict):
        return
    shapes.check_types(parameter, PARAMETER, pointer, _TYPE, notes)
    shapes.check_words(parameter, {"type": _PARAMETER_TYPES}, pointer, rules.WORD, notes)
    if not text_of(parameter, "description"):
        notes.add(rules.PARAMETER_TEXT, at(pointer, "description"))
    if parameter.get("enum") == []:
        notes.add(rules.CONSTRAINT, at(pointer, "enum"), parameter["enum"])
    minimum, maximum = parameter.get("minimum"), parameter.get("maximum")
    if isinstance(minimum, int | float) and isinstance(maximum, int | float) and minimum > maximum:
        notes.add(rules.CONSTRAINT, at(pointer, "minimum"), minimum)


def _check_schema(schema: Json, pointer: str, notes: Notes) -> None:
    if not isinstance(schema, dict) or not shapes.is_schema(schema):
        notes.add(rules.SCHEMA, pointer, schema)


def _check_policies(policies: Json, document: Document, notes: Notes) -> None:
    """Check the policies (section 3.8)."""
    shapes.check_types(policies, POLICIES, "/policies", _TYPE, notes, words=rules.WORD)
    caching = map_of(policies, "caching")
    shapes.check_types(caching, {"allowed": shapes.FLAG, "maxAge": shapes.INTEGER}, "/policies/caching", _TYPE, notes)
    shapes.check_addresses(policies, ("termsUrl", "privacyUrl"), document.url, "/policies", rules.ADDRESS, notes)
    if text_of(policies, "training") == "conditional" and not text_of(policies, "termsUrl"):
        notes.add(rules.TERMS, "/policies/termsUrl")
