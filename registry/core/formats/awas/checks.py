"""What AWAS 1.0 says of members that the common model does not need: types, words, selectors, names, how it is served.

Only version 1.0 is graded by these: what the other dialects mean by the same members is not what its text says.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from registry.core.documents import Document, Json
from registry.core.findings import Reason
from registry.core.manifest import MAX_CAPABILITIES, MAX_TEXTS, Notes, Object, at, list_of, map_of, text_of
from registry.core.shapes import (
    HOUR,
    Kind,
    check_addresses,
    check_types,
    check_words,
    is_flag,
    is_integer,
    is_list,
    is_mail,
    is_map,
    is_open,
    is_text,
    is_texts,
    max_age,
)

MAX_BYTES: Final = 100 * 1024
MAX_SELECTOR: Final = 500

_PATH = re.compile(r"https?://[^/]+/\.well-known/(?:ai-actions|awas)\.json(?:\?.*)?")
_VERSION = re.compile(r"1\.\d{1,3}(?:\.\d{1,3})?")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

_JSON_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_TOP: Final[Mapping[str, Kind]] = {
    "baseUrl": is_text,
    **dict.fromkeys(("contact", "authentication", "rateLimit"), is_map),
}
_AUTHENTICATION: Final[Mapping[str, Kind]] = {"required": is_flag, "methods": is_texts}
_RATE_LIMIT: Final[Mapping[str, Kind]] = {"requests": is_integer, "window": is_text, "scope": is_text}
_ACTION: Final[Mapping[str, Kind]] = {
    "parameters": is_list,
    **dict.fromkeys(("result", "rateLimit", "authentication"), is_map),
}
_PARAMETER: Final[Mapping[str, Kind]] = {
    "required": is_flag,
    "validation": is_map,
    **dict.fromkeys(("description", "format", "selector"), is_text),
}
_RESULT: Final[Mapping[str, Kind]] = {"itemSelector": is_text, **dict.fromkeys(("properties", "pagination"), is_map)}

_TOP_NAMES: Final = frozenset(
    {"$schema", "version", "name", "description", "baseUrl", "contact", "authentication", "rateLimit", "actions",
     "workflows"}
)  # fmt: skip
_ACTION_NAMES: Final = frozenset(
    {"id", "name", "description", "path", "method", "parameters", "result", "rateLimit", "authentication"}
)

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ATTRIBUTE = re.compile(r"\[\s*[\w|*\-][\w|:\-]*\s*(?:[~|^$*]?=\s*[^\[\]\"']+)?\]")
_BRACKETS = re.compile(r"\([^()]*\)")
# each character by one alternative only: two would let a long selector be tried in exponentially many ways
_SIMPLE = r"(?:[A-Za-z0-9_*|\\\-]|[^\x00-\x7f]|[.#](?=[\w\\\-]|[^\x00-\x7f])|::?(?=[\w\-]))+"
_SELECTOR = re.compile(rf"\s*{_SIMPLE}(?:\s*[>+~,]\s*{_SIMPLE}|\s+{_SIMPLE})*\s*")


def check(body: Object, notes: Notes) -> None:
    """The document as a whole; its actions are checked one by one with `check_action`."""
    check_types(body, _TOP, "", Reason.AWAS_MEMBER_TYPE, notes)
    version = text_of(body, "version")
    if version is not None and not _VERSION.fullmatch(version):
        notes.add(Reason.AWAS_VERSION, "/version", version)
    contact = map_of(body, "contact")
    if contact.get("email") is not None and not is_mail(contact["email"]):
        notes.add(Reason.AWAS_ADDRESS, "/contact/email", contact["email"])
    check_addresses(contact, ("url",), None, "/contact", Reason.AWAS_ADDRESS, notes)
    _check_rights(body, "", notes)
    _check_names(body, _TOP_NAMES, "", notes)
    if body.get("actions") == []:
        notes.add(Reason.AWAS_NO_ACTIONS, "/actions")


def check_served(document: Document, notes: Notes) -> None:
    """Sections Content Negotiation and Best Practices, as far as the answer to one GET shows it."""
    if len(document.raw) > MAX_BYTES:
        notes.add(Reason.AWAS_SIZE, "", f"{len(document.raw)} bytes")
    headers = document.headers
    if not headers:  # a file has none
        return
    if not is_open(headers):
        notes.add(Reason.AWAS_CORS, "", headers.get("access-control-allow-origin", ""))
    if max_age(headers) != HOUR:
        notes.add(Reason.AWAS_CACHING, "", headers.get("cache-control", ""))


def check_path(document: Document, notes: Notes) -> None:
    """The catalogue's own path, or the one that the bridges' text gives as its example."""
    if not _PATH.fullmatch(document.url):
        notes.add(Reason.AWAS_PATH, "", document.url)


def check_action(action: Object, name: str, pointer: str, notes: Notes) -> None:
    check_types(action, _ACTION, pointer, Reason.AWAS_MEMBER_TYPE, notes)
    if not _KEBAB.fullmatch(name):
        notes.add(Reason.AWAS_KEBAB, at(pointer, "id"), name)
    _check_rights(action, pointer, notes)
    _check_names(action, _ACTION_NAMES, pointer, notes)
    for index, parameter in enumerate(list_of(action, "parameters")[:MAX_TEXTS]):
        _check_parameter(parameter, at(pointer, "parameters", index), notes)
    if isinstance(action.get("result"), dict):
        _check_result(map_of(action, "result"), at(pointer, "result"), notes)


def is_selector(text: Json) -> bool:
    """Whether it could be a CSS selector (Selectors Level 4): a cheap look at its shape, not a parser."""
    if not isinstance(text, str) or len(text) > MAX_SELECTOR:
        return False
    shape = _ATTRIBUTE.sub(":a", _STRING.sub("s", text))
    while (opened := _BRACKETS.sub("", shape)) != shape:
        shape = opened
    return _SELECTOR.fullmatch(shape) is not None


def _check_rights(holder: Object, pointer: str, notes: Notes) -> None:
    """Rate limit and authentication have one shape, for the site and for an action; windows are graded as read."""
    for key, kinds in (("authentication", _AUTHENTICATION), ("rateLimit", _RATE_LIMIT)):
        check_types(holder.get(key), kinds, at(pointer, key), Reason.AWAS_MEMBER_TYPE, notes)


def _check_names(holder: Object, known: frozenset[str], pointer: str, notes: Notes) -> None:
    for key in list(holder)[:MAX_CAPABILITIES]:
        if key not in known and not key.startswith("x-"):
            notes.add(Reason.AWAS_EXTENSION, at(pointer, key), key)


def _check_parameter(said: Json, pointer: str, notes: Notes) -> None:
    if not isinstance(said, dict):
        return
    check_types(said, _PARAMETER, pointer, Reason.AWAS_MEMBER_TYPE, notes)
    check_words(said, {"type": _JSON_TYPES}, pointer, Reason.AWAS_VALUE_TYPE, notes)
    if "example" not in said:
        notes.add(Reason.AWAS_EXAMPLE, at(pointer, "example"))
    if "selector" in said:
        _check_selector(said["selector"], at(pointer, "selector"), notes)


def _check_result(said: Object, pointer: str, notes: Notes) -> None:
    for key in ("type", "selector"):
        if not text_of(said, key):
            notes.add(Reason.AWAS_RESULT, at(pointer, key), said.get(key, ""))
    check_words(said, {"type": ("single", "list", "table", "form")}, pointer, Reason.AWAS_WORD, notes)
    check_types(said, _RESULT, pointer, Reason.AWAS_MEMBER_TYPE, notes)
    for place, selector in _selectors(said, pointer):
        _check_selector(selector, place, notes)


def _selectors(said: Object, pointer: str) -> Iterator[tuple[str, Json]]:
    for key in ("selector", "itemSelector"):
        if key in said:
            yield at(pointer, key), said[key]
    for key in ("properties", "pagination"):
        for name, selector in list(map_of(said, key).items())[:MAX_TEXTS]:
            yield at(pointer, key, name), selector


def _check_selector(selector: Json, pointer: str, notes: Notes) -> None:
    if isinstance(selector, str) and selector.strip() and not is_selector(selector):
        notes.add(Reason.AWAS_SELECTOR, pointer, selector)
