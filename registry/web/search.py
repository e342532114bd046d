"""The page of search results, and the list of all services for an empty question."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.core.merging.trust import REASONS
from registry.core.search_filters import FILTERS
from registry.core.wording.text import QUERY_CHARS
from registry.web.asking import ask
from registry.web.rendering import Links, pages_of
from registry.web.text import words

ROWS: Final = 20
_MAX_CHARS: Final = 400
_MAX_PAGE: Final = 1_000

GROUPS: Final = {row.name: row.label for row in sorted(FILTERS, key=attrgetter("group")) if row.group}
"""Filters whose values are counted -> heading."""

HEADINGS: Final = (
    GROUPS
    | {row.name: row.label for row in FILTERS}
    | {"include_unverified": "Unverified included", "unique": "Copies folded"}
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
}  # fmt: skip
_WORDED: Final = frozenset({"auth_type", "pricing_type", "trust_level"})


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
        page = sent.get("page", "1")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1
        return cls(question, filters, sent.get("sort"), sent.get("cursor"), min(max(number, 1), _MAX_PAGE))

    def link(self, links: Links, **changes: Any) -> str:
        """Return the link to the same search with changes; None removes. It starts at the first rows again."""
        asked = {"q": self.question or None, **self.filters, "sort": self.sort, **changes}
        return links.search(**asked)

    def without(self, name: str, value: str) -> str | None:
        """Return the filter's text without one of its values; None if it is then empty."""
        return ",".join(one for one in self.values(name) if one != value) or None

    def values(self, name: str) -> list[str]:
        return list(filter(None, self.filters.get(name, "").split(",")))


async def search(request: Request) -> Response:
    asked = SearchForm.of(request)
    return await (_found if asked.question else _listed)(request, asked)


async def _found(request: Request, asked: SearchForm) -> Response:
    pages = pages_of(request)
    query = {"q": asked.question, **asked.filters, **_given(sort=asked.sort, cursor=asked.cursor)}
    shown = {"limit": str(ROWS), "highlights": "true", "facets": ",".join(GROUPS)}
    answer = await ask(request, "/api/discover", query | shown)
    links = pages.links
    suggestions = answer.get("suggestions")
    values = {
        "asked": asked,
        "answer": answer,
        "rows": answer["data"],
        "total": answer["total"],
        "groups": list(_groups(links, asked, answer["facets"]["counts"])),
        "chips": list(_chips(links, asked)),
        "sorts": [(title, asked.link(links, sort=name), name == (asked.sort or "relevance")) for name, title in SORTS],
        "spellings": _spellings(links, asked, suggestions),
        "without_filters": [
            (name, asked.link(links, **{name: None})) for name in (suggestions or {}).get("without_filters", ())
        ],
        "first": asked.link(links) if asked.cursor else None,
        "next": asked.link(links, cursor=answer["next_cursor"]) if answer["next_cursor"] else None,
        "json": links.to("/api/discover", query),
        "atom": links.to("/changes.atom", {"q": asked.question}),
        "unverified": asked.link(links, include_unverified="true"),
        "reasons": REASONS,
    }  # fmt: skip
    return pages.respond(request, "search.html", values)


async def _listed(request: Request, asked: SearchForm) -> Response:
    pages = pages_of(request)
    sort = asked.sort if asked.sort in dict(LIST_SORTS) else "newest"
    filters = {name: value for name, value in asked.filters.items() if name != "unique"}
    query = {**filters, "sort": sort}
    offset = (asked.page - 1) * ROWS
    answer = await ask(request, "/api/services", query | {"limit": str(ROWS), "offset": str(offset)})
    links = pages.links
    counts = {"format": (await ask(request, "/api/stats"))["data"]["formats"]}
    values = {
        "asked": asked,
        "rows": answer["data"],
        "total": answer["total"],
        "groups": list(_groups(links, asked, counts)),
        "chips": list(_chips(links, asked)),
        "sorts": [(title, asked.link(links, sort=name), name == sort) for name, title in LIST_SORTS],
        "pages": answer["totalPages"],
        "before": asked.link(links, page=asked.page - 1) if asked.page > 1 else None,
        "next": asked.link(links, page=asked.page + 1) if answer["next_offset"] is not None else None,
        "json": links.to("/api/services", query),
        "atom": links.to("/changes.atom"),
        "unverified": asked.link(links, include_unverified="true"),
        "reasons": REASONS,
    }
    return pages.respond(request, "list.html", values)


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _groups(links: Links, asked: SearchForm, counts: Mapping[str, Mapping[str, int]]) -> Iterator[FacetGroup]:
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


def _spellings(links: Links, asked: SearchForm, suggestions: Mapping[str, Any] | None) -> list[tuple[str, list[Any]]]:
    """Return unknown words of the question, each with similar known words and the links that use them instead."""
    if suggestions is None:
        return []
    return [
        (word, [(known, asked.link(links, q=asked.question.replace(word, known))) for known in similar[:5]])
        for word, similar in suggestions["spelling"].items()
        if similar
    ]


ROUTES: Final = (Route("/search", search),)
