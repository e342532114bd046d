"""Calls of tools, servers, skills and agents: the messages of their protocols, and how packages start."""

import json
from dataclasses import replace
from typing import Any

import pytest

from registry.core.model.services import (
    Auth,
    Capability,
    Input,
    Invocation,
    Origin,
    Package,
    Protocol,
    Service,
)
from tests.core.calling.calls import ARGUMENTS, HOST, KEY, TOOL, called, made_call

# --- MCP ------------------------------------------------------------------------------------------------------------


def test_a_tool_is_called_by_json_rpc() -> None:
    service = Service(name="Ferry", auth=Auth((KEY,), True), protocols=(Protocol("mcp", "2025-06-18", f"{HOST}/mcp"),))
    call = called(TOOL, service=service, params=ARGUMENTS)
    assert call["example"]["body"] == {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_trip", "arguments": {"id": 7}},
    }  # fmt: skip
    assert call["example"]["headers"]["MCP-Protocol-Version"] == "2025-06-18"
    assert call["initialize"]["body"]["params"]["protocolVersion"] == "2025-06-18"
    assert call["client_configuration"] == {
        "mcpServers": {"Ferry": {"url": f"{HOST}/mcp", "headers": {"X-Ferry-Key": "YOUR_FERRY_KEY"}}}
    }


def test_the_stateless_revision_carries_what_the_handshake_agreed_on() -> None:
    service = Service(protocols=(Protocol("mcp", "2026-07-28", f"{HOST}/mcp"),))
    call = called(TOOL, service=service, params=ARGUMENTS)
    assert call["example"]["body"]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert (call["example"]["headers"]["Mcp-Method"], call["example"]["headers"]["Mcp-Name"]) == (
        "tools/call",
        "get_trip",
    )
    assert "initialize" not in call


def test_headers_of_a_remote_are_sent_with_placeholders() -> None:
    headers = (
        Input("X-Region", required=True, choices=("eu", "us")),
        Input("Authorization", required=True, secret=True, value="bearer {token}"),
        Input("X-Optional", required=False),
        Input("Bad Name", required=True),
    )
    service = Service(protocols=(Protocol("mcp", None, f"{HOST}/mcp", headers=headers),))
    call = called(TOOL, service=service, params=ARGUMENTS)
    wanted = {"X-Region": "eu", "Authorization": "Bearer YOUR_TOKEN"}
    assert call["example"]["headers"].items() >= wanted.items()
    assert call["client_configuration"]["mcpServers"]["server"]["headers"] == wanted


@pytest.mark.parametrize(
    ("package", "start"),
    [
        (Package("npm", "@ferry/mcp", "1.2.0"), {"command": "npx", "args": ["-y", "@ferry/mcp@1.2.0"]}),
        (
            Package("npm", "ferry", command="npx", runtime_arguments=("--yes",), arguments=("serve",)),
            {"command": "npx", "args": ["--yes", "ferry", "serve"]},
        ),
        (Package("pypi", "ferry", "2"), {"command": "uvx", "args": ["ferry==2"]}),
        (
            Package("nuget", "Ferry", "3", arguments=("--stdio",)),
            {"command": "dnx", "args": ["Ferry@3", "--yes", "--", "--stdio"]},
        ),
        (
            Package("oci", "registry.example/ferry", "4", environment=(Input("FERRY_KEY", secret=True),)),
            {
                "command": "docker",
                "args": ["run", "-i", "--rm", "-e", "FERRY_KEY", "registry.example/ferry:4"],
                "env": {"FERRY_KEY": "YOUR_FERRY_KEY"},
            },
        ),
        (
            Package("oci", "registry.example/ferry:5", "4", runtime_arguments=("run", "--network", "host")),
            {"command": "docker", "args": ["run", "-i", "--rm", "--network", "host", "registry.example/ferry:5"]},
        ),
        (Package(command="ferry-mcp", arguments=("-v",)), {"command": "ferry-mcp", "args": ["-v"]}),
    ],
)
def test_a_package_is_started(package: Package, start: dict[str, Any]) -> None:
    service = Service(name="Ferry", packages=(package,))
    capability = Capability("mcp:ferry", "ferry", whole_server=True, invocations=(Invocation("instructions"),))
    call = made_call(service, capability)
    assert call is not None
    assert call["client_configuration"] == {"mcpServers": {"Ferry": start}}
    assert call["packages"][0]["start"] == start
    assert call["transport"] == "stdio"


