"""Pointers found in prose."""

import pytest

from registry.core.assessing.mining import MAX_MINED, PROMISED, find_manifest_pointers
from registry.core.formats import FORMAT_BY_SLUG

BASE = "https://orchard.example/llms.txt"


SITE = "https://orchard.example"


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        (f"see {SITE}/.well-known/ard.json.", f"{SITE}/.well-known/ard.json", "ai-catalog"),
        ("[card](/.well-known/agent-card.json)", f"{SITE}/.well-known/agent-card.json", "a2a"),
        ("[api](https://api.orchard.example/openapi.yaml)", "https://api.orchard.example/openapi.yaml", "openapi"),
        (f"MCP at `{SITE}/mcp`", f"{SITE}/mcp/server-card", "mcp-server-card"),
        ('[card](</.well-known/agent-card.json> "A2A")', f"{SITE}/.well-known/agent-card.json", "a2a"),
        ("[api](./v1/openapi.json)", f"{SITE}/v1/openapi.json", "openapi"),
        ("[api](openapi.json?v=1)", f"{SITE}/openapi.json?v=1", "openapi"),
        ("[api][1]\n\n  [1]: /v1/openapi.json 'The API'\n", f"{SITE}/v1/openapi.json", "openapi"),
        (f"<{SITE}/x/server-card>", f"{SITE}/x/server-card", "mcp-server-card"),
    ],
)
def test_a_document_url_is_found_with_its_format(text: str, url: str, expected: str) -> None:
    assert [(pointer.url, pointer.expected) for pointer in find_manifest_pointers(text, BASE)] == [(url, expected)]


@pytest.mark.parametrize(
    "text",
    [
        "https://orchard.example/my-ard.json",
        "https://orchard.example/docs/agent-card.json",
        "http://orchard.example/.well-known/ard.json",
        "https://orchard.example/mcp-guide",
        "https://user:secret@orchard.example/.well-known/ard.json",
        "https://",
    ],
)
def test_other_texts_have_no_pointers(text: str) -> None:
    assert find_manifest_pointers(text, BASE) == ()


def test_repeats_count_once_and_the_number_is_bounded() -> None:
    many = "\n".join(f"https://h{i}.orchard.example/mcp" for i in range(MAX_MINED * 3))
    assert len(find_manifest_pointers(many, BASE)) == MAX_MINED
    assert len(find_manifest_pointers("https://a.orchard.example/mcp " * 50, BASE)) == 1


@pytest.mark.parametrize("path", [*PROMISED, "/v1/swagger.yml", "/a/SKILL.md", "/a/../mcp/", "/x/server-card"])
def test_every_document_path_is_distinguished_from_a_page(path: str) -> None:
    """Most links are skipped without being parsed; those that lead to a document must not be."""
    assert len(find_manifest_pointers(f"[it](https://orchard.example{path}), [that]({path})", BASE)) == 1


def test_the_table_of_paths_agrees_with_the_formats() -> None:
    """The formats define their paths; this table must repeat them correctly."""
    for path, slug in PROMISED.items():
        assert path in FORMAT_BY_SLUG[slug].paths


_GUESSES = {"/llms-full.txt", "/ai.txt", "/.well-known/ai.txt", "/agents.txt", "/llms.txt", "/openapi.json"}
_GUESSES |= {"/.well-known/openapi.json", "/openapi.yaml", "/swagger.json"}


def test_every_path_of_a_format_is_known() -> None:
    """API descriptions are recognised by the end of their path; the other paths here cannot be mined from prose."""
    paths = {path for form in FORMAT_BY_SLUG.values() for path in form.paths}
    assert paths - set(PROMISED) - _GUESSES == set()


def test_a_skill_is_recorded_and_promises_no_format() -> None:
    (pointer,) = find_manifest_pointers("[trim](https://orchard.example/skills/trim/SKILL.md)", BASE)
    assert (pointer.url, pointer.rel, pointer.expected) == (f"{SITE}/skills/trim/SKILL.md", "skill", None)
