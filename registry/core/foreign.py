"""Schemes that share paths with the known formats and are none of them (formats.md section 1, rows 2 and 22)."""

import re

from registry.core.documents import Document


def json_rpc(document: Document) -> str | None:
    value = document.value
    return "" if isinstance(value, dict) and "jsonrpc" in value else None


def ahp(document: Document) -> str | None:
    """Agent Handshake Protocol."""
    value = document.value
    return "" if isinstance(value, dict) and "ahp" in value else None


def frans(document: Document) -> str | None:
    """The agent.json scheme of versions 1.x: an origin with intents and an address to pay to."""
    value = document.value
    if not isinstance(value, dict) or "origin" not in value:
        return None
    return "" if any(key in value for key in ("intents", "payout_address", "version")) else None


def agent_discovery(document: Document) -> str | None:
    value = document.value
    return "" if isinstance(value, dict) and "agent_discovery_version" in value else None


def facts(document: Document) -> str | None:
    """A file of facts about a subject."""
    value = document.value
    return "" if isinstance(value, dict) and "subject" in value and "facts" in value else None


def aid_like(document: Document) -> str | None:
    """AID's letters without AID's version."""
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
