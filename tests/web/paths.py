"""The pages that every test of all pages opens, over the registry of `tests/api/sites.py`."""

from typing import Final

from registry.web.links import Links

LINKS: Final = Links("", "", frozenset())

PAGES: Final = ("/",)
"""Paths that answer 200."""

ERRORS: Final = ("/no-such-page", "/static/nothing.css")
"""Paths that answer with a page about an error."""
