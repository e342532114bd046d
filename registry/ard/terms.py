"""Which term of an entry a filter key means (ARD v0.91, section 5.3.1).

A key is a path whose first segment is resolved to an IRI through the base context and the query's `@context`; the rest
is a literal path into a member that is not expanded, such as `metadata`. Contexts are never fetched: of texts, only the
address of the base context is accepted.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from registry.ard.errors import invalid

NAMESPACE: Final = "https://agenticresourcediscovery.org/ns#"
BASE_CONTEXT: Final = "https://agenticresourcediscovery.org/context/v1"
_BASE_CONTEXTS: Final = frozenset({BASE_CONTEXT, BASE_CONTEXT.replace("https:", "http:"), BASE_CONTEXT + "/"})
_MAX_TERMS: Final = 50
_MAX_CHARS: Final = 300
_PREFIXED: Final = re.compile(r"(?P<prefix>[^:/?#]+):(?P<rest>(?!//).+)", re.DOTALL)

Context = Mapping[str, str]
"""Term or prefix -> IRI, fully expanded; `@vocab` too."""


def read_context(value: Any) -> Context:
    """Return the terms that a query's `@context` adds to the base context. Raise Problem."""
    terms: dict[str, str] = {}
    for part in value if isinstance(value, list) else [value]:
        if part is None:
            continue
        if isinstance(part, str):
            if part not in _BASE_CONTEXTS:
                raise invalid(f"query.@context: other contexts are not fetched; write {BASE_CONTEXT} or an object")
            continue
        if not isinstance(part, dict):
            raise invalid("query.@context: must be an object or the address of the base context")
        terms |= {name: _iri(definition) for name, definition in part.items() if name != "@version"}
    if len(terms) > _MAX_TERMS:
        raise invalid(f"query.@context: at most {_MAX_TERMS} terms")
    return {
        name: _expanded(iri, {key: other for key, other in terms.items() if key != name}) for name, iri in terms.items()
    }


def resolve(key: str, context: Context) -> str | None:
    """Return the path of a key in this registry's own spelling, such as `type` or `metadata.waypost:category`; None for
    a term that entries here do not have.
    """
    if key.startswith(NAMESPACE):
        return key.removeprefix(NAMESPACE) or None
    first, _, rest = (key, "", "") if key in context else key.partition(".")
    iri = _expanded(context.get(first, first), context)
    if iri == first and ":" not in first:  # a plain term that the query does not define
        iri = (NAMESPACE if first in _CORE else context.get("@vocab", NAMESPACE)) + first
    if not iri.startswith(NAMESPACE):
        return None
    name = iri.removeprefix(NAMESPACE)
    return f"{name}.{rest}" if rest else name


_CORE: Final = frozenset(
    ("identifier", "displayName", "type", "url", "data", "description", "tags", "version", "updatedAt", "metadata",
     "capabilities", "representativeQueries", "trustManifest", "publisher")
)  # fmt: skip
"""Terms of the base context, which `@vocab` of a query does not redefine."""


def _iri(definition: Any) -> str:
    iri = definition.get("@id") if isinstance(definition, dict) else definition
    if not isinstance(iri, str) or not iri or len(iri) > _MAX_CHARS:
        raise invalid("query.@context: each term must be an IRI, or an object with @id")
    return iri


def _expanded(iri: str, context: Context) -> str:
    """Return a compact IRI (`prefix:rest`) in full; anything else as it is. Prefixes of prefixes are followed once."""
    for _ in range(2):
        match = _PREFIXED.fullmatch(iri)
        if match is None or match["prefix"] not in context:
            break
        iri = context[match["prefix"]] + match["rest"]
    return iri
