"""Compare two sets of results, and group equal differences so that one cause is one line."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MISSING = "(absent)"
_SHOWN_CHARS = 160
_SHOWN_ITEMS = 3


@dataclass
class Difference:
    """A change that the results of `items` have in common, for example the same new value at the same place."""

    group: str  # "facts" or "texts"
    kind: str
    path: str  # place inside the result; list indexes are written as *
    before: str
    after: str
    items: list[str] = field(default_factory=list)


def differences(before: Mapping[str, Any], after: Mapping[str, Any], *, ignore_texts: bool = False) -> list[Difference]:
    """Return every difference between two results of build.py, in the order of the results.

    Results have the shape {"facts" | "texts": {kind: {item: JSON value}}}.
    """
    found: dict[tuple[str, ...], Difference] = {}
    for group in ("facts",) if ignore_texts else ("facts", "texts"):
        for kind in sorted(before[group].keys() | after[group].keys()):
            old, new = before[group].get(kind, {}), after[group].get(kind, {})
            for item in sorted(old.keys() | new.keys()):
                for path, old_value, new_value in _changes(old.get(item, MISSING), new.get(item, MISSING), ""):
                    key = (group, kind, path, _short(old_value), _short(new_value))
                    found.setdefault(key, Difference(*key)).items.append(item)
    return list(found.values())


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, value before, value after) for each deepest place at which two JSON values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _changes(before.get(key, MISSING), after.get(key, MISSING), f"{path}/{key}")
        if list(before) != list(after) and before.keys() == after.keys():
            yield f"{path} (order of keys)", list(before), list(after)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from _changes(old, new, f"{path}/*")
    elif before != after or type(before) is not type(after):
        yield path or "/", before, after


def summary(found: list[Difference], before: Mapping[str, Any], *, limit: int) -> str:
    """Return a readable report: how much was compared, then the differences by kind, most frequent first."""
    compared = {kind: len(items) for group in ("facts", "texts") for kind, items in before[group].items()}
    lines = ["compared: " + ", ".join(f"{count} {kind}" for kind, count in compared.items())]
    sections: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for difference in found:
        sections[difference.group, difference.kind].append(difference)
    for (group, kind), members in sections.items():
        items = {item for member in members for item in member.items}
        lines.append(f"\n{group}, {kind}: {len(items)} of {compared.get(kind, 0)} differ")
        members.sort(key=lambda member: -len(member.items))
        for difference in members[:limit]:
            more = f" and {len(difference.items) - _SHOWN_ITEMS} more" if len(difference.items) > _SHOWN_ITEMS else ""
            lines.append(f"  {difference.path} in {', '.join(difference.items[:_SHOWN_ITEMS])}{more}")
            lines.append(f"    before: {difference.before}")
            lines.append(f"    after:  {difference.after}")
        if len(members) > limit:
            lines.append(f"  ... and {len(members) - limit} other kinds of difference (--limit)")
    lines.append("" if found else "\nno differences")
    return "\n".join(lines).rstrip()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 30]} ... ({len(text)} characters)"
