"""The dialects of AWAS. They contradict each other, so one is chosen first and the document is graded by it alone."""

import re
from dataclasses import dataclass
from typing import Final

from registry.core.format_support.manifest import Object, list_of, map_of
from registry.core.model.documents import Json

BRIDGE: Final = "bridge"
CUSTOMER: Final = "customer_actions"
GRADED: Final = "1.0"
"""The version whose text is the specification for grading."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The members that a dialect uses. `required` are top-level texts; `published`: the AWAS project describes it."""

    name: str
    required: tuple[str, ...]
    ids: tuple[str, ...]
    targets: tuple[str, ...]
    methods: tuple[str, ...] = ("method",)
    published: bool = False


_PAGE_HINT = re.compile(rb"\sdata-(?:awas|ai)-[a-z]", re.IGNORECASE)
_TEXTS: Final = ("name", "description")
_ANYWHERE: Final = ("endpoint", "url", "path")

DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect(GRADED, ("version", *_TEXTS), ("id",), ("path",), published=True),
        Dialect("1.1", ("specVersion", *_TEXTS), ("id",), ("endpoint", "path", "url"), published=True),
        Dialect("mixed", ("version", *_TEXTS), ("id", "name"), _ANYWHERE),
        Dialect("qontinui", ("schemaVersion", "appName"), ("id", "name"), _ANYWHERE),
        Dialect("schemaVersion", ("schemaVersion",), ("id", "name"), ("url", "endpoint", "path")),
        Dialect("action_id", (), ("action_id", "id", "name"), _ANYWHERE, ("http_method", "method")),
        Dialect(CUSTOMER, (), (), ("url",)),
    )
}

PUBLISHED: Final = frozenset(name for name, dialect in DIALECTS.items() if dialect.published)


def dialect_of(value: Object) -> str | None:
    """Return the dialect's name, or None for a document that is not AWAS."""
    if isinstance(value.get("customer_actions"), dict):
        return CUSTOMER
    actions = [action for action in list_of(value, "actions") if isinstance(action, dict)]
    if any(_is_action(action) for action in actions):
        return _dialect_by_members(value, actions)
    if value.get("actions") == [] and all(isinstance(value.get(key), str) for key in DIALECTS[GRADED].required):
        return GRADED  # the example in section File Formats: a site without actions so far
    return BRIDGE if _is_bridge(value) else None


def _is_action(action: Object) -> bool:
    has_id = any(key in action for key in ("id", "action_id", "name"))
    return has_id and any(key in action for key in ("path", "endpoint", "url", "method", "http_method"))


def _dialect_by_members(value: Object, actions: list[Object]) -> str:
    if any("action_id" in action or "http_method" in action for action in actions):
        return "action_id"
    if "specVersion" in value:
        return "1.1"
    if "schemaVersion" in value:
        return "qontinui" if "appName" in value or "baseUrl" in value else "schemaVersion"
    return GRADED if any("path" in action for action in actions) else "mixed"


def _is_bridge(value: Object) -> bool:
    endpoints, actions = map_of(value, "endpoints"), map_of(value, "actions")
    catalogue_urls: tuple[Json, ...] = (
        endpoints.get("actions"),
        endpoints.get("actions_registry"),
        actions.get("discover"),
    )
    return any(isinstance(url, str) and url.strip() for url in catalogue_urls)


def has_page_hint(body: bytes) -> bool:
    """Return whether the page has attributes `data-awas-*` or `data-ai-*`: only a hint, never a capability."""
    # plain search first, because the pattern would dominate the cost of processing a page
    return b"data-a" in body.lower() and _PAGE_HINT.search(body) is not None
