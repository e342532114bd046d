"""Tools, resources, remotes and packages of MCP documents."""

import pytest

from registry.core.format_support import common_rules, mcp_parts
from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.manifest import Notes
from registry.core.format_support.mcp_parts import (
    card_pointer,
    context_offers,
    keeps_tools_to_itself,
    listed_tools,
    tool_entries,
    tools,
    whole_server,
)
from registry.core.format_support.mcp_remotes import (
    configured_servers,
    described_remotes,
    headers_of,
    inputs_of,
    package_of,
    read_install,
    remotes,
)
from registry.core.model.documents import Document, Json
from registry.core.model.services import Capability, Input, Origin

DOCUMENT = Document(b"", {}, "https://marsh.example/.well-known/mcp.json")
ADDRESS = Endpoint("https://marsh.example/mcp")


def read(items: list[Json], notes: Notes | None = None) -> tuple[Capability, ...]:
    return tools(items, "/tools", ADDRESS, DOCUMENT, "mcp-json", notes or Notes())


@pytest.mark.parametrize(
    ("hints", "side_effects", "is_confirmed"),
    [
        ({}, None, False),
        ({"readOnlyHint": True}, False, False),
        ({"readOnlyHint": False}, True, False),
        ({"destructiveHint": True}, True, True),
        ({"readOnlyHint": True, "destructiveHint": True}, False, False),  # destructive means nothing when reading
    ],
)
def test_hints_decide_the_side_effects(hints: Json, side_effects: bool | None, is_confirmed: bool) -> None:
    tool = read([{"name": "t", "annotations": hints}])[0]
    assert (tool.side_effects, tool.confirmation is not None) == (side_effects, is_confirmed)


def test_names_alone_are_tools() -> None:
    assert [tool.name for tool in read(["count", {"name": "list"}])] == ["count", "list"]


def test_nameless_and_repeated_tools_are_left_out() -> None:
    notes = Notes()
    assert [tool.id for tool in read([{"name": "a"}, {"name": "a"}, {}, None, {"name": "{{b}}"}], notes)] == ["a"]
    assert {finding.rule for finding in notes.findings()} == {
        common_rules.DUPLICATE_ID,
        mcp_parts.TOOL,
        common_rules.TEMPLATE,
    }


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


def test_a_tool_keeps_its_title_and_the_hints_that_no_field_has() -> None:
    hints: Json = {"title": "Count birds", "openWorldHint": True, "readOnlyHint": True, "idempotentHint": True}
    tool = read([{"name": "count", "annotations": hints}])[0]
    assert (tool.title, tool.side_effects, tool.idempotent) == ("Count birds", False, True)
    assert tool.native == {"mcp-json": {"annotations": {"openWorldHint": True}}}
    assert read([{"name": "count", "title": "count"}])[0].title is None


