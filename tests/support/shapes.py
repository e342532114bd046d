"""The tables of the registry contract as JSON Schemas, written from what its clients read; extra keys are allowed."""

from typing import Any

import jsonschema_rs

TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
ABSOLUTE = {"type": "string", "pattern": "^https?://"}
MAYBE_MOMENT = {"anyOf": [MOMENT, {"type": "null"}]}
DONE = {"const": True}


def shape(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these members, all required, and any others."""
    return {"type": "object", "required": list(properties), "properties": properties}


def rows(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_SUMMARY = {
    "name": TEXT,
    "domain": TEXT,
    "description": TEXT,
    "base_url": ABSOLUTE,
    "auth_type": {"enum": ["none", "api_key", "oauth2"]},
    "pricing_type": {"enum": ["free", "freemium", "paid"]},
    "verified": {"type": "boolean"},
    "trust_level": {"enum": ["verified", "community", "unverified"]},
    "category": {"type": ["string", "null"]},
}

DISCOVER = shape(
    success=DONE,
    query=TEXT,
    result_count=COUNT,
    data=rows(
        shape(
            service=shape(**_SUMMARY, cap_count=COUNT),
            matching_capabilities=rows(shape(name=TEXT, description=TEXT, detail_url=ABSOLUTE)),
        )
    ),
)
LIST = shape(
    success=DONE,
    data=rows(shape(**_SUMMARY, capability_count=COUNT, created_at=MOMENT)),
    total=COUNT,
    page={"type": "integer", "minimum": 1},
    totalPages={"type": "integer", "minimum": 1},
)
MANIFEST = shape(
    spec_version={"const": "1.0"},
    name=TEXT,
    description=TEXT,
    base_url=ABSOLUTE,
    auth=shape(type=_SUMMARY["auth_type"]),
    capabilities=rows(shape(name=TEXT, description=TEXT, detail_url=TEXT)),
)
SERVICE = shape(
    success=DONE,
    data=shape(
        domain=TEXT,
        well_known_url=ABSOLUTE,
        verified={"type": "boolean"},
        trust_level=_SUMMARY["trust_level"],
        crawl_failures=COUNT,
        last_crawled_at=MAYBE_MOMENT,
        created_at=MOMENT,
        updated_at=MOMENT,
        manifest=MANIFEST,
    ),
)
DETAIL = shape(
    name=TEXT,
    endpoint=TEXT,
    method=TEXT,
    parameters=rows(shape(name=TEXT, type=TEXT, description=TEXT, required={"type": "boolean"})),
    request_example={"type": "object"},
    response_example={"type": "object"},
)
HEALTH = shape(
    success=DONE,
    data=shape(
        status={"enum": ["healthy", "degraded"]},
        total_monitored=COUNT,
        healthy=COUNT,
        degraded=COUNT,
        down=COUNT,
        services=rows(shape(domain=TEXT, status=TEXT, response_time_ms={}, checked_at=MAYBE_MOMENT)),
    ),
)
HOST_HEALTH = shape(
    success=DONE,
    data=shape(
        domain=TEXT,
        name=TEXT,
        current_status={"enum": ["up", "degraded", "down", "unknown"]},
        response_time_ms={"type": ["integer", "null"]},
        uptime_percentage={"type": ["number", "null"]},
        last_checked=MAYBE_MOMENT,
        history=rows(shape(status=TEXT, response_time_ms={}, checked_at=MOMENT)),
    ),
)
_CHECK_STATUS = {"enum": ["up", "degraded", "down", "unknown"]}
VERIFIED = shape(
    success=DONE,
    data=shape(domain=TEXT, verified={"type": "boolean"}, trust_level=_SUMMARY["trust_level"], message=TEXT),
)
NOT_VERIFIED = shape(
    success={"const": False}, errors=rows(TEXT), response_time_ms={"type": ["integer", "null"]}, crawl_failures=COUNT
)
CHECKED = shape(
    success=DONE, data=shape(domain=TEXT, status=_CHECK_STATUS, response_time_ms={"type": ["integer", "null"]})
)
STATUS = shape(
    success=DONE,
    data=shape(
        overall_status={"enum": ["healthy", "degraded", "down"]},
        reasons={"type": "array", "items": {"type": "string"}},
        total_monitored=COUNT,
        healthy=COUNT,
        degraded=COUNT,
        down=COUNT,
        services=rows(
            shape(
                domain=TEXT,
                name=TEXT,
                status=_CHECK_STATUS,
                response_time_ms={"type": ["integer", "null"]},
                uptime_percentage={"type": ["number", "null"]},
                last_checked=MAYBE_MOMENT,
                trust_level=_SUMMARY["trust_level"],
            )
        ),
        last_updated=MAYBE_MOMENT,
    ),
)
REPORTED = shape(success=DONE, data=shape(message=TEXT))
VALIDATED = shape(valid={"type": "boolean"}, errors=rows(shape(path=TEXT, message=TEXT)))
FAILED = shape(success={"const": False}, error=TEXT)
PROBLEM = shape(
    type=TEXT, title=TEXT, status={"type": "integer", "minimum": 400, "maximum": 599}, detail=TEXT, instance=TEXT
)


def assert_shape(schema: dict[str, Any], value: Any) -> None:
    faults = [f"{list(error.instance_path)}: {error.message}" for error in jsonschema_rs.iter_errors(schema, value)]
    assert not faults, faults
