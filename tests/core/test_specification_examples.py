"""The complete example of each of the five specifications, served as it demands, loses no point and is recognised.

The examples are read from the texts when the tests run. Two texts have none in one piece: that of AWP is put together
from its sections, and for ATP a manifest is written that has every member of the outlines in section 3.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from registry.api.validate import check_draft
from registry.core.assessing.assess import assess_body
from registry.core.merging.merge import HeldDocument
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Severity
from registry.core.scoring.report import Report, report
from tests.support.shared import shared

NOW = datetime(2026, 11, 24, tzinfo=UTC)
HEADERS = {
    "content-type": "application/json",
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=3600",
    "etag": '"v1"',
}
"""What ATP 2.2, AWAS (Content Negotiation) and ADP 1 demand or recommend for the answer; AWP demands the type only."""

_FENCED = re.compile(r"```json\n(.*?)```", re.DOTALL)


class Served(NamedTuple):
    """A document and how it is served. `others` are the documents that it names, by URL."""

    value: dict[str, Any]
    url: str
    headers: dict[str, str]
    others: dict[str, dict[str, Any]]


def text_of(name: str) -> str:
    return shared("specs", name).read_text(encoding="utf-8")


def blocks(name: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON of the text; members that stand outside of an object are put into one."""
    for block in _FENCED.findall(text_of(name)):
        yield json.loads(block if block.lstrip().startswith("{") else f"{{{block}}}")


def adp() -> Served:
    manifest = next(block for block in blocks("adp-1.0.md") if "spec_version" in block)
    details = {
        manifest["base_url"] + capability["detail_url"]: {
            "name": capability["name"],
            "description": capability["description"],
            "endpoint": "/v1/" + capability["name"],
            "method": "POST",
            "parameters": [
                {"name": "day", "type": "string", "description": "A day.", "required": True, "example": "2026-11-24"}
            ],
            "request_example": {"method": "POST", "url": manifest["base_url"] + "/v1/x", "body": {"day": "2026-11-24"}},
            "response_example": {"status": 200, "body": {"done": True}},
        }
        for capability in manifest["capabilities"]
    }
    return Served(manifest, manifest["base_url"] + "/.well-known/agent", HEADERS, details)


def awas() -> Served:
    text = text_of("awas-1.0.md")
    manifest = json.loads(_FENCED.findall(text[text.index("## Complete Example") :])[0])
    return Served(manifest, manifest["baseUrl"] + "/.well-known/ai-actions.json", HEADERS, {})


def woa() -> Served:
    text = text_of("woa-draft-00.txt")
    text = text[text.index("Example WoA Document") : text.index("Client Fetches WoA Document")]
    manifest = json.loads(text[text.index("\n   {") : text.rindex("}") + 1])
    headers = {"content-type": "application/woa+json", "etag": '"abc123"', "cache-control": "max-age=300"}
    return Served(manifest, manifest["transports"]["rest"]["base"] + "/.well-known/woa.json", headers, {})


def awp() -> Served:
    """Return the parts of sections 5.5 to 13, with the three members of section 5 that no part shows."""
    manifest: dict[str, Any] = {"awp_version": "0.2", "domain": "flights.example", "intent": "Finds and books flights."}
    for block in blocks("awp-0.2.md"):
        if "source" not in block:  # section 14: a file that an intermediary generated
            manifest |= block
    return Served(manifest, "https://flights.example/agent.json", {"content-type": "application/json"}, {})


ATP = json.loads((Path(__file__).parent / "documents" / "whole-atp.json").read_text())
"""A manifest with every member that the outlines of section 3 have, which a test compares."""


def atp() -> Served:
    text_of("atp-0.1.md")
    return Served(ATP, "https://paper.example/.well-known/agent.json", HEADERS, {})


EXAMPLES = {"adp": adp, "atp": atp, "awas": awas, "awp": awp, "woa": woa}


