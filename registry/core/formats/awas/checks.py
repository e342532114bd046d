"""Check what AWAS 1.0 demands beyond the common model: types, words, selectors, names, serving, versions.

Members and actions are checked for version 1.0 only, because other dialects use the same members differently.
"""

import re
from typing import Final

from registry.core.format_support.manifest import MAX_CAPABILITIES, MAX_TEXTS, Notes, Object, list_of, map_of, text_of
from registry.core.format_support.shapes import (
    FLAG,
    HOUR,
    INTEGER,
    LIST,
    OBJECT,
    TEXT,
    TEXTS,
    check_addresses,
    check_origin,
    check_types,
    check_words,
    is_email,
    max_age,
    missing_texts,
)
from registry.core.formats.awas import rules
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at

MAX_BYTES: Final = 100 * 1024
MAX_SELECTOR: Final = 500

_VERSION = re.compile(r"1\.\d{1,3}(?:\.\d{1,3})?")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

_JSON_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
TOP: Final = {"baseUrl": TEXT, "contact": OBJECT, "authentication": OBJECT, "rateLimit": OBJECT}
AUTHENTICATION: Final = {"required": FLAG, "methods": TEXTS}
RATE_LIMIT: Final = {"requests": INTEGER, "window": TEXT, "scope": TEXT}
ACTION: Final = {"parameters": LIST, "result": OBJECT, "rateLimit": OBJECT, "authentication": OBJECT}
PARAMETER: Final = {"required": FLAG, "description": TEXT, "format": TEXT, "selector": TEXT, "validation": OBJECT}
RESULT: Final = {"itemSelector": TEXT, "properties": OBJECT, "pagination": OBJECT}

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
# each character matches one alternative only; with two, a long selector would cause exponential backtracking
_SIMPLE = r"(?:[A-Za-z0-9_*|\\\-]|[^\x00-\x7f]|[.#](?=[\w\\\-]|[^\x00-\x7f])|::?(?=[\w\-]))+"
_SELECTOR = re.compile(rf"\s*{_SIMPLE}(?:\s*[>+~,]\s*{_SIMPLE}|\s+{_SIMPLE})*\s*")


def check(body: Object, notes: Notes) -> None:
    """Check the document apart from its actions, which `check_action` checks one by one."""
    check_types(body, TOP, "", rules.MEMBER_TYPE, notes)
    version = text_of(body, "version")
    if version is not None and not _VERSION.fullmatch(version):
        notes.add(rules.VERSION, "/version", version)
    contact = map_of(body, "contact")
    if contact.get("email") is not None and not is_email(contact["email"]):
        notes.add(rules.ADDRESS, "/contact/email", contact["email"])
    check_addresses(contact, ("url",), None, "/contact", rules.ADDRESS, notes)
    _check_auth_and_rate_limit(body, "", notes)
    _check_names(body, _TOP_NAMES, "", notes)
    if body.get("actions") == []:
        notes.add(rules.NO_ACTIONS, "/actions")


def check_served(document: Document, notes: Notes) -> None:
    """Check the sections Content Negotiation and Best Practices, as far as one GET answer shows them."""
    if len(document.raw) > MAX_BYTES:
        notes.add(rules.SIZE, "", f"{len(document.raw)} bytes")
    headers = document.headers
    if not headers:  # the document was read from a file
        return
    check_origin(headers, rules.CORS, notes)
    if max_age(headers) != HOUR:
        notes.add(rules.CACHING, "", headers.get("cache-control", ""))


def check_action(action: Object, name: str, pointer: str, notes: Notes) -> None:
    check_types(action, ACTION, pointer, rules.MEMBER_TYPE, notes)
    if not _KEBAB.fullmatch(name):
        notes.add(rules.KEBAB, at(pointer, "id"), name)
    _check_auth_and_rate_limit(action, pointer, notes)
    _check_names(action, _ACTION_NAMES, pointer, notes)
    for index, parameter in enumerate(list_of(action, "parameters")[:MAX_TEXTS]):
        _check_parameter(parameter, at(pointer, "parameters", index), notes)
    if isinstance(action.get("result"), dict):
        _check_result(map_of(action, "result"), at(pointer, "result"), notes)


