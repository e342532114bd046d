"""Read a folder of labelled queries: services, queries, and which services answer them.

    services.jsonl   {"id", "name", "description", "capabilities": [{"name", "description"}]}
    queries.jsonl    {"qid", "text", "set"}
    qrels.tsv        qid TAB service id TAB grade

A service becomes a listing with a hash as its host name, so that neither host names nor file order influence the
ranking. All listings are equal in everything except text.
"""

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from registry.core.model.listing import ListedCapability, Listing, TrustLevel

ROOT: Final = Path(__file__).resolve().parents[2]
GRADE: Final = 50  # the score of every service, so that quality does not influence the ranking


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """One query. `kind`: the folder's name for its sort. `grades`: host -> grade above 0, of services that answer."""

    qid: str
    text: str
    kind: str
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    listings: Sequence[Listing]
    queries: Sequence[LabelledQuery]


class Unreadable(Exception):
    """The folder's content is invalid; the message says where."""


def shared_folders() -> list[Path]:
    """Return the data sets beside the clone, or those in WAYPOST_SHARED; empty when there are none."""
    folder = Path(os.environ.get("WAYPOST_SHARED", ROOT.parent / "shared")) / "relevance"
    return sorted(path.parent for path in folder.glob("*/queries.jsonl"))


def read(folder: Path) -> Collection:
    """Return all services and queries of a folder. A query without labels is kept and scores 0.

    Raise Unreadable.
    """
    listings = {str(row["id"]): listing_of(row) for row in _rows(folder / "services.jsonl", "id", "name")}
    labels = _labels(folder / "qrels.tsv")
    queries = [
        LabelledQuery(
            str(row["qid"]),
            row["text"],
            str(row.get("set") or "all"),
            {
                listings[service].host: grade
                for service, grade in labels.get(str(row["qid"]), ())
                if service in listings
            },
        )
        for row in _rows(folder / "queries.jsonl", "qid", "text")
    ]
    if not listings or not queries:
        raise Unreadable(f"{folder}: no services, or no queries")
    return Collection(folder.resolve().name, list(listings.values()), queries)


def listing_of(row: Mapping[str, Any]) -> Listing:
    host = f"s{hashlib.sha256(str(row['id']).encode()).hexdigest()[:16]}.example"
    capabilities = [
        ListedCapability(str(capability.get("name") or ""), str(capability.get("description") or ""))
        for capability in row.get("capabilities") or ()
    ]
    return Listing(
        domain=host,
        host=host,
        name=str(row["name"]),
        description=str(row.get("description") or ""),
        trust_level=TrustLevel.VERIFIED,
        score=GRADE,
        formats=("adp",),
        auth_type="none",
        pricing_type="free",
        capabilities=tuple(capabilities),
    )


def _rows(path: Path, *required: str) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines: JSON strings may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise Unreadable(f"{path}:{number}: {error}") from error
            if not isinstance(row, dict) or any(row.get(key) is None for key in required):
                raise Unreadable(f"{path}:{number}: no object with {' and '.join(required)}")
            yield row


def _labels(path: Path) -> dict[str, list[tuple[str, int]]]:
    labels: dict[str, list[tuple[str, int]]] = {}
    number = 0
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            for row in reader:
                number = reader.line_num
                if row:
                    qid, service, grade = row[0], row[1], int(row[2])
                    if grade > 0:
                        labels.setdefault(qid, []).append((service, grade))
    except OSError as error:
        raise Unreadable(f"{path}: {error}") from error
    except (IndexError, ValueError) as error:
        raise Unreadable(f"{path}:{number}: {error}") from error
    return labels
