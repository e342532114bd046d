"""Pages about this registry: the rubric, reasons, formats, errors, the crawler, the terms, and the guides."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from registry.core.assessing.recognise import ROWS, Foreign
from registry.core.format_support.format import ROLES
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.reasons import FAMILIES
from registry.edge import inside
from registry.edge.problems import NOT_FOUND, Problem
from registry.web.asking import ask
from registry.web.guides import BY_SLUG, GUIDES, rendered
from registry.web.reference import reference_of
from registry.web.rendering import HOUR, Links, links_of, respond

_TITLE_CHARS: Final = 30


class AboutSection(NamedTuple):
    """A part of the text about the crawler. `is_code`: lines to copy unchanged."""

    text: str
    is_code: bool
    title: str = ""


SEVERITIES: Final[Mapping[str, str]] = {
    "error": "the part cannot be used and is left out",
    "warning": "a deviation whose meaning is clear",
    "info": "good to know, and mostly without cost",
}
_NOUNS: Final = {"info": "note"}


async def rubric(request: Request) -> Response:
    answer = await ask(request, "/api/rubric")
    sections = []
    for section in answer["about_sections"]:
        rules = [rule for rule in answer["data"] if rule["section"] == section["section"]]
        if rules:
            groups = by_format(rules)
            sections.append({**section, "rules": rules, "shared": groups.pop("", []), "groups": sorted(groups.items())})
    values = {"rubric_version": answer["version"], "sections": sections}
    values |= {key: answer[key] for key in ("method", "beside", "trust")}
    return respond(request, "rubric.html", values, cache=HOUR)


def by_format(rules: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rules by the title of the only format that has them, "" for shared ones, the most costly first."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for rule in sorted(rules, key=lambda rule: (-rule["points"], rule["reason"])):
        groups.setdefault(_FORMAT_OF_RULE.get(rule["reason"], ""), []).append(rule)
    return groups


_HOLDERS: Final = {
    rule.code: [form.title for form in FORMATS if rule in form.rules] for form in FORMATS for rule in form.rules
}
_FORMAT_OF_RULE: Final = {code: titles[0] for code, titles in _HOLDERS.items() if len(titles) == 1}


async def reasons(request: Request) -> Response:
    rows = (await ask(request, "/api/reasons"))["data"]
    families = [
        (family, title, [row for row in rows if row["code"].partition(".")[0] == family])
        for family, title in FAMILIES.items()
    ]
    return respond(request, "reasons.html", {"families": families}, cache=HOUR)


async def reason(request: Request) -> Response:
    answer = (await ask(request, "/api/reasons/{code}", code=request.path_params["code"]))["data"]
    family = answer["code"].partition(".")[0]
    values = {
        "reason": answer,
        "family": family,
        "title": FAMILIES.get(family, ""),
        "severities": SEVERITIES,
        "formats": [FORMAT_BY_SLUG[slug] for slug in answer["formats"]],
    }
    return respond(request, "reason.html", values, cache=HOUR)


async def formats(request: Request) -> Response:
    services = (await ask(request, "/api/stats"))["data"]["formats"]
    foreign = sorted({row.result.name for row in ROWS if isinstance(row.result, Foreign)})
    by_role = [(means, [form for form in FORMATS if form.role is role]) for role, means in ROLES.items()]
    values = {"by_role": by_role, "services": services, "foreign": foreign, "total": len(FORMATS)}
    return respond(request, "formats.html", values)


async def one_format(request: Request) -> Response:
    form = FORMAT_BY_SLUG.get(request.path_params["slug"])
    if form is None:
        raise Problem(NOT_FOUND, "This registry reads no format of this name.")
    services = (await ask(request, "/api/stats"))["data"]["formats"].get(form.slug, 0)
    by_severity = [
        (_NOUNS.get(severity, severity), means, rows)
        for severity, means in SEVERITIES.items()
        if (rows := sorted((rule for rule in form.rules if rule.severity == severity), key=lambda rule: -rule.points))
    ]
    values = {
        "format": form,
        "role": ROLES[form.role],
        "services": services,
        "by_severity": by_severity,
        "checkable": not isinstance(form.example, str),
    }
    return respond(request, "format.html", values)


async def problems(request: Request) -> Response:
    kinds = (await ask(request, "/api/problems"))["data"]
    ordered = sorted(kinds, key=lambda kind: (kind["status"], kind["slug"]))
    return respond(request, "problems.html", {"kinds": ordered}, cache=HOUR)


async def problem(request: Request) -> Response:
    answer = await ask(request, "/api/problems/{slug}", slug=request.path_params["slug"])
    slug = answer["data"]["slug"]
    users = reference_of(request).users.get(slug, [])
    values = {"kind": answer["data"], "users": users, "further": _REMEDIES.get(slug)}
    return respond(request, "problem.html", values, cache=HOUR)


_LIMITS: Final = ("Limits", "/docs/limits")
_REMEDIES: Final[Mapping[str, tuple[str, str]]] = {
    "rate-limited": _LIMITS, "busy": _LIMITS, "too-many-connections": _LIMITS, "body-too-large": _LIMITS,
    "unavailable": ("Status of this registry", "/status"), "internal-error": ("Status of this registry", "/status"),
    "invalid-cursor": ("The change feed", "/docs/feed"), "cursor-expired": ("The change feed", "/docs/feed"),
    "unauthorized": ("Ownership of a host", "/docs/ownership"), "forbidden": ("Ownership of a host", "/docs/ownership"),
    "opted-out": ("The way back after an opt-out", "/opt-out"), "gone": ("The way back after an opt-out", "/opt-out"),
    "blocked": ("The crawler and its contact", "/bot"), "mirrored": ("Dumps and mirrors", "/docs/dumps"),
    "already-registered": ("Have it visited again", "/docs/operators#4-have-it-visited-again"),
    "not-listed": ("Check a document", "/check"), "unknown-service": ("Submit a site", "/submit"),
    "untranslatable": ("Translation", "/docs/translate"), "no-bytes": ("Evidence and history", "/docs/evidence"),
    "not-then": ("Evidence and history", "/docs/evidence"),
}  # fmt: skip
"""Slug of a problem type -> title and path of the page that helps with it."""


async def bot(request: Request) -> Response:
    """Return the page with the text that the crawler's User-Agent links to."""
    title, facts, sections = await _about_crawler(request)
    return respond(request, "bot.html", {"title": title, "facts": facts, "sections": sections}, cache=HOUR)