def is_selector(text: Json) -> bool:
    """Return whether the text has the shape of a CSS selector (Selectors Level 4). It is not parsed."""
    if not isinstance(text, str) or len(text) > MAX_SELECTOR:
        return False
    shape = _ATTRIBUTE.sub(":a", _STRING.sub("s", text))
    while (reduced := _BRACKETS.sub("", shape)) != shape:
        shape = reduced
    return _SELECTOR.fullmatch(shape) is not None


def _check_auth_and_rate_limit(holder: Object, pointer: str, notes: Notes) -> None:
    """Check rate limit and authentication, of the site or of an action; the reader checks the windows."""
    for key, kinds in (("authentication", AUTHENTICATION), ("rateLimit", RATE_LIMIT)):
        check_types(holder.get(key), kinds, at(pointer, key), rules.MEMBER_TYPE, notes)


def _check_names(holder: Object, known_names: frozenset[str], pointer: str, notes: Notes) -> None:
    for key in list(holder)[:MAX_CAPABILITIES]:
        if key not in known_names and not key.startswith("x-"):
            notes.add(rules.EXTENSION, at(pointer, key), key)


def _check_parameter(parameter: Json, pointer: str, notes: Notes) -> None:
    if not isinstance(parameter, dict):
        return
    check_types(parameter, PARAMETER, pointer, rules.MEMBER_TYPE, notes)
    check_words(parameter, {"type": _JSON_TYPES}, pointer, rules.VALUE_TYPE, notes)
    if "example" not in parameter:
        notes.add(rules.EXAMPLE, at(pointer, "example"))
    _check_selector(parameter.get("selector"), at(pointer, "selector"), notes)


def _check_result(result: Object, pointer: str, notes: Notes) -> None:
    missing_texts(result, ("type", "selector"), pointer, rules.RESULT, notes)
    check_words(result, {"type": ("single", "list", "table", "form")}, pointer, rules.WORD, notes)
    check_types(result, RESULT, pointer, rules.MEMBER_TYPE, notes)
    for key in ("selector", "itemSelector"):
        _check_selector(result.get(key), at(pointer, key), notes)
    for key in ("properties", "pagination"):
        for name, selector in list(map_of(result, key).items())[:MAX_TEXTS]:
            _check_selector(selector, at(pointer, key, name), notes)


def _check_selector(selector: Json, pointer: str, notes: Notes) -> None:
    if isinstance(selector, str) and selector.strip() and not is_selector(selector):
        notes.add(rules.SELECTOR, pointer, selector)


# --- two versions of a manifest (Versioning and Best Practices 6) -----------------------------------------------------


def is_unversioned_break(before: Json, after: Json) -> bool | None:
    """Return whether `after` breaks callers of `before` under the same version; False for a new version. None: the
    change is compatible, so it says nothing. Callers break when an action is gone, is called in another way, or demands
    a parameter that it did not demand."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    if before.get("version") != after.get("version"):
        return False
    actions = _by_name(list_of(after, "actions"), "id", MAX_CAPABILITIES)
    for name, action in _by_name(list_of(before, "actions"), "id", MAX_CAPABILITIES).items():
        if name not in actions or _is_breaking(action, actions[name]):
            return True
    return None


def _is_breaking(before: Object, after: Object) -> bool:
    if any(text_of(before, key) != text_of(after, key) for key in ("path", "method")):
        return True
    old, new = (_by_name(list_of(action, "parameters"), "name", MAX_TEXTS) for action in (before, after))
    return any(
        parameter.get("required") is True and old.get(name, {}).get("required") is not True
        for name, parameter in new.items()
    )


def _by_name(items: list[Json], key: str, most: int) -> dict[str, Object]:
    named = ((text_of(item, key), item) for item in items[:most] if isinstance(item, dict))
    return {name: item for name, item in named if name is not None}
