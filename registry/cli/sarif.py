"""Checks as one SARIF 2.1.0 log (OASIS), so that code hosts and editors show findings where they are.

Rules are rows of the rubric. Texts of documents stand in messages, where a viewer could take them for more than text:
they are made literal (sections 3.11.5 and 3.11.6) and printable.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from registry.cli.checked import Checked, Unread, encodable, visible
from registry.core.findings import Reason, Severity
from registry.core.report import Told
from registry.core.scoring.rubric import RUBRIC, VERSION

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE: Final = "%SRCROOT%"
"""What relative addresses start from: the folder that the check ran in. Whoever reads the log knows where that is."""

FINGERPRINT: Final = "ruleAndPlace/v1"

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_RFC: Final = re.compile(r"^RFC (\d+)(?: section (\d+(?:\.\d+)*))?")


def sarif_log(checked: Sequence[Checked | Unread], *, public_url: str | None = None) -> str:
    """One log with one run for all targets, as ASCII JSON. `public_url`: of an API that explains the rules, if any."""
    read = [one for one in checked if isinstance(one, Checked)]
    told = [(one, finding) for one in read for finding in one.report.everything]
    reasons = [reason for reason in RUBRIC if any(finding.finding.reason is reason for _, finding in told)]
    index = {reason: number for number, reason in enumerate(reasons)}
    unread = [one for one in checked if isinstance(one, Unread)]
    run = {
        "tool": {
            "driver": {
                "name": "waypost",
                "semanticVersion": version("waypost"),
                **({"informationUri": public_url} if public_url else {}),
                "rules": [_rule(reason, public_url) for reason in reasons],
                "properties": {"rubricVersion": VERSION},
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(unread)],
        "results": _with_fingerprints(_result(one, finding, index[finding.finding.reason]) for one, finding in told),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=True, separators=(",", ":"))


def _rule(reason: Reason, public_url: str | None) -> dict[str, Any]:
    rule = RUBRIC[reason]
    explained = _help_uri(rule.spec) or (f"{public_url.rstrip('/')}/api/rubric" if public_url else None)
    return {
        "id": reason.value,
        "shortDescription": {"text": literal(rule.says)},
        "help": {"text": literal(f"{rule.fix} ({rule.spec})")},
        **({"helpUri": explained} if explained else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [reason.value.partition(".")[0], rule.section.value], "points": rule.points},
    }


def _help_uri(spec: str) -> str | None:
    """Only RFCs have addresses that follow from how they are cited."""
    cited = _RFC.match(spec)
    if cited is None:
        return None
    return f"https://www.rfc-editor.org/rfc/rfc{cited[1]}" + (f"#section-{cited[2]}" if cited[2] else "")


def _invocation(unread: Iterable[Unread]) -> dict[str, Any]:
    """A run that could not read all it was given has not succeeded, whatever it found in the rest (section 3.20.14)."""
    notices = [
        {"level": "error", "message": {"text": literal(f"{encodable(one.target)}: {one.message}")}} for one in unread
    ]
    return {"executionSuccessful": not notices, "toolExecutionNotifications": notices}


def _result(one: Checked, told: Told, rule_index: int) -> dict[str, Any]:
    finding, rule = told.finding, told.rule
    physical: dict[str, Any] = {"artifactLocation": _artifact(one, told)}
    position = told.position
    if position is not None or one.is_file:
        # viewers want a line, even for what no line is to blame for
        start = (position.line, position.column) if position else (1, 1)
        physical["region"] = {"startLine": start[0], "startColumn": start[1]}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
    seen = f" ({finding.evidence})" if finding.evidence else ""
    return {
        "ruleId": finding.reason.value,
        "ruleIndex": rule_index,
        "level": _LEVELS[rule.severity],
        "message": {"text": literal(f"{rule.says}{seen} {rule.fix}")},
        "locations": [location],
        "properties": {"points": told.points, "count": finding.count, "evidence": finding.evidence, "spec": rule.spec},
    }


def _artifact(one: Checked, told: Told) -> dict[str, str]:
    """A file relative to the folder of the run where it lies below it; else where it is; a document by its URL."""
    if not one.is_file:
        return {"uri": told.document or one.documents[0].url}
    if one.target == "-":
        return {"uri": "stdin", "uriBaseId": BASE}
    path = Path(os.path.normpath(Path.cwd() / one.target))
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(os.fsencode(path.relative_to(Path.cwd()))), "uriBaseId": BASE}
    return {"uri": "file://" + quote(os.fsencode(path))}


def _with_fingerprints(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What stays the same when lines move: rule, file and pointer, and a number where those are not enough."""
    found, seen = [], Counter[str]()
    for result in results:
        location = result["locations"][0]
        pointer = location.get("logicalLocations", [{}])[0].get("fullyQualifiedName", "")
        same = "\0".join((result["ruleId"], location["physicalLocation"]["artifactLocation"]["uri"], pointer))
        digest = hashlib.sha256(f"{same}\0{seen[same]}".encode("utf-8", "replace")).hexdigest()
        seen[same] += 1
        found.append({**result, "partialFingerprints": {FINGERPRINT: digest}})
    return found


def literal(text: str) -> str:
    """Text that a viewer shows as it is: no placeholder (braces are doubled) and no link (brackets are parted)."""
    return visible(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
