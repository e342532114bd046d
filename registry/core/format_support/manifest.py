"""Helpers that every format needs: typed access that never raises, pointers, clean texts, ids.

A format reads a document once. Its reader leaves out an invalid part and adds the finding to `Notes` at the same
point, so that the service and the findings cannot disagree.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from registry.core.format_support import common_rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import EVIDENCE_CHARS, Finding, Rule, Severity
from registry.core.model.services import Capability, Origin, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line, plain

NAME_CHARS = 200
TEXT_CHARS = 4_000
ID_CHARS = 120
MAX_CAPABILITIES = 2_000
MAX_TEXTS = 100  # tags, scopes, examples, steps of one list
NATIVE_CHARS = 20_000  # most characters of members without a field in the model that are kept of one part
FINDINGS_PER_REASON = 5
FINDINGS_PER_DOCUMENT = 100

NO_WRONG_TYPES: Mapping[str, str] = MappingProxyType({})

Object = dict[str, Json]

_BLANK = Service()


# --- findings -------------------------------------------------------------------------------------------------------


class Notes:
    """Collects findings, at most FINDINGS_PER_REASON per rule; the last kept one then counts itself and the rest.

    `wrong_types`: what each place of a wrong type holds, by JSON Pointer. Such a place is never reported as missing.
    """

    def __init__(self, wrong_types: Mapping[str, str] = NO_WRONG_TYPES) -> None:
        self._wrong_types = wrong_types
        self._wrong_members: dict[str, list[str]] = defaultdict(list)
        for place in wrong_types:
            self._wrong_members[place.rpartition("/")[0]].append(place)
        self._typed: dict[str, Rule] = {}
        self.places: set[str] = set()  # of all findings, kept or not
        self.losses: set[str] = set()  # of the findings that say why something was left out
        self.left_out: set[str] = set()  # places with a finding that covers every entry below them
        self.read_places: set[str] = set()  # of what the service holds without its origin
        self._findings: dict[Rule, list[Finding]] = defaultdict(list)
        self._counts: dict[Rule, int] = defaultdict(int)
        self._refused: list[tuple[str, str]] = []

    def add(self, rule: Rule, pointer: str = "", evidence: object = "") -> None:
        """Add a finding. `evidence` is the offending value, of any type; it is shortened to a text."""
        self.places.add(pointer)
        if rule.is_about_loss:
            self.losses.add(pointer)
        if self._wrong_types and rule.is_about_absence and (place := self._find_wrong_type(pointer, rule)) is not None:
            if rule.severity is Severity.ERROR or place not in self._typed:
                is_required = rule.severity is Severity.ERROR
                self._typed[place] = common_rules.REQUIRED_TYPE if is_required else common_rules.WRONG_TYPE
            return
        if rule is common_rules.TOO_MANY_CAPABILITIES or (not pointer and rule.severity is Severity.ERROR):
            self.left_out.add(pointer)
        self._counts[rule] += 1
        if isinstance(evidence, str) and (rule is common_rules.ENDPOINT_NOT_PUBLIC or rule.severity is Severity.ERROR):
            self._refused.append((pointer, evidence))
        if len(self._findings[rule]) < FINDINGS_PER_REASON:
            self._findings[rule].append(Finding(rule, pointer, evidence_text(evidence)))

    def mark_read(self, pointer: str) -> None:
        """Note that the entry at `pointer` is in the service, where the model keeps no origin (`account.py`)."""
        self.read_places.add(pointer)

    def _find_wrong_type(self, pointer: str, rule: Rule) -> str | None:
        """Return the place of a wrong type that a finding at `pointer` is about: it, or a member of the part there that
        the rule names. Findings at the root are about the whole document."""
        if pointer in self._wrong_types or not pointer:
            return pointer or None
        says, places = rule.says.casefold(), self._wrong_members.get(pointer, ())
        return next((place for place in places if place.rpartition("/")[2].casefold() in says), None)

    def add_wrong_types(self, entries: Collection[str]) -> None:
        """Add a finding for each place of a wrong type without one. An entry of a wrong type counts only where a rule
        would have called it incomplete, because readers accept some; `entries` are the JSON Pointers of all entries."""
        for place, evidence in self._wrong_types.items():
            rule = self._typed.get(place)
            if rule is not None or not (place in entries or place in self.places):
                self.add(rule or common_rules.WRONG_TYPE, place, evidence)

    def refuses(self, pointer: str, value: str) -> bool:
        """Return whether a finding already says why this value, or an object around it, is left out."""
        return any(value in evidence and f"{pointer}/".startswith(f"{place}/") for place, evidence in self._refused)

    def withdraw(self, rule: Rule, places: Collection[str]) -> None:
        """Remove the findings of a rule at members of the objects at these JSON Pointers. Findings beyond
        FINDINGS_PER_REASON have no place; they are removed with the last other one."""
        kept = [one for one in self._findings[rule] if one.pointer.rpartition("/")[0] not in places]
        self._counts[rule] -= len(self._findings[rule]) - len(kept)
        self._findings[rule] = kept

    def findings(self) -> tuple[Finding, ...]:
        """Return at most FINDINGS_PER_DOCUMENT findings, grouped by rule in the order of first occurrence."""
        found: list[Finding] = []
        for rule, kept in self._findings.items():
            found += kept
            omitted = self._counts[rule] - len(kept)
            if omitted > 0 and kept:
                evidence = f"and {omitted + 1} more of {self._counts[rule]}"
                found[-1] = replace(kept[-1], evidence=evidence, count=omitted + 1)
        return tuple(found[:FINDINGS_PER_DOCUMENT])


def evidence_text(value: object) -> str:
    """Return any value as short evidence: a text itself, a scalar as in JSON, "object" or "array" for containers."""
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "array"
    is_word = value is None or isinstance(value, bool)
    return line(json.dumps(value) if is_word else str(value), EVIDENCE_CHARS)


def own_members(*names: str) -> dict[str, str]:
    """Return the fields that are read from top-level members of the same name, for `with_provenance`."""
    return {name: f"/{name}" for name in names}


def with_provenance(service: Service, document: Document, format_slug: str, pointers: Mapping[str, str]) -> Service:
    """Return the service with the provenance of its filled fields; `pointers` maps field names to JSON Pointers."""
    origins = {
        name: Origin(document.url, pointer, format_slug)
        for name, pointer in pointers.items()
        if getattr(service, name) != getattr(_BLANK, name)
    }
    return replace(service, provenance=origins)


# --- typed access ---------------------------------------------------------------------------------------------------


def text_of(holder: Json, key: str, chars: int = TEXT_CHARS) -> str | None:
    """Return the text at `key`, cleaned, on one line; None where it is missing, blank or not a text."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return (line(value, chars) or None) if isinstance(value, str) else None


