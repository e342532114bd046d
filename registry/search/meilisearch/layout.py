"""The layout of an index of this engine: its settings, its service documents and its one statistics document.

Words are the term ids of the records (`core.ranking.record.term_ids`) in hexadecimal, so no build of the engine applies
its own tokenising, normalising or stemming rules, and no external text reaches its query language.

The statistics are a document of the index, written in the same task as the services they count. So readers never see
one without the other, a swap moves both, and the search key suffices to read them (docs/adr/0012).
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import RANKER_VERSION, Record
from registry.core.ranking.copies import standing_of
from registry.core.search_filters import FACETS, INDEX_FIELDS, NAMES, NUMBERS, numbers_of
from registry.search.backend import SearchDocument

LAYOUT: Final = f"5:{RANKER_VERSION}:{INDEX_FIELDS}"
"""Version of an index's content; an index of another version is rebuilt."""

PRIMARY_KEY: Final = "id"
STATISTICS_ID: Final = "-tally"
"""Id of the statistics document; it cannot be a host's, because no host begins with a hyphen."""

_GROUP: Final = np.dtype([("offer", "<u8"), ("services", "<u4")])

_DISPLAYED: Final = [
    "id", "kind", "host", "score", "copy", "offered", "listed", "h", "g", "model", "copied", "r",
]  # fmt: skip

_PLAIN_HOST = re.compile(r"[a-z0-9.-]{1,253}")

CUTOFF_MS: Final = 300
"""Time limit of one query; the engine returns what it has found by then, without marking it as incomplete."""

MAX_FACET_VALUES: Final = 200  # different values of `copy` that a counting query tells apart
Json = dict[str, Any]


class DocumentKind(StrEnum):
    SERVICE = "service"
    STATISTICS = "tally"
    TOMBSTONE = "gone"  # marks a removed service; never in results, and deleted by a later task


def index_settings(model: str, dims: int) -> Json:
    """Return all settings that matter, explicitly, because a release may change its defaults. The engine's order is not
    used, so its ranking rules are minimal. Typo tolerance is off, because words are numbers; typing errors are left to
    the vectors."""
    return {
        "searchableAttributes": ["words"],
        "displayedAttributes": _DISPLAYED,
        "filterableAttributes": [
            _filterable(["kind", "copy", *FACETS, *NAMES], comparison=False),
            _filterable(list(NUMBERS)),
        ],
        "sortableAttributes": ["score", "offered", "copy", "host"],
        "rankingRules": ["words", "sort"],
        "stopWords": [],
        "typoTolerance": {"enabled": False},
        "prefixSearch": "disabled",
        "proximityPrecision": "byAttribute",
        "facetSearch": False,
        "faceting": {"maxValuesPerFacet": MAX_FACET_VALUES},
        "pagination": {"maxTotalHits": 1_000},
        "searchCutoffMs": CUTOFF_MS,
        "embedders": {model: {"source": "userProvided", "dimensions": dims}} if model else {},
    }


def _filterable(names: list[str], *, comparison: bool = True) -> Json:
    features = {"facetSearch": False, "filter": {"equality": True, "comparison": comparison}}
    return {"attributePatterns": names, "features": features}


def id_of(host: str) -> str:
    """Return the document id of a host: its name with underscores for dots, which ids may not contain, or the hash of
    an unusual name. No host contains an underscore."""
    if _PLAIN_HOST.fullmatch(host):
        return host.replace(".", "_")
    return "x_" + hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()


def words_of(terms: NDArray[np.uint32]) -> list[str]:
    return [f"{term:08x}" for term in terms.tolist()]


def copy_key(offer: int, level: int) -> str:
    """Return the key shared by equally proven copies: the engine can return one of these only."""
    return f"{offer:016x}-{level}"


def offer_and_level(copy: str | None) -> tuple[int, int]:
    """Return what `copy_key` joined; zeros for a service without a copy. Raise ValueError for another text."""
    offer, _, level = (copy or "0-0").partition("-")
    return int(offer, 16), int(level)


def service_document(document: SearchDocument, model: str) -> Json:
    """Return the document of a service. A POST replaces a document except omitted vectors, so vectors are always sent,
    if only as null."""
    listing, record = document.listing, document.record
    standing = standing_of(listing)
    return {
        "id": id_of(listing.host),
        "kind": DocumentKind.SERVICE,
        "h": document.hash.hex(),
        "r": base64.b64encode(record.encode()).decode(),
        "words": " ".join(words_of(record.terms)),
        "copy": copy_key(standing.offer, standing.level) if standing.offer else None,
        "offered": standing.offered,
        "listed": standing.listed,
        **{name: sorted(set(facet.read(listing))) for name, facet in FACETS.items()},
        **{name: list(read(listing)) for name, read in NAMES.items()},
        **dict(numbers_of(listing)),
        "host": listing.host,  # text, not a list like the other names, because it is read back
        **_vectors(model, _service_vector(record, model)),
    }


def tombstone(host: str, model: str) -> Json:
    return {"id": id_of(host), "kind": DocumentKind.TOMBSTONE, **_vectors(model, None)}


def statistics_document(generation: str, encoded: bytes, copied: Mapping[int, int], model: str) -> Json:
    """Return the statistics document. `copied`: fingerprint -> number of services that share it, two or more."""
    groups = np.array(sorted(copied.items()), _GROUP)
    return {
        "id": STATISTICS_ID,
        "kind": DocumentKind.STATISTICS,
        "h": LAYOUT,
        "g": generation,
        "model": model,
        "copied": base64.b64encode(groups.tobytes()).decode(),
        "r": base64.b64encode(encoded).decode(),
        **_vectors(model, None),
    }


def copied_from(raw: bytes) -> dict[int, int]:
    """Return `copied` of `statistics_document` from its decoded field."""
    groups = np.frombuffer(raw, _GROUP)
    return dict(zip(groups["offer"].tolist(), groups["services"].tolist(), strict=True))


def _service_vector(record: Record, model: str) -> list[float] | None:
    """Return the whole service's vector; None for a zero vector, which the engine would rank nearest to every query."""
    if not len(record.vectors) or record.model != model or not record.vectors[0].any():
        return None
    row = record.vectors[0].astype(np.float32)
    return [round(number, 5) for number in (row * record.scales[0]).tolist()]


def _vectors(model: str, vector: list[float] | None) -> Json:
    if not model:
        return {}
    return {"_vectors": {model: None if vector is None else {"regenerate": False, "embeddings": [vector]}}}
