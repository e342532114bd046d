"""Findings as a SARIF 2.1.0 log (OASIS), so that code hosts and editors show them at their lines.

Rules are rows of the rubric. Messages contain text from documents, which a viewer could interpret as placeholders or
links, so it is escaped (sections 3.11.5 and 3.11.6) and made printable.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from registry.core.model.findings import Rule, Severity
from registry.core.scoring.report import ReportedFinding
from registry.core.scoring.rubric import RUBRIC, VERSION

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE: Final = "%SRCROOT%"
"""Base of relative URIs: the folder that holds the documents. The consumer of the log resolves it."""

FINGERPRINT: Final = "ruleAndPlace/v1"

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_RFC: Final = re.compile(r"^RFC (\d+)(?: section (\d+(?:\.\d+)*))?")


@dataclass(frozen=True, slots=True)
class SarifResult:
    """A finding and its document. `artifact`: the location as SARIF writes it. `evidence`: ready to show. `is_file`:
    the document is a file; viewers require a line for these, even for a finding without a position."""

    reported: ReportedFinding
    artifact: Mapping[str, str]
    evidence: str
    is_file: bool


def sarif_log(
    results: Sequence[SarifResult], version: str, *, unread: Iterable[str] = (), public_url: str | None = None
) -> dict[str, Any]:
    """Return one log with one run, JSON-ready. `version`: of this program. `unread`: why targets could not be read.
    `public_url`: an API that serves the rubric."""
    broken_rules = {result.reported.rule for result in results}
    rules = [rule for rule in RUBRIC.values() if rule in broken_rules]
    index, seen = {rule: number for number, rule in enumerate(rules)}, Counter[str]()
    notices = [{"level": "error", "message": {"text": literal(message)}} for message in unread]
    run = {
        "tool": {
            "driver": {
                "name": "waypost",
                "semanticVersion": version,
                **({"informationUri": public_url} if public_url else {}),
                "rules": [_rule(rule, public_url) for rule in rules],
                "properties": {"rubricVersion": VERSION},
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not notices, "toolExecutionNotifications": notices}],  # section 3.20.14
        "results": [_result(result, index[result.reported.rule], seen) for result in results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule, public_url: str | None) -> dict[str, Any]:
    help_uri = f"{public_url.rstrip('/')}/api/rubric" if public_url else None
    if (citation := _RFC.match(rule.spec)) is not None:
        help_uri = f"https://www.rfc-editor.org/rfc/rfc{citation[1]}"
        help_uri += f"#section-{citation[2]}" if citation[2] else ""
    return {
        "id": rule.code,
        "shortDescription": {"text": literal(rule.says)},
        "help": {"text": literal(f"{rule.fix} ({rule.spec})")},
        **({"helpUri": help_uri} if help_uri else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.code.partition(".")[0], rule.section.value], "points": rule.points},
    }


def _result(result: SarifResult, rule_index: int, seen: Counter[str]) -> dict[str, Any]:
    """Return a result. Its fingerprint survives moved lines: a hash of rule, file, pointer and, for duplicates, a
    counter."""
    reported = result.reported
    finding, rule = reported.finding, reported.rule
    physical: dict[str, Any] = {"artifactLocation": dict(result.artifact)}
    position = reported.position
    if position is not None or result.is_file:
        start = (position.line, position.column) if position else (1, 1)
        physical["region"] = {"startLine": start[0], "startColumn": start[1]}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
    identity = "\0".join((rule.code, result.artifact["uri"], finding.pointer))
    digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "replace")).hexdigest()
    seen[identity] += 1
    evidence = result.evidence
    return {
        "ruleId": rule.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[rule.severity],
        "message": {"text": literal(f"{rule.says}{f' ({evidence})' if evidence else ''} {rule.fix}")},
        "locations": [location],
        "properties": {"points": reported.points, "count": finding.count, "evidence": evidence, "spec": rule.spec},
        "partialFingerprints": {FINGERPRINT: digest},
    }


def literal(text: str) -> str:
    """Return text that a viewer shows literally: braces are doubled (placeholders), `](` is split (links), and every
    character that shows nothing, `str.isprintable`, is an escape such as `\\x1b`."""
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
