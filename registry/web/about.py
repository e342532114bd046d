"""Pages about this registry: the rubric, the formats, the errors, the crawler, and how to use the interfaces."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from registry.core.assessing.recognise import ROWS, Foreign
from registry.core.format_support.format import ROLES
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
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


async def rubric(request: Request) -> Response:
    answer = await ask(request, "/api/rubric")
    sections = [
        {**section, "rules": sorted(rules, key=lambda rule: (-rule["points"], rule["reason"]))}
        for section in answer["about_sections"]
        if (rules := [rule for rule in answer["data"] if rule["section"] == section["section"]])
    ]
    values = {"rubric_version": answer["version"], "sections": sections}
    values |= {key: answer[key] for key in ("method", "beside", "trust")}
    return respond(request, "rubric.html", values, cache=HOUR)


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
    values = {"format": form, "role": ROLES[form.role], "services": services}
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
