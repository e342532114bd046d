"""Read AWP actions into capabilities (AWP section 9; `via`: section 5.5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from registry.core.format_support.endpoints import endpoint, origin_of
from registry.core.format_support.manifest import (
    ID_CHARS,
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    map_of,
    members,
    native,
    short_text_of,
    text_of,
)
from registry.core.format_support.params import Definitions
from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.format_support.vocabulary import ACTION_METHODS, http_method, rate_limit_text
from registry.core.formats.awp import rules
from registry.core.formats.awp.checks import check_action
from registry.core.formats.awp.fields import schema
from registry.core.model.documents import Document
from registry.core.model.services import Auth, Capability, Confirmation, Invocation, InvocationKind, Origin, Protocol
from registry.core.reading.json_pointer import at

SLUG: Final = "awp"

_READ: Final = frozenset({
    "id", "name", "title", "description", "intent", "inputs", "parameters", "outputs", "endpoint", "method", "via",
    "operation", "auth_required", "rate_limit", "execution_model", "poll_endpoint", "sensitivity", "reversible",
    "requires_human_confirmation",
})  # fmt: skip
_KINDS: Final[dict[str, InvocationKind]] = {"mcp": "mcp_tool", "a2a": "a2a_skill"}


@dataclass(frozen=True, slots=True)
class Surface:
    """The facts that all actions of a document share. `key` is the member with an action's id in this dialect."""

    document: Document
    auth: Auth
    needing_auth: Mapping[str, bool]  # action id -> whether the top-level `auth` requires credentials for it
    protocols: Mapping[str, Protocol]
    entities: Definitions
    key: str
    notes: Notes


def capabilities(surface: Surface, holder: Object, actions_pointer: str) -> Iterator[Capability]:
    """Yield the usable actions in `holder["actions"]`; `actions_pointer` is the JSON Pointer of that array."""
    actions = holder.get("actions")
    if not isinstance(actions, list):
        surface.notes.add(rules.ACTIONS, actions_pointer, holder.get("actions", ""))
        return
    if not actions:
        surface.notes.add(rules.NO_ACTIONS, actions_pointer)
    seen: set[str] = set()
    for pointer, action in members(actions, actions_pointer, rules.ACTION, surface.notes):
        name = _read_name(surface, action, pointer, seen)
        call = _read_call(surface, action, name, pointer) if name else None
        if name and call:
            yield _read_capability(surface, action, name, pointer, call)


def _read_name(surface: Surface, action: Object, pointer: str, seen: set[str]) -> str | None:
    """Return the action's id; None where it is missing or repeated, or the action is an unrendered template."""
    key, notes = surface.key, surface.notes
    name = text_of(action, key, ID_CHARS)
    if name is None:
        notes.add(rules.ACTION_ID, at(pointer, key), action.get(key, ""))
        return None
    is_unusable = is_repeated(name, seen, at(pointer, key), notes) or has_template(
        action, (key, "description", "method"), pointer, notes, url="endpoint"
    )
    return None if is_unusable else name


