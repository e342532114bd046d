"""Read WoA transport configurations (draft-00 section 4.3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support.endpoints import endpoint
from registry.core.format_support.manifest import ID_CHARS, MAX_TEXTS, Notes, Object, map_of, short_text_of
from registry.core.format_support.shapes import missing_texts
from registry.core.formats.woa import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Protocol
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

VERSION: Final = "1"
REST: Final = "woa-rest"
MCP: Final = "mcp"

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MISSPELT: Final = frozenset({"agent_id", "agentid", "agent-id"})
"""Common misspellings of the placeholder, whose spelling and case are fixed (section 4.3.1); compared in lower case."""

_REVERSE_DNS = re.compile(r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class Transport:
    """A way to call agents. The endpoint of REST is base and invoke_path, concatenated (section 4.3.1); it may contain
    `{agent_id}`. `tool_field`: of MCP, whose server may be an identifier that only a client can resolve."""

    protocol: Protocol
    tool_field: str | None = None


def transports(body: Object, document: Document, notes: Notes) -> Iterator[tuple[str, Transport]]:
    """Yield the usable transports with their names; a broken one is noted and left out."""
    for name, value in list(map_of(body, "transports").items())[:MAX_TEXTS]:
        transport = _read_transport(name, value, at("/transports", name), document, notes)
        if transport is not None:
            yield name, transport


def _read_transport(name: str, value: Json, pointer: str, document: Document, notes: Notes) -> Transport | None:
    config = value if isinstance(value, dict) else {}
    if name == "rest":
        return _read_rest(config, pointer, document, notes)
    if name == "mcp":
        return _read_mcp(config, pointer, document, notes)
    if not _REVERSE_DNS.fullmatch(name):
        notes.add(rules.TRANSPORT_NAME, pointer, name)
    if not isinstance(value, dict):
        notes.add(rules.MEMBER_TYPE, pointer, value)
    return Transport(Protocol(line(name, ID_CHARS).lower()))  # private: described elsewhere, a client has to know it


def _read_rest(config: Object, pointer: str, document: Document, notes: Notes) -> Transport | None:
    base, path = config.get("base"), config.get("invoke_path")
    if not isinstance(base, str) or not base.startswith("https://"):
        notes.add(rules.REST, at(pointer, "base"), config.get("base", ""))
        return None
    if not isinstance(path, str) or not path.startswith("/"):
        notes.add(rules.REST, at(pointer, "invoke_path"), config.get("invoke_path", ""))
        return None
    if any(name != "agent_id" and name.casefold() in _MISSPELT for name in _VARIABLE.findall(path)):
        notes.add(rules.PLACEHOLDER, at(pointer, "invoke_path"), path)
    resolved = endpoint(base, document.url, document, at(pointer, "base"), notes)
    return Transport(Protocol(REST, VERSION, base + path)) if resolved else None


def _read_mcp(config: Object, pointer: str, document: Document, notes: Notes) -> Transport | None:
    if missing_texts(config, ("server", "tool_namespace", "tool_field"), pointer, rules.MCP, notes):
        return None
    server = str(config["server"])
    resolved = endpoint(server, document.url, document, at(pointer, "server"), notes) if "://" in server else None
    return Transport(Protocol(MCP, endpoint=resolved.url if resolved else None), short_text_of(config, "tool_field"))
