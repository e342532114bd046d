"""Sites as dictionaries on which the plan is tested, and helpers that read a visit."""

import json
from collections.abc import Callable
from hashlib import sha256

from registry.core.model.documents import Outcome, Via
from registry.core.visiting.visits import KnownDocument, ProbeResult, Visit
from tests.support.web import Page, page

HOST = "shop.example"
HOME = "https://shop.example"
AWP = json.dumps({
    "awp_version": "0.2", "domain": HOST, "intent": "Sell garden tools",
    "actions": [{"id": "buy", "description": "Buy a tool", "endpoint": "/api/buy", "method": "POST"}],
})  # fmt: skip


def adp(count: int, detail: str = "/d/{}") -> str:
    return json.dumps({
        "spec_version": "1.0", "name": "Mail", "description": "Sends electronic mail for programs.", "base_url": HOME,
        "auth": {"type": "none"},
        "capabilities": [
            {"name": f"cap_{n}", "description": f"Capability number {n}", "detail_url": detail.format(n)}
            for n in range(count)
        ],
    })  # fmt: skip


def detail(path: str) -> Page:
    return page(json.dumps({"name": path[3:], "endpoint": f"/v1{path}", "method": "GET", "parameters": []}))


def card(**more: object) -> str:
    return json.dumps({"name": "Agent", "url": f"{HOME}/rpc", "skills": [], "capabilities": {}, **more})


def paths(visit: Visit, host: str = HOST) -> list[str]:
    return [a.probe.url.removeprefix(f"https://{host}") for a in visit.answers]


def answer(visit: Visit, path: str) -> ProbeResult:
    url = path if path.startswith("https://") else HOME + path
    return next(a for a in visit.answers if a.probe.url == url)


def verdict(visit: Visit, path: str) -> tuple[Outcome, str]:
    assessment = answer(visit, path).assessment
    return assessment.outcome, assessment.reason


def catalogue(*entries: dict[str, object]) -> str:
    return json.dumps({"specVersion": "1.0", "entries": list(entries)})


def entry(
    name: str, url: str | None = None, kind: str = "application/a2a-agent-card+json", **more: object
) -> dict[str, object]:
    target: dict[str, object] = {"url": url} if url else {}
    return {"identifier": f"urn:air:shop.example:{name}", "displayName": name, "type": kind, **target, **more}


def details_site(count: int) -> Callable[[str], Page]:
    def site(path: str) -> Page:
        if path == "/.well-known/agent":
            return page(adp(count), etag='"1"')
        return detail(path) if path.startswith("/d/") else page("", "text/plain", 404)

    return site


def known(path: str, body: str, slug: str = "awp", etag: str | None = '"1"', via: Via | None = None) -> KnownDocument:
    digest = sha256(body.encode()).digest()
    return KnownDocument(HOME + path, slug, Outcome.FOUND, digest, etag=etag, via=via)
