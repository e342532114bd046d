"""The guides of docs/ that are pages of a registry, below `/docs`.

`docs.generate` renders them, so that serving them needs neither the folder nor a Markdown library.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from markupsafe import Markup, escape

PATH: Final = "/docs/{guide}"
_REGISTRY: Final = "https://registry.example"
"""The address of a registry in the texts; a page shows its own."""


class Guide(NamedTuple):
    """`source`: its file in docs/. `about`: its purpose, in one sentence. `has_facts`: shown with those of /bot.

    `sections`: anchors of the sections that it has, of a long document; all if empty.
    """

    source: str
    title: str
    about: str
    has_facts: bool = False
    sections: tuple[str, ...] = ()


GUIDES: Final[Mapping[str, Mapping[str, Guide]]] = {
    "For operators of sites": {
        "first-hour": Guide(
            "first-hour.md", "A first hour", "From a manifest of your own to an agent’s call of it, on one machine."
        ),
        "operators": Guide(
            "operators.md",
            "From submission to opt-out",
            "Submit a site, see the findings, prove that it is yours, decide about its entry.",
            has_facts=True,
        ),
        "checking": Guide(
            "checking.md", "Check before you publish", "Findings on the command line, in an editor and in a pipeline."
        ),
        "ownership": Guide("ownership.md", "Ownership of a host", "How it is proven, and what an owner decides."),
        "crawler": Guide(
            "crawler.md",
            "What the crawler requests",
            "Every path, when it is requested, and what an answer means.",
            has_facts=True,
            sections=(
                "stages",
                "paths",
                "conditions",
                "named-hosts-and-revisits",
                "controls",
                "pointers",
                "tools",
                "calls",
                "known-documents",
                "sub-hosts",
            ),
        ),
        "crawler-limits": Guide(
            "crawler.md",
            "Limits of the crawler",
            "Budgets, stop rules, robots.txt, redirects, outcomes, and how a site leaves.",
            has_facts=True,
            sections=(
                "budgets",
                "stop-rules",
                "robotstxt",
                "redirects",
                "outcomes",
                "limits",
                "shares",
                "leaving",
            ),
        ),
        "politeness": Guide(
            "politeness.md", "Let the crawler in", "Who asks, how to verify a request, what to set in a firewall."
        ),
        "revisit": Guide("revisit.md", "How often a host is visited", "The time to the next visit, by outcome."),
    },
    "For developers of agents": {
        "search": Guide("search.md", "Search", "How a sentence finds a service, and when an answer is confident."),
        "interfaces": Guide("interfaces.md", "Interfaces", "All protocols of this registry, and what verifies them."),
        "mcp": Guide("interfaces/mcp.md", "MCP", "The tools of the MCP server, over HTTP and on one’s own machine."),
        "ard": Guide("interfaces/ard.md", "ARD", "Search for other registries and their clients."),
        "mcp-registry": Guide(
            "interfaces/mcp-registry.md", "MCP registry", "The servers, as clients of the official registry read them."
        ),
        "feed": Guide("interfaces/feed.md", "Change feed", "Every change once, in order, with a cursor."),
        "webhooks": Guide("interfaces/webhooks.md", "Atom and webhooks", "A message or a feed entry for each change."),
        "dumps": Guide("interfaces/dumps.md", "Dumps and mirrors", "Copy the registry, and keep the copy current."),
        "limits": Guide("interfaces/edge.md", "What all interfaces share", "Limits, CORS, compression and errors."),
        "own-manifests": Guide(
            "interfaces/own-manifests.md", "Own manifests", "How this registry describes itself in each format."
        ),
        "translate": Guide("translate.md", "Translation", "A service as a document of another format."),
    },
    "What an entry says": {
        "merge": Guide("merge.md", "From documents to a service", "How documents become one entry, and trust levels."),
        "evidence": Guide("evidence.md", "Evidence and history", "Documents as fetched, earlier states, availability."),
    },
}
"""Title of a group -> the last part of a guide's address -> the guide."""

BY_SLUG: Final = {slug: guide for group in GUIDES.values() for slug, guide in group.items()}


def rendered(slug: str, base: str) -> Markup:
    """Return a guide as HTML, with `base` as the address of the registry."""
    text = _text(slug).replace(_REGISTRY, str(escape(base)))
    return Markup(text)  # noqa: S704  # made of docs/ by docs.generate


@cache
def _text(slug: str) -> str:
    return (files("registry.web") / "guides" / f"{slug}.html").read_text(encoding="utf-8")
