"""The paths that waypost requests of a host without manifests, from the real plan; all contestants request the same."""

from datetime import UTC, datetime

from registry.core.model.documents import FetchResult, Purpose
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import HostJob

_HOST = "cold.example.com"
_NONCE = "0123456789abcdef" * 2


def cold_paths() -> list[str]:
    """Return the paths in order: robots.txt, front page, control, then the table; every manifest is a 404."""
    now = datetime.now(UTC)
    plan = HostPlan(HostJob(_HOST, whole_plan=True), now=now, nonce=_NONCE)
    paths = []
    while (probe := plan.next()) is not None:
        paths.append(probe.url.removeprefix(f"https://{_HOST}"))
        page = {"content-type": "text/html"}
        status, body = (200, b"<title>Shop</title>") if probe.purpose is Purpose.HOME else (404, b"<p>Not found</p>")
        plan.take(probe, FetchResult(probe.url, probe.url, now, status=status, headers=page, body=body))
    return paths
