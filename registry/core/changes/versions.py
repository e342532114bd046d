"""Versions of a service: the JSON object of one version, its fingerprint, and the difference between two.

The object has the members of the common model (docs/architecture.md), the facts that this registry adds (score, trust,
state ...), and `capabilities` by name. Dates and positions in documents are left out, so sorting a document again
changes nothing. Fingerprints are SHA-256 over canonical JSON (RFC 8785, JCS), so that every reader can compute them.
Differences are operations with JSON Pointers, bounded in number and size.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import rfc8785

_EXACT: Final = 2**53 - 1  # the greatest integer that RFC 8785 writes exactly (I-JSON, RFC 7493 section 2.2)

# What orjson might write otherwise than RFC 8785: fractions and exponents, integers beyond _EXACT, and the order of
# keys, by UTF-16 instead of UTF-8, which differ only beyond the basic plane. A match inside a text costs time only.
_MAY_DIFFER: Final = re.compile(rb"(?:^|[:,\[])-?(?:[0-9]+[.eE]|[0-9]{16})|[\xf0-\xf4]")


def fingerprint(value: Any) -> str:
    """Return the fingerprint of a JSON value as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: Any) -> bytes:
    """Return a JSON value as RFC 8785 writes it. An integer beyond 2^53 - 1 is first rounded, as a reader of JavaScript
    does (RFC 8785 section 3.2.2.3); one beyond all floating-point numbers, and a lone surrogate, become a text."""
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        return rfc8785.dumps(value) if _MAY_DIFFER.search(encoded) else encoded
    except (TypeError, ValueError):  # orjson: integers beyond 64 bits, surrogates; rfc8785: integers beyond _EXACT
        return rfc8785.dumps(_representable(value))


def _representable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_representable(key): _representable(item) for key, item in value.items()}
        case list() | tuple():
            return [_representable(item) for item in value]
        case int() if abs(value) > _EXACT:
            try:
                return float(value)
            except OverflowError:
                return hex(value)
    return value


MAX_OPERATIONS: Final = 200
MAX_VALUE_BYTES: Final = 16_384
"""Bytes of all old and new values of a difference together, as JSON."""

MAX_POINTER_CHARS: Final = 500

Operation = dict[str, Any]