def short_text_of(holder: Json, key: str) -> str | None:
    """Return a short text such as a name, an id or a version: `text_of` with at most NAME_CHARS characters."""
    return text_of(holder, key, NAME_CHARS)


def first_text(holder: Json, *keys: str, chars: int = TEXT_CHARS) -> str | None:
    """Return the text at the first of `keys` that has one, for members with several spellings."""
    if isinstance(holder, dict):
        for key in keys:  # most documents have none of them: a call for each would cost more than all that is read
            if key in holder and (text := text_of(holder, key, chars)):
                return text
    return None


def map_of(holder: Json, key: str) -> Object:
    """Return the object at `key`, or an empty one."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def list_of(holder: Json, key: str) -> list[Json]:
    """Return the array at `key`, or an empty one."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def flag_of(holder: Json, key: str) -> bool | None:
    """Return the boolean at `key`; None for anything else, so that "yes" and 1 are not read as true."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, bool) else None


def first_flag(holder: Json, *keys: str) -> bool | None:
    """Return the boolean at the first of `keys` that has one, for members with several spellings."""
    return next((value for key in keys if (value := flag_of(holder, key)) is not None), None)


def count_of(holder: Json, key: str) -> int | None:
    """Return the non-negative integer at `key`, else None."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def texts_of(holder: Json, key: str, chars: int = NAME_CHARS, most: int = MAX_TEXTS) -> tuple[str, ...]:
    """Return the first `most` texts in the array at `key`, cleaned, without blanks and repetitions."""
    texts = (line(value, chars) for value in list_of(holder, key) if isinstance(value, str))
    return tuple(dict.fromkeys(text for text in islice(texts, most) if text))


def clean_json(value: Json, chars: int = TEXT_CHARS) -> Any:
    """Return a JSON value of the document (a schema, an example, a result) with all its texts and keys cleaned. The
    recursion is bounded, because the JSON reader limits the depth."""
    if isinstance(value, str):
        return plain(value, chars)
    if isinstance(value, list):
        return [clean_json(item, chars) for item in value]
    if isinstance(value, dict):
        return {line(key, NAME_CHARS): clean_json(item, chars) for key, item in value.items()}
    return value


def other_members(holder: Json, read: Collection[str], chars: int = NATIVE_CHARS) -> dict[str, Any]:
    """Return clean copies of the members of `holder` that no field of the model expresses, in their order. `read` are
    the keys that the reader expresses in full. Empty values are left out, and so is a member that would take the copies
    beyond `chars` characters of JSON."""
    kept: dict[str, Any] = {}
    for key, value in holder.items() if isinstance(holder, dict) else ():
        if key in read or value is None or value in ("", [], {}):
            continue
        size = len(key) + len(json.dumps(value, ensure_ascii=False))
        if size <= chars:
            chars -= size
            kept[line(key, NAME_CHARS)] = clean_json(value)
    return kept


