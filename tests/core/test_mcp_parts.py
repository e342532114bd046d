"""Tools and remotes of MCP documents."""

from registry.core.format_support import common_rules, mcp_rules
from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.manifest import MAX_CAPABILITIES, Notes
from registry.core.format_support.mcp_parts import card_pointer, remotes, tools, whole_server
from registry.core.model.documents import Document, Json
from registry.core.model.services import Capability, Origin

DOCUMENT = Document(b"", {}, "https://marsh.example/.well-known/mcp.json")
ADDRESS = Endpoint("https://marsh.example/mcp")


def read(items: list[Json], notes: Notes | None = None) -> tuple[Capability, ...]:
    return tools(items, "/tools", ADDRESS, DOCUMENT, "mcp-json", notes or Notes())


def effects(**hints: bool) -> tuple[bool | None, bool]:
    tool = read([{"name": "t", "annotations": {**hints}}])[0]
    return tool.side_effects, tool.confirmation is not None


def test_hints_decide_the_side_effects() -> None:
    assert effects() == (None, False)
    assert effects(readOnlyHint=True) == (False, False)
    assert effects(readOnlyHint=False) == (True, False)
    assert effects(destructiveHint=True) == (True, True)
    assert effects(readOnlyHint=True, destructiveHint=True) == (False, False), "destructive means nothing when reading"


def test_names_alone_are_tools() -> None:
    assert [tool.name for tool in read(["count", {"name": "list"}])] == ["count", "list"]


def test_nameless_and_repeated_tools_are_left_out() -> None:
    notes = Notes()
    assert [tool.id for tool in read([{"name": "a"}, {"name": "a"}, {}, None, {"name": "{{b}}"}], notes)] == ["a"]
    assert {finding.rule for finding in notes.findings()} == {
        common_rules.DUPLICATE_ID,
        mcp_rules.TOOL,
        common_rules.TEMPLATE,
    }


def test_more_tools_than_are_kept_are_counted() -> None:
    notes = Notes()
    assert len(read([f"t{i}" for i in range(MAX_CAPABILITIES + 5)], notes)) == MAX_CAPABILITIES
    assert [finding.rule for finding in notes.findings()] == [common_rules.TOO_MANY_CAPABILITIES]


def test_secret_headers_are_credentials_and_others_are_not() -> None:
    remote: Json = {
        "type": "streamable-http",
        "url": "https://marsh.example/mcp",
        "headers": [
            {"name": "X-Region", "isRequired": True},
            {"name": "X-Key", "isSecret": True, "isRequired": True},
            {"name": "Authorization", "value": "Bearer {t}", "variables": {"t": {"isSecret": True}}},
        ],
    }
    found = remotes({"remotes": [remote]}, DOCUMENT, Notes())
    assert [(scheme.type, scheme.name) for scheme in found.auth.schemes] == [
        ("api_key", "X-Key"),
        ("bearer", "Authorization"),
    ]
    assert found.auth.required is True


def test_a_value_for_the_caller_is_a_variable_and_no_forgotten_template() -> None:
    notes = Notes()
    found = remotes({"remotes": [{"type": "sse", "url": "https://marsh.example/sse?k=<YOUR_TOKEN>"}]}, DOCUMENT, notes)
    assert found.address == Endpoint("https://marsh.example/sse?k={your_token}", True)
    assert [finding.rule for finding in notes.findings()] == [common_rules.ENDPOINT_TEMPLATED]


def test_private_addresses_are_removed() -> None:
    notes = Notes()
    found = remotes({"remotes": [{"type": "sse", "url": "http://192.168.0.9/sse"}]}, DOCUMENT, notes)
    assert found.protocols == ()
    assert [finding.rule for finding in notes.findings()] == [common_rules.ENDPOINT_NOT_PUBLIC]


def test_the_card_url_is_below_the_url_of_its_server() -> None:
    assert (
        card_pointer(Endpoint("https://marsh.example/mcp/?v=1"), "/url")[0].url
        == "https://marsh.example/mcp/server-card"
    )
    assert card_pointer(Endpoint("https://{site}.marsh.example/mcp", True), "/url") == ()
    assert card_pointer(Endpoint("wss://marsh.example/mcp"), "/url") == ()


def test_a_server_without_known_tools_is_one_capability_with_a_name_for_a_path() -> None:
    capability = whole_server("example.marsh/birds", None, None, ADDRESS, Origin(DOCUMENT.url, "", "mcp-json"))
    assert (capability.id, capability.name) == ("mcp:example.marsh/birds", "birds")
    local_server = whole_server("n", "T", None, None, Origin(DOCUMENT.url, "", "mcp-server-json"), local=True)
    assert [(call.kind, call.endpoint) for call in local_server.invocations] == [("instructions", None)]
