"""AWAS actions of all dialects -> capabilities (AWAS 1.0, Action Object Structure)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import endpoint, link
from registry.core.findings import Reason
from registry.core.formats.awas import params
from registry.core.formats.awas.checks import check_action
from registry.core.formats.awas.dialects import GRADED, Dialect
from registry.core.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    NAME_CHARS,
    Notes,
    Object,
    at,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    slug,
    text_of,
    texts_of,
    word_of,
)
from registry.core.plain_text import line
from registry.core.services import Auth, AuthScheme, Capability, Confirmation, Invocation, Origin, RateLimit
from registry.core.vocabulary import SAFE_METHODS, auth_type, http_method, rate_limit_object, rate_limit_text

SLUG: Final = "awas"
MAX_SCHEMES: Final = 10  # repeated for every action that needs them

_ID_1_1 = re.compile(r"[a-z_][a-z0-9_]*")
_WINDOW = re.compile(r"\d+[smhd]")
_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the actions of one document share; `base` is what paths are resolved against (RFC 3986)."""

    document: Document
    dialect: Dialect
    base: str
    auth: Auth
    notes: Notes


def capabilities(catalogue: Catalogue, actions: list[Json]) -> Iterator[Capability]:
    """The usable actions; unusable ones are noted and left out."""
    seen: set[str] = set()
    for pointer, action in members(actions, "/actions", Reason.AWAS_ACTION, catalogue.notes):
        name = _name(catalogue, action, pointer, seen)
        call = _call(catalogue, action, name, pointer) if name else None
        if name and call:
            yield _capability(catalogue, action, name, pointer, call)


def customer_actions(catalogue: Catalogue, actions: Object) -> Iterator[Capability]:
    """`{key: {type, url, label}}`: pages for people."""
    for key, action in list(actions.items())[:MAX_CAPABILITIES]:
        pointer, name = at("/customer_actions", key), line(key, ID_CHARS)
        if not name or not isinstance(action, dict) or not text_of(action, "url"):
            catalogue.notes.add(Reason.AWAS_ACTION_REQUIRED, pointer, name)
            continue
        call = _navigation(catalogue, action["url"], at(pointer, "url"), Origin(catalogue.document.url, pointer, SLUG))
        yield Capability(
            name,
            first_text(action, "label", "name", chars=NAME_CHARS) or name,
            text_of(action, "description"),
            side_effects=False,
            tags=(kind,) if (kind := word_of(action, "type")) else (),
            invocations=(call,),
        )


