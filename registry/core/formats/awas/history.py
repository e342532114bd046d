"""Compare two versions of a manifest (AWAS 1.0, Versioning and Best Practices 6)."""

from typing import Final

from registry.core.format_support.manifest import MAX_CAPABILITIES, MAX_TEXTS, Object, list_of, text_of
from registry.core.model.documents import Json

_CALL: Final = ("path", "method")


def is_unversioned_break(before: Json, after: Json) -> bool | None:
    """Return whether `after` breaks callers of `before` under the same version; False for a new version. None: the
    change is compatible, so it says nothing. Callers break when an action is gone, is called in another way, or demands
    a parameter that it did not demand."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    if before.get("version") != after.get("version"):
        return False
    actions = _by_name(list_of(after, "actions"), "id", MAX_CAPABILITIES)
    for name, action in _by_name(list_of(before, "actions"), "id", MAX_CAPABILITIES).items():
        if name not in actions or _is_breaking(action, actions[name]):
            return True
    return None


def _is_breaking(before: Object, after: Object) -> bool:
    if any(text_of(before, key) != text_of(after, key) for key in _CALL):
        return True
    old, new = (_by_name(list_of(action, "parameters"), "name", MAX_TEXTS) for action in (before, after))
    return any(
        parameter.get("required") is True and old.get(name, {}).get("required") is not True
        for name, parameter in new.items()
    )


def _by_name(items: list[Json], key: str, most: int) -> dict[str, Object]:
    named = ((text_of(item, key), item) for item in items[:most] if isinstance(item, dict))
    return {name: item for name, item in named if name is not None}
