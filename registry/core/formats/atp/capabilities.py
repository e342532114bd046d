"""ATP capabilities -> the common model (ATP section 3.5)."""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.documents import Document, Json
from registry.core.endpoints import endpoint
from registry.core.findings import Reason
from registry.core.formats.atp.checks import check_capability
from registry.core.formats.atp.schemas import Schemas
from registry.core.manifest import (
    ID_CHARS,
    Notes,
    Object,
    at,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    text_of,
    texts_of,
    word_of,
)
from registry.core.params import Definitions, listed
from registry.core.services import Capability, Confirmation, Invocation, Origin
from registry.core.vocabulary import SAFE_METHODS, http_method

SLUG: Final = "atp"
METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
REQUIRED: Final = ("id", "name", "description", "endpoint", "method")

_ID = re.compile(r"[a-z0-9-]+")
_SEMANTIC_TYPE = re.compile(r"[a-z]+:[a-z0-9-]+")


def capabilities(body: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    """The usable entries of `body["capabilities"]`."""
    entries = body.get("capabilities")
    if not isinstance(entries, list):
        notes.add(Reason.ATP_CAPABILITIES, "/capabilities", body.get("capabilities", ""))
        return
    schemas = Schemas(Definitions(map_of(body, "schemas")), notes)
    seen: set[str] = set()
    for pointer, entry in members(entries, "/capabilities", Reason.ATP_CAPABILITY, notes):
        missing = [key for key in REQUIRED if not text_of(entry, key)]
        for key in missing:
            notes.add(Reason.ATP_CAPABILITY_REQUIRED, at(pointer, key), entry.get(key, ""))
        name = text_of(entry, "id", ID_CHARS)
        if missing or name is None or is_repeated(name, seen, at(pointer, "id"), notes):
            continue
        if not has_template(entry, ("id", "name", "description", "method"), pointer, notes, url="endpoint"):
            _check(entry, name, pointer, notes)
            yield _capability(entry, name, pointer, document, schemas, notes)


def _check(entry: Object, name: str, pointer: str, notes: Notes) -> None:
    check_capability(entry, pointer, notes)
    if not _ID.fullmatch(name):
        notes.add(Reason.ATP_ID, at(pointer, "id"), name)
    meaning = entry.get("semanticType")
    if meaning is not None and not (isinstance(meaning, str) and _SEMANTIC_TYPE.fullmatch(meaning)):
        notes.add(Reason.ATP_SEMANTIC_TYPE, at(pointer, "semanticType"), meaning)
    method = http_method(entry)
    if method not in METHODS:
        notes.add(Reason.ATP_METHOD, at(pointer, "method"), entry["method"])
    if method not in SAFE_METHODS and flag_of(entry, "sideEffects") is not True:
        notes.add(Reason.ATP_SIDE_EFFECTS, at(pointer, "sideEffects"), entry.get("sideEffects", ""))
    confirmation = map_of(entry, "confirmation")
    if flag_of(confirmation, "required") and not text_of(confirmation, "message"):
        notes.add(Reason.ATP_CONFIRMATION, at(pointer, "confirmation"))
    for index, parameter in enumerate(list_of(entry, "parameters")):
        for key in ("name", "type"):
            if not word_of(parameter, key):
                notes.add(Reason.ATP_PARAMETER, at(pointer, "parameters", index, key))


def _capability(
    entry: Object, name: str, pointer: str, document: Document, schemas: Schemas, notes: Notes
) -> Capability:
    method = http_method(entry)
    found = endpoint(entry["endpoint"], document.url, document, at(pointer, "endpoint"), notes)
    explicit = flag_of(entry, "sideEffects")
    meaning = word_of(entry, "semanticType")
    call = Invocation(
        "http",
        found.url if found else None,
        method,
        scopes=texts_of(entry, "requiredScopes"),
        templated=found is not None and found.templated,
        origin=Origin(document.url, pointer, SLUG),
    )
    return Capability(
        id=name,
        name=word_of(entry, "name") or name,
        description=text_of(entry, "description"),
        params=_params(entry.get("parameters"), at(pointer, "parameters"), schemas),
        result=_result(entry.get("response"), at(pointer, "response"), schemas),
        side_effects=explicit if explicit is not None or method is None else method not in SAFE_METHODS,
        confirmation=_confirmation(map_of(entry, "confirmation")),
        deprecated=flag_of(entry, "deprecated"),
        tags=(meaning,) if meaning else (),
        invocations=(call,),
    )


def _params(said: Json, pointer: str, schemas: Schemas) -> dict[str, Any] | None:
    if not isinstance(said, list):
        return None
    resolved = schemas.resolved(said, pointer)
    return listed(resolved if isinstance(resolved, list) else [])


def _result(said: Json, pointer: str, schemas: Schemas) -> dict[str, Any] | None:
    resolved = schemas.resolved(said, pointer) if isinstance(said, dict) and said else None
    return resolved if isinstance(resolved, dict) and resolved else None


def _confirmation(said: Object) -> Confirmation | None:
    required = flag_of(said, "required")
    return None if required is None else Confirmation(required, text_of(said, "message"))
