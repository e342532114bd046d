"""What an event of the change feed says, in words: the parts that changed, with short values before and after.

Labels are this registry's; names and values are texts of sites.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from registry.core.reading.json_pointer import keys_of
from registry.core.reading.plain_text import line
from registry.core.scoring.rubric import rule_of

MAX_ITEMS: Final = 40
MAX_NAMES: Final = 12
VALUE_CHARS: Final = 200

_FIELDS: Final[Mapping[str, str]] = {
    "auth": "credentials", "auth_type": "kind of credentials", "base_url": "base URL", "docs_url": "documentation",
    "homepage": "home page", "icon_url": "icon", "injection_flags": "suspicious texts", "license": "licence",
    "pricing": "price", "pricing_type": "kind of price", "relations": "workflows and relations",
    "repository": "source code", "rubric_version": "version of the rubric", "trust_level": "level of trust",
    "trust_reasons": "reasons for the level of trust", "well_known_url": "first document",
    "native": "what only its own format can say",
    # of a capability
    "confirmation": "whether a person has to agree", "detail": "detail document", "detail_url": "detail document",
    "invocations": "how it is called", "params": "parameters", "result": "result", "result_note": "result",
    "side_effects": "side effects",
}  # fmt: skip
"""Field -> its label, where the name of the field is not a word."""

_MINOR: Final = frozenset({"auth_type", "pricing_type", "trust_reasons"})
"""Fields that change together with another one, which says more."""
_BESIDE: Final[Mapping[str, str]] = {"auth_type": "auth", "pricing_type": "pricing", "trust_reasons": "trust_level"}

_VERBS: Final = ("added", "removed")


class ChangedPart(NamedTuple):
    """One part of an event. `label`: what changed, in words of this registry. `names`: the capabilities concerned, at
    most MAX_NAMES, `more` further ones. `parts`: labels of the parts of these capabilities that changed. `before` and
    `after`: short values, None where there was none; both None where one is long or not a single value."""

    label: str
    names: tuple[str, ...] = ()
    more: int = 0
    parts: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None


def label_of(name: str) -> str:
    """Return a field of a service or a capability in words."""
    return _FIELDS.get(name, name.replace("_", " "))


def changed_parts(payload: Mapping[str, Any]) -> list[ChangedPart]:
    """Return the parts of an event's payload (`kinds.payload_of`), at most MAX_ITEMS: the score, then capabilities,
    then all else."""
    operations = [one for one in payload.get("difference") or () if isinstance(one, Mapping)]
    fields = [str(name) for name in payload.get("changed") or () if name != "capabilities"]
    by_field: dict[str, list[Mapping[str, Any]]] = {}
    for one in operations:
        by_field.setdefault("".join(_path(one)[:1]), []).append(one)
    parts: list[ChangedPart] = []
    if "score" in fields:
        parts.append(_field("score", by_field))
    capabilities = payload.get("capabilities") or {}
    parts += _capabilities(capabilities, operations, is_new="changed" not in payload)
    shown = set(fields)
    parts += [
        _field(name, by_field) for name in fields if name != "score" and not (name in _MINOR and _BESIDE[name] in shown)
    ]
    return parts[:MAX_ITEMS]


def _field(name: str, by_field: Mapping[str, Sequence[Mapping[str, Any]]]) -> ChangedPart:
    operations = by_field.get(name, ())
    if len(operations) != 1:
        return ChangedPart(label_of(name))
    old, new = operations[0].get("old"), operations[0].get("value")
    before, after = _value(old), _value(new)
    if (old is not None and before is None) or (new is not None and after is None):
        return ChangedPart(label_of(name))  # one side alone would look like an addition or a removal
    return ChangedPart(label_of(name), before=before, after=after)


def _capabilities(
    named: Mapping[str, Any], operations: Sequence[Mapping[str, Any]], *, is_new: bool
) -> Iterator[ChangedPart]:
    for verb in _VERBS:
        if names := _names(named.get(verb)):
            label = _capability(len(names)) if is_new else f"{_capability(len(names))} {verb}"
            yield ChangedPart(label, names[:MAX_NAMES], max(0, len(names) - MAX_NAMES))
    changed = _names(named.get("changed"))
    fields: dict[str, dict[str, None]] = {}
    for operation in operations:
        path = _path(operation)
        if len(path) > 2 and path[0] == "capabilities":
            fields.setdefault(path[1], {})[label_of(path[2])] = None
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in changed:
        alike.setdefault(tuple(fields.get(name, ())), []).append(name)
    for parts, those in alike.items():
        label = f"{_capability(len(those))} changed"
        yield ChangedPart(label, tuple(those[:MAX_NAMES]), max(0, len(those) - MAX_NAMES), parts[:MAX_NAMES])


def _capability(count: int) -> str:
    return "capability" if count == 1 else "capabilities"


def _names(entries: Any) -> tuple[str, ...]:
    return tuple(str(one.get("name", "")) for one in entries or () if isinstance(one, Mapping))


def _path(operation: Mapping[str, Any]) -> list[str]:
    return keys_of(str(operation.get("path", "")))


def _value(value: Any) -> str | None:
    """Return a single value as a short text; None for objects, lists and long texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    return line(value, VALUE_CHARS) if isinstance(value, str) and len(value) <= VALUE_CHARS else None


class ReasonChange(NamedTuple):
    """A reason for lost points that a score has, and the score before it had not, or the reverse. `before`, `after`:
    how often it was found. `points`: what this changed in the score, before rounding and limits."""

    reason: str
    says: str
    before: int
    after: int
    points: float


def changed_reasons(
    before: Mapping[str, Sequence[float]] | None, after: Mapping[str, Sequence[float]]
) -> list[ReasonChange]:
    """Return the reasons that differ between two scores, the largest effect first. Both: reason -> how often it was
    found, and the points that it costs."""
    if before is None:
        return []
    found = []
    for reason in {**before, **after}:
        (old, cost), (new, now) = before.get(reason, (0, 0.0)), after.get(reason, (0, 0.0))
        if (old, cost) != (new, now):
            rule = rule_of(reason)
            says = rule.says if rule is not None else reason
            found.append(ReasonChange(reason, says, int(old), int(new), round(float(cost) - float(now), 2)))
    return sorted(found, key=lambda one: (-abs(one.points), one.reason))
