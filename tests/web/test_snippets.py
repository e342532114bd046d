"""Lines to copy: they say exactly the call that they print."""

import ast
import json
from typing import Any

import pytest

from registry.web.snippets import MAX_CHARS, server_name, snippets_of

HOST = "api.ferries.example"
AWKWARD = "a'b\"c\\d\ne${f}`g` \u202e\u2028 \U0001f6a2 </script>"


def _call(body: Any = None, content_type: str | None = "application/json", **example: Any) -> dict[str, Any]:
    headers = {"X-Pass": "YOUR_PASS"} | ({} if content_type is None else {"Content-Type": content_type})
    made = {"method": "POST", "url": f"https://{HOST}/v1/tickets?day=1", "headers": headers} | example
    return {"kind": "http", "example": made if body is None else made | {"body": body}}


def _texts(call: Any, configuration: Any = None) -> dict[str, str]:
    return {one.name: one.text for one in snippets_of(HOST, call, configuration)}


def _python_arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of `requests.request` in a program."""
    call = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".request")
    )
    values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return [ast.literal_eval(one) for one in call.args], values


@pytest.mark.parametrize(
    "body",
    [None, {}, [], {"a": None, "b": True, "c": [1.5, {"d": AWKWARD}]}, AWKWARD, {"x" * 30: "y z " * 60}, 0, False],
)
def test_the_program_sends_the_request_of_the_example(body: Any) -> None:
    call = _call(body)
    arguments, words = _python_arguments(_texts(call)["python"])
    example = call["example"]
    assert arguments == [example["method"], example["url"]]
    assert words == {"headers": example["headers"]} | ({} if body is None else {"json": body})
    script = _texts(call)["javascript"]
    if body is not None:
        written = script[script.index("JSON.stringify(") + 15 : script.rindex("),\n}")]
        assert json.loads(written) == body


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (None, []),
        ({"kind": "navigation", "open": "https://a.example"}, []),
        ({"kind": "mcp_tool", "example": {"body": {}}, "curl": "curl"}, []),
        (_call({"a": "1", "b": 2}, "application/x-www-form-urlencoded"), ["python", "javascript"]),
        (_call({"a": [1]}, "application/x-www-form-urlencoded"), []),  # a list in a form can be written in many ways
        (_call({"a": 1}, "multipart/form-data"), []),
        (_call({"a": 1}, method="GET"), ["python"]),  # fetch sends no body with GET
        (_call({"__proto__": 1}), ["python"]),
        (_call({"a": "b" * MAX_CHARS}), []),
    ],
)
def test_a_snippet_that_would_not_hold_is_left_out(call: Any, names: list[str]) -> None:
    assert list(_texts(call)) == names


def test_a_remote_server_is_entered_in_each_client() -> None:
    headers = {"Authorization": "Bearer YOUR_KEY"}
    entry = {"url": f"https://{HOST}/mcp", "headers": headers}
    texts = _texts(None, {"mcpServers": {"Ferries & <co>": entry}})
    words = f"claude mcp add --transport http api-ferries-example https://{HOST}/mcp --header"
    assert texts["claude-code"] == f'{words} "Authorization: Bearer YOUR_KEY"'
    assert json.loads(texts["vscode"]) == {"servers": {"api-ferries-example": {"type": "http", **entry}}}
    assert json.loads(texts["mcp-hosts"]) == {"mcpServers": {"api-ferries-example": entry}}


def test_a_local_server_is_started_by_each_client() -> None:
    entry = {"command": "npx", "args": ["-y", "ferries@1.0"], "env": {"KEY": "YOUR_KEY"}}
    texts = _texts(None, {"mcpServers": {"f": entry}})
    assert texts["claude-code"].startswith('claude mcp add-json api-ferries-example \'{"type":"stdio"')
    assert json.loads(texts["vscode"])["servers"]["api-ferries-example"] == {"type": "stdio", **entry}


def test_what_no_shell_reads_alike_is_a_file() -> None:
    texts = _texts(None, {"mcpServers": {"f": {"url": f"https://{HOST}/mcp", "headers": {"K": "$(`'\"!%"}}}})
    assert json.loads(texts["claude-code"])["mcpServers"]["api-ferries-example"]["type"] == "http"


@pytest.mark.parametrize(
    "configuration", [{}, {"mcpServers": {}}, {"mcpServers": {"a": None}}, {"mcpServers": {"a": "b"}}]
)
def test_a_configuration_without_an_entry_gives_nothing(configuration: Any) -> None:
    assert _texts(None, configuration) == {}


@pytest.mark.parametrize(
    ("host", "name"), [("xn--bcher-kva.example", "xn--bcher-kva-example"), ("...", "server"), ("a" * 300, "a" * 60)]
)
def test_the_name_of_a_server_suits_every_client(host: str, name: str) -> None:
    assert server_name(host) == name
