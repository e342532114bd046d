"""The page of search results, the list of all services for an empty question, and the sitemap."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.merging.trust import REASONS
from registry.core.search_filters import COUNTED, FILTERS, LIST_COUNTED, Number
from registry.core.wording.text import QUERY_CHARS
from registry.edge.problems import NOT_FOUND, Problem
from registry.edge.responses import PAGE, encoded_response
from registry.web.asking import ask, number_of
from registry.web.rendering import Links, links_of, pages_of, respond
from registry.web.text import value_name

ROWS: Final = 20
MAX_PAGE: Final = 5_000
"""The last page of a list: the API skips at most 100,000 rows."""

_MAX_CHARS: Final = 400
_MAX_LOOSENED: Final = 6

_ROWS_OF: Final = {row.name: row for row in FILTERS}
GROUPS: Final = {row.name: row.label for row in sorted(FILTERS, key=attrgetter("group")) if row.group}
"""Filters whose values are counted -> heading."""

HEADINGS: Final = (
    GROUPS
    | {row.name: row.label for row in FILTERS}
    | {"include_unverified": "Not checked included", "unique": "Copies folded"}
)
"""All filters; those outside of GROUPS are shown only where they are set."""

SORTS: Final = (("relevance", "Relevance"), ("score", "Score"), ("freshness", "Recently seen"))
LIST_SORTS: Final = (
    ("newest", "Newest"), ("updated", "Recently changed"), ("score", "Score"), ("name", "Name"),
    ("capabilities", "Most capabilities"),
)  # fmt: skip
SHELVES: Final = frozenset({"category", "format"})
"""Filters whose lists are pages of their own for search engines: one value, and nothing else."""

_SHOW_UNVERIFIED: Final = ("include_unverified", "identity", "trust_level")
_SHOWN_VALUES: Final = 8

Counts = Mapping[str, Mapping[str, int]]
"""Name of a filter -> its values with the number of services that have each."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a filter: how many services have it, and the link that adds it, or that removes it where it is set."""

    label: str
    count: int
    link: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class FacetGroup:
    title: str
    values: list[Value]
    more: list[Value]


@dataclass(frozen=True, slots=True)
class SearchForm:
    """What the address asks for: the question, the filters as texts, and which rows."""

    question: str
    filters: Mapping[str, str]
    sort: str | None
    cursor: str | None
    page: int

    @classmethod
    def of(cls, request: Request) -> "SearchForm":
        """Read the address. Unknown parameters are ignored, because other sites add some to links."""
        sent = request.query_params
        question = " ".join(sent.get("q", "")[:QUERY_CHARS].split())
        filters = {
            name: value[:_MAX_CHARS] for name in HEADINGS if (value := ",".join(filter(None, sent.getlist(name))))
        }
        return cls(question, filters, sent.get("sort"), sent.get("cursor"), number_of(request, "page", 1, MAX_PAGE + 1))

    def link(self, links: Links, **changes: Any) -> str:
        """Return the link to the same search with changes; None removes. It starts at the first rows again."""
        return links.search(**{"q": self.question or None, **self.filters, "sort": self.sort, **changes})

    def without(self, name: str, value: str) -> str | None:
        """Return the filter's text without one of its values; None if it is then empty."""
        return ",".join(one for one in self.values(name) if one != value) or None

    def values(self, name: str) -> list[str]:
        return list(filter(None, self.filters.get(name, "").split(",")))


async def search(request: Request) -> Response:
    asked = SearchForm.of(request)
    return await (_found if asked.question else _listed)(request, asked)