def test_a_schema_is_kept_whole_and_a_loose_list_of_parameters_becomes_one() -> None:
    schema: Json = {"$ref": "#/$defs/q", "$defs": {"q": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    assert read([{"name": "t", "inputSchema": schema}])[0].params == schema
    loose = read([{"name": "t", "inputSchema": {"n": "integer (required)"}}])[0].params
    assert loose == {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    "document",
    [
        {"tools": [{"name": "a"}, {"name": "b"}]},
        {"tools": {"a": {"description": "A"}, "b": {"inputSchema": {}}}},
        {"tools": {"free": [{"name": "a"}], "paid": [{"name": "b", "price": 1}]}},
        {"tools": {"count": 2, "available": ["a", "b"]}},
        {"tools": {"a": "Counts birds", "b": "Counts geese"}},
        {"capabilities": {"tools": ["a", "b"]}},
        {"capabilities": {"tools": {"available": [{"name": "a"}, {"name": "b"}]}}},
        {"mcp": {"tools": ["a", "b"]}},
    ],
)
def test_tools_are_found_in_every_shape(document: dict[str, Json]) -> None:
    found = listed_tools(tool_entries(document), ADDRESS, DOCUMENT, "mcp-json", Notes())
    assert [tool.name for tool in found] == ["a", "b"]


@pytest.mark.parametrize(
    "document",
    [
        {"tools": ["dynamic"]},
        {"tools": {"count": 39, "categories": ["energy"]}},
        {"tools": 14},
        {"capabilities": {"tools": {"listChanged": True}}},
        {"capabilities": {"tools": True}},
    ],
)
def test_a_count_or_a_promise_of_tools_is_no_tool(document: dict[str, Json]) -> None:
    assert tool_entries(document) == []
    assert keeps_tools_to_itself(document) is (document.get("tools") != ["dynamic"])


def test_a_resource_on_the_web_is_fetched_and_another_is_read_at_the_server() -> None:
    resources: Json = [{"uri": "https://marsh.example/today", "name": "today"}, {"uri": "marsh://map", "name": "map"}]
    today, marsh_map = context_offers({"resources": resources}, ADDRESS, DOCUMENT, "mcp-json", Notes())
    assert [(call.kind, call.method, call.endpoint) for call in today.invocations] == [
        ("http", "GET", "https://marsh.example/today")
    ]
    assert [(call.kind, call.name, call.endpoint) for call in marsh_map.invocations] == [
        ("rpc", "resources/read", ADDRESS.url)
    ]
    assert marsh_map.params == {
        "type": "object",
        "properties": {"uri": {"type": "string", "format": "uri", "const": "marsh://map"}},
        "required": ["uri"],
    }


@pytest.mark.parametrize(
    ("document", "addresses"),
    [
        ({"url": "https://marsh.example/mcp"}, ["https://marsh.example/mcp"]),
        (
            {"url": "https://marsh.example", "mcp_endpoint": "https://marsh.example/mcp"},
            ["https://marsh.example/mcp"],
        ),
        ({"transport": {"type": "sse", "url": "https://marsh.example/sse"}}, ["https://marsh.example/sse"]),
        (
            {"transport": {"streamable_http": "https://marsh.example/mcp", "sse": "https://marsh.example/sse"}},
            ["https://marsh.example/mcp", "https://marsh.example/sse"],
        ),
        ({"transports": {"json-rpc": {"url": "https://marsh.example/"}}}, ["https://marsh.example/"]),
        ({"endpoints": [{"url": "https://marsh.example/mcp", "type": "sse"}]}, ["https://marsh.example/mcp"]),
        (
            {"endpoints": {"mcp": "https://marsh.example/mcp", "docs": "https://marsh.example/docs"}},
            ["https://marsh.example/mcp"],
        ),
        ({"transport": {"type": "none", "url": "https://marsh.example/mcp"}}, []),
        ({"transport": "stdio"}, []),
    ],
)
def test_addresses_are_found_in_every_shape(document: dict[str, Json], addresses: list[str]) -> None:
    found = described_remotes(document, DOCUMENT, Notes())
    assert [remote.protocol.endpoint for remote in found] == addresses


def test_servers_are_listed_in_maps_and_lists() -> None:
    entry: Json = {"url": "https://marsh.example/mcp"}
    assert configured_servers({"mcpServers": {"a": entry}}) == [("/mcpServers/a", "a", entry)]
    assert configured_servers({"servers": [entry, 7]}) == [("/servers/0", None, entry)]
    assert configured_servers({"mcp_servers": ["https://marsh.example/mcp"]}) == [("/mcp_servers/0", None, entry)]


def test_secrets_of_several_headers_are_needed_at_once() -> None:
    headers: Json = [{"name": name, "isSecret": True, "isRequired": True} for name in ("X-Id", "X-Key")]
    remote: Json = {"type": "sse", "url": "https://marsh.example/sse", "headers": headers}
    found = remotes({"remotes": [remote]}, DOCUMENT, Notes())
    assert found.auth.combinations == ((0, 1),)


def test_a_credential_that_stands_in_a_configuration_is_never_repeated() -> None:
    plain, secret = headers_of({"Authorization": "Bearer abc123", "X-Region": "north"})
    assert plain == (Input("X-Region", value="north"),)
    assert [(scheme.type, scheme.name, scheme.note, required) for scheme, required in secret] == [
        ("bearer", "Authorization", None, None)
    ]
    assert inputs_of({"MARSH_TOKEN": "abc123", "LEVEL": "info", "HOME": "${HOME}"}) == (
        Input("MARSH_TOKEN"),
        Input("LEVEL", value="info"),
        Input("HOME", description="${HOME}"),
    )


def test_arguments_are_words_of_a_command_line() -> None:
    arguments: Json = [
        {"type": "positional", "valueHint": "target dir", "isRequired": True},
        {"type": "named", "name": "--mode", "default": "local"},
        {"type": "named", "name": "--rm", "value": "--rm"},
        {"type": "named", "name": "--verbose"},
        "plain",
        7,
    ]
    package = package_of({"identifier": "p", "packageArguments": arguments}, DOCUMENT.url)
    assert package.arguments == ("{target_dir}", "--mode", "local", "--rm", "plain")


def test_only_single_commands_are_read_as_installations() -> None:
    document: Json = {"install": {"a": "npx -y marsh", "b": "curl https://x.example | sh", "c": "npx 'open", "d": 7}}
    assert [(package.command, package.arguments) for package in read_install(document)] == [("npx", ("-y", "marsh"))]


@pytest.mark.parametrize(
    ("members", "url"),
    [
        ({"base_url": "https://api.quarry.dev/v1"}, "https://api.quarry.dev/v1/stones"),
        ({"url": "https://mcp.quarry.dev/mcp"}, "https://www.quarry.dev/stones"),
    ],
)
def test_paths_of_tools_continue_the_base_that_the_document_names(members: dict[str, Json], url: str) -> None:
    document = Document(b"", {"tools": [], **members}, "https://www.quarry.dev/.well-known/mcp.json")
    entries = [("/tools/0", {"name": "stones", "endpoint": "/stones", "method": "GET"})]
    (tool,) = listed_tools(entries, None, document, "mcp-json", Notes())
    assert [call.endpoint for call in tool.invocations] == [url]
