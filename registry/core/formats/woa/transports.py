"""WoA transport configurations (draft-00 section 4.3)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import endpoint
from registry.core.findings import Reason
from registry.core.manifest import ID_CHARS, MAX_TEXTS, Notes, Object, at, map_of, word_of
from registry.core.plain_text import line
from registry.core.services import Protocol

VERSION: Final = "1"

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_NEARLY: Final = frozenset({"agent_id", "agentid", "agent-id"})
"""What authors write for the placeholder, whose spelling and case are fixed (section 4.3.1)."""

_REVERSE_DNS = re.compile(r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class Rest:
    """`template` is base and invoke_path, concatenated (section 4.3.1); it may hold `{agent_id}`."""

    template: str


@dataclass(frozen=True, slots=True)
class Mcp:
    """`server` is None where the document names it by an identifier that only a client can resolve."""

    server: str | None
    tool_field: str


@dataclass(frozen=True, slots=True)
class Private:
    """A transport that its own document describes; a client has to know it."""


Transport = Rest | Mcp | Private


def transports(body: Object, document: Document, notes: Notes) -> Iterator[tuple[str, Transport]]:
    """The usable transports by name; a broken one is noted and left out."""
    for name, said in list(map_of(body, "transports").items())[:MAX_TEXTS]:
        found = _transport(name, said, at("/transports", name), document, notes)
        if found is not None:
            yield name, found


def _transport(name: str, said: Json, pointer: str, document: Document, notes: Notes) -> Transport | None:
    config = said if isinstance(said, dict) else {}
    if name == "rest":
        return _rest(config, pointer, document, notes)
    if name == "mcp":
        return _mcp(config, pointer, document, notes)
    if not _REVERSE_DNS.fullmatch(name):
        notes.add(Reason.WOA_TRANSPORT_NAME, pointer, name)
    if not isinstance(said, dict):
        notes.add(Reason.WOA_MEMBER_TYPE, pointer, said)
    return Private()


def _rest(config: Object, pointer: str, document: Document, notes: Notes) -> Rest | None:
    base, path = config.get("base"), config.get("invoke_path")
    if not isinstance(base, str) or not base.startswith("https://"):
        notes.add(Reason.WOA_REST, at(pointer, "base"), config.get("base", ""))
        return None
    if not isinstance(path, str) or not path.startswith("/"):
        notes.add(Reason.WOA_REST, at(pointer, "invoke_path"), config.get("invoke_path", ""))
        return None
    if any(name != "agent_id" and name.casefold() in _NEARLY for name in _VARIABLE.findall(path)):
        notes.add(Reason.WOA_PLACEHOLDER, at(pointer, "invoke_path"), path)
    usable = endpoint(base, document.url, document, at(pointer, "base"), notes)
    return Rest(base + path) if usable else None


def _mcp(config: Object, pointer: str, document: Document, notes: Notes) -> Mcp | None:
    missing = [key for key in ("server", "tool_namespace", "tool_field") if not word_of(config, key)]
    for key in missing:
        notes.add(Reason.WOA_MCP, at(pointer, key), config.get(key, ""))
    if missing:
        return None
    server = str(config["server"])
    found = endpoint(server, document.url, document, at(pointer, "server"), notes) if "://" in server else None
    return Mcp(found.url if found else None, word_of(config, "tool_field") or "")


def protocols(usable: Mapping[str, Transport]) -> Iterator[Protocol]:
    for name, transport in usable.items():
        if isinstance(transport, Rest):
            yield Protocol("woa-rest", VERSION, transport.template)
        elif isinstance(transport, Mcp):
            yield Protocol("mcp", endpoint=transport.server)
        else:
            yield Protocol(line(name, ID_CHARS).lower())
