"""Lines to copy that connect a client to a service: entries for hosts of MCP servers, and one call as a program.

They print a call that the API made (`core/calling`): nothing is invented here. Where a form of a call cannot be printed
faithfully, its snippet is left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pprint import pformat
from typing import Any, Final, NamedTuple

from registry.core.calling.request import FORM, MULTIPART
from registry.core.wording.command_line import Unquotable, command_line, json_text
from registry.web.text import hidden_escaped

MAX_CHARS: Final = 8_000
"""A longer snippet is not shown: the page of the capability has its call."""

_WIDTH: Final = 88
_NO_BODY: Final = object()


class Snippet(NamedTuple):
    """`name`: unique on a page. `note`: where the text belongs, or empty."""

    name: str
    title: str
    text: str
    note: str = ""


def snippets_of(host: str, call: Mapping[str, Any] | None, configuration: Mapping[str, Any] | None) -> list[Snippet]:
    """Return the snippets that hold for a service. `call`: of its first callable capability, as the API answers it, or
    None. `configuration`: the entry for hosts of MCP servers, or None."""
    found = list(_of_hosts(host, configuration)) if configuration else []
    found += _of_call(call) if call and not str(call.get("kind", "")).startswith("mcp") else ()
    return [one for one in found if len(one.text) <= MAX_CHARS]


def server_name(host: str) -> str:
    """Return a name for the server that every client accepts."""
    return re.sub(r"[^a-z0-9-]+", "-", host)[:60].strip("-") or "server"


def _of_hosts(host: str, configuration: Mapping[str, Any]) -> Iterator[Snippet]:
    entry = next(iter(configuration.get("mcpServers", {}).values()), None)
    if not isinstance(entry, Mapping):
        return
    name = server_name(host)
    typed = {"type": "http" if "url" in entry else "stdio", **entry}
    try:
        yield Snippet("claude-code", "Claude Code", _claude_code(name, typed), "In a terminal:")
    except Unquotable:
        yield Snippet("claude-code", "Claude Code", _json({"mcpServers": {name: typed}}), "In .mcp.json of a project:")
    yield Snippet("vscode", "VS Code", _json({"servers": {name: typed}}), "In .vscode/mcp.json:")
    if "url" in entry:
        note = "In mcp.json of the client. Claude Desktop takes the address alone, under Settings, Connectors:"
        title = "Cursor and others"
    else:
        note, title = "In the list of servers of the client:", "Claude Desktop, Cursor and others"
    yield Snippet("mcp-hosts", title, _json({"mcpServers": {name: entry}}), note)


def _claude_code(name: str, entry: Mapping[str, Any]) -> str:
    """Return the command. Raise Unquotable."""
    if "url" not in entry:
        return command_line(["claude", "mcp", "add-json", name, json_text(entry)])
    words = ["claude", "mcp", "add", "--transport", "http", name, str(entry["url"])]
    for header, value in (entry.get("headers") or {}).items():
        words += ["--header", f"{header}: {value}"]
    return command_line(words)


def _of_call(call: Mapping[str, Any]) -> Iterator[Snippet]:
    if call.get("curl"):
        yield Snippet("curl", "curl", str(call["curl"]))
    example = call.get("example")
    if not isinstance(example, Mapping) or not example.get("url"):
        return
    headers = dict(example.get("headers") or {})
    content_type = next((value for key, value in headers.items() if key.lower() == "content-type"), "")
    body = example.get("body", _NO_BODY)
    if content_type == MULTIPART:
        return  # the boundary is the library's
    if content_type == FORM:
        if not isinstance(body, Mapping) or not all(isinstance(one, str | int | float) for one in body.values()):
            return  # how lists and objects are written in a form is not in the example
        body = {key: json.dumps(one) if isinstance(one, bool) else str(one) for key, one in body.items()}
    is_text = isinstance(body, str) and content_type != "" and "json" not in content_type
    url, method = str(example["url"]), str(example["method"])
    yield Snippet("python", "Python", _python(method, url, headers, body, content_type == FORM or is_text))
    if method not in ("GET", "HEAD") or body is _NO_BODY:  # fetch sends no body with them
        text = _javascript(method, url, headers, body, content_type == FORM, is_text)
        if "__proto__" not in text:  # in an object literal it is not a member
            yield Snippet("javascript", "JavaScript", text)


def _python(method: str, url: str, headers: Mapping[str, Any], body: Any, is_data: bool) -> str:
    parts = [repr(method), repr(url)]
    if headers:
        parts.append(f"headers={_literal(headers, 12)}")
    if body is not _NO_BODY:
        parts.append(f"data={_literal(body, 9)}" if is_data else f"json={_literal(body, 9)}")
    arguments = "".join(f"    {part},\n" for part in parts)
    return (
        f"import requests  # pip install requests\n\nresponse = requests.request(\n{arguments})\n"
        "print(response.status_code, response.text)"
    )


def _literal(value: Any, indent: int) -> str:
    text = pformat(value, width=_WIDTH - indent, sort_dicts=False)
    return text.replace("\n", "\n" + " " * indent)


def _javascript(method: str, url: str, headers: Mapping[str, Any], body: Any, is_form: bool, is_text: bool) -> str:
    parts = [f"method: {_json(method)}"]
    if headers:
        parts.append(f"headers: {_indented(_json(headers))}")
    if body is not _NO_BODY:
        value = _indented(_json(body))
        written = value if is_text else f"new URLSearchParams({value})" if is_form else f"JSON.stringify({value})"
        parts.append(f"body: {written}")
    options = "".join(f"  {part},\n" for part in parts)
    return (
        f"const response = await fetch({_json(url)}, {{\n{options}}});\n"
        "console.log(response.status, await response.text());"
    )


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _json(value: Any) -> str:
    return hidden_escaped(json.dumps(value, indent=2, ensure_ascii=False))
