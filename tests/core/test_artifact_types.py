"""Media types of entries in the spellings of the wild."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.format_support.artifact_types import (
    _SPELLINGS,
    A2A_CARD,
    AI_CATALOG,
    API_CATALOG,
    MCP_CARD,
    MCP_SERVER,
    OPENAPI,
    SKILL_GZIP,
    SKILL_TEXT,
    SKILL_ZIP,
    TYPE_OF,
    artifact_formats,
    canonical_type,
    formats_of_type,
    promised_format,
)
from registry.core.format_support.format import Role
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from tests.support.shared import SHARED


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("application/A2A-Agent-Card+JSON", A2A_CARD), ("application/agent-card+json; charset=utf-8", A2A_CARD),
        ("Application/MCP-Server+JSON; charset=utf-8", MCP_SERVER), ("application/mcp+json", MCP_CARD),
        ("application/vnd.oai.openapi+json;version=3.1", OPENAPI), ("application/vnd.oai.openapi", OPENAPI),
        ("application/openapi+yaml", OPENAPI), ("application/openapi+json", OPENAPI),
        ("application/rest-api+json", OPENAPI), ("application/openapi+json.v3", OPENAPI),
        ("application/vnd.oai.openapi.v3.1+json", OPENAPI), ("application/swagger+yaml", OPENAPI),
        ("application/ai-catalog", AI_CATALOG),
        ("application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"", API_CATALOG),
        ("application/agentskill+zip", SKILL_ZIP), ("application/ai-skills+gzip", SKILL_GZIP),
        ("application/ai-skill+md", SKILL_TEXT), ("application/ai-skill", SKILL_TEXT),
        ("text/markdown; profile=ai-skill", SKILL_TEXT), ("text/markdown;profile=\"URN:AIR:agent-skills\"", SKILL_TEXT),
        ("text/markdown", "text/markdown"), ("application/openapinions+json", "application/openapinions+json"),
        ("image/PNG; q=1", "image/png"), ("", ""), (";;;", ""),
    ],
)  # fmt: skip
def test_spellings_mean_one_type(spelling: str, canonical: str) -> None:
    assert canonical_type(spelling) == canonical
    assert canonical_type(canonical) == canonical


def test_forty_spellings_are_known() -> None:
    spellings = [name for names in _SPELLINGS.values() for name in names]
    assert len(set(spellings)) == len(spellings) >= 40
    for canonical, names in _SPELLINGS.items():
        assert canonical in names
        assert {canonical_type(name.upper()) for name in names} == {canonical}


def test_every_format_of_a_service_has_a_type_that_leads_back() -> None:
    assert {form.slug for form in FORMATS if form.role is Role.SERVICE} <= TYPE_OF.keys() <= FORMAT_BY_SLUG.keys()
    for slug, media_type in TYPE_OF.items():
        assert slug in formats_of_type(media_type)
        assert canonical_type(media_type) == media_type
    shared = {name for name, number in Counter(TYPE_OF.values()).items() if number > 1}
    assert shared == {MCP_CARD}


def test_a_name_with_two_meanings_means_either() -> None:
    assert formats_of_type("application/mcp-server+json") == ("mcp-server-card", "mcp-json", "mcp-server-json")
    assert formats_of_type(MCP_CARD) == ("mcp-server-card", "mcp-json")
    assert promised_format("application/mcp-server+json") == "mcp-server-card"


def test_types_that_are_not_indexed_have_no_format() -> None:
    for text in ("application/json", "application/ai-registry+json", SKILL_ZIP, "application/zip", "x"):
        assert formats_of_type(text) == ()
        assert promised_format(text) is None


def test_entries_have_one_order() -> None:
    assert artifact_formats(["adp", "jwks", "a2a"]) == artifact_formats(["a2a", "adp"]) == ("a2a", "adp")


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    once = canonical_type(text)
    assert len(once) < 300
    assert isinstance(formats_of_type(text), tuple)


def _types(value: Any) -> Iterator[str]:
    entries = value.get("entries") if isinstance(value, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        kind = entry.get("type", entry.get("mediaType")) if isinstance(entry, dict) else None
        if isinstance(kind, str):
            yield kind


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the corpus of recorded documents is absent")
def test_the_types_of_recorded_catalogues_are_known() -> None:
    found: Counter[str] = Counter()
    for path in (SHARED / "corpus" / "ai-catalog").iterdir():
        try:
            found.update(_types(json.loads(path.read_bytes())))
        except ValueError:
            continue
    known = {*TYPE_OF.values(), SKILL_ZIP, SKILL_GZIP, SKILL_TEXT, "application/ai-registry+json"}
    agentic = [
        kind for kind in found if any(word in kind.lower() for word in ("mcp", "a2a", "openapi", "skill", "ai-"))
    ]
    unknown = {kind for kind in agentic if canonical_type(kind) not in known}
    assert len(agentic) > 8
    assert unknown <= {"application/vnd.capelry.skill-source+json"}
