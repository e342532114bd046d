"""What POST /multi-search answers, read in one step: names, numbers, and the records as the bytes that they stand for.

For the base64 alone the standard library takes several times as long as this for everything.
"""

from pydantic import BaseModel, ConfigDict, Field


class Hit(BaseModel):
    """What was asked for of one document (layout.py)."""

    model_config = ConfigDict(val_json_bytes="base64")

    host: str = ""
    score: int = 0
    h: str = ""
    g: str = ""
    model: str = ""
    r: bytes = b""


class Result(BaseModel):
    """Of one query. `near` only where it asked by vector."""

    hits: list[Hit]
    total: int = Field(alias="estimatedTotalHits")
    near: int | None = Field(default=None, alias="semanticHitCount")


class Answers(BaseModel):
    """In the order of the queries."""

    results: list[Result]
