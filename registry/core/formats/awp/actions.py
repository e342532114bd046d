"""AWP actions -> capabilities (AWP section 9, `via` section 5.5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import endpoint, origin_of
from registry.core.findings import Reason
from registry.core.formats.awp.checks import check_action
from registry.core.formats.awp.fields import schema
from registry.core.manifest import (
    ID_CHARS,
    Notes,
    Object,
    at,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    map_of,
    members,
    text_of,
    word_of,
)
from registry.core.params import Definitions
from registry.core.services import Auth, Capability, Confirmation, Invocation, InvocationKind, Origin, Protocol
from registry.core.vocabulary import SAFE_METHODS, http_method, rate_limit_text

SLUG: Final = "awp"
METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH"})

_KINDS: Final[dict[str, InvocationKind]] = {"mcp": "mcp_tool", "a2a": "a2a_skill"}


@dataclass(frozen=True, slots=True)
class Surface:
    """What the actions of one document share. `key` is the member that names an action in this dialect."""

    document: Document
    auth: Auth
    needing_auth: Mapping[str, bool]  # action id -> whether `auth` at the top requires it
    protocols: Mapping[str, Protocol]
    entities: Definitions
    key: str
    notes: Notes


def capabilities(surface: Surface, holder: Object, start: str) -> Iterator[Capability]:
    """The usable actions in `holder["actions"]`; `start` is the JSON Pointer of that array."""
    actions = holder.get("actions")
    if not isinstance(actions, list):
        surface.notes.add(Reason.AWP_ACTIONS, start, holder.get("actions", ""))
        return
    if not actions:
        surface.notes.add(Reason.AWP_NO_ACTIONS, start)
    seen: set[str] = set()
    for pointer, action in members(actions, start, Reason.AWP_ACTION, surface.notes):
        name = _name(surface, action, pointer, seen)
        call = _call(surface, action, name, pointer) if name else None
        if name and call:
            yield _capability(surface, action, name, pointer, call)


def _name(surface: Surface, action: Object, pointer: str, seen: set[str]) -> str | None:
    """The action's id; None where it is missing, repeated, or the action is a template that was never rendered."""
    key, notes = surface.key, surface.notes
    name = text_of(action, key, ID_CHARS)
    if name is None:
        notes.add(Reason.AWP_ACTION_ID, at(pointer, key), action.get(key, ""))
        return None
    dropped = is_repeated(name, seen, at(pointer, key), notes) or has_template(
        action, (key, "description", "method"), pointer, notes, url="endpoint"
    )
    return None if dropped else name


def _call(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    return _via(surface, action, name, pointer) if "via" in action else _http(surface, action, name, pointer)


def _via(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    via = (word_of(action, "via") or "").lower()
    protocol = surface.protocols.get(via)
    if protocol is None:
        surface.notes.add(Reason.AWP_VIA_UNKNOWN, at(pointer, "via"), action["via"])
        return None
    if protocol.endpoint is None:
        surface.notes.add(Reason.AWP_VIA_WITHOUT_ENDPOINT, at(pointer, "via"), via)
    return Invocation(
        _KINDS.get(via, "rpc"),
        protocol.endpoint,
        name=text_of(action, "operation", ID_CHARS) or name,
        auth=_auth(surface, action, name),
        rate_limit=rate_limit_text(word_of(action, "rate_limit")),
        origin=Origin(surface.document.url, pointer, SLUG),
    )


def _http(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    if not word_of(action, "endpoint") or not word_of(action, "method"):
        surface.notes.add(Reason.AWP_ACTION_CALL, pointer, name)
        return None
    method = http_method(action)
    if method not in METHODS:
        surface.notes.add(Reason.AWP_METHOD, at(pointer, "method"), action["method"])
    url = surface.document.url
    found = endpoint(action["endpoint"], origin_of(url), surface.document, at(pointer, "endpoint"), surface.notes)
    return Invocation(
        "http",
        found.url if found else None,
        method,
        auth=_auth(surface, action, name),
        rate_limit=rate_limit_text(word_of(action, "rate_limit")),
        templated=found is not None and found.templated,
        origin=Origin(url, pointer, SLUG),
    )


def _auth(surface: Surface, action: Object, name: str) -> Auth | None:
    """What the action says itself counts before the lists at the top."""
    said = flag_of(action, "auth_required")
    needed = said if said is not None else surface.needing_auth.get(name)
    if needed is None:
        return None
    return Auth(surface.auth.schemes if needed else (), needed)


def _capability(surface: Surface, action: Object, name: str, pointer: str, call: Invocation) -> Capability:
    if surface.key == "id":
        _check_fields(action, pointer, surface.notes)
        check_action(action, pointer, surface.entities.named, surface.notes)
    return Capability(
        id=name,
        name=name,
        description=first_text(action, "description", "intent"),
        params=schema(action.get("inputs", action.get("parameters")), surface.entities),
        result=schema(action.get("outputs"), surface.entities),
        side_effects=_side_effects(action, call),
        confirmation=_confirmation(action),
        idempotent=flag_of(map_of(action, "idempotency"), "supported"),
        tags=("async",) if action.get("execution_model") == "async" else (),
        invocations=(call,),
    )


def _check_fields(action: Object, pointer: str, notes: Notes) -> None:
    """Section 9 calls four fields required, the published schema and the reference site do not: warnings."""
    for key, alias, reason in (
        ("description", "intent", Reason.AWP_ACTION_DESCRIPTION),
        ("inputs", "parameters", Reason.AWP_ACTION_INPUTS),
        ("outputs", "", Reason.AWP_ACTION_OUTPUTS),
        ("auth_required", "", Reason.AWP_ACTION_AUTH),
    ):
        if key in action:
            continue
        if alias in action:
            notes.add(Reason.AWP_ALIAS, at(pointer, alias), alias)
        else:
            notes.add(reason, pointer)
    if "payment" in action:
        notes.add(Reason.AWP_ALIAS, at(pointer, "payment"), "payment")


def _side_effects(action: Object, call: Invocation) -> bool | None:
    if action.get("sensitivity") in ("destructive", "irreversible"):
        return True
    if call.kind != "http" or call.method is None:
        return None
    return call.method not in SAFE_METHODS


def _confirmation(action: Object) -> Confirmation | None:
    asked = flag_of(action, "requires_human_confirmation")
    if asked or action.get("sensitivity") == "irreversible":
        return Confirmation(True)
    return Confirmation(False) if asked is False else None
