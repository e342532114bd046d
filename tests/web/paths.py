"""The pages that every test of all pages opens, over the registry of `tests/api/sites.py`."""

from typing import Final

from registry.web.guides import BY_SLUG
from registry.web.rendering import Links
from tests.api import sites

LINKS: Final = Links("", "", frozenset())

PAGES: Final = (
    "/",
    "/rubric",
    "/reasons",
    "/reasons/adp.base_url",
    "/reasons/visit.disallowed",
    "/formats",
    "/formats/adp",
    "/formats/openapi",
    "/formats/llms-txt",
    "/problems",
    "/problems/rate-limited",
    "/bot",
    "/docs",
    "/terms",
    "/docs/api",
    "/docs/api/get-api-discover",
    "/docs/api/post-api-claims",
    "/docs/api/shapes",
    "/docs/api/shapes/DiscoverRow",
    *(f"/docs/{slug}" for slug in BY_SLUG),
    "/stats",
    "/stats?days=30",
    "/status",
    "/changes",
    "/changes?type=service.listed",
    "/audit",
    "/search",
    "/search?q=send+a+parcel",
    "/search?q=send+a+parcel&format=adp&sort=score&utm_source=elsewhere",
    "/search?q=zzyzx+qwertz+parcle",
    "/search?q=" + "x" * 10_000,
    "/search?q=%22%3E%3Csvg%2Fonload%3Dalert(1)%3E%E2%80%AEevil",
    "/search?sort=name&category=e-commerce&format=adp,awp&min_score=1",
    "/search?category=email&format=woa&min_score=90",
    *(
        LINKS.service(host)
        for host in (sites.PIGEON, sites.BIKES, sites.CARD, sites.TOOLS, sites.SLOPPY, sites.AWKWARD)
    ),
    LINKS.service(sites.PIGEON) + "?c=track",
    LINKS.service(sites.PIGEON) + "?c=" + "x" * 500,
    LINKS.capability(sites.PIGEON, "create_parcel"),
    LINKS.capability(sites.PIGEON, "price_parcel"),
    LINKS.capability(sites.TOOLS, "get_forecast"),
    LINKS.to("/s/{host}/c/{name}", {"as": "openai-tool"}, host=sites.PIGEON, name="create_parcel"),
    LINKS.to("/s/{host}/c/{name}", {"as": "record"}, host=sites.AWKWARD, name=sites.AWKWARD_NAME),
    "/compare",
    LINKS.compare((sites.PIGEON, sites.BIKES, sites.AWKWARD)),
    LINKS.compare((sites.CARD, "unknown.example.com", "no host", "\u202e<b>", sites.TOOLS)),
    LINKS.capability(sites.AWKWARD, sites.AWKWARD_NAME),
    "/check",
    "/check?at=%2Fagent.json",
    "/submit",
    "/submit?hosts=%22%3E%3Csvg%2Fonload%3Dalert(1)%3E",
    "/opt-out",
    "/opt-out?host=" + "x" * 500,
    LINKS.to("/opt-out/{host}", host=sites.PIGEON),
    LINKS.to("/opt-out/{host}", host="unknown.example.com"),
    *(LINKS.to("/s/{host}/crawl", host=host) for host in (sites.PIGEON, sites.NOTHING, sites.FAILING, sites.AWKWARD)),
    *(
        LINKS.to(f"/s/{{host}}/{page}", host=host)
        for page in ("evidence", "history", "recheck", "report")
        for host in (sites.PIGEON, sites.AWKWARD)
    ),
    LINKS.to("/s/{host}/recheck", host=sites.NOTHING),
    LINKS.to("/claim/{host}", host=sites.PIGEON),
    LINKS.to("/claim/{host}", host="unknown.example.com"),
    "/claims",
    LINKS.to("/owner/{host}", host=sites.PIGEON),
)
"""Paths that answer 200."""

SAMPLE: Final = frozenset(
    {
        "/",
        "/formats/adp",
        "/docs/operators",
        "/docs/api/get-api-discover",
        "/status",
        "/stats",
        "/search?sort=name&category=e-commerce&format=adp,awp&min_score=1",
        "/search?q=send+a+parcel",
        LINKS.service(sites.PIGEON),
        LINKS.capability(sites.PIGEON, "create_parcel"),
        LINKS.compare((sites.PIGEON, sites.BIKES, sites.AWKWARD)),
        LINKS.to("/s/{host}/history", host=sites.PIGEON),
        "/check",
        "/submit",
        LINKS.to("/s/{host}/evidence", host=sites.PIGEON),
        "/no-such-page",
    }
)
"""The paths that `make test` opens in a browser; `make test-long` opens all."""

ERRORS: Final = (
    "/formats/no-such-format",
    "/reasons/no-such-reason",
    "/problems/none",
    "/docs/none",
    "/docs/api/none",
    "/docs/api/shapes/None",
    "/changes?type=none",
    "/changes?cursor=none",
    "/audit?cursor=none",
    "/audit?cursor=" + "x" * 1_000,
    "/no-such-page",
    "/static/nothing.css",
    "/search?q=parcel&format=none",
    "/search?sort=name&page=2&min_score=1",
    "/search?q=parcel&cursor=x",
    "/search?q=a&domain=%3Cscript%3E.com",
    LINKS.service(sites.NOTHING), LINKS.service("unknown.example"), LINKS.service("no host"),
    LINKS.service(sites.PIGEON) + "?page=2", LINKS.to("/s/{host}/crawl", {"page": 9}, host=sites.PIGEON),
    LINKS.to("/s/{host}/evidence", {"page": 9}, host=sites.PIGEON),
    "/submissions/1", "/submissions/00000000-0000-4000-8000-000000000000?offset=99999999",
    LINKS.to("/opt-out/{host}", host="no host"), LINKS.to("/s/{host}/crawl", host="unknown.example"),
    LINKS.to("/s/{host}/history", {"cursor": "none"}, host=sites.PIGEON),
    LINKS.to("/s/{host}/history", {"cursor": "x" * 1_000}, host=sites.PIGEON),
    *(
        LINKS.to(f"/s/{{host}}/{page}", host="unknown.example")
        for page in ("evidence", "history", "recheck", "report")
    ),
    "/claims/none", "/reports/none", "/reports/wp_report_0123456789abcdef_" + "A" * 43,
    LINKS.capability(sites.PIGEON, "nothing/at all"), LINKS.capability("unknown.example", "nothing"),
)  # fmt: skip
"""Paths that answer with a page about an error."""
