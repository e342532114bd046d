"""The change feed: events, pages of them and CloudEvents; dumps and records for mirrors."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import EXAMPLE_HOST, EXAMPLE_TIME, InjectionFlags, Shape, Timestamp, Trust, UntrustedText
from registry.core.changes.kinds import KINDS

EXAMPLE_ID = "019aa1b5-5b2e-7c41-9d3a-6f0000000412"
_PRINT = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"
_OLD_PRINT = "9b871512327c09ce91dd649b3f96a63b7408ef267c8cc5710114e629730cb61f"

EventId = Annotated[
    str, Field(description="A UUID of version 7: ids rise in the order of the feed.", examples=[EXAMPLE_ID])
]
Fingerprint = Annotated[
    str,
    Field(description="SHA-256 over the canonical JSON of RFC 8785, in hexadecimal.", examples=[_PRINT]),
]
Cursor = Annotated[
    str,
    Field(
        description="Where to go on: opaque, valid for the same `types` only.",
        examples=["AQGaobVbLnxBnTpvAAAABBLjsMRCmPwcFA"],
    ),
]


class FeedEntity(Shape):
    kind: Annotated[
        Literal["service", "host", "ownership"],
        Field(description="A host stands for all hosts below it too, an ownership for what its `scope` says."),
    ]
    id: Annotated[str, Field(description="The host.", examples=[EXAMPLE_HOST])]


class NamedFingerprint(Shape):
    name: Annotated[str, Field(examples=["track_parcel"])]
    fingerprint: Fingerprint


class ChangedFingerprint(Shape):
    name: Annotated[str, Field(examples=["create_parcel"])]
    before: Annotated[Fingerprint, Field(examples=[_OLD_PRINT])]
    after: Fingerprint


class FeedFingerprints(Shape):
    before: Annotated[Fingerprint | None, Field(description="null: it was not listed.", examples=[_OLD_PRINT])]
    after: Fingerprint


class FeedCapabilities(Shape):
    added: Annotated[Sequence[NamedFingerprint], Field(examples=[[]])]
    removed: Annotated[Sequence[NamedFingerprint], Field(examples=[[]])]
    changed: Sequence[ChangedFingerprint]


class FeedOperation(Shape):
    """An operation of RFC 6902, with the previous value."""

    op: Annotated[Literal["add", "remove", "replace"], Field(examples=["replace"])]
    path: Annotated[
        str, Field(description="JSON Pointer (RFC 6901).", examples=["/capabilities/create_parcel/description"])
    ]
    value: NotRequired[Annotated[Any, Field(examples=["Books a courier for one parcel."])]]
    old: NotRequired[Annotated[Any, Field(description="The value before.", examples=["Books a courier."])]]


class FeedPayload(Shape):
    state: Annotated[
        str,
        Field(
            json_schema_extra={
                "enum": [
                    "never_validated",
                    "fresh",
                    "stale",
                    "failing",
                    "gone",
                    "opted_out",
                    "blocked",
                    "proven",
                    "ended",
                ],
            },
            description="What the entity is after this event; `proven` and `ended` are states of ownerships.",
            examples=["fresh"],
        ),
    ]
    reason: NotRequired[
        Annotated[str, Field(description="Of `service.delisted`, `host.forgotten` and `ownership.ended`: a code.")]
    ]
    method: NotRequired[Annotated[Literal["dns", "file"], Field(description="Of `ownership.proven`.")]]
    scope: NotRequired[
        Annotated[
            Literal["host", "domain"],
            Field(description="Of an ownership: the host alone, or all hosts of the registrable domain."),
        ]
    ]
    outcome: NotRequired[Annotated[str, Field(description="Of the visit that ended it.")]]
    how: NotRequired[Annotated[str, Field(description="How an opt-out was declared: robots, file, dns, operator.")]]
    stays_out: NotRequired[Annotated[bool, Field(description="Of `host.forgotten`: an opt-out or a block covers it.")]]
    redacted: NotRequired[
        Annotated[bool, Field(description="The host opted out or was forgotten: what was said of it is deleted.")]
    ]
    name: NotRequired[Annotated[str, Field(examples=["Pigeonpost"])]]
    score: NotRequired[Annotated[int, Field(examples=[87])]]
    trust_level: NotRequired[Trust]
    formats: NotRequired[Annotated[Sequence[str], Field(description="Formats of its documents.")]]
    injection_flags: NotRequired[InjectionFlags]
    cause: NotRequired[
        Annotated[
            Literal["visit", "rescore", "time"],
            Field(description="A visit, new rules for the same documents, or only time.", examples=["visit"]),
        ]
    ]
    fingerprint: NotRequired[Annotated[FeedFingerprints, Field(examples=[{"before": _OLD_PRINT, "after": _PRINT}])]]
    changed: NotRequired[
        Annotated[
            Sequence[str],
            Field(
                description="The members that changed; `score` alone: nothing else did. Of `ownership.changed`: "
                "`owner_note` or `canonical_host`, whose values `/api/services/{domain}` has.",
                examples=[["capabilities"]],
            ),
        ]
    ]
    capabilities: NotRequired[
        Annotated[
            FeedCapabilities,
            Field(
                examples=[
                    {
                        "added": [],
                        "removed": [],
                        "changed": [{"name": "create_parcel", "before": _OLD_PRINT, "after": _PRINT}],
                    }
                ]
            ),
        ]
    ]
    difference: NotRequired[
        Annotated[
            Sequence[FeedOperation],
            Field(
                description="What changed, as operations of RFC 6902. Where values are too large, only their places.",
                examples=[
                    [
                        {
                            "op": "replace",
                            "path": "/capabilities/create_parcel/description",
                            "value": "Books a courier for one parcel.",
                            "old": "Books a courier.",
                        }
                    ]
                ],
            ),
        ]
    ]
    truncated: NotRequired[
        Annotated[bool, Field(description="Values, operations or capabilities were left out.", examples=[False])]
    ]
    untrusted_text: NotRequired[Annotated[UntrustedText, Field(examples=[["name", "capabilities", "difference"]])]]


class FeedEvent(Shape):
    event_id: EventId
    type: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)}, examples=["service.changed"])]
    entity: FeedEntity
    occurred_at: Timestamp
    payload: FeedPayload


class FeedFreshness(Shape):
    generated_at: Annotated[Timestamp, Field(examples=["2026-11-20T03:05:00.000Z"])]
    latest_event_at: Annotated[Timestamp | None, Field(description="null: there is no event yet.")]
    lag_seconds: Annotated[
        int | None, Field(description="From the latest event to this answer; not a delay.", examples=[289])
    ]
    retention_days: Annotated[int, Field(description="Events are kept for so long.", examples=[365])]


class FeedPage(Shape):
    events: Sequence[FeedEvent]
    cursor: Cursor
    has_more: Annotated[bool, Field(description="Ask again at once: a page may even be empty.", examples=[False])]
    freshness: FeedFreshness


class CloudEvent(Shape):
    """CloudEvents 1.0.2, JSON event format."""

    specversion: Literal["1.0"]
    id: EventId
    source: Annotated[str, Field(examples=["https://registry.example"])]
    type: Annotated[
        str,
        Field(
            json_schema_extra={"enum": [f"dev.waypost.{kind}" for kind in KINDS]},
            examples=["dev.waypost.service.changed"],
        ),
    ]
    subject: Annotated[str, Field(description="The host.", examples=[EXAMPLE_HOST])]
    time: Annotated[Timestamp, Field(examples=[EXAMPLE_TIME])]
    datacontenttype: Literal["application/json"]
    dataschema: Annotated[
        str, Field(examples=["https://registry.example/openapi.json#/components/schemas/FeedPayload"])
    ]
    data: FeedPayload


EXAMPLE_SNAPSHOT: Final = "20261120T030011Z"
EXAMPLE_PART: Final = f"{EXAMPLE_SNAPSHOT}-00001-9f86d081884c7d65.ndjson.zst"
EXAMPLE_CURSOR: Final = "AQGaoBqKe3qBsZrMAAAAAEjjsMRCmPwcFA"


class DumpPart(Shape):
    name: Annotated[str, Field(examples=[EXAMPLE_PART])]
    url: Annotated[str, Field(examples=[f"https://registry.example/dumps/{EXAMPLE_PART}"])]
    sha256: Annotated[
        str,
        Field(pattern="^[0-9a-f]{64}$", examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]),
    ]
    bytes: Annotated[int, Field(description="Compressed.", examples=[1_204])]
    size: Annotated[int, Field(description="Bytes of NDJSON.", examples=[9_310])]
    rows: Annotated[int, Field(description="Lines.", examples=[3])]
    first: Annotated[
        str, Field(description="Domain and host of the first line.", examples=[f"pigeonpost.example {EXAMPLE_HOST}"])
    ]
    last: Annotated[str, Field(examples=["velo.example velo.example"])]


class DumpFeed(Shape):
    cursor: Annotated[str, Field(description="Where the feed continues after the dump.", examples=[EXAMPLE_CURSOR])]
    sequence: Annotated[int, Field(description="The position that it stands for.", examples=[18_659])]
    url: Annotated[str, Field(examples=["https://registry.example/api/feed"])]


class DumpTerms(Shape):
    text: Annotated[str, Field(examples=["The texts are those of the sites, which keep their rights."])]
    url: Annotated[str | None, Field(description="The terms of the registry's operator, if any.", examples=[None])]


class DumpManifest(Shape):
    format: Annotated[str, Field(examples=["waypost-dump"])]
    version: Annotated[int, Field(examples=[1])]
    snapshot: Annotated[str, Field(examples=[EXAMPLE_SNAPSHOT])]
    created_at: Annotated[str, Field(description="ISO 8601, in UTC.", examples=["2026-11-20T03:00:11+00:00"])]
    registry: Annotated[str, Field(examples=["https://registry.example"])]
    feed: DumpFeed
    restricted: Annotated[
        bool, Field(description="Contains records whose sites forbid training or make it conditional.", examples=[True])
    ]
    terms: DumpTerms
    counts: Annotated[
        Mapping[str, int],
        Field(
            description="Services; hosts that opted out or were blocked (names only); services that restrict training, "
            "or require attribution; records that were left out, with the reason.",
            examples=[
                {"attribution_required": 0, "blocked": 0, "opted_out": 1, "services": 2, "training_restricted": 1}
            ],
        ),
    ]
    media_type: Annotated[str, Field(examples=["application/x-ndjson"])]
    compression: Annotated[str, Field(examples=["zstd"])]
    parts: Sequence[DumpPart]


class RecordsQuestion(Shape):
    hosts: Annotated[Sequence[str], Field(min_length=1, max_length=50, examples=[[EXAMPLE_HOST]])]


RECORDS_QUESTION_SCHEMA: Final[dict[str, Any]] = TypeAdapter(RecordsQuestion).json_schema()


class Records(Shape):
    sequence: Annotated[int, Field(description="A position of the feed.", examples=[18_659])]
    cursor: Annotated[str, Field(description="The cursor of this position.", examples=[EXAMPLE_CURSOR])]
    records: Annotated[
        Sequence[Mapping[str, Any]],
        Field(
            description="One object per host, as a line of a dump: `kind` is service, opted_out, blocked or absent.",
            examples=[[{"kind": "absent", "host": EXAMPLE_HOST}]],
        ),
    ]
    left: Annotated[Sequence[str], Field(description="Hosts to ask for again.", examples=[[]])]
    untrusted_text: UntrustedText