def rate_limit(said: Json, pointer: str, notes: Notes) -> RateLimit | None:
    """`{requests, window}`, or a text like 60/minute."""
    if isinstance(said, str):
        return rate_limit_text(line(said, NAME_CHARS))
    window = word_of(said, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(Reason.AWAS_WINDOW, at(pointer, "window"), window)
    return rate_limit_object(said)


def _name(catalogue: Catalogue, action: Object, pointer: str, seen: set[str]) -> str | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    key = next((key for key in dialect.ids if text_of(action, key, ID_CHARS)), None)
    if key is None:
        notes.add(Reason.AWAS_ACTION_REQUIRED, at(pointer, dialect.ids[0]), action.get(dialect.ids[0], ""))
        return None
    said = text_of(action, key, ID_CHARS) or ""
    name = slug(said) if key == "name" else said
    target = next((key for key in dialect.targets if key in action), "")
    if is_repeated(name, seen, at(pointer, key), notes):
        return None
    return None if has_template(action, (key, "name", "description"), pointer, notes, url=target) else name


def _call(catalogue: Catalogue, action: Object, name: str, pointer: str) -> Invocation | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    origin = Origin(catalogue.document.url, pointer, SLUG)
    target = next((key for key in dialect.targets if text_of(action, key)), None)
    if target is None:
        notes.add(Reason.AWAS_ACTION_REQUIRED, at(pointer, dialect.targets[0]), name)
        return None
    verb = first_text(action, *dialect.methods, chars=20)
    if _navigates(action, verb, action[target]):
        if verb is not None and dialect.published:
            notes.add(Reason.AWAS_METHOD, at(pointer, dialect.methods[0]), verb)
        return _navigation(catalogue, action[target], at(pointer, target), origin)
    if verb is None:
        notes.add(Reason.AWAS_ACTION_REQUIRED, at(pointer, dialect.methods[0]), name)
        return None
    method = next(filter(None, (http_method(action, key) for key in dialect.methods)), None)
    if method is None:
        notes.add(Reason.AWAS_METHOD, at(pointer, dialect.methods[0]), verb)
    found = endpoint(action[target], catalogue.base, catalogue.document, at(pointer, target), notes)
    limit = action.get("rateLimit", action.get("rate_limits"))
    return Invocation(
        "http",
        found.url if found else None,
        method,
        auth=_auth(catalogue, action),
        scopes=texts_of(action, "authScopes") or texts_of(action, "required_scopes"),
        rate_limit=rate_limit(limit, at(pointer, "rateLimit"), notes),
        templated=found is not None and found.templated,
        origin=origin,
    )


def _navigates(action: Object, verb: str | None, target: Json) -> bool:
    """A page to open or a number to call instead of a call of an API."""
    kind = (word_of(action, "type") or "").lower()
    elsewhere = isinstance(target, str) and _SCHEME.match(target.strip()) is not None
    return (verb or "").lower() == "navigate" or (verb is None and kind.startswith("navigat")) or elsewhere


def _navigation(catalogue: Catalogue, target: Json, pointer: str, origin: Origin) -> Invocation:
    """`tel:` and its relatives have no endpoint: they are kept as the invocation's name."""
    said = line(target, NAME_CHARS) if isinstance(target, str) else ""
    if _SCHEME.match(said):
        return Invocation("navigation", name=said, origin=origin)
    found = endpoint(target, catalogue.base, catalogue.document, pointer, catalogue.notes)
    templated = found is not None and found.templated
    return Invocation("navigation", found.url if found else None, templated=templated, origin=origin)


def _auth(catalogue: Catalogue, action: Object) -> Auth | None:
    own = map_of(action, "authentication")
    if own:
        return auth_of(own, catalogue.base)
    for key in ("authentication_required", "auth_required"):
        needed = flag_of(action, key)
        if needed is not None:
            headers = texts_of(action, "auth_headers")
            named = tuple(AuthScheme("api_key", "header", header) for header in headers)
            return Auth((named or catalogue.auth.schemes) if needed else (), needed)
    return None


def auth_of(said: Object, base: str) -> Auth:
    """`{required, methods}` of version 1.0, `{type, token_endpoint, ...}` of others."""
    words = texts_of(said, "methods", most=MAX_SCHEMES) or tuple(filter(None, [word_of(said, "type")]))
    kinds = [(word, kind) for word in words if (kind := auth_type(word)) is not None]
    schemes = tuple(
        AuthScheme(
            kind,
            authorization_url=link(said.get("authorization_endpoint"), base),
            token_url=link(said.get("token_endpoint"), base),
            note=word if kind == "custom" else None,
        )
        for word, kind in kinds
    )
    return Auth(schemes, flag_of(said, "required"))


def _capability(catalogue: Catalogue, action: Object, name: str, pointer: str, call: Invocation) -> Capability:
    dialect, notes = catalogue.dialect, catalogue.notes
    for key in ("name", "description"):
        if dialect.published and not text_of(action, key):
            notes.add(Reason.AWAS_ACTION_TEXT, at(pointer, key), action.get(key, ""))
    if dialect.name == GRADED:
        check_action(action, name, pointer, notes)
    if dialect.name == "1.1" and not _ID_1_1.fullmatch(name):
        notes.add(Reason.AWAS_ID, at(pointer, "id"), name)
    return Capability(
        id=name,
        name=first_text(action, "name", "label", chars=NAME_CHARS) or name,
        description=text_of(action, "description"),
        params=params.inputs(action, pointer, dialect.published, notes),
        result=params.outputs(action),
        side_effects=_side_effects(action, call),
        confirmation=_confirmation(action),
        idempotent=True if action.get("sideEffect") == "idempotent" else None,
        invocations=(call,),
    )


def _side_effects(action: Object, call: Invocation) -> bool | None:
    """What the action declares, in any dialect; else what its method means."""
    declared = flag_of(action, "side_effect")
    if declared is not None:
        return declared
    if isinstance(action.get("sideEffect"), str):
        return action["sideEffect"] != "safe"
    if isinstance(action.get("side_effects"), list):
        return bool(list_of(action, "side_effects"))
    if call.kind == "navigation":
        return False
    return None if call.method is None else call.method not in SAFE_METHODS


def _confirmation(action: Object) -> Confirmation | None:
    asked = flag_of(action, "requires_user_confirmation")
    if asked or action.get("sideEffect") == "destructive":
        return Confirmation(True)
    return Confirmation(False) if asked is False else None