def test_a_file_is_downloaded_and_an_unknown_registry_is_shown() -> None:
    bundle = Package("mcpb", f"{HOST}/ferry.mcpb", sha256="0a", environment=(Input("A", "What for.", required=False),))
    service = Service(packages=(bundle, Package("cargo", "ferry", "1")))
    capability = Capability("mcp:ferry", "ferry", whole_server=True, invocations=(Invocation("instructions"),))
    call = made_call(service, capability)
    assert call is not None and "client_configuration" not in call
    assert call["packages"] == [
        {"registry": "mcpb", "identifier": f"{HOST}/ferry.mcpb", "download": f"{HOST}/ferry.mcpb", "sha256": "0a",
         "environment": [{"name": "A", "description": "What for.", "required": False}]},
        {"registry": "cargo", "identifier": "ferry", "version": "1"},
    ]  # fmt: skip


def test_a_server_without_tools_is_asked_for_them() -> None:
    call = called(
        Invocation("rpc", f"{HOST}/mcp", "POST"), service=Service(protocols=(Protocol("mcp", None, f"{HOST}/mcp"),))
    )
    assert (call["kind"], call["example"]["body"]["method"]) == ("mcp_server", "tools/list")


# --- A2A, WoA, pages ------------------------------------------------------------------------------------------------

SKILL = Invocation("a2a_skill", f"{HOST}/a2a", "POST", "trip")


@pytest.mark.parametrize(
    ("version", "binding", "url", "method"),
    [
        (None, None, "/a2a", "message/send"),
        ("0.1", "JSONRPC", "/a2a", "tasks/send"),
        ("0.2.6", "JSONRPC", "/a2a", "message/send"),
        ("0.3.0", "HTTP+JSON", "/a2a/v1/message:send", None),
        ("1.0", "JSONRPC", "/a2a", "SendMessage"),
        ("1.0", "HTTP+JSON", "/a2a/message:send", None),
    ],
)
def test_a_skill_is_asked_in_the_version_of_its_card(
    version: str | None, binding: str | None, url: str, method: str | None
) -> None:
    service = Service(protocols=(Protocol("a2a", version, f"{HOST}/a2a", binding),))
    call = called(SKILL, service=service, examples=("When does the next ferry leave?",))
    assert call["example"]["url"] == HOST + url
    assert call["example"]["body"].get("method") == method
    assert "When does the next ferry leave?" in json.dumps(call["example"]["body"])
    assert call["example"]["headers"].get("A2A-Version") == ("1.0" if version == "1.0" else None)
    assert call["derived"] == []


def test_another_interface_is_taken_where_the_first_is_not_http() -> None:
    grpc = Protocol("a2a", "1.0", f"{HOST}/a2a", "GRPC")
    service = Service(protocols=(grpc, Protocol("a2a", "0.3", f"{HOST}/rpc", "JSONRPC")))
    assert called(SKILL, service=service)["example"]["url"] == f"{HOST}/rpc"
    assert made_call(Service(protocols=(grpc,)), Capability("t", "t", invocations=(SKILL,))) is None


def test_a_skill_whose_agent_speaks_only_mcp_is_asked_for_tools() -> None:
    call = called(SKILL, service=Service(protocols=(Protocol("mcp", "2025-06-18", f"{HOST}/a2a"),)))
    assert (call["kind"], call["example"]["body"]["method"]) == ("mcp_server", "tools/list")


@pytest.mark.parametrize("path", ["/a2a/v1/message:stream", "/tasks/send", "/v1/tasks/{id}:cancel"])
def test_no_json_rpc_is_sent_to_an_operation_of_the_other_binding(path: str) -> None:
    service = Service(protocols=(Protocol("a2a", "0.3.0", HOST + path),))
    call = replace(SKILL, endpoint=HOST + path)
    assert made_call(service, Capability("t", "t", invocations=(call,))) is None


def test_a_woa_operation_is_called_with_the_whole_envelope() -> None:
    origin = Origin(f"{HOST}/.well-known/woa.json", "/agents/0/operations/0", "woa")
    capability = Capability("ferry.trip", "Ferry: trip", params=ARGUMENTS, invocations=(
        Invocation("rpc", f"{HOST}/invoke", "POST", "trip", origin=origin),))  # fmt: skip
    call = made_call(Service(), capability)
    assert call is not None
    assert call["example"]["body"] == {"agent": "ferry", "operation": "trip", "input": {"id": 7}}
    assert call["request"]["body_schema"]["properties"]["input"] == ARGUMENTS
    assert call["source"] == {"document": origin.document, "pointer": origin.pointer, "format": "woa"}