@cache
def graded(slug: str) -> Report:
    served = EXAMPLES[slug]()
    raw = json.dumps(served.value).encode()
    media_type = served.headers["content-type"]
    documents = [
        HeldDocument(served.url, served.url, assess_body(raw, served.url, media_type, served.headers), b"0", NOW)
    ]
    for number, pointer in enumerate(documents[0].assessment.pointers, 1):
        if pointer.url in served.others:
            via = Via(served.url, pointer.pointer, pointer.rel, pointer.expected)
            body = json.dumps(served.others[pointer.url]).encode()
            assessment = assess_body(body, pointer.url, "application/json", HEADERS, via=via)
            documents.append(HeldDocument(pointer.url, pointer.url, assessment, bytes([number]), NOW, via))
    assert len(documents) == 1 + len(served.others)
    return report(served.url.split("/")[2], documents, {served.url: raw})


@pytest.mark.parametrize("slug", EXAMPLES)
def test_a_complete_example_loses_no_point(slug: str) -> None:
    result = graded(slug)
    assert result.score is not None and result.service is not None and result.service.capabilities
    assert {line.rule.code: line.points for line in result.score.lines if line.points} == {}
    assert result.score.value == 100


@pytest.mark.parametrize(
    ("slug", "code"),
    [("awp", "awp.payment_version"), ("awas", "awas.parameter_text"), ("woa", "service.rate_limit_unknown")],
)
def test_what_an_example_leaves_out_is_a_note(slug: str, code: str) -> None:
    score = graded(slug).score
    assert score is not None
    assert {line.rule.severity for line in score.lines if line.rule.code == code} == {Severity.INFO}


@pytest.mark.parametrize("slug", EXAMPLES)
def test_a_complete_example_is_recognised_without_a_path_and_its_path_is_no_matter(slug: str) -> None:
    draft = check_draft(json.dumps(EXAMPLES[slug]().value).encode(), None)
    assert (draft.assessment.outcome, draft.assessment.format, draft.valid) == (Outcome.FOUND, slug, True)
    assert [finding.rule.code for finding in draft.report.findings if finding.rule.code.endswith(".path")] == []
    assert draft.report.score is not None and draft.report.score.value == 100


def test_the_manifest_of_atp_has_every_member_of_the_outlines() -> None:
    text = text_of("atp-0.1.md")
    text = text[text.index("## 3. Manifest Format") : text.index("### 3.7")] + text[text.index("### 3.8") :]
    text = text[: text.index("## 4. Protocol Behavior")]
    named = {key for block in _FENCED.findall(text) for key in re.findall(r'"([@\w]+)":', block)}
    assert len(named) > 50 and named - _keys(ATP) == {"scope_name"}


def _keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_keys, value))
    return set(value).union(*map(_keys, value.values())) if isinstance(value, dict) else set()


EMPTY: dict[str, tuple[str, dict[str, Any]]] = {
    "adp": ("/.well-known/agent", {"spec_version": "1.0", "base_url": "https://x.example", "auth": {"type": "none"},
            "name": "X", "description": "Has nothing to offer yet.", "capabilities": []}),
    "atp": ("/.well-known/agent.json", {"@context": "https://atp.dev/schema/v1", "@type": "AgentManifest",
            "name": "X", "description": "Has nothing.", "version": "1.0.0", "capabilities": []}),
    "awas": ("/.well-known/ai-actions.json", {"version": "1.0", "name": "X", "description": "None.", "actions": []}),
    "awp": ("/agent.json", {"awp_version": "0.2", "domain": "x.example", "intent": "Nothing.", "actions": []}),
    "woa": ("/.well-known/woa.json", {"woa_version": "1", "agents": [], "transports": {}}),
}  # fmt: skip


@pytest.mark.parametrize("slug", EMPTY)
def test_a_manifest_with_nothing_in_it_is_not_listed_or_scores_low(slug: str) -> None:
    path, value = EMPTY[slug]
    url, raw = f"https://x.example{path}", json.dumps(value).encode()
    document = HeldDocument(url, url, assess_body(raw, url, "application/json", HEADERS), b"0", NOW)
    result = report("x.example", [document], {url: raw})
    assert document.assessment.format == slug
    if result.score is None:
        assert "listing.nothing_callable" in {found.finding.rule.code for found in result.findings}
    else:
        assert result.score.value <= 40
