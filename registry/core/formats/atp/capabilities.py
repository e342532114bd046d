"""Read ATP capabilities into the common model (ATP section 3.5)."""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support.endpoints import endpoint
from registry.core.format_support.manifest import (
    ID_CHARS,
    Notes,
    Object,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.format_support.params import Definitions, list_schema
from registry.core.format_support.vocabulary import ACTION_METHODS, SAFE_METHODS, http_method
from registry.core.formats.atp import rules
from registry.core.formats.atp.checks import check_capability
from registry.core.formats.atp.schemas import AtpSchemas
from registry.core.model.documents import Document, Json
from registry.core.model.services import SEMANTIC_TYPE, Capability, Confirmation, Invocation, Origin
from registry.core.reading.json_pointer import at

SLUG: Final = "atp"
REQUIRED: Final = ("id", "name", "description", "endpoint", "method")
_READ: Final = frozenset({
    *REQUIRED, "semanticType", "parameters", "response", "requiredScopes", "sideEffects", "confirmation", "deprecated",
})  # fmt: skip

_ID = re.compile(r"[a-z0-9-]+")


def capabilities(body: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield the usable entries of `body["capabilities"]`; unusable ones are left out, with findings."""
    entries = body.get("capabilities")
    if not isinstance(entries, list):
        notes.add(rules.CAPABILITIES, "/capabilities", body.get("capabilities", ""))
        return
    schemas = AtpSchemas(Definitions(map_of(body, "schemas")), notes)
    seen: set[str] = set()
    for pointer, entry in members(entries, "/capabilities", rules.CAPABILITY, notes):
        missing = [key for key in REQUIRED if not text_of(entry, key)]
        for key in missing:
            notes.add(rules.CAPABILITY_REQUIRED, at(pointer, key), entry.get(key, ""))
        name = text_of(entry, "id", ID_CHARS)
        if missing or name is None or is_repeated(name, seen, at(pointer, "id"), notes):
            continue
        if not has_template(entry, ("id", "name", "description", "method"), pointer, notes, url="endpoint"):
            _check(entry, name, pointer, notes)
            yield _read_capability(entry, name, pointer, document, schemas, notes)


def _check(entry: Object, name: str, pointer: str, notes: Notes) -> None:
    check_capability(entry, pointer, notes)
    if not _ID.fullmatch(name):
        notes.add(rules.ID, at(pointer, "id"), name)
    semantic_type = entry.get("semanticType")
    if semantic_type is not None and not (isinstance(semantic_type, str) and SEMANTIC_TYPE.fullmatch(semantic_type)):
        notes.add(rules.SEMANTIC_TYPE, at(pointer, "semanticType"), semantic_type)
    method = http_method(entry)
    if method not in ACTION_METHODS:
        notes.add(rules.METHOD, at(pointer, "method"), entry["method"])
    declared = flag_of(entry, "sideEffects")  # a POST may search, so what its document says of it counts
    if method not in SAFE_METHODS and declared is not True and not (method == "POST" and declared is False):
        notes.add(rules.SIDE_EFFECTS, at(pointer, "sideEffects"), entry.get("sideEffects", ""))
    confirmation = map_of(entry, "confirmation")
    if flag_of(confirmation, "required") and not text_of(confirmation, "message"):
        notes.add(rules.CONFIRMATION, at(pointer, "confirmation"))
    for index, parameter in enumerate(list_of(entry, "parameters")):
        for key in ("name", "type"):
            if not short_text_of(parameter, key):
                notes.add(rules.PARAMETER, at(pointer, "parameters", index, key))


def _read_capability(
    entry: Object, name: str, pointer: str, document: Document, schemas: AtpSchemas, notes: Notes
) -> Capability:
    method = http_method(entry)
    address = endpoint(entry["endpoint"], document.url, document, at(pointer, "endpoint"), notes)
    semantic_type = short_text_of(entry, "semanticType")
    call = Invocation(
        "http",
        address.url if address else None,
        method,
        scopes=texts_of(entry, "requiredScopes"),
        templated=address is not None and address.templated,
        origin=Origin(document.url, pointer, SLUG),
    )
    return Capability(
        id=name,
        name=short_text_of(entry, "name") or name,
        title=short_text_of(entry, "name"),
        description=text_of(entry, "description"),
        params=_read_params(entry.get("parameters"), at(pointer, "parameters"), schemas),
        result=_read_result(entry.get("response"), at(pointer, "response"), schemas),
        side_effects=flag_of(entry, "sideEffects"),
        confirmation=_read_confirmation(map_of(entry, "confirmation")),
        deprecated=flag_of(entry, "deprecated"),
        tags=(semantic_type,) if semantic_type else (),
        invocations=(call,),
        native=native(SLUG, entry, _READ),
    )


def _read_params(parameters: Json, pointer: str, schemas: AtpSchemas) -> dict[str, Any] | None:
    if not isinstance(parameters, list):
        return None
    resolved = schemas.resolved(parameters, pointer)
    return list_schema(resolved if isinstance(resolved, list) else [])


def _read_result(response: Json, pointer: str, schemas: AtpSchemas) -> dict[str, Any] | None:
    resolved = schemas.resolved(response, pointer) if isinstance(response, dict) and response else None
    return resolved if isinstance(resolved, dict) and resolved else None


def _read_confirmation(confirmation: Object) -> Confirmation | None:
    required = flag_of(confirmation, "required")
    return None if required is None else Confirmation(required, text_of(confirmation, "message"))
