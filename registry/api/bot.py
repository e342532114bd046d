"""The page that the crawler's User-Agent links to, in plain text."""

from importlib.metadata import version
from typing import Final

from fastapi import Request, Response

from registry.actions.frontier.recheck import MOST_OF_DOMAIN
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL
from registry.core.visiting.robots import PRODUCT
from registry.edge.requests import base_url
from registry.edge.routing import strict_router
from registry.settings import Settings

router = strict_router(tags=["about"])

_BOT: Final = """{product}: the crawler of this registry

What it requests. Manifests in which sites tell AI agents what they may do there (/.well-known/agent, /agent.json and
similar paths), robots.txt, the home page for the links in its head, and one or two random paths, to distinguish a page
that answers everything from a document. About 20 requests to a host that has none of these; a host that was
named or submitted is asked for all paths once, at most {named} requests. GET over HTTPS, except that the MCP server
that such a host names may be asked for its list of tools (POST; no tool is ever called). It submits no forms and does
not follow links into other sites' private areas.

How often. One request at a time to a registrable domain, {delay:g} s apart, at most {budget} requests in a visit and
{daily} in 24 hours; at most {connections} connections at once and {block} requests a day to one block of addresses
(/24, IPv6 /48). A host where nothing was found is visited again after two weeks and then ever more rarely. A known
document is requested conditionally (If-None-Match), and not sooner than Cache-Control or Retry-After allow.

How to stop it. robots.txt is followed (RFC 9309, and Crawl-delay). This excludes the whole site, permanently and from
every answer, from the next visit on:

  User-agent: {product}
  Disallow: /

To opt out at once and have everything stored about the site deleted, put the word opt-out into one of these two

  https://your.host{file}    (a text file that begins with it)
  {label}.your.host    (a TXT record)

and announce it: POST {base}/api/opt-outs {{"domain": "your.host"}}. They are checked only on request, and then
within seconds, even when many visits are waiting; the check is one request. No other proof is needed.
On a registered domain or its www host, this covers the whole domain; on any other host, that host and those below it.
The result is at {base}/api/opt-outs/your.host

How to return. Remove the opt-out, then POST {base}/api/opt-outs {{"domain": "your.host", "undo": true}}.

How to request a visit. POST {base}/api/services {{"domain": "your.host"}}; its result and the time of the next visit
are at {base}/api/services/your.host/status
A host that is known is visited again by POST {base}/api/verify/your.host (anyone may ask, {rechecks} times a day in
all for a domain; the limits above still apply). Step by step: docs/operators.md of the project.

Who runs it. {operator}

User-Agent: {product}/{version} ({reachable_at})
"""


@router.get("/bot", response_class=Response, summary="What the crawler does", include_in_schema=False)
async def bot(request: Request) -> Response:
    settings: Settings = request.app.state.settings
    text = _BOT.format(
        product=PRODUCT,
        version=version("waypost"),
        reachable_at=settings.reachable_at,
        operator=_operator_contact(settings),
        file=FILE_PATH,
        label=TXT_LABEL,
        connections=settings.block_connections,
        block=settings.block_daily_budget,
        base=base_url(request),
        delay=settings.request_delay,
        budget=settings.request_budget,
        named=settings.named_request_budget,
        daily=settings.domain_daily_budget,
        rechecks=MOST_OF_DOMAIN,
    )
    return _plain_text(text)


def _operator_contact(settings: Settings) -> str:
    if settings.contact_email:
        return f"Write to {settings.contact_email}: people read it."
    if settings.contact_url:
        return f"To reach its operator, see {settings.contact_url}"
    return f"Its operator has not configured an address (setting contact_email); the registry is {settings.public_url}"


def _plain_text(text: str) -> Response:
    return Response(text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"})
