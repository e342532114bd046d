"""The page behind the crawler's User-Agent, and the front door: plain text for whoever reads a log or opens the URL."""

from importlib.metadata import version
from typing import Final

from fastapi import Request, Response

from registry.api.params import base_url
from registry.api.problems import NOT_FOUND, Problem
from registry.api.strict import strict_router
from registry.core.optout import FILE_PATH, TXT_LABEL
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
{daily} in 24 hours; at most {connections} connections at once and {block} requests in a day to one block of addresses
(/24, IPv6 /48). A host where nothing was found is asked again after two weeks and then ever more rarely; a known
document conditionally (If-None-Match), and not sooner than Cache-Control or Retry-After say.

How to stop it. robots.txt is followed (RFC 9309, Crawl-delay too). This keeps the whole site out, for good and out of
every answer, from the next visit on:

  User-agent: {product}
  Disallow: /

At once, and with everything that is stored about the site deleted: put the word opt-out into one of these two

  https://your.host{file}    (a text file that begins with it)
  {label}.your.host    (a TXT record)

and say so: POST {base}/api/opt-outs {{"domain": "your.host"}}. Nobody looks there before somebody asks, so that no
visit costs you more; putting it there is all the proof that is needed. At the apex or www. it is for the whole domain,
below for that host and the hosts under it. What came of it stands at {base}/api/opt-outs/your.host

How to come back. Take away what said so, then POST {base}/api/opt-outs {{"domain": "your.host", "undo": true}}.

How to be asked again. POST {base}/api/services {{"domain": "your.host"}}; what became of it, and when the next visit
is, stands at {base}/api/services/your.host/status

Who runs it. {who}

It calls itself: {product}/{version} ({reachable_at})
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
        reachable_at=settings.reachable_at,
        who=_who(settings),
        file=FILE_PATH,
        label=TXT_LABEL,
        connections=settings.block_connections,
        block=settings.block_daily_budget,
        base=base_url(request),
        delay=settings.request_delay,
        budget=settings.request_budget,
        daily=settings.domain_daily_budget,
    )
    return _text(text)


def _who(settings: Settings) -> str:
    if settings.contact_email:
        return f"Write to {settings.contact_email}: people read it."
    if settings.contact_url:
        return f"How to reach its operator stands at {settings.contact_url}"
    return f"Its operator has left no address here (setting contact_email); the registry is {settings.public_url}"


def _text(text: str) -> Response:
    return Response(text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"})
