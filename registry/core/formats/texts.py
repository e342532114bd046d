"""Texts that are known by their paths alone: auth.md, pricing.md, ai.txt, agents.txt, llms-full.txt.

None has a grammar that anybody enforces; they say where to read on, and name other documents.
"""

from registry.core.documents import Document
from registry.core.endpoints import link
from registry.core.format import Format, Read, Role
from registry.core.manifest import Notes
from registry.core.mining import mined
from registry.core.services import Pricing, Service


def text(document: Document) -> str | None:
    """Any text, but only at the format's own paths."""
    return "" if document.text is not None else None


def _auth(document: Document, dialect: str, notes: Notes) -> Service:
    return Service(docs_url=link(document.url, document.url), pointers=mined(document.text or "", document.url))


def _pricing(document: Document, dialect: str, notes: Notes) -> Service:
    return Service(pricing=Pricing(url=link(document.url, document.url)))


def _policy(document: Document, dialect: str, notes: Notes) -> Service:
    return Service(pointers=mined(document.text or "", document.url))


def _format(slug: str, title: str, spec: str, paths: tuple[str, ...], read: Read) -> Format:
    return Format(slug, title, spec, paths, ("text/plain", "text/markdown"), Role.TEXT, read)


AUTH_MD = _format("auth-md", "auth.md", "auth.md convention", ("/auth.md",), _auth)
PRICING_MD = _format("pricing-md", "pricing.md", "pricing.md convention", ("/pricing.md",), _pricing)
AI_TXT = _format("ai-txt", "ai.txt", "ai.txt convention", ("/ai.txt", "/.well-known/ai.txt"), _policy)
AGENTS_TXT = _format("agents-txt", "agents.txt", "agents.txt convention", ("/agents.txt",), _policy)
LLMS_FULL = _format("llms-full-txt", "llms-full.txt", "llmstxt.org", ("/llms-full.txt",), _policy)

FORMATS = (AUTH_MD, PRICING_MD, AI_TXT, AGENTS_TXT, LLMS_FULL)
