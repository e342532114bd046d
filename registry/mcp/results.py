"""The results of all tools: what an answer of the API becomes, and what of it is shown within a number of bytes.

A result has structured content, described by the tool's output schema, and a text with its most needed part, because
some hosts show a model only the text. Texts of sites stand in quotation marks there, on one line each. What does not
fit is left out whole: a cut text would still be a text, but a cut schema or call would be wrong.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from registry.core.model.listing import IdentityState
from registry.mcp.call_text import (
    call_lines,
    call_summary,
    confirmation_line,
    credential_lines,
    effects_line,
    exact,
    missing_lines,
    missing_of,
    parameter_lines,
    slim_call,
    takes_line,
)
from registry.mcp.within import (
    LIST_BYTES,
    NAME_BYTES,
    ROOM,
    WARNING,
    first_within,
    fitting,
    lines_within,
    members_within,
    name_of,
    one_line,
    quoted,
    short,
    size,
    split,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """`content` is valid under the tool's output schema."""

    content: Json
    text: str


def summary(service: Json, auth_type: str, pricing_type: str, description_bytes: int) -> Json:
    return {
        "domain": service["domain"],
        "name": short(service["name"], 120),
        "description": short(service["description"], description_bytes),
        "score": service["score"],
        "identity": service["trust"]["identity"],
        "doubt": service["trust"]["doubt"],
        "trust_level": service["trust_level"],
        "owned": service["owned"],
        "canonical_host": service["canonical_host"],
        "auth_type": auth_type,
        "pricing_type": pricing_type,
        "formats": service["formats"],
        "protocols": first_within([short(one, 64) for one in service["protocols"]], LIST_BYTES),
        "stale": service["freshness"]["stale"],
        "freshness": service["freshness"]["state"],
        "injection_flags": first_within(service["injection_flags"], LIST_BYTES),
    }


def offered(capability: Json, description_bytes: int) -> Json:
    shown: Json = {
        "name": name_of(capability["name"]),
        "description": short(capability["description"], description_bytes),
    }
    if title := capability.get("title"):
        shown["title"] = short(title, 120)
    if "side_effects" in capability:
        shown["side_effects"] = capability["side_effects"]
    if flags := capability.get("injection_flags"):
        shown["injection_flags"] = first_within(flags, LIST_BYTES)
    return {**shown, **dated(capability)}


def dated(capability: Json) -> Json:
    """Return the fingerprint and the dates of a capability; rows of `/api/discover` have none."""
    return {name: capability[name] for name in ("fingerprint", "first_seen_at", "changed_at") if name in capability}


def trust_of(trust: Json) -> Json:
    """Return why the identity is not better known, and since when."""
    return {
        "trust_since": trust["since"],
        "trust_reasons": trust["reasons"],
        "trust_reasons_since": trust["reasons_since"],
        "resembles": trust["resembles"],
    }


def marks(content: Json, paths: Iterable[str]) -> list[str]:
    """Return the paths of texts of sites that begin with a member of the content."""
    return [path for path in paths if path.partition(".")[0] in content]


def facts_of(row: Json) -> str:
    facts = [f"score {row['score']}", row["identity"]]
    facts += ["owner proven"] if row["owned"] and row["identity"] != IdentityState.OWNER_PROVEN else []
    facts += [f"credentials {row['auth_type']}"]
    facts += [f"protocols {', '.join(map(quoted, row['protocols']))}"] if row["protocols"] else []
    facts += ["not seen for long"] if row["stale"] else []
    facts += ["patterns of prompt injection found"] if row["injection_flags"] else []
    return ", ".join(facts)


_CAPABILITY_UNTRUSTED: Final = (
    "id", "name", "title", "description", "confirmation.message", "call", "auth", "input_schema", "output_schema",
    "rate_limit", "pricing", "invocations", "record_url",
)  # fmt: skip
_CALL_ORDER: Final = (
    "kind", "example", "curl", "curl_omitted", "open", "credentials", "arguments", "missing", "derived",
)  # fmt: skip


