"""What search and the doors see of a service: Listing, and the Query and Page that carry them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import StrEnum
from typing import Literal, NamedTuple


class TrustLevel(StrEnum):
    """Contract section 9, ours: what stands behind a listing. `unverified` is hidden unless asked for."""

    VERIFIED = "verified"
    COMMUNITY = "community"
    UNVERIFIED = "unverified"


AdpAuthType = Literal["none", "api_key", "oauth2"]
AdpPricingType = Literal["free", "freemium", "paid"]
SortBy = Literal["relevance", "score", "freshness"]


@dataclass(frozen=True, slots=True)
class ListedCapability:
    """`side_effects` None: nothing is said of them. `semantic_types` are `namespace:type` (ATP 3.5.2).

    `keywords`: tags, and sentences in which one would ask for it; search reads them with the description.
    """

    name: str
    description: str = ""
    side_effects: bool | None = None
    semantic_types: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything the index shows of one host; its hash decides whether the index must be told.

    `languages` are what the documents were served as (Content-Language), lower case, with the plain language of each.
    `keywords` as in ListedCapability, of the service as a whole.
    """

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
    languages: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    def content_hash(self) -> bytes:
        """sha256 over the canonical JSON of everything shown."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True, default=str, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrow the candidates inside the engine, never after ranking: any of the values of each, all of them together.

    `trust_levels` overrule `include_unverified`. `side_effects` and `semantic_types` ask for a capability of which the
    documents say both; others are not shown. `domains` are registrable domains, `tlds` last labels of hosts.
    """

    include_unverified: bool = False
    formats: tuple[str, ...] = ()
    auth_types: tuple[str, ...] = ()
    pricing_types: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    min_score: int | None = None
    max_score: int | None = None
    trust_levels: tuple[TrustLevel, ...] = ()
    side_effects: bool | None = None
    semantic_types: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tlds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    seen_since: date | None = None

    @property
    def shown_levels(self) -> tuple[TrustLevel, ...]:
        """Levels of trust that an answer may have; none = all."""
        if self.trust_levels or self.include_unverified:
            return self.trust_levels
        return tuple(level for level in TrustLevel if level is not TrustLevel.UNVERIFIED)

    @property
    def narrows_capabilities(self) -> bool:
        return self.side_effects is not None or bool(self.semantic_types)


@dataclass(frozen=True, slots=True)
class Query:
    """`text` blank = browse by score. `offset + limit` at most 1,000 (safety.md section 9).

    Another order than by relevance puts what answers with confidence first, the rest by relevance behind it.
    """

    text: str
    limit: int = 10
    offset: int = 0
    filters: Filters = field(default_factory=Filters)
    sort: SortBy = "relevance"


class CapabilityMatch(NamedTuple):
    """`score` is the share of the question's weight that its words hold, `similarity` the cosine; both 0 to 1."""

    name: str
    matched_terms: tuple[str, ...]
    score: float
    similarity: float


class Hit(NamedTuple):
    """One ranked service and why it stands where it does.

    `relevance` (0 to 1) is comparable inside one answer only: the best candidate has nearly 1 even for nonsense.
    `parts` says how it came about, by the names of core/ranking/signals; their sum is the relevance. `cover` (share
    of the question's weight that its words hold) and `similarity` (cosine) can be compared between answers, and
    `confident` is drawn from them. `alike` are hosts of the same owner that say nearly the same.
    """

    host: str
    relevance: float
    matched_terms: tuple[str, ...]
    capabilities: tuple[CapabilityMatch, ...]
    parts: Mapping[str, float]
    cover: float
    similarity: float
    confident: bool
    alike: tuple[str, ...]


class SearchUnavailable(Exception):
    """There is no index that could be asked: not built yet, damaged, or its engine is away. Never an empty answer.

    The message is ours and safe to show. It passes: try again in a few seconds.
    """


class StaleCursor(ValueError):
    """A cursor that this query, on the index of today, cannot go on from: start again without it."""
