"""Makes the results of `get_capability`."""

from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from registry.core.reading.plain_text import unbroken
from registry.mcp.budget import first_within, lines_within, members_within, short, size, split
from registry.mcp.rendering import LIST_BYTES, NAME_BYTES, ROOM, WARNING, Json, Result, dated, marks, name_of, quoted

_CAPABILITY_UNTRUSTED: Final = (
    "id", "name", "title", "description", "confirmation.message", "call", "auth", "input_schema", "output_schema",
    "rate_limit", "pricing", "invocations", "record_url",
)  # fmt: skip
_CALL_ORDER: Final = (
    "kind",
    "example",
    "curl",
    "curl_omitted",
    "open",
    "credentials",
    "arguments",
    "missing",
    "derived",
)


def capability(body: bytes, host: str, url: str, max_bytes: int) -> Result:
    """Return the result for `/api/services/{domain}/capabilities/{name}`, or for its problem `no-detail`."""
    record: Json = orjson.loads(body)
    for_content, for_text = split(max_bytes)
    is_problem = "status" in record and str(record.get("type", "")).endswith("/no-detail")
    content: Json = {
        "found": True,
        "domain": host,
        "name": name_of(record["name"]),
        "description": short(record.get("description"), min(1_500, for_content // 6)),
        "side_effects": record.get("side_effects"),
        "injection_flags": first_within(record.get("injection_flags", []), LIST_BYTES),
        **dated(record),
        "record_url": url,
    }
    if (identifier := record.get("id")) and identifier != record["name"]:
        content["id"] = short(identifier, NAME_BYTES)
    if (title := record.get("title")) and not is_problem:
        content["title"] = short(title, 200)
    budget = for_content - size(content) - size(_CAPABILITY_UNTRUSTED) - ROOM
    omitted: list[str] = []
    if call := record.get("call"):
        names = [name for name in _CALL_ORDER if name in call] + [name for name in call if name not in _CALL_ORDER]
        content["call"], left_out, left = members_within(((name, call[name]) for name in names), budget * 3 // 4)
        omitted += [f"call.{name}" for name in left_out]
        budget -= budget * 3 // 4 - left
    elif is_problem:
        content["not_callable"] = record["detail"]
    rest = ("confirmation", "auth", "input_schema", "output_schema", "rate_limit", "pricing", "invocations")
    members = ((name, record[name]) for name in rest if record.get(name) not in (None, [], {}))
    more, left_out, _ = members_within(members, budget - size(rest))
    omitted += left_out
    content |= {**more, "truncated": bool(omitted), "omitted": omitted}
    content["untrusted_text"] = marks(content, _CAPABILITY_UNTRUSTED)
    return Result(content, lines_within(_how(content), for_text))


def _how(content: Json) -> Iterator[str]:
    effects = {True: "has side effects", False: "has none", None: "the documents do not say"}[content["side_effects"]]
    yield f"{quoted(content['name'], NAME_BYTES)} of {content['domain']}. Side effects: {effects}. {WARNING}"
    yield quoted(content["description"], 500)
    if content.get("changed_at"):
        yield f"Unchanged since {content['changed_at']}."
    if content.get("confirmation", {}).get("required"):
        yield "A person must agree before it is called."
    call = content.get("call", {})
    if call:
        yield f"How it is called ({call.get('kind', 'unknown')}), YOUR_ values are yours to fill in:"
    if "curl" in call:
        yield str(call["curl"])
    elif "example" in call:
        yield unbroken(orjson.dumps(call["example"])).decode()
    elif "open" in call:
        yield quoted(call["open"], 2_000)
    if "not_callable" in content:
        yield str(content["not_callable"])
    if content["omitted"]:
        yield f"Left out: {', '.join(content['omitted'])}; all of it is at {content['record_url']}"


def candidates(found: Iterable[tuple[str, Json]], max_bytes: int) -> Result:
    """Return the services that have a capability of the name asked for, when there are several."""
    rows = [
        {"domain": host, "name": name_of(one["name"]), "description": short(one["description"], 200)}
        for host, one in found
    ]
    for_content, for_text = split(max_bytes)
    shown = first_within(rows, for_content - size(_CAPABILITY_UNTRUSTED) - ROOM)
    content = {
        "found": False,
        "candidates": shown,
        "truncated": len(shown) < len(rows),
        "omitted": [],
        "untrusted_text": ["candidates.name", "candidates.description"],
    }
    lines = [f"{len(rows)} services have a capability of this name; ask again with `domain`. {WARNING}"]
    lines += [f"- {row['domain']}: {quoted(row['description'], 100)}" for row in shown]
    return Result(content, lines_within(lines, for_text))
