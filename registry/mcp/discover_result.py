"""Makes the result of `discover_services`."""

from collections.abc import Iterator
from typing import Final

from registry.mcp.budget import first_within, lines_within, members_within, short, size, split
from registry.mcp.rendering import (
    LIST_BYTES,
    ROOM,
    WARNING,
    Json,
    Result,
    facts_of,
    marks,
    offered,
    quoted,
    summary,
    trust_of,
)

_ROW_UNTRUSTED: Final = (
    "name", "description", "protocols", "capabilities", "why.matched_terms", "base_url", "version",
)  # fmt: skip


def discovered(answer: Json, detail: str, max_bytes: int) -> tuple[Result, int]:
    """Return the result, and how many of the answer's rows are in it. Nothing is shown when nothing fits."""
    for_content, for_text = split(max_bytes)
    content: Json = {
        "confident": answer["confident"],
        "total": answer["total"] if answer["confident"] else 0,
        "services": [],
        "next_cursor": answer["next_cursor"] if answer["confident"] else None,
        "truncated": False,
        "corrected": answer["corrected"],
        "untrusted_text": ["corrected", "suggestions.spelling"],
    }
    if not answer["confident"]:
        if (suggestions := answer.get("suggestions")) is not None:
            content["suggestions"] = {
                "known_words": first_within(suggestions["known_words"], for_content // 4),
                "spelling": members_within(suggestions["spelling"].items(), for_content // 4)[0],
                "without_filters": suggestions["without_filters"],
            }
        return Result(content, lines_within(_nothing(content), for_text)), 0
    budget = for_content - size(content) - ROOM
    rows: list[Json] = []
    for row in answer["data"]:
        for shape in ("full", "low", "least") if detail == "full" else ("low", "least"):
            shown = _row(row, shape)
            if fits := size(shown) <= budget:
                budget -= size(shown)
                rows.append(shown)
                break
            if rows:
                break  # only the first row is made smaller: a page of less known rows would hide that there is more
        if not fits:
            break
    content["services"] = rows
    content["truncated"] = len(rows) < len(answer["data"])
    return Result(content, lines_within(_found(content), for_text)), len(rows)


def _row(row: Json, shape: str) -> Json:
    service, is_full = row["service"], shape == "full"
    shown: Json = {
        **summary(service, service["auth"]["type"], service["pricing"]["type"], 2_000 if is_full else 320),
        "relevance": row["relevance"],
        "confident": row["confident"],
        "capabilities": [],
        "capability_count": service["cap_count"],
    }
    if shape != "least":
        matching = row["matching_capabilities"]
        shown["capabilities"] = [offered(one, 400 if is_full else 200) for one in matching[: 8 if is_full else 3]]
    if is_full:
        why = row["why"]
        shown |= {
            **trust_of(service["trust"]),
            "why": {
                "matched_terms": first_within(row["matched_terms"], LIST_BYTES),
                "cover": why["cover"],
                "similarity": why["similarity"],
                "confidence": why["confidence"],
            },
            "base_url": short(service["base_url"], 500),
            "version": None if service["version"] is None else short(service["version"], 100),
            "category": service["category"],
            "seen_at": service["freshness"]["seen_at"],
            "alike_total": row["alike_total"],
        }
    return {**shown, "untrusted_text": marks(shown, _ROW_UNTRUSTED)}


def _nothing(content: Json) -> Iterator[str]:
    yield "No service answers this well, so none is shown."
    suggestions = content.get("suggestions", {})
    if known := suggestions.get("known_words"):
        yield f"Words that some service has: {', '.join(map(quoted, known))}."
    for word, similar in suggestions.get("spelling", {}).items():
        yield f"Not known: {quoted(word)}; similar words: {', '.join(map(quoted, similar))}."
    if filters := suggestions.get("without_filters"):
        yield f"There are answers without these filters: {', '.join(filters)}."


def _found(content: Json) -> Iterator[str]:
    rows = content["services"]
    yield f"{len(rows)} of {content['total']} services that answer, the best first. {WARNING}"
    for number, row in enumerate(rows, 1):
        unsure = "" if row["confident"] else ", not a confident answer"
        yield f"{number}. {row['domain']} {quoted(row['name'])}: {facts_of(row)}{unsure}"
        yield f"   {quoted(row['description'], 200)}"
        for capability in row["capabilities"]:
            yield f"   - {quoted(capability['name'])}: {quoted(capability['description'], 100)}"
    if content["next_cursor"]:
        yield "There are more: ask again with `cursor`."
