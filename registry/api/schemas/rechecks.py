"""Visits that are asked for: their answers, and the status of all services."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field

from registry.api.schemas.base import (
    Confusable,
    Freshness,
    HostName,
    Shape,
    StatusUrl,
    Succeeded,
    Timestamp,
    Trust,
    UntrustedText,
    Verified,
)
from registry.api.schemas.monitoring import CheckStatus, Incidents

_Status = Annotated[CheckStatus, Field(examples=["up"])]
_ResponseTime = Annotated[int | None, Field(examples=[184])]
_Message = Annotated[str, Field(examples=["Queued with priority; a visit takes up to a minute."])]


class VerifiedData(Shape):
    domain: HostName
    verified: Verified
    trust_level: Trust
    message: Annotated[str, Field(examples=["Visited: its documents are listed as they are now."])]
    status_url: StatusUrl
    detail_url_ok: NotRequired[
        Annotated[bool, Field(description="The first capability detail could be read.", examples=[True])]
    ]
    response_time_ms: NotRequired[Annotated[int, Field(examples=[184])]]


class VerifiedNow(Succeeded):
    data: VerifiedData


class RecheckQueuedData(Shape):
    domain: HostName
    confusable: Confusable
    status: Literal["queued"]
    verified: Annotated[bool, Field(description="As of the visit before.", examples=[True])]
    trust_level: Annotated[
        str | None,
        Field(description="As of the visit before; null: it is not listed.", examples=["verified"]),
    ]
    message: _Message
    status_url: StatusUrl


class RecheckQueued(Succeeded):
    data: RecheckQueuedData


class CheckedData(Shape):
    domain: HostName
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: Annotated[Timestamp | None, Field(description="null: nothing was measured yet.")]
    queued: Annotated[
        bool,
        Field(
            description="true: the new check is not made yet, and these are the results of the last one.",
            examples=[False],
        ),
    ]
    message: _Message
    status_url: StatusUrl


class Checked(Succeeded):
    data: CheckedData


class StatusLine(Shape):
    domain: HostName
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    status: _Status
    response_time_ms: _ResponseTime
    uptime_percentage: Annotated[
        float | None, Field(description="Of the last seven days; null: nothing was measured.", examples=[100.0])
    ]
    last_checked: Timestamp | None
    trust_level: Trust
    freshness: Freshness


class RegistryStatusData(Shape):
    overall_status: Literal["healthy", "degraded", "down"]
    total_monitored: Annotated[int, Field(examples=[1])]
    healthy: Annotated[int, Field(examples=[1])]
    degraded: Annotated[int, Field(examples=[0])]
    down: Annotated[int, Field(examples=[0])]
    services: Annotated[list[StatusLine], Field(description="At most 100, the worst first.")]
    last_updated: Annotated[Timestamp | None, Field(description="When the last of these services was visited.")]
    incidents: Incidents
    untrusted_text: UntrustedText


class RegistryStatus(Succeeded):
    data: RegistryStatusData
