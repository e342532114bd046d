"""Small helpers that every format needs: typed access that never raises, pointers, clean texts, endpoints, ids.

A format reads a document once, with a `Notes` that collects what is wrong: what is noted as an error is what is left
out, because both happen at the same place.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from registry.core.documents import Document, Json
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.plain_text import line, plain
from registry.core.services import Capability, Origin, Service

NAME_CHARS = 200
TEXT_CHARS = 4_000
ID_CHARS = 120
MAX_CAPABILITIES = 2_000
MAX_TEXTS = 100  # tags, scopes, examples, steps of one list
FINDINGS_PER_REASON = 5
FINDINGS_PER_DOCUMENT = 100

Object = dict[str, Json]

POINTER_KEY_CHARS = 80
_BLANK = Service()


# --- findings -------------------------------------------------------------------------------------------------------


class Notes:
    """Collects findings, at most FINDINGS_PER_REASON of a reason; the last of those then counts the rest."""

    def __init__(self) -> None:
        self._kept: dict[Reason, list[Finding]] = defaultdict(list)
        self._seen: dict[Reason, int] = defaultdict(int)

    def add(self, reason: Reason, pointer: str = "", evidence: object = "") -> None:
        """`evidence`: the offending value; anything is made short text."""
        self._seen[reason] += 1
        if len(self._kept[reason]) < FINDINGS_PER_REASON:
            self._kept[reason].append(Finding(reason, pointer, shown(evidence)))

    def findings(self) -> tuple[Finding, ...]:
        """In the order in which each reason was first met."""
        return tuple(finding for reason in self._kept for finding in self._of(reason))[:FINDINGS_PER_DOCUMENT]

    def _of(self, reason: Reason) -> list[Finding]:
        kept, more = self._kept[reason], self._seen[reason] - FINDINGS_PER_REASON
        if more > 0:
            evidence = f"and {more + 1} more of {self._seen[reason]}"
            kept = [*kept[:-1], replace(kept[-1], evidence=evidence, count=more + 1)]
        return kept


def at(pointer: str, *keys: str | int) -> str:
    """`pointer` extended by keys or indexes (RFC 6901 section 3); over-long keys are cut."""
    for key in keys:
        part = str(key)[:POINTER_KEY_CHARS]
        if "~" in part or "/" in part:
            part = part.replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{part}"
    return pointer


def keys_of(pointer: str) -> list[str]:
    """The inverse of `at` (RFC 6901 section 4): the keys of a pointer, cut as `at` cuts them."""
    return [part.replace("~1", "/").replace("~0", "~")[:POINTER_KEY_CHARS] for part in pointer.split("/")[1:]]


def shown(value: object) -> str:
    """Any value as short evidence: texts as they are, scalars as JSON writes them, containers by their kind."""
    if isinstance(value, str):
        return line(value, EVIDENCE_CHARS)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return line(str(value), EVIDENCE_CHARS)


def sourced(service: Service, document: Document, form: str, places: Mapping[str, str]) -> Service:
    """The service with the provenance of its filled fields; `places` maps a field's name to its JSON Pointer."""
    origins = {
        name: Origin(document.url, pointer, form)
        for name, pointer in places.items()
        if getattr(service, name) != getattr(_BLANK, name)
    }
    return replace(service, provenance=origins)


# --- typed access ---------------------------------------------------------------------------------------------------


def text_of(holder: Json, key: str, chars: int = TEXT_CHARS) -> str | None:
    """The text at `key`, fit to show, on one line; None where it is missing, blank or no text."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return (line(value, chars) or None) if isinstance(value, str) else None


def word_of(holder: Json, key: str) -> str | None:
    """A short text: names, ids, versions."""
    return text_of(holder, key, NAME_CHARS)


def first_text(holder: Json, *keys: str, chars: int = TEXT_CHARS) -> str | None:
    """The first of several spellings that holds a text."""
    return next((found for key in keys if (found := text_of(holder, key, chars))), None)


def map_of(holder: Json, key: str) -> Object:
    """The object at `key`, empty where there is none."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def list_of(holder: Json, key: str) -> list[Json]:
    """The array at `key`, empty where there is none."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def flag_of(holder: Json, key: str) -> bool | None:
    """The boolean at `key`; None for anything else, so that "yes" and 1 are not read as true."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, bool) else None


