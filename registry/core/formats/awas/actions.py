"""Read AWAS actions of all dialects into capabilities (AWAS 1.0, Action Object Structure)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support.endpoints import endpoint, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    short_text_of,
    slug,
    text_of,
    texts_of,
)
from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.format_support.vocabulary import (
    auth_type,
    http_method,
    rate_limit_object,
    rate_limit_text,
)
from registry.core.formats.awas import params, rules
from registry.core.formats.awas.checks import check_action
from registry.core.formats.awas.dialects import GRADED, Dialect
from registry.core.model.documents import Document, Json
from registry.core.model.services import Auth, AuthScheme, Capability, Confirmation, Invocation, Origin, RateLimit
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "awas"
MAX_SCHEMES: Final = 10  # a low limit, because every action repeats the schemes that it needs

_READ: Final = frozenset({
    "id", "action_id", "name", "label", "title", "description", "path", "endpoint", "url", "method", "http_method",
    "parameters", "inputs", "params", "inputSchema", "request_schema", "outputSchema", "response_schema", "outputs",
    "rateLimit", "rate_limits", "auth_required", "authentication_required", "auth_headers", "authScopes",
    "required_scopes", "side_effect", "reversible", "requires_user_confirmation",
})  # fmt: skip
"""Members that the model expresses. Results, which are selectors of a page, and statuses are kept unchanged."""
_CALLED: Final = frozenset({"", "api", "http", "https", "rest", "endpoint", "webhook", "form"})
"""Types of actions that are HTTP calls, whose method must be named."""
_ID_1_1 = re.compile(r"[a-z_][a-z0-9_]*")
_WINDOW = re.compile(r"\d+[smhd]")
_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ActionCatalogue:
    """The facts that all actions of a document share. Paths are resolved against `base` (RFC 3986)."""

    document: Document
    dialect: Dialect
    base: str
    auth: Auth
    notes: Notes


def capabilities(catalogue: ActionCatalogue, actions: list[Json]) -> Iterator[Capability]:
    """Yield the usable actions; unusable ones are noted and left out."""
    seen: set[str] = set()
    for pointer, action in members(actions, "/actions", rules.ACTION, catalogue.notes):
        name = _read_name(catalogue, action, pointer, seen)
        call = _read_call(catalogue, action, name, pointer) if name else None
        if name and call:
            yield _read_capability(catalogue, action, name, pointer, call)


def customer_actions(catalogue: ActionCatalogue, actions: Object) -> Iterator[Capability]:
    """Yield the pages for people in `{key: {type, url, label}}`."""
    for key, action in list(actions.items())[:MAX_CAPABILITIES]:
        pointer, name = at("/customer_actions", key), line(key, ID_CHARS)
        if not name or not isinstance(action, dict) or not text_of(action, "url"):
            catalogue.notes.add(rules.ACTION_REQUIRED, pointer, name)
            continue
        call = _read_navigation(
            catalogue, action["url"], at(pointer, "url"), Origin(catalogue.document.url, pointer, SLUG)
        )
        yield Capability(
            name,
            first_text(action, "label", "name", chars=NAME_CHARS) or name,
            text_of(action, "description"),
            title=first_text(action, "label", "name", chars=NAME_CHARS),
            native=native(SLUG, action, _READ),
            tags=(kind,) if (kind := short_text_of(action, "type")) else (),
            invocations=(call,),
        )


def rate_limit(limit: Json, pointer: str, notes: Notes) -> RateLimit | None:
    """Return the limit in `{requests, window}` or in a text like 60/minute; note a malformed window."""
    if isinstance(limit, str):
        return rate_limit_text(line(limit, NAME_CHARS))
    window = short_text_of(limit, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(rules.WINDOW, at(pointer, "window"), window)
    return rate_limit_object(limit)


def _read_name(catalogue: ActionCatalogue, action: Object, pointer: str, seen: set[str]) -> str | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    key = next((key for key in dialect.ids if text_of(action, key, ID_CHARS)), None)
    if key is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.ids[0]), action.get(dialect.ids[0], ""))
        return None
    identifier = text_of(action, key, ID_CHARS) or ""
    name = slug(identifier) if key == "name" else identifier
    if is_repeated(name, seen, at(pointer, key), notes):
        return None
    return None if has_template(action, (key, "name", "description"), pointer, notes) else name


def _read_call(catalogue: ActionCatalogue, action: Object, name: str, pointer: str) -> Invocation | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    origin = Origin(catalogue.document.url, pointer, SLUG)
    target_key = next((key for key in dialect.targets if text_of(action, key)), None)
    if target_key is None and not dialect.published and short_text_of(action, "type"):
        # the site describes something that a person or a script on its page does
        return Invocation("instructions", name=short_text_of(action, "type"), origin=origin)
    if target_key is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.targets[0]), name)
        return None
    declared_method = first_text(action, *dialect.methods, chars=20)
    if _is_navigation(action, declared_method, action[target_key], dialect.published):
        if declared_method is not None and dialect.published:
            notes.add(rules.METHOD, at(pointer, dialect.methods[0]), declared_method)
        return _read_navigation(catalogue, action[target_key], at(pointer, target_key), origin)
    if declared_method is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.methods[0]), name)
        return None
    method = next(filter(None, (http_method(action, key) for key in dialect.methods)), None)
    if method is None:
        notes.add(rules.METHOD, at(pointer, dialect.methods[0]), declared_method)
    address = endpoint(action[target_key], catalogue.base, catalogue.document, at(pointer, target_key), notes)
    limit = action.get("rateLimit", action.get("rate_limits"))
    return Invocation(
        "http",
        address.url if address else None,
        method,
        auth=_read_auth(catalogue, action),
        scopes=texts_of(action, "authScopes") or texts_of(action, "required_scopes"),
        rate_limit=rate_limit(limit, at(pointer, "rateLimit"), notes),
        templated=address is not None and address.templated,
        origin=origin,
    )


def _is_navigation(action: Object, declared_method: str | None, target: Json, is_published: bool) -> bool:
    """Return whether the action opens a page or another scheme (`tel:`) instead of calling an API."""
    kind = (short_text_of(action, "type") or "").lower()
    has_other_scheme = isinstance(target, str) and _SCHEME.match(target.strip()) is not None
    return (
        (declared_method or "").lower() == "navigate"
        or (declared_method is None and kind.startswith("navigat"))
        # undocumented dialects name a function of the page ("client_side_helper") instead of a method
        or (declared_method is None and not is_published and kind not in _CALLED)
        or has_other_scheme
    )


def _read_navigation(catalogue: ActionCatalogue, target: Json, pointer: str, origin: Origin) -> Invocation:
    """Return the navigation. A URI of another scheme, such as `tel:`, becomes its name: it has no endpoint."""
    uri = line(target, NAME_CHARS) if isinstance(target, str) else ""
    if _SCHEME.match(uri):
        return Invocation("navigation", name=uri, origin=origin)
    address = endpoint(target, catalogue.base, catalogue.document, pointer, catalogue.notes)
    templated = address is not None and address.templated
    return Invocation("navigation", address.url if address else None, templated=templated, origin=origin)


def _read_auth(catalogue: ActionCatalogue, action: Object) -> Auth | None:
    declared = map_of(action, "authentication")
    if declared:
        return auth_of(declared, catalogue.base)
    for key in ("authentication_required", "auth_required"):
        is_required = flag_of(action, key)
        if is_required is not None:
            headers = texts_of(action, "auth_headers")
            header_schemes = tuple(AuthScheme("api_key", "header", header) for header in headers)
            together = (tuple(range(len(headers))),) if len(headers) > 1 else ()
            if not is_required:
                return NOTHING_NEEDED
            return Auth(header_schemes or catalogue.auth.schemes, True, together)
    return None


def auth_of(auth: Object, base: str) -> Auth:
    """Read `{required, methods}` of version 1.0 or `{type, token_endpoint, ...}` of other dialects."""
    words = texts_of(auth, "methods", most=MAX_SCHEMES) or tuple(filter(None, [short_text_of(auth, "type")]))
    kinds = [(word, kind) for word in words if (kind := auth_type(word)) is not None]
    schemes = tuple(
        AuthScheme(
            kind,
            authorization_url=link(auth.get("authorization_endpoint"), base),
            token_url=link(auth.get("token_endpoint"), base),
            note=word if kind == "custom" else None,
        )
        for word, kind in kinds
    )
    return Auth(schemes, flag_of(auth, "required"))


def _read_capability(
    catalogue: ActionCatalogue, action: Object, name: str, pointer: str, call: Invocation
) -> Capability:
    dialect, notes = catalogue.dialect, catalogue.notes
    for key in ("name", "description"):
        if dialect.published and not text_of(action, key):
            notes.add(rules.ACTION_TEXT, at(pointer, key), action.get(key, ""))
    if dialect.name == GRADED:
        check_action(action, name, pointer, notes)
    if dialect.name == "1.1" and not _ID_1_1.fullmatch(name):
        notes.add(rules.ID, at(pointer, "id"), name)
    return Capability(
        id=name,
        name=first_text(action, "name", "label", chars=NAME_CHARS) or name,
        title=first_text(action, "title", "name", "label", chars=NAME_CHARS),
        description=text_of(action, "description"),
        params=params.inputs(action, pointer, dialect.published, notes),
        result=params.outputs(action),
        side_effects=_read_side_effects(action),
        confirmation=_read_confirmation(action),
        idempotent=True if action.get("sideEffect") == "idempotent" else None,
        reversible=flag_of(action, "reversible"),
        invocations=(call,),
        native=native(SLUG, action, _READ),
    )


def _read_side_effects(action: Object) -> bool | None:
    """Return the side effects that the action declares in any dialect, or None."""
    declared = flag_of(action, "side_effect")
    if declared is not None:
        return declared
    if isinstance(action.get("sideEffect"), str):
        return action["sideEffect"] != "safe"
    if isinstance(action.get("side_effects"), list):
        return bool(list_of(action, "side_effects"))
    return None


def _read_confirmation(action: Object) -> Confirmation | None:
    is_required = flag_of(action, "requires_user_confirmation")
    if is_required or action.get("sideEffect") == "destructive":
        return Confirmation(True)
    return Confirmation(False) if is_required is False else None