def native(slug: str, holder: Json, read: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return `other_members` in the shape of the model: below the format's slug, or nothing."""
    members = other_members(holder, read)
    return {slug: members} if members else {}


# --- unrendered templates -------------------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(r"\{\{|(?<![A-Za-z0-9])YOUR_[A-Z][A-Z_]+\b|[<\[]\s*(?i:your)\b[^<>\[\]]*[>\]]")
_URL_CHARS = 4_096  # twice what is accepted as a URL
_CREDENTIAL = re.compile(r"[<\[]?\bYOUR[A-Z_ -]{0,40}?(?:KEY|TOKEN|SECRET|PASSWORD)\b[>\]]?", re.IGNORECASE)


def has_placeholder(value: Json) -> bool:
    """Return whether a text still contains a generator's placeholder such as `{{name}}`."""
    return isinstance(value, str) and "{{" in value


def unrendered_url(value: Json) -> bool:
    """Return whether a URL still contains a placeholder such as `{{host}}`, `<your-host>` or `YOUR_FORM_ID`. A single
    pair of braces is a variable for the caller, and so is the place of the caller's credential in a query."""
    if not isinstance(value, str):
        return False
    path, mark, query = value[:_URL_CHARS].partition("?")
    return _PLACEHOLDER.search(path + mark + _CREDENTIAL.sub("", query)) is not None


def has_template(holder: Object, texts: tuple[str, ...], pointer: str, notes: Notes, url: str = "") -> bool:
    """Return whether one of `texts`, or the address at the key `url`, is an unrendered template, and note the first.
    The caller drops such a part."""
    for key in (*texts, url):
        if has_placeholder(holder.get(key)) or (key == url and unrendered_url(holder.get(key))):
            notes.add(common_rules.TEMPLATE, at(pointer, key), holder[key])
            return True
    return False


def required_text(body: Object, key: str, rule: Rule, notes: Notes, chars: int = TEXT_CHARS) -> str | None:
    """Return the text of a top-level member; None, with a finding, for a missing text or an unrendered template."""
    text = text_of(body, key, chars)
    if text is None:
        notes.add(rule, at("", key), body.get(key, ""))
    return None if text is None or has_template(body, (key,), "", notes) else text


# --- ids ------------------------------------------------------------------------------------------------------------


def slug(text: str) -> str:
    """Return an id made from a name: lower case, words joined by underscores; "item" if no character remains."""
    return re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")[:ID_CHARS] or "item"


def unique_name(name: str, used_names: set[str], separator: str = "-", chars: int | None = None) -> str:
    """Return `name`, or `name-2`, `name-3` ... when it is taken, and add the result to `used_names`. `chars` limits the
    part of the name before the number, where ids have a maximum length."""
    unique, number = name, 1
    while unique in used_names:
        number += 1
        unique = f"{name[:chars]}{separator}{number}"
    used_names.add(unique)
    return unique


def members(items: list[Json], pointer: str, invalid: Rule, notes: Notes) -> Iterator[tuple[str, Object]]:
    """Yield pointer and object for the objects among the first MAX_CAPABILITIES items; note `invalid` for others."""
    if len(items) > MAX_CAPABILITIES:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, pointer, len(items))
    for index, item in enumerate(items[:MAX_CAPABILITIES]):
        if isinstance(item, dict):
            yield at(pointer, index), item
        else:
            notes.add(invalid, at(pointer, index), item)


def parts_of(
    holder: Object, key: str, pointer: str, notes: Notes, marks: Collection[str] = ()
) -> Iterator[tuple[str, str | None, Json]]:
    """Yield (pointer, name, value) of the first MAX_CAPABILITIES items of the list at `key`, whose names are None.
    Another type breaks WRONG_TYPE at `pointer`: a map is read by its names, a text or an object with one of `marks` as
    the only part."""
    value = holder.get(key)
    if isinstance(value, list):
        if len(value) > MAX_CAPABILITIES:
            notes.add(common_rules.TOO_MANY_CAPABILITIES, pointer, len(value))
        yield from ((at(pointer, index), None, item) for index, item in enumerate(value[:MAX_CAPABILITIES]))
    elif value is not None:
        notes.add(common_rules.WRONG_TYPE, pointer, f"{evidence_text(value)} instead of a list")
        if isinstance(value, str) or (isinstance(value, dict) and not value.keys().isdisjoint(marks)):
            yield pointer, None, value
        elif isinstance(value, dict):
            named = islice(value.items(), MAX_CAPABILITIES)
            yield from ((at(pointer, name), line(name, ID_CHARS), item) for name, item in named)


def cap_capabilities(capabilities: Iterable[Capability], pointer: str, notes: Notes) -> tuple[Capability, ...]:
    """Return the first MAX_CAPABILITIES, for formats in which one entry yields several capabilities."""
    found = tuple(islice(capabilities, MAX_CAPABILITIES + 1))
    if len(found) > MAX_CAPABILITIES:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, pointer, f"more than {MAX_CAPABILITIES}")
    return found[:MAX_CAPABILITIES]


def is_repeated(key: str, seen: set[str], pointer: str, notes: Notes) -> bool:
    """Return whether `key` is in `seen`, with a finding (the first one counts); otherwise add it to `seen`."""
    if key in seen:
        notes.add(common_rules.DUPLICATE_ID, pointer, key)
        return True
    seen.add(key)
    return False