def count_of(holder: Json, key: str) -> int | None:
    """The non-negative integer at `key`."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def texts_of(holder: Json, key: str, chars: int = NAME_CHARS, most: int = MAX_TEXTS) -> tuple[str, ...]:
    """The first `most` texts in the array at `key`, fit to show, distinct."""
    texts = (line(value, chars) for value in list_of(holder, key) if isinstance(value, str))
    return tuple(dict.fromkeys(text for text in islice(texts, most) if text))


def clean_json(value: Json, chars: int = TEXT_CHARS) -> Any:
    """A JSON value of the document with all its texts and keys fit to show: schemas, examples, results.

    The reader has bounded its depth.
    """
    if isinstance(value, str):
        return plain(value, chars)
    if isinstance(value, list):
        return [clean_json(item, chars) for item in value]
    if isinstance(value, dict):
        return {line(key, NAME_CHARS): clean_json(item, chars) for key, item in value.items()}
    return value


# --- texts that were never rendered ---------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(r"\{\{|\bYOUR_[A-Z][A-Z_]+\b")


def unrendered(value: Json) -> bool:
    """Whether a required text still holds a placeholder of a generator: `{{name}}`."""
    return isinstance(value, str) and "{{" in value


def unrendered_url(value: Json) -> bool:
    """Whether a URL does: `{{host}}`, `YOUR_FORM_ID`. A single pair of braces is a variable for the caller."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None


def has_template(holder: Object, texts: tuple[str, ...], pointer: str, notes: Notes, url: str = "") -> bool:
    """Whether one of these texts, or the address at `url`, was never rendered; noted, so that the part is dropped."""
    for key in (*texts, url):
        if unrendered(holder.get(key)) or (key == url and unrendered_url(holder.get(key))):
            notes.add(Reason.TEMPLATE, at(pointer, key), holder[key])
            return True
    return False


# --- ids ------------------------------------------------------------------------------------------------------------


def slug(text: str) -> str:
    """An id made from a name: lower case, words joined by underscores; "item" where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")[:ID_CHARS] or "item"


def unique_name(name: str, taken: set[str], separator: str = "-", chars: int | None = None) -> str:
    """`name`, or `name-2`, `name-3` ... when it is taken; the answer is added to `taken`.

    `chars`: how much of the name stays before a number, where ids are bounded.
    """
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name[:chars]}{separator}{number}"
    taken.add(unique)
    return unique


def members(items: list[Json], pointer: str, invalid: Reason, notes: Notes) -> Iterator[tuple[str, Object]]:
    """The objects among the first MAX_CAPABILITIES of an array, with their pointers; `invalid` for anything else."""
    if len(items) > MAX_CAPABILITIES:
        notes.add(Reason.TOO_MANY_CAPABILITIES, pointer, len(items))
    for index, item in enumerate(items[:MAX_CAPABILITIES]):
        if isinstance(item, dict):
            yield at(pointer, index), item
        else:
            notes.add(invalid, at(pointer, index), item)


def capped(capabilities: Iterable[Capability], pointer: str, notes: Notes) -> tuple[Capability, ...]:
    """The first MAX_CAPABILITIES, for formats in which one entry makes several."""
    found = tuple(islice(capabilities, MAX_CAPABILITIES + 1))
    if len(found) > MAX_CAPABILITIES:
        notes.add(Reason.TOO_MANY_CAPABILITIES, pointer, f"more than {MAX_CAPABILITIES}")
    return found[:MAX_CAPABILITIES]


def is_repeated(key: str, seen: set[str], pointer: str, notes: Notes) -> bool:
    """Whether `key` came before in this document (the first one counts); otherwise it is added to `seen`."""
    if key in seen:
        notes.add(Reason.DUPLICATE_ID, pointer, key)
        return True
    seen.add(key)
    return False
