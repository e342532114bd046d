"""One service as a JSON object that contains everything public about it: a line of a dump, an entry of an answer.

`registry/actions/mirroring/received.py` reads it.
"""

import base64
from collections.abc import Mapping
from typing import Final, Literal

import orjson

from registry.core.merging.usage import Usage, usage_of
from registry.core.model.services import Policies, from_json
from registry.store.mirroring import ORIGIN_BLOCK
from registry.store.public_records import PublicRecord

BODIES_BYTES: Final = 8 * 1024 * 1024
"""Bytes of bodies in one record; further ones are left out."""

OptOutState = Literal["opted_out", "blocked"]


def usage_of_record(record: PublicRecord) -> Usage:
    """Return what the site says about the use of its texts."""
    try:
        policies = from_json({"policies": orjson.loads(record.policies)}).policies if record.policies else Policies()
    except ValueError:
        policies = Policies(training="unreadable")
    return usage_of(policies, record.visit["robots_body"], record.robots_usage)


def encoded(record: PublicRecord, usage: Usage, bodies: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return the JSON of a record. `bodies`: of its documents, by SHA-256, which are added as base64."""
    service, visit = record.service, record.visit
    left = BODIES_BYTES
    documents = []
    for document in record.documents:
        entry = {**document, "sha256": document["sha256"].hex()}
        body = (bodies or {}).get(document["sha256"])
        if body is not None and len(body) <= left:
            left -= len(body)
            entry["body"] = base64.b64encode(body).decode()
        documents.append(entry)
    score = record.score
    return orjson.dumps(
        {
            "kind": "service",
            "host": service["host"],
            "domain": service["domain"],
            "name": service["name"],
            "description": service["description"],
            "base_url": service["base_url"],
            "manifest_url": service["well_known_url"],
            "trust_level": service["trust_level"],
            "score": service["score"],
            "formats": service["formats"],
            "injection_flags": service["injection_flags"],
            "crawl_failures": service["crawl_failures"],
            "rubric_version": service["rubric_version"],
            "created_at": service["created_at"],
            "updated_at": service["updated_at"],
            "seen_at": service["seen_at"],
            "visit": {
                "outcome": visit["outcome"],
                "reason": visit["reason"] or "",
                "last_visit_at": visit["last_visit_at"],
                "last_found_at": visit["last_found_at"],
                "response_ms": visit["response_ms"],
            },
            "usage": usage.to_json(),
            "model": orjson.Fragment(service["model"]),
            "capabilities": [
                {"name": name, "data": orjson.Fragment(data)}
                | ({} if detail is None else {"detail": orjson.Fragment(detail)})
                for name, data, detail in record.capabilities
            ],
            "listing": orjson.Fragment(service["listing"]),
            "findings": [
                {"reason": reason, "document": document, "pointer": pointer, "evidence": evidence}
                for reason, document, pointer, evidence in record.findings
            ],
            "grade": None
            if score is None
            else {
                "value": score[0],
                "rubric_version": score[1],
                "scored_at": score[2],
                "breakdown": orjson.Fragment(score[3]),
            },
            "documents": documents,
            "untrusted_text": True,
        }
    )


def tombstone(host: str, state: str, covering: Mapping[str, str] | None = None) -> bytes:
    """Return the JSON of a host without a service: `state` is opted_out, blocked or absent.

    `covering`: the opt-outs that cover it, host -> state.
    """
    told = [{"host": name, "kind": kind} for name, kind in covering.items()] if covering else None
    return orjson.dumps({"kind": state, "host": host} | ({"covering": told} if told else {}))


def state_of_opt_out(how: str) -> OptOutState:
    """Return what the public is told of an opt-out: the site's own wish, or a decision of an operator."""
    return "blocked" if how in ("operator", ORIGIN_BLOCK) else "opted_out"
