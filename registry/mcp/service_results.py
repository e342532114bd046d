"""Makes the results of `get_service` and `compare_services`."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from registry.mcp.budget import first_within, lines_within, members_within, size, split
from registry.mcp.rendering import (
    NAME_BYTES,
    ROOM,
    WARNING,
    Json,
    Result,
    facts_of,
    marks,
    name_of,
    offered,
    quoted,
    summary,
    trust_of,
)

_SERVICE_UNTRUSTED: Final = (
    "name", "description", "protocols", "capabilities", "base_url", "auth", "pricing", "provider", "protocols_detail",
    "docs_url", "homepage", "version", "license", "repository", "tags", "policies", "claims", "packages", "examples",
    "documents.url", "score_lines.document", "owner_note",
)  # fmt: skip
_COMPARED_NAMES: Final = 12


def service(body: bytes, url: str, detail: str, start: int, max_bytes: int) -> Result:
    """Return the result for `/api/services/{domain}`; `start`: place of the first capability."""
    data: Json = orjson.loads(body)["data"]
    for_content, for_text = split(max_bytes)
    facts = _service_facts(data, url, 1_500 if detail == "full" else min(600, for_content // 6))
    facts["ownership"] = {name: data["ownership"][name] for name in ("state", "since", "checked_at")}
    budget = for_content - size(facts) - size(_SERVICE_UNTRUSTED) - ROOM
    more, omitted = dict[str, Any](), list[str]()
    if start == 0:
        more, omitted, left = members_within(_more(data, detail), budget // 2)
        budget -= budget // 2 - left
    capabilities = data["manifest"]["capabilities"]
    shown = first_within([offered(one, 160) for one in capabilities[start : start + 500]], budget - size(omitted))
    end = start + len(shown)
    has_more = end < len(capabilities) and bool(shown)
    content = {
        **facts,
        **more,
        "capabilities": shown,
        "next_cursor": str(end) if has_more else None,
        "truncated": end < len(capabilities) or bool(omitted),
        "omitted": omitted,
    }
    content["untrusted_text"] = marks(content, _SERVICE_UNTRUSTED)
    return Result(content, lines_within(_about(content), for_text))


def _service_facts(data: Json, url: str, description_bytes: int) -> Json:
    manifest = data["manifest"]
    row = {
        **data,
        "name": manifest["name"],
        "description": manifest["description"],
        "score": data["score"]["value"],
        "protocols": [protocol["id"] for protocol in data["protocols"] if "id" in protocol],
        "owned": data["ownership"]["state"] == "proven",
    }
    return {
        **summary(row, data["auth"]["type"], data["pricing"]["type"], description_bytes),
        "trust_means": data["trust"]["means"],
        **trust_of(data["trust"]),
        "seen_at": data["freshness"]["seen_at"],
        "capability_count": len(manifest["capabilities"]),
        "record_url": f"{url}/api/services/{data['domain']}",
    }


def _more(data: Json, detail: str) -> Iterator[tuple[str, Any]]:
    """Yield the owner's note, and what is shown in full detail, the most useful first; members about which nothing is
    known are left out."""
    if data["owner_note"]:
        yield "owner_note", data["owner_note"]
    if detail != "full":
        return
    yield "base_url", data["manifest"]["base_url"]
    yield "score_sections", data["score"]["sections"]
    for name in ("auth", "pricing", "provider"):
        if data[name]:
            yield name, data[name]
    if data["protocols"]:
        yield "protocols_detail", data["protocols"]
    for name in ("docs_url", "homepage", "version", "license", "repository"):
        if data[name]:
            yield name, data[name]
    yield "score_lines", [_lost(line) for line in data["score"]["lines"][:10]]
    documents = data["documents"][:20]
    yield "documents", [{key: one[key] for key in ("url", "format", "outcome", "seen_at")} for one in documents]
    for name in ("tags", "policies", "claims", "packages", "examples"):
        if data[name]:
            yield name, data[name]


def _lost(line: Json) -> Json:
    shown = {key: line[key] for key in ("reason", "points", "count", "says", "fix")}
    return shown if line["document"] is None else {**shown, "document": line["document"]}


def _about(content: Json) -> Iterator[str]:
    yield f"{content['domain']} {quoted(content['name'])}: {facts_of(content)}. {WARNING}"
    yield quoted(content["description"], 500)
    yield f"{content['trust_level']}: {content['trust_means']}"
    if (resembled := content["resembles"]) is not None:
        yield f"Uses the name {resembled['name']}, whose owner's site is {resembled['domain']}."
    if content["owned"]:
        yield f"Somebody has proven to own this host, since {content['ownership']['since']}."
    if content["canonical_host"]:
        yield f"Its owner lets {content['canonical_host']} stand for it."
    if "owner_note" in content:
        yield f"Its owner says: {quoted(content['owner_note'], 500)}"
    yield f"{content['capability_count']} capabilities; get_capability says how one is called:"
    for capability in content["capabilities"]:
        yield f"- {quoted(capability['name'], NAME_BYTES)}: {quoted(capability['description'], 100)}"
    if content["next_cursor"]:
        yield "There are more: ask again with `cursor`."


def side_by_side(body: bytes, url: str, max_bytes: int) -> Json:
    """Return one service as a column of a comparison, in at most this many bytes."""
    data: Json = orjson.loads(body)["data"]
    content = _service_facts(data, url, min(300, max_bytes // 6))
    content |= {"score_sections": data["score"]["sections"], "untrusted_text": _SERVICE_UNTRUSTED[:4]}
    names = [name_of(one["name"]) for one in data["manifest"]["capabilities"][:_COMPARED_NAMES]]
    content["capabilities"] = first_within(names, max_bytes - size(content) - ROOM)
    return content


def compared(columns: Sequence[Json], missing: Sequence[str], max_bytes: int) -> Result:
    shown_columns = first_within(columns, split(max_bytes)[0] - size(missing) - ROOM)
    content = {"services": shown_columns, "missing": list(missing), "truncated": len(shown_columns) < len(columns)}
    return Result(content, lines_within(_columns(content), split(max_bytes)[1]))


def _columns(content: Json) -> Iterator[str]:
    yield f"{len(content['services'])} services, in the order asked for. {WARNING}"
    for column in content["services"]:
        yield f"- {column['domain']} {quoted(column['name'])}: {facts_of(column)}, prices {column['pricing_type']}"
        yield f"  {column['capability_count']} capabilities. {column['trust_means']}"
    if content["missing"]:
        yield f"Not listed: {', '.join(content['missing'])}."