async def _found(request: Request, asked: SearchForm) -> Response:
    given = {"q": asked.question, **asked.filters, "sort": asked.sort, "cursor": asked.cursor}
    query = {name: value for name, value in given.items() if value is not None}
    shown = {"limit": str(ROWS), "highlights": "true", "facets": ",".join(name for name in GROUPS if name in COUNTED)}
    answer = await ask(request, "/api/discover", query | shown)
    links = links_of(request)
    suggestions = answer.get("suggestions") or {}
    spellings = [
        (word, [(known, asked.link(links, q=asked.question.replace(word, known))) for known in similar[:5]])
        for word, similar in suggestions.get("spelling", {}).items()
        if similar
    ]  # unknown words of the question, each with similar known words and the links that use them instead
    loosened = [(HEADINGS[name], asked.link(links, **{name: None})) for name in suggestions.get("without_filters", ())]
    values = {
        **_common(links, asked, answer, answer["facets"]["counts"], SORTS, asked.sort or "relevance"),
        "answer": answer,
        "spellings": spellings,
        "without_filters": loosened,
        "first": asked.link(links) if asked.cursor else None,
        "next": asked.link(links, cursor=answer["next_cursor"]) if answer["next_cursor"] else None,
        "json": links.to("/api/discover", query),
        "atom": links.to("/changes.atom", {"q": asked.question}),
    }
    return respond(request, "search.html", values)


async def _listed(request: Request, asked: SearchForm) -> Response:
    """Return a page of the list of all services that pass the filters; 404 for a page after the last."""
    sort = asked.sort if asked.sort in dict(LIST_SORTS) else LIST_SORTS[0][0]
    query = {name: value for name, value in asked.filters.items() if name != "unique"} | {"sort": sort}
    shown = {"limit": str(ROWS), "offset": str((min(asked.page, MAX_PAGE) - 1) * ROWS)}
    facets = ",".join(name for name in GROUPS if name in LIST_COUNTED)
    answer = await ask(request, "/api/services", query | shown | {"facets": facets})
    links, last = links_of(request), min(answer["totalPages"], MAX_PAGE)
    only = [name for name, value in asked.filters.items() if name in SHELVES and "," not in value]
    is_shelf = len(only) == len(asked.filters) <= 1 and sort == LIST_SORTS[0][0] and asked.page <= last
    values = {
        **_common(links, asked, answer, answer["facets"]["counts"], LIST_SORTS, sort),
        "named": [value_name(name, value) for name in ("category", "format") for value in asked.values(name)][:3],
        "pages": last,
        "is_past_end": asked.page > last,
        "is_cut": answer["totalPages"] > MAX_PAGE,
        "last": asked.link(links, page=last if last > 1 else None),
        "before": asked.link(links, page=asked.page - 1 if asked.page > 2 else None) if asked.page > 1 else None,
        "next": asked.link(links, page=asked.page + 1) if asked.page < last else None,
        "loosened": await _loosened(request, asked, query) if not answer["total"] else (),
        "canonical": _canonical(links, asked, sort) if is_shelf else None,
        "json": links.to("/api/services", query),
        "atom": links.to("/changes.atom"),
    }
    return respond(request, "list.html", values, status=200 if asked.page <= last else 404)


def _canonical(links: Links, asked: SearchForm, sort: str) -> str:
    page = asked.page if asked.page > 1 else None
    return links.absolute("/search", {**asked.filters, "page": page})


async def _loosened(request: Request, asked: SearchForm, query: Mapping[str, str]) -> Sequence[tuple[str, int, str]]:
    """Return, for each filter without which some service is found: its heading, the number of services, the link."""
    links, names = links_of(request), [name for name in HEADINGS if name in query][:_MAX_LOOSENED]
    without = [{key: value for key, value in query.items() if key != name} for name in names]
    shown = [(HEADINGS[name], one, asked.link(links, **{name: None})) for name, one in zip(names, without, strict=True)]
    if "include_unverified" not in query:
        everything = {"include_unverified": "true"}
        shown.append(("", {**query, **everything}, asked.link(links, **everything)))
    answers = await asyncio.gather(*(ask(request, "/api/services", {**one, "limit": "0"}) for _, one, _ in shown))
    found = zip(shown, answers, strict=True)
    return [(title, answer["total"], link) for (title, _, link), answer in found if answer["total"]]