def _read_call(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    return (
        _read_protocol_call(surface, action, name, pointer)
        if "via" in action
        else _read_http_call(surface, action, name, pointer)
    )


def _read_protocol_call(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    via = (short_text_of(action, "via") or "").lower()
    protocol = surface.protocols.get(via)
    if protocol is None:
        surface.notes.add(rules.VIA_UNKNOWN, at(pointer, "via"), action["via"])
        return None
    if protocol.endpoint is None:
        surface.notes.add(rules.VIA_WITHOUT_ENDPOINT, at(pointer, "via"), via)
    return Invocation(
        _KINDS.get(via, "rpc"),
        protocol.endpoint,
        name=text_of(action, "operation", ID_CHARS) or name,
        auth=_read_auth(surface, action, name),
        rate_limit=rate_limit_text(short_text_of(action, "rate_limit")),
        origin=Origin(surface.document.url, pointer, SLUG),
    )


def _read_http_call(surface: Surface, action: Object, name: str, pointer: str) -> Invocation | None:
    if not short_text_of(action, "endpoint") or not short_text_of(action, "method"):
        surface.notes.add(rules.ACTION_CALL, pointer, name)
        return None
    method = http_method(action)
    if method not in ACTION_METHODS:
        surface.notes.add(rules.METHOD, at(pointer, "method"), action["method"])
    url = surface.document.url
    address = endpoint(action["endpoint"], origin_of(url), surface.document, at(pointer, "endpoint"), surface.notes)
    return Invocation(
        "http",
        address.url if address else None,
        method,
        auth=_read_auth(surface, action, name),
        rate_limit=rate_limit_text(short_text_of(action, "rate_limit")),
        templated=address is not None and address.templated,
        origin=Origin(url, pointer, SLUG),
    )


def _read_auth(surface: Surface, action: Object, name: str) -> Auth | None:
    """Return the action's own declaration, else the declaration in the top-level lists, else None."""
    declared = flag_of(action, "auth_required")
    is_required = declared if declared is not None else surface.needing_auth.get(name)
    if is_required is None:
        return None
    return Auth(surface.auth.schemes, True) if is_required else NOTHING_NEEDED


def _read_capability(surface: Surface, action: Object, name: str, pointer: str, call: Invocation) -> Capability:
    if surface.key == "id":
        _check_fields(action, pointer, surface.notes)
        check_action(action, pointer, surface.entities.named, surface.notes)
    return Capability(
        id=name,
        name=name,
        title=first_text(action, "title", *(("name",) if surface.key == "id" else ()), chars=NAME_CHARS),
        description=first_text(action, "description", "intent"),
        params=schema(action.get("inputs", action.get("parameters")), surface.entities),
        result=schema(action.get("outputs"), surface.entities),
        result_note=text_of(action, "outputs") or text_of(action, "returns"),
        # the levels above "standard" say that data is modified or deleted (section 9); nothing else says it
        side_effects=True if action.get("sensitivity") in ("destructive", "irreversible") else None,
        confirmation=_read_confirmation(action),
        idempotency_key=flag_of(map_of(action, "idempotency"), "supported"),
        reversible=flag_of(action, "reversible"),
        sensitivity=short_text_of(action, "sensitivity"),
        polling_url=_read_polling_url(surface, action, pointer),
        tags=("async",) if action.get("execution_model") == "async" else (),
        invocations=(call,),
        native=native(SLUG, action, _READ),
    )


def _check_fields(action: Object, pointer: str, notes: Notes) -> None:
    """Note missing fields as warnings: section 9 requires the four, but the published schema and reference site do not.

    Aliases of fields are noted as well.
    """
    for key, alias, rule in (
        ("description", "intent", rules.ACTION_DESCRIPTION),
        ("inputs", "parameters", rules.ACTION_INPUTS),
        ("outputs", "", rules.ACTION_OUTPUTS),
        ("auth_required", "", rules.ACTION_AUTH),
    ):
        if key in action:
            continue
        if alias in action:
            notes.add(rules.ALIAS, at(pointer, alias), alias)
        else:
            notes.add(rule, pointer)
    if "payment" in action:
        notes.add(rules.ALIAS, at(pointer, "payment"), "payment")


def _read_polling_url(surface: Surface, action: Object, pointer: str) -> str | None:
    base, place = origin_of(surface.document.url), at(pointer, "poll_endpoint")
    address = endpoint(action.get("poll_endpoint"), base, surface.document, place, surface.notes)
    return address.url if address else None


def _read_confirmation(action: Object) -> Confirmation | None:
    is_required = flag_of(action, "requires_human_confirmation")
    if is_required or action.get("sensitivity") == "irreversible":
        return Confirmation(True)
    return Confirmation(False) if is_required is False else None
