"""docs/revisit.md: how often a host is visited in a year, by kind of host, and the waits between visits."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from docs.generate.markdown import page, table
from docs.generate.timeline import HOST, START, Answer, TimelineVisit, timeline
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.scheduling.policy import (
    FOUND_LEAST,
    FOUND_MOST,
    SPENT_BUDGET_WAIT,
    WAITS,
    VisitHistory,
    backed_off,
    in_words,
)

_HOUR, _DAY, _WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
_HOME = "<!doctype html><title>A shop</title><p>Lamps and shades."
_WAITS_SHOWN = 8
_SHOWN = 6


@dataclass(frozen=True)
class HostKind:
    """A kind of host, with its simulated behaviour for a year."""

    name: str
    answer: Answer


def serving(body: str, status: int = 200, media_type: str = "text/html", **headers: str) -> Answer:
    """Return an Answer that gives every request the same response."""

    def answer(probe: Probe, now: datetime) -> FetchResult:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return FetchResult(probe.url, probe.url, now, status, {"content-type": media_type, **fields}, body.encode())

    return answer


def failing(outcome: Outcome, reason: str) -> Answer:
    """Return an Answer where every request fails with `outcome`."""
    return lambda probe, now: FetchResult(probe.url, probe.url, now, failure=outcome, reason=reason)


def site(pages: dict[str, Answer], otherwise: Answer | None = None) -> Answer:
    """Return an Answer that responds by path; any other path gets `otherwise`, by default a plain 404."""
    missing = otherwise or serving("not found", 404, "text/plain")

    def answer(probe: Probe, now: datetime) -> FetchResult:
        path = "/" + probe.url.split("/", 3)[3]
        return pages.get(path, missing)(probe, now)

    return answer


def shop(
    interval: timedelta | None = None, *, until: timedelta | None = None, gone_status: int = 404, **headers: str
) -> Answer:
    """Return a site whose manifest changes every `interval` and is gone after `until`, with status `gone_status`."""

    def manifest(probe: Probe, now: datetime) -> FetchResult:
        if until is not None and now >= START + until:
            return serving("gone", gone_status, "text/plain")(probe, now)
        version = 0 if interval is None else (now - START) // interval
        tag = f'"{version}"'
        if probe.etag == tag:
            return serving("", 304, "application/json", etag=tag, **headers)(probe, now)
        return serving(json.dumps(_manifest(version)), 200, "application/json", etag=tag, **headers)(probe, now)

    return site({"/": serving(_HOME), "/agent.json": manifest})


def cycling(*answers: Answer) -> Answer:
    """Return an Answer that cycles through the given ones, one per day."""
    return lambda probe, now: answers[(now - START) // _DAY % len(answers)](probe, now)


def _manifest(version: int) -> dict[str, Any]:
    action = {
        "id": "order_lamp",
        "description": f"Orders one lamp, catalogue {version}.",
        "endpoint": "/orders",
        "method": "POST",
        "auth_required": False,
        "inputs": {"lamp": {"type": "string", "required": True}},
        "outputs": {"order": {"type": "string"}},
    }
    return {"awp_version": "0.2", "domain": HOST, "intent": "Sells lamps and shades.", "actions": [action]}


def _redirected_away(probe: Probe, now: datetime) -> FetchResult:
    return FetchResult(probe.url, probe.url, now, failure=Outcome.REDIRECTED_AWAY, reason="to elsewhere.com")


def _robots(text: str) -> Answer:
    return site({"/robots.txt": serving(text, media_type="text/plain"), "/": serving(_HOME)})


def _except_robots(otherwise: Answer) -> Answer:
    """Return a site that serves robots.txt and answers everything else with `otherwise`."""
    return lambda probe, now: (
        serving("User-agent: *\nAllow: /\n", media_type="text/plain") if probe.purpose is Purpose.ROBOTS else otherwise
    )(probe, now)


NOTHING: Final = site({"/": serving(_HOME)})

KINDS: Final = (
    HostKind("a site with nothing for agents", NOTHING),
    HostKind("the same page for every path", serving(_HOME)),
    HostKind("nothing, and robots.txt asks for 10 s between requests", _robots("User-agent: *\nCrawl-delay: 10\n")),
    HostKind("robots.txt closes the site to everybody", _robots("User-agent: *\nDisallow: /\n")),
    HostKind("robots.txt names us: an opt-out", _robots("User-agent: WaypostBot\nDisallow: /\n")),
    HostKind("no such name", failing(Outcome.UNREACHABLE, "nxdomain")),
    HostKind("connections time out", failing(Outcome.UNREACHABLE, "connect_timeout")),
    HostKind("away, each day in another way", cycling(
        failing(Outcome.UNREACHABLE, "connect_timeout"), failing(Outcome.UNREACHABLE, "nxdomain"),
        failing(Outcome.TLS_ERROR, "certificate_expired"))),
    HostKind("its certificate has expired", failing(Outcome.TLS_ERROR, "certificate_expired")),
    HostKind("403 to everything", _except_robots(serving("no", 403, "text/plain"))),
    HostKind("429 to everything, Retry-After of six hours",
         _except_robots(serving("later", 429, "text/plain", retry_after="21600"))),
    HostKind("500 to everything, robots.txt too", serving("oops", 500, "text/plain")),
    HostKind("500 to everything but robots.txt", _except_robots(serving("oops", 500, "text/plain"))),
    HostKind("every path leads to another site", _except_robots(_redirected_away)),
    HostKind("a manifest that cannot be read",
         site({"/": serving(_HOME), "/agent.json": serving('{"awp', media_type="application/json")})),
    HostKind("a manifest that never changes", shop()),
    HostKind("a manifest that changes every month", shop(30 * _DAY)),
    HostKind("a manifest that changes every week", shop(_WEEK)),
    HostKind("a manifest that changes every day", shop(_DAY)),
    HostKind("a manifest that changes every six hours", shop(6 * _HOUR)),
    HostKind(
        "the same, to be kept for two days (Cache-Control: max-age)",
        shop(6 * _HOUR, cache_control="max-age=172800"),
    ),
    HostKind("a manifest that is taken away after 100 days (404)", shop(until=100 * _DAY)),
    HostKind("a manifest that is taken away after 100 days (410)", shop(until=100 * _DAY, gone_status=410)),
)  # fmt: skip


def revisit_page() -> str:
    """Return the page: visits by kind of host, and waits by outcome."""
    return page(
        "How often a host is visited",
        "Requests that one host sees in the first year after it is heard of, played through the plan, the judgement "
        "and the policy of this version. `www.`, and the sub-hosts that a domain with something for agents has looked "
        "at (`api.`, `docs.`, `mcp.`), are hosts of their own. A submission adds at most one visit in an hour; 120 "
        "requests to a registrable domain in 24 hours are never exceeded.",
        table(("kind of host", "visits", "requests", "most in a visit", "days of the first visits"), map(_row, KINDS)),
        "## Waits by outcome",
        "After so many visits in a row that ended alike; each is spread by up to a tenth, always the same for a host. "
        f"A document found is asked for again after a day, then after half the last wait when something changed and "
        f"twice as long when not, between {in_words(FOUND_LEAST)} (or as long as the host lets it be kept: max-age, "
        f"Expires) and {in_words(FOUND_MOST)}. Retry-After is kept to up to a day, by every reason to come sooner too. "
        f"Where a budget of the day was spent before a visit began, the host is asked "
        f"{in_words(SPENT_BUDGET_WAIT)} later and the visit does not count. Something once found is "
        "gone after a second look, six hours later or more, or at once with 410.",
        table(("outcome", *(str(number) for number in range(1, _WAITS_SHOWN + 1))), map(_waits, _outcomes())),
    )


def _row(kind: HostKind) -> Sequence[str]:
    visits = list(timeline(kind.answer))
    days = ", ".join(f"{(visit.at - START) / _DAY:.3g}" for visit in visits[:_SHOWN])
    suffix = ", …" if len(visits) > _SHOWN else ""
    return (
        kind.name,
        str(len(visits)),
        str(requests(visits)),
        str(max(visit.requests for visit in visits)),
        days + suffix,
    )


def requests(visits: Iterable[TimelineVisit]) -> int:
    """Return the number of requests that reached the host."""
    return sum(visit.requests for visit in visits)


def _outcomes() -> Iterable[Outcome]:
    return (*WAITS, Outcome.SERVER_ERROR)


def _waits(outcome: Outcome) -> Sequence[str]:
    waits = (backed_off(outcome, VisitHistory("", streak)) for streak in range(1, _WAITS_SHOWN + 1))
    return outcome.value.replace("_", " "), *map(in_words, waits)