async def guide(request: Request) -> Response:
    """Return a guide of docs/; beside those for sites stand the facts about the crawler."""
    slug = request.path_params["guide"]
    one = BY_SLUG.get(slug)
    if one is None:
        raise Problem(NOT_FOUND, "There is no guide of this name.")
    facts = (await _about_crawler(request))[1] if one.has_facts else ()
    group = next(title for title, members in GUIDES.items() if slug in members)
    text = rendered(slug, links_of(request).base)
    values = {"guide": one, "slug": slug, "facts": facts, "text": text, "group": group, "members": GUIDES[group]}
    return respond(request, "guide.html", values, cache=HOUR)


async def terms(request: Request) -> Response:
    links = links_of(request)
    title, *blocks = sectioned(request.app.state.terms)
    sections = [block._replace(text=_linked(block.text, links)) for block in blocks]
    return respond(request, "terms.html", {"title": title.text, "sections": sections}, cache=HOUR)


async def _about_crawler(request: Request) -> tuple[str, Sequence[tuple[str, Markup]], Sequence[AboutSection]]:
    """Return title, facts and sections of the text about the crawler, in which the first block of code is the facts."""
    answer = await inside.call(request.app.state.api, request.scope, "/bot")
    links = links_of(request)
    title, facts, *sections = sectioned(bytes(answer.body).decode())
    pairs = (line.partition(": ") for line in facts.text.split("\n"))
    return (
        title.text,
        [(name, _linked(value, links)) for name, _, value in pairs],
        [one if one.is_code else one._replace(text=_linked(one.text, links)) for one in sections],
    )


_ADDRESS: Final = re.compile(
    r"`(?P<code>[^`]+)`|(?P<url>https?://[^\s(){}]*[\w/])|(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
)


def _linked(text: str, links: Links) -> Markup:
    """Return a text of this registry as HTML: links to its own pages and to mail addresses, and code in backticks."""
    parts: list[str] = []
    end = 0
    for found in _ADDRESS.finditer(text):
        parts.append(escape(text[end : found.start()]))
        end = found.end()
        path = found[0].removeprefix(links.base)
        if found["code"]:
            parts.append(Markup("<code>{}</code>").format(found["code"]))
        elif found["mail"]:
            parts.append(Markup('<a href="mailto:{0}">{0}</a>').format(found[0]))
        elif path != found[0] and (links.has(path) or path in _LINKED):
            parts.append(Markup('<a href="{}">{}</a>').format(links.to(path), found[0]))
        else:
            parts.append(escape(found[0]))
    return Markup("").join([*parts, escape(text[end:])])


_LINKED: Final = frozenset({*(f"/docs/{slug}" for slug in BY_SLUG), "/.well-known/http-message-signatures-directory"})
"""Paths that texts about this registry name, besides those of its other pages."""


def sectioned(text: str) -> Sequence[AboutSection]:
    """Return the blocks of a plain text.

    An indented block is code. The first sentence of another block, up to a full stop, is its title if it is short.
    """
    sections = []
    for block in text.strip().split("\n\n"):
        if block.startswith("  "):
            sections.append(AboutSection("\n".join(line[2:] for line in block.split("\n")), is_code=True))
            continue
        line = " ".join(block.split("\n"))
        title, stop, rest = line.partition(". ")
        is_titled = bool(stop) and len(title) <= _TITLE_CHARS
        sections.append(AboutSection(rest if is_titled else line, False, title if is_titled else ""))
    return sections


async def docs(request: Request) -> Response:
    return respond(request, "docs.html", {"guides": GUIDES}, cache=HOUR)
