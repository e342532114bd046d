"""The change feed: events, pages of them and CloudEvents; dumps and records for mirrors."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, Required, get_args

from registry.actions.dumps import MOST_HOSTS
from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, sample
from registry.core.changes.kinds import KINDS, State
from registry.edge.bodies import ClosedBody

EXAMPLE_ID = "019aa1b5-5b2e-7c41-9d3a-6f0000000412"
_PRINT = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"
_OLD_PRINT = "9b871512327c09ce91dd649b3f96a63b7408ef267c8cc5710114e629730cb61f"

EventId = Annotated[str, about("A UUID of version 7: ids rise in the order of the feed.", EXAMPLE_ID)]
Fingerprint = Annotated[str, about("SHA-256 over the canonical JSON of RFC 8785, in hexadecimal.", _PRINT)]
Cursor = Annotated[
    str, about("Where to go on: opaque, valid for the same `types` only.", "AQGaobVbLnxBnTpvAAAABBLjsMRCmPwcFA")
]


class FeedEntity(Shape):
    kind: Annotated[
        Literal["service", "host", "ownership"],
        about("A host stands for all hosts below it too, an ownership for what its `scope` says."),
    ]
    id: Annotated[str, about("The host.", base.EXAMPLE_HOST)]


class NamedFingerprint(Shape):
    name: Annotated[str, sample("track_parcel")]
    fingerprint: Fingerprint


class ChangedFingerprint(Shape):
    name: Annotated[str, sample("create_parcel")]
    before: Annotated[Fingerprint, sample(_OLD_PRINT)]
    after: Fingerprint


class FeedFingerprints(Shape):
    before: Annotated[Fingerprint | None, about("null: it was not listed.", _OLD_PRINT)]
    after: Fingerprint


class FeedCapabilities(Shape):
    added: Annotated[Sequence[NamedFingerprint], sample([])]
    removed: Annotated[Sequence[NamedFingerprint], sample([])]
    changed: Sequence[ChangedFingerprint]


class FeedOperation(Shape):
    """An operation of RFC 6902, with the previous value."""

    op: Annotated[Literal["add", "remove", "replace"], sample("replace")]
    path: Annotated[str, about("JSON Pointer (RFC 6901).", "/capabilities/create_parcel/description")]
    value: NotRequired[Annotated[Any, sample("Books a courier for one parcel.")]]
    old: NotRequired[Annotated[Any, about("The value before.", "Books a courier.")]]


_State = Annotated[
    str,
    about(
        "What the entity is after this event; `proven` and `ended` are states of ownerships.",
        "fresh",
        enum=[*get_args(State), "proven", "ended"],
    ),
]


class FeedPayload(Shape, total=False):
    state: Required[_State]
    reason: Annotated[str, about("Of `service.delisted`, `host.forgotten` and `ownership.ended`: a code.")]
    method: Annotated[Literal["dns", "file"], about("Of `ownership.proven`.")]
    scope: Annotated[
        Literal["host", "domain"], about("Of an ownership: the host alone, or all hosts of the registrable domain.")
    ]
    outcome: Annotated[str, about("Of the visit that ended it.")]
    how: Annotated[str, about("How an opt-out was declared: robots, file, dns, operator.")]
    stays_out: Annotated[bool, about("Of `host.forgotten`: an opt-out or a block covers it.")]
    redacted: Annotated[bool, about("The host opted out or was forgotten: what was said of it is deleted.")]
    name: Annotated[str, sample("Pigeonpost")]
    score: Annotated[int, sample(87)]
    trust_level: base.Trust
    formats: Annotated[Sequence[str], about("Formats of its documents.")]
    injection_flags: base.InjectionFlags
    cause: Annotated[
        Literal["visit", "rescore", "time"], about("A visit, new rules for the same documents, or only time.", "visit")
    ]
    fingerprint: Annotated[FeedFingerprints, sample({"before": _OLD_PRINT, "after": _PRINT})]
    changed: Annotated[
        Sequence[str],
        about(
            "The members that changed; `score` alone: nothing else did. Of `ownership.changed`: `owner_note` or "
            "`canonical_host`, whose values `/api/services/{domain}` has.",
            ["capabilities"],
        ),
    ]
    capabilities: Annotated[
        FeedCapabilities,
        sample(
            {"added": [], "removed": [], "changed": [{"name": "create_parcel", "before": _OLD_PRINT, "after": _PRINT}]}
        ),
    ]
    difference: Annotated[
        Sequence[FeedOperation],
        about(
            "What changed, as operations of RFC 6902. Where values are too large, only their places.",
            [
                {
                    "op": "replace",
                    "path": "/capabilities/create_parcel/description",
                    "value": "Books a courier for one parcel.",
                    "old": "Books a courier.",
                }
            ],
        ),
    ]
    truncated: Annotated[bool, about("Values, operations or capabilities were left out.", False)]
    untrusted_text: Annotated[base.UntrustedText, sample(["name", "capabilities", "difference"])]


class FeedEvent(Shape):
    event_id: EventId
    type: Annotated[str, sample("service.changed", enum=list(KINDS))]
    entity: FeedEntity
    occurred_at: base.Timestamp
    payload: FeedPayload


class FeedFreshness(Shape):
    generated_at: Annotated[base.Timestamp, sample("2026-11-20T03:05:00.000Z")]
    latest_event_at: Annotated[base.Timestamp | None, about("null: there is no event yet.")]
    lag_seconds: Annotated[int | None, about("From the latest event to this answer; not a delay.", 289)]
    retention_days: Annotated[int, about("Events are kept for so long.", 365)]


class FeedPage(Shape):
    events: Sequence[FeedEvent]
    cursor: Cursor
    has_more: Annotated[bool, about("Ask again at once: a page may even be empty.", False)]
    freshness: FeedFreshness


class CloudEvent(Shape):
    """CloudEvents 1.0.2, JSON event format."""

    specversion: Literal["1.0"]
    id: EventId
    source: Annotated[str, sample("https://registry.example")]
    type: Annotated[str, sample("dev.waypost.service.changed", enum=[f"dev.waypost.{kind}" for kind in KINDS])]
    subject: Annotated[str, about("The host.", base.EXAMPLE_HOST)]
    time: Annotated[base.Timestamp, sample(base.EXAMPLE_TIME)]
    datacontenttype: Literal["application/json"]
    dataschema: Annotated[str, sample("https://registry.example/openapi.json#/components/schemas/FeedPayload")]
    data: FeedPayload


EXAMPLE_SNAPSHOT: Final = "20261120T030011Z"
EXAMPLE_PART: Final = f"{EXAMPLE_SNAPSHOT}-00001-9f86d081884c7d65.ndjson.zst"
EXAMPLE_CURSOR: Final = "AQGaoBqKe3qBsZrMAAAAAEjjsMRCmPwcFA"


class DumpPart(Shape):
    name: Annotated[str, sample(EXAMPLE_PART)]
    url: Annotated[str, sample(f"https://registry.example/dumps/{EXAMPLE_PART}")]
    sha256: Annotated[
        str, sample("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", pattern="^[0-9a-f]{64}$")
    ]
    bytes: Annotated[int, about("Compressed.", 1_204)]
    size: Annotated[int, about("Bytes of NDJSON.", 9_310)]
    rows: Annotated[int, about("Lines.", 3)]
    first: Annotated[str, about("Domain and host of the first line.", f"pigeonpost.example {base.EXAMPLE_HOST}")]
    last: Annotated[str, sample("velo.example velo.example")]


class DumpFeed(Shape):
    cursor: Annotated[str, about("Where the feed continues after the dump.", EXAMPLE_CURSOR)]
    sequence: Annotated[int, about("The position that it stands for.", 18_659)]
    url: Annotated[str, sample("https://registry.example/api/feed")]


class DumpTerms(Shape):
    text: Annotated[str, sample("The texts are those of the sites, which keep their rights.")]
    url: Annotated[str | None, about("The terms of the registry's operator, if any.", None)]


class DumpManifest(Shape):
    format: Annotated[str, sample("waypost-dump")]
    version: Annotated[int, sample(1)]
    snapshot: Annotated[str, sample(EXAMPLE_SNAPSHOT)]
    created_at: Annotated[str, about("ISO 8601, in UTC.", "2026-11-20T03:00:11+00:00")]
    registry: Annotated[str, sample("https://registry.example")]
    feed: DumpFeed
    restricted: Annotated[bool, about("Contains records whose sites forbid training or make it conditional.", True)]
    terms: DumpTerms
    counts: Annotated[
        Mapping[str, int],
        about(
            "Services; hosts that opted out or were blocked (names only); services that restrict training, or "
            "require attribution; records that were left out, with the reason.",
            {"attribution_required": 0, "blocked": 0, "opted_out": 1, "services": 2, "training_restricted": 1},
        ),
    ]
    media_type: Annotated[str, sample("application/x-ndjson")]
    compression: Annotated[str, sample("zstd")]
    parts: Sequence[DumpPart]


class RecordsQuestion(ClosedBody):
    hosts: Annotated[list[str], sample([base.EXAMPLE_HOST], min_length=1, max_length=MOST_HOSTS)]


class Records(Shape):
    sequence: Annotated[int, about("A position of the feed.", 18_659)]
    cursor: Annotated[str, about("The cursor of this position.", EXAMPLE_CURSOR)]
    records: Annotated[
        Sequence[Mapping[str, Any]],
        about(
            "One object per host, as a line of a dump: `kind` is service, opted_out, blocked or absent.",
            [{"kind": "absent", "host": base.EXAMPLE_HOST}],
        ),
    ]
    left: Annotated[Sequence[str], about("Hosts to ask for again.", [])]
    untrusted_text: base.UntrustedText
