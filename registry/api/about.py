"""About this registry: the problem types that answers name, the rules behind every score, and the known formats; and
`/bot`, the page that the crawler's User-Agent links to, in plain text.
"""

from importlib.metadata import version
from typing import Annotated, Final

from fastapi import Path, Request, Response

from registry.actions.frontier.recheck import MOST_OF_DOMAIN
from registry.api.documents import errors, not_modified
from registry.api.params import existing
from registry.api.rows import project
from registry.api.schemas.monitoring import (
    FormatRow,
    OneProblemType,
    OneReason,
    ProblemTypes,
    ReasonDetail,
    ReasonRow,
    Reasons,
    Rubric,
    RubricRule,
)
from registry.core.formats import FORMATS
from registry.core.merging.trust import CHECKED, IDENTITIES, REASONS, meaning_of_level
from registry.core.model.findings import Rule
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL
from registry.core.reasons import TEXTS, ReasonText
from registry.core.scoring.rubric import BESIDE, METHOD, QUESTIONS, RUBRIC, SECTION_POINTS, VERSION
from registry.core.visiting.robots import PRODUCT
from registry.core.web_bot_auth import DIRECTORY_PATH
from registry.edge import problems
from registry.edge.problems import NOT_FOUND
from registry.edge.requests import base_url
from registry.edge.responses import PAGE, data_response, json_response
from registry.edge.routing import strict_router
from registry.settings import Settings
from registry.wiring.signing_keys import agent_of

router = strict_router(tags=["about"])


ProblemSlug = Annotated[str, Path(description="The last part of a `type`.", examples=["unknown-parameter"])]


@router.get(
    "/api/problems",
    response_model=ProblemTypes,
    responses={**errors(), **not_modified()},
    summary="List the problem types",
    description="What the `type` of an error means and what to do about it.",
)
async def problem_types(request: Request) -> Response:
    return data_response(request, problems.PROBLEM_TYPES, cache=PAGE)


@router.get(
    "/api/problems/{slug}",
    response_model=OneProblemType,
    responses={**errors(NOT_FOUND), **not_modified()},
    summary="One problem type",
    description="The page that the `type` of an error links to.",
)
async def problem_type(request: Request, slug: ProblemSlug) -> Response:
    kind = next((kind for kind in problems.PROBLEM_TYPES if kind.slug == slug), None)
    return data_response(request, existing(kind, NOT_FOUND, "There is no such problem type."), cache=PAGE)


@router.get(
    "/api/rubric",
    response_model=Rubric,
    responses=errors(),
    summary="The rules behind every score",
    description="Every reason that a score can name: what was seen, what it costs, how to fix it, and which "
    "specification requires it. `version` is stored with each score. `method` explains how a score is computed, "
    "`beside` what is shown beside it but is not part of it, such as freshness. "
    "`trust` says what the words of identity and the trust levels mean, and why one is not better.",
)
async def rubric(request: Request) -> Response:
    content: Rubric = {
        "success": True,
        "version": VERSION,
        "sections": {section.value: points for section, points in SECTION_POINTS.items()},
        "about_sections": [
            {"section": section.value, "points": points, "question": QUESTIONS[section]}
            for section, points in SECTION_POINTS.items()
        ],
        "method": METHOD,
        "beside": BESIDE,
        "trust": {
            "levels": [
                {"trust_level": level, "checked": checked, "means": meaning_of_level(level)}
                for level, checked in CHECKED.items()
            ],
            "identities": [
                {"identity": word, "label": about.label, "means": about.means, "trust_level": about.trust_level}
                for word, about in IDENTITIES.items()
            ],
            "reasons": [{"reason": reason.code, "says": reason.says, "fix": reason.fix} for reason in REASONS.values()],
        },
        "data": [_rule(rule) for rule in RUBRIC.values()],
        "formats": [project(FormatRow, form, purpose=form.about, example=form.example_text) for form in FORMATS],
    }
    return json_response(request, content)


ReasonCode = Annotated[str, Path(max_length=80, description="A code of `/api/reasons`.", examples=["trust.failing"])]