@dataclass(slots=True)
class Difference:
    """`operations` as of RFC 6902 (`op` add, remove or replace, `path`, `value`), with the value before as `old`.
    Applied in order to the one object they make the other, unless `truncated`: then some are missing, or some have
    neither `value` nor `old`."""

    operations: list[Operation] = field(default_factory=list)
    truncated: bool = False


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Return what makes `after` of `before`."""
    result, left = Difference(), MAX_VALUE_BYTES
    for operation in _list_operations(before, after, ""):
        if len(result.operations) == MAX_OPERATIONS:
            result.truncated = True
            break
        size = sum(_size(operation[name]) for name in ("value", "old") if name in operation)
        if size > left:
            result.truncated = True
            operation = {"op": operation["op"], "path": operation["path"]}
        else:
            left -= size
        result.operations.append(operation)
    return result


def _list_operations(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        shared = before.keys() & after.keys()
        changed = [key for key in {**before, **after} if key not in shared or before[key] != after[key]]
        pointers = {key: f"{path}/{key.replace('~', '~0').replace('/', '~1')}" for key in changed}
        if all(len(pointer) <= MAX_POINTER_CHARS for pointer in pointers.values()):
            for key, pointer in pointers.items():
                if key not in after:
                    yield {"op": "remove", "path": pointer, "old": before[key]}
                elif key not in before:
                    yield {"op": "add", "path": pointer, "value": after[key]}
                else:
                    yield from _list_operations(before[key], after[key], pointer)
            return
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        common = min(len(before), len(after))
        for index in range(common):
            if before[index] != after[index]:
                yield from _list_operations(before[index], after[index], f"{path}/{index}")
        for index in range(common, len(after)):
            yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}
        for index in reversed(range(common, len(before))):
            yield {"op": "remove", "path": f"{path}/{index}", "old": before[index]}
        return
    if before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after, "old": before}


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits or a lone surrogate, which no database stores: leave the value out
        return MAX_VALUE_BYTES + 1


MAX_NAMED: Final = 100  # capabilities that one change names; a change of more is `truncated`
_PLACES: Final = frozenset({"origin", "provenance"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
    """`fields`: all but the capabilities. `capabilities`: by name, unique within the service. `known`: fingerprints of
    capabilities that are computed already, by name."""

    fields: Json
    capabilities: Mapping[str, Json]
    known: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: Mapping[str, Any],
        capabilities: Mapping[str, Mapping[str, Any]],
        facts: Json,
        known: Mapping[str, str] | None = None,
    ) -> "Version":
        """Return the version of a service. `model`, `capabilities`: as stored. `facts`: members that it does not have
        itself; they win over its own."""
        named = {name: _capability(data) for name, data in capabilities.items()}
        return cls({**_drop_places(model), **facts}, named, known or {})

    def fingerprint_of(self, name: str) -> str:
        """Return the fingerprint of a capability."""
        return self.known.get(name) or fingerprint(self.capabilities[name])

    def fingerprint(self, known: Mapping[str, str]) -> str:
        """Return the fingerprint of the object in which each capability is replaced by its own fingerprint. `known`:
        fingerprints of capabilities that are computed already."""
        capabilities = {name: known.get(name) or fingerprint(data) for name, data in self.capabilities.items()}
        return fingerprint({**self.fields, "capabilities": capabilities})


def capability_fingerprint(data: Mapping[str, Any]) -> str:
    """Return the fingerprint of a capability as stored, which events of the change feed name too: 64 digits."""
    return fingerprint(_capability(data))


def listed(after: Version) -> Json:
    """Return the payload of the event that a service is now listed."""
    prints = {name: after.fingerprint_of(name) for name in after.capabilities}
    added = [{"name": name, "fingerprint": prints[name]} for name in [*prints][:MAX_NAMED]]
    return {
        "fingerprint": {"before": None, "after": after.fingerprint(prints)},
        "capabilities": {"added": added, "removed": [], "changed": []},
        "truncated": len(prints) > MAX_NAMED,
    }


def changed(before: Version, after: Version) -> Json | None:
    """Return the payload of the event that a service changed, or None if it did not. `changed`: the members that
    differ. Only `capabilities`, or only `score`, means that all else is equal."""
    old, new = before.capabilities, after.capabilities
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    fields = [name for name in {**before.fields, **after.fields} if before.fields.get(name) != after.fields.get(name)]
    if not names and not fields:
        return None
    prints: Json = {name: after.fingerprint_of(name) for name in new}
    differing = set(names)
    old_prints = {name: prints[name] for name in old if name not in differing}
    old_prints |= {name: fingerprint(old[name]) for name in names if name in old}
    told = difference(
        {**before.fields, "capabilities": {name: old[name] for name in names if name in old}},
        {**after.fields, "capabilities": {name: new[name] for name in names if name in new}},
    )
    shown = names[:MAX_NAMED]
    return {
        "fingerprint": {"before": before.fingerprint(old_prints), "after": after.fingerprint(prints)},
        "changed": sorted([*fields, "capabilities"] if names else fields),
        "capabilities": {
            "added": [{"name": name, "fingerprint": prints[name]} for name in shown if name not in old],
            "removed": [{"name": name, "fingerprint": old_prints[name]} for name in shown if name not in new],
            "changed": [
                {"name": name, "before": old_prints[name], "after": prints[name]}
                for name in shown if name in old and name in new
            ],
        },
        "difference": told.operations,
        "truncated": told.truncated or len(names) > MAX_NAMED,
    }  # fmt: skip


def _capability(data: Mapping[str, Any]) -> Json:
    capability = _drop_places(data)
    if "invocations" in capability:
        capability["invocations"] = [_drop_places(invocation) for invocation in capability["invocations"]]
    return capability


def _drop_places(value: Mapping[str, Any]) -> Json:
    """Return a part of the model without the members that say where a value stands."""
    return {key: item for key, item in value.items() if key not in _PLACES}
