"""The page of search results, the list of all services for an empty question, and the sitemap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.merging.trust import IDENTITIES, REASONS
from registry.core.model.listing import TrustLevel
from registry.core.search_filters import FILTERS
from registry.core.wording.text import QUERY_CHARS
from registry.edge.problems import NOT_FOUND, Problem
from registry.edge.responses import PAGE, encoded_response
from registry.web.asking import ask, number_of
from registry.web.rendering import Links, links_of, pages_of, respond
from registry.web.text import words

ROWS: Final = 20
_MAX_CHARS: Final = 400
_MAX_PAGE: Final = 1_000

GROUPS: Final = {row.name: row.label for row in sorted(FILTERS, key=attrgetter("group")) if row.group}
"""Filters whose values are counted -> heading."""

HEADINGS: Final = (
    GROUPS
    | {row.name: row.label for row in FILTERS}
    | {"include_unverified": "Not checked included", "unique": "Copies folded"}
)
"""All filters; those outside of GROUPS are shown only where they are set."""

SORTS: Final = (("relevance", "Relevance"), ("score", "Score"), ("freshness", "Freshness"))
LIST_SORTS: Final = (
    ("newest", "Newest"), ("updated", "Updated"), ("score", "Score"), ("name", "Name"),
    ("capabilities", "Capabilities"),
)  # fmt: skip
_SHOWN_VALUES: Final = 8
_LABELS: Final[Mapping[tuple[str, str], str]] = {
    ("side_effects", "true"): "has some", ("side_effects", "false"): "has none",
    ("side_effects", "unknown"): "not said",
    ("callable", "true"): "yes", ("callable", "false"): "no", ("callable", "unknown"): "not read yet",
    **{(name, word): about.label for name in ("identity", "trust_level") for word, about in IDENTITIES.items()},
    **{  # a level, in the address of a page: the words that clients of ADP read as it
        ("trust_level", level): " or ".join(about.label for about in IDENTITIES.values() if about.trust_level is level)
        for level in TrustLevel
    },
}  # fmt: skip
_WORDED: Final = frozenset({"auth_type", "pricing_type"})

Counts = Mapping[str, Mapping[str, int]]
"""Name of a filter -> its values with the number of services that have each."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a filter: how many services have it, and the link that adds it, or that removes it where it is set."""

    label: str
    count: int | None
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
        return cls(question, filters, sent.get("sort"), sent.get("cursor"), number_of(request, "page", 1, _MAX_PAGE))

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
    shown = {"limit": str(ROWS), "highlights": "true", "facets": ",".join(GROUPS)}
    answer = await ask(request, "/api/discover", query | shown)
    links = links_of(request)
    suggestions = answer.get("suggestions") or {}
    spellings = [
        (word, [(known, asked.link(links, q=asked.question.replace(word, known))) for known in similar[:5]])
        for word, similar in suggestions.get("spelling", {}).items()
        if similar
    ]  # unknown words of the question, each with similar known words and the links that use them instead
    relaxed = [(name, asked.link(links, **{name: None})) for name in suggestions.get("without_filters", ())]
    values = {
        **_common(links, asked, answer, answer["facets"]["counts"], SORTS, asked.sort or "relevance"),
        "answer": answer,
        "spellings": spellings,
        "without_filters": relaxed,
        "first": asked.link(links) if asked.cursor else None,
        "next": asked.link(links, cursor=answer["next_cursor"]) if answer["next_cursor"] else None,
        "json": links.to("/api/discover", query),
        "atom": links.to("/changes.atom", {"q": asked.question}),
    }
    return respond(request, "search.html", values)


async def _listed(request: Request, asked: SearchForm) -> Response:
    sort = asked.sort if asked.sort in dict(LIST_SORTS) else "newest"
    query = {name: value for name, value in asked.filters.items() if name != "unique"} | {"sort": sort}
    page = {"limit": str(ROWS), "offset": str((asked.page - 1) * ROWS)}
    answer = await ask(request, "/api/services", query | page)
    links = links_of(request)
    counts = {"format": (await ask(request, "/api/stats"))["data"]["formats"]}
    values = {
        **_common(links, asked, answer, counts, LIST_SORTS, sort),
        "pages": answer["totalPages"],
        "before": asked.link(links, page=asked.page - 1) if asked.page > 1 else None,
        "next": asked.link(links, page=asked.page + 1) if answer["next_offset"] is not None else None,
        "json": links.to("/api/services", query),
        "atom": links.to("/changes.atom"),
    }
    return respond(request, "list.html", values)


def _common(
    links: Links, asked: SearchForm, answer: Any, counts: Counts, sorts: Sequence[tuple[str, str]], sort: str
) -> dict[str, Any]:
    """Return what both pages show."""
    return {
        "asked": asked,
        "rows": answer["data"],
        "total": answer["total"],
        "groups": list(_groups(links, asked, counts)),
        "chips": list(_chips(links, asked)),
        "sorts": [(title, asked.link(links, sort=name), name == sort) for name, title in sorts],
        "unverified": asked.link(links, include_unverified="true"),
        "reasons": REASONS,
    }


def _groups(links: Links, asked: SearchForm, counts: Counts) -> Iterator[FacetGroup]:
    """Yield the filters with their values among the found services, the most frequent first."""
    for name, title in GROUPS.items():
        found = counts.get(name, {})
        chosen = asked.values(name)
        ordered = sorted(found, key=lambda value: (value not in chosen, -found[value], value))
        values = [_value(links, asked, name, value, found.get(value, 0)) for value in ordered]
        if values and (len(values) > 1 or chosen):
            yield FacetGroup(title, values[:_SHOWN_VALUES], values[_SHOWN_VALUES:])


def _value(links: Links, asked: SearchForm, name: str, value: str, count: int) -> Value:
    chosen = asked.values(name)
    is_set = value in chosen
    text = asked.without(name, value) if is_set else ",".join([*chosen, value])
    return Value(_label(name, value), count, asked.link(links, **{name: text}), is_set)


def _label(name: str, value: str) -> str:
    return _LABELS.get((name, value)) or (words(value) if name in _WORDED else value)


def _chips(links: Links, asked: SearchForm) -> Iterator[tuple[str, str, str]]:
    """Yield heading, value and the link without it for each filter that is set."""
    for name, title in HEADINGS.items():
        for value in asked.values(name):
            yield title, _label(name, value), asked.link(links, **{name: asked.without(name, value)})


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