_FULL_RECORD: Final = ("output_schema", "invocations")


def capability(body: bytes, host: str, url: str, detail: str, max_bytes: int) -> Result:
    """Return the result for `/api/services/{domain}/capabilities/{name}`. Low detail says nothing twice."""
    record: Json = orjson.loads(body)
    if detail != "full" and (call := record.get("call")):
        record["call"] = slim_call(call)
        record = _without(record, _FULL_RECORD)
    for_content, for_text = max_bytes // 2, max_bytes // 2
    content: Json = {
        "found": True,
        "domain": host,
        "name": name_of(record["name"]),
        "description": short(record.get("description"), min(1_500, for_content // 6)),
        **{name: record[name] for name in ("identity", "doubt") if record.get(name) is not None},
        "side_effects": record.get("side_effects"),
        "injection_flags": first_within(record.get("injection_flags", []), LIST_BYTES),
        **dated(record),
        "record_url": url,
    }
    if (identifier := record.get("id")) and identifier != record["name"]:
        content["id"] = short(identifier, NAME_BYTES)
    if title := record.get("title"):
        content["title"] = short(title, 200)
    budget = for_content - size(content) - size(_CAPABILITY_UNTRUSTED) - ROOM
    omitted: list[str] = []
    if call := record.get("call"):
        names = [name for name in _CALL_ORDER if name in call] + [name for name in call if name not in _CALL_ORDER]
        content["call"], left_out, left = members_within(((name, call[name]) for name in names), budget * 3 // 4)
        omitted += [f"call.{name}" for name in left_out]
        budget -= budget * 3 // 4 - left
    else:
        content["not_callable"] = missing_of(record)["message"]
    rest = ("confirmation", "auth", "input_schema", "output_schema", "rate_limit", "pricing", "invocations")
    members = ((name, record[name]) for name in rest if record.get(name) not in (None, [], {}))
    more, left_out, _ = members_within(members, budget - size(rest))
    omitted += left_out
    text, is_whole = _how(record, content, for_text)
    content |= {**more, "truncated": bool(omitted) or not is_whole, "omitted": omitted}
    content["untrusted_text"] = marks(content, _CAPABILITY_UNTRUSTED)
    return Result(content, text)


def _without(members: Json, names: Iterable[str]) -> Json:
    return {name: value for name, value in members.items() if name not in names}


def _how(record: Json, content: Json, budget: int) -> tuple[str, bool]:
    """Return the text, and whether all of it fits. What is needed first comes first, optional parameters last."""
    lines = [f"capability: {exact(content['name'])} of {content['domain']}. {WARNING}"]
    lines += [f"warning: identity in doubt. {record['doubt']}"] if record.get("doubt") else []
    lines += [f"about: {quoted(content['description'], 500)}"] if content["description"] else []
    if content["injection_flags"]:
        lines.append(f"warning: patterns of prompt injection found: {', '.join(content['injection_flags'])}")
    lines += [effects_line(record), *filter(None, [confirmation_line(record)])]
    if call := record.get("call"):
        lines += [*call_lines(call), *credential_lines(call, record.get("auth"))]
    else:
        lines += missing_lines(missing_of(record))
    if content.get("changed_at"):
        lines.append(f"unchanged since: {content['changed_at']}")
    lines += parameter_lines(record)
    record_line = f"record: {content['record_url']}"
    kept, left_out = fitting(lines, budget - len(record_line.encode()) - ROOM)
    if left_out:
        counts = Counter(said.partition(":")[0] for said in left_out)
        counted = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
        kept.append(f"left out: {counted}; raise max_bytes, or read the record")
    return "\n".join([*kept, record_line]), not left_out


def candidates(found: Iterable[tuple[str, Json]], max_bytes: int) -> Result:
    """Return the services that have a capability of this name, when there are several."""
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


def checked(body: bytes, max_bytes: int) -> Result:
    """Return the result for `/api/validate`, or for its problem `unreadable-body`."""
    report: Json = orjson.loads(body)
    if "status" in report:
        fault = report["errors"][0]
        finding = {
            "severity": "error", "reason": report["reason"], "says": fault["message"], "fix": "", "pointer": "",
            "line": fault["line"], "column": fault["column"], "count": 1,
        }  # fmt: skip
        facts: Json = {"valid": False, "format": None, "outcome": "unreadable", "score": None}
        return _check_result("text", facts, [finding], [], max_bytes, readable=False)
    facts = {key: report[key] for key in ("valid", "format", "outcome", "score")}
    return _check_result("text", facts, report["findings"], report["injection_flags"], max_bytes)


def seen(body: bytes, document_url: str, max_bytes: int) -> Result | None:
    """Return the result of the last visit to this URL, from `/api/services/{domain}`; None: nothing was found."""
    data: Json = orjson.loads(body)["data"]
    document = next((one for one in data["documents"] if one["url"] == document_url), None)
    if document is None:
        return None
    findings = [line for line in data["score"]["lines"] if line["document"] == document_url]
    facts = {
        "valid": None, "format": document["format"], "outcome": document["outcome"], "score": None,
        "seen_at": document["seen_at"],
    }  # fmt: skip
    return _check_result("stored", facts, findings, data["injection_flags"], max_bytes)


def _check_result(
    kind: str, facts: Json, findings: Sequence[Json], flags: Sequence[str], max_bytes: int, *, readable: bool = True
) -> Result:
    for_content, for_text = split(max_bytes)
    shown = [_finding(finding) for finding in findings]
    content: Json = {
        "checked": kind,
        "readable": readable,
        **facts,
        "findings": shown,
        "finding_count": len(findings),
        "injection_flags": first_within(flags, LIST_BYTES),
        "truncated": False,
        "untrusted_text": ["findings.pointer", "findings.evidence"],
    }
    if size(content) > for_content:
        worst_first = sorted(shown, key=lambda finding: ("error", "warning", "info").index(finding["severity"]))
        room = for_content - size({**content, "findings": []}) - ROOM
        content |= {"findings": first_within(worst_first, room), "truncated": True}
    return Result(content, lines_within(_verdict(content), for_text))


def _finding(finding: Json) -> Json:
    shown = {key: finding[key] for key in ("severity", "reason", "says", "fix", "count")}
    shown["pointer"] = short(finding["pointer"], 300)
    if "line" in finding:
        shown |= {"line": finding["line"], "column": finding["column"]}
    if evidence := finding.get("evidence"):
        shown["evidence"] = short(evidence, 160)
    return shown


def _verdict(content: Json) -> Iterator[str]:
    form = content["format"] or "no known format"
    if content["checked"] == "stored":
        yield f"At the last visit ({content['seen_at']}): {form}, {content['outcome']}."
    elif not content["readable"]:
        yield "The document cannot be read."
    else:
        score = "" if content["score"] is None else f", score {content['score']} of 100"
        yield f"{'Valid' if content['valid'] else 'Not valid'}: {form}{score}."
    for finding in content["findings"]:
        place = f"line {finding['line']}: " if finding.get("line") else ""
        yield f"- {finding['severity']}: {place}{finding['says']} {finding['fix']}".rstrip()
    if content["truncated"]:
        yield f"{len(content['findings'])} of {content['finding_count']} findings are shown."


_BRIEF_UNTRUSTED: Final = (
    "services.name", "services.description", "services.why", "services.capability", "services.also",
)  # fmt: skip
_FULL_UNTRUSTED: Final = (
    "services.protocols", "services.capabilities", "services.match.matched_terms",
    "services.base_url", "services.version",
)  # fmt: skip
_MAX_NEAREST: Final = 3
_MAX_CALL_BYTES: Final = 2_500
"""Larger calls are for get_capability."""


def discovered(answer: Json, detail: str, max_bytes: int) -> tuple[Result, int]:
    """Return the result for `/api/discover`, and how many rows of the answer it contains. Low detail is for
    `view=brief`. The text has the same rows: some hosts show a model only the text."""
    text_bytes = max_bytes // 3
    suggestions = answer.get("suggestions")
    content: Json = {
        "confident": answer["confident"],
        "nearest": not answer["confident"] and bool(answer["data"]),
        "services": [],
        "next_cursor": None,
        "truncated": False,
        "corrected": answer["corrected"],
        "untrusted_text": ["corrected", "suggestions.spelling", *_BRIEF_UNTRUSTED],
    }
    if detail == "full":
        content["untrusted_text"] += _FULL_UNTRUSTED
    if "total" in answer:
        content["total"] = answer["total"] if answer["confident"] else 0
    if suggestions is not None:
        content["suggestions"] = {
            "known_words": first_within(suggestions["known_words"], LIST_BYTES),
            "spelling": members_within(suggestions["spelling"].items(), 2 * LIST_BYTES)[0],
            "without_filters": suggestions["without_filters"],
        }
    head, tail = _head(content), [*_hints(content)]
    room = max_bytes - text_bytes - size(content) - ROOM
    text_room = text_bytes - sum(map(_line_size, (head, *tail))) - len(answer["next_cursor"] or "") - ROOM
    rows, lines = list[Json](), list[str]()
    answered = answer["data"] if answer["confident"] else answer["data"][:_MAX_NEAREST]
    ready = next((row for row in answered if _has_ready_call(_brief(row))), None)
    for number, row in enumerate(answered, 1):
        for shape in _shapes(detail, is_first=not rows, is_ready=row is ready):
            shown = _row(row, shape, with_call=row is ready and shape in ("full", "ready"))
            said = [*map(one_line, _row_lines(number, shown, content["nearest"]))]
            cost, text_cost = size(shown), sum(map(_line_size, said))
            if fits := cost <= room and text_cost <= text_room:
                break
        if not fits:
            break
        room, text_room = room - cost, text_room - text_cost
        rows.append(shown)
        lines += said
    content |= {"services": rows, "truncated": len(rows) < len(answered)}
    return Result(content, "\n".join([head, *lines, *tail])), len(rows)


_EMPTY: Final = (
    "This registry lists no service yet. submit_service has a host visited; whoever runs the registry fills it with "
    "`waypost crawl` or `waypost seed`."
)


def of_empty_registry(answer: Json) -> Result:
    content = {
        "confident": False, "nearest": False, "services": [], "next_cursor": None, "truncated": False,
        "corrected": answer["corrected"], "untrusted_text": ["corrected"],
    }  # fmt: skip
    return Result(content, _EMPTY)


def _shapes(detail: str, *, is_first: bool, is_ready: bool) -> tuple[str, ...]:
    """Return the shapes of a row to try, the largest first. Only the first row gives up its description: where others
    do not fit, the cursor leads to them."""
    largest = ("full",) if detail == "full" else ()
    if largest and not is_first:
        return largest
    return (*largest, *(("ready",) if is_ready else ()), "brief", *(("least",) if is_first else ()))


def _line_size(said: str) -> int:
    return len(said.encode()) + 1


def with_cursor(result: Result, cursor: str | None) -> Result:
    """Return a result whose content and text continue with this cursor."""
    said = f"\ncursor: {cursor}" if cursor else ""
    return Result({**result.content, "next_cursor": cursor}, result.text + said)


def _brief(row: Json) -> Json:
    """Return a row as `view=brief` has it. The default view has the same facts under other names."""
    if "service" not in row:
        return row
    service, first = row["service"], next(iter(row["matching_capabilities"]), None)
    words = ", ".join(row["matched_terms"])
    return {
        "domain": service["domain"],
        "name": service["name"],
        "why": f"Matches: {words}." if words else "Nearest in meaning; no word of the query matches.",
        "trust": service["trust_level"],
        "identity": service["trust"]["identity"],
        "doubt": service["trust"]["doubt"],
        "confident": row["confident"],
        "capability": first,
        "also": [one["name"] for one in row["matching_capabilities"][1:3]],
        "injection_flags": service["injection_flags"],
    }


def _has_ready_call(row: Json) -> bool:
    capability = row["capability"] or {}
    call = capability.get("call")
    return bool(row["confident"] and capability.get("confident") and call) and size(call) <= 2 * _MAX_CALL_BYTES


def _row(row: Json, shape: str, *, with_call: bool) -> Json:
    brief = _brief(row)
    shown: Json = {
        "domain": brief["domain"],
        "name": short(brief["name"], 120),
        "why": short(brief["why"], 160),
        "trust": brief["trust"],
        "identity": brief["identity"],
        "confident": brief["confident"],
        "capability": brief["capability"] and _matching(brief["capability"], shape, with_call=with_call),
    }
    if doubt := brief.get("doubt"):
        shown["doubt"] = doubt
    if flags := brief.get("injection_flags"):
        shown["injection_flags"] = first_within(flags, LIST_BYTES)
    if description := brief.get("description"):
        shown["description"] = short(description, 160)
    if shape != "least" and brief["also"]:
        shown["also"] = first_within([name_of(name) for name in brief["also"]], LIST_BYTES)
    if shape != "full":
        return shown
    service, why = row["service"], row["why"]
    shown |= {
        **_without(summary(service, service["auth"]["type"], service["pricing"]["type"], 2_000), ("domain", "name")),
        "relevance": row["relevance"],
        "capabilities": [offered(one, 400) for one in row["matching_capabilities"][:8]],
        "capability_count": service["cap_count"],
        **trust_of(service["trust"]),
        "match": {
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
    return shown


_CAPABILITY_BRIEF: Final = ("callable", "not_callable", "kind", "method", "side_effects", "confident")


def _matching(capability: Json, shape: str, *, with_call: bool) -> Json:
    """Return the capability of a row: what to call, or where its record is. Unknown members are left out."""
    shown: Json = {"name": name_of(capability["name"])}
    if shape != "least":
        shown["description"] = short(capability["description"], 160)
    if flags := capability.get("injection_flags"):
        shown["injection_flags"] = first_within(flags, LIST_BYTES)
    shown |= {name: capability[name] for name in _CAPABILITY_BRIEF if capability.get(name) is not None}
    if address := capability.get("address"):
        shown["address"] = short(address, 500)
    shown["record_url"] = capability["record_url"]
    if with_call:
        shown["call"] = slim_call(capability["call"])
    return shown


def _head(content: Json) -> str:
    if content["confident"]:
        return f"Services that answer, best first. {WARNING}"
    if content["nearest"]:
        return f"No service answers this well. These are only the nearest. {WARNING}"
    return "No service answers this."


def _hints(content: Json) -> Iterator[str]:
    if corrected := content["corrected"]:
        yield f"corrected: {', '.join(f'{quoted(word)} to {quoted(other)}' for word, other in corrected.items())}"
    suggestions = content.get("suggestions", {})
    if known := suggestions.get("known_words"):
        yield f"known words: {', '.join(map(quoted, known))}"
    for word, similar in suggestions.get("spelling", {}).items():
        yield f"unknown word: {quoted(word)}; similar ones: {', '.join(map(quoted, similar))}"
    if filters := suggestions.get("without_filters"):
        yield f"instead: there are answers without these filters: {', '.join(filters)}"
    elif not content["confident"]:
        yield "instead: ask again in other words, for the thing and what to do with it"
    if content["confident"]:
        yield "next: get_capability, with a host and a capability of these, shows its call and each parameter"


def _row_lines(number: int, row: Json, is_nearest: bool) -> Iterator[str]:
    confident = "confident" if row["confident"] else "nearest" if is_nearest else "not confident"
    yield f"{number}. {row['domain']} {quoted(row['name'])}: {confident}, {row['identity']}. {quoted(row['why'], 160)}"
    if doubt := row.get("doubt"):
        yield f"   warning: identity in doubt. {doubt}"
    if flags := {*row.get("injection_flags", ()), *(row["capability"] or {}).get("injection_flags", ())}:
        yield f"   warning: patterns of prompt injection found: {', '.join(sorted(flags))}"
    if (capability := row["capability"]) is None:
        about = f"; the service: {quoted(row['description'], 160)}" if row.get("description") else ""
        yield f"   capability: none matches{about}; get_service lists all of them"
        return
    fits = "confident" if capability.get("confident", True) and row["confident"] else "not confident"
    about = f": {quoted(capability['description'], 160)}" if capability.get("description") else ""
    yield f"   capability: {exact(capability['name'])}, {fits}{about}"
    if "call" in capability:
        yield f"   {effects_line(capability)}"
        call = capability["call"]
        lines = (*call_lines(call), *takes_line(call), *credential_lines(call, None))
        yield from (f"   {line}" for line in lines)
    else:
        yield f"   {call_summary(capability)}"
    yield f"   record: {capability['record_url']}"
    if also := row.get("also"):
        yield f"   also: {', '.join(map(exact, also))}"


def status(ready: Json, health: Json, url: str) -> Result:
    """Return the result for `/readyz` (or its problem) and `/api/health`."""
    data = health["data"]
    content = {
        "url": url,
        "ready": ready["status"] == "ok",
        "parts": {name: str(state) for name, state in ready.get("parts", {}).items()},
        "services": {
            "listed": data["total_monitored"],
            "healthy": data["healthy"],
            "degraded": data["degraded"],
            "down": data["down"],
        },
    }
    counts = content["services"]
    states = f"{counts['healthy']} healthy, {counts['degraded']} degraded, {counts['down']} down"
    able = "can answer" if content["ready"] else "cannot answer at the moment"
    said = f"The registry at {url} {able}. It lists {counts['listed']} services: {states}."
    return Result(content, said if counts["listed"] else f"The registry at {url} {able}. {_EMPTY}")


_NOT_LISTED: Final = "not-listed"
_KNOWN: Final = "already-registered"
SUBMISSION_PROBLEMS: Final = frozenset({_NOT_LISTED, _KNOWN})


def submitted(answer: Mapping[str, Any], slug: str | None) -> Result:
    """Return the result for a submission, or for one of SUBMISSION_PROBLEMS."""
    data = answer if slug else answer["data"]
    state = {_NOT_LISTED: "not_listed", _KNOWN: "known"}.get(slug or "", data.get("status", "listed"))
    message = data["detail"] if slug else data["message"]
    if step := data.get("next_step"):
        message = f"{message} {step['says']}"
    reasons = data.get("errors", []) if slug == _NOT_LISTED else []
    content = {
        "domain": data["domain"],
        "state": state,
        "message": message,
        "status_url": data["status_url"],
        "reasons": first_within([short(reason, 500) for reason in reasons], 4_000),
        "untrusted_text": ["reasons"],
    }
    lines = [f"{content['domain']}: {message}", *(f"- {quoted(reason, 300)}" for reason in content["reasons"])]
    return Result(content, lines_within(lines, 4_000))


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
    """Yield the owner's note, then the members of full detail that have a value, most useful first."""
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
    shown = ("reason", "points", "count", "says", "fix", "document")
    lines = data["score"]["lines"][:10]
    yield "score_lines", [{key: one[key] for key in shown if one[key] is not None} for one in lines]
    documents = data["documents"][:20]
    yield "documents", [{key: one[key] for key in ("url", "format", "outcome", "seen_at")} for one in documents]
    for name in ("tags", "policies", "claims", "packages", "examples"):
        if data[name]:
            yield name, data[name]


def _about(content: Json) -> Iterator[str]:
    yield f"{content['domain']} {quoted(content['name'])}: {facts_of(content)}. {WARNING}"
    yield quoted(content["description"], 500)
    yield f"{content['identity']}: {content['trust_means']}"
    if content["doubt"] is not None:
        yield f"Warning: {content['doubt']}"
    if content["owned"]:
        yield f"Ownership of this host is proven, since {content['ownership']['since']}."
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
        means = column["doubt"] or column["trust_means"]
        yield f"  {column['capability_count']} capabilities. {means}"
    if content["missing"]:
        yield f"Not listed: {', '.join(content['missing'])}."
