"""The pages that every test of all pages opens, over the registry of `tests/api/sites.py`."""

from typing import Final

from registry.web.links import Links

LINKS: Final = Links("", "", frozenset())

PAGES: Final = (
    "/",
    "/rubric",
    "/formats",
    "/formats/adp",
    "/formats/llms-txt",
    "/problems",
    "/problems/rate-limited",
    "/bot",
    "/docs",
    "/stats",
    "/status",
    "/changes",
    "/changes?type=service.listed",
)
"""Paths that answer 200."""

ERRORS: Final = (
    "/formats/no-such-format",
    "/problems/none",
    "/changes?type=none",
    "/changes?cursor=none",
    "/no-such-page",
    "/static/nothing.css",
)
"""Paths that answer with a page about an error."""
