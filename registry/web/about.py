"""Pages about this registry: the rubric, reasons, formats, errors, the crawler, and how to use the interfaces."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from registry.core.assessing.recognise import ROWS, Foreign
from registry.core.format_support.format import ROLES
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.reasons import FAMILIES
from registry.edge import inside
from registry.edge.problems import NOT_FOUND, Problem
from registry.web.asking import ask
from registry.web.rendering import respond

HOUR: Final = "public, max-age=3600"
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
    return respond(request, "problem.html", {"kind": answer["data"]}, cache=HOUR)


async def bot(request: Request) -> Response:
    """Return the page with the text that the crawler's User-Agent links to."""
    answer = await inside.call(request.app.state.api, request.scope, "/bot")
    title, *sections = sectioned(bytes(answer.body).decode())
    values = {"title": title.text, "sections": sections}
    return respond(request, "bot.html", values, cache=HOUR)


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
    return respond(request, "docs.html", {}, cache=HOUR)
