"""Makes the results of `check_manifest`."""

from collections.abc import Iterator, Sequence

import orjson

from registry.mcp.budget import first_within, lines_within, short, size, split
from registry.mcp.rendering import LIST_BYTES, ROOM, Json, Result


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
    """Return what the last visit found at this URL, from `/api/services/{domain}`; None when it found nothing there."""
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
