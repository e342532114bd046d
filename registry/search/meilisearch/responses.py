"""The response of POST /multi-search, parsed in one step, with base64 records decoded to bytes.

The standard library needs several times as long for the base64 alone.
"""

from pydantic import BaseModel, ConfigDict, Field


class ResponseHit(BaseModel):
    """The retrieved fields of one document (layout.py)."""

    model_config = ConfigDict(val_json_bytes="base64")

    host: str = ""
    score: int = 0
    copy_key: str | None = Field(default=None, alias="copy")
    offered: int = 0
    listed: int = 0
    h: str = ""
    g: str = ""
    model: str = ""
    copied: bytes = b""
    r: bytes = b""


class QueryResult(BaseModel):
    """The result of one query. `near` is set only for a vector query."""

    hits: list[ResponseHit]
    total: int = Field(alias="estimatedTotalHits")
    near: int | None = Field(default=None, alias="semanticHitCount")
    facets: dict[str, dict[str, int]] = Field(default={}, alias="facetDistribution")


class MultiSearchResponse(BaseModel):
    """The results, in the order of the queries."""

    results: list[QueryResult]
