"""Documents of a host as merge takes them, made from what a site would serve."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Outcome, Via
from registry.core.findings import Reason
from registry.core.merge import Held, Merged

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def held(host: str, path: str, body: Any, via: Via | None = None, media_type: str = "application/json") -> Held:
    """`body`: bytes, text or a JSON value, served at the path of the host."""
    raw = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    url = f"https://{host}{path}"
    judged = assess_body(raw, url, media_type, via=via)
    return Held(url, url, judged, hashlib.sha256(raw).digest(), NOW, via)


def missed(host: str, path: str, via: Via, outcome: Outcome = Outcome.ABSENT, reason: str = "status_404") -> Held:
    """What a pointer named and the host did not serve."""
    url = f"https://{host}{path}"
    return Held(url, url, Assessment(outcome, reason), b"", NOW, via)


def noted(merged: Merged, reason: Reason) -> list[tuple[str | None, str, str]]:
    """(document, pointer, evidence) of every finding with this reason."""
    return [(n.document, n.finding.pointer, n.finding.evidence) for n in merged.findings if n.finding.reason is reason]
