"""The dialects of AWAS contradict each other: choose one first, then grade only by it (formats.md section 2.4)."""

from dataclasses import dataclass
from typing import Final

from registry.core.documents import Json
from registry.core.manifest import Object, list_of, map_of

BRIDGE: Final = "bridge"
CUSTOMER: Final = "customer_actions"
GRADED: Final = "1.0"
"""The version whose text is the specification here."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which members carry what. `required` are top-level texts; `published`: some text of the project describes it."""

    name: str
    required: tuple[str, ...]
    ids: tuple[str, ...]
    targets: tuple[str, ...]
    methods: tuple[str, ...] = ("method",)
    published: bool = False


_TEXTS: Final = ("name", "description")
_ANYWHERE: Final = ("endpoint", "url", "path")

DIALECTS: Final = {
    one.name: one
    for one in (
        Dialect(GRADED, ("version", *_TEXTS), ("id",), ("path",), published=True),
        Dialect("1.1", ("specVersion", *_TEXTS), ("id",), ("endpoint", "path", "url"), published=True),
        Dialect("mixed", ("version", *_TEXTS), ("id", "name"), _ANYWHERE),
        Dialect("qontinui", ("schemaVersion", "appName"), ("id", "name"), _ANYWHERE),
        Dialect("schemaVersion", ("schemaVersion",), ("id", "name"), ("url", "endpoint", "path")),
        Dialect("action_id", (), ("action_id", "id", "name"), _ANYWHERE, ("http_method", "method")),
        Dialect(CUSTOMER, (), (), ("url",)),
    )
}


def chosen(value: Object) -> str | None:
    """The dialect's name, or None where the document has nothing of AWAS."""
    if isinstance(value.get("customer_actions"), dict):
        return CUSTOMER
    actions = [one for one in list_of(value, "actions") if isinstance(one, dict)]
    if any(_is_action(one) for one in actions):
        return _by_members(value, actions)
    if value.get("actions") == [] and all(isinstance(value.get(key), str) for key in DIALECTS[GRADED].required):
        return GRADED  # File Formats shows it like this: a site that has nothing to declare yet
    return BRIDGE if _is_bridge(value) else None


def _is_action(one: Object) -> bool:
    named = any(key in one for key in ("id", "action_id", "name"))
    return named and any(key in one for key in ("path", "endpoint", "url", "method", "http_method"))


def _by_members(value: Object, actions: list[Object]) -> str:
    if any("action_id" in one or "http_method" in one for one in actions):
        return "action_id"
    if "specVersion" in value:
        return "1.1"
    if "schemaVersion" in value:
        return "qontinui" if "appName" in value or "baseUrl" in value else "schemaVersion"
    return GRADED if any("path" in one for one in actions) else "mixed"


def _is_bridge(value: Object) -> bool:
    endpoints, actions = map_of(value, "endpoints"), map_of(value, "actions")
    named: tuple[Json, ...] = (endpoints.get("actions"), endpoints.get("actions_registry"), actions.get("discover"))
    return any(isinstance(one, str) and one.strip() for one in named)