@router.get(
    "/api/reasons",
    response_model=Reasons,
    responses={**errors(), **not_modified()},
    summary="List the reason codes",
    description="Every code that an answer or a page can give as a reason: the rules of the rubric, and with their "
    "family before the point, outcomes of visits, reasons of trust levels, of missing calls, of holds and of refusals.",
)
async def reasons(request: Request) -> Response:
    return data_response(request, [_reason(request, text) for text in TEXTS.values()], cache=PAGE)


@router.get(
    "/api/reasons/{code}",
    response_model=OneReason,
    responses={**errors(NOT_FOUND), **not_modified()},
    summary="One reason code",
    description="What a reason means and what to do about it.",
)
async def reason(request: Request, code: ReasonCode) -> Response:
    text, rule = existing(TEXTS.get(code), NOT_FOUND, "There is no such reason."), RUBRIC.get(code)
    data: ReasonDetail = {
        **_reason(request, text),
        "rule": None if rule is None else _rule(rule),
        "formats": [form.slug for form in FORMATS if rule in form.rules],
    }
    return data_response(request, data, cache=PAGE)


def _reason(request: Request, text: ReasonText) -> ReasonRow:
    link = text.link if text.link.startswith("https:") else f"{base_url(request)}{text.link}"
    return project(ReasonRow, text, link=link)


def _rule(rule: Rule) -> RubricRule:
    return project(RubricRule, rule, reason=rule.code, severity=rule.severity.value, section=rule.section.value)


_UNSIGNED: Final = "This registry does not sign its requests."
_SIGNED: Final = """Its requests are signed (Web Bot Auth, RFC 9421), each for the host that it is sent to. The keys
are at {base}{path}"""

_BOT: Final = """{product}: the crawler of this registry

  User-Agent: {product}/{version} ({reachable_at})
  Name in robots.txt: {product}
  Rate: one request in {delay:g} s to a domain, at most {budget} in a visit and {daily} in 24 hours
  Addresses: {addresses}
  Keys: {keys}
  Opt out: {base}/opt-out
  Contact: {contact}

What it requests. Manifests in which sites tell AI agents what they may do there (/.well-known/agent, /agent.json and
similar paths), robots.txt, the home page for the links in its head, and one or two random paths, to distinguish a page
that answers everything from a document. About 20 requests to a host that has none of these; a host that was
named or submitted is asked for all paths once, at most {named} requests. GET over HTTPS, except that the MCP server
that such a host names may be asked for its list of tools (POST; no tool is ever called). It submits no forms and does
not follow links into other sites' private areas.

How often. One request at a time to a registrable domain, {delay:g} s apart, at most {budget} requests in a visit and
{daily} in 24 hours; at most {connections} connections at once and {block:,} requests a day to one block of addresses
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
are at {base}/api/services/your.host/status.
A host that is known is visited again by POST {base}/api/verify/your.host (anyone may ask, {rechecks} times a day in
all for a domain; the limits above still apply). Step by step: {base}/docs/operators

How to verify it. {verification}

Who runs it. {operator}
"""


@router.get("/bot", response_class=Response, summary="What the crawler does", include_in_schema=False)
async def bot(request: Request) -> Response:
    settings: Settings = request.app.state.settings
    is_signed = agent_of(settings) is not None and bool(request.app.state.signing_keys.keys())
    text = _BOT.format(
        product=PRODUCT,
        version=version("waypost"),
        reachable_at=settings.reachable_at,
        operator=_operator_contact(settings),
        contact=settings.contact_email or settings.contact_url or "not configured by the operator",
        addresses="not fixed; a signature verifies a request" if is_signed else "not fixed",
        keys=f"{base_url(request)}{DIRECTORY_PATH}" if is_signed else "none, because requests are not signed",
        verification=_SIGNED.format(base=base_url(request), path=DIRECTORY_PATH) if is_signed else _UNSIGNED,
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
    return Response(text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": PAGE})


def _operator_contact(settings: Settings) -> str:
    if settings.contact_email:
        return f"Write to {settings.contact_email}: people read it."
    if settings.contact_url:
        return f"To reach its operator, see {settings.contact_url}"
    return f"Its operator has not configured an address (WAYPOST_CONTACT_EMAIL); the registry is {settings.public_url}"
