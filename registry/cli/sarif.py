"""Write checks as one SARIF 2.1.0 log (OASIS), so that code hosts and editors show findings at their lines.

Rules are rows of the rubric. Messages contain text from documents, which a viewer could interpret as placeholders or
links, so it is escaped (sections 3.11.5 and 3.11.6) and made printable.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from registry.cli.check_result import Checked, Unread, encodable
from registry.cli.clean import json_text, visible
from registry.core.model.findings import Rule, Severity
from registry.core.scoring.report import ReportedFinding
from registry.core.scoring.rubric import RUBRIC, VERSION

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE: Final = "%SRCROOT%"
"""Base of relative URIs: the folder in which the check ran. The consumer of the log resolves it."""

FINGERPRINT: Final = "ruleAndPlace/v1"

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_RFC: Final = re.compile(r"^RFC (\d+)(?: section (\d+(?:\.\d+)*))?")


def sarif_log(checked: Sequence[Checked | Unread], *, public_url: str | None = None) -> str:
    """Return one log with one run for all targets, as ASCII JSON. `public_url`: an API that serves the rubric."""
    results = [result for result in checked if isinstance(result, Checked)]
    findings = [(result, finding) for result in results for finding in result.report.everything]
    broken_rules = {finding.rule for _, finding in findings}
    rules = [rule for rule in RUBRIC.values() if rule in broken_rules]
    index = {rule: number for number, rule in enumerate(rules)}
    unread = [target for target in checked if isinstance(target, Unread)]
    run = {
        "tool": {
            "driver": {
                "name": "waypost",
                "semanticVersion": version("waypost"),
                **({"informationUri": public_url} if public_url else {}),
                "rules": [_rule(rule, public_url) for rule in rules],
                "properties": {"rubricVersion": VERSION},
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(unread)],
        "results": _with_fingerprints(_result(result, finding, index[finding.rule]) for result, finding in findings),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log)


def _rule(rule: Rule, public_url: str | None) -> dict[str, Any]:
    help_uri = _help_uri(rule.spec) or (f"{public_url.rstrip('/')}/api/rubric" if public_url else None)
    return {
        "id": rule.code,
        "shortDescription": {"text": literal(rule.says)},
        "help": {"text": literal(f"{rule.fix} ({rule.spec})")},
        **({"helpUri": help_uri} if help_uri else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.code.partition(".")[0], rule.section.value], "points": rule.points},
    }


def _help_uri(spec: str) -> str | None:
    """Return the URL of a cited RFC section; None for other specifications."""
    citation = _RFC.match(spec)
    if citation is None:
        return None
    return f"https://www.rfc-editor.org/rfc/rfc{citation[1]}" + (f"#section-{citation[2]}" if citation[2] else "")


def _invocation(unread: Iterable[Unread]) -> dict[str, Any]:
    """Return the invocation; it is unsuccessful when any target could not be read (section 3.20.14)."""
    notices = [
        {"level": "error", "message": {"text": literal(f"{encodable(item.target)}: {item.message}")}} for item in unread
    ]
    return {"executionSuccessful": not notices, "toolExecutionNotifications": notices}


def _result(checked: Checked, reported: ReportedFinding, rule_index: int) -> dict[str, Any]:
    finding, rule = reported.finding, reported.rule
    physical: dict[str, Any] = {"artifactLocation": _artifact(checked, reported)}
    position = reported.position
    if position is not None or checked.is_file:
        # viewers require a line, even for a finding without a position
        start = (position.line, position.column) if position else (1, 1)
        physical["region"] = {"startLine": start[0], "startColumn": start[1]}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
    evidence = checked.without_placeholder(finding.evidence)
    return {
        "ruleId": rule.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[rule.severity],
        "message": {"text": literal(f"{rule.says}{f' ({evidence})' if evidence else ''} {rule.fix}")},
        "locations": [location],
        "properties": {
            "points": reported.points,
            "count": finding.count,
            "evidence": evidence,
            "spec": rule.spec,
        },
    }


def _artifact(checked: Checked, reported: ReportedFinding) -> dict[str, str]:
    """Return the location: a file's path relative to the current folder, or absolute outside it; a document's URL."""
    if not checked.is_file:
        return {"uri": reported.document or checked.documents[0].url}
    if checked.target == "-":
        return {"uri": "stdin", "uriBaseId": BASE}
    path = Path(os.path.normpath(Path.cwd() / checked.target))
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(os.fsencode(path.relative_to(Path.cwd()))), "uriBaseId": BASE}
    return {"uri": "file://" + quote(os.fsencode(path))}


def _with_fingerprints(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add fingerprints that survive moved lines: hashes of rule, file, pointer and, for duplicates, a counter."""
    completed, seen = [], Counter[str]()
    for result in results:
        location = result["locations"][0]
        pointer = location.get("logicalLocations", [{}])[0].get("fullyQualifiedName", "")
        identity = "\0".join((result["ruleId"], location["physicalLocation"]["artifactLocation"]["uri"], pointer))
        digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "replace")).hexdigest()
        seen[identity] += 1
        completed.append({**result, "partialFingerprints": {FINGERPRINT: digest}})
    return completed


def literal(text: str) -> str:
    """Return text that a viewer shows literally: braces are doubled (placeholders) and `](` is split (links)."""
    return visible(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
