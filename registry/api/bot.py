"""The page behind the crawler's User-Agent, and the front door: plain text for whoever reads a log or opens the URL."""

from importlib.metadata import version
from typing import Final

from fastapi import Request, Response

from registry.api.params import base_url
from registry.api.problems import NOT_FOUND, Problem
from registry.api.strict import strict_router
from registry.core.robots import PRODUCT
from registry.settings import Settings

router = strict_router(tags=["about"])

_FRONT: Final = """waypost, a discovery registry for the agent web

Ask for a service    {base}/api/discover?q=send+an+email
List services        {base}/api/services
Submit a host        POST {base}/api/services {{"domain": "example.org"}}
How scores are made  {base}/api/rubric
All of it, described {base}/openapi.json
As an agent service  {base}/.well-known/agent
The crawler          {base}/bot
"""

_BOT: Final = """{product}: the crawler of this registry

What it asks for. Manifests in which sites tell AI agents what they may do there (/.well-known/agent, /agent.json and
the like), robots.txt, the front page for the links in its head, and one or two random names, to tell a page that
answers everything from a document. GET over HTTPS only, about 20 requests to a host that has none of these. It sends
no forms, calls no API and takes no URL from a document that leads to another site's private parts.

How often. One request at a time to a registrable domain, {delay:g} s apart, at most {budget} requests in a visit and
{daily} in 24 hours. A host where nothing was found is asked again after two weeks and then ever more rarely; a known
document conditionally (If-None-Match).

How to stop it. robots.txt is followed (RFC 9309, Crawl-delay too). This keeps the whole site out, for good and out of
every answer:

  User-agent: {product}
  Disallow: /

How to be asked again. POST {base}/api/services {{"domain": "your.host"}}; what became of it, and when the next visit
is, stands at {base}/api/services/your.host/status

It calls itself: {product}/{version} (+{contact})
"""


@router.get("/", response_class=Response, summary="The front door", include_in_schema=False)
async def front(request: Request) -> Response:
    if request.scope["path"] != "/":
        raise Problem(NOT_FOUND, "There is nothing at this path.")  # routes match up to a trailing line break
    return _text(_FRONT.format(base=base_url(request)))


@router.get("/bot", response_class=Response, summary="What the crawler does", include_in_schema=False)
async def bot(request: Request) -> Response:
    settings: Settings = request.app.state.settings
    text = _BOT.format(
        product=PRODUCT,
        version=version("waypost"),
        contact=settings.contact,
        base=base_url(request),
        delay=settings.request_delay,
        budget=settings.request_budget,
        daily=settings.domain_daily_budget,
    )
    return _text(text)


def _text(text: str) -> Response:
    return Response(text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"})
