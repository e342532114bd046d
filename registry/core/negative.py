"""Files that say a protocol is absent, written to please scanners (formats.md section 5)."""

from registry.core.documents import Document

_CONTAINERS = {
    "ucp": "ucp",
    "x402": "x402",
    "acp": "acp",
    "serverInfo": "mcp-server-card",
    "protocol": "",
    "mcp": "mcp-json",
    "a2a": "a2a",
}


def stated_absence(document: Document) -> str | None:
    """The slug of the format said to be absent, "" where only other parts of the file can tell."""
    value = document.value
    if not isinstance(value, dict):
        return None
    for key, slug in _CONTAINERS.items():
        inner = value.get(key)
        if isinstance(inner, dict) and inner.get("available") is False:
            return slug
    return "" if value.get("available") is False else None
