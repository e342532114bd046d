"""Read the skills of an A2A card, with what publishers add to them: parameters, results, prices, own addresses."""

from collections.abc import Iterator
from typing import Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import endpoint
from registry.core.format_support.loose import first_parameters, first_result, pricing_of
from registry.core.format_support.manifest import ID_CHARS, Notes, Object, short_text_of, slug, text_of, texts_of
from registry.core.format_support.security import operation_auth, own_auth, schemes_of
from registry.core.format_support.vocabulary import http_method
from registry.core.formats.a2a import rules
from registry.core.formats.a2a.addresses import SLUG, A2aInterface, camel
from registry.core.model.documents import Document
from registry.core.model.services import AuthScheme, Capability, Invocation, Origin, Pricing
from registry.core.reading.json_pointer import at

MODES: Final = ("defaultInputModes", "defaultOutputModes")
EXAMPLE_CHARS: Final = 500
REQUIRED: Final = {"0.1": ("id", "name")}
REQUIRED_LATER: Final = ("id", "name", "description", "tags")
_PRICES: Final = ("pricing", "price", "cost", "fee")
_ADDRESSES: Final = ("endpoint", "url", "uri")
_READ: Final = frozenset({
    "id", "name", "description", "tags", "examples", "inputModes", "outputModes", "security", "securityRequirements",
    "inputSchema", "outputSchema", "method", "deprecated", "input_modes", "output_modes", "input_schema",
    "output_schema",
})  # fmt: skip


def skills_of(
    card: Object, version: str, interfaces: list[A2aInterface], document: Document, notes: Notes
) -> Iterator[Capability]:
    seen: set[str] = set()
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    modes = [_read_texts(card, key) for key in MODES]
    parts = list(manifest.parts_of(card, "skills", "/skills", notes))
    if any(isinstance(raw, str) for _, _, raw in parts):
        notes.add(rules.SKILL_TEXT, "/skills")
    for pointer, key, raw in parts:
        if isinstance(raw, str) and raw.strip():
            item: Object = {"id": key or slug(raw), "name": key or raw, "description": raw, "tags": []}
        elif isinstance(raw, dict):
            item = camel(raw if key is None else {"id": key, "name": key, **raw})
        else:
            notes.add(rules.SKILL, pointer, raw)
            continue
        name, declared_id = short_text_of(item, "name"), text_of(item, "id", ID_CHARS)
        if name is None and declared_id is None:
            notes.add(rules.SKILL, pointer)
            continue
        identifier = declared_id or slug(name or "")
        if manifest.is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if manifest.has_template(item, ("name", "description"), pointer, notes):
            continue
        for member in REQUIRED.get(version, REQUIRED_LATER):
            if item.get(member) is None:
                notes.add(rules.REQUIRED, at(pointer, member))
            elif not isinstance(item[member], list if member == "tags" else str):
                notes.add(common_rules.WRONG_TYPE, at(pointer, member), item[member])
        result, result_note = first_result(item)
        yield Capability(
            identifier,
            name or identifier,
            text_of(item, "description"),
            params=first_parameters(item),
            result=result,
            result_note=result_note,
            title=short_text_of(item, "title"),
            deprecated=manifest.flag_of(item, "deprecated"),
            pricing=_read_pricing(item, document),
            tags=_read_texts(item, "tags"),
            examples=texts_of(item, "examples", EXAMPLE_CHARS),
            input_modes=_read_texts(item, "inputModes") or modes[0],
            output_modes=_read_texts(item, "outputModes") or modes[1],
            invocations=tuple(_read_calls(item, identifier, interfaces, schemes, document, pointer, notes)),
            native=manifest.native(SLUG, raw, _READ),
        )


def _read_texts(holder: Object, key: str) -> tuple[str, ...]:
    """Return the texts of a list, or of one text that joins them by commas."""
    held = holder.get(key)
    return texts_of({key: [part.strip() for part in held.split(",")]} if isinstance(held, str) else holder, key)


def _read_calls(
    item: Object,
    identifier: str,
    interfaces: list[A2aInterface],
    schemes: dict[str, AuthScheme],
    document: Document,
    pointer: str,
    notes: Notes,
) -> Iterator[Invocation]:
    """Yield the calls of a skill: at its own address, if it names one, and at the agent's first interface."""
    origin, declared = Origin(document.url, pointer, SLUG), operation_auth(item, schemes)
    auth = own_auth(item, document.url) if declared is None else declared
    key = next((key for key in _ADDRESSES if text_of(item, key)), _ADDRESSES[0])
    interface = interfaces[0] if interfaces else None
    base = interface.address.url if interface else document.url  # relative addresses are the agent's
    own = endpoint(item.get(key), base, document, at(pointer, key), notes)
    if own is not None:
        method = http_method(item) or http_method(item, "httpMethod")
        yield Invocation("http", own.url, method, identifier, auth=auth, templated=own.templated, origin=origin)
    if own is not None and (interface is None or interface.is_doubtful):
        return
    uses_post = interface is not None and interface.binding.upper() in ("JSONRPC", "HTTP+JSON", "REST")
    method = "POST" if uses_post else None  # other bindings have no method
    url, templated = (interface.address.url, interface.address.templated) if interface else (None, False)
    yield Invocation("a2a_skill", url, method, identifier, auth=auth, templated=templated, origin=origin)


def _read_pricing(item: Object, document: Document) -> Pricing | None:
    """Return the price of one skill: an object, a number, or words."""
    for key in _PRICES:
        held = item.get(key)
        if isinstance(held, int | float) and not isinstance(held, bool):
            held = {"price": held, "currency": manifest.first_text(item, "currency", "asset") or ""}
        if held not in (None, "") and (pricing := pricing_of(held, document.url)) != Pricing():
            return pricing
    return None
