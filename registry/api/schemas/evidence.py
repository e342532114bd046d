"""What this registry saw of a host: current documents, their history, and its availability by day."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from registry.api.schemas.base import (
    EXAMPLE_SERVICE_URL,
    EXAMPLE_TIME,
    HostName,
    Shape,
    Succeeded,
    Timestamp,
    UntrustedText,
)

_DOCUMENT = "https://api.pigeonpost.example/.well-known/agent"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

_ID = "63cf0063410ad408f5ef1b318640b266cd8a2ea6a5b7ea398ac61cc6d503b744"
DocumentId = Annotated[
    str, Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the URL, in hexadecimal.", examples=[_ID])
]
Sha256 = Annotated[
    str, Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the body, in hexadecimal.", examples=[_SHA256])
]
_Url = Annotated[str, Field(examples=[_DOCUMENT])]
_Outcome = Annotated[str, Field(examples=["found"])]
_Format = Annotated[str | None, Field(examples=["adp"])]


class Tls(Shape):
    verified: Annotated[
        Literal[True],
        Field(description="The certificate was valid for the name and issued by a trusted authority; no document is "
              "taken otherwise."),
    ]  # fmt: skip
    minimum_version: Annotated[
        str, Field(description="Older versions are refused. Which one was used is not known.", examples=["1.2"])
    ]


class DocumentEvidence(Shape):
    id: DocumentId
    url: _Url
    final_url: Annotated[str, Field(description="After redirects.", examples=[_DOCUMENT])]
    redirects: Annotated[
        Sequence[str] | None,
        Field(description="URLs that redirected, in order; null: not recorded.", examples=[[]]),
    ]
    purpose: Annotated[str, Field(description="Why it is requested.", examples=["manifest"])]
    outcome: _Outcome
    reason: Annotated[str, Field(description="Of the outcome, as a code.", examples=[""])]
    format: _Format
    dialect: Annotated[str | None, Field(examples=["1.0"])]
    status: Annotated[int | None, Field(description="HTTP status.", examples=[200])]
    media_type: Annotated[str | None, Field(examples=["application/json"])]
    headers: Annotated[
        dict[str, str] | None,
        Field(
            description="Header fields of the answer, by lower-case name: a fixed list, without cookies, each cut at "
            "500 characters. null: not recorded.",
            examples=[{"content-type": "application/json"}],
        ),
    ]
    tls: Tls
    address: Annotated[str | None, Field(description="That answered; null: not recorded.", examples=[None])]
    response_ms: Annotated[int | None, Field(examples=[84])]
    size: Annotated[int, Field(description="Bytes of the body, decoded.", examples=[2048])]
    sha256: Sha256
    bytes: Annotated[
        Literal["kept", "not_kept", "forbidden"],
        Field(description="Whether the bytes can be read at `bytes_url`, or why not."),
    ]
    bytes_url: Annotated[str | None, Field(examples=[f"{EXAMPLE_SERVICE_URL}/evidence/{_ID}/raw"])]
    fetched_at: Annotated[
        Timestamp | None,
        Field(description="Of the fetch that status, headers and bytes are from; null: not recorded."),
    ]
    first_seen_at: Timestamp
    changed_at: Annotated[Timestamp, Field(description="When its current version was first seen.")]
    seen_at: Annotated[Timestamp, Field(description="When it was last confirmed, by the same bytes or a 304.")]
    missed_at: Annotated[
        Timestamp | None, Field(description="When it was first not found again; a second time decides.")
    ]
    copy_of: Annotated[str | None, Field(description="A more preferred URL with the same bytes.", examples=[None])]


class EvidenceData(Shape):
    domain: HostName
    documents: Sequence[DocumentEvidence]
    total: Annotated[int, Field(description="More than `documents` when there are too many to list.", examples=[1])]
    usage: Annotated[
        dict[str, Any],
        Field(
            description="What the site says about further use of its texts; it holds for the bytes too.",
            examples=[{"training": "unstated", "attribution": "unstated", "stated": {}, "robots": None}],
        ),
    ]
    untrusted_text: UntrustedText


class EvidenceList(Succeeded):
    data: EvidenceData


class OneEvidenceData(Shape):
    domain: HostName
    document: DocumentEvidence
    untrusted_text: UntrustedText


class OneEvidence(Succeeded):
    data: OneEvidenceData


class Earlier(Shape):
    changed_at: Timestamp
    outcome: _Outcome
    size: Annotated[int, Field(examples=[2010])]
    sha256: Sha256


class VersionDifference(Shape):
    operations: Annotated[
        Sequence[dict[str, Any]],
        Field(
            description="RFC 6902 operations that make it of the earlier version, with the value before as `old`.",
            examples=[[{"op": "replace", "path": "/name", "value": "Pigeonpost", "old": "Pigeons"}]],
        ),
    ]
    truncated: Annotated[bool, Field(description="Some operations or values are left out.", examples=[False])]


class VersionItem(Shape):
    changed_at: Timestamp
    document: DocumentId
    url: _Url
    what: Annotated[
        Literal["first", "content", "outcome", "reading"],
        Field(description="`reading`: the same bytes are read in another way, by newer rules."),
    ]
    outcome: _Outcome
    reason: Annotated[str, Field(examples=[""])]
    format: _Format
    dialect: Annotated[str | None, Field(examples=["1.0"])]
    status: Annotated[int | None, Field(examples=[200])]
    size: Annotated[int, Field(examples=[2048])]
    sha256: Sha256
    earlier: Annotated[Earlier | None, Field(description="The version that it replaced; null: none is kept.")]
    difference: VersionDifference | None
    why_no_difference: Annotated[str | None, Field(description="A code; `says` explains it.", examples=[None])]
    says: Annotated[str | None, Field(examples=[None])]


class HistoryData(Shape):
    domain: HostName
    versions: Sequence[VersionItem]
    untrusted_text: UntrustedText


class HistoryList(Succeeded):
    data: HistoryData
    next_cursor: Annotated[str | None, Field(description="null: there are no earlier versions.", examples=[None])]


class UptimeDay(Shape):
    day: Annotated[str, Field(description="In UTC.", examples=[EXAMPLE_TIME[:10]])]
    checks: Annotated[int, Field(examples=[2])]
    up: Annotated[int, Field(examples=[2])]
    degraded: Annotated[int, Field(examples=[0])]
    down: Annotated[int, Field(examples=[0])]
    uptime_percentage: Annotated[
        float | None, Field(description="Of checks that were not down; null: nothing was measured.", examples=[100.0])
    ]
    response_time_ms: Annotated[int | None, Field(description="The median of the checks.", examples=[184])]


class UptimeData(Shape):
    domain: HostName
    days: Annotated[Sequence[UptimeDay], Field(description="The earliest first, today included.")]
    checks: Annotated[int, Field(examples=[2])]
    measured_days: Annotated[int, Field(description="Days with at least one check.", examples=[1])]
    uptime_percentage: Annotated[float | None, Field(description="null: nothing was measured.", examples=[100.0])]


class Uptime(Succeeded):
    data: UptimeData
