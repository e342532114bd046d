"""Dumps and single records: what copies of the registry read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import EXAMPLE_HOST, Shape, UntrustedText

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
