"""What this registry saw of a host: current documents, their history, and its availability by day."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample

_DOCUMENT = "https://api.pigeonpost.example/.well-known/agent"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

_ID = "63cf0063410ad408f5ef1b318640b266cd8a2ea6a5b7ea398ac61cc6d503b744"
DocumentId = Annotated[str, about("SHA-256 of the URL, in hexadecimal.", _ID, pattern="^[0-9a-f]{64}$")]
Sha256 = Annotated[str, about("SHA-256 of the body, in hexadecimal.", _SHA256, pattern="^[0-9a-f]{64}$")]
_Url = Annotated[str, sample(_DOCUMENT)]
_Outcome = Annotated[str, sample("found")]
_Format = Annotated[str | None, sample("adp")]


class Tls(Shape):
    verified: Annotated[
        Literal[True],
        about(
            "The certificate was valid for the name and issued by a trusted authority; no document is taken otherwise."
        ),
    ]
    minimum_version: Annotated[str, about("Older versions are refused. Which one was used is not known.", "1.2")]


class DocumentEvidence(Shape):
    id: DocumentId
    url: _Url
    final_url: Annotated[str, about("After redirects.", _DOCUMENT)]
    redirects: Annotated[Sequence[str] | None, about("URLs that redirected, in order; null: not recorded.", [])]
    purpose: Annotated[str, about("Why it is requested.", "manifest")]
    outcome: _Outcome
    reason: Annotated[str, about("Of the outcome, as a code.", "")]
    format: _Format
    dialect: Annotated[str | None, sample("1.0")]
    status: Annotated[int | None, about("HTTP status.", 200)]
    media_type: Annotated[str | None, sample("application/json")]
    headers: Annotated[
        dict[str, str] | None,
        about(
            "Header fields of the answer, by lower-case name: a fixed list, without cookies, each cut at 500 "
            "characters. null: not recorded.",
            {"content-type": "application/json"},
        ),
    ]
    tls: Tls
    address: Annotated[str | None, about("That answered; null: not recorded.", None)]
    response_ms: Annotated[int | None, sample(84)]
    size: Annotated[int, about("Bytes of the body, decoded.", 2048)]
    sha256: Sha256
    bytes: Annotated[
        Literal["kept", "not_kept", "forbidden"], about("Whether the bytes can be read at `bytes_url`, or why not.")
    ]
    bytes_url: Annotated[str | None, sample(f"{base.EXAMPLE_SERVICE_URL}/evidence/{_ID}/raw")]
    fetched_at: Annotated[
        base.Timestamp | None, about("Of the fetch that status, headers and bytes are from; null: not recorded.")
    ]
    first_seen_at: base.Timestamp
    changed_at: Annotated[base.Timestamp, about("When its current version was first seen.")]
    seen_at: Annotated[base.Timestamp, about("When it was last confirmed, by the same bytes or a 304.")]
    missed_at: Annotated[base.Timestamp | None, about("When it was first not found again; a second time decides.")]
    copy_of: Annotated[str | None, about("A more preferred URL with the same bytes.", None)]


class EvidenceData(Shape):
    domain: base.HostName
    documents: Sequence[DocumentEvidence]
    total: Annotated[int, about("More than `documents` when there are too many to list.", 1)]
    usage: Annotated[
        dict[str, Any],
        about(
            "What the site says about further use of its texts; it holds for the bytes too.",
            {"training": "unstated", "attribution": "unstated", "stated": {}, "robots": None},
        ),
    ]
    untrusted_text: base.UntrustedText


class OneEvidenceData(Shape):
    domain: base.HostName
    document: DocumentEvidence
    untrusted_text: base.UntrustedText


class Earlier(Shape):
    changed_at: base.Timestamp
    outcome: _Outcome
    size: Annotated[int, sample(2010)]
    sha256: Sha256


class VersionDifference(Shape):
    operations: Annotated[
        Sequence[dict[str, Any]],
        about(
            "RFC 6902 operations that make it of the earlier version, with the value before as `old`.",
            [{"op": "replace", "path": "/name", "value": "Pigeonpost", "old": "Pigeons"}],
        ),
    ]
    truncated: Annotated[bool, about("Some operations or values are left out.", False)]


class VersionItem(Shape):
    changed_at: base.Timestamp
    document: DocumentId
    url: _Url
    what: Annotated[
        Literal["first", "content", "outcome", "reading"],
        about("`reading`: the same bytes are read in another way, by newer rules."),
    ]
    outcome: _Outcome
    reason: Annotated[str, sample("")]
    format: _Format
    dialect: Annotated[str | None, sample("1.0")]
    status: Annotated[int | None, sample(200)]
    size: Annotated[int, sample(2048)]
    sha256: Sha256
    earlier: Annotated[Earlier | None, about("The version that it replaced; null: none is kept.")]
    difference: VersionDifference | None
    why_no_difference: Annotated[str | None, about("A code; `says` explains it.", None)]
    says: Annotated[str | None, sample(None)]


class HistoryData(Shape):
    domain: base.HostName
    versions: Sequence[VersionItem]
    untrusted_text: base.UntrustedText


class HistoryList(base.Succeeded):
    data: HistoryData
    next_cursor: Annotated[str | None, about("null: there are no earlier versions.", None)]


class ChangedReason(Shape):
    reason: Annotated[str, about("The code of the rule.", "adp.detail_not_readable")]
    says: Annotated[str, sample("The detail_url of a capability did not return a capability detail.")]
    before: Annotated[int, about("How often it was found.", 2, ge=0)]
    after: Annotated[int, about("How often it is found now.", 0, ge=0)]
    points: Annotated[float, about("Points gained, or lost if negative, before rounding and limits.", 6.0)]


class ScoreChange(Shape):
    at: base.Timestamp
    score: Annotated[int, sample(94)]
    before: Annotated[int | None, about("null: the first score that is kept.", 88)]
    rubric_version: Annotated[str, sample("7")]
    reasons: Annotated[list[ChangedReason], about("What changed it, the largest effect first.")]


class ScoresData(Shape):
    domain: base.HostName
    scores: Annotated[list[ScoreChange], about("The latest first.")]


class Scores(base.Succeeded):
    data: ScoresData


class ChangedPart(Shape):
    label: Annotated[str, about("What changed, in words.", "capability added")]
    names: Annotated[Sequence[str], about("The capabilities concerned.", ["create_parcel"])]
    more: Annotated[int, about("Capabilities that `names` leaves out.", 0, ge=0)]
    parts: Annotated[Sequence[str], about("What of these capabilities changed, in words.", [])]
    before: Annotated[str | None, about("A short value; null: none. Both null: a long value, or several.", None)]
    after: Annotated[str | None, about("As `before`.", None)]


class ServiceChange(Shape):
    at: base.Timestamp
    type: Annotated[str, about("Kind of the event of the change feed.", "service.changed")]
    says: Annotated[str, about("The kind in words.", "changed")]
    cause: Annotated[str | None, about("`visit`, `rescore` or `time`; null: not recorded.", "visit")]
    score: Annotated[int | None, about("After the change; null: the event has none.", 94)]
    parts: list[ChangedPart]
    truncated: Annotated[bool, about("More has changed than `parts` names.", False)]


class ServiceChangesData(Shape):
    domain: base.HostName
    changes: Annotated[list[ServiceChange], about("The latest first.")]
    untrusted_text: base.UntrustedText


class ServiceChanges(base.Succeeded):
    data: ServiceChangesData
    next_cursor: Annotated[str | None, about("null: no earlier changes are kept.", None)]


class UptimeDay(Shape):
    day: Annotated[str, about("In UTC.", base.EXAMPLE_TIME[:10])]
    checks: Annotated[int, sample(2)]
    up: Annotated[int, sample(2)]
    degraded: Annotated[int, sample(0)]
    down: Annotated[int, sample(0)]
    uptime_percentage: Annotated[
        float | None, about("Of checks that were not down; null: nothing was measured.", 100.0)
    ]
    response_time_ms: Annotated[int | None, about("The median of the checks.", 184)]


class UptimeData(Shape):
    domain: base.HostName
    days: Annotated[Sequence[UptimeDay], about("The earliest first, today included.")]
    checks: Annotated[int, sample(2)]
    measured_days: Annotated[int, about("Days with at least one check.", 1)]
    uptime_percentage: Annotated[float | None, about("null: nothing was measured.", 100.0)]


EvidenceList = answer_of("EvidenceList", EvidenceData)
OneEvidence = answer_of("OneEvidence", OneEvidenceData)
Uptime = answer_of("Uptime", UptimeData)
