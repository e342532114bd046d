"""Examples of requests and answers: in the OpenAPI document and in our own capability details.

The tests hold each against its schema, so that an example never outlives the shape it shows.
Longer than other modules because it shows every answer once.
"""

from typing import Any, Final

_MOMENT: Final = "2026-11-20T03:00:11.000Z"
_BASE: Final = "https://registry.example"
_DETAIL: Final = "https://api.pigeonpost.example/v2/caps/create_parcel"

_SUMMARY: Final[dict[str, Any]] = {
    "name": "Pigeonpost",
    "domain": "api.pigeonpost.example",
    "description": "Books, prices and tracks parcels with local couriers.",
    "base_url": "https://api.pigeonpost.example/v2",
    "auth_type": "api_key",
    "pricing_type": "freemium",
    "verified": True,
    "trust_level": "verified",
    "category": None,
    "format": "adp",
    "formats": ["adp"],
    "protocols": ["adp"],
    "score": 87,
    "auth": {"schemes": [{"type": "api_key", "location": "header", "name": "X-Key"}], "required": True},
    "pricing": {"model": "freemium"},
    "freshness": {"last_crawled_at": _MOMENT, "seen_at": _MOMENT, "stale": False},
    "url": f"{_BASE}/api/services/api.pigeonpost.example",
    "untrusted_text": ["name", "description"],
}

DISCOVERED: Final[dict[str, Any]] = {
    "success": True,
    "query": "send a parcel",
    "result_count": 1,
    "data": [
        {
            "service": {**_SUMMARY, "cap_count": 4},
            "matching_capabilities": [
                {
                    "name": "create_parcel",
                    "description": "Creates a parcel and returns its label.",
                    "detail_url": _DETAIL,
                    "side_effects": True,
                    "why": {"matched_terms": ["parcel"], "score": 0.71, "similarity": 0.64},
                }
            ],
            "relevance": 0.93,
            "matched_terms": ["parcel"],
            "confident": True,
            "why": {
                "parts": {"words": 0.3, "topic": 0.28, "need": 0.35},
                "cover": 0.71,
                "similarity": 0.58,
            },
            "alike": [],
        }
    ],
    "total": 1,
    "next_cursor": None,
    "generation": "5f0e1c2d9a47.12",
    "confident": True,
}

LISTED: Final[dict[str, Any]] = {
    "success": True,
    "data": [{**_SUMMARY, "capability_count": 4, "created_at": "2026-11-02T08:15:30.000Z"}],
    "total": 31,
    "page": 1,
    "totalPages": 31,
    "next_offset": 1,
}

DETAIL: Final[dict[str, Any]] = {
    "name": "create_parcel",
    "description": "Creates a parcel and returns its label.",
    "endpoint": "/parcels",
    "method": "POST",
    "parameters": [
        {
            "name": "weight_g",
            "type": "number",
            "description": "Weight in grams.",
            "required": True,
            "example": 250,
            "in": "body",
        }
    ],
    "request_example": {
        "method": "POST",
        "url": "https://api.pigeonpost.example/v2/parcels",
        "headers": {"X-Key": "..."},
        "body": {"weight_g": 250},
    },
    "response_example": {"status": 201, "body": {"id": "p_1"}},
    "auth_scopes": [],
    "rate_limits": {"requests_per_minute": 30, "daily_limit": 1000},
    "resource_group": "parcels",
    "derived": [],
    "untrusted_text": True,
}

