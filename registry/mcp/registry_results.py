"""Makes the results of `registry_status` and `submit_service`."""

from collections.abc import Mapping
from typing import Any, Final

from registry.mcp.budget import first_within, lines_within, short
from registry.mcp.rendering import Json, Result, quoted


def status(ready: Json, health: Json, url: str) -> Result:
    """Return the result for `/readyz` (or its problem) and `/api/health`."""
    data = health["data"]
    content = {
        "url": url,
        "ready": ready["status"] == "ok",
        "parts": {name: str(state) for name, state in ready.get("parts", {}).items()},
        "services": {
            "listed": data["total_monitored"],
            "healthy": data["healthy"],
            "degraded": data["degraded"],
            "down": data["down"],
        },
    }
    counts = content["services"]
    states = f"{counts['healthy']} healthy, {counts['degraded']} degraded, {counts['down']} down"
    able = "can answer" if content["ready"] else "cannot answer at the moment"
    return Result(content, f"The registry at {url} {able}. It lists {counts['listed']} services: {states}.")


_NOT_LISTED: Final = "not-listed"
_KNOWN: Final = "already-registered"
SUBMISSION_PROBLEMS: Final = frozenset({_NOT_LISTED, _KNOWN})


def submitted(answer: Mapping[str, Any], slug: str | None) -> Result:
    """Return the result for a submission, or for one of the problems of SUBMISSION_PROBLEMS."""
    data = answer if slug else answer["data"]
    state = {_NOT_LISTED: "not_listed", _KNOWN: "known"}.get(slug or "", data.get("status", "listed"))
    message = data["detail"] if slug else data["message"]
    reasons = data.get("errors", []) if slug == _NOT_LISTED else []
    content = {
        "domain": data["domain"],
        "state": state,
        "message": message,
        "status_url": data["status_url"],
        "reasons": first_within([short(reason, 500) for reason in reasons], 4_000),
        "untrusted_text": ["reasons"],
    }
    lines = [f"{content['domain']}: {message}", *(f"- {quoted(reason, 300)}" for reason in content["reasons"])]
    return Result(content, lines_within(lines, 4_000))
