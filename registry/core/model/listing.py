"""The model of search: Listing (an indexed service), Query with its Filters, and Hit (one result)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Literal, NamedTuple


class TrustLevel(StrEnum):
    """The trust level of a listing (merging.trust). `unverified` is hidden unless requested."""

    VERIFIED = "verified"
    COMMUNITY = "community"
    UNVERIFIED = "unverified"


class IdentityState(StrEnum):
    """What is known of who serves a listing, the word that people and agents read. `merging.trust` decides and
    explains it, and derives it from the trust level, its reasons and the ownership."""

    OWNER_PROVEN = "owner-proven"
    HOST_CHECKED = "host-checked"
    PARTLY_CHECKED = "partly-checked"
    NOT_CHECKED = "not-checked"
    IN_DOUBT = "in-doubt"


@dataclass(frozen=True, slots=True)
class Resemblance:
    """A well-known name that is used on another owner's host. `domain`: the best known domain of the name's owner.
    `seen_in`: what uses it. `provider`: the name, address or picture of the claimed operator, also in the description.
    `is_mention`: it names a partner, as in "works with PayPal", and puts nothing in doubt."""

    name: str
    domain: str
    seen_in: Literal["host", "name", "provider"]
    is_mention: bool = False


AdpAuthType = Literal["none", "api_key", "oauth2"]
AdpPricingType = Literal["free", "freemium", "paid"]
AuthKind = Literal["none", "api_key", "oauth2", "unknown"]
"""ADP's kinds of credential, and `unknown` where no document says whether one is needed."""

PricingKind = Literal["free", "freemium", "paid", "unknown"]
"""ADP's kinds of pricing, and `unknown` if no document states the price of a call."""

SideEffects = Literal["true", "false", "unknown"]
"""The side effects of a capability that the documents state, or `unknown`."""

Callability = Literal["true", "false", "unknown"]
"""Whether a capability can be called; `unknown` where a later visit may bring its call."""

SortBy = Literal["relevance", "score", "freshness"]


@dataclass(frozen=True, slots=True)
class ListedCapability:
    """`side_effects` None: no document says. `semantic_types` are `namespace:type` (ATP 3.5.2). `keywords`: title
    or summary, example requests and tags; search reads them with the description. `callability`: `unknown` also where
    an earlier program recorded it."""

    name: str
    description: str = ""
    side_effects: bool | None = None
    semantic_types: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    callability: Callability = "unknown"


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything the index holds of one host; the index is updated when its hash changes.

    `auth_type` and `pricing_type` are what the documents say. ADP has no word for unknown: the interfaces put its
    defaults in place where its clients read them.
    `category` is a slug of `merging.categories`; empty in listings made before there were categories.
    `languages` are those the documents were served in (Content-Language), lower case, each with its primary language.
    `keywords` as in ListedCapability, of the service as a whole.
    `trust_reasons` are codes of `merging.trust`: why the level is not higher. Empty, as `resembles`, in older listings.
    `listed_since`: when the host was first listed. `offered_since`: since when its offer is unchanged, by the
    fingerprint of wording/fields.py; a changed offer sets it again. `updated_at`: of the last change of anything shown.
    `claims_site`: a document says that it is another site. `is_owned`: the ownership of the host is proven; not stored
    with the listing, but set when it is read.
    None: not recorded.
    """

    domain: str
    host: str
    name: str
    description: str
    trust_level: TrustLevel
    score: int
    formats: tuple[str, ...]
    auth_type: AuthKind
    pricing_type: PricingKind
    protocols: tuple[str, ...] = ()
    capabilities: tuple[ListedCapability, ...] = ()
    seen_on: date | None = None
    languages: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    category: str = ""
    trust_reasons: tuple[str, ...] = ()
    resembles: Resemblance | None = None
    listed_since: datetime | None = None
    offered_since: datetime | None = None
    updated_at: datetime | None = None
    claims_site: bool = False
    is_owned: bool = False

    def content_hash(self) -> bytes:
        """Return the sha256 of the canonical JSON of all fields."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True, default=str, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions applied to the candidates inside the engine, never after ranking. A listing must have any of the
    values of each filter that is set. core/search_filters.py describes each filter.

    `trust_levels`, which may be words of either kind, and `identities` override `include_unverified`. `side_effects`,
    `callability` and `semantic_types` also filter the capabilities shown: all must apply, by what the documents say;
    nothing inferred counts. `hosts` are exact names, `domains` registrable domains, `tlds` last labels of hosts.
    `unique`: of copies among the listings that pass, only the first ones (ranking/copies.py) and the ones the question
    names.
    """

    include_unverified: bool = False
    formats: tuple[str, ...] = ()
    auth_types: tuple[AuthKind, ...] = ()
    pricing_types: tuple[PricingKind, ...] = ()
    protocols: tuple[str, ...] = ()
    min_score: int | None = None
    max_score: int | None = None
    trust_levels: tuple[TrustLevel | IdentityState, ...] = ()
    identities: tuple[IdentityState, ...] = ()
    side_effects: tuple[SideEffects, ...] = ()
    callability: tuple[Callability, ...] = ()
    semantic_types: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tlds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    seen_since: date | None = None
    updated_after: datetime | None = None
    unique: bool = True

    @property
    def shown_levels(self) -> tuple[TrustLevel | IdentityState, ...]:
        """Trust levels and identities that results may have; empty means all."""
        if self.trust_levels or self.identities or self.include_unverified:
            return self.trust_levels
        return tuple(level for level in TrustLevel if level is not TrustLevel.UNVERIFIED)

    @property
    def narrows_capabilities(self) -> bool:
        return bool(self.side_effects or self.callability or self.semantic_types)


@dataclass(frozen=True, slots=True)
class Query:
    """Blank `text` browses by score. `offset + limit` is at most 1,000. With a `sort` other than relevance, confident
    hits come first, in that order, and all others follow by relevance."""

    text: str
    limit: int = 10
    offset: int = 0
    filters: Filters = field(default_factory=Filters)
    sort: SortBy = "relevance"


class CapabilityMatch(NamedTuple):
    """`score` is the share of the query's weight that its words match, `similarity` the cosine; both 0 to 1. The cosine
    is estimated from the words for capabilities after the fiftieth, which have no vector. `confident`: whether this
    capability by itself answers the query, decided by its `confidence`."""

    name: str
    matched_terms: tuple[str, ...]
    score: float
    similarity: float
    confident: bool = True
    confidence: float = 0.0


class Hit(NamedTuple):
    """One ranked service and the reasons for its rank.

    `relevance` (0 to 1) is comparable within one answer only: the best candidate has nearly 1 even for nonsense.
    `parts` splits it by the names of core/ranking/signals and rank; their sum is the relevance. `cover` (share of the
    query's weight that its words match), `similarity` (cosine) and `confidence`, which decides `confident`, are
    comparable between answers.
    `alike` are hosts that have no row of their own, because they offer the same: copies, and near-duplicates of the
    same owner. At most copies.SHOWN_COPIES; `alike_total` counts all.
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
    confidence: float = 0.0
    alike_total: int = 0


class SearchUnavailable(Exception):
    """The index cannot be queried: not built yet, damaged, or its engine is away. Raised instead of an empty answer.
    The message is written by this code and safe to show. The condition is temporary: try again in a few seconds.

    `is_outage`: the outage log tells it already."""

    is_outage = False


class SearchAway(SearchUnavailable):
    """The engine of the index does not answer, or accepts no call."""

    is_outage = True


class StaleCursor(ValueError):
    """A cursor that cannot continue this query on the current index: start again without it."""
