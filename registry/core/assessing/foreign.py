"""Schemes that use the same paths as known formats. Each test returns "" for a document of its scheme, else None."""

import re

from registry.core.model.documents import Document


def json_rpc(document: Document) -> str | None:
    value = document.value
    return "" if isinstance(value, dict) and "jsonrpc" in value else None


def ahp(document: Document) -> str | None:
    """Agent Handshake Protocol."""
    value = document.value
    return "" if isinstance(value, dict) and "ahp" in value else None


def agent_discovery(document: Document) -> str | None:
    value = document.value
    return "" if isinstance(value, dict) and "agent_discovery_version" in value else None


def facts(document: Document) -> str | None:
    """A file of facts about a subject."""
    value = document.value
    return "" if isinstance(value, dict) and "subject" in value and "facts" in value else None


def aid_like(document: Document) -> str | None:
    """AID's members without AID's version."""
    value = document.value
    if not isinstance(value, dict) or not all(key in value for key in ("v", "p", "u")):
        return None
    return None if re.fullmatch(r"aid\d+", str(value["v"])) else ""


def workstate(document: Document) -> str | None:
    """A protocol about work states that also calls its version `awp_version`."""
    value = document.value
    if not isinstance(value, dict) or "awp_version" not in value:
        return None
    return "" if "workstate_id" in value or "modules" in value else None


def agents_md(document: Document) -> str | None:
    """Instructions for the coding agents of a source repository, when its AGENTS.md is served with the site."""
    return "" if document.text is not None else None
