"""What an index of this engine is: its settings, its documents, and the one document that is no service.

Words are the numbers that the records hold (`core.ranking.record.term_ids`), written as hexadecimal: the engine
tokenises, normalises and stems nothing by rules of its own, in any language and with any of its builds, and no text
from outside ever meets its query language.

The tally of the collection is a document of the index, written in the same task as the services it counts: readers
never hold one without the other, a swap takes it along, and the search key is enough to read it (docs/adr/0012).
"""

import base64
import hashlib
import re
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import RANKER_VERSION, Record
from registry.search.backend import SearchDocument
from registry.search.facets import FACETS, NUMBERS

LAYOUT: Final = f"2:{RANKER_VERSION}"
"""Version of what an index holds; another one is built again."""

PRIMARY_KEY: Final = "id"
TALLY: Final = "-tally"
"""Its id: no host begins with a hyphen."""

_PLAIN_HOST = re.compile(r"[a-z0-9.-]{1,253}")

CUTOFF_MS: Final = 300
"""Of one query; what is found by then is answered, and nothing says that it was cut."""

Json = dict[str, Any]


class Kind(StrEnum):
    SERVICE = "service"
    TALLY = "tally"
    GONE = "gone"  # a tombstone: in no answer; removed by the task behind the one that wrote it


def index_settings(model: str, dims: int) -> Json:
    """Every setting that matters is said, whatever a release has as its default.

    The engine's own order plays no part, so its rules are as few as they may be. Typing errors are the vectors'
    business: a number has none.
    """
    return {
        "searchableAttributes": ["words"],
        "displayedAttributes": ["id", "kind", "host", "score", "h", "g", "model", "r"],
        "filterableAttributes": [_filterable(["kind", *FACETS], comparison=False), _filterable(list(NUMBERS))],
        "sortableAttributes": ["score"],
        "rankingRules": ["words", "sort"],
        "stopWords": [],
        "typoTolerance": {"enabled": False},
        "prefixSearch": "disabled",
        "proximityPrecision": "byAttribute",
        "facetSearch": False,
        "pagination": {"maxTotalHits": 1_000},
        "searchCutoffMs": CUTOFF_MS,
        "embedders": {model: {"source": "userProvided", "dimensions": dims}} if model else {},
    }


def _filterable(names: list[str], *, comparison: bool = True) -> Json:
    features = {"facetSearch": False, "filter": {"equality": True, "comparison": comparison}}
    return {"attributePatterns": names, "features": features}


def id_of(host: str) -> str:
    """A dot may not stand in an id and no host has an underscore; any other name goes by its hash."""
    if _PLAIN_HOST.fullmatch(host):
        return host.replace(".", "_")
    return "x_" + hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()


def words_of(terms: NDArray[np.uint32]) -> list[str]:
    return [f"{term:08x}" for term in terms.tolist()]


def service(document: SearchDocument, model: str) -> Json:
    """A POST replaces the whole document but keeps vectors that are not sent: they are always sent, or null."""
    listing, record = document.listing, document.record
    return {
        "id": id_of(listing.host),
        "kind": Kind.SERVICE,
        "host": listing.host,
        "h": document.hash.hex(),
        "r": base64.b64encode(record.encode()).decode(),
        "words": " ".join(words_of(record.terms)),
        **{name: sorted(set(read(listing))) for name, read in FACETS.items()},
        **{name: read(listing) for name, read in NUMBERS.items()},
        **_vectors(model, _whole(record, model)),
    }


def gone(host: str, model: str) -> Json:
    return {"id": id_of(host), "kind": Kind.GONE, **_vectors(model, None)}


def tally(generation: str, encoded: bytes, model: str) -> Json:
    return {
        "id": TALLY,
        "kind": Kind.TALLY,
        "h": LAYOUT,
        "g": generation,
        "model": model,
        "r": base64.b64encode(encoded).decode(),
        **_vectors(model, None),
    }


def _whole(record: Record, model: str) -> list[float] | None:
    """The vector of the whole service; a zero one would be as near to everything as can be."""
    if not len(record.vectors) or record.model != model or not record.vectors[0].any():
        return None
    row = record.vectors[0].astype(np.float32)
    return [round(number, 5) for number in (row * record.scales[0]).tolist()]


def _vectors(model: str, vector: list[float] | None) -> Json:
    if not model:
        return {}
    return {"_vectors": {model: None if vector is None else {"regenerate": False, "embeddings": [vector]}}}
