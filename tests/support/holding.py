"""Documents of a host as merge takes them, made from what a site would serve."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.merging.merge import HeldDocument, MergeResult
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Rule

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def held(host: str, path: str, body: Any, via: Via | None = None, media_type: str = "application/json") -> HeldDocument:
    """Return the document for `body` (bytes, text or a JSON value), served at this path of the host."""
    raw = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    url = f"https://{host}{path}"
    assessment = assess_body(raw, url, media_type, via=via)
    return HeldDocument(url, url, assessment, hashlib.sha256(raw).digest(), NOW, via)


def missed(
    host: str, path: str, via: Via, outcome: Outcome = Outcome.ABSENT, reason: str = "status_404"
) -> HeldDocument:
    """Return a document that a pointer named and that the host did not serve."""
    url = f"https://{host}{path}"
    return HeldDocument(url, url, Assessment(outcome, reason), b"", NOW, via)


def findings_of(merged: MergeResult, rule: Rule) -> list[tuple[str | None, str, str]]:
    """Return (document, pointer, evidence) of every finding with this rule."""
    return [(n.document, n.finding.pointer, n.finding.evidence) for n in merged.findings if n.finding.rule is rule]