def _common(
    links: Links, asked: SearchForm, answer: Any, counts: Counts, sorts: Sequence[tuple[str, str]], sort: str
) -> dict[str, Any]:
    """Return what both pages show."""
    return {
        "asked": asked,
        "rows": answer["data"],
        "total": answer["total"],
        "groups": list(_groups(links, asked, counts, answer["total"])),
        "chips": list(_chips(links, asked)),
        "sorts": [(title, asked.link(links, sort=name), name == sort) for name, title in sorts],
        "offers_unverified": answer["total"] and asked.filters.keys().isdisjoint(_SHOW_UNVERIFIED),
        "cleared": asked.link(links, **dict.fromkeys(asked.filters)),
        "unverified": asked.link(links, include_unverified="true"),
        "reasons": REASONS,
    }


def _groups(links: Links, asked: SearchForm, counts: Counts, total: int) -> Iterator[FacetGroup]:
    """Yield the filters with their values among the found services: what is set, then the most frequent."""
    for name, title in GROUPS.items():
        found = {value: count for value, count in counts.get(name, {}).items() if count}
        chosen = asked.values(name)
        if asked.question and chosen:  # search counts within what is set: another value would find more than it says
            found = {value: count for value, count in found.items() if value in chosen}
        if isinstance(_ROWS_OF[name].on, Number):
            ordered = sorted((value for value in found if chosen or found[value] < total), key=int, reverse=True)
        else:
            ordered = sorted(found, key=lambda value: (value not in chosen, value == "other", -found[value], value))
        values = [_value(links, asked, name, value, found[value]) for value in ordered]
        if values and (len(values) > 1 or chosen or values[0].count < total):
            yield FacetGroup(title, values[:_SHOWN_VALUES], values[_SHOWN_VALUES:])


def _value(links: Links, asked: SearchForm, name: str, value: str, count: int) -> Value:
    chosen = asked.values(name)
    is_set, is_number = value in chosen, isinstance(_ROWS_OF[name].on, Number)
    text = asked.without(name, value) if is_set else value if is_number else ",".join([*chosen, value])
    return Value(value_name(name, value), count, asked.link(links, **{name: text}), is_set)


def _chips(links: Links, asked: SearchForm) -> Iterator[tuple[str, str, str]]:
    """Yield heading, value and the link without it for each filter that is set."""
    for name, title in HEADINGS.items():
        for value in asked.values(name):
            yield title, value_name(name, value), asked.link(links, **{name: asked.without(name, value)})


# --- the sitemap: an index, and pages of addresses of services (sitemaps.org protocol 0.9)

SITEMAP_ROWS: Final = 100
"""Services on one page of the sitemap: the most that one answer of the API lists."""

SITEMAP_PAGES: Final = 1_000
"""Pages of the sitemap: the API lists no more services than these hold."""


async def sitemap(request: Request) -> Response:
    total = (await ask(request, "/api/services", {"limit": "0"}))["total"]
    pages = min(max(1, -(-total // SITEMAP_ROWS)), SITEMAP_PAGES)
    return _xml(request, "sitemap-index.xml", {"pages": pages})


async def sitemap_page(request: Request) -> Response:
    """Return one page of addresses. Raise Problem when the page does not exist."""
    number = request.path_params["number"]
    query = {"limit": str(SITEMAP_ROWS), "offset": str((number - 1) * SITEMAP_ROWS), "sort": "name"}
    services = (await ask(request, "/api/services", query))["data"] if 1 <= number <= SITEMAP_PAGES else ()
    if not services and number != 1:
        raise Problem(NOT_FOUND, "There is no such page of the sitemap.")
    return _xml(request, "sitemap.xml", {"services": services, "is_first": number == 1})


def _xml(request: Request, template: str, values: dict[str, object]) -> Response:
    body = pages_of(request).render(template, values)
    return encoded_response(request, body, cache=PAGE, media_type="application/xml")