SERVICE: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "well_known_url": "https://api.pigeonpost.example/.well-known/agent",
        "verified": True,
        "trust_level": "verified",
        "crawl_failures": 0,
        "last_crawled_at": _MOMENT,
        "created_at": "2026-11-02T08:15:30.000Z",
        "updated_at": _MOMENT,
        "manifest": {
            "spec_version": "1.0",
            "name": "Pigeonpost",
            "description": "Books, prices and tracks parcels with local couriers.",
            "base_url": "https://api.pigeonpost.example/v2",
            "auth": {"type": "api_key", "header": "X-Key"},
            "pricing": {"type": "freemium"},
            "capabilities": [
                {
                    "name": "create_parcel",
                    "description": "Creates a parcel and returns its label.",
                    "detail_url": "/caps/create_parcel",
                    "resource_group": "parcels",
                }
            ],
        },
        "format": "adp",
        "formats": ["adp"],
        "protocols": [{"id": "adp", "version": "1.0"}],
        "score": {
            "value": 97,
            "rubric_version": "1",
            "sections": {
                "conformance": 28.0,
                "completeness": 29.0,
                "safety": 15.0,
                "operability": 15.0,
                "identity": 10.0,
            },
            "lines": [
                {
                    "reason": "document.content_type",
                    "section": "conformance",
                    "severity": "warning",
                    "points": 2.0,
                    "count": 1,
                    "says": "The file is served with another media type than its format names.",
                    "fix": "Configure the web server to send application/json for this path.",
                    "spec": "Agent Discovery Protocol 1.0, section 1",
                    "document": "https://api.pigeonpost.example/.well-known/agent",
                    "pointer": "",
                    "evidence": "text/plain",
                }
            ],
        },
        "auth": {"schemes": [{"type": "api_key", "location": "header", "name": "X-Key"}], "required": True},
        "pricing": {"model": "freemium"},
        "freshness": {"last_crawled_at": _MOMENT, "seen_at": _MOMENT, "stale": False},
        "documents": [
            {
                "url": "https://api.pigeonpost.example/.well-known/agent",
                "format": "adp",
                "dialect": "1.0",
                "outcome": "found",
                "seen_at": _MOMENT,
            }
        ],
        "untrusted_text": ["manifest"],
    },
}

STATUS: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "state": "listed",
        "outcome": "found",
        "reasons": [],
        "next_visit_at": "2026-11-21T03:00:11.000Z",
        "last_visit_at": _MOMENT,
        "status_url": f"{_BASE}/api/services/api.pigeonpost.example/status",
    },
}

CRAWL: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "registrable_domain": "pigeonpost.example",
        "opted_out": False,
        "being_visited": False,
        "requests_last_24h": 4,
        "host": {
            "host": "api.pigeonpost.example",
            "source": "submission",
            "referrer": None,
            "known_since": _MOMENT,
            "outcome": "found",
            "reason": "",
            "streak": 2,
            "alias_of": None,
            "last_visit_at": _MOMENT,
            "last_found_at": _MOMENT,
            "last_changed_at": _MOMENT,
            "next_visit": {
                "at": "2026-11-21T03:00:11.000Z",
                "why": "policy",
                "says": "1 d 2 h after a visit that ended with found, 2 times in a row",
            },
            "robots": {"status": 404, "fetched_at": _MOMENT},
        },
        "visits": [
            {
                "started_at": _MOMENT,
                "finished_at": _MOMENT,
                "outcome": "found",
                "reason": "",
                "whole_plan": False,
                "requests": 2,
                "address": "93.184.215.14",
                "answers": [
                    {
                        "url": "https://api.pigeonpost.example/.well-known/agent",
                        "purpose": "manifest",
                        "outcome": "found",
                        "format": "adp",
                        "status": 304,
                        "ms": 41,
                    }
                ],
            }
        ],
        "hosts": [],
        "status_url": f"{_BASE}/api/services/api.pigeonpost.example/status",
    },
}

SUBMISSION: Final[dict[str, Any]] = {"domain": "api.pigeonpost.example"}

PASTED: Final[dict[str, Any]] = {
    "manifest": {
        "spec_version": "1.0",
        "name": "Pigeonpost",
        "description": "Books, prices and tracks parcels with local couriers.",
        "base_url": "https://api.pigeonpost.example/v2",
        "auth": {"type": "none"},
        "capabilities": [
            {"name": "create_parcel", "description": "Creates a parcel.", "detail_url": "/caps/create_parcel"}
        ],
    }
}

SUBMITTED: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "name": "Pigeonpost",
        "trust_level": "verified",
        "verified": True,
        "detail_url_ok": True,
        "response_time_ms": 184,
        "message": "Listed.",
        "status_url": f"{_BASE}/api/services/api.pigeonpost.example/status",
    },
}

QUEUED: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "status": "queued",
        "status_url": f"{_BASE}/api/services/api.pigeonpost.example/status",
        "message": "Queued with priority; a visit takes up to a minute.",
    },
}

OPT_OUT_ASKED: Final[dict[str, Any]] = {"domain": "api.pigeonpost.example"}

