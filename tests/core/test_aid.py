"""AID records: invalid endpoints, records that are too large, and the examples of the specification."""

import re

import pytest

from registry.core.formats import aid
from registry.core.formats.aid import rules as aid_rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Rule
from tests.support.shared import shared


@pytest.mark.parametrize("address", ["docker:image", "npx:thing", "pip:thing"])
def test_commands_are_never_an_endpoint(address: str) -> None:
    document = Document(b"", {"v": "aid2", "u": address, "p": "local"}, "https://a.example/.well-known/agent")
    service, findings, _ = aid.FORMAT.judge(document, "aid2")
    assert (service.protocols, findings) == ((), ())
    mcp_document = Document(b"", {"v": "aid2", "u": address, "p": "mcp"}, "https://a.example/.well-known/agent")
    assert [finding.pointer for finding in aid.FORMAT.judge(mcp_document, "aid2")[1]] == ["/u"]


def test_every_published_example_record_is_read() -> None:
    text = (shared() / "corpus" / "aid" / "AID_examples.yml").read_text()
    records = re.findall(r"record:\s*'([^']+)'", text)
    assert len(records) > 10
    for record in records:
        pairs = (part.partition("=") for part in record.split(";"))
        members: dict[str, Json] = {key.strip(): value.strip() for key, equals, value in pairs if equals}
        document = Document(b"", members, "https://a.com/.well-known/agent")
        assert aid.dialect(document) in ("aid1", "aid2")
        aid.FORMAT.judge(document, "aid2")


@pytest.mark.parametrize(("size", "findings"), [(64 * 1024, []), (64 * 1024 + 1, [aid_rules.SIZE])])
def test_a_record_that_clients_refuse_for_its_size_is_a_finding(size: int, findings: list[Rule]) -> None:
    record = {"v": "aid2", "u": "https://a.example/mcp", "p": "mcp"}
    document = Document(b" " * size, {**record}, "https://a.example/.well-known/agent")
    assert [finding.rule for finding in aid.FORMAT.judge(document, "aid2")[1]] == findings
