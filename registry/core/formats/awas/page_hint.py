"""Find the AWAS attributes that mark up actions in pages: only a hint, never a capability."""

import re

_HINT = re.compile(rb"\sdata-(?:awas|ai)-[a-z]", re.IGNORECASE)


def has_page_hint(body: bytes) -> bool:
    """Return whether the page has attributes `data-awas-*` or `data-ai-*`."""
    # plain search first, because the pattern would dominate the cost of processing a page
    return b"data-a" in body.lower() and _HINT.search(body) is not None
