"""What search and the doors see of a service: Listing, and the Query and Page that carry them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import StrEnum
from typing import Literal


class TrustLevel(StrEnum):
    """Contract section 9, ours: what stands behind a listing. `unverified` is hidden unless asked for."""

    VERIFIED = "verified"
    COMMUNITY = "community"
    UNVERIFIED = "unverified"


AdpAuthType = Literal["none", "api_key", "oauth2"]
AdpPricingType = Literal["free", "freemium", "paid"]


@dataclass(frozen=True, slots=True)
class ListedCapability:
    name: str
    description: str = ""
    side_effects: bool | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything the index shows of one host; its hash decides whether the index must be told."""

    domain: str
    host: str
    name: str
    description: str
    trust_level: TrustLevel
    score: int
    formats: tuple[str, ...]
    auth_type: AdpAuthType
    pricing_type: AdpPricingType
    protocols: tuple[str, ...] = ()
    capabilities: tuple[ListedCapability, ...] = ()
    seen_on: date | None = None

    def content_hash(self) -> bytes:
        """sha256 over the canonical JSON of everything shown."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True, default=str, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrow the candidates inside the engine, never after ranking."""

    include_unverified: bool = False
    formats: tuple[str, ...] = ()
    auth_types: tuple[str, ...] = ()
    pricing_types: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    min_score: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """`text` blank = browse by score. `offset + limit` at most 1,000 (safety.md section 9)."""

    text: str
    limit: int = 10
    offset: int = 0
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class CapabilityMatch:
    """`score` is the share of the question's weight that its words hold, `similarity` the cosine; both 0 to 1."""

    name: str
    matched_terms: tuple[str, ...]
    score: float
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked service and why it stands where it does.

    `relevance` (0 to 1) is comparable inside one answer only: the best candidate has nearly 1 even for nonsense.
    `parts` says how it came about, by the names of core/ranking/signals; their sum is the relevance. `cover` (share
    of the question's weight that its words hold) and `similarity` (cosine) can be compared between answers, and
    `confident` is drawn from them.
    """

    host: str
    relevance: float
    matched_terms: tuple[str, ...] = ()
    capabilities: tuple[CapabilityMatch, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    cover: float = 0.0
    similarity: float = 0.0
    confident: bool = False


class SearchUnavailable(Exception):
    """There is no index that could be asked: not built yet, damaged, or its engine is away. Never an empty answer.

    The message is ours and safe to show. It passes: try again in a few seconds.
    """


class StaleCursor(ValueError):
    """A cursor that this query, on the index of today, cannot go on from: start again without it."""