OPT_OUT: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "opted_out": False,
        "covered_by": None,
        "how": None,
        "since": None,
        "request": {
            "undo": False,
            "asked_at": _MOMENT,
            "checked_at": None,
            "verdict": None,
            "message": "Queued; a worker looks at the site within a minute.",
            "again_at": None,
        },
        "status_url": f"{_BASE}/api/opt-outs/api.pigeonpost.example",
    },
}

PASTED_DETAIL: Final[dict[str, Any]] = {
    "name": "create_parcel",
    "description": "Creates a parcel and returns its label.",
    "endpoint": "/parcels",
    "method": "POST",
    "parameters": [{"name": "weight_g", "type": "number", "description": "Weight in grams.", "required": True}],
    "request_example": {"method": "POST", "url": "https://api.pigeonpost.example/v2/parcels"},
    "response_example": {"status": 201, "body": {"id": "p_1"}},
}

_FAULT: Final[dict[str, Any]] = {
    "reason": "adp.capability_required",
    "severity": "error",
    "pointer": "/capabilities/2/name",
    "line": 24,
    "column": 5,
    "evidence": "",
    "count": 1,
}
_REMEDY: Final[dict[str, Any]] = {"fix": "Add the member that is shown.", "spec": "ADP 1.0 section 2 and 7"}
_SAYS: Final = "A capability lacks name, description or detail_url; it was left out."

VALIDATED: Final[dict[str, Any]] = {
    "valid": False,
    "errors": [{"path": "capabilities[2].name", "message": _SAYS, **_FAULT, **_REMEDY}],
    "notes": [],
    "outcome": "found",
    "reason": "",
    "format": "adp",
    "dialect": "1.0",
    "score": 97,
    "sections": {"conformance": 26.67, "completeness": 30.0, "safety": 15.0, "operability": 15.0, "identity": 10.0},
    "findings": [{**_FAULT, "says": _SAYS, **_REMEDY}],
    "score_lines": [{**_FAULT, "says": _SAYS, **_REMEDY, "section": "conformance", "points": 3.33}],
    "untrusted_text": ["errors.evidence", "notes.evidence", "findings.evidence", "score_lines.evidence"],
}

UNREADABLE: Final[dict[str, Any]] = {
    "valid": False,
    "errors": [
        {
            "path": "$",
            "message": "A comma stands before a closing bracket. (line 3, column 27)",
            "line": 3,
            "column": 27,
        }
    ],
    "reason": "document.trailing_comma",
}

TRANSLATED: Final[dict[str, Any]] = {
    "success": True,
    "format": "awp",
    "media_type": "application/json",
    "document": {
        "awp_version": "0.2",
        "domain": "api.pigeonpost.example",
        "intent": "Books, prices and tracks parcels with local couriers.",
        "auth": {"type": "api_key"},
        "actions": [
            {
                "id": "create_parcel",
                "description": "Creates a parcel and returns its label.",
                "auth_required": True,
                "inputs": {"weight_g": {"type": "float", "required": True, "description": "Weight in grams."}},
                "endpoint": "https://api.pigeonpost.example/v2/parcels",
                "method": "POST",
            }
        ],
        "source": "synthetic",
        "generated_by": "waypost",
        "confidence": 0.87,
        "last_verified": "2026-11-20T03:00:11Z",
    },
    "losses": [
        {"what": "name", "why": "AWP has no place for it", "count": 1, "pointers": ["/name"]},
        {"what": "pricing model", "why": "AWP has no place for it", "count": 1, "pointers": ["/pricing/model"]},
    ],
    "source_formats": ["adp"],
    "native_url": None,
    "synthetic": True,
    "untrusted_text": ["document", "losses.what"],
}

HEALTH: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "status": "healthy",
        "total_monitored": 1,
        "healthy": 1,
        "degraded": 0,
        "down": 0,
        "services": [
            {"domain": "api.pigeonpost.example", "status": "up", "response_time_ms": 184, "checked_at": _MOMENT}
        ],
    },
}

HOST_HEALTH: Final[dict[str, Any]] = {
    "success": True,
    "data": {
        "domain": "api.pigeonpost.example",
        "name": "Pigeonpost",
        "current_status": "up",
        "response_time_ms": 184,
        "uptime_percentage": 100.0,
        "last_checked": _MOMENT,
        "history": [{"status": "up", "response_time_ms": 184, "checked_at": _MOMENT}],
    },
}
